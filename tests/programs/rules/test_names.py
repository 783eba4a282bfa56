"""Names in Chinese text: where they begin and end."""

import pytest

from reflective_rag.programs.rules.names import names


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("云山国的首都是东海市。", "东海市"),
        ("佐尔的首都是贝尔市。", "贝尔市"),
        ("云溪县的县城是清水镇。", "清水镇"),
        ("公司的总部位于北海市。", "北海市"),
        ("他的老家在安平县。", "安平县"),
    ],
)
def test_a_place_that_no_list_knows_keeps_the_word_for_its_kind(text: str, place: str) -> None:
    """The segmenter cuts 市 and 镇 off names that it has never seen; the name is the whole."""
    assert place in [span.text for span in names(text) if span.kind == "place"]
