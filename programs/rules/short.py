"""Short answers ("1936", 鲁迅): they must stand in a sentence that speaks of what is asked."""

import re
from collections.abc import Sequence

from reflective_rag.programs.rules.agreement import converted, digits, months, same_date, unit_conflict, values_held
from reflective_rag.programs.rules.dates import years
from reflective_rag.programs.rules.evidence import Evidence, Line, gather
from reflective_rag.programs.rules.matching import fold, has_cjk, stands_in
from reflective_rag.programs.rules.opposites import opposed
from reflective_rag.programs.rules.question import WEIGHT_WEAK, Question, analyse
from reflective_rag.programs.rules.refuting import left_open, refutes, reverses
from reflective_rag.programs.rules.spans import Candidate, candidates
from reflective_rag.programs.rules.values import numbers, worded_amount
from reflective_rag.programs.rules.verdicts import verdict
from reflective_rag.programs.rules.words import COMMON_NOUNS_EN
from reflective_rag.signatures.types import ClaimSupport

ATTRIBUTE = 0.25
"""Least coverage of the asked words (names left out) by the sentence with title and neighbours: a sentence that only
mentions the answer beside the question's name is no support."""

RIVAL = 0.3
"""How much better another span of the same sentence must fit the question (see `spans`) to put the answer in doubt."""

SAME = 0.005
"""Relative difference up to which two amounts are the same answer."""


def judge_short(evidence: Evidence, claim: str) -> ClaimSupport:
    """Verdict on a short answer: the best that any sentence gives, then a rival value, then nothing."""
    asked = analyse(claim)
    own = gather(asked, [page.passage for page in evidence.pages], evidence.settings)
    found: dict[str, list[str]] = {"full": [], "part": [], "beside": [], "apart": [], "denied": [], "reversed": []}
    found |= {"planned": [], "hedged": []}
    for page, claim_page in zip(evidence.pages, own.pages, strict=True):
        for i, line in enumerate(page.lines):
            held = _held(own, claim, claim_page.lines[i], bool(asked.terms))
            if rank := _against(evidence, claim, line) or _rank(evidence, claim, line, held) if held else "":
                rank = (left_open(evidence.question, line.text, claim) if rank == "full" else "") or rank
                found[rank].append(page.passage.id)
                if rank == "full":
                    break
    question = evidence.question
    if found["full"]:
        return verdict(question, claim, "supported", found["full"])
    if other := _other_value(evidence, claim):
        return verdict(question, claim, "contradicted", (other[0],), "value", other[1])
    if against := [*found["denied"], *found["reversed"]]:
        return verdict(question, claim, "contradicted", against, "negation" if found["denied"] else "reversed")
    for open_ in ("planned", "hedged"):
        if found[open_]:
            return verdict(question, claim, "partially", found[open_], open_)
    if found["part"]:
        return verdict(question, claim, "partially", found["part"], "part")
    if found["beside"]:
        return verdict(question, claim, "partially", found["beside"], "apart")
    return verdict(question, claim, "not_supported", (), "apart" if found["apart"] else "none")


def _against(evidence: Evidence, claim: str, line: Line) -> str:
    """How a sentence that holds the answer speaks against it: "denied", "reversed" (it did it), or ""."""
    if refutes(evidence.question, line.text, claim):
        return "denied"
    return "reversed" if reverses(evidence.question, line.text, claim) else ""


def _rank(evidence: Evidence, claim: str, line: Line, held: float) -> str:
    """How a sentence that holds some of the answer supports it.

    "full", "part", "beside" (it names what the question names, but not what is asked of it), "apart", or "".
    """
    settings, about = evidence.settings, evidence.coverage(line.context)
    if held < 1:
        return "part" if held >= settings.part_support and about >= settings.about and _speaks(evidence, line) else ""
    if about < settings.loosely_about or opposed(evidence.question.text, line.text):
        return "apart"
    if not _speaks(evidence, line):
        return "beside" if about >= settings.about else "apart"
    return "full" if about >= settings.about and _fits(evidence, claim, line) else "part"


