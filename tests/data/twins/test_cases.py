"""Cases for the critics: as many true as false ones, exact labels, and nothing that gives the label away."""

from pathlib import Path
from typing import get_args

import pytest

from reflective_rag.data.records import load_records
from reflective_rag.data.twins import Case, Judged, conflict_cases, relevance_pairs, support_cases, units_of
from reflective_rag.data.twins.values import squeezed
from tests.data.twins.worlds import BORN, FILLER, MAYOR, MAYOR_TOO, MAYOR_ZH, MAYOR_ZH_TOO, POPULATION, passage, record

RECORDS = [POPULATION, BORN, MAYOR, MAYOR_TOO, MAYOR_ZH, MAYOR_ZH_TOO]
RGB = record(
    "Who won?",
    ["France"],
    passage(1, "France won the cup.", True, label="positive"),
    passage(2, "The winner was France.", True, label="positive"),
    passage(3, "England won the cup.", label="counterfactual"),
    passage(4, "The stadium is large.", label="negative"),
    wrong_answers=["England"],
)


@pytest.mark.parametrize("judgement", get_args(Judged))
def test_every_judgement_has_as_many_true_as_false_cases(judgement: Judged) -> None:
    """Each unit is one record's true and false case, so chance is one half."""
    units = units_of(judgement, [*RECORDS, RGB])
    assert units
    assert all([case.label for case in unit].count(True) * 2 == len(unit) for unit in units)
    assert len({case.id for unit in units for case in unit}) == sum(map(len, units))


@pytest.mark.parametrize("judgement", get_args(Judged))
def test_cases_are_the_same_every_time(judgement: Judged) -> None:
    """Cases depend on the records and the seed alone, so verdicts can be kept by case."""
    assert units_of(judgement, RECORDS) == units_of(judgement, RECORDS)


def test_planted_passages_are_neither_relevant_nor_distractors() -> None:
    """A counterfactual passage is on topic and wrong: no label of relevance fits it."""
    cases = [case for unit in relevance_pairs([RGB]) for case in unit]
    assert {case.target for case in cases} <= {"p1", "p2", "p4"}
    assert all("p3" not in {p.id for p in case.passages} for case in cases)


def test_real_conflicts_need_both_answers_to_stand_there() -> None:
    """A positive and a counterfactual conflict; positives alone do not."""
    cases = [case for unit in conflict_cases([RGB]) for case in unit]
    assert {case.label: sorted(p.id for p in case.passages) for case in cases} == {
        True: ["p1", "p2", "p3"],
        False: ["p1", "p2"],
    }


def test_namesakes_do_not_contradict_each_other() -> None:
    """RAMDocs: correct documents of several namesakes agree, and misinformation about one of them is left out."""
    ambiguous = record(
        "When was John Doe born?",
        ["1786", "1834"],
        passage(1, "John Doe (1786).", True, label="correct"),
        passage(2, "John Doe (1834).", True, label="correct"),
        passage(3, "John Doe (1850).", label="misinfo"),
        wrong_answers=["1850"],
    )
    single = record(
        "When was Jane Roe born?",
        ["1786"],
        passage(1, "Jane Roe (1786).", True, label="correct"),
        passage(3, "Jane Roe (1850).", label="misinfo"),
        wrong_answers=["1850"],
    )
    (unit,) = conflict_cases([ambiguous, single])
    assert [(case.record, case.label) for case in unit] == [
        ("When was Jane Roe born?", True),
        ("When was John Doe born?", False),
    ]


def test_both_sides_of_a_contradiction_hold_equally_many_passages() -> None:
    """The number of passages must not tell a twin from its original."""
    units = [unit for unit in units_of("consistency", RECORDS) if unit[0].kind != "real"]
    assert units
    assert all(len(true.passages) == len(false.passages) for true, false in units)


def test_a_wrong_answer_stands_in_no_passage() -> None:
    """The false case of support carries an answer of the same kind that the passages do not hold."""
    found: list[Case] = [case for unit in support_cases(RECORDS) for case in unit if not case.label]
    assert {case.answer for case in found} == {"Anna Berg", "Karl Thal", "李明", "王芳"}
    for case in found:
        assert squeezed(case.answer) not in squeezed(" ".join(p.text for p in case.passages))


def test_labels_do_not_reach_the_passages() -> None:
    """A case's passages are plain passages: no supporting flag, no label of the data set, no hint in the metadata."""
    for judgement in get_args(Judged):
        for unit in units_of(judgement, [RGB, *RECORDS]):
            assert all(not p.metadata and not hasattr(p, "supporting") for case in unit for p in case.passages)


def test_a_case_changes_its_name_with_what_is_read() -> None:
    """A kept verdict is never taken for one on another text."""
    longer = record(MAYOR.question, ["Anna Berg"], passage(1, MAYOR.passages[0].text + " So it is.", True), *FILLER)
    before, after = ({c.id for u in relevance_pairs([r]) for c in u} for r in (MAYOR, longer))
    assert before.isdisjoint(after)


@pytest.mark.parametrize("judgement", get_args(Judged))
def test_labelled_data_gives_cases_of_every_judgement(judgement: Judged, shared_data: Path) -> None:
    """The labelled data sets give dev cases in both languages, from several data sets."""
    files = sorted((shared_data / "data").glob("*.dev.jsonl")) or sorted(shared_data.glob("*.dev.jsonl"))
    records = [r for path in files for r in load_records(path, limit=12)]
    cases = [case for unit in units_of(judgement, records) for case in unit]
    assert {case.lang for case in cases} == {"en", "zh"}
    assert len({case.dataset for case in cases}) >= 6
