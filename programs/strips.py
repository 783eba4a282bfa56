"""What is read of a long passage: the windows of whole sentences that speak of the question, verbatim, with offsets.

CRAG's knowledge refinement (Yan et al. 2024: decompose, score, recompose) without a model.
"""

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reflective_rag.programs.rules.deadline import OutOfTime, check, leave_undone, watched
from reflective_rag.programs.rules.matching import stem
from reflective_rag.programs.rules.words import STOP_EN
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.text import sentences, tokenize
from reflective_rag.signatures.types import Passage, Strip

MARK = " … "
"""Stands where text is left out."""
LONGEST_UNIT = 600
"""Characters; a longer sentence (a table, text without punctuation) is cut, so that its best part can be read."""
CUT = 300
"""Characters of the pieces of such a sentence."""
AGAIN = 0.5
"""What a term is worth the second time, relative to the first, and so on: one fact told ten times must not fill the
space. This, NEAR and LEAD were chosen on train questions (see `strips_of`)."""
LEAD = 0.1
"""Bonus of the first sentence, which mostly says what the passage is about; the terms together are worth 1."""
CARRIED = 0.15
"""Bonus of a sentence that an earlier round has read."""
NEAR = 0.25
"""What the terms of a sentence are worth to its neighbours: what is meant by "he" stands in the sentence before."""
_HAN = late_pattern(r"[㐀-䶿一-鿿豈-﫿]+")
_OTHER = late_pattern(r"(?![㐀-䶿一-鿿豈-﫿])\w")
_CUT_AT = re.compile(r"[\s,;|，；、。]")


@dataclass(frozen=True)
class _Unit:
    start: int
    end: int
    terms: frozenset[str]

    @property
    def cost(self) -> int:
        return self.end - self.start + len(MARK)


def strips_of(
    passage: Passage,
    terms: Iterable[str],
    limit: int,
    weights: Mapping[str, float] | None = None,
    carried: Sequence[Strip] = (),
) -> tuple[Strip, ...]:
    """The windows of a passage to read: at most about `limit` characters together, in the order of the text.

    Sentences are taken one by one, each time the one whose terms add most: a term weighs log(1 + sentences / sentences
    that hold it), times its weight, halved for every time it was taken already; half of the choice goes to sentences
    next to those. Space that is left is filled from the start. Sentences that touch become one window.

    Share of train questions whose answer is read when all their passages are one document (`limit` 600), against the
    first 600 characters and the sentences with most terms: HotpotQA .65, .24, .47; MuSiQue .24, .10, .16; PopQA .60,
    .17, .44; CMRC 2018 .91, .10, .88; RGB Chinese .96, .72, .89 (n = 116, 120, 99, 80, 104).

    Args:
        passage: Its text is cut; a text without anything but white space has no strips.
        terms: What the question and its requirements speak of (`tokenize`d); inflection is ignored.
        limit: Characters to read, the marks of what is left out included. One piece is read however small it is.
        weights: Weight of a term, 1 where it is missing.
        carried: What earlier rounds have read, of any passage; it stays unless better sentences need its space.

    Returns:
        Strips; `score` is the weighted share of the terms, of those that the passage holds at all, in the window. Where
        a time limit ends the choice in the middle (see `rules.deadline`), the beginning of the text.
    """
    try:
        with watched():
            return _strips_of(passage, _wanted(terms, weights or {}), limit, carried)
    except OutOfTime:
        leave_undone("beginnings")
        end = min(len(passage.text), max(1, limit - len(MARK)))
        return (Strip(passage_id=passage.id, start=0, end=end, score=0.0),)


def _strips_of(
    passage: Passage, wanted: Mapping[str, float], limit: int, carried: Sequence[Strip]
) -> tuple[Strip, ...]:
    units = _units(passage.text, wanted, limit)
    rarity = Counter(term for unit in units for term in unit.terms)
    worth = {term: wanted[term] * math.log1p(len(units) / count) for term, count in rarity.items()}
    total = sum(worth.values()) or 1.0
    worth = {term: value / total for term, value in worth.items()}
    kept = {(s.start, s.end) for s in carried if s.passage_id == passage.id}
    chosen = _choose(units, worth, limit, _overlapping(units, kept))
    return tuple(_strip(passage, window, worth) for window in _windows(passage.text, units, sorted(chosen)))


def recompose(passage: Passage, strips: Sequence[Strip]) -> str:
    """The windows verbatim, with … where text is left out between, before or after them."""
    parts: list[str] = []
    position = 0
    for strip in strips:
        if passage.text[position : strip.start].strip():
            parts.append("…")
        parts.append(passage.text[strip.start : strip.end])
        position = strip.end
    if passage.text[position:].strip():
        parts.append("…")
    return " ".join(parts)


