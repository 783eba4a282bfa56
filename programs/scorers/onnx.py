"""A classifier of text pairs (cross-encoder, NLI) in an ONNX file, run by `onnxruntime` and `tokenizers` on the CPU."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from reflective_rag.programs.scorers.base import Pair
from reflective_rag.programs.scorers.loading import INPUTS, Loaded, load, reason_of, require_runtime
from reflective_rag.programs.scorers.normalise import Scale
from reflective_rag.signatures.errors import ConfigError, DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Encoding

BATCH = 16


class OnnxPairModel:
    """Raw scores (logits) of text pairs from a local folder or a hub name, see `files.locate`.

    Loaded at the first use, once; thread-safe. A copy is the same object, a pickle holds the name and not the weights.

    Args:
        spec: Folder, `.onnx` file, or hub name.
        max_length: Most tokens of a pair; the model's own limit (else 512) by default. The second text is cut first,
            down to half of the room; only then the first.
        batch: Pairs in one run of the model.
        threads: Threads of one run; 0 lets the runtime choose.
        scale: What one column of output is; exports give logits unless the graph ends in a sigmoid.

    Raises `ConfigError` when `onnxruntime` or `tokenizers` is not installed or a number is out of range.
    """

    def __init__(
        self,
        spec: str | Path,
        *,
        max_length: int | None = None,
        batch: int = BATCH,
        threads: int = 0,
        scale: Scale = "logits",
    ) -> None:
        if batch < 1 or threads < 0 or (max_length is not None and max_length < 8):
            raise ConfigError(
                "an ONNX model needs batch ≥ 1, threads ≥ 0 and max_length ≥ 8, "
                f"got batch={batch!r}, threads={threads!r}, max_length={max_length!r}"
            )
        require_runtime(str(spec))
        self.name = str(spec)
        self.scale = scale
        self._max_length, self._batch, self._threads = max_length, batch, threads
        self._lock = threading.Lock()
        self._model: Loaded | None = None

    @property
    def labels(self) -> Any:
        """`id2label` of the configuration, None where it has none. Loads the model."""
        return self._loaded().labels

    def predict(self, pairs: Sequence[Pair], /) -> NDArray[np.float32]:
        """Scores of shape (number of pairs, columns), in the order of the pairs. Raises `DataError`."""
        import numpy as np

        if not pairs:
            return np.zeros((0, 1), dtype=np.float32)
        model = self._loaded()
        encoded = self._encode(model, pairs)
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i].ids))  # alike lengths need little padding
        rows: list[Any] = [None] * len(encoded)
        for places in _batches(order, self._batch):
            for place, row in zip(places, self._run(model, [encoded[i] for i in places]), strict=True):
                rows[place] = row
        return np.stack(rows).astype(np.float32)

    def _encode(self, model: Loaded, pairs: Sequence[Pair]) -> list[Encoding]:
        tokenizer = model.tokenizer
        first = tokenizer.encode_batch([a for a, _ in pairs], add_special_tokens=False)
        second = tokenizer.encode_batch([b for _, b in pairs], add_special_tokens=False)
        room = model.max_length - tokenizer.num_special_tokens_to_add(is_pair=True)
        joined = []
        for (text_a, text_b), a, b in zip(pairs, first, second, strict=True):
            keep = min(len(a.ids), room - min(len(b.ids), room // 2))
            short_a = _shortened(tokenizer, text_a, a, keep)
            short_b = _shortened(tokenizer, text_b, b, max(0, room - keep))
            joined.append(tokenizer.post_process(short_a, short_b))
        return joined

    def _run(self, model: Loaded, batch: list[Encoding]) -> NDArray[np.float32]:
        import numpy as np

        width = max(len(encoding.ids) for encoding in batch)
        feed = {}
        for name, kind in model.inputs.items():
            pad = model.pad if name == "input_ids" else 0
            rows = [getattr(encoding, INPUTS[name]) for encoding in batch]
            padded = [row + [pad] * (width - len(row)) for row in rows]
            feed[name] = np.asarray(padded, dtype=np.int32 if "int32" in kind else np.int64)
        try:
            scores = np.asarray(model.session.run([model.output], feed)[0])
        except Exception as error:  # whatever the runtime raises: a broken graph, no memory
            raise DataError(f"the model {self.name!r} failed while running ({reason_of(error)})") from error
        if scores.ndim == 1:
            scores = scores.reshape(-1, 1)
        if scores.ndim != 2 or scores.shape[0] != len(batch):
            raise DataError(
                f"the model {self.name!r} gives an output of shape {scores.shape} for {len(batch)} pair(s): "
                "expected one row of scores a pair. It is no classifier of text pairs"
            )
        return scores

    def _loaded(self) -> Loaded:
        if self._model is None:
            with self._lock:
                if self._model is None:
                    self._model = load(self.name, threads=self._threads, max_length=self._max_length)
        return self._model

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_model")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
        self._model = None


def _shortened(tokenizer: Any, text: str, encoding: Encoding, most: int) -> Encoding:
    """The first `most` tokens of a text.

    The text is cut and encoded again: an encoding that is truncated keeps what was cut off, and joining two such
    encodings makes every combination of their remains, gigabytes for two long texts.
    """
    if len(encoding.ids) <= most:
        return encoding
    end = max((stop for _, stop in encoding.offsets[:most]), default=0)
    short: Encoding = tokenizer.encode(text[:end], add_special_tokens=False)
    short.truncate(most)
    return short


def _batches(order: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(order), size):
        yield order[start : start + size]
