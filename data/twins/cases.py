"""Labelled cases for every judgement, made of records: what a critic is asked, and what is right."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from hashlib import sha256
from itertools import zip_longest
from typing import Literal

from reflective_rag.data.records import LabelledPassage, Record
from reflective_rag.data.twins.conflicts import conflict_sets
from reflective_rag.data.twins.evidence import (
    PLANTED,
    READ,
    essential,
    has_span_answer,
    label_of,
    peers,
    reading,
    rng_of,
    stands,
)
from reflective_rag.data.twins.insufficient import distractor_pool, insufficient_twin
from reflective_rag.data.twins.swaps import contradictory_twin, other_scope_twin, stale_twin
from reflective_rag.data.twins.values import ValueKind, kind_of
from reflective_rag.signatures.types import Passage

Judged = Literal["relevance", "sufficiency", "consistency", "freshness", "support"]
"""The judgements that labels come free for."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One question to a critic. `label` is the right verdict; its meaning goes with the judgement.

    relevance: the passage `target` is needed. sufficiency: the answer stands in the passages. consistency: two of the
    passages contradict each other. freshness: the passage `target` is out of date for the question. support: the
    passages carry `answer`.
    """

    judgement: Judged
    record: str
    """Id of the record: cases of one record are not independent of each other."""
    dataset: str
    lang: str
    kind: str
    """How the case was made: `gold`, `twin`, `number`, `date`, `name`, `real`, `now`, `as_of`, `same`, …"""
    question: str
    passages: tuple[Passage, ...] = field(repr=False)
    label: bool
    target: str = ""
    answer: str = ""
    today: date | None = None

    @cached_property
    def asked(self) -> str:
        """16 hex digits: equal for cases that ask a critic of sets the same, so that it is asked once."""
        parts = [self.judgement, self.question, self.answer, str(self.today)]
        parts += [f"{p.id}\0{p.title}\0{p.published}\0{p.text}" for p in self.passages]
        return sha256("\0".join(parts).encode()).hexdigest()[:16]

    @property
    def id(self) -> str:
        """Names the case; it changes with anything that a critic reads."""
        return f"{self.judgement}/{self.record}/{self.kind}/{self.target}/{self.label:d}/{self.asked}"


Unit = tuple[Case, ...]
"""Cases of one record that belong together, as many true ones as false ones; sampled together."""


def _case(record: Record, judgement: Judged, kind: str, label: bool, **more: object) -> Case:
    known: dict[str, object] = {
        "question": record.question,
        "passages": tuple(p.to_passage() for p in record.passages),
        "today": record.as_of,
    }
    return Case(
        judgement=judgement,
        record=record.id,
        dataset=record.dataset,
        lang=record.lang,
        kind=kind,
        label=label,
        **(known | more),  # type: ignore[arg-type]  # the fields of Case by name
    )


def relevance_pairs(records: Sequence[Record]) -> list[Unit]:
    """(question, passage, whether it supports the answer), each supporting passage paired with one that does not.

    Passages with a planted answer are left out on both sides: they are on topic and wrong. The other passages of the
    record come along as context, since a judge of sets may weigh a passage against them.
    """
    units: list[Unit] = []
    for record in records:
        plain = record.model_copy(update={"passages": tuple(p for p in record.passages if label_of(p) not in PLANTED)})
        rng = rng_of(0, "relevance", record.id)
        gold = [p for p in plain.passages if p.supporting]
        rest = [p for p in plain.passages if not p.supporting]
        rng.shuffle(rest)
        for yes, no in zip(gold, rest, strict=False):
            pair = ((yes, "gold", True), (no, "distractor", False))
            units.append(tuple(_case(plain, "relevance", kind, is_gold, target=p.id) for p, kind, is_gold in pair))
    return units


def sufficiency_cases(records: Sequence[Record], *, seed: int = 0) -> list[Unit]:
    """The gold passages among distractors (true), and with one gold passage exchanged (false), see `insufficient_twin`.

    RAMDocs is left out: its questions are ambiguous, so what is enough is a matter of opinion.
    """
    units: list[Unit] = []
    for record in records:
        gold = essential(record)
        if not gold or _is_ramdocs(record):
            continue
        base = reading(record, gold)
        twin = insufficient_twin(base, distractor_pool(record, records), gold=gold, seed=seed)
        if twin is not None:
            units.append((_case(base, "sufficiency", "gold", True), _case(twin, "sufficiency", "twin", False)))
    return units


def contradiction_cases(records: Sequence[Record], *, seed: int = 0) -> list[Unit]:
    """A gold passage's copy with a swapped value beside it (true), and the untouched passages (false).

    `kind` is what was swapped: `number`, `date`, `name` for the answer itself, `number beside`, `date beside` for a
    value next to it. In `other year` the false case has the same swapped number, but each passage speaks of a year of
    its own (`other_scope_twin`): a critic that calls every pair of differing numbers a contradiction fails there. Both
    sides hold the same number of passages.
    """
    kinds: tuple[ValueKind, ...] = ("number", "date")
    units: list[Unit] = []
    for record in records:
        gold = essential(record)
        if not gold or _is_ramdocs(record):
            continue
        wanted: list[ValueKind | None] = [None, *(kind for kind in kinds if kind != kind_of(record.answers[0]))]
        untouched = reading(record, gold)
        base = reading(record, gold, len(untouched.passages) - 1)
        for kind in wanted if has_span_answer(record) else ():
            twin = contradictory_twin(base, records, gold=gold, kind=kind, seed=seed)
            if twin is None:
                continue
            name = twin.swap.kind if twin.swap.at_answer else f"{twin.swap.kind} beside"
            pair = ((twin.record, True), (untouched, False))
            units.append(tuple(_case(r, "consistency", name, label) for r, label in pair))
            if (scoped := other_scope_twin(twin)) is not None:
                pair = ((twin.record, True), (scoped, False))
                units.append(tuple(_case(r, "consistency", "other year", label) for r, label in pair))
    return units


def conflict_cases(records: Sequence[Record], *, seed: int = 0) -> list[Unit]:
    """Real conflicts from the labels of RGB counterfactuals and RAMDocs misinformation; see `conflict_sets`.

    True sets and false sets seldom come from one record, so a unit pairs the next of each.
    """
    found = [(label, _case(r, "consistency", "real", label)) for r, label in conflict_sets(records, seed=seed)]
    by_data: dict[str, tuple[list[Case], list[Case]]] = {}
    for label, case in found:
        by_data.setdefault(case.dataset, ([], []))[label].append(case)
    return [pair for false, true in by_data.values() for pair in zip(true, false, strict=False)]


def freshness_cases(records: Sequence[Record], *, seed: int = 0) -> list[Unit]:
    """Dated versions of the gold passage, see `stale_twin`.

    Each unit has a version that is out of date (`now`, `as_of` in turn), and one that is not: the other version of the
    same set, or (`same`, every other time) an older version that says the same.
    """
    units: list[Unit] = []
    for number, record in enumerate(r for r in records if essential(r) and not _is_ramdocs(r)):
        gold = essential(record)
        base = reading(record, gold, READ - 1)
        kind: Literal["now", "as_of"] = "as_of" if number % 2 else "now"
        stale = stale_twin(base, records, gold=gold, kind=kind, seed=seed)
        same = stale_twin(base, records, gold=gold, kind="same", seed=seed)
        if stale is None or same is None or stale.outdated is None:
            continue
        old = _case(stale.record, "freshness", kind, True, target=stale.outdated)
        negative = (stale, kind) if number // 2 % 2 else (same, "same")
        units.append((old, _case(negative[0].record, "freshness", negative[1], False, target=negative[0].other)))
    return units


def support_cases(records: Sequence[Record], *, seed: int = 0) -> list[Unit]:
    """The gold answer (true) against another record's answer of the same kind that stands in no passage (false)."""
    units: list[Unit] = []
    for record in records:
        gold = essential(record)
        base = record.model_copy(update={"passages": gold})
        if not gold or _is_ramdocs(record) or not has_span_answer(record) or not stands(record, gold):
            continue
        wrong = _wrong_answer(record, gold, records, seed)
        if wrong is not None:
            pair = ((record.answers[0], True), (wrong, False))
            units.append(tuple(_case(base, "support", "gold" if ok else "other", ok, answer=a) for a, ok in pair))
    return units


def _wrong_answer(record: Record, gold: Sequence[LabelledPassage], others: Sequence[Record], seed: int) -> str | None:
    likely = peers(record, others, rng_of(seed, "support", record.id))
    return next((r.answers[0] for r in likely if not stands(r, gold) and r.answers[0] not in record.question), None)


def _is_ramdocs(record: Record) -> bool:
    return any(label_of(p) in ("misinfo", "noise", "correct") for p in record.passages)


def units_of(judgement: Judged, records: Sequence[Record], *, seed: int = 0) -> list[Unit]:
    """All units of a judgement, swapped values and real conflicts in turn."""
    if judgement == "relevance":
        return relevance_pairs([record for record in records if not _is_ramdocs(record)])
    if judgement == "sufficiency":
        return sufficiency_cases(records, seed=seed)
    if judgement == "freshness":
        return freshness_cases(records, seed=seed)
    if judgement == "support":
        return support_cases(records, seed=seed)
    both = zip_longest(contradiction_cases(records, seed=seed), conflict_cases(records, seed=seed))
    return [unit for units in both for unit in units if unit is not None]
