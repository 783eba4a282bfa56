"""Whether passages carry a claim."""

import re
from collections.abc import Sequence

from reflective_rag.programs.rules.deciding import decide_with_coverage, negated, yes_or_no
from reflective_rag.programs.rules.evidence import Evidence, Line, Page, gather, merge, scale
from reflective_rag.programs.rules.matching import fold, has_cjk, hits
from reflective_rag.programs.rules.question import Question, analyse
from reflective_rag.programs.rules.spans import candidates
from reflective_rag.programs.rules.time import years
from reflective_rag.programs.rules.values import amount, numbers
from reflective_rag.programs.rules.versions import outdated_pages
from reflective_rag.signatures.types import ClaimSupport, Passage, Support

FULL, MOST, HALF = 0.8, 0.7, 0.5
"""Coverage of a claim's terms from which a sentence supports it, may contradict it (by a number or a negation), partly supports it."""

ABOUT, LOOSELY_ABOUT = 0.5, 0.3
"""Coverage of the question's terms by the sentence that holds a short answer: enough for "supported", enough for "partially"."""

SURE = 0.8
"""Coverage from which a yes/no question counts as decided by one sentence."""

SHORT_WORDS, SHORT_CHARACTERS = 8, 16
"""A claim up to this length (English, Chinese) that does not repeat the question is a short answer, not a statement."""

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_SAYS = re.compile(r"\b(?:is|was|are|were|has|had|have|did|does|will)\b|[是在于了把被](?=.)", re.IGNORECASE)
_PARTS = re.compile(r"[；;]")
_PROBLEMS = {
    "en": {
        "empty": "The claim is empty.",
        "none": "No passage says this.",
        "part": "Only part of this stands in the passages.",
        "apart": "The passages name this, but not in connection with what is asked.",
        "value": "A passage gives {value} instead.",
        "negation": "A passage says the opposite.",
        "yes_no": "A yes/no answer that no single sentence decides.",
        "old": "Only an outdated passage says this.",
    },
    "zh": {
        "empty": "该论断为空。",
        "none": "没有段落提到这一点。",
        "part": "段落只支持其中一部分。",
        "apart": "段落提到了它，但与所问之事没有联系。",
        "value": "有段落给出的是{value}。",
        "negation": "有段落的说法相反。",
        "yes_no": "是非回答，没有单独一句能够判定。",
        "old": "只有过时的段落这样说。",
    },
}


def check_support(question: str, claim: str, passages: Sequence[Passage]) -> ClaimSupport:
    """Judge one claim against the passages by content overlap; numbers and negation must agree.

    A short answer ("1936", 鲁迅) is looked for together with the question's terms, in one sentence and its neighbours; a statement by its
    own terms. `problem` is in the question's language and empty when supported. The verdict is never None: rules always read their own.
    """
    asked = analyse(question)
    if not fold(claim).strip():
        return _verdict(asked, claim, "not_supported", (), "empty")
    evidence = gather(asked, passages)
    answer = yes_or_no(claim)
    if answer is not None and asked.kind == "yes_no":
        return _yes_no(evidence, claim, answer)
    found = _judge(evidence, claim)
    if found.support == "supported":
        stale = {evidence.pages[i].passage.id for i in outdated_pages(evidence)}
        if stale and set(found.passage_ids) <= stale:
            return _verdict(asked, claim, "partially", found.passage_ids, "old")
    return found


