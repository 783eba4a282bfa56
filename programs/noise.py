"""Noise removal: redundancy as a number, and near-duplicates with their reasons. Removal by contrast is in `tangent`.

Being alike is not enough to be left out. Of the pairs of passages in public QA sets with a Jaccard similarity of .85 or
more, most differ in just the value that matters (a year, a name, "forward" for "defender"), so every difference is read
before a passage is called a duplicate.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any
from weakref import WeakValueDictionary

from reflective_rag.programs.rules.deadline import is_up, leave_undone
from reflective_rag.programs.wording import Wording, difference, is_inside
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.text import normalize, tokenize
from reflective_rag.signatures.types import Passage
from reflective_rag.signatures.wording import Phrase

SHINGLE = 3
"""Tokens in a shingle."""
NEAR = 0.85
"""Jaccard similarity of the shingles from which two passages are compared word by word."""
COMPARED = 64
"""Passages that are compared pair by pair; beyond it MinHash finds the candidates. Its import takes a second."""
HASHES = 128
RECALL = 0.15
"""How far below the threshold MinHash looks for candidates, which are then verified exactly: its estimate has a
standard error of about .03 at .85 with 128 hashes."""


def shingles(text: str) -> frozenset[str]:
    """Every run of three tokens; a shorter text is one shingle, one without tokens has none."""
    if len(text) <= 20_000:
        return _kept_shingles(text)
    found = _books.get(text)
    if found is None:
        found = _books[text] = _shingles(text)
    return found


def _shingles(text: str) -> frozenset[str]:
    tokens = tokenize(text)
    count = max(1, len(tokens) - SHINGLE + 1) if tokens else 0
    return frozenset(" ".join(tokens[i : i + SHINGLE]) for i in range(count))


# A passage is counted every time it is retrieved, and compared once.
_books: WeakValueDictionary[str, frozenset[str]] = WeakValueDictionary()
"""Shingles of long texts, for as long as a pool holds them: those of a book take a hundred megabytes."""
_kept_shingles = lru_cache(maxsize=1024)(_shingles)


@dataclass
class Redundancy:
    """Share of text that repeats other text, counted as passages come: 1 − unique / total shingles.

    What a passage repeats within itself does not count. Two equal passages give .5, three give .67.
    """

    total: int = 0
    passages: int = 0
    unique: set[str] = field(default_factory=set)

    def add(self, found: frozenset[str]) -> None:
        """Count the shingles of one more passage."""
        self.passages += 1
        self.total += len(found)
        self.unique |= found

    @property
    def share(self) -> float | None:
        """0..1; None before the first passage."""
        if not self.passages:
            return None
        return 1.0 - len(self.unique) / self.total if self.total else 0.0


def redundancy(passages: Iterable[Passage]) -> float | None:
    """Share of the passages' text that repeats another of them (see `Redundancy`), 0..1.

    None without passages, and where a time limit leaves it uncounted.
    """
    passages = list(passages)
    if len(passages) == 1:
        return 0.0  # what a passage repeats within itself does not count
    counted = Redundancy()
    for passage in passages:
        if is_up():
            leave_undone("redundancy")
            return None
        counted.add(shingles(passage.text))
    return counted.share


@dataclass(frozen=True)
class Repeat:
    """A passage that says nothing which `kept` does not say."""

    dropped: Passage
    kept: Passage
    reason: Phrase
    more: bool
    """Whether `kept` says more than `dropped`."""


@dataclass(frozen=True)
class _Entry:
    passage: Passage
    title: str
    wording: Wording
    shingles: frozenset[str]


class NearDuplicates:
    """Finds what repeats an earlier passage, or is repeated by a later one, as passages come in.

    - A passage wholly inside another repeats the longer one.
    - Two passages whose shingles have a Jaccard similarity of `threshold` or more repeat each other when their words
      differ in nothing but fillers, inflection, and additions that are neither number, date, name, negation nor a
      limiting word ("former", "almost"). Whole sentences may be added: then the passage that has them is kept.
    - Passages under two different titles never repeat each other: the title may be what they differ in.

    Of two that say the same, the dated one is kept, else the earlier one; a newer date alone makes no difference. In a
    pool the earlier one is also the better ranked within a search, and keeps its id from round to round.

    Deterministic; linear in the length of a passage.

    Args:
        threshold: Jaccard similarity, above 0 and at most 1.
    """

    def __init__(self, threshold: float = NEAR) -> None:
        if not 0.0 < threshold <= 1.0:
            raise ConfigError(f"`threshold` must be above 0 and at most 1 (a Jaccard similarity), got {threshold!r}")
        self.threshold = threshold
        self._entries: dict[str, _Entry] = {}
        self._gone: set[str] = set()
        self._index: Any = None

    def add(self, passage: Passage) -> tuple[Repeat, ...]:
        """What the passage repeats, or which earlier passages it makes superfluous; empty when it is simply new.

        Ids must be unique. When `dropped` is the passage itself there is just one repeat.
        """
        new = _Entry(passage, normalize(passage.title), Wording.of(passage.text), shingles(passage.text))
        found: list[Repeat] = []
        for old in self._candidates(new):
            repeat = self._compare(old, new)
            if repeat and repeat.dropped is passage:
                return (repeat,)
            found += [repeat] if repeat else []
        self._gone |= {repeat.dropped.id for repeat in found}
        self._enter(new)
        return tuple(found)

    def _candidates(self, new: _Entry) -> list[_Entry]:
        """Passages still kept that may repeat or be repeated: all of a few, else those alike by MinHash or nested."""
        kept = [entry for key, entry in self._entries.items() if key not in self._gone]
        if self._index is None:
            return kept
        near = set(self._index.query(_sketch(new.shingles)))
        return [e for e in kept if e.passage.id in near or _nested(e, new)]

    def _enter(self, new: _Entry) -> None:
        self._entries[new.passage.id] = new
        if self._index is not None:
            self._index.insert(new.passage.id, _sketch(new.shingles))
        elif len(self._entries) > COMPARED:
            from datasketch import MinHashLSH

            self._index = MinHashLSH(threshold=max(0.1, self.threshold - RECALL), num_perm=HASHES)
            for key, entry in self._entries.items():
                self._index.insert(key, _sketch(entry.shingles))

    def _compare(self, old: _Entry, new: _Entry) -> Repeat | None:
        if old.title and new.title and old.title != new.title:
            return None
        inside = is_inside(old.wording, new.wording), is_inside(new.wording, old.wording)
        if inside[0] != inside[1]:
            dropped, kept = (old, new) if inside[0] else (new, old)
            return _repeat(dropped, kept, more=True, how="inside_it")
        says_more: tuple[bool, bool] | None = (False, False)
        if not inside[0]:
            says_more = difference(old.wording, new.wording) if self._similar(old, new) else None
        if says_more is None or all(says_more):
            return None
        dated = bool(new.passage.published) and not old.passage.published
        dropped, kept = (old, new) if says_more[1] or (dated and not says_more[0]) else (new, old)
        return _repeat(dropped, kept, more=any(says_more))

    def _similar(self, a: _Entry, b: _Entry) -> bool:
        small, large = sorted((len(a.shingles), len(b.shingles)))
        if not small or small < self.threshold * large:
            return False
        common = len(a.shingles & b.shingles)
        return common >= self.threshold * (small + large - common)


def _nested(a: _Entry, b: _Entry) -> bool:
    return is_inside(a.wording, b.wording) or is_inside(b.wording, a.wording)


def _repeat(dropped: _Entry, kept: _Entry, *, more: bool, how: Phrase = "near_duplicate") -> Repeat:
    return Repeat(dropped.passage, kept.passage, how, more)


@cache
def _empty_sketch() -> Any:
    from datasketch import MinHash

    return MinHash(num_perm=HASHES, seed=1)


def _sketch(found: frozenset[str]) -> Any:
    sketch = _empty_sketch().copy()
    ordered = sorted(found)
    for start in range(0, len(ordered), 10_000):  # a batch takes 512 bytes a shingle
        sketch.update_batch([shingle.encode() for shingle in ordered[start : start + 10_000]])
    return sketch
