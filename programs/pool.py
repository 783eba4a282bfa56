"""The passages of one question: deduplicated as they come, ranked for reading, accounted for when left out."""

from collections.abc import Mapping, Sequence

from reflective_rag.signatures.text import Sentence, sentences, tokenize, without_markup
from reflective_rag.signatures.types import DroppedPassage, Passage

UNGRADED = 0.5
"""Grade of a passage that no critic has read."""
LATER = 0.5
"""Added to the rank of what a gap query found: the first hit of the question itself stays ahead of it."""


class EvidencePool:
    """Every passage enters once, by the hash of its normal form.

    Ids are made unique, since verdicts name passages by id.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, Passage] = {}
        self._ids: set[str] = set()
        self._ranks: dict[str, float] = {}
        self._dropped: dict[str, DroppedPassage] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def add(self, *results: Sequence[Passage]) -> list[Passage]:
        """Take in the results of the queries of one round, each best first; returns the passages that are new.

        Repeats are dropped without a record, since their text is already here; the best rank of a passage is kept.
        """
        later = LATER if self._by_key else 0.0
        new = []
        for rank in range(max(map(len, results), default=0)):
            for passage in (result[rank] for result in results if rank < len(result)):
                old = self._ranks.get(passage.key)
                self._ranks[passage.key] = rank + later if old is None else min(old, rank + later)
                if old is None:
                    new.append(self._enter(passage))
        return new

    def _enter(self, passage: Passage) -> Passage:
        if passage.id in self._ids:
            passage = passage.model_copy(update={"id": f"{passage.id}~{passage.key[:6]}"})
        self._by_key[passage.key] = passage
        self._ids.add(passage.id)
        return passage

    def for_reading(self, limit: int, grades: Mapping[str, float]) -> list[Passage]:
        """The best `limit` passages by grade + 1 / (1 + best rank over all queries), in the order they were found.

        What is left out is recorded. Keeping the order means that a round which changes nothing asks the model the
        same.

        A passage of the second hop speaks little of the question, so its grade alone would leave it out; its rank for
        the gap's own query brings it in. Recall of supporting passages in the best 5 on training questions, keyword
        search over 6,176 passages: .81 / .76 / .55 (HotpotQA, 2Wiki, MuSiQue; n = 119, 120, 120), by grade alone
        .76 / .75 / .52.
        """

        def worth(passage: Passage) -> float:
            return grades.get(passage.id, UNGRADED) + 1.0 / (1.0 + self._ranks[passage.key])

        ranked = sorted(self._by_key.values(), key=lambda p: -worth(p))
        self._dropped = {p.id: DroppedPassage(passage=p, reason=_reason(grades.get(p.id))) for p in ranked[limit:]}
        return [p for p in self._by_key.values() if p.id not in self._dropped]

    @property
    def dropped(self) -> tuple[DroppedPassage, ...]:
        """What the last reading left out."""
        return tuple(self._dropped.values())


def _reason(grade: float | None) -> str:
    return "judged irrelevant" if grade == 0.0 else "beyond max_passages"


def strip(text: str, terms: frozenset[str], limit: int) -> str:
    """`text` if it is short enough, else its best sentences up to `limit` characters, in order.

    A … stands where some are left out. Sentences are ranked by the number of `terms` they hold (ties: earlier first).
    Nothing else is changed: a kept sentence is verbatim, so that a quote can be found in the original.
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
        lines.append(f"[{number}] {without_markup(passage.model_copy(update={'text': text}).for_model())}")
    return "\n".join(lines) or "(no passages)", tuple(shortened)


DEMO_CHARS = 220
"""Length of a passage in a bootstrapped demo: its best sentence or two."""