def _judge(evidence: Evidence, claim: str) -> ClaimSupport:
    """Verdict on one claim; a list of short answers (A；B) is supported when each member is."""
    question = evidence.question
    parts = [part.strip() for part in _PARTS.split(claim) if part.strip()]
    if len(parts) < 2 or not all(_is_short(question, part) for part in parts):
        return _short(evidence, claim) if _is_short(question, claim) else _statement(evidence, claim)
    verdicts = [_short(evidence, part) for part in parts]
    ids = [passage_id for verdict in verdicts for passage_id in verdict.passage_ids]
    if len({verdict.support for verdict in verdicts}) == 1 and verdicts[0].support != "contradicted":
        return verdicts[0].model_copy(update={"claim": claim, "passage_ids": tuple(dict.fromkeys(ids))})
    held = [passage_id for v in verdicts if v.support in ("supported", "partially") for passage_id in v.passage_ids]
    return _verdict(question, claim, "partially" if held else "not_supported", held, "part" if held else "none")


def _verdict(
    question: Question, claim: str, support: Support, ids: Sequence[str], problem: str = "", value: str = ""
) -> ClaimSupport:
    text = _PROBLEMS[question.language][problem].format(value=value) if problem else ""
    return ClaimSupport(claim=claim, support=support, passage_ids=tuple(dict.fromkeys(ids)), problem=text)


def _is_short(question: Question, claim: str) -> bool:
    size = len(claim) <= SHORT_CHARACTERS if has_cjk(claim) else len(claim.split()) <= SHORT_WORDS
    repeated = hits(question.terms, claim)
    says = negated(claim) or (
        _SAYS.search(claim) is not None and len(claim.split() if not has_cjk(claim) else claim) > 4
    )
    return size and not says and (not repeated or sum(h > 0 for h in repeated) < max(2, len(repeated) / 2))


def _yes_no(evidence: Evidence, claim: str, answer: bool) -> ClaimSupport:
    draft, coverage = decide_with_coverage(evidence)
    if not draft.answer or coverage < SURE:
        return _verdict(evidence.question, claim, "partially", draft.cited, "yes_no")
    agrees = yes_or_no(draft.answer) == answer
    return _verdict(
        evidence.question, claim, "supported" if agrees else "contradicted", draft.cited, "" if agrees else "negation"
    )


def _claim_hits(evidence: Evidence, claim: str) -> tuple[Evidence, bool]:
    """The passages matched against the claim's own terms, and whether it has any."""
    asked = analyse(claim)
    return gather(asked, [page.passage for page in evidence.pages]), bool(asked.terms)


def _short(evidence: Evidence, claim: str) -> ClaimSupport:
    own, has_terms = _claim_hits(evidence, claim)
    full: list[str] = []
    part: list[str] = []
    apart: list[str] = []
    for page, claim_page in zip(evidence.pages, own.pages, strict=True):
        for i, line in enumerate(page.lines):
            held = _held(own, claim, claim_page.lines, i, has_terms)
            about = evidence.coverage(line.context)
            if held >= 1 and about >= ABOUT:
                full.append(page.passage.id)
            elif (held >= 1 and about >= LOOSELY_ABOUT) or (HALF <= held < 1 and about >= ABOUT):
                part.append(page.passage.id)
            elif held >= 1:
                apart.append(page.passage.id)
    if full:
        return _verdict(evidence.question, claim, "supported", full)
    if other := _other_value(evidence, claim):
        return _verdict(evidence.question, claim, "contradicted", (other[0],), "value", other[1])
    if part:
        return _verdict(evidence.question, claim, "partially", part, "part")
    return _verdict(evidence.question, claim, "not_supported", (), "apart" if apart else "none")


def _held(own: Evidence, claim: str, lines: Sequence[Line], i: int, has_terms: bool) -> float:
    """Share of the short claim that line `i` holds itself, or (fully only) with its neighbours."""
    if fold(claim).strip(" .。") in fold(lines[i].text) and _digits(claim) <= _digits(lines[i].text):
        return 1.0
    if not has_terms or not _digits(claim) <= _digits(lines[i].text):
        return 0.0
    return own.coverage(lines[i].own)


def _digits(text: str) -> set[str]:
    """Numbers as digit strings, thousands separators removed."""
    return {found.replace(",", "").rstrip(".") for found in _DIGITS.findall(fold(text))}


