"""Whether passages carry a claim."""

import re
from collections.abc import Sequence
from datetime import date

from reflective_rag.programs.rules.deadline import GRACE, OutOfTime, watched
from reflective_rag.programs.rules.deciding import decide_with_coverage
from reflective_rag.programs.rules.direction import tells
from reflective_rag.programs.rules.evidence import Evidence, gather
from reflective_rag.programs.rules.matching import fold, has_cjk, hits, segmenter, stands_in
from reflective_rag.programs.rules.negation import negated
from reflective_rag.programs.rules.question import Question, analyse
from reflective_rag.programs.rules.settings import RuleSettings
from reflective_rag.programs.rules.short import judge_short
from reflective_rag.programs.rules.statements import judge_statement
from reflective_rag.programs.rules.unsettled import leaves_open
from reflective_rag.programs.rules.verdicts import verdict
from reflective_rag.programs.rules.versions import outdated_pages
from reflective_rag.programs.rules.yes_no import yes_or_no
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.text import well_formed
from reflective_rag.signatures.types import ClaimSupport, Passage, Support

SHORT_WORDS, SHORT_CHARACTERS = 8, 16
"""A claim up to this length (English, Chinese) that does not repeat the question is a short answer, not a statement."""

_SAYS = late_pattern(
    r"\b(?:is|was|are|were|has|had|have|did|does|will)\b|[是在于了把被](?=.)|[有无](?![限])(?=.)", re.IGNORECASE
)
_SURE_PARTS = late_pattern(r"\s*[；;]\s*")
_PARTS = late_pattern(r"\s*(?:[；;、，]|,\s+(?:and\s+|or\s+)?|\s+and\s+|\s+&\s+|\x00)\s*")


def check_support(
    question: str,
    claim: str,
    passages: Sequence[Passage],
    today: date | None = None,
    *,
    settings: RuleSettings | None = None,
) -> ClaimSupport:
    """Judge one claim against the passages by content; numbers, dates, units, negation and antonyms must agree.

    A short answer ("1936", 鲁迅) must stand together with what the question asks, in one sentence with its neighbours
    and title; a statement is judged by its own terms. Of a list of short answers every member is looked for.

    Args:
        today: what "now" and "last year" mean, for `outdated`; without it no passage is too old by itself.
        settings: the thresholds; by default `RuleSettings()`.

    Returns:
        The verdict, the passages it rests on, and `problem` in the question's language (empty when supported). The
        verdict is None only where a time limit ends it in the middle (see `deadline`).
    """
    try:
        with watched(GRACE):
            return _check(question, claim, passages, today, settings)
    except OutOfTime:
        return ClaimSupport(claim=well_formed(claim), support=None)


def _check(
    question: str, claim: str, passages: Sequence[Passage], today: date | None, settings: RuleSettings | None
) -> ClaimSupport:
    asked, claim = analyse(question, today), well_formed(claim)
    if not fold(claim).strip():
        return verdict(asked, claim, "not_supported", (), "empty")
    evidence = gather(asked, passages, settings)
    answer = yes_or_no(claim)
    if answer is not None and asked.kind == "yes_no":
        return _yes_no(evidence, claim, answer)
    found = _judge(evidence, claim)
    if found.support == "supported":
        stale = {evidence.pages[i].passage.id for i in outdated_pages(evidence)}
        if stale and set(found.passage_ids) <= stale:
            return verdict(asked, claim, "partially", found.passage_ids, "old")
    return found


def _judge(evidence: Evidence, claim: str) -> ClaimSupport:
    """Verdict on one claim; a list of short answers is supported when each member is."""
    question = evidence.question
    parts = _list(evidence, claim)
    if not parts:
        return judge_short(evidence, claim) if _is_short(question, claim) else judge_statement(evidence, claim)
    verdicts = [judge_short(evidence, part) for part in parts]
    ids = [passage_id for found in verdicts for passage_id in found.passage_ids]
    if len({found.support for found in verdicts}) == 1 and verdicts[0].support != "contradicted":
        return verdicts[0].model_copy(update={"claim": claim, "passage_ids": tuple(dict.fromkeys(ids))})
    held = [passage_id for v in verdicts if v.support in ("supported", "partially") for passage_id in v.passage_ids]
    return verdict(question, claim, "partially" if held else "not_supported", held, "part" if held else "none")


def _list(evidence: Evidence, claim: str) -> list[str]:
    """The members of a list of short answers; empty for a single one.

    Commas and "and" separate members only where no passage holds the claim as it stands (Paris, France; Lord and Lady)
    and no number is cut (2 May, 1931).
    """
    sure = [part for part in _SURE_PARTS.split(claim.strip(" .。")) if part.strip()]
    if len(sure) < 2:
        whole = any(stands_in(claim, line.text) for page in evidence.pages for line in page.lines)
        split = [] if whole else [part for part in _PARTS.split(_marked(claim.strip(" .。"))) if part.strip()]
        sure = [] if any(part.strip().isdigit() or re.search(r"\d\D{0,9}$", part) for part in split[:-1]) else split
    return sure if len(sure) > 1 and all(_is_short(evidence.question, part) for part in sure) else []


def _marked(claim: str) -> str:
    """The claim with a mark in place of each Chinese "and" that the segmenter takes for a word (not the one in 昭和)."""
    if not has_cjk(claim):
        return claim
    return "".join("\x00" if word in ("和", "与", "以及", "及") else word for word, _ in segmenter().tag(claim))


def _is_short(question: Question, claim: str) -> bool:
    size = len(claim) <= SHORT_CHARACTERS if has_cjk(claim) else len(claim.split()) <= SHORT_WORDS
    repeated = hits(question.terms, claim)
    says = (
        negated(claim)
        or tells(claim)
        or (_SAYS.search(claim) is not None and len(claim.split() if not has_cjk(claim) else claim) > 4)
    )
    return size and not says and (not repeated or sum(h > 0 for h in repeated) < max(2, len(repeated) / 2))


def _yes_no(evidence: Evidence, claim: str, answer: bool) -> ClaimSupport:
    draft, coverage = decide_with_coverage(evidence)
    if not draft.answer or coverage < evidence.settings.full_support:
        return verdict(evidence.question, claim, "partially", draft.cited, "yes_no")
    agrees = yes_or_no(draft.answer) == answer
    if agrees and answer and (open_ := _left_open(evidence, draft.cited)):
        return verdict(evidence.question, claim, "partially", draft.cited, open_)
    support: Support = "supported" if agrees else "contradicted"
    return verdict(evidence.question, claim, support, draft.cited, "" if agrees else "negation")


def _left_open(evidence: Evidence, cited: Sequence[str]) -> str:
    """Whether the sentence that holds most of a yes/no question, of the passages that decide it, is a plan or hearsay."""
    lines = [line for page in evidence.pages if page.passage.id in cited for line in page.lines]
    best = max(lines, key=lambda line: evidence.coverage(line.context), default=None)
    return leaves_open(evidence.question, evidence.question.terms, best.text) if best else ""
