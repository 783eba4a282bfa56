"""What must not be charged to the system that happens to be measured first, nor be a gift to those after it."""

import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

import dspy

from reflective_rag.programs.searching import SearchFunction, SearchHandle

NOT_COUNTED = (
    "seconds leave out what is loaded once (index, embedder, the rules' dictionaries) and the embedding of the "
    "questions as they are asked"
)
"""For the notes of a report that shows seconds of several systems."""

_OURS = "reflective_rag."
_EXAMPLES = (
    ("When was the painter Giotto born?", "Giotto was a painter from Florence. He was born in 1267."),
    ("画家乔托是哪一年出生的？", "乔托是佛罗伦萨的画家。他出生于1267年。"),
)


def warm_up(search: SearchFunction | None, questions: Iterable[str]) -> None:
    """Load what loads itself at its first use, embed the questions, and forget texts that an earlier system has read.

    Embedders keep the vectors of questions, and the rules what they have read: without this the first of several
    systems would pay for all. No model is asked.

    Args:
        search: Where the questions will be asked; None for a system that does not search.
    """
    _load_rules()
    if search is not None:
        with suppress(Exception):  # what is wrong with the retriever, the questions will tell
            handle = SearchHandle(search)
            for question in dict.fromkeys(questions):
                handle(question, 1)
    _forget_texts()


@cache
def _load_rules() -> None:
    """Segmenter, dictionaries and patterns of both languages."""
    from reflective_rag.programs.reflective import ReflectiveRAG

    with dspy.context(lm=None, trace=None, callbacks=[]):
        for question, passage in _EXAMPLES:
            ReflectiveRAG(_Fixed(passage), mode="rules")(question=question)


class _Fixed:
    """A search that finds one passage."""

    def __init__(self, passage: str) -> None:
        self.passage = passage

    def __call__(self, query: str, k: int) -> list[str]:
        return [self.passage]


def _forget_texts() -> None:
    """Empty every bounded `lru_cache` of ours. One without a bound holds what was loaded, such as a dictionary."""
    for name, module in list(sys.modules.items()):
        if name.startswith(_OURS):
            for value in list(vars(module).values()):
                parameters = getattr(value, "cache_parameters", None)
                if parameters is not None and parameters()["maxsize"] is not None:
                    value.cache_clear()