def _speaks(evidence: Evidence, line: Line) -> bool:
    """Whether the sentence, its title or its neighbours hold some of what is asked about the question's names.

    A word that only names the sort of answer (occupation, genre) is seldom stated and not asked for.
    """
    question = evidence.question
    sort = {word for word in fold(question.expected).split() if word in COMMON_NOUNS_EN}
    asked = [not term.entity and term.weight > WEIGHT_WEAK and fold(term.text) not in sort for term in question.terms]
    return not any(asked) or evidence.coverage(line.context, asked) >= ATTRIBUTE


def _fits(evidence: Evidence, claim: str, line: Line) -> bool:
    """Whether the answer is a span of the asked kind, and none of the others in the sentence fits far better."""
    question = evidence.question
    if question.kind not in ("number", "time") or _same_amount(claim, line.text) or same_date(claim, line.text):
        return True
    spans = candidates(evidence, line)
    mine = [span for span in spans if _overlaps(claim, span)]
    if not mine:
        return not spans
    return spans[0].score - max(span.score for span in mine) < RIVAL


def _overlaps(claim: str, span: Candidate) -> bool:
    wanted, text = fold(claim).strip(" .。"), fold(span.text)
    return wanted in text or text in wanted or (bool(digits(claim)) and digits(claim) <= digits(span.text))


def _held(own: Evidence, claim: str, line: Line, has_terms: bool) -> float:
    """Share of the short claim that the sentence holds: its numbers must stand there, in the same unit and month."""
    literal = stands_in(claim, line.text) or same_date(claim, line.text) or _same_amount(claim, line.text)
    share = own.coverage(line.own) if has_terms else 0.0
    if not (literal or share >= own.settings.part_support) or not values_held(claim, line.text):
        return 0.0
    if literal:
        return 1.0
    # Every word is there, but strewn: two half names are not the name.
    return share if share < 1 or _close(claim, line.text) else own.settings.part_support


def _same_amount(claim: str, text: str) -> bool:
    """Whether a claim that is nothing but an amount stands in the text in another unit (0.64 km, 640 metres)."""
    spans = numbers(claim)
    left = fold(claim)
    for span in spans:
        left = left.replace(fold(span.text), "", 1).replace(span.unit, "", 1)
    return bool(spans) and not re.search(r"[^\W_]", left) and converted(claim, text)


def _close(claim: str, text: str) -> bool:
    """Whether the words of the claim stand together in the text, at most as many words apart again as the claim has."""
    if has_cjk(claim) or has_cjk(text) or re.search(r"\d", claim):
        return True
    wanted = [word for word in re.findall(r"\w+", fold(claim)) if len(word) > 2]
    words = re.findall(r"\w+", fold(text))
    places = [[i for i, word in enumerate(words) if word[:4] == want[:4]] for want in wanted]
    if not all(places) or len(places) < 2:
        return True
    return any(
        all(any(abs(i - first) <= 2 * len(wanted) + 1 for i in there) for there in places) for first in places[0]
    )


def _other_value(evidence: Evidence, claim: str) -> tuple[str, str] | None:
    """Passage id and value of an on-topic sentence that answers a when or how-many question otherwise."""
    question = evidence.question
    if question.kind not in ("number", "time") or not digits(claim):
        return None
    best: tuple[float, str, str] | None = None
    for page in evidence.pages:
        for line in page.lines:
            about = evidence.coverage(line.context)
            better = about >= evidence.settings.contradicts and (best is None or about > best[0])
            spans: Sequence[Candidate] = candidates(evidence, line) if better else ()
            if spans and (other := _differs(question, claim, spans[0].text, line.text)):
                best = (about, page.passage.id, other)
    return best[1:] if best else None


def _differs(question: Question, claim: str, value: str, sentence: str) -> str:
    """The value when it is another one than the claim gives, else ""."""
    if question.kind == "time":
        ours, theirs = set(years(claim)), set(years(value))
        apart = bool(ours and theirs) and not ours & theirs
        other_month = bool(months(claim) and months(value)) and not months(claim) & months(value)
        return value if apart or other_month else ""
    if other := unit_conflict(claim, sentence):
        return other
    first, second = (
        next((n for span in numbers(text) if (n := worded_amount(span)) is not None), None) for text in (claim, value)
    )
    if first is None or second is None or values_held(claim, sentence):
        return ""
    return value if abs(first - second) > SAME * max(abs(first), abs(second)) else ""
