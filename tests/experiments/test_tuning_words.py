"""What a compile says of its tuning."""

import pytest

from reflective_rag.experiments.tuning_words import tuning_lines

EVEN = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 3}


@pytest.mark.parametrize(("trials", "said"), [(1, "ran 1 combination on 3"), (2, "ran 2 combinations on 3")])
def test_trials_are_counted_in_words(trials: int, said: str) -> None:
    """One combination, two combinations."""
    report = {"trials": trials, "n": 3, "chosen": {}, "costed": EVEN, "gain": EVEN}
    assert tuning_lines(report)[0].startswith(said)


def test_what_was_left_out_is_told() -> None:
    """How many, and why the first."""
    left_out = {"fell_back": {"n": 2, "first": "k=3: relevance"}, "not_run": {"n": 1, "first": "k=5: too much"}}
    report = {"trials": 4, "n": 3, "chosen": {}, "costed": EVEN, "gain": EVEN, "left_out": left_out}
    assert tuning_lines(report)[2:] == [
        "2 combinations could not be chosen: another back end did the work; the first: k=3: relevance",
        "1 combination could not be run; the first: k=5: too much",
    ]
