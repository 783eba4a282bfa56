"""From the rows of each hub, and the lines of RGB, to records."""

from typing import Any

import pytest
from pydantic import ValidationError

from reflective_rag.data.datasets import all_cards, card_named
from reflective_rag.data.datasets.converting import rgb_record, to_record
from reflective_rag.data.jsonl import LineError
from reflective_rag.data.records import Record
from tests.data.datasets.rows import HOTPOT, HOTPOT_ORIGINAL, MUSIQUE, POPQA, RAMDOCS, RGB_LINES, ROWS, SQUAD


def supporting(record: Record) -> list[str]:
    """Titles, or texts where there are none, of the supporting passages."""
    return [p.title or p.text for p in record.passages if p.supporting]


@pytest.mark.parametrize("name", all_cards())
def test_every_data_set_has_a_layout_that_is_read(name: str) -> None:
    """A row as its hub has it becomes a record with the data set's name, language and licence."""
    card = card_named(name)
    record = to_record(card, ROWS[name], 0)
    assert (record.dataset, record.lang, record.extra["license"]) == (name, card.languages[0], card.licence)
    assert record.answers
    assert Record.model_validate_json(record.model_dump_json(exclude_defaults=True)) == record


def test_hotpot_marks_the_paragraphs_of_the_supporting_facts() -> None:
    """By their titles; sentences are joined, a fact beyond the paragraph does no harm, an empty paragraph goes."""
    record = to_record(card_named("hotpotqa"), HOTPOT, 0)
    assert [p.title for p in record.passages] == ["Ed Wood (film)", "Scott Derrickson", "Ed Wood"]
    assert supporting(record) == ["Scott Derrickson", "Ed Wood"]
    assert record.passages[0].text == "Ed Wood is a 1994 film. It was made by Tim Burton."
    assert (record.id, record.type, record.extra["level"]) == (HOTPOT["id"], "comparison", "hard")


def test_the_pairs_of_the_original_files_are_read_too() -> None:
    """The layout of the releases' own JSON: pairs instead of columns, `_id`, triples as evidence."""
    record = to_record(card_named("2wikimultihopqa"), HOTPOT_ORIGINAL, 0)
    assert (record.id, supporting(record)) == (HOTPOT_ORIGINAL["_id"], ["The film", "Bob"])
    assert record.extra["evidences"] == HOTPOT_ORIGINAL["evidences"]


def test_musique_takes_aliases_and_hops() -> None:
    """Every alias once; the kind of chain is the id's beginning; an unanswerable question has no answers."""
    record = to_record(card_named("musique"), MUSIQUE, 0)
    assert (record.answers, record.type, supporting(record)) == (("the land", "land"), "2hop", ["A", "B"])
    silent = to_record(card_named("musique"), MUSIQUE | {"answerable": False}, 0)
    assert (silent.answerable, silent.answers) == (False, ())


def test_popqa_has_answers_in_json_and_no_passages() -> None:
    """The hub keeps the answers as JSON in a text; there is nothing to read, so a corpus must be given."""
    record = to_record(card_named("popqa"), POPQA, 0)
    assert (record.answers, record.passages) == (("politician", "political leader"), ())
    assert (record.type, record.extra["s_pop"]) == ("occupation", 142)


def test_ramdocs_asks_for_every_answer_and_none_that_was_planted() -> None:
    """Each accepted answer is a group of its own, misinformation is kept as wrong answers; lists may be JSON texts."""
    record = to_record(card_named("ramdocs"), RAMDOCS, 4)
    assert (record.id, record.answer_groups) == ("ramdocs-4", (("1785",), ("1801",)))
    assert (record.wrong_answers, len(supporting(record))) == (("1950",), 2)
    assert [p.extra["label"] for p in record.passages] == ["correct", "correct", "misinfo", "noise"]
    assert to_record(card_named("ramdocs"), RAMDOCS | {"gold_answers": '["1785", "1801"]'}, 4) == record


def test_span_questions_share_the_passage_of_their_paragraph() -> None:
    """Two questions on one paragraph have one passage; repeated answers of annotators come once."""
    one = to_record(card_named("cmrc2018"), SQUAD, 0)
    other = to_record(card_named("cmrc2018"), SQUAD | {"id": "DEV_0_QUERY_1", "question": "另一个问题？"}, 1)
    assert one.passages == other.passages
    assert one.answers == ("光荣和ω-force", "光荣")


@pytest.mark.parametrize(
    ("stem", "kind", "answers", "groups"),
    [
        ("zh", "noise_robustness", ("卡塔尔", "卡塔尔国"), (("卡塔尔", "卡塔尔国"),)),
        ("en_int", "information_integration", ("Ann 1999",), (("Ann", "Ann B."), ("1999",))),
        ("en_fact", "counterfactual_robustness", ("Ann",), (("Ann",),)),
    ],
)
def test_rgb_lines(stem: str, kind: str, answers: Any, groups: Any) -> None:
    """The file's name says what is tested; every part of an answer is a group; planted answers are wrong ones."""
    record = rgb_record(RGB_LINES[stem], stem)
    assert (record.id, record.type) == (f"rgb-{stem}-{RGB_LINES[stem]['id']}", kind)
    assert (record.answers, record.answer_groups) == (answers, groups)
    assert record.lang == ("zh" if stem == "zh" else "en")
    assert all(p.supporting == (p.extra["label"] == "positive") for p in record.passages)
    assert record.wrong_answers == (("Bob",) if stem == "en_fact" else ())


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("hotpotqa", {"context": None}, "context"),
        ("hotpotqa", {"context": {"title": ["A"], "text": ["b"]}}, "context"),
        ("hotpotqa", {"supporting_facts": "none"}, "supporting_facts"),
        ("musique", {"paragraphs": {"idx": [0]}}, "paragraphs"),
        ("musique", {"paragraphs": [{"title": "A"}]}, "paragraph_text"),
        ("popqa", {"possible_answers": "politician"}, "possible_answers"),
        ("ramdocs", {"documents": [{"text": "A"}]}, "type"),
        ("cmrc2018", {"answers": ["a"]}, "answers"),
        ("cmrc2018", {"answers": {"text": []}}, "answers"),
        ("xquad-en", {"question": ""}, "question"),
    ],
)
def test_another_layout_is_told_by_its_field(name: str, change: dict[str, Any], field: str) -> None:
    """A row that lacks a field or has it in another form is refused, and the field is named."""
    with pytest.raises((LineError, ValidationError), match=field):
        to_record(card_named(name), ROWS[name] | change, 0)
