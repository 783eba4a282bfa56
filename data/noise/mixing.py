"""A search with noise in it: the same share in every result list, whatever the query."""

import inspect
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Self

from reflective_rag.data.noise.kinds import NoisyQuestion
from reflective_rag.data.partial import as_whole_as
from reflective_rag.data.twins.evidence import rng_of
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage

PassageSearch = Callable[[str, int], Iterable[Passage] | Awaitable[Iterable[Passage]]]
"""A search that returns `Passage`s: a retriever, or anything else inside `programs.searching.SearchHandle`."""


def check_rate(rate: float) -> None:
    """Raise `ConfigError` unless a share of noise lies between 0 and 1."""
    if not 0 <= rate <= 1:  # NaN fails too
        raise ConfigError(f"a noise rate must be a share from 0 (none) to 1 (nothing but noise), got {rate!r}")


def noise_count(k: int, rate: float) -> int:
    """Passages of noise among `k`: k · rate rounded up, as in RGB (Chen et al. 2024); below rate 1 one stays free."""
    wanted = math.ceil(round(k * rate, 9))  # 15 · .2 is a little more than 3 in floating point
    return wanted if rate == 1 else min(wanted, k - 1)


class NoisySearch:
    """`search` for one question, of whose results the share `rate` is noise.

    The best results keep their order; noise takes the places of the last ones, at ranks that depend on the question and
    the seed alone. With rate 1 there is nothing but noise, and so no supporting passage. Where too little noise can be
    had the list gets shorter: the share holds. Scores are those of the places, so they do not tell noise apart.

    Args:
        search: Asked for the rest. May be async: calling this then gives an awaitable.
        question: The noise, from `noisy_questions`.
        rate: Share of noise, 0..1.
        seed: Of the ranks, and of what a later query draws.

    Raises:
        ConfigError: `rate` out of range.
    """

    def __init__(self, search: PassageSearch, question: NoisyQuestion, rate: float, *, seed: int = 0) -> None:
        check_rate(rate)
        self._search, self._question, self._rate, self._seed = search, question, rate, seed

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """Itself: DSPy copies programs, and a copied client breaks."""
        return self

    def __call__(self, query: str, k: int) -> list[Passage] | Awaitable[list[Passage]]:
        """At most `k` passages, noise among them."""
        noise = self._question.draw(query, noise_count(k, self._rate), self._seed)
        found = self._search(query, k + len(noise))  # what is drawn as noise may be among them, and is then left out
        if inspect.isawaitable(found):
            return self._mixed_later(found, noise, k)
        return as_whole_as(found, self._mixed(list(found), noise, k))

    async def _mixed_later(
        self, found: Awaitable[Iterable[Passage]], noise: Sequence[Passage], k: int
    ) -> list[Passage]:
        brought = await found
        return as_whole_as(brought, self._mixed(list(brought), noise, k))

    def _mixed(self, found: Sequence[Passage], noise: Sequence[Passage], k: int) -> list[Passage]:
        drawn = {passage.key for passage in noise}
        rest = [self._question.dated_version(p) for p in found if p.key not in drawn]
        rest = rest[: self._room(k, len(noise))]
        size = len(rest) + len(noise)
        places = set(rng_of(self._seed, "places", self._question.record.id, str(size)).sample(range(size), len(noise)))
        left, right = iter(noise), iter(rest)
        mixed = [next(left) if place in places else next(right) for place in range(size)]
        scores = [p.score for p in found[:size]]
        scores += [scores[-1] if scores else None] * (size - len(scores))
        return [p.model_copy(update={"score": score}) for p, score in zip(mixed, scores, strict=True)]

    def _room(self, k: int, noise: int) -> int:
        """Places for what the search found, beside that much noise."""
        wanted = noise_count(k, self._rate)
        if self._rate == 1:
            return 0
        if noise == wanted:
            return k - wanted
        return math.floor(noise * (k - wanted) / wanted)
