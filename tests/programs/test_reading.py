"""Reading what a model wrote: verdicts, scores, numbers and lists in the shapes that models give them."""

from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError
from pydantic import BaseModel

from reflective_rag.programs.reading import raw_fields, read_choice, read_items, read_numbers, salvage
from reflective_rag.signatures.answering import AnswerQuestion, JudgeSupport
from reflective_rag.signatures.evidence import AssessEvidence, JudgeRelevance, JudgeSufficiency

YES_NO = ("yes", "no")
GRADES = ("relevant", "partly", "irrelevant")
SUPPORT = ("supported", "partially", "not_supported", "contradicted")


@pytest.mark.parametrize(
    ("value", "choices", "expected"),
    [
        pytest.param("yes", YES_NO, "yes", id="as asked"),
        pytest.param("YES", YES_NO, "yes", id="capitals"),
        pytest.param("  No.\n", YES_NO, "no", id="white space and full stop"),
        pytest.param('"yes"', YES_NO, "yes", id="quoted"),
        pytest.param("“no”", YES_NO, "no", id="curly quotes"),
        pytest.param("「是」", YES_NO, "yes", id="Chinese quotes"),
        pytest.param("**Yes**", YES_NO, "yes", id="bold"),
        pytest.param("`no`", YES_NO, "no", id="code"),
        pytest.param("ｙｅｓ", YES_NO, "yes", id="full-width"),
        pytest.param("ＮＯ！", YES_NO, "no", id="full-width capitals"),
        pytest.param("是。", YES_NO, "yes", id="Chinese yes"),
        pytest.param("不充分", YES_NO, "no", id="Chinese no"),
        pytest.param("不足，缺少出生年份", YES_NO, "no", id="Chinese no with a reason"),
        pytest.param("yes, passage 2 states it", YES_NO, "yes", id="reason after a comma"),
        pytest.param("Yes. Passage 2 states it.", YES_NO, "yes", id="reason after a full stop"),
        pytest.param("No – the date is missing", YES_NO, "no", id="reason after a dash"),
        pytest.param("no\nbecause nothing is said", YES_NO, "no", id="reason on the next line"),
        pytest.param("\u200byes\ufeff", YES_NO, "yes", id="zero-width around"),
        pytest.param("y\u200be\u2060s\u200d", YES_NO, "yes", id="zero-width within"),
        pytest.param(True, YES_NO, "yes", id="bool true"),
        pytest.param(False, YES_NO, "no", id="bool false"),
        pytest.param("True", YES_NO, "yes", id="true as text"),
        pytest.param("yes or no", YES_NO, None, id="two verdicts"),
        pytest.param("yes/no", YES_NO, None, id="two verdicts with a slash"),
        pytest.param("yes, no", YES_NO, None, id="two verdicts with a comma"),
        pytest.param("是，否", YES_NO, None, id="two Chinese verdicts"),
        pytest.param("yes, yes", YES_NO, "yes", id="the same verdict twice"),
        pytest.param("the verdict 'yes' would be wrong", YES_NO, None, id="quoted in a sentence"),
        pytest.param("not yes", YES_NO, None, id="negated"),
        pytest.param("nobody knows", YES_NO, None, id="begins like a verdict"),
        pytest.param("not sure", YES_NO, None, id="undecided"),
        pytest.param("", YES_NO, None, id="empty"),
        pytest.param("…", YES_NO, None, id="dots"),
        pytest.param(None, YES_NO, None, id="no reply"),
        pytest.param(1, YES_NO, None, id="number"),
        pytest.param(["yes"], YES_NO, None, id="list"),
        pytest.param({"sufficient": "yes"}, YES_NO, None, id="dict"),
        pytest.param("Partly relevant", GRADES, "partly", id="longer spelling"),
        pytest.param("not relevant", GRADES, "irrelevant", id="negated spelling of its own"),
        pytest.param("不相关", GRADES, "irrelevant", id="Chinese irrelevant"),
        pytest.param("部分相关", GRADES, "partly", id="Chinese partly"),
        pytest.param(True, GRADES, None, id="bool where no yes is asked"),
        pytest.param("not supported", SUPPORT, "not_supported", id="blank for underscore"),
        pytest.param("Not_Supported", SUPPORT, "not_supported", id="underscore and capitals"),
        pytest.param("Partly", SUPPORT, "partially", id="neighbouring word"),
        pytest.param("矛盾", SUPPORT, "contradicted", id="Chinese contradicted"),
        pytest.param("as of", ("timeless", "now", "as_of"), "as_of", id="time scope"),
        pytest.param("as-of", ("timeless", "now", "as_of"), None, id="a spelling that is not listed"),
    ],
)
def test_a_verdict_is_read_whole_or_not_at_all(value: Any, choices: tuple[str, ...], expected: str | None) -> None:
    """A member of a closed set is recognised in any spelling; what names none or several is None, never a "no"."""
    assert read_choice(value, choices) == expected


