"""Tiny real models with random weights: an ONNX graph (embedding, masked mean, linear) and a word-level tokenizer."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

WORDS = (
    "the bridge library tram city river was opened built in by of 1931 1936 1950 helen otto brandt not never stops "
    "volumes a and it he she holds new old north south when where who first second title long short green blue "
    ". ? : 桥 图 书 馆 年"
).split()
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
WIDTH = 8


def require() -> None:
    """Skip where a model cannot be built or run."""
    for package in ("onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(package, reason=f"needs `{package}`: run `make setup`")


def build(
    folder: Path,
    columns: int,
    *,
    seed: int = 0,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    file: str = "model.onnx",
    config: Mapping[str, Any] | None = None,
    tokenizer_config: Mapping[str, Any] | None = None,
    per_token: bool = False,
    external: bool = False,
) -> Path:
    """Write a model's files into `folder` and return it. `per_token` gives a score a token, as an embedder does."""
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    graph(folder / file, columns, seed, inputs, per_token, external)
    tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0, **(config or {})}))
    if tokenizer_config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
    return folder


def tokenizer() -> Any:
    """[CLS] first [SEP] second [SEP]; with truncation and padding switched on in the file, as many are published."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate((*SPECIAL, *WORDS))}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    made.enable_truncation(16)
    made.enable_padding(length=16, pad_id=0, pad_token="[PAD]")
    return made


def graph(path: Path, columns: int, seed: int, inputs: Sequence[str], per_token: bool, external: bool) -> None:
    """Scores = mean over unmasked tokens of (word + segment vectors), times a matrix. Padding must not change them."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(seed)
    rows = len(SPECIAL) + len(WORDS)
    arrays = {
        "words": rng.normal(size=(rows, WIDTH)),
        "segments": rng.normal(size=(2, WIDTH)),
        "head": rng.normal(size=(WIDTH, columns)) * 3,
    }
    arrays["words"][0] = 100.0  # a padded place that is not masked would show
    node = helper.make_node
    axes = [
        numpy_helper.from_array(np.asarray([1], dtype=np.int64), "one"),
        numpy_helper.from_array(np.asarray([2], dtype=np.int64), "two"),
    ]
    nodes = [node("Gather", ["words", "input_ids"], ["word"])]
    hidden = "word"
    if "token_type_ids" in inputs:
        nodes += [
            node("Gather", ["segments", "token_type_ids"], ["segment"]),
            node("Add", ["word", "segment"], ["sum"]),
        ]
        hidden = "sum"
    if per_token:
        nodes.append(node("MatMul", [hidden, "head"], ["logits"]))
    else:
        nodes += [
            node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
            node("Unsqueeze", ["mask", "two"], ["mask3"]),
            node("Mul", [hidden, "mask3"], ["kept"]),
            node("ReduceSum", ["kept", "one"], ["total"], keepdims=0),
            node("ReduceSum", ["mask", "one"], ["count"], keepdims=1),
            node("Div", ["total", "count"], ["mean"]),
            node("MatMul", ["mean", "head"], ["logits"]),
        ]
    shape: list[str | int | None] = ["batch", "length", columns] if per_token else ["batch", columns]
    made = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()] + axes,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    options: dict[str, Any] = {"save_as_external_data": True, "location": f"{path.name}_data", "size_threshold": 200}
    onnx.save_model(model, str(path), **(options if external else {}))
