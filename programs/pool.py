"""The passages of one question: deduplicated as they come, ranked for reading, and accounted for when they are left out."""

from collections.abc import Mapping, Sequence

from reflective_rag.signatures.text import Sentence, sentences, tokenize
from reflective_rag.signatures.types import DroppedPassage, Passage


class EvidencePool:
    """Every passage enters once, by the hash of its normal form. Ids are made unique, since verdicts name passages by id."""

    def __init__(self) -> None:
        self._by_key: dict[str, Passage] = {}
        self._ids: set[str] = set()
        self._dropped: dict[str, DroppedPassage] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def add(self, passages: Sequence[Passage]) -> list[Passage]:
        """The passages that are new, in order. Repeats are dropped without a record: their text is already here."""
        new = []
        for passage in passages:
            if passage.key in self._by_key:
                continue
            if passage.id in self._ids:
                passage = passage.model_copy(update={"id": f"{passage.id}~{passage.key[:6]}"})
            self._by_key[passage.key] = passage
            self._ids.add(passage.id)
            new.append(passage)
        return new

    def for_reading(self, limit: int, grades: Mapping[str, float], new: Sequence[Passage]) -> list[Passage]:
        """At most `limit` passages: judged relevant ones by grade, then new ones by rank, then older ungraded ones.

        A passage that was judged irrelevant is read again only while there is room. What is left out is recorded.
        """
        fresh = {p.id for p in new}
        position = {p.id: i for i, p in enumerate(self._by_key.values())}

        def order(passage: Passage) -> tuple[int, float, int]:
            grade = grades.get(passage.id)
            group = 0 if grade else 1 if passage.id in fresh else 2 if grade is None else 3
            return group, -(grade or 0.0), position[passage.id]

        ranked = sorted(self._by_key.values(), key=order)
        self._dropped = {p.id: DroppedPassage(passage=p, reason=_reason(grades.get(p.id))) for p in ranked[limit:]}
        return ranked[:limit]

    @property
    def dropped(self) -> tuple[DroppedPassage, ...]:
        """What the last reading left out."""
        return tuple(self._dropped.values())


def _reason(grade: float | None) -> str:
    return "judged irrelevant" if grade == 0.0 else "beyond max_passages"


def strip(text: str, terms: frozenset[str], limit: int) -> str:
    """`text` if it is short enough, else its best sentences up to `limit` characters, in order, with … where some are left out.

    Sentences are ranked by the share of `terms` they hold (ties: earlier first). Nothing else is changed: a kept sentence
    is verbatim, so that a quote can be found in the original.
    """
    if len(text) <= limit:
        return text
    found = sentences(text)
    kept: list[Sentence] = []
    room = limit
    for sentence in sorted(found, key=lambda s: (-len(terms & set(tokenize(s.text))), s.start)):
        if len(sentence.text) + 2 <= room:
            kept.append(sentence)
            room -= len(sentence.text) + 2
        elif not kept:  # one giant sentence: a window is better than nothing, and marked as cut
            return text[: limit - 2] + " …"
    kept.sort(key=lambda s: s.start)
    return _join(kept, found, text)


def _join(kept: Sequence[Sentence], found: Sequence[Sentence], text: str) -> str:
    index = {s.start: i for i, s in enumerate(found)}
    parts: list[str] = [] if kept[0].start == found[0].start else ["…"]
    for before, sentence in zip([None, *kept], kept, strict=False):
        if before is not None and index[sentence.start] != index[before.start] + 1:
            parts.append("…")
        parts.append(sentence.text)
    if kept[-1].end != found[-1].end:
        parts.append("…")
    return " ".join(parts)


def numbered(passages: Sequence[Passage], terms: frozenset[str], limit: int) -> tuple[str, tuple[str, ...]]:
    """The passages as a model reads them, numbered from 1, and the ids of those that were shortened."""
    lines, shortened = [], []
    for number, passage in enumerate(passages, 1):
        text = strip(passage.text, terms, limit)
        if text != passage.text:
            shortened.append(passage.id)
        lines.append(f"[{number}] {passage.model_copy(update={'text': text}).for_model()}")
    return "\n".join(lines) or "(no passages)", tuple(shortened)


DEMO_CHARS = 220
"""Length of a passage in a bootstrapped demo: its best sentence or two."""