def _other_value(evidence: Evidence, claim: str) -> tuple[str, str] | None:
    """Passage id and value of an on-topic sentence that answers a when or how-many question otherwise than the claim does."""
    question = evidence.question
    if question.kind not in ("number", "time") or not _digits(claim):
        return None
    best: tuple[float, str, str] | None = None
    for page in evidence.pages:
        for line in page.lines:
            about = evidence.coverage(line.context)
            spans = candidates(evidence, line) if about >= MOST and (best is None or about > best[0]) else []
            if spans and _differs(question, claim, spans[0].text):
                best = (about, page.passage.id, spans[0].text)
    return best[1:] if best else None


def _differs(question: Question, claim: str, value: str) -> bool:
    if question.kind == "time":
        ours, theirs = years(claim), years(value)
        return bool(ours and theirs) and not set(ours) & set(theirs)
    ours_number, theirs_number = (
        next((n for span in numbers(text) if (n := amount(span)) is not None), None) for text in (claim, value)
    )
    return (
        ours_number is not None
        and theirs_number is not None
        and abs(ours_number - theirs_number) > 0.005 * max(abs(ours_number), abs(theirs_number))
    )


def _statement(evidence: Evidence, claim: str) -> ClaimSupport:
    """The best verdict of any sentence with its neighbours; passages that give the same verdict are named together."""
    own, _ = _claim_hits(evidence, claim)
    verdicts = [_judge_line(own, evidence.question, claim, p, i) for p in own.pages for i in range(len(p.lines))]
    if not verdicts:
        return _verdict(evidence.question, claim, "not_supported", (), "none")
    rank, _, best = max(verdicts, key=lambda verdict: verdict[:2])
    ids = [passage_id for other, _, verdict in verdicts if other == rank for passage_id in verdict.passage_ids]
    return best.model_copy(update={"passage_ids": tuple(dict.fromkeys((*best.passage_ids, *ids)))})


def _judge_line(own: Evidence, question: Question, claim: str, page: Page, at: int) -> tuple[int, float, ClaimSupport]:
    """Rank, coverage and verdict of sentence `at` of a page: support beats contradiction beats part beats nothing."""
    line = page.lines[at]
    near = (scale(page.lines[i].own, 0.9) for i in (at - 1, at + 1) if 0 <= i < len(page.lines))
    held = merge(line.own, scale(page.title, 0.9), *near)
    worded = own.coverage(held, [not term.text[0].isdigit() for term in own.question.terms])
    said = [not term.text[0].isdigit() and not term.entity for term in own.question.terms]
    coverage, ids = own.coverage(held), (page.passage.id,)
    missing = _digits(claim) - _digits(line.text) - _digits(page.passage.title)
    flipped = negated(claim) != negated(line.text)
    if coverage >= FULL and not missing and not flipped:
        return 3, coverage, _verdict(question, claim, "supported", ids)
    if worded >= MOST and missing and _same_units(claim, line.text):
        other = ", ".join(sorted(_digits(line.text) - _digits(claim)))
        return 2, coverage, _verdict(question, claim, "contradicted", ids, "value", other)
    if worded >= MOST and flipped and not missing:
        return 2, coverage, _verdict(question, claim, "contradicted", ids, "negation")
    if coverage >= HALF and (not any(said) or own.coverage(held, said) > 0):
        return 1, coverage, _verdict(question, claim, "partially", ids, "part")
    return 0, coverage, _verdict(question, claim, "not_supported", (), "none")


def _same_units(claim: str, text: str) -> bool:
    """Whether the sentence has another number of a kind the claim has: the same unit, or a year for a year."""
    ours, theirs = years(claim), years(text)
    if ours and theirs and not set(ours) & set(theirs):
        return True
    units = {span.unit for span in numbers(claim)}
    return any(span.unit in units for span in numbers(text) if not _digits(span.text) <= _digits(claim))
