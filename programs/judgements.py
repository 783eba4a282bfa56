"""From output fields to judgements: names passages by id instead of number, and counts what could not be read."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from reflective_rag.programs.reading import read_choice, read_items, read_numbers
from reflective_rag.programs.steps import AskOutcome
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.text import normalize, tokenize
from reflective_rag.signatures.types import (
    GAP_KINDS,
    ClaimSupport,
    Contradiction,
    Draft,
    Gap,
    Judgement,
    JudgementName,
    Passage,
    Requirement,
    Support,
    TimeScope,
)

UNKNOWN = {
    "", "unknown", "null", "n a", "not known", "no answer", "i don t know", "unanswerable", "未知", "不知道", "不详",
}  # fmt: skip
"""Normal forms of an answer that says "the passages do not tell". Not "None" and "无", which can be right."""

_VERBS = "contain|mention|state|specify|provide|include|say|tell|answer|give|indicate"
_CANNOT = "cannot|can t|can not|could not|couldn t|(am|m) (unable|not able) to"
_REFUSALS = (
    rf"(the|these|this|given|provided|retrieved) .{{0,40}}?(do|does|did) not .{{0,30}}?({_VERBS})",
    rf"i ({_CANNOT}) (answer|determine|find|tell|provide|give|say|verify|help|assist|browse|access)",
    r"i (do not|don t) (know|have (access|enough|any|the|sufficient|information|real time))\b",
    r"(there is |there are )?(no|not enough|insufficient) (information|evidence|mention|answer|details?|data)\b",
    r"(it is |it s |this is )?not (specified|mentioned|stated|provided|given|available|found|indicated)\b",
    r"(it )?(cannot|can not|can t|could not) be (determined|answered|found|established)",
    r".{0,20}?(无法|不能|未能|难以)(回答|确定|得知|判断|找到|得出)",
    r"我(也|们)?(不知道|不清楚|不确定|没有(足够|相关|任何)|无法|不能)",
    r".{0,20}?(没有|并未|未|并没有)(明确)?(提到|提及|说明|给出|提供|包含|记载|相关|足够)",
)
_SORRY = (
    r"(?:(?:i m |i am )?(?:so |very |really )?sorry (?:but )?|i apologi[sz]e (?:but )?|apologies (?:but )?"
    r"|unfortunately |regrettably "
    r"|(?:我)?(?:很|非常|十分|实在)?(?:抱歉|对不起|遗憾|不好意思) ?)*"
)
_REFUSAL = late_pattern(_SORRY + "(?:" + "|".join(_REFUSALS) + ")")
_LONGEST_REFUSAL = 200
"""Characters; a longer text that begins like a refusal says more than that."""

_UNABLE = (
    r"i (?:(?:really|just|simply|currently|also) )?(?:cannot|can not|can t|could not|couldn t"
    r"|am unable|m unable|am not able|m not able|am not sure"
    r"|do not|don t|did not|didn t|have no|lack|won t|will not|must decline)\b"
)
_MODEL_EN = (
    r"(?:an? )?(?:ai|artificial intelligence|(?:large |ai )?language model|chatbot|virtual assistant)"
    r"(?: language model| model| assistant| system| chatbot)?"
)
_MODEL_ZH = r"(?:一[个名款位]?)?(?:基于)?(?:ai|人工智能|大?语言模型|智能助[手理]|聊天机器人|虚拟助[手理])(?!的)"
_AS_A_MODEL = late_pattern(
    rf"{_SORRY}(?:as {_MODEL_EN} (?:(?:developed|trained|made|created) by \w+ )?{_UNABLE}"
    rf"|i (?:am|m) (?:just |only )?{_MODEL_EN} (?:and|so|which means) {_UNABLE}"
    rf"|(?:作为|我是|我只是|身为){_MODEL_ZH}.{{0,30}}?(?:无法|不能|不会|没有|不便|并不|不具备|未能|难以))"
)
"""A model that speaks of itself instead of answering; "As an AI researcher, she …" does not."""
_LONGEST_EXCUSE = 600
"""Characters of such an excuse."""

_IMPORTANCE = {"high": 0.9, "medium": 0.6, "low": 0.3}
MOST_NEEDS = 8
"""Needs that are read; models are asked for 4. More count as unreadable."""
SAME_NEED = 0.5
"""Share of common words (Jaccard) above which a need of a later round is one of round 1."""
MOST_GAPS = 3


def judgement_of(
    fields: Mapping[str, Any],
    passages: Sequence[Passage],
    fixed: tuple[Requirement, ...],
    *,
    asked: Sequence[str],
) -> Judgement:
    """The judgement in the output fields of `AssessEvidence`, or of several narrow signatures put together.

    Args:
        fields: Output fields; a field of `asked` that is missing counts as one unreadable verdict.
        passages: The numbered passages, in the order the model saw them.
        fixed: Requirements of round 1; empty in round 1 itself.
        asked: Names of the fields that the model was asked for.
    """
    reply = _Reply(fields, passages, asked)
    requirements = reply.requirements(fixed)
    outdated = reply.numbers("outdated", "freshness")
    verdict = read_choice(fields.get("sufficient"), ("yes", "no"))
    if "sufficient" in asked:
        reply.note("sufficiency", int(verdict is None), verdict)
    scope: TimeScope | None = read_choice(fields.get("time_scope"), get_args(TimeScope))
    return Judgement(
        relevance=reply.relevance(),
        requirements=requirements,
        contradictions=reply.contradictions(),
        time_scope=scope or ("now" if outdated else "timeless"),
        outdated=tuple(passages[n - 1].id for n in outdated),
        sufficient=None if verdict is None else verdict == "yes",
        sufficiency=None if verdict is None else fields.get("sufficiency"),
        gaps=reply.gaps(),
        unreadable=reply.bad,
        lost=tuple(reply.lost),
    )


class _Reply:
    """Reads the fields of one reply, counting what cannot be read and noting the judgements that it cost."""

    def __init__(self, fields: Mapping[str, Any], passages: Sequence[Passage], asked: Sequence[str]) -> None:
        self.fields, self.passages, self.asked = fields, passages, asked
        self.bad = 0
        self.lost: list[JudgementName] = []

    def note(self, name: JudgementName, wrong: int, found: object) -> None:
        """Count entries that could not be read; the judgement is lost where there is nothing else."""
        self.bad += wrong
        if wrong and not found:
            self.lost.append(name)

    def numbers(self, field: str, name: JudgementName) -> tuple[int, ...]:
        """The passage numbers in a field; none where it was not asked for."""
        if field not in self.asked:
            return ()
        found, wrong = read_numbers(self.fields.get(field), len(self.passages))
        self.note(name, wrong, found)
        return found

    def relevance(self) -> dict[str, float]:
        """Grades of narrow calls, or 1 and 0 by the list of relevant passages; empty where it could not be read."""
        if "grades" in self.fields:
            grades = dict(self.fields["grades"])
            self.note("relevance", int(self.fields.get("unread_grades") or 0), grades)
            return grades
        numbers = self.numbers("relevant", "relevance")
        if "relevant" not in self.asked or "relevance" in self.lost:
            return {}
        return {p.id: float(i in numbers) for i, p in enumerate(self.passages, 1)}

    def requirements(self, fixed: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
        """Those of round 1 as this reply fills them in, or the list that it makes."""
        if "needs" not in self.asked:
            return fixed
        requirements, named, wrong = _requirements(self.fields.get("needs"), self.passages, fixed)
        self.note("coverage", wrong, named)
        return requirements

    def contradictions(self) -> tuple[Contradiction, ...]:
        """The pairs whose quotes stand in the passages."""
        if "contradictions" not in self.asked:
            return ()
        found, wrong = _contradictions(self.fields.get("contradictions"), self.passages)
        self.note("consistency", wrong, found)
        return found

    def gaps(self) -> tuple[Gap, ...]:
        """What is missing, most important first."""
        if "gaps" not in self.asked:
            return ()
        found, wrong = gaps_of(self.fields.get("gaps"))
        self.note("gaps", wrong, found)
        return found


def _requirements(
    value: Any, passages: Sequence[Passage], fixed: tuple[Requirement, ...]
) -> tuple[tuple[Requirement, ...], int, int]:
    """Round 1 makes the list; later rounds fill it in by the need's words, and never add to it.

    Returns the list, how many needs the reply named, and how many entries could not be read.
    """
    items, bad = read_items(value)
    found: list[Requirement] = []
    bad += len(items[MOST_NEEDS:])
    for item in items[:MOST_NEEDS]:
        need = str(item.get("need") or "").strip()
        numbers, wrong = read_numbers(item.get("passages", []), len(passages))
        if not need:
            bad += 1
            continue
        bad += wrong
        ids = tuple(passages[n - 1].id for n in numbers)
        found.append(Requirement(need=need, status="covered" if ids else "missing", passage_ids=ids))
    if not fixed:
        return tuple(found), len(found), bad
    filled = []
    for old in fixed:
        new = next((r for r in found if _same_need(r.need, old.need)), None)
        if new and new.passage_ids:
            ids = tuple(dict.fromkeys((*old.passage_ids, *new.passage_ids)))
            old = old.model_copy(update={"status": "covered", "passage_ids": ids})
        filled.append(old)
    return tuple(filled), len(found), bad


def _same_need(a: str, b: str) -> bool:
    """Whether two needs are one in nearly the same words; never by their place in the list, which models change."""
    left, right = set(tokenize(a)), set(tokenize(b))
    return normalize(a) == normalize(b) or len(left & right) > SAME_NEED * len(left | right)


def _contradictions(value: Any, passages: Sequence[Passage]) -> tuple[tuple[Contradiction, ...], int]:
    """Only pairs of two different passages whose quotes really stand in them; anything else counts as unreadable."""
    items, bad = read_items(value)
    found: list[Contradiction] = []
    for item in items:
        pair, wrong = read_numbers([item.get("passage_a"), item.get("passage_b")], len(passages))
        quotes = [str(item.get("quote_a") or "").strip(), str(item.get("quote_b") or "").strip()]
        if wrong or len(pair) != 2:
            bad += 1
            continue
        a, b = (passages[n - 1] for n in pair)
        if not (quotes[0] and quotes[1] and quotes[0] in a.text and quotes[1] in b.text) or quotes[0] == quotes[1]:
            bad += 1
            continue
        newer = None
        if a.published and b.published and a.published != b.published:
            newer = a.id if a.published > b.published else b.id
        about = str(item.get("about") or "").strip()
        found.append(
            Contradiction(passage_a=a.id, span_a=quotes[0], passage_b=b.id, span_b=quotes[1], about=about, newer=newer)
        )
    return tuple(found), bad


def gaps_of(value: Any) -> tuple[tuple[Gap, ...], int]:
    """Gaps, most important first; a gap without a query is unreadable, an unknown kind becomes `incomplete_answer`."""
    items, bad = read_items(value)
    gaps: list[Gap] = []
    for item in items:
        need, query = (str(item.get(key) or "").strip() for key in ("need", "query"))
        if not query:
            bad += 1
            continue
        kind = str(item.get("kind") or "").strip()
        importance = _IMPORTANCE.get(str(item.get("importance") or "high").casefold(), 0.6)
        gaps.append(
            Gap(
                kind=kind if kind in GAP_KINDS else "incomplete_answer",
                need=need or query,
                query=query,
                importance=importance,
            )
        )
    gaps.sort(key=lambda gap: -gap.importance)
    return tuple(gaps[:MOST_GAPS]), bad


def draft_of(outcome: AskOutcome, passages: Sequence[Passage]) -> Draft | None:
    """The draft in the fields of an answering signature; None when there is no readable answer."""
    fields = outcome.fields or {}
    answer = fields.get("answer")
    if not isinstance(answer, str):
        return None
    numbers, bad = read_numbers(fields.get("cited"), len(passages))
    text = answer.strip().strip("«»").strip()
    if is_refusal(text):
        return Draft(answer="", unreadable=0)
    return Draft(answer=text, cited=tuple(passages[n - 1].id for n in numbers), unreadable=bad)


def is_refusal(answer: str) -> bool:
    """Whether an answer says that it has none, as a word ("unknown") or in a sentence ("It is not stated.").

    So does a model that speaks of itself ("As an AI, I cannot …", 作为人工智能，我无法……).
    """
    text = normalize(answer)
    if text in UNKNOWN or (len(text) <= _LONGEST_REFUSAL and _REFUSAL.match(text) is not None):
        return True
    return len(text) <= _LONGEST_EXCUSE and _AS_A_MODEL.match(text) is not None


def support_of(outcome: AskOutcome, claim: str, passages: Sequence[Passage]) -> ClaimSupport:
    """The verdict in the fields of `JudgeSupport`; `support` is None when it cannot be read."""
    fields = outcome.fields or {}
    support: Support | None = read_choice(fields.get("support"), get_args(Support))
    problem = str(fields.get("problem") or "").strip()
    return ClaimSupport(
        claim=claim,
        support=support,
        passage_ids=tuple(p.id for p in passages),
        problem="" if support == "supported" else problem,
    )
