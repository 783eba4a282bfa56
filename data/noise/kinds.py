"""The kinds of noise, and what of each there is for a question."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Literal, get_args

from reflective_rag.data.noise.nearest import WordIndex
from reflective_rag.data.records import LabelledPassage, Record
from reflective_rag.data.twins.evidence import PLANTED, essential, has_span_answer, label_of, rng_of, stands
from reflective_rag.data.twins.swaps import contradictory_twin, stale_twin
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage

NoiseKind = Literal["unrelated", "tangential", "outdated", "counterfactual"]
"""`unrelated`: passages of other questions. `tangential`: those that share most words with the question and do not
support the answer. `outdated`: older versions of a gold passage with another value, for a question about the present.
`counterfactual`: passages that state a wrong answer, planted by the data set or made by swapping the value."""
NOISE_KINDS: tuple[NoiseKind, ...] = get_args(NoiseKind)

POOL = 100
"""Most passages of noise that one question draws from."""
SPREAD = 30
"""A later query begins somewhere among so many, so that another query brings other noise."""
TWINS = 12
"""Most twins of one question."""
TRIES = 24
"""Seeds that are tried for them; the values they give repeat."""


@dataclass(frozen=True, kw_only=True)
class NoisyQuestion:
    """A question with its noise."""

    record: Record
    """What is asked: for `outdated` the question is bound to the present."""
    twins: tuple[Passage, ...] = field(default=(), repr=False)
    """Drawn first, by every query: outdated and counterfactual passages."""
    others: tuple[Passage, ...] = field(default=(), repr=False)
    """Drawn after them, other ones by another query: unrelated or tangential passages."""
    dates: Mapping[str, date] = field(default_factory=dict)
    """`Passage.key` → the day a found passage is given (`outdated`: the gold passage is the newest version)."""
    today: date | None = None
    """The day on which the question is asked, where that matters."""

    def draw(self, query: str, count: int, seed: int = 0) -> list[Passage]:
        """The noise of one result list: up to `count` passages, the same for the same query."""
        rest = max(0, count - len(self.twins))
        start = 0
        if query != self.record.question and self.others:
            start = rng_of(seed, "draw", self.record.id, query).randrange(min(SPREAD, len(self.others)))
        return [*self.twins[:count], *(self.others[start:] + self.others[:start])[:rest]]

    def dated_version(self, passage: Passage) -> Passage:
        """A found passage with the day it has in this question."""
        day = self.dates.get(passage.key)
        return passage if day is None else passage.model_copy(update={"published": day})


@dataclass(frozen=True)
class Noise:
    """The questions that have noise of a kind."""

    kind: NoiseKind
    of: Mapping[str, NoisyQuestion]
    """Id of the record → the question, in the order of the records."""
    left_out: tuple[str, ...]
    """Ids of the records that noise of this kind cannot be made for with an exact label."""

    @property
    def records(self) -> list[Record]:
        """What is asked."""
        return [question.record for question in self.of.values()]

    @property
    def twins_per_question(self) -> float | None:
        """Mean number of twins; None for kinds without, whose noise is drawn from the other passages alone."""
        if self.kind in ("unrelated", "tangential") or not self.of:
            return None
        return sum(len(question.twins) for question in self.of.values()) / len(self.of)


def noisy_questions(
    records: Sequence[Record], kind: NoiseKind | str, *, others: Sequence[Record] = (), seed: int = 0
) -> Noise:
    """Noise of one kind for every record that it can be made for.

    Twins are few (see `TWINS`): where a result list needs more noise than there are, tangential passages fill it up.

    Args:
        records: The questions.
        others: Records that noise and wrong values are taken from; by default `records`.

    Raises:
        ConfigError: Unknown kind.
    """
    if kind not in NOISE_KINDS:
        raise ConfigError(f"unknown kind of noise {kind!r}; known: {', '.join(map(repr, NOISE_KINDS))}")
    maker = _Maker(others or records, seed)
    made = {record.id: maker.question(record, kind) for record in records}
    found = {id_: question for id_, question in made.items() if question is not None}
    return Noise(kind, found, tuple(id_ for id_ in made if id_ not in found))


class _Maker:
    """What the questions of one data file share: all its passages, indexed once."""

    def __init__(self, records: Sequence[Record], seed: int) -> None:
        self._records, self._seed = records, seed
        kept: dict[str, LabelledPassage] = {}
        for record in records:
            for passage in record.passages:
                if label_of(passage) not in PLANTED:
                    kept.setdefault(passage.to_passage().key, passage)
        self._all = list(kept.values())

    @cached_property
    def _words(self) -> WordIndex:
        return WordIndex([f"{passage.title} {passage.text}" for passage in self._all])

    def question(self, record: Record, kind: NoiseKind | str) -> NoisyQuestion | None:
        """The record with its noise; None where there is none."""
        if kind == "unrelated":
            question = NoisyQuestion(record=record, others=self._unrelated(record))
        elif kind == "tangential":
            question = NoisyQuestion(record=record, others=self._tangential(record))
        else:
            question = self._outdated(record) if kind == "outdated" else self._counterfactual(record)
            return question if question.twins else None
        return question if question.others else None

    def _unrelated(self, record: Record) -> tuple[Passage, ...]:
        order = list(range(len(self._all)))
        rng_of(self._seed, "unrelated", record.id).shuffle(order)
        return self._no_help(record, order, {p.to_passage().key for p in record.passages})

    def _tangential(self, record: Record) -> tuple[Passage, ...]:
        return self._no_help(record, self._words.nearest(record.question), _gold_keys(record))

    def _no_help(self, record: Record, order: Sequence[int], without: Set[str]) -> tuple[Passage, ...]:
        """The first passages of an order in which no accepted answer stands, but for those of certain keys."""
        checked = has_span_answer(record)  # a bare yes or no stands nowhere
        found: list[Passage] = []
        for labelled in (self._all[number] for number in order):
            passage = labelled.to_passage()
            if passage.key not in without and not (checked and stands(record, [labelled])):
                found.append(_unnamed(passage))
            if len(found) == POOL:
                break
        return tuple(found)

    def _seeds(self) -> range:
        return range(self._seed * TRIES, (self._seed + 1) * TRIES)

    def _counterfactual(self, record: Record) -> NoisyQuestion:
        gold = essential(record)
        swaps = [contradictory_twin(record, self._records, gold=gold, seed=s) for s in self._seeds()] if gold else []
        wrong = [p for p in record.passages if label_of(p) in PLANTED]
        wrong += [twin.swap.twin for twin in swaps if twin is not None]
        return NoisyQuestion(record=record, twins=_twins(record, wrong), others=self._tangential(record))

    def _outdated(self, record: Record) -> NoisyQuestion:
        gold = essential(record)
        made = [stale_twin(record, self._records, gold=gold, seed=s) for s in self._seeds()] if gold else []
        stale = [twin for twin in made if twin is not None]
        if not stale:
            return NoisyQuestion(record=record)
        now = stale[0]
        asked = now.record.model_copy(update={"passages": record.passages})
        olds = [p for twin in stale for p in twin.record.passages if p.id == twin.outdated]
        dates = {p.to_passage().key: p.published for p in now.record.passages if p.id == now.other and p.published}
        others = self._tangential(record)
        return NoisyQuestion(record=asked, twins=_twins(record, olds), others=others, dates=dates, today=now.today)


def _gold_keys(record: Record) -> set[str]:
    return {p.to_passage().key for p in record.passages if p.supporting}


def _unnamed(passage: Passage) -> Passage:
    """The passage under an id that does not tell what it is, and that no other text has."""
    return passage.model_copy(update={"id": f"n-{passage.key}"})


def _twins(record: Record, passages: Sequence[LabelledPassage]) -> tuple[Passage, ...]:
    """Passages in which no accepted answer stands, each text once."""
    gold, unique = _gold_keys(record), dict[str, Passage]()
    for labelled in passages:
        passage = labelled.to_passage()
        if passage.key not in gold and not stands(record, [labelled]):
            unique.setdefault(passage.key, _unnamed(passage))
    return tuple(unique.values())[:TWINS]
