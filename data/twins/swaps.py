"""Twins with a swapped value: a passage that contradicts the gold one, and a version that time has overtaken."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from reflective_rag.data.records import LabelledPassage, Record
from reflective_rag.data.twins.evidence import has_span_answer, peers, rng_of
from reflective_rag.data.twins.timing import can_be_bound, in_year, now_question, until_question
from reflective_rag.data.twins.values import (
    ValueKind,
    alike,
    first_value,
    is_name,
    kind_of,
    occurrences,
    replaced,
    squeezed,
    swapped_date,
    swapped_number,
)
from reflective_rag.signatures.text import Sentence, sentences


@dataclass(frozen=True, kw_only=True)
class Swap:
    """A value exchanged in a copy of a passage. `original.text[start:end] == value`; so for `twin`, `other`."""

    kind: ValueKind
    original: LabelledPassage
    twin: LabelledPassage
    value: str
    span: tuple[int, int]
    other: str
    other_span: tuple[int, int]
    at_answer: bool
    """Whether the value is the answer; else it stands in the sentence that holds the answer."""


@dataclass(frozen=True, kw_only=True)
class ContradictoryTwin:
    """A record in which the copy stands beside the original."""

    record: Record
    swap: Swap


@dataclass(frozen=True, kw_only=True)
class StaleTwin:
    """A record with two dated versions of the gold passage and a question that is bound in time."""

    record: Record
    kind: Literal["now", "as_of", "same"]
    """`now`: an older copy with another value. `as_of`: a copy with another value from after the asked year.
    `same`: an older copy that says the same, so that nothing is out of date."""
    outdated: str | None
    """Id of the passage that is out of date; None for `same`."""
    other: str
    """Id of the version that is not; for `same` the older one."""
    today: date


SCOPES = (2009, 2016)
"""Years that the original and the copy are given in `other_scope_twin`."""

TODAY = date(2025, 6, 1)
"""The day on which every question of a stale twin is asked."""


def contradictory_twin(
    record: Record,
    others: Sequence[Record] = (),
    *,
    gold: Sequence[LabelledPassage] = (),
    kind: ValueKind | None = None,
    seed: int = 0,
) -> ContradictoryTwin | None:
    """The record with a copy of a gold passage beside the original in which one value is another.

    The answer itself is swapped where it is of the wanted kind; otherwise a number or a year of the sentence that holds
    it. Every occurrence in the copy changes, so the copy agrees with itself. A name is replaced by an answer of another
    record of the same data set.

    Args:
        record: Its passages are what a judge reads.
        others: Records that wrong names are taken from.
        gold: The gold passages among `record.passages`; by default the supporting ones.
        kind: Only this kind; by default the kind of the answer.

    Returns:
        None where the answer stands verbatim in no gold passage, or no value of the kind can be swapped.
    """
    if not has_span_answer(record):
        return None
    for passage in gold or [p for p in record.passages if p.supporting]:
        swap = _swap(record, passage, others, kind, seed)
        if swap is None:
            continue
        passages = list(record.passages)
        rng = rng_of(seed, "place", record.id)
        passages.insert(rng.randint(0, len(passages)), swap.twin)
        return ContradictoryTwin(record=record.model_copy(update={"passages": tuple(passages)}), swap=swap)
    return None


def other_scope_twin(twin: ContradictoryTwin) -> Record | None:
    """The same two passages, each speaking of a year of its own ("In 2009, …", "In 2016, …"): no contradiction.

    Numbers only: a count may change from year to year, while a birthplace may not. None for other kinds, and where the
    sentence or the question names a year already, so that the two years would not be what sets the sentences apart.
    """
    swap = twin.swap
    texts = [swap.original.text, swap.twin.text]
    starts = [_sentence_at(text, span[0]) for text, span in zip(texts, (swap.span, swap.other_span), strict=True)]
    if swap.kind != "number" or not swap.at_answer or not can_be_bound(twin.record):
        return None
    scoped = {}
    for passage, year, found in zip((swap.original, swap.twin), SCOPES, starts, strict=True):
        if found is None or first_value(found.text, "date"):
            return None
        text = passage.text[: found.start] + in_year(found.text, year, twin.record.lang) + passage.text[found.end :]
        scoped[passage.id] = passage.model_copy(update={"text": text})
    return twin.record.model_copy(update={"passages": tuple(scoped.get(p.id, p) for p in twin.record.passages)})


def _sentence_at(text: str, at: int) -> Sentence | None:
    return next((s for s in sentences(text) if s.start <= at < s.end), None)


def _swap(
    record: Record, passage: LabelledPassage, others: Sequence[Record], kind: ValueKind | None, seed: int
) -> Swap | None:
    answer = next((a for a in sorted(record.answers, key=len, reverse=True) if occurrences(passage.text, a)), None)
    if answer is None:
        return None
    at_answer = kind in (None, kind_of(answer))
    value = answer if at_answer else _beside(passage.text, answer, kind)
    if value is None or squeezed(value) in squeezed(f"{record.question} {passage.title}"):
        return None
    other = _other_value(record, value, kind or kind_of(answer), others, seed)
    if other is None:
        return None
    text = replaced(passage.text, value, other)
    span, other_span = occurrences(passage.text, value)[0], occurrences(text, other)
    # Kept keys such as `has_answer` spoke of the original: the copy carries none.
    twin = LabelledPassage(id=f"{passage.id}~swapped", title=passage.title, text=text, published=passage.published)
    return Swap(
        kind=kind or kind_of(answer),
        original=passage,
        twin=twin,
        value=passage.text[slice(*span)],
        span=span,
        other=other,
        other_span=next((s for s in other_span if s[0] == span[0]), other_span[0]),
        at_answer=at_answer,
    )


def _beside(text: str, answer: str, kind: ValueKind | None) -> str | None:
    """A number or year of the sentence that holds the answer, outside the answer."""
    found = _sentence_at(text, occurrences(text, answer)[0][0])
    rest = replaced(found.text if found else "", answer, " ")
    value = first_value(rest, kind) if kind else None
    return value if value and occurrences(text, value) else None


def _other_value(record: Record, value: str, kind: ValueKind, others: Sequence[Record], seed: int) -> str | None:
    rng = rng_of(seed, "value", record.id, value)
    # What a passage says already would be no new value, and what the question says would be no answer.
    said = squeezed(" ".join([record.question, *record.answers, *(p.title + " " + p.text for p in record.passages)]))
    for _ in range(8):
        if kind == "name":
            return _other_name(record, value, others, said, rng)
        other = swapped_number(value, rng) if kind == "number" else swapped_date(value, rng)
        if other is None:
            return None
        if squeezed(other) not in said:
            return other
    return None


def _other_name(record: Record, value: str, others: Sequence[Record], said: str, rng: random.Random) -> str | None:
    """The answer of the record that asks most alike, of those that read as a name as `value` does."""
    if not is_name(value):
        return None
    names = (r.answers[0] for r in peers(record, others, rng))
    return next((n for n in names if is_name(n) and alike(n, value) and squeezed(n) not in said), None)


def stale_twin(
    record: Record,
    others: Sequence[Record] = (),
    *,
    gold: Sequence[LabelledPassage] = (),
    kind: Literal["now", "as_of", "same"] = "now",
    seed: int = 0,
) -> StaleTwin | None:
    """A record whose gold passage comes in two dated versions, for a question that a phrase binds in time.

    The data sets carry no dates, so both dates are given here, and the question gets "currently" or "as of 2018". What
    is out of date is then a matter of definition, not of fact: of two versions with different values the one that the
    asked time leaves behind. Both versions are copies of one text, so nothing but date and value tells them apart.

    Returns:
        None where `contradictory_twin` (the answer swapped) gives none, where the answer is a date (the year of an
        event does not change), and for a question that speaks of a time already.
    """
    swapped = contradictory_twin(record, others, gold=gold, seed=seed)
    if swapped is None or not swapped.swap.at_answer or swapped.swap.kind == "date" or not can_be_bound(record):
        return None
    rng = rng_of(seed, "dates", record.id)
    year = rng.randint(2012, 2019)
    old, new = date(year, rng.randint(1, 12), rng.randint(1, 28)), date(2024, rng.randint(1, 12), rng.randint(1, 28))
    original, twin = swapped.swap.original, swapped.swap.twin
    if kind == "same":
        twin = twin.model_copy(update={"text": original.text})
    right, wrong = (old, new) if kind == "as_of" else (new, old)
    dates = {original.id: right, twin.id: wrong}
    passages = tuple(
        (twin if p.id == twin.id else p).model_copy(update={"published": dates[p.id]}) if p.id in dates else p
        for p in swapped.record.passages
    )
    question = until_question(record, year) if kind == "as_of" else now_question(record)
    stale = record.model_copy(update={"question": question, "passages": passages, "as_of": TODAY})
    if kind == "same":
        return StaleTwin(record=stale, kind=kind, outdated=None, other=twin.id, today=TODAY)
    return StaleTwin(record=stale, kind=kind, outdated=twin.id, other=original.id, today=TODAY)
