"""Where the sources disagree, and where an answer stands between two of them."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from reflective_rag.programs import rules
from reflective_rag.programs.messages import conflict_detail, namesakes_detail
from reflective_rag.programs.rules.deadline import GRACE, in_time
from reflective_rag.programs.rules.evidence import gather
from reflective_rag.programs.rules.question import analyse
from reflective_rag.programs.rules.words import STOP_EN
from reflective_rag.programs.run_state import RunState
from reflective_rag.programs.scoring import settled, unresolved
from reflective_rag.signatures.text import normalize, tokenize
from reflective_rag.signatures.types import Assessment, Contradiction, Judgement, Passage

if TYPE_CHECKING:
    from reflective_rag.programs.rules.namesakes import Bearer


def open_conflicts(question: str, passages: Sequence[Passage], today: date) -> list[Contradiction]:
    """Contradictions between passages that no date settles, by rules: for programs whose critics compare none."""
    if len(passages) < 2:
        return []
    asked = analyse(question, today)
    nothing: tuple[Contradiction, ...] = ()
    found = in_time("consistency", lambda: rules.contradictions(gather(asked, passages)), nothing, GRACE)
    return unresolved(Judgement(contradictions=found, time_scope=asked.time.scope))


def warn_of_conflicts(state: RunState, answer: str, conflicts: Sequence[Contradiction]) -> None:
    """The warning with both sides of each, and what the side that the answer does not take says."""
    if conflicts:
        others = [other_value(state.question, answer, c, state.today) for c in conflicts]
        state.warn("conflicting_evidence", conflict_detail(state.question, conflicts, others))


def warn_of_namesakes(
    state: RunState, answer: str, passages: Sequence[Passage], conflicts: Sequence[Contradiction]
) -> None:
    """The warning that the question may mean several bearers of a name, each named with its answer; by rules.

    None where the answer gives the answers of all, and where two that differ are one, in conflict.
    """
    if not answer or len(passages) < 2:
        return
    asked = analyse(state.question, state.today)
    nothing: tuple[Bearer, ...] = ()
    found = in_time("consistency", lambda: rules.differing_bearers(gather(asked, passages)), nothing, GRACE)
    ids = {bearer.page.passage.id for bearer in found}
    if not found or any(ids <= {c.passage_a, c.passage_b} for c in conflicts):
        return
    if not all(normalize(bearer.value) in normalize(answer) for bearer in found):
        state.warn("ambiguous_question", namesakes_detail(state.question, [(b.name, b.value) for b in found]))


def side_of(answer: str, conflict: Contradiction) -> str | None:
    """The id of the passage whose side the answer takes; None when it takes neither or names both.

    Only the words and numbers that one span has and the other lacks tell them apart.
    """
    a, b = (_content(span) for span in (conflict.span_a, conflict.span_b))
    said = _content(answer)
    takes_a, takes_b = bool(said & (a - b)), bool(said & (b - a))
    if takes_a == takes_b:
        left_a, left_b = (bool(said) and rules.left(span, answer) for span in (conflict.span_a, conflict.span_b))
        takes_a, takes_b = left_b, left_a  # who left, by one side, is the other side's answer
    if takes_a == takes_b:
        return None
    return conflict.passage_a if takes_a else conflict.passage_b


def other_value(question: str, answer: str, conflict: Contradiction, today: date | None = None) -> str:
    """What the side that the answer does not take answers to the question, verbatim; empty when it cannot be told."""
    side = side_of(answer, conflict)
    if side is None:
        return ""
    first = side == conflict.passage_a
    other, span = (conflict.passage_b, conflict.span_b) if first else (conflict.passage_a, conflict.span_a)
    value = rules.answer(question, [Passage(id=other, text=span)], today).answer
    return value if value in span and normalize(value) not in normalize(answer) else ""


def follows_older(answer: str, assessment: Assessment) -> Contradiction | None:
    """The first contradiction that a newer date settles and in which the answer takes the older side all the same.

    None for a question about a time of its own (as of, before, between): there the older source may be the right one.
    """
    if assessment.time_scope in ("as_of", "before", "between"):
        return None
    by_date = (c for c in assessment.contradictions if settled(c, assessment.time_scope))
    return next((c for c in by_date if side_of(answer, c) not in (None, c.newer)), None)


def _content(text: str) -> set[str]:
    return {token for token in tokenize(text) if token not in STOP_EN}
