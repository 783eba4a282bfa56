"""ONNX models: loading, batches, truncation, and every way in which the files can be wrong."""

import copy
import json
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.programs.scorers.files import hub_model, locate
from reflective_rag.programs.scorers.onnx import OnnxPairModel
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.programs.scorers import tiny

PAIR = ("when was the bridge opened ?", "the bridge was opened in 1931 .")


def pairs_of_many_lengths(count: int = 37) -> list[tuple[str, str]]:
    """Pairs from one word to two hundred, in no order of length."""
    rng = random.Random(1)
    return [
        (" ".join(rng.choices(tiny.WORDS, k=rng.randint(1, 9))), " ".join(rng.choices(tiny.WORDS, k=rng.choice(SIZES))))
        for _ in range(count)
    ]


SIZES = (1, 2, 5, 20, 80, 200)


@pytest.mark.parametrize("batch", [1, 4, 16, 64])
def test_scores_come_in_the_order_of_the_pairs_whatever_the_batch(reranker: Path, batch: int) -> None:
    """A pair scores the same alone and in a batch of sorted lengths, padding left out, and keeps its place."""
    pairs = pairs_of_many_lengths()
    model = OnnxPairModel(reranker, batch=batch)
    alone = [float(model.predict([pair])[0, 0]) for pair in pairs]
    together = model.predict(pairs)
    assert together.shape == (len(pairs), 1)
    assert together[:, 0].tolist() == pytest.approx(alone, abs=1e-4)
    assert len({round(score, 3) for score in alone}) > 20


def test_no_pairs_need_no_model(tmp_path: Path) -> None:
    """Nothing is loaded, and so nothing is missing, for an empty list."""
    assert OnnxPairModel(tmp_path).predict([]).shape == (0, 1)


def test_the_second_text_is_cut_first(reranker: Path) -> None:
    """A passage of 200,000 characters scores as its beginning up to the limit; the question stays whole."""
    model = OnnxPairModel(reranker, max_length=32)
    question = "when was the bridge opened ?"
    room = 32 - 3 - 6
    passage = " ".join(["library", "1936", "otto"] * 12_000)
    assert len(passage) > 200_000
    cut = " ".join(passage.split()[:room])
    longer = " ".join(passage.split()[: room + 1])
    whole, prefix, same = (float(model.predict([(question, text)])[0, 0]) for text in (passage, cut, longer))
    assert whole == pytest.approx(prefix, abs=1e-5)
    assert whole == pytest.approx(same, abs=1e-5)
    assert whole != pytest.approx(float(model.predict([(question, "library")])[0, 0]), abs=1e-3)


def test_a_first_text_without_end_leaves_half_of_the_room(reranker: Path) -> None:
    """Where both texts are too long the first keeps half of the room, so that the second still counts."""
    model = OnnxPairModel(reranker, max_length=35)
    endless = "tram city " * 20_000
    a, b = (float(model.predict([(endless, f"{word} " * 50_000)])[0, 0]) for word in ("library", "river"))
    expected = float(model.predict([("tram city " * 8, "library " * 16)])[0, 0])
    assert a == pytest.approx(expected, abs=1e-5)
    assert a != pytest.approx(b, abs=1e-3)


@pytest.mark.parametrize(
    ("config", "tokenizer_config", "limit"),
    [
        pytest.param({}, None, 512, id="unstated"),
        pytest.param({}, {"model_max_length": 64}, 64, id="tokenizer"),
        pytest.param({"max_position_embeddings": 40}, {"model_max_length": 64}, 40, id="smaller wins"),
        pytest.param({"max_position_embeddings": 66, "model_type": "xlm-roberta"}, None, 64, id="roberta"),
        pytest.param({}, {"model_max_length": 10**30}, 512, id="no limit written"),
        pytest.param({}, {"model_max_length": "many"}, 512, id="rubbish"),
    ],
)
def test_the_limit_is_the_models_own(
    tmp_path: Path, config: dict[str, Any], tokenizer_config: dict[str, Any] | None, limit: int
) -> None:
    """Text beyond the limit of tokenizer and position table does not count; 512 tokens where neither says."""
    tiny.require()
    folder = tiny.build(tmp_path, 1, config=config, tokenizer_config=tokenizer_config)
    model = OnnxPairModel(folder)
    room = limit - 3 - 1
    at, beyond, before = (
        float(model.predict([("bridge", "tram " * count + "river")])[0, 0]) for count in (room - 1, room, room + 50)
    )
    assert beyond == pytest.approx(before, abs=1e-5)
    assert at != pytest.approx(beyond, abs=1e-5)


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(("", ""), id="empty"),
        pytest.param(("?", " "), id="blank"),
        pytest.param(("x\0y", "\ufffd\u202e שלום"), id="control and right to left"),
        pytest.param(("桥", "图书馆于1936年开放"), id="chinese"),
        pytest.param(("[CLS] [SEP]", "[PAD]"), id="special words"),
    ],
)
def test_odd_texts_score_finite_numbers(reranker: Path, pair: tuple[str, str]) -> None:
    """Whatever the texts are, the model gives a number."""
    score = float(OnnxPairModel(reranker).predict([pair])[0, 0])
    assert abs(score) < 1e4


