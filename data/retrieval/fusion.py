"""Fusion of ranked lists."""

import math
from collections.abc import Sequence

RRF_K = 60
"""The constant of Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet" (SIGIR 2009)."""


def reciprocal_rank_fusion(rankings: Sequence[Sequence[str]], k: int = RRF_K) -> list[tuple[str, float]]:
    """Fuse lists of ids, each best first: score(d) = Σ 1 / (k + rank of d), ranks from 1, over the lists that hold d.

    Returns (id, score), best first; equal scores are ordered by id, so the outcome does not depend on the order of
    the lists.
    """
    parts: dict[str, list[float]] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, start=1):
            parts.setdefault(name, []).append(1.0 / (k + rank))
    # fsum rounds once, whatever the order of the parts: a plain sum could break a tie by rounding.
    return sorted(((name, math.fsum(part)) for name, part in parts.items()), key=lambda item: (-item[1], item[0]))
