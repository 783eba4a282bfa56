"""Who has left an office no longer holds it, whether or not a passage says who came after."""

from datetime import date
from pathlib import Path

import pytest

from reflective_rag.programs import ReflectiveRAG
from reflective_rag.signatures.types import Passage, Result
from tests.programs.rules.worlds import passage

LINES = (Path(__file__).parent / "everyday" / "departures.txt").read_text(encoding="utf-8").splitlines()
ROWS = [tuple(line.split(" | ")) for line in LINES if line and not line.startswith("#")]
OLDER, NEWER, TODAY = date(2025, 6, 1), date(2026, 3, 1), date(2026, 11, 1)
CHIEF, CHIEF_ZH = "Who is the CEO of Bolt?", "海岩公司现任总经理是谁？"
HOLDS, HOLDS_ZH = "The CEO of Bolt is Nora Pell.", "海岩公司的总经理是张伟。"
LEFT, LEFT_ZH = "Nora Pell stepped down as CEO of Bolt.", "张伟已辞去海岩公司总经理职务。"


def ask(question: str, *passages: Passage) -> Result:
    """The program's result over these passages, on a fixed day."""
    result: Result = ReflectiveRAG(search=lambda _, k: list(passages), today=TODAY)(question=question)
    return result


def codes(result: Result) -> set[str]:
    """The codes of its warnings."""
    return {warning.code for warning in result.warnings}


@pytest.mark.parametrize(
    ("question", "older", "newer", "wanted"), ROWS, ids=[f"{row[3]}-{i}" for i, row in enumerate(ROWS)]
)
def test_the_present_holder_has_not_left(question: str, older: str, newer: str, wanted: str) -> None:
    """A holder who left is given as outdated; one who did not is given as before; a successor is the answer."""
    result = ask(question, passage("old", older, published=OLDER), passage("new", newer, published=NEWER))
    if wanted == "left":
        assert result.degraded
        # Where the question is not bound to the present by its words, no date settles who is right.
        assert codes(result) & {"outdated_info", "conflicting_evidence"}
        assert result.abstained or result.answer in older
    else:
        assert not result.degraded
        assert not codes(result) & {"outdated_info", "conflicting_evidence"}
        assert result.answer in older if wanted == "stays" else result.answer == wanted


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        pytest.param(CHIEF, (HOLDS, LEFT), id="en"),
        pytest.param(CHIEF, (f"{HOLDS} She stepped down in 2022.",), id="en, a pronoun in the same passage"),
        pytest.param(CHIEF, (f"{HOLDS} Nora Pell resigned in 2022.",), id="en, the name in the same passage"),
        pytest.param(CHIEF_ZH, (HOLDS_ZH, LEFT_ZH), id="zh"),
        pytest.param(CHIEF_ZH, (f"{HOLDS_ZH}2022年，张伟辞职。",), id="zh, the same passage"),
    ],
)
def test_without_dates_it_is_an_open_conflict(question: str, texts: tuple[str, ...]) -> None:
    """Where no date tells which came later, the two are reported as a conflict and the answer is degraded."""
    result = ask(question, *(passage(str(i), text) for i, text in enumerate(texts)))
    assert result.degraded
    assert "conflicting_evidence" in codes(result)
    assert len(result.conflicts) == 1


@pytest.mark.parametrize(
    ("question", "text"), [pytest.param(CHIEF, LEFT, id="en"), pytest.param(CHIEF_ZH, LEFT_ZH, id="zh")]
)
def test_who_is_named_only_as_having_left_is_no_answer(question: str, text: str) -> None:
    """A sentence that says that somebody left the office names no holder."""
    assert ask(question, passage("only", text)).abstained


@pytest.mark.parametrize("dated", [True, False], ids=["dated", "undated"])
@pytest.mark.parametrize(
    ("question", "texts", "successor"),
    [
        pytest.param(CHIEF, (HOLDS, LEFT, "Tom Reed is the CEO of Bolt."), "Tom Reed", id="en"),
        pytest.param(CHIEF_ZH, (HOLDS_ZH, LEFT_ZH, "李娜出任海岩公司总经理。"), "李娜", id="zh"),
    ],
)
def test_a_successor_on_a_third_page_is_the_answer(
    question: str, texts: tuple[str, ...], successor: str, dated: bool
) -> None:
    """The one who came after is given, also where no date tells the order of the pages."""
    days = (OLDER, NEWER, NEWER) if dated else (None, None, None)
    pages = [passage(str(i), text, published=day) for i, (text, day) in enumerate(zip(texts, days, strict=True))]
    assert ask(question, *pages).answer == successor
    assert ask(question, *pages[::-1]).answer == successor


@pytest.mark.parametrize(
    ("question", "left", "holds"),
    [pytest.param(CHIEF, LEFT, HOLDS, id="en"), pytest.param(CHIEF_ZH, LEFT_ZH, HOLDS_ZH, id="zh")],
)
def test_a_later_page_that_gives_the_holder_again_counts(question: str, left: str, holds: str) -> None:
    """Who left first and is given as the holder on a later day holds the office."""
    result = ask(question, passage("old", left, published=OLDER), passage("new", holds, published=NEWER))
    assert result.answer in holds
    assert not result.degraded


def test_the_holder_of_an_earlier_time_is_not_touched() -> None:
    """Who held an office in a past year did so whoever left it since."""
    result = ask("Who was the CEO of Bolt in 2025?", passage("old", HOLDS, published=OLDER), passage("new", LEFT))
    assert result.answer == "Nora Pell"
    assert "conflicting_evidence" not in codes(result)
