"""Pairs of passages that cannot both be right: another number or year, a negation, an antonym, a swapped name.

Precision comes before recall: both sentences must be on topic and about the same subject, and an explicit difference of
time, of scope or of named things is taken for a difference of scope, not for a contradiction.
"""

from collections.abc import Sequence
from itertools import combinations

from reflective_rag.programs.rules.comparing import Statement
from reflective_rag.programs.rules.disagreement import denial, disagreement
from reflective_rag.programs.rules.evidence import Evidence, Line, Page
from reflective_rag.programs.rules.matching import stem
from reflective_rag.programs.rules.relevance import grade
from reflective_rag.programs.rules.rivals import rivals
from reflective_rag.programs.rules.spans import candidates
from reflective_rag.programs.rules.twinning import twins
from reflective_rag.programs.rules.words import STOP_EN
from reflective_rag.signatures.text import tokenize
from reflective_rag.signatures.types import Contradiction

MAX_PAGES, MAX_SPAN = 12, 240
"""Most pages compared with each other; longest quoted span in characters."""

NEARLY = 0.7
"""Share of the coverage of a sentence on topic from which a sentence is read for what it denies."""

MAX_TWINS = 40
"""Most sentences of a page that are compared with their like in another page (the first ones)."""

TWIN_GRADE = 0.05
"""Least grade of both pages before their sentences are compared one by one."""


def contradictions(evidence: Evidence) -> tuple[Contradiction, ...]:
    """Contradicting pairs, one a pair of passages.

    First the two sentences that speak to the question are compared; then the answers that differently worded sentences
    bind to the asked word; then, in pages of one subject, every sentence with its like. `newer` is the id of the later-published one where both dates are known and differ.
    """
    found: dict[tuple[int, int], Contradiction] = {}
    lines = _topic_lines(evidence)[:MAX_PAGES]
    sure = sum(score >= evidence.settings.on_topic for score, _ in lines)
    statements = [_statement(evidence, line) for _, line in lines]
    for (i, a), (j, b) in combinations(enumerate(statements), 2):
        if about := (disagreement if max(i, j) < sure else denial)(evidence, a, b):
            found[_pair(a, b)] = _contradiction(evidence, a, b, about)
    pages = [
        [_statement(evidence, line) for line in page.lines[:MAX_TWINS]] for page in _relevant(evidence)[:MAX_PAGES]
    ]
    for a, b, about in rivals(evidence, [statement for page in pages for statement in page]):
        found.setdefault(_pair(a, b), _contradiction(evidence, a, b, about))
    for ours, theirs in combinations(pages, 2):
        if met := twins(evidence, ours, theirs):
            first, second, about = met
            found.setdefault(_pair(first, second), _contradiction(evidence, first, second, about))
    return tuple(found.values())


def _pair(a: Statement, b: Statement) -> tuple[int, int]:
    return min(a.line.page, b.line.page), max(a.line.page, b.line.page)


def _topic_lines(evidence: Evidence) -> list[tuple[float, Line]]:
    """The best sentence of each page that is on topic, or nearly (a denied word is one it lacks), best page first.

    A text that repeats under another id is left out.
    """
    least = NEARLY * evidence.settings.on_topic
    best: dict[str, tuple[float, Line]] = {}
    for page in evidence.pages:
        for line in page.lines:
            score = evidence.coverage(line.context)
            key = page.passage.key
            if score >= least and (key not in best or score > best[key][0]):
                best[key] = (score, line)
    return sorted(best.values(), key=lambda item: (-item[0], item[1].page))


def _relevant(evidence: Evidence) -> list[Page]:
    """Pages with a grade worth comparing, best first; each text once."""
    graded = [(grade(evidence, page), page) for page in evidence.pages]
    graded.sort(key=lambda item: (-item[0], item[1].index))
    once: dict[str, Page] = {}
    for value, page in graded:
        if value >= TWIN_GRADE:
            once.setdefault(page.passage.key, page)
    return list(once.values())


def _statement(evidence: Evidence, line: Line) -> Statement:
    words = {stem(token) for token in tokenize(line.text) if token not in STOP_EN and not token[0].isdigit()}
    return Statement(line, frozenset(words), lambda: _value(evidence, line))


def _value(evidence: Evidence, line: Line) -> str:
    spans = candidates(evidence, line)
    return spans[0].text if spans else ""


def _contradiction(evidence: Evidence, a: Statement, b: Statement, about: str) -> Contradiction:
    first, second = (evidence.pages[s.line.page].passage for s in (a, b))
    newer = None
    if first.published and second.published and first.published != second.published:
        newer = first.id if first.published > second.published else second.id
    topic = " ".join(term.text for term in evidence.question.attribute) or evidence.question.text
    spans = [_span(s, value) for s, value in zip((a, b), _values(about), strict=True)]
    return Contradiction(
        passage_a=first.id,
        span_a=spans[0],
        passage_b=second.id,
        span_b=spans[1],
        about=f"{topic}: {about}",
        newer=newer,
    )


def _values(about: str) -> Sequence[str]:
    """The two values named in "x / y"; empty for other words."""
    left, slash, right = about.partition(" / ")
    return (left, right) if slash else ("", "")


def _span(statement: Statement, value: str) -> str:
    """The sentence, or the part of a long one around the value; always a substring of the passage."""
    text = statement.line.text
    if len(text) <= MAX_SPAN:
        return text
    at = max(0, text.find(value) - MAX_SPAN // 2)
    return text[at : at + MAX_SPAN].strip()
