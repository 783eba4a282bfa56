"""The passages of one question: each once, ranked for reading, accounted for when left out, numbered for a model."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from reflective_rag.programs.noise import NearDuplicates, Redundancy, shingles
from reflective_rag.programs.rules.deadline import is_up, leave_undone
from reflective_rag.programs.strips import recompose, strips_of
from reflective_rag.programs.tangent import tangential
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.text import Language, identity, normalize, without_markup
from reflective_rag.signatures.types import DroppedPassage, Passage, Strip
from reflective_rag.signatures.wording import Phrase, say

UNGRADED = 0.5
"""Grade of a passage that no critic has read."""
LATER = 0.5
"""Added to the rank of what a gap query found: the first hit of the question itself stays ahead of it."""
DEMO_CHARS = 220
"""Length of a passage in a bootstrapped demo: its best sentence or two."""


class EvidencePool:
    """Every text enters once (see `identity`).

    Ids are made unique, since verdicts name passages by id.

    Args:
        near: Jaccard similarity from which passages are compared for being near-duplicates (see `NearDuplicates`),
            which are then left out as well; None keeps them.
    """

    def __init__(self, near: float | None = None) -> None:
        self._passages: dict[str, Passage] = {}
        self._ids: dict[str, list[str]] = {}
        self._ranks: dict[str, float] = {}
        self._repeats: dict[str, DroppedPassage] = {}
        self._left_out: dict[str, DroppedPassage] = {}
        self._near = None if near is None else NearDuplicates(near)
        self._retrieved = Redundancy()
        self._in_time = True
        """Whether all passages so far were compared; past a time limit they no longer are."""
        self.language: Language = "en"
        """Of the reasons for which passages are left out."""
        self.replaced: dict[str, str] = {}
        """Id of a near-duplicate → id of the passage that is kept for it, which says the same."""

    def __len__(self) -> int:
        return len(self._passages) - len(self.replaced)

    def add(self, *results: Sequence[Passage]) -> list[Passage]:
        """Take in the results of the queries of one round, each best first; returns what says something new.

        The best rank of a passage is kept. A passage that comes again is not recorded; under another id it is.
        """
        later = LATER if self._passages else 0.0
        new = []
        for rank in range(max(map(len, results), default=0)):
            for passage in (result[rank] for result in results if rank < len(result)):
                if is_up():  # passages still come in, so that they are accounted for
                    leave_undone("redundancy")
                    self._in_time = False
                found = shingles(passage.text) if self._in_time else frozenset()
                self._retrieved.add(found)  # held until the passage is in, so that a book is cut up once
                entered = self._add(passage, rank + later)
                new += [entered] if entered else []
        return [passage for passage in new if passage.id not in self.replaced]

    def _add(self, passage: Passage, rank: float) -> Passage | None:
        same = self._same(passage)
        if same:
            self._rank(same, rank)
            if passage.id not in self._passages:
                self._repeats[passage.id] = DroppedPassage(
                    passage=passage, reason=self._say("exact_duplicate", kept=same)
                )
            return None
        passage = self._enter(passage)
        self._rank(passage.id, rank)
        repeats = self._near.add(passage) if self._near and self._in_time else ()
        for repeat in repeats:
            self.replaced[repeat.dropped.id] = repeat.kept.id
            self._repeats[repeat.dropped.id] = DroppedPassage(
                passage=repeat.dropped, reason=self._say(repeat.reason, kept=repeat.kept.id)
            )
            self._rank(repeat.kept.id, self._ranks[repeat.dropped.id])
        # A dated copy that takes the place of an undated one is no news; a passage that is dropped itself neither.
        return passage if all(repeat.more and repeat.kept.id == passage.id for repeat in repeats) else None

    def _same(self, passage: Passage) -> str | None:
        """Id of the passage with this text; two passages with two titles differ even if their texts do not."""
        alike = self._ids.get(passage.key)
        if not alike:
            return None
        title, text = normalize(passage.title), identity(passage.text)
        for other in (self._passages[id_] for id_ in alike):
            if identity(other.text) == text and (not title or normalize(other.title) in ("", title)):
                return other.id
        return None

    def find(self, passage: Passage) -> Passage | None:
        """The passage of the pool that a retrieved one became; None where it never came in."""
        same = self._same(passage)
        return self._passages[self.kept(same)] if same else None

    def _enter(self, passage: Passage) -> Passage:
        if passage.id in self._passages:
            passage = passage.model_copy(update={"id": self._free_id(passage)})
        self._passages[passage.id] = passage
        self._ids.setdefault(passage.key, []).append(passage.id)
        return passage

    def _free_id(self, passage: Passage) -> str:
        free = f"{passage.id}~{passage.key[:6]}"
        while free in self._passages:
            free += "~"
        return free

    def _rank(self, id_: str, rank: float) -> None:
        id_ = self.kept(id_)
        self._ranks[id_] = min(rank, self._ranks.get(id_, rank))

    def kept(self, id_: str) -> str:
        """The id of the passage that stands for this one: its own, unless it was found to be a near-duplicate."""
        while id_ in self.replaced:
            id_ = self.replaced[id_]
        return id_

    def for_reading(
        self,
        limit: int,
        grades: Mapping[str, float],
        *,
        terms: Iterable[str] = (),
        covering: Collection[str] = (),
        margin: float = 0.0,
    ) -> list[Passage]:
        """The best `limit` passages by grade + 1 / (1 + best rank over all queries), in the order they were found.

        What is left out is recorded. Keeping the order means that a round which changes nothing asks the model the
        same.

        A passage of the second hop speaks little of the question, so its grade alone would leave it out; its rank for
        the gap's own query brings it in. Recall of supporting passages in the best 5 on training questions, keyword
        search over 6,176 passages: .81 / .76 / .55 (HotpotQA, 2Wiki, MuSiQue; n = 119, 120, 120), by grade alone
        .76 / .75 / .52.

        Args:
            limit: Most passages to read.
            grades: Relevance by id, as far as critics have judged.
            terms: Tokens of the question, its requirements and the queries so far, for `margin`.
            covering: Ids of the passages that cover a requirement: never called tangential, and read before all others.
            margin: Passages that are `tangential` by this margin are left out first, but never the best hit of a query;
                0 leaves none out for that.
        """
        grades = self._grades(grades)
        covering = {self.kept(id_) for id_ in covering}
        pool = [p for p in self._passages.values() if p.id not in self.replaced]

        def worth(passage: Passage) -> tuple[bool, float]:
            return passage.id in covering, grades.get(passage.id, UNGRADED) + 1.0 / (1.0 + self._ranks[passage.id])

        first = {id_ for id_, rank in self._ranks.items() if rank in (0.0, LATER)}
        away = tangential(terms, pool, grades, covering | first, margin) if margin else {}
        reasons = {id_: self._say("tangential") for id_ in away}
        ranked = sorted((p for p in pool if p.id not in reasons), key=worth, reverse=True)
        reasons |= {
            p.id: self._say("judged_irrelevant" if grades.get(p.id) == 0.0 else "beyond_max") for p in ranked[limit:]
        }
        self._left_out = {p.id: DroppedPassage(passage=p, reason=reasons[p.id]) for p in pool if p.id in reasons}
        return [p for p in pool if p.id not in reasons]

    def _grades(self, grades: Mapping[str, float]) -> dict[str, float]:
        """Grades of the passages that are kept; one that stands for others has the best of their grades."""
        found: dict[str, float] = {}
        for id_, grade in grades.items():
            kept = self.kept(id_)
            found[kept] = max(grade, found.get(kept, 0.0))
        return found

    @property
    def dropped(self) -> tuple[DroppedPassage, ...]:
        """Repeats, and what the last reading left out."""
        return (*self._repeats.values(), *self._left_out.values())

    @property
    def redundancy(self) -> float | None:
        """Share of all retrieved text, repeats included, that repeats other retrieved text (see `Redundancy`).

        None where a time limit left some of it uncounted.
        """
        return self._retrieved.share if self._in_time else None

    def _say(self, key: Phrase, **values: object) -> str:
        return say(key, self.language, **values)


_NUMBERED = late_pattern(r"(?m)(^|[\r\v\f\x85\u2028\u2029])([^\S\n]*)\[(?=\d+\])")


def _own_number_only(text: str) -> str:
    """A passage whose lines cannot pass for further passages: [2] at the start of a line becomes (2]."""
    return _NUMBERED.sub(r"\1\2(", text)


def numbered(
    passages: Sequence[Passage], terms: Iterable[str], limit: int, carried: Sequence[Strip] = (), *, first: int = 1
) -> tuple[str, tuple[Strip, ...]]:
    """The passages as a model reads them, numbered from `first`, and what was read of those over `limit` characters.

    `carried` are the strips of earlier rounds: they stay unless better ones need their space.
    """
    terms = frozenset(terms)
    lines: list[str] = []
    read: list[Strip] = []
    for number, passage in enumerate(passages, first):
        if len(passage.text) > limit:
            strips = strips_of(passage, terms, limit, carried=carried)
            read += strips
            passage = passage.model_copy(update={"text": recompose(passage, strips)})
        lines.append(f"[{number}] {_own_number_only(without_markup(passage.for_model()))}")
    return "\n".join(lines) or "(no passages)", tuple(read)