def _wanted(terms: Iterable[str], weights: Mapping[str, float]) -> dict[str, float]:
    """Stem → weight, without stop words unless there is nothing else."""
    words = sorted(set(terms))
    content = [word for word in words if word not in STOP_EN] or words
    wanted: dict[str, float] = {}
    for word in content:
        wanted[stem(word)] = max(wanted.get(stem(word), 0.0), weights.get(word, 1.0))
    return wanted


def _units(text: str, wanted: Mapping[str, float], limit: int) -> list[_Unit]:
    """Sentences, and pieces of those that are too long to be read whole."""
    longest = max(1, min(LONGEST_UNIT, limit - 2 * len(MARK)))
    pairs = frozenset(term for term in wanted if len(term) == 2 and _HAN.fullmatch(term))
    others = frozenset(wanted) - pairs
    units = []
    for sentence in sentences(text):
        check()
        for start, end in _pieces(text, sentence.start, sentence.end, longest):
            units.append(_Unit(start, end, _terms_in(text[start:end], pairs, others)))
    return units


def _terms_in(piece: str, pairs: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """The wanted terms that a piece holds.

    Chinese pairs are looked for as they are: to make every pair of a book a token takes ten times as long.
    """
    found = {pair for pair in pairs if pair in piece}
    if others and (_OTHER.search(piece) or any(_HAN.fullmatch(term) for term in others)):
        found |= {stem(token) for token in set(tokenize(piece))} & others
    return frozenset(found)


def _pieces(text: str, start: int, end: int, longest: int) -> Iterable[tuple[int, int]]:
    """Cut at a space or comma near `CUT` characters, else just there; no piece has white space at its edges."""
    size = min(CUT, longest)
    while end - start > longest:
        found = [m.end() for m in _CUT_AT.finditer(text, start + size // 2, start + size)]
        cut = found[-1] if found else start + size
        yield start, start + len(text[start:cut].rstrip()) or cut
        start = cut + len(text[cut:end]) - len(text[cut:end].lstrip()) if text[cut].isspace() else cut
    yield start, end


def _overlapping(units: Sequence[_Unit], windows: set[tuple[int, int]]) -> set[int]:
    return {i for i, u in enumerate(units) if any(start < u.end and u.start < end for start, end in windows)}


def _choose(units: Sequence[_Unit], worth: Mapping[str, float], limit: int, carried: set[int]) -> set[int]:
    """Indexes of the sentences to read.

    Sentences with the same terms and bonuses are one group with one gain, which only falls as others are taken: the
    best group is found by a heap whose stale entries are renewed when they come up.
    """
    groups = _groups(units, carried)
    taken: Counter[str] = Counter()

    def gain(key: _Key) -> float:
        own, near, bonus = key
        near_only = near - own
        value = sum(worth[t] * AGAIN ** taken[t] for t in own) + NEAR * sum(
            worth[t] * AGAIN ** taken[t] for t in near_only
        )
        return value + bonus

    heap = [(-gain(key), members[0], key) for key, members in groups.items()]
    heapq.heapify(heap)
    room = limit - len(MARK)
    chosen: set[int] = set()
    while heap and (room > 0 or not chosen):
        value, first, key = heapq.heappop(heap)
        if (now := -gain(key)) > value + 1e-12:
            heapq.heappush(heap, (now, first, key))
            continue
        members = groups[key]
        index = members.pop()
        if members:
            heapq.heappush(heap, (now, members[-1], key))
        if units[index].cost <= room or not chosen:
            chosen.add(index)
            room -= units[index].cost
            taken.update(units[index].terms)
    return chosen


_Key = tuple[frozenset[str], frozenset[str], float]


def _groups(units: Sequence[_Unit], carried: set[int]) -> dict[_Key, list[int]]:
    """Sentences by own terms, neighbours' terms and bonus; the first in the text is at the end of its list."""
    groups: dict[_Key, list[int]] = defaultdict(list)
    none: frozenset[str] = frozenset()
    for i in reversed(range(len(units))):
        before = units[i - 1].terms if i else none
        after = units[i + 1].terms if i + 1 < len(units) else none
        bonus = LEAD * (i == 0) + CARRIED * (i in carried)
        groups[units[i].terms, before | after, bonus].append(i)
    return groups


def _windows(text: str, units: Sequence[_Unit], chosen: Sequence[int]) -> list[list[_Unit]]:
    """Chosen sentences, those that follow each other with at most a line break between them together."""
    windows: list[list[_Unit]] = []
    previous = -2
    for i in chosen:
        if i == previous + 1 and units[i].start - windows[-1][-1].end <= len(MARK):
            windows[-1].append(units[i])
        else:
            windows.append([units[i]])
        previous = i
    return windows


def _strip(passage: Passage, window: Sequence[_Unit], worth: Mapping[str, float]) -> Strip:
    held = frozenset[str]().union(*(unit.terms for unit in window))
    score = min(1.0, sum(worth[term] for term in held))
    return Strip(passage_id=passage.id, start=window[0].start, end=window[-1].end, score=round(score, 4))