def test_a_model_takes_only_the_inputs_it_declares(tmp_path: Path) -> None:
    """A graph without segments (XLM-RoBERTa has none) is fed ids and mask alone."""
    tiny.require()
    model = OnnxPairModel(tiny.build(tmp_path, 1, inputs=("input_ids", "attention_mask")))
    assert model.predict([PAIR]).shape == (1, 1)


def test_threads_may_share_a_model(reranker: Path) -> None:
    """Sixteen threads that ask an unloaded model at once get the same answers as one."""
    pairs = pairs_of_many_lengths(12)
    expected = OnnxPairModel(reranker).predict(pairs).tolist()
    model = OnnxPairModel(reranker, threads=1)
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda _: model.predict(pairs).tolist(), range(32)))
    assert flat([flat(result) for result in results]) == pytest.approx(flat(expected) * 32, abs=1e-4)


def flat(rows: list[list[float]]) -> list[float]:
    """One list of all numbers."""
    return [value for row in rows for value in row]


def test_a_copy_shares_the_weights_and_a_pickle_holds_none(reranker: Path) -> None:
    """A loaded model can be copied and pickled with a program; the copy is the same object, the pickle is small."""
    model = OnnxPairModel(reranker)
    expected = flat(model.predict([PAIR]).tolist())
    assert copy.deepcopy(model) is model
    packed = pickle.dumps(model)
    assert len(packed) < 2000
    assert flat(pickle.loads(packed).predict([PAIR]).tolist()) == pytest.approx(expected)


@pytest.mark.parametrize("file", ["model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx"])
def test_the_usual_places_are_known(tmp_path: Path, file: str) -> None:
    """Exports lie in the folder or in `onnx/` below it, exact or quantized; the file itself may be named, too."""
    tiny.require()
    folder = tiny.build(tmp_path, 1, file=file)
    expected = OnnxPairModel(folder).predict([PAIR])
    assert flat(OnnxPairModel(folder / file).predict([PAIR]).tolist()) == pytest.approx(flat(expected.tolist()))


def remove(name: str) -> object:
    """A change to a folder: one file less."""
    return lambda folder: (folder / name).unlink()


def write(name: str, content: bytes) -> object:
    """A change to a folder: other content of a file."""
    return lambda folder: (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        pytest.param(remove("model.onnx"), "optimum-cli export onnx", id="no graph"),
        pytest.param(remove("tokenizer.json"), "no `tokenizer.json`", id="no tokenizer"),
        pytest.param(remove("config.json"), "no `config.json`", id="no configuration"),
        pytest.param(write("model.onnx", b""), "cannot be loaded", id="empty graph"),
        pytest.param(write("model.onnx", b"not a model " * 100), "cannot be loaded", id="rubbish graph"),
        pytest.param(write("tokenizer.json", b"{}"), "'tokenizer.json' cannot be read", id="empty tokenizer"),
        pytest.param(write("tokenizer.json", b"\xff\xfe"), "'tokenizer.json' cannot be read", id="binary tokenizer"),
        pytest.param(write("config.json", b"{"), "'config.json' of a model cannot be read", id="broken json"),
        pytest.param(write("config.json", b"[]"), "must be a JSON object, got list", id="json of another kind"),
    ],
)
def test_damaged_files_are_one_clear_error(tmp_path: Path, damage: object, says: str) -> None:
    """Each missing or broken file is named in one `DataError`, again at every call."""
    tiny.require()
    folder = tiny.build(tmp_path, 1)
    assert callable(damage)
    damage(folder)
    model = OnnxPairModel(folder)
    for _ in range(2):
        with pytest.raises(DataError) as caught:
            model.predict([PAIR])
        assert says in str(caught.value)


def test_a_truncated_graph_is_an_error(reranker: Path, tmp_path: Path) -> None:
    """A download that broke off is told, not run."""
    for path in reranker.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "model.onnx").write_bytes((reranker / "model.onnx").read_bytes()[:-500])
    with pytest.raises(DataError, match="cannot be loaded"):
        OnnxPairModel(tmp_path).predict([PAIR])