@pytest.mark.parametrize(
    ("value", "numbers", "unreadable"),
    [
        pytest.param([1, 3], (1, 3), 0, id="list"),
        pytest.param([3, 1], (3, 1), 0, id="order kept"),
        pytest.param(["1", "[3]"], (1, 3), 0, id="list of texts"),
        pytest.param("[1], 3", (1, 3), 0, id="text"),
        pytest.param("passages 1 and 3", (1, 3), 0, id="sentence"),
        pytest.param("［１］、３", (1, 3), 0, id="full-width"),
        pytest.param("第1段和第3段", (1, 3), 0, id="Chinese sentence"),
        pytest.param("p3", (), 1, id="part of a name"),
        pytest.param("none of 1, 2, 3 is relevant", (), 1, id="a sentence that denies"),
        pytest.param("No passage is outdated (checked 1, 2, 3)", (), 1, id="a sentence in passing"),
        pytest.param("没有段落与问题相关，包括1和2", (), 1, id="a sentence that denies, Chinese"),
        pytest.param("1-3", (1, 2, 3), 0, id="range"),
        pytest.param("passages 1 and 3", (1, 3), 0, id="named"),
        pytest.param(["none of 1"], (), 1, id="a sentence as an entry"),
        pytest.param([], (), 0, id="empty list"),
        pytest.param("[]", (), 0, id="empty list as text"),
        pytest.param("none", (), 0, id="none"),
        pytest.param("None.", (), 0, id="none with full stop"),
        pytest.param("无", (), 0, id="Chinese none"),
        pytest.param("", (), 0, id="empty text"),
        pytest.param(2, (2,), 0, id="one number"),
        pytest.param([1, 1, 3, 1], (1, 3), 0, id="duplicates"),
        pytest.param([1, 9], (1,), 1, id="beyond the count"),
        pytest.param([0], (), 1, id="zero"),
        pytest.param([-1], (), 1, id="negative"),
        pytest.param("-1", (), 1, id="negative text"),
        pytest.param([2.0], (2,), 0, id="whole float"),
        pytest.param([1.5], (), 1, id="float"),
        pytest.param([float("nan"), float("inf")], (), 2, id="NaN and infinity"),
        pytest.param(["9" * 400], (), 1, id="beyond a float"),
        pytest.param([True, False], (), 2, id="bools"),
        pytest.param(True, (), 1, id="bool"),
        pytest.param("the first one", (), 1, id="words"),
        pytest.param(["x", 2], (2,), 1, id="mixed"),
        pytest.param([None, 2], (2,), 1, id="None within"),
        pytest.param({"a": "b"}, (), 1, id="dict"),
        pytest.param(None, (), 1, id="no reply"),
    ],
)
def test_passage_numbers_are_read_from_any_shape(value: Any, numbers: tuple[int, ...], unreadable: int) -> None:
    """Numbers outside 1..count are never guessed at: each counts as unreadable, and so does a missing reply."""
    assert read_numbers(value, 5) == (numbers, unreadable)


class Item(BaseModel):
    need: str


