"""Evidence that is not enough: a gold passage exchanged for a distractor of about the same length."""

from collections.abc import Sequence

from reflective_rag.data.records import LabelledPassage, Record
from reflective_rag.data.twins.evidence import distractors, has_span_answer, rng_of, stands

SAME_LENGTH = 2.0
"""Largest ratio of the lengths of a gold passage and its replacement, so that length tells nothing."""


def insufficient_twin(
    record: Record, pool: Sequence[LabelledPassage] = (), *, gold: Sequence[LabelledPassage] = (), seed: int = 0
) -> Record | None:
    """The record with one gold passage replaced so that no accepted answer stands in any passage.

    After Sufficient Context (Joren et al., ICLR 2025, arXiv 2411.06037): the verdict is about what stands there.

    Args:
        record: Its passages are what a judge reads.
        pool: Passages the replacement may also come from: the record's further distractors, or those of others.
        gold: The gold passages among `record.passages`; by default the supporting ones.

    Returns:
        None where the label would not be exact: yes/no questions, questions without answers, an answer that stands in
        another passage too (whichever gold passage goes), no replacement of about the same length.
    """
    if not has_span_answer(record) or not stands(record, record.passages):
        return None
    rng = rng_of(seed, "insufficient", record.id)
    chosen = list(gold or (p for p in record.passages if p.supporting))
    rng.shuffle(chosen)
    for passage in chosen:
        rest = [p for p in record.passages if p.id != passage.id]
        other = None if stands(record, rest) else _replacement(record, passage, pool)
        if other is not None:
            passages = tuple(other if p.id == passage.id else p for p in record.passages)
            return record.model_copy(update={"passages": passages})
    return None


def _replacement(record: Record, gold: LabelledPassage, pool: Sequence[LabelledPassage]) -> LabelledPassage | None:
    """The passage of the pool nearest in length that does not bring the answer back; it takes the gold one's place."""
    texts = {p.text for p in record.passages}
    ids = {p.id for p in record.passages}
    size = len(gold.text)
    for other in sorted(pool, key=lambda p: (abs(len(p.text) - size), p.id)):
        ratio = max(len(other.text), size) / min(len(other.text), size)
        if ratio > SAME_LENGTH:
            return None
        rest = [p for p in record.passages if p.id != gold.id]
        if other.text not in texts and other.id not in ids and not stands(record, [*rest, other]):
            return other.model_copy(update={"supporting": False})
    return None


def distractor_pool(record: Record, others: Sequence[Record]) -> tuple[LabelledPassage, ...]:
    """Distractors of the record itself and, of other records, of the same data set and language."""
    same = (r for r in others if r.id != record.id and (r.dataset, r.lang) == (record.dataset, record.lang))
    return (*distractors(record), *(p for r in same for p in distractors(r)))
