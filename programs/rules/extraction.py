"""Answering by extraction: the best supported sentence, then the span in it that fits the question."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from reflective_rag.programs.rules.asked_year import in_asked_year
from reflective_rag.programs.rules.choosing import choose
from reflective_rag.programs.rules.deadline import GRACE, OutOfTime, watched
from reflective_rag.programs.rules.deciding import decide
from reflective_rag.programs.rules.departure import departed
from reflective_rag.programs.rules.evidence import GOES_ON, Evidence, Line, Page, gather
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.question import analyse
from reflective_rag.programs.rules.settings import RuleSettings
from reflective_rag.programs.rules.spans import Candidate, candidates
from reflective_rag.programs.rules.tables import from_table
from reflective_rag.programs.rules.versions import outdated_pages, superseded_pages
from reflective_rag.signatures.types import Draft, Passage

LINES = 10
"""How many of the best sentences are searched for spans."""

SPAN_WEIGHT = 0.4
"""Worth of the span's own rank against the sentence's coverage."""

AGREE = 0.06
"""Added for each further passage that gives the same span, up to three."""

OUTDATED, OLD = 0.5, 0.8
"""Factor for sentences of a passage that a better dated one supersedes, and of one that is only too old by itself."""


def answer(
    question: str,
    passages: Sequence[Passage],
    today: date | None = None,
    *,
    settings: RuleSettings | None = None,
) -> Draft:
    """Extract an answer from the passages.

    An empty answer means that no sentence cleared `settings.min_sentence`, or none holds a fitting span.

    Yes/no questions give "yes" / "no" (是 / 否), "A or B" questions one of the two; all others a verbatim span of a
    passage. Empty too where a time limit ends it in the middle (see `deadline`).
    """
    try:
        with watched(GRACE):
            return _answer(question, passages, today, settings)
    except OutOfTime:
        return Draft(answer="")


def _answer(question: str, passages: Sequence[Passage], today: date | None, settings: RuleSettings | None) -> Draft:
    asked = analyse(question, today)
    evidence = gather(asked, passages, settings)
    if asked.kind == "yes_no":
        return decide(evidence)
    if asked.kind == "choice":
        return choose(evidence)
    if (cell := from_table(evidence)) is not None:
        return cell
    best = best_candidates(evidence)
    if not best:
        return Draft(answer="")
    top = best[0]
    cited = [evidence.pages[c.page].passage.id for c in best if fold(c.text) == fold(top.text)]
    return Draft(answer=top.text, cited=tuple(dict.fromkeys(cited))[:3])


def best_candidates(evidence: Evidence) -> list[Candidate]:
    """Spans of the best sentences of all passages, best first; spans that several passages give rank higher."""
    stale, gone = outdated_pages(evidence), superseded_pages(evidence)
    asked, of_year = evidence.question.text, list[bool | None]()
    found: list[Candidate] = []
    for score, line in ranked_lines(evidence, evidence.pages)[:LINES]:
        factor = OUTDATED if line.page in gone else OLD if line.page in stale else 1.0
        for span in candidates(evidence, line):
            found.append(replace(span, score=factor * (score + SPAN_WEIGHT * span.score)))
            of_year.append(in_asked_year(asked, line.text, span.start - line.start, span.end - line.start))
    if True in of_year and evidence.question.kind != "time":
        found = [replace(c, score=c.score * OUTDATED) if y is False else c for c, y in zip(found, of_year, strict=True)]
    left = departed(evidence)
    found = [replace(c, score=c.score * OUTDATED) if fold(c.text) in left else c for c in found]
    pages: dict[str, set[int]] = {}
    for span in found:
        pages.setdefault(fold(span.text), set()).add(span.page)
    voted = [replace(c, score=c.score + AGREE * min(3, len(pages[fold(c.text)]) - 1)) for c in found]
    return sorted(voted, key=lambda c: (-c.score, c.page, c.start))


def ranked_lines(evidence: Evidence, pages: Sequence[Page]) -> list[tuple[float, Line]]:
    """Sentences that may be quoted from, with their coverage (0..1), best first."""
    settings = evidence.settings
    kept = []
    for line in (line for page in pages for line in page.lines):
        score = evidence.coverage(line.context)
        own = evidence.coverage(line.own) >= settings.min_own or GOES_ON.match(line.text) is not None
        quotable = score >= settings.min_sentence and own
        if quotable and _key_terms(evidence, line) >= settings.min_key:
            kept.append((score, line))
    return sorted(kept, key=lambda item: (-item[0], item[1].page, item[1].start))


def _key_terms(evidence: Evidence, line: Line) -> float:
    """Weighted share of the question's terms that occur at all in the sentence, its neighbours, title, page or link.

    A sentence about another invention does not answer who invented this one.
    """
    return evidence.coverage(tuple(float(h > 0) for h in line.context))
