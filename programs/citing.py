"""Citations that hold: each is a verbatim span of its passage, found or checked here, never taken on trust."""

from collections.abc import Sequence

from reflective_rag.programs.rules import locate_quote
from reflective_rag.signatures.types import Citation, Draft, Passage

LONGEST_CITED = 4000
"""Characters; no sentence of a passage carries a longer answer."""


def cite(question: str, draft: Draft, passages: Sequence[Passage]) -> tuple[tuple[Citation, ...], tuple[str, ...]]:
    """Citations for the passages that the draft names, and the ids that name nothing to cite.

    The span is the sentence that carries the answer best. A passage in which no sentence shares content with the answer
    is not cited, whatever the model said. A draft that names no passage is given the first that carries its answer.
    """
    by_id = {p.id: p for p in passages}
    named = [by_id[i] for i in draft.cited if i in by_id]
    citations, failed = [], []
    for passage in named:
        if citation := _citation(question, draft.answer, passage):
            citations.append(citation)
        else:
            failed.append(passage.id)
    if not citations:
        found = (c for p in passages if draft.answer in p.text and (c := _citation(question, draft.answer, p)))
        citations = [c for c in (next(found, None),) if c]
    return tuple(citations), tuple(failed)


def _citation(question: str, answer: str, passage: Passage) -> Citation | None:
    if len(answer) > LONGEST_CITED:
        return None
    span = locate_quote(question, answer, passage)
    if span is None:
        return None
    quote, start, end = span
    return Citation(passage_id=passage.id, quote=quote, start=start, end=end)
