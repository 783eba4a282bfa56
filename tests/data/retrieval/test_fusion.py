"""Reciprocal rank fusion."""

import pytest

from reflective_rag.data.retrieval import reciprocal_rank_fusion


def test_scores_are_those_of_the_paper():
    """`b`, second in one list and first in the other, scores 1/62 + 1/61 and beats both lists' other members."""
    fused = reciprocal_rank_fusion([["a", "b", "c"], ["b", "d"]])
    assert [name for name, _ in fused] == ["b", "a", "d", "c"]
    assert dict(fused) == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "d": 1 / 62, "c": 1 / 63})


def test_ties_are_ordered_by_id():
    """Two ids that swap places between two lists have one score, and the smaller id comes first."""
    assert [name for name, _ in reciprocal_rank_fusion([["z", "a"], ["a", "z"]])] == ["a", "z"]


def test_the_order_of_the_lists_does_not_matter():
    """Scores are equal to the last bit whatever list comes first."""
    lists = [["a", "b", "c"], ["c", "a"], ["b", "c", "a"]]
    assert reciprocal_rank_fusion(lists) == reciprocal_rank_fusion(lists[::-1])


def test_nothing_fuses_to_nothing():
    """No lists, or empty ones, give an empty result."""
    assert reciprocal_rank_fusion([]) == reciprocal_rank_fusion([[], []]) == []
