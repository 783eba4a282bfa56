"""Models of the library sentence-transformers as embedders. It brings PyTorch, so it is imported late."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reflective_rag.data.retrieval.embedders import unit_rows
from reflective_rag.data.retrieval.prefixes import Prefixes, known_prefixes, named
from reflective_rag.signatures.errors import ConfigError, message_of
from reflective_rag.signatures.installing import install_hint

if TYPE_CHECKING:
    from reflective_rag.data.retrieval.embedders import Vectors

SCHEME = "sentence-transformers:"
_PROMPTS = (("query",), ("passage", "document", "corpus"))
"""Names of a model's own prompts, for queries and for passages."""


class SentenceEmbedder:
    """A model by its name on the hub or its folder, or a loaded `SentenceTransformer` (anything with its `encode`).

    Args:
        model: `intfloat/multilingual-e5-small`, say. It is loaded, and where it is not there yet fetched, at first use.
        name: What an index knows the embedder by; needed for a loaded model.
        prefixes: Put before queries and passages; by default the model's own prompts, else those that its card asks
            for (see `prefixes.known_prefixes`; for e5 `query: ` and `passage: `), else none.

    Raises:
        ConfigError: The library is missing, the model cannot be loaded, or a loaded model has no name.
    """

    def __init__(self, model: Any, *, name: str | None = None, prefixes: Prefixes | None = None) -> None:
        if isinstance(model, str):
            if importlib.util.find_spec("sentence_transformers") is None:
                raise ConfigError(
                    f"the embedder `{SCHEME}{model}` needs the package `sentence-transformers`, which is missing. "
                    f"Install it with `{install_hint('sentence-transformers')}`."
                )
        elif not name:
            raise ConfigError("a loaded model needs `SentenceEmbedder(..., name=...)`: an index must know it again")
        self._model: Any = None if isinstance(model, str) else model
        self._given = model if isinstance(model, str) else name or ""
        self._label = name or f"{SCHEME}{model}"
        self._asked = prefixes
        self._lock = threading.Lock()
        self._dimensions: int | None = None

    @property
    def name(self) -> str:
        """With the prefixes in it, since other prefixes give other vectors. Loads the model unless they are given."""
        return named(self._label, self.prefixes)

    @property
    def prefixes(self) -> Prefixes:
        """What is put before queries and passages."""
        if self._asked is None:
            own = getattr(self._loaded(), "prompts", None)
            prompts = own if isinstance(own, Mapping) else {}
            found = [next((str(prompts[n]) for n in names if prompts.get(n)), "") for names in _PROMPTS]
            self._asked = Prefixes(*found) if any(found) else known_prefixes(self._given)
        return self._asked

    @property
    def dimensions(self) -> int:
        """Found by embedding one word, once."""
        if self._dimensions is None:
            self._dimensions = int(self.passages(["dimensions"]).shape[1])
        return self._dimensions

    def passages(self, texts: list[str]) -> Vectors:
        """Texts longer than the model reads are cut by it."""
        return self._encode(texts, self.prefixes.passage)

    def query(self, text: str) -> Vectors:
        """One row."""
        row: Vectors = self._encode([text], self.prefixes.query)[0]
        return row

    def _encode(self, texts: list[str], prefix: str) -> Vectors:
        model = self._loaded()
        with self._lock:
            # As a prompt, not glued on: a model may leave its prompt out of the mean. Empty, lest its default be used.
            raw = model.encode(texts, prompt=prefix, convert_to_numpy=True, show_progress_bar=False)
        return unit_rows(raw, len(texts), self._label)

    def _loaded(self) -> Any:
        with self._lock:
            if self._model is None:
                from sentence_transformers import SentenceTransformer

                try:
                    self._model = SentenceTransformer(self._given)
                except Exception as error:  # what transformers, the hub's client and torch raise
                    reason = (message_of(error).splitlines() or [""])[0][:200]
                    raise ConfigError(
                        f"the embedder `{self._label}` cannot be loaded ({type(error).__name__}: {reason}). "
                        "Expected the name of a model on the hub, or a folder."
                    ) from error
            return self._model
