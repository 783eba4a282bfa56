"""Answers that stand in a Markdown table: the cell of the asked row in the asked column."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reflective_rag.programs.rules.deadline import check
from reflective_rag.programs.rules.evidence import Evidence
from reflective_rag.programs.rules.matching import fold, has_cjk, segmenter, stem
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.words import STOP_EN, STOP_ZH
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.types import Draft

_ROW = late_pattern(r"^\s*\|(?P<cells>.+)\|\s*$", re.MULTILINE)
_RULE = late_pattern(r"^\s*\|(?:\s*:?-{3,}:?\s*\|)+\s*$", re.MULTILINE)
_UNIT = late_pattern(r"[(（][^()（）]*[)）]")
_WORD = re.compile(r"[^\W_]+")


MOST_ROWS = 20
"""Rows that a question may seem to name; of more none is asked for."""


@dataclass(frozen=True)
class Table:
    """The cells of a table, those of the head apart."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def from_table(evidence: Evidence) -> Draft | None:
    """The cell in the row and the column that the question names; None where a table has no such row, or several."""
    question = evidence.question.text
    for page in evidence.pages:
        for table in _tables(page.text):
            row = _row(table, question)
            column = _column(table, evidence.question, row) if row else None
            if row and column is not None and column < len(row) and row[column]:
                return Draft(answer=row[column], cited=(page.passage.id,))
    return None


def _tables(text: str) -> Iterator[Table]:
    """Each head, the line of dashes below it, and the rows that follow, as far as the next such line or the text."""
    head: list[str] | None = None
    rows: list[list[str]] = []
    for line in text.splitlines():
        found = _ROW.match(line)
        if found and _RULE.match(line):
            last = rows.pop() if rows else None
            if head and rows:
                yield Table(head, rows)
            head, rows = last, []
        elif found:
            rows.append(_cells(found["cells"]))
        else:
            if head and rows:
                yield Table(head, rows)
            head, rows = None, []
    if head and rows:
        yield Table(head, rows)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.split("|")]


def _row(table: Table, question: str) -> Sequence[str] | None:
    """The one row whose first cell stands in the question; of labels inside one another the longest counts."""
    check()
    found = [row for row in table.rows if row[0] and _stands_in(row[0], question)]
    if len(found) > MOST_ROWS:
        return None
    found = [row for row in found if not any(row[0] != other[0] and fold(row[0]) in fold(other[0]) for other in found)]
    return found[0] if len(found) == 1 else None


def _stands_in(label: str, question: str) -> bool:
    wanted, asked = fold(label), fold(question)
    if has_cjk(wanted):
        return len(wanted) > 1 and wanted in asked
    return re.search(rf"(?<!\w){re.escape(wanted)}(?:e?s)?(?!\w)", asked) is not None


def _column(table: Table, question: Question, row: Sequence[str]) -> int | None:
    """The column whose head shares most words with the question; the only one need share none where it has a figure."""
    asked = _words(question.text) - _words(row[0])
    shared = {i: len(_words(_UNIT.sub("", cell)) & asked) for i, cell in enumerate(table.head) if i}
    if len(shared) == 1 and len(row) > 1 and question.kind not in ("person", "place") and re.search(r"\d", row[1]):
        return 1
    most = max(shared.values(), default=0)
    best = [i for i, count in shared.items() if count == most]
    return best[0] if most and len(best) == 1 else None


def _words(text: str) -> set[str]:
    folded = fold(text)
    if has_cjk(folded):
        return {word for word, _ in segmenter().tag(folded) if len(word) > 1 and word not in STOP_ZH}
    return {stem(word) for word in _WORD.findall(folded) if word not in STOP_EN}
