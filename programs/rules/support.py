"""Whether passages carry a claim, and which sentence to quote for an answer."""

import re
from collections.abc import Sequence

from reflective_rag.programs.rules.compare import decide_with_coverage, negated
from reflective_rag.programs.rules.evidence import Evidence, Hits, Line, gather, merge, scale
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

_YES_NO = {
    "yes": True,
    "no": False,
    "true": True,
    "false": False,
    "是": True,
    "是的": True,
    "否": False,
    "不是": False,
    "不": False,
    "没有": False,
}
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
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
    answer = _YES_NO.get(fold(claim).strip(" .。!！"))
    if answer is not None and asked.kind == "yes_no":
        return _yes_no(evidence, claim, answer)
    found = _short(evidence, claim) if _is_short(asked, claim) else _statement(evidence, claim)
    if found.support == "supported":
        stale = {evidence.pages[i].passage.id for i in outdated_pages(evidence)}
        if stale and set(found.passage_ids) <= stale:
            return _verdict(asked, claim, "partially", found.passage_ids, "old")
    return found


def _verdict(
    question: Question, claim: str, support: Support, ids: Sequence[str], problem: str = "", value: str = ""
) -> ClaimSupport:
    text = _PROBLEMS[question.language][problem].format(value=value) if problem else ""
    return ClaimSupport(claim=claim, support=support, passage_ids=tuple(dict.fromkeys(ids)), problem=text)


def _is_short(question: Question, claim: str) -> bool:
    size = len(claim) <= SHORT_CHARACTERS if has_cjk(claim) else len(claim.split()) <= SHORT_WORDS
    repeated = hits(question.terms, claim)
    return size and (not repeated or sum(h > 0 for h in repeated) < max(2, len(repeated) / 2))


def _yes_no(evidence: Evidence, claim: str, answer: bool) -> ClaimSupport:
    draft, coverage = decide_with_coverage(evidence)
    if not draft.answer or coverage < SURE:
        return _verdict(evidence.question, claim, "partially", draft.cited, "yes_no")
    agrees = _YES_NO[draft.answer] == answer
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
    own, _ = _claim_hits(evidence, claim)
    worded = [not term.text[0].isdigit() for term in own.question.terms]
    best: tuple[int, float, ClaimSupport] | None = None
    for page in own.pages:
        for i, line in enumerate(page.lines):
            near = [
                line.own,
                scale(page.title, 0.9),
                *(scale(page.lines[j].own, 0.9) for j in (i - 1, i + 1) if 0 <= j < len(page.lines)),
            ]
            rank, verdict = _judge_line(
                evidence, claim, line, own.coverage(merge(*near)), own.coverage(merge(*near), worded), page.passage
            )
            key = (rank, own.coverage(merge(*near)), verdict)
            if best is None or key[:2] > best[:2]:
                best = key
    return best[2] if best else _verdict(evidence.question, claim, "not_supported", (), "none")


def _judge_line(
    evidence: Evidence, claim: str, line: Line, coverage: float, worded: float, passage: Passage
) -> tuple[int, ClaimSupport]:
    """Verdict of one sentence on a statement, with its rank: support beats contradiction beats part beats nothing."""
    question, ids = evidence.question, (passage.id,)
    missing = _digits(claim) - _digits(line.text) - _digits(passage.title)
    flipped = negated(claim) != negated(line.text)
    if coverage >= FULL and not missing and not flipped:
        return 3, _verdict(question, claim, "supported", ids)
    if worded >= MOST and missing and _same_units(claim, line.text):
        return 2, _verdict(
            question, claim, "contradicted", ids, "value", ", ".join(sorted(_digits(line.text) - _digits(claim)))
        )
    if worded >= MOST and flipped and not missing:
        return 2, _verdict(question, claim, "contradicted", ids, "negation")
    if coverage >= HALF:
        return 1, _verdict(question, claim, "partially", ids, "part")
    return 0, _verdict(question, claim, "not_supported", (), "none")


def _same_units(claim: str, text: str) -> bool:
    """Whether the sentence has another number of a kind the claim has: the same unit, or a year for a year."""
    ours, theirs = years(claim), years(text)
    if ours and theirs and not set(ours) & set(theirs):
        return True
    units = {span.unit for span in numbers(claim)}
    return any(span.unit in units for span in numbers(text) if not _digits(span.text) <= _digits(claim))


def locate_quote(question: str, answer: str, passage: Passage) -> tuple[str, int, int] | None:
    """The sentence of the passage that carries the answer best, as (quote, start, end) with `passage.text[start:end] == quote`.

    None when no sentence shares content with the answer (yes and no have none of their own: the question's terms decide there).
    """
    asked = analyse(question)
    evidence = gather(asked, (passage,))
    bare = _YES_NO.get(fold(answer).strip(" .。!！")) is not None
    own = evidence if bare else gather(analyse(answer), (passage,))
    literal = fold(answer).strip(" .。")
    best: tuple[float, Line] | None = None
    for line, answer_line in zip(evidence.pages[0].lines, own.pages[0].lines, strict=True):
        share = _answer_share(own, literal, bare, answer_line)
        score = 2 * share + evidence.coverage(line.context)
        if share > 0 and (best is None or score > best[0]):
            best = (score, line)
    return (best[1].text, best[1].start, best[1].end) if best else None


def _answer_share(own: Evidence, literal: str, bare: bool, line: Line) -> float:
    held: Hits = line.own
    if not bare and literal and literal in fold(line.text):
        return 1.0
    return own.coverage(held)
