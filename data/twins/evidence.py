"""What stands where in a record: its answers, the gold passages that are needed together, passages to fill up with."""

import random
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256

from reflective_rag.data.records import LabelledPassage, Record
from reflective_rag.data.twins.values import is_yes_no, kind_of, squeezed

READ = 5
"""Passages that a judge of a set of passages reads: the gold ones and distractors."""

PLANTED = frozenset({"counterfactual", "misinfo"})
"""Passage labels (RGB, RAMDocs) of texts that carry a planted wrong answer: neither gold nor plain distractors."""


def rng_of(seed: int, *parts: str) -> random.Random:
    """A generator that depends on the seed and the names alone, not on what was drawn before."""
    return random.Random(int.from_bytes(sha256("\0".join((str(seed), *parts)).encode()).digest()[:8], "big"))


def label_of(passage: LabelledPassage) -> str:
    """The data set's own label of a passage ("positive", "misinfo", …); empty where there is none."""
    return str(passage.extra.get("label") or "")


def stands(record: Record, passages: Iterable[LabelledPassage]) -> bool:
    """Whether an accepted answer (every group of a grouped one) stands in the passages, by normalised containment.

    It errs towards yes: "US" stands in "Russia". So what it calls absent is absent.
    """
    text = "\0".join(squeezed(f"{passage.title} {passage.text}") for passage in passages)
    if len(record.answer_groups) > 1:
        return all(any(squeezed(alias) in text for alias in group) for group in record.answer_groups)
    return any(squeezed(answer) in text for answer in _aliases(record))


def _aliases(record: Record) -> list[str]:
    aliases = [*record.answers, *(alias for group in record.answer_groups for alias in group)]
    return [alias for alias in aliases if squeezed(alias)]


def has_span_answer(record: Record) -> bool:
    """Whether the record has answers that can stand in a passage: there are some, and none is a bare yes or no."""
    return record.answerable and bool(record.answers) and not any(map(is_yes_no, record.answers))


def essential(record: Record) -> tuple[LabelledPassage, ...]:
    """The gold passages that are needed together.

    All supporting ones, except where each is enough by itself: RGB lists copies of the same fact (one is taken, one of
    each `evidence_group` where there are groups), and PopQA's retrieval hits repeat it.
    """
    gold = [p for p in record.passages if p.supporting and label_of(p) not in PLANTED]
    if "prop" in record.extra or any(label_of(p) for p in gold):
        gold = [p for p in gold if not has_span_answer(record) or _states_a_part(record, p)] or gold
        first: dict[object, LabelledPassage] = {}
        for passage in gold:
            first.setdefault(passage.extra.get("evidence_group"), passage)
        return tuple(first.values())
    return tuple(gold)


def _states_a_part(record: Record, passage: LabelledPassage) -> bool:
    text = squeezed(f"{passage.title} {passage.text}")
    return any(squeezed(alias) in text for alias in _aliases(record))


def distractors(record: Record) -> tuple[LabelledPassage, ...]:
    """The passages that are no gold and carry no planted answer."""
    return tuple(p for p in record.passages if not p.supporting and label_of(p) not in PLANTED)


def reading(record: Record, gold: Sequence[LabelledPassage], size: int = READ) -> Record:
    """The record with `gold` and its first distractors up to `size` passages, in the record's order."""
    room = max(0, size - len(gold))
    kept = {p.id for p in (*gold, *distractors(record)[:room])}
    return record.model_copy(update={"passages": tuple(p for p in record.passages if p.id in kept)})


_ASKS = re.compile(
    r"\b(?:who|whom|whose|where|when|why|(?:how|which|what) \w+)|谁|哪里|哪儿|哪\w|什么|多少|几\w|何时", re.IGNORECASE
)


def peers(record: Record, others: Sequence[Record], rng: random.Random) -> list[Record]:
    """Records of the same data set whose first answer is of the same kind, those that ask most alike first.

    Alike: of the same type (PopQA's relation) and asking with the same words ("who", "which country").
    """
    kind, asks, grouped = kind_of(record.answers[0]), _asks(record), len(record.answer_groups) > 1
    same = [
        r
        for r in others
        if (r.dataset, r.lang) == (record.dataset, record.lang)
        and r.id != record.id
        and has_span_answer(r)
        and kind_of(r.answers[0]) == kind
        and (len(r.answer_groups) > 1) == grouped
    ]
    rng.shuffle(same)
    return sorted(same, key=lambda r: (_asks(r) != asks, r.type != record.type))


def _asks(record: Record) -> str:
    found = _ASKS.search(record.question)
    return found.group().casefold() if found else ""
