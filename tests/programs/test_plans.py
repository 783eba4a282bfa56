"""Decompositions: what is read as a plan, what falls back to the question, and how answers are put into questions."""

from typing import Any

import pytest

from reflective_rag.programs.plans import Part, read_plan, resolved

ALONE = (Part(1, "Q?"),)


@pytest.mark.parametrize(
    ("value", "parts", "bad"),
    [
        pytest.param([{"question": "A?"}], (Part(1, "A?"),), 0, id="one part"),
        pytest.param(["A?", "B?"], (Part(1, "A?"), Part(2, "B?")), 0, id="plain texts"),
        pytest.param('[{"question": "A?", "depends_on": []}]', (Part(1, "A?"),), 0, id="JSON in a text"),
        pytest.param(
            [{"question": "A?"}, {"question": "B of #1?", "depends_on": []}],
            (Part(1, "A?"), Part(2, "B of #1?", (1,))),
            0,
            id="a reference is a dependency",
        ),
        pytest.param(
            [{"question": "谁？"}, {"question": "＃1出生在哪里？"}],
            (Part(1, "谁？"), Part(2, "＃1出生在哪里？", (1,))),
            0,
            id="full-width mark",
        ),
        pytest.param(
            [{"question": "B?", "depends_on": [2]}, {"question": "A?"}],
            (Part(1, "B?", (2,)), Part(2, "A?")),
            0,
            id="the later one first",
        ),
        pytest.param(
            [{"question": "A?", "depends_on": [1]}], (Part(1, "A?"),), 0, id="waits for itself in the list only"
        ),
        pytest.param(
            [{"question": f"{i}?"} for i in range(9)], tuple(Part(i + 1, f"{i}?") for i in range(4)), 0, id="nine"
        ),
        pytest.param([{"question": f"Who is #{'9' * 5000}?"}], ALONE, 1, id="a number without end"),
        pytest.param(
            [{"question": "A?", "depends_on": [10**5000]}], (Part(1, "A?"),), 0, id="a dependency without end"
        ),
        pytest.param([], ALONE, 0, id="nothing to split"),
        pytest.param("none", ALONE, 1, id="none"),
        pytest.param(None, ALONE, 1, id="no reply"),
        pytest.param("I would first look at the director.", ALONE, 1, id="prose"),
        pytest.param([{"question": "About #1?"}], ALONE, 1, id="refers to itself"),
        pytest.param([{"question": "#2?"}, {"question": "#1?"}], ALONE, 1, id="circle"),
        pytest.param([{"question": "A?"}, {"question": "#7?"}], ALONE, 1, id="refers to nothing"),
        pytest.param([{"question": "A?"}, {"question": " "}], ALONE, 1, id="one part is empty"),
        pytest.param([{"question": "A?"}, 5], ALONE, 1, id="one part is a number"),
        pytest.param(
            [{"question": f"{i}?"} for i in range(4)] + [{"question": "#4?"}], None, 0, id="a fifth is cut off"
        ),
    ],
)
def test_a_plan_is_read_or_replaced_by_the_question(value: Any, parts: Any, bad: int) -> None:
    """What cannot be carried out is never carried out in part: the question itself is asked, and it is counted."""
    found, unread, _ = read_plan(value, "Q?")
    assert unread == bad
    assert found == parts if parts else len(found) == 4


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param({1: "Ada Lane"}, "Where was Ada Lane born?", id="known"),
        pytest.param({}, "Where was Who directed it born?", id="unknown: the words of its question"),
    ],
)
def test_references_become_answers(answers: dict[int, str], expected: str) -> None:
    """#1 stands for the answer to sub-question 1."""
    parts = (Part(1, "Who directed it?"), Part(2, "Where was #1 born?", (1,)))
    assert resolved(parts[1], answers, parts) == expected


def test_a_chain_of_unknown_answers_is_spelt_out() -> None:
    """An answer that is missing is replaced all the way down."""
    parts = (Part(1, "谁？"), Part(2, "#1的母亲？", (1,)), Part(3, "#2的故乡？", (2,)))
    assert resolved(parts[2], {}, parts) == "谁的母亲的故乡？"


@pytest.mark.parametrize(("parts", "cut"), [pytest.param(4, 0, id="four"), pytest.param(6, 2, id="six")])
def test_what_is_cut_off_is_counted(parts: int, cut: int) -> None:
    """Sub-questions beyond the most that are worked on."""
    assert read_plan([f"{i}?" for i in range(parts)], "Q?")[1:] == (0, cut)


@pytest.mark.parametrize("number", ["1", "5", "9" * 5000], ids=["its own", "another", "without end"])
def test_a_number_that_is_no_reference_stays(number: str) -> None:
    """A question that stays whole may speak of a number of its own."""
    whole = Part(1, f"Who was #{number} in the charts?")
    assert resolved(whole, {}, (whole,)) == whole.question
