"""Pairs of passages that cannot both be right: another number or year, a negation, an antonym, a swapped name.

Precision comes before recall: both sentences must be on topic and about the same subject, and an explicit difference of
time, of scope or of named things is taken for a difference of scope, not for a contradiction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from reflective_rag.programs.rules.comparing import Statement
from reflective_rag.programs.rules.departure import departures
from reflective_rag.programs.rules.disagreement import denial, disagreement
from reflective_rag.programs.rules.evidence import Evidence, Line, Page
from reflective_rag.programs.rules.matching import fold, stem
from reflective_rag.programs.rules.relevance import grade
from reflective_rag.programs.rules.rival_amounts import once, rival_amounts
from reflective_rag.programs.rules.rivals import rivals
from reflective_rag.programs.rules.spans import candidates
from reflective_rag.programs.rules.twinning import twins
from reflective_rag.programs.rules.units import UNITS
from reflective_rag.programs.rules.updates import replacements
from reflective_rag.programs.rules.words import STOP_EN
from reflective_rag.signatures.text import identity, tokenize
from reflective_rag.signatures.types import Contradiction

MAX_PAGES, MAX_SPAN = 12, 240
"""Most pages compared with each other; longest quoted span in characters."""

MOST_READ = 50
"""Most pages of which the answer is read to choose those that are compared."""

NEARLY = 0.7
"""Share of the coverage of a sentence on topic from which a sentence is read for what it denies."""

MAX_TWINS = 40
"""Most sentences of a page that are compared with their like in another page (the first ones)."""

TWIN_GRADE = 0.05
"""Least grade of both pages before their sentences are compared one by one."""


@dataclass(frozen=True)
class Comparison:
    """The contradictions, and the ids of the passages that say something to the question and were compared."""

    contradictions: tuple[Contradiction, ...]
    compared: tuple[str, ...]


def contradictions(evidence: Evidence) -> tuple[Contradiction, ...]:
    """Contradicting pairs, one a pair of passages."""
    return compare(evidence).contradictions


def compare(evidence: Evidence) -> Comparison:
    """Compare the passages with each other.

    First the two sentences that speak to the question are compared, those with another answer before those that repeat
    one; then the answers that differently worded sentences bind to the asked word; then, in pages of one subject, every
    sentence with its like. `newer` is the id of the later-published one where both dates are known and differ, and where
    the later one may know better: what something cost once is not measured anew.
    """
    found: dict[tuple[int, int], Contradiction] = {}
    chosen = _chosen(evidence)
    for (sure_a, a), (sure_b, b) in combinations(chosen, 2):
        if about := (disagreement if sure_a and sure_b else denial)(evidence, a, b):
            found[_pair(a, b)] = _contradiction(evidence, a, b, about)
    pages = [
        [_statement(evidence, line) for line in page.lines[:MAX_TWINS]] for page in _relevant(evidence)[:MAX_PAGES]
    ]
    statements = [statement for page in pages for statement in page]
    for a, b, about in (each for look in (rivals, rival_amounts, departures) for each in look(evidence, statements)):
        found.setdefault(_pair(a, b), _contradiction(evidence, a, b, about))
    for ours, theirs in combinations(pages, 2):
        if met := twins(evidence, ours, theirs):
            first, second, about = met
            found.setdefault(_pair(first, second), _contradiction(evidence, first, second, about))
    for pair, told in replacements(evidence).items() if found else ():
        if told:
            found.pop((min(pair), max(pair)), None)
    said = [evidence.pages[s.line.page].passage.id for sure, s in chosen if sure and _answers(evidence, s)]
    return Comparison(tuple(found.values()), tuple(dict.fromkeys(said)))


def _chosen(evidence: Evidence) -> list[tuple[bool, Statement]]:
    """The statements that are compared, each with whether it is surely on topic: each answer first, then repetitions."""
    lines = _topic_lines(evidence)[:MOST_READ]
    statements = [(score >= evidence.settings.on_topic, _statement(evidence, line)) for score, line in lines]
    if len(statements) <= MAX_PAGES:
        return statements
    seen: set[str] = set()
    first = []
    for i, (_, statement) in enumerate(statements):
        value = fold(statement.read())
        first.append((value in seen, i))
        seen.add(value)
    return [statements[i] for _, i in sorted(sorted(first)[:MAX_PAGES], key=lambda item: item[1])]


def _answers(evidence: Evidence, statement: Statement) -> bool:
    """Whether a statement gives some answer; what only speaks of the same thing agrees with nobody."""
    return evidence.question.kind in ("yes_no", "choice") or bool(statement.read())


def _pair(a: Statement, b: Statement) -> tuple[int, int]:
    return min(a.line.page, b.line.page), max(a.line.page, b.line.page)


def _topic_lines(evidence: Evidence) -> list[tuple[float, Line]]:
    """The best sentence of each page that is on topic, or nearly (a denied word is one it lacks), best page first.

    A text that repeats under another id is left out.
    """
    least = NEARLY * evidence.settings.on_topic
    best: dict[str, tuple[float, Line]] = {}
    for page in evidence.pages:
        key = identity(page.text)
        for line in page.lines:
            score = evidence.coverage(line.context)
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
            once.setdefault(identity(page.text), page)
    return list(once.values())


def _statement(evidence: Evidence, line: Line) -> Statement:
    tokens = (token for token in tokenize(line.text) if token not in STOP_EN and token not in UNITS)
    words = {stem(token) for token in tokens if not token[0].isdigit()}
    return Statement(line, frozenset(words), cache(lambda: _value(evidence, line)))


def _value(evidence: Evidence, line: Line) -> str:
    spans = candidates(evidence, line)
    return spans[0].text if spans else ""


def _contradiction(evidence: Evidence, a: Statement, b: Statement, about: str) -> Contradiction:
    first, second = (evidence.pages[s.line.page].passage for s in (a, b))
    newer = None
    if first.published and second.published and first.published != second.published and not once(evidence.question):
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
