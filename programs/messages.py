"""Warnings, what they say in detail, and the text of an abstention; the words are those of `signatures.wording`."""

from collections.abc import Mapping, Sequence
from typing import cast

from reflective_rag.signatures.text import language_of
from reflective_rag.signatures.types import (
    Action,
    Backend,
    ClaimSupport,
    Contradiction,
    Decision,
    ResultWarning,
    StopReason,
    WarningCode,
)
from reflective_rag.signatures.wording import ABSTENTION, STOPPED, UNREAD, WARNINGS, Phrase, phrase, word

WARNING_OF_STOP: dict[StopReason, WarningCode] = {
    "no_passages": "no_evidence",
    "no_relevant_passages": "no_evidence",
    "no_gap": "insufficient_evidence",
    "no_new_query": "insufficient_evidence",
    "no_new_passages": "insufficient_evidence",
    "no_progress": "insufficient_evidence",
    "max_rounds": "insufficient_evidence",
    "max_segments": "answer_cut",
    "max_parts": "plan_cut",
    "budget_calls": "budget_exhausted",
    "budget_tokens": "budget_exhausted",
    "budget_seconds": "budget_exhausted",
    "budget_retrievals": "budget_exhausted",
    "model_error": "model_degraded",
    "retriever_error": "retriever_degraded",
}
"""Every stop but `sufficient`, `single_pass` and `finished` is degraded and carries at least this warning."""

MOST_NAMED = 3
"""Claims or conflicts that a warning names; the rest it counts."""
LONGEST_CLAIM, LONGEST_SPAN = 80, 160
"""Characters of a claim and of a source's span in a warning."""


def claims_detail(question: str, claims: Sequence[ClaimSupport]) -> str:
    """Claims (shortened), each with what is wrong with it."""
    named = [
        phrase(
            "claim", question, claim=shortened(c.claim, LONGEST_CLAIM), problem=problem_of(question, c).rstrip(".。")
        )
        for c in claims
    ]
    return _listed(question, named)


def problem_of(question: str, claim: ClaimSupport) -> str:
    """What is wrong with a claim, never empty."""
    return claim.problem or phrase("disagreeing" if claim.support == "contradicted" else "unstated", question)


def conflict_detail(question: str, conflicts: Sequence[Contradiction], others: Sequence[str]) -> str:
    """Both sides of each conflict, with the value that the answer leaves out (empty where it is not known)."""
    named = [
        phrase("conflict", question, about=c.about, **_sides(c)) + (phrase("other", question, value=o) if o else "")
        for c, o in zip(conflicts, others, strict=True)
    ]
    return _listed(question, named)


def namesakes_detail(question: str, bearers: Sequence[tuple[str, str]]) -> str:
    """Each bearer of the asked name with its answer."""
    named = [phrase("bearer", question, name=shortened(n, LONGEST_CLAIM), value=v) for n, v in bearers]
    return _listed(question, named)


def outdated_detail(question: str, conflict: Contradiction) -> str:
    """The older side, which the answer follows, and the newer one."""
    if conflict.newer == conflict.passage_a:
        older = {"passage_a": conflict.passage_b, "span_a": conflict.span_b}
        conflict = conflict.model_copy(update={**older, "passage_b": conflict.passage_a, "span_b": conflict.span_a})
    return phrase("outdated", question, **_sides(conflict))


def _sides(conflict: Contradiction) -> dict[str, str]:
    spans = (shortened(span, LONGEST_SPAN) for span in (conflict.span_a, conflict.span_b))
    return {"a": conflict.passage_a, "b": conflict.passage_b, **dict(zip(("span_a", "span_b"), spans, strict=True))}


def _listed(question: str, named: Sequence[str]) -> str:
    shown = [*named[:MOST_NAMED]]
    if len(named) > MOST_NAMED:
        shown.append(phrase("more", question, count=len(named) - MOST_NAMED))
    return ("；" if language_of(question) == "zh" else "; ").join(shown)


def shortened(text: str, limit: int) -> str:
    """The text on one line, cut to `limit` characters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def ended(stop: StopReason, question: str, action: Action = "generate", detail: str = "") -> Decision:
    """The decision that ends a loop: why, in words of the question's language and as a code; `detail` is added."""
    language = language_of(question)
    reason = STOPPED[stop][language]
    return Decision(action=action, reason=word("colon", language, reason, detail) if detail else reason, stop=stop)


class Whole(str):
    """A detail that says it all: it stands in place of the warning's own words."""

    __slots__ = ()


def warning(code: WarningCode, question: str, detail: str = "") -> ResultWarning:
    """The warning in the question's language; `detail` (an error message, say) follows in brackets."""
    language = language_of(question)
    text = WARNINGS[code][language]
    if isinstance(detail, Whole):
        return ResultWarning(code=code, message=str(detail))
    if not detail:
        return ResultWarning(code=code, message=text)
    return ResultWarning(code=code, message=f"{text}（{detail}）" if language == "zh" else f"{text} ({detail})")


def abstention(question: str, *, unread: bool = False) -> str:
    """What an abstaining program answers; `unread` where it is the model's reply that could not be read."""
    return (UNREAD if unread else ABSTENTION)[language_of(question)]


def budget_detail(question: str, evidence: Phrase | None, instead: Mapping[str, Backend | None]) -> str:
    """What a budget left undone: how the evidence stood, and who did each part in place of its own back end."""
    language = language_of(question)
    parts = [phrase(evidence, question)] if evidence else []
    for key, by in (("done_by_rules", True), ("not_done", False)):
        if names := [word(name, language) for name, to in instead.items() if (to is not None) is by]:
            parts.append(phrase(cast(Phrase, key), question, names=word("comma", language).join(names)))
    return word("list", language).join(parts)
