"""What rules do when the time is up in the middle of long passages: they read the beginnings, which takes little."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import TypeVar

from reflective_rag.programs import rules
from reflective_rag.programs.rules.deadline import OutOfTime, is_up, leave_undone, watched, within
from reflective_rag.signatures.types import Draft, Passage

T = TypeVar("T")
BEGINNING = 1000
"""Characters; a hundred such passages take rules a few tenths of a second."""
LEFT_UNREAD = "beginnings"
"""The name of what is left undone, as in `signatures.wording.WORDS`."""


def read_in_time(work: Callable[[Sequence[Passage]], T], passages: Sequence[Passage]) -> T:
    """What `work` makes of the passages; where the limit ends it in the middle, of their beginnings, which is told."""
    try:
        with watched():
            return work(passages)
    except OutOfTime:
        leave_undone(LEFT_UNREAD)
        with within(None):
            return work(_beginnings(passages))


def extract(question: str, passages: Sequence[Passage], today: date | None) -> Draft:
    """The answer by extraction; past the limit from the beginnings, where the passages were too much to read."""
    draft = rules.answer(question, passages, today)
    if draft.answer or not is_up() or all(len(p.text) <= BEGINNING for p in passages):
        return draft
    leave_undone(LEFT_UNREAD)
    with within(None):
        return rules.answer(question, _beginnings(passages), today)


def _beginnings(passages: Sequence[Passage]) -> list[Passage]:
    return [p.model_copy(update={"text": p.text[:BEGINNING]}) if len(p.text) > BEGINNING else p for p in passages]