@pytest.mark.parametrize(
    ("value", "items", "unreadable"),
    [
        pytest.param([{"need": "a"}], [{"need": "a"}], 0, id="list of dicts"),
        pytest.param([Item(need="a")], [{"need": "a"}], 0, id="list of models"),
        pytest.param((Item(need="a"),), [{"need": "a"}], 0, id="tuple"),
        pytest.param({"need": "a"}, [{"need": "a"}], 0, id="single dict"),
        pytest.param(Item(need="a"), [{"need": "a"}], 0, id="single model"),
        pytest.param('[{"need": "a"}]', [{"need": "a"}], 0, id="JSON text"),
        pytest.param('{"need": "a"}', [{"need": "a"}], 0, id="single object as text"),
        pytest.param('```json\n[{"need": "a"}]\n```', [{"need": "a"}], 0, id="fenced JSON"),
        pytest.param('[{"need": "a"}, {"need": "b"', [{"need": "a"}, {"need": "b"}], 0, id="cut-off JSON"),
        pytest.param('[{"need": "首都"}]', [{"need": "首都"}], 0, id="Chinese JSON"),
        pytest.param([], [], 0, id="empty list"),
        pytest.param("[]", [], 0, id="empty list as text"),
        pytest.param("```json\n[]\n```", [], 0, id="fenced empty list"),
        pytest.param("none", [], 0, id="none"),
        pytest.param("没有。", [], 0, id="Chinese none"),
        pytest.param([{"need": "a"}, "b", None], [{"need": "a"}], 2, id="mixed"),
        pytest.param([[{"need": "a"}]], [], 1, id="list in a list"),
        pytest.param("the capital is missing", [], 1, id="prose"),
        pytest.param('"quoted"', [], 1, id="JSON string"),
        pytest.param("5", [], 1, id="number as text"),
        pytest.param(5, [], 1, id="number"),
        pytest.param(True, [], 1, id="bool"),
        pytest.param(None, [], 1, id="no reply"),
    ],
)
def test_objects_are_read_from_any_shape(value: Any, items: list[dict[str, Any]], unreadable: int) -> None:
    """A list of objects is read from lists, single objects and JSON text; every other entry counts as unreadable."""
    assert read_items(value) == (items, unreadable)


def refusal(signature: Any, reply: str) -> AdapterParseError:
    """The error that DSPy raises for a reply it cannot parse."""
    return AdapterParseError(adapter_name="ChatAdapter", signature=signature, lm_response=reply)


@pytest.mark.parametrize(
    ("signature", "reply", "fields", "unread"),
    [
        pytest.param(
            AnswerQuestion,
            "Sure! [[ ## answer ## ]] Giotto [[ ## cited ## ]] [2] [[ ## completed ## ]]",
            {"answer": "Giotto", "cited": "[2]"},
            (),
            id="markers in the middle of a line",
        ),
        pytest.param(
            AnswerQuestion,
            'Here it is: {"answer": "Giotto", "cited": [2]} I hope this helps.',
            {"answer": "Giotto", "cited": [2]},
            (),
            id="JSON with text around",
        ),
        pytest.param(AnswerQuestion, '{"answer": "乔托"', {"answer": "乔托"}, ("cited",), id="cut-off JSON"),
        pytest.param(
            AnswerQuestion, "[[ ## answer ## ]]\nGiotto", {"answer": "Giotto"}, ("cited",), id="cut off after a field"
        ),
        pytest.param(AnswerQuestion, "I cannot help.", {}, ("answer", "cited"), id="prose"),
        pytest.param(AnswerQuestion, "", {}, ("answer", "cited"), id="empty"),
        pytest.param(JudgeSufficiency, "Yes, they do.", {"sufficient": "yes"}, (), id="single field as plain text"),
        pytest.param(JudgeSufficiency, "it depends", {}, ("sufficient",), id="single field, no verdict"),
        pytest.param(
            JudgeRelevance, "[[ ## relevance ## ]]\n不相关", {"relevance": "irrelevant"}, (), id="Chinese verdict"
        ),
        pytest.param(
            JudgeSupport,
            "[[ ## problem ## ]]\nnone\n[[ ## support ## ]]\nhalf",
            {"problem": "none"},
            ("support",),
            id="one field of two",
        ),
    ],
)
def test_a_refused_reply_is_salvaged_field_by_field(
    signature: Any, reply: str, fields: dict[str, Any], unread: tuple[str, ...]
) -> None:
    """What DSPy refuses as a whole is read field by field; a field without a readable value is named, not filled in."""
    assert salvage(dspy.Predict(signature), refusal(signature, reply)) == (fields, unread)


def test_salvaging_an_assessment_keeps_the_readable_judgements() -> None:
    """One bad verdict in an assessment does not cost the others."""
    reply = "[[ ## relevant ## ]] 1, 2 [[ ## sufficient ## ]] perhaps [[ ## gaps ## ]] none"
    fields, unread = salvage(dspy.Predict(AssessEvidence), refusal(AssessEvidence, reply))
    assert fields == {"relevant": "1, 2", "gaps": "none"}
    assert unread == ("needs", "contradictions", "outdated", "sufficient")


def test_markers_of_other_fields_are_not_taken_for_outputs() -> None:
    """A reply that repeats the inputs gives only the fields that were asked for; one that answers others gives none."""
    assert raw_fields("[[ ## answer ## ]] a", ["query"]) == {}
    assert raw_fields('{"answer": "a"}', ["query"]) == {}
    assert raw_fields("[[ ## question ## ]] q [[ ## answer ## ]] a", ["answer"]) == {"answer": "a"}
