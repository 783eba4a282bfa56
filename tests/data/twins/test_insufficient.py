"""Insufficient twins: the answer stands nowhere, and nothing else tells them from the original."""

from typing import Any

import pytest

from reflective_rag.data.records import LabelledPassage, Record
from reflective_rag.data.twins import insufficient_twin
from reflective_rag.data.twins.evidence import essential, stands
from tests.data.twins.worlds import FILLER, MAYOR, passage, record

LABELLED = [LabelledPassage.model_validate(p | {"id": f"x{p['id']}", "text": p["text"] + " Indeed."}) for p in FILLER]


def test_the_gold_passage_is_replaced_in_its_place() -> None:
    """One passage differs, at the gold one's place; the answer stands in the original and not in the twin."""
    twin = insufficient_twin(MAYOR, LABELLED)
    assert twin is not None
    changed = [i for i, (a, b) in enumerate(zip(MAYOR.passages, twin.passages, strict=True)) if a != b]
    assert changed == [0]
    assert twin.passages[0] in [p.model_copy(update={"supporting": False}) for p in LABELLED]
    assert stands(MAYOR, MAYOR.passages)
    assert not stands(MAYOR, twin.passages)


@pytest.mark.parametrize(
    ("source", "pool"),
    [
        pytest.param(record("Old?", ["yes"], passage(1, "yes", True)), LABELLED, id="yes-no"),
        pytest.param(
            record("Who?", ["Anna Berg"], passage(1, "Anna Berg did it.", True), passage(2, "So says ANNA-BERG.")),
            LABELLED,
            id="stands-elsewhere",
        ),
        pytest.param(MAYOR, [], id="no-replacement"),
        pytest.param(MAYOR, [LabelledPassage(id="long", text="word " * 900)], id="too-long"),
        pytest.param(MAYOR, [LabelledPassage(id="b", text=MAYOR.passages[0].text + "!")], id="brings-it-back"),
        pytest.param(record("Who?", ["Max"], passage(1, "Nobody.", True)), LABELLED, id="never-stood-there"),
    ],
)
def test_a_doubtful_label_is_dropped(source: Record, pool: list[LabelledPassage]) -> None:
    """No twin where the answer may still be found, or where length would tell."""
    assert insufficient_twin(source, pool) is None


def test_of_several_gold_passages_the_one_with_the_answer_goes() -> None:
    """A bridge passage alone would leave the answer standing."""
    source = record(
        "Who leads the town by the lake?",
        ["Anna Berg"],
        passage(1, "Oberdorf is the town by the lake, in the north of the long valley there.", True),
        passage(2, "Anna Berg leads Oberdorf, where she was a teacher for many years before.", True),
    )
    twins = [insufficient_twin(source, LABELLED, seed=seed) for seed in range(5)]
    assert all(twin is not None and twin.passages[0] == source.passages[0] for twin in twins)


def test_a_grouped_answer_is_gone_when_one_part_is() -> None:
    """Where every group must be matched, one missing part makes the evidence insufficient."""
    source = record(
        "How many cars did each sell?",
        ["131万；187万"],
        passage(1, "A公司在这一年里一共卖出了131万辆汽车，增长很快。", True, evidence_group=0, label="positive"),
        passage(2, "B公司在这一年里一共卖出了187万辆汽车，创下纪录。", True, evidence_group=1, label="positive"),
        answer_groups=[["131万"], ["187万"]],
    )
    assert [p.id for p in essential(source)] == ["p1", "p2"]
    twin = insufficient_twin(source, [LabelledPassage(id="x", text="C公司在这一年里没有公布汽车的销量，令人意外。")])
    assert twin is not None
    assert not stands(source, twin.passages)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({}, ["p1", "p2"], id="multi-hop-needs-all"),
        pytest.param({"label": "positive"}, ["p1"], id="copies-of-a-fact-need-one"),
    ],
)
def test_which_gold_passages_are_needed_together(keys: dict[str, Any], expected: list[str]) -> None:
    """RGB's positives each state the answer; a multi-hop set needs every supporting passage."""
    texts = ("Anna Berg leads it.", "Anna Berg is the head of it.")
    source = record("Who?", ["Anna Berg"], *(passage(i, text, True, **keys) for i, text in enumerate(texts, 1)))
    assert [p.id for p in essential(source)] == expected
