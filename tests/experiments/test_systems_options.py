"""Options as they are typed on the command line."""

from typing import Any

import pytest

from reflective_rag.experiments.systems import parse_options


@pytest.mark.parametrize(
    ("typed", "value"),
    [("theta=.5", 0.5), ("theta=0.5", 0.5), ("k=5", 5), ("mode=fused", "fused"), ("abstain=true", True), ("x=", "")],
)
def test_numbers_are_numbers_however_they_are_written(typed: str, value: Any) -> None:
    """`.5` is no JSON, and a number all the same; other words stay texts."""
    (found,) = parse_options([typed]).values()
    assert (found, type(found)) == (value, type(value))