def test_an_embedder_is_no_classifier(tmp_path: Path) -> None:
    """A model that gives a row a token is refused with its shape."""
    tiny.require()
    model = OnnxPairModel(tiny.build(tmp_path, 4, per_token=True, inputs=("input_ids",)))
    with pytest.raises(DataError, match="no classifier of text pairs"):
        model.predict([PAIR])


def test_unknown_inputs_are_named(tmp_path: Path) -> None:
    """A graph that asks for something else than ids, mask and segments cannot be fed."""
    tiny.require()
    folder = tiny.build(tmp_path, 1)
    import onnx
    from onnx import TensorProto, helper

    graph = onnx.load(str(folder / "model.onnx"))
    graph.graph.input.append(helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["batch", 3]))
    onnx.save(graph, str(folder / "model.onnx"))
    with pytest.raises(DataError, match="asks for pixel_values"):
        OnnxPairModel(folder).predict([PAIR])


@pytest.mark.parametrize("bad", [{"batch": 0}, {"threads": -1}, {"max_length": 2}])
def test_numbers_out_of_range_are_refused(reranker: Path, bad: dict[str, Any]) -> None:
    """Batch, threads and length have least values."""
    with pytest.raises(ConfigError, match="batch ≥ 1"):
        OnnxPairModel(reranker, **bad)


def test_weights_behind_links_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Graph and weights that are links into another folder, as in the hub's cache, are loaded, also a second time."""
    tiny.require()
    plain = tiny.build(tmp_path / "plain", 1, external=True)
    assert (plain / "model.onnx_data").is_file()
    snapshot, blobs = tmp_path / "snapshot", tmp_path / "blobs"
    snapshot.mkdir()
    blobs.mkdir()
    for number, path in enumerate(sorted(plain.iterdir())):
        path.rename(blobs / f"{number:064x}")
        (snapshot / path.name).symlink_to(Path("..", "blobs", f"{number:064x}"))
    monkeypatch.setenv("RRAG_CACHE", str(tmp_path / "cache"))
    first = flat(OnnxPairModel(snapshot).predict([PAIR]).tolist())
    assert flat(OnnxPairModel(snapshot).predict([PAIR]).tolist()) == pytest.approx(first)


HUB = [
    ("BAAI/bge-reranker-v2-m3", ("BAAI/bge-reranker-v2-m3", None)),
    ("onnx-community/x-ONNX/onnx/model_quantized.onnx", ("onnx-community/x-ONNX", "onnx/model_quantized.onnx")),
    ("./models/reranker", None),
    ("~/reranker", None),
    ("/reranker", None),
    ("models/reranker.onnx", None),
    ("a/b/c", None),
    ("reranker", None),
    ("", None),
    ("文件夹/模型 一", None),
]


@pytest.mark.parametrize(("spec", "expected"), HUB, ids=[spec or "empty" for spec, _ in HUB])
def test_hub_names_are_told_from_paths(spec: str, expected: tuple[str, str | None] | None) -> None:
    """OWNER/NAME, with a file below it or without, may be on the hub; anything else is a path."""
    assert hub_model(spec) == expected


def test_a_hub_model_that_is_not_here_says_what_to_do_offline() -> None:
    """Without a connection one `DataError` names the download and the ways without one."""
    with pytest.raises(DataError) as caught:
        locate("nobody/no-such-reranker")
    message = str(caught.value)
    assert "hf download nobody/no-such-reranker" in message
    assert "copy a folder" in message


def test_a_hub_model_in_the_cache_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository that was downloaded before is loaded from the hub library's own cache."""
    tiny.require()
    built = tiny.build(tmp_path / "built", 1, file="onnx/model.onnx")
    cache = tmp_path / "hub"
    repo = cache / "models--somebody--reranker"
    snapshot = repo / "snapshots" / ("a" * 40)
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text("a" * 40)
    snapshot.parent.mkdir()
    built.rename(snapshot)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    found = locate("somebody/reranker")
    assert found.onnx.is_relative_to(snapshot)
    assert OnnxPairModel(found.onnx).predict([PAIR]).shape == (1, 1)
    with pytest.raises(DataError, match=r"hf download somebody/reranker"):
        locate("somebody/reranker/onnx/model_quantized.onnx")


def test_a_folder_names_what_it_holds_instead(tmp_path: Path) -> None:
    """A folder with weights of another format lists them and tells how to export."""
    (tmp_path / "model.safetensors").write_bytes(b"")
    (tmp_path / "config.json").write_text(json.dumps({}))
    with pytest.raises(DataError, match=r"holds config\.json, model\.safetensors.*optimum-cli export onnx"):
        locate(str(tmp_path))
