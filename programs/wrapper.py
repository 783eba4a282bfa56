"""ReflectiveWrapper: the evidence loop around an existing RAG, which keeps its own retriever and its own generator."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import date
from typing import Any

from reflective_rag.programs.foreign import as_search
from reflective_rag.programs.material import Reading
from reflective_rag.programs.reflective import ReflectiveRAG
from reflective_rag.programs.searching import SearchHandle, is_async
from reflective_rag.programs.settings import PresetName
from reflective_rag.programs.steps import Write
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage

Retrieve = Callable[[str], Iterable[Any] | Awaitable[Iterable[Any]]]
Generate = Callable[[str, Sequence[Passage]], str | Awaitable[str]]


class ReflectiveWrapper(ReflectiveRAG):
    """Judge the evidence of an existing RAG, retrieve again for its gaps, and check what it generates.

    Args:
        retrieve: `retrieve(query)` returning texts, dicts or Passages (sync or async), or a retriever of LangChain,
            LlamaIndex or Haystack. A function that also takes `k` or `top_k`, or needs a second argument, is given k.
        generate: `generate(question, passages)` returning the answer as a string, sync or async, from the passages that
            were judged worth reading. A call counts as one model call whose tokens are not known. An `async def` that
            blocks its event loop cannot be ended at a limit of seconds.
        options: As for ReflectiveRAG, but `mode` is `rules` unless it is given (no model is needed; the generator is
            called once, at the end), and `repair`, which is the language model's, is off.

    An artefact cannot hold the two callables: keep what a compile tuned with `.save` and `.load`.
    """

    name = "wrapper"
    tells_judge = True

    def __init__(
        self,
        retrieve: Any,
        generate: Generate,
        *,
        preset: PresetName = "general",
        today: date | None = None,
        **options: Any,
    ) -> None:
        if not _is_function(generate):
            raise ConfigError(f"`generate` must be a callable `generate(question, passages)`, got {generate!r:.80}")
        if "search" in options:
            raise ConfigError("the retriever of a wrapper is given as `retrieve`, not as `search`")
        if options.get("mode") == "fused":
            raise ConfigError("mode 'fused' answers in the call that judges; a wrapper has its own generator")
        options = {"mode": "rules", "repair": False, **options}
        super().__init__(None, preset=preset, today=today, **options)
        self.search = SearchHandle(_search(retrieve))
        del self.answer  # the generator answers; a predictor that is never asked must not be optimised
        self._generate = _Held(generate)

    def writes(self) -> bool:
        """The generator always does."""
        return True

    def answer_step(self, reading: Reading) -> Write:
        """The caller's generator on what was judged worth reading."""
        return Write(
            name="generate", write=self._generate.function, question=reading.question, passages=tuple(reading.passages)
        )


class _Held:
    """Keeps a callable from being copied with the module: it may hold a client."""

    def __init__(self, function: Generate) -> None:
        self.function = function

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Held":
        return self


def _is_function(given: Any) -> bool:
    """Whether it can be called; a class is a mistake, since calling it gives an object and no answer."""
    return callable(given) and not inspect.isclass(given)


def _search(retrieve: Any) -> Any:
    """`search(query, k)` over what the caller retrieves with; a retriever of another library stays as it is."""
    if not _is_function(retrieve):
        if as_search(retrieve) is not None:
            return retrieve
        raise ConfigError(
            "`retrieve` must be a callable `retrieve(query)`, or a retriever of LangChain, LlamaIndex or Haystack; "
            f"got {retrieve!r:.80}"
        )
    taken = _taken(retrieve)

    def call(query: str, k: int) -> Any:
        if taken is None:
            return retrieve(query)
        return retrieve(query, **{taken: k}) if taken else retrieve(query, k)

    async def acall(query: str, k: int) -> Any:
        return await call(query, k)

    return acall if is_async(retrieve) else call


def _taken(retrieve: Callable[..., Any]) -> str | None:
    """The keyword by which a function takes k; "" for a second argument that it needs, None for a query alone."""
    try:
        found = list(inspect.signature(retrieve).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return None
    named = {p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    for name in ("k", "top_k"):
        if name in named:
            return name
    needed = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    return "" if len(needed) > 1 else None
