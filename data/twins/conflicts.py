"""Real conflicts: sets of passages whose own labels say whether they contradict each other."""

from collections.abc import Iterator, Sequence

from reflective_rag.data.records import LabelledPassage, Record
from reflective_rag.data.twins.evidence import label_of, rng_of
from reflective_rag.data.twins.values import squeezed

SIZE = 3
"""Most passages of a set."""


def conflict_sets(records: Sequence[Record], *, seed: int = 0) -> list[tuple[Record, bool]]:
    """Records cut down to a few passages, and whether these conflict.

    RGB (`label` positive / counterfactual): two positives and a counterfactual conflict where the one states a right
    and the other a planted answer verbatim; positives alone do not. RAMDocs (correct / misinfo): a correct document and
    a misinforming one conflict where the question has one right answer, so that they cannot speak of two namesakes;
    correct documents alone do not, also those of several namesakes.
    """
    found: list[tuple[Record, bool]] = []
    for record in records:
        labels = {label_of(p) for p in record.passages}
        if labels & {"positive", "counterfactual"}:
            found += _sets(record, "positive", "counterfactual", seed)
        elif labels & {"correct", "misinfo"}:
            found += _sets(record, "correct", "misinfo", seed, conflicts=len(record.answers) == 1)
    return found


def _sets(
    record: Record, right: str, planted: str, seed: int, *, conflicts: bool = True
) -> Iterator[tuple[Record, bool]]:
    true = [p for p in record.passages if label_of(p) == right and _states(p, record.answers)]
    false = [p for p in record.passages if label_of(p) == planted and _states(p, record.wrong_answers)]
    rng = rng_of(seed, "conflict", record.id)
    rng.shuffle(true)
    rng.shuffle(false)
    if conflicts and true and false:
        yield _with(record, [*true[: SIZE - 1], false[0]]), True
    if len(true) > 1:
        yield _with(record, true[:SIZE]), False


def _states(passage: LabelledPassage, answers: Sequence[str]) -> bool:
    text = squeezed(f"{passage.title} {passage.text}")
    return any(squeezed(answer) in text for answer in answers if squeezed(answer))


def _with(record: Record, passages: Sequence[LabelledPassage]) -> Record:
    ids = {p.id for p in passages}
    return record.model_copy(update={"passages": tuple(p for p in record.passages if p.id in ids)})
