"""The bundled sample: what `data/sample/{train,dev,test}.jsonl` promise to whoever compiles, tunes or scores on them.

Read with plain `json`, so that a lenient loader cannot hide a fault of the files.
"""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import date
from importlib.resources import files
from itertools import combinations
from typing import Any

import pytest

from reflective_rag.data.records import load_sample
from reflective_rag.signatures.text import language_of, normalize, tokenize

SPLITS = ("train", "dev", "test")
TYPES = {"single_hop", "bridge", "comparison", "temporal", "conflict", "unanswerable"}
LATEST = date(2026, 11, 30)
"""The day the sample was written; nothing in it may be later."""

Line = dict[str, Any]
Sample = dict[str, list[Line]]


@pytest.fixture(scope="module")
def sample() -> Sample:
    """The lines of each split as plain dictionaries."""
    folder = files("reflective_rag.data") / "sample"
    texts = {split: (folder / f"{split}.jsonl").read_text(encoding="utf-8") for split in SPLITS}
    return {split: [json.loads(line) for line in text.split("\n") if line] for split, text in texts.items()}


@pytest.fixture(scope="module")
def lines(sample: Sample) -> list[Line]:
    """The lines of all splits."""
    return [line for split in SPLITS for line in sample[split]]


def passages(lines: list[Line]) -> Iterator[Line]:
    """Every passage as often as it is used."""
    for line in lines:
        yield from line["passages"]


def supporting(line: Line) -> list[Line]:
    """The passages a line marks as carrying the answer."""
    return [passage for passage in line["passages"] if passage["supporting"]]


def ids(lines: list[Line]) -> list[str]:
    """The ids of bad lines, as an assertion shows them."""
    return [line["id"] for line in lines]


def test_every_line_has_the_keys_of_a_sample_record(lines: list[Line]) -> None:
    """Each line names its data set, language, type, origin and license, and each passage its title and origin."""
    for line in lines:
        assert {"id", "question", "answers", "lang", "type"} <= line.keys()
        assert (line["dataset"], line["license"]) == ("sample", "Apache-2.0"), line["id"]
        assert line["source"] == "written for reflective-rag", line["id"]
        assert all(text.strip() for text in [line["question"], *line["answers"]]), line["id"]
    for passage in passages(lines):
        assert all(text.strip() for text in (passage["title"], passage["text"])), passage["id"]
        assert passage["source"] == "written for reflective-rag", passage["id"]
        assert isinstance(passage["supporting"], bool), passage["id"]


@pytest.mark.parametrize("split", SPLITS)
def test_the_loader_reads_what_the_file_holds(sample: Sample, split: str) -> None:
    """`load_sample` gives every line of a split, in file order."""
    assert [record.id for record in load_sample(split)] == ids(sample[split])  # type: ignore[arg-type]  # a split's name as str


def test_there_are_enough_passages_and_questions(lines: list[Line]) -> None:
    """At least 150 texts and 120 questions."""
    assert len({normalize(passage["text"]) for passage in passages(lines)}) >= 150
    assert len(lines) >= 120


def test_question_ids_are_unique(lines: list[Line]) -> None:
    """No question id stands for two questions, in whichever split."""
    assert [name for name, count in Counter(ids(lines)).items() if count > 1] == []


def test_a_passage_id_stands_for_one_passage(lines: list[Line]) -> None:
    """The same id means the same text, title and date wherever it is used, and the same text has one id."""
    content: dict[str, tuple[str, str, str | None]] = {}
    name: dict[str, str] = {}
    for passage in passages(lines):
        seen = (passage["text"], passage["title"], passage.get("published"))
        assert content.setdefault(passage["id"], seen) == seen
        assert name.setdefault(normalize(passage["text"]), passage["id"]) == passage["id"]


def test_every_question_has_four_to_six_different_passages(lines: list[Line]) -> None:
    """A question comes with four to six passages, none of them twice, and at least one that does not support it."""
    for line in lines:
        assert 4 <= len({passage["id"] for passage in line["passages"]}) == len(line["passages"]) <= 6, line["id"]
        assert len(supporting(line)) < len(line["passages"]), line["id"]


def test_unanswerable_means_no_answers(lines: list[Line]) -> None:
    """Exactly the unanswerable questions lack answers and say `answerable` false; all others have supporting text."""
    for line in lines:
        unanswerable = line["type"] == "unanswerable"
        assert (not line["answers"]) == unanswerable, line["id"]
        assert (line.get("answerable", True) is False) == unanswerable, line["id"]
        assert supporting(line) or unanswerable, line["id"]


def test_an_answer_stands_in_a_supporting_passage(lines: list[Line]) -> None:
    """Unless the answer is yes or no, one accepted answer stands word for word (but for case) in a supporting text."""
    yes_no = {"yes", "no", "是", "否", "不是"}
    open_questions = [
        line for line in lines if line["answers"] and not yes_no & set(map(str.casefold, line["answers"]))
    ]
    missing = [
        line
        for line in open_questions
        if not any(a.casefold() in p["text"].casefold() for a in line["answers"] for p in supporting(line))
    ]
    assert ids(missing) == []


@pytest.mark.parametrize("kind", ["bridge", "comparison", "conflict"])
def test_questions_over_two_passages_have_two(lines: list[Line], kind: str) -> None:
    """Bridge, comparison and conflict questions have at least two supporting passages."""
    assert ids([line for line in lines if line["type"] == kind and len(supporting(line)) < 2]) == []


def test_every_side_of_a_conflict_is_an_answer(lines: list[Line]) -> None:
    """Each supporting passage of a conflict question holds an accepted answer, and no two hold quite the same ones."""
    for line in lines:
        if line["type"] == "conflict":
            texts = [passage["text"].casefold() for passage in supporting(line)]
            held = [frozenset(answer for answer in line["answers"] if answer.casefold() in text) for text in texts]
            assert all(held), line["id"]
            assert len(set(held)) == len(held), line["id"]


def test_temporal_questions_offer_the_value_of_another_time(lines: list[Line]) -> None:
    """A temporal question has passages of two days; a wrong value it names stands in one that is dated."""
    for line in lines:
        if line["type"] == "temporal":
            dated = [passage for passage in line["passages"] if passage.get("published")]
            assert len({passage["published"] for passage in dated}) >= 2, line["id"]
            assert all(passage in dated for passage in supporting(line)), line["id"]
            wrong = [answer.casefold() for answer in line.get("wrong_answers", [])]
            assert not wrong or any(answer in p["text"].casefold() for answer in wrong for p in dated), line["id"]


def test_wrong_answers_are_not_accepted(lines: list[Line]) -> None:
    """No value is both right and wrong for one question."""
    for line in lines:
        assert not set(map(normalize, line.get("wrong_answers", []))) & set(map(normalize, line["answers"])), line["id"]


def test_dates_are_dates_and_not_later_than_the_sample(lines: list[Line]) -> None:
    """Dates are ISO days up to the day of writing, and most passages have one."""
    dates = [line["as_of"] for line in lines if "as_of" in line]
    published = {passage["id"]: passage["published"] for passage in passages(lines) if passage.get("published")}
    for text in [*dates, *published.values()]:
        assert date.fromisoformat(text) <= LATEST
        assert len(text) == len("YYYY-MM-DD")
    assert len(published) >= 0.5 * len({passage["id"] for passage in passages(lines)})


def test_no_question_is_in_two_splits(sample: Sample) -> None:
    """No question, however it is punctuated, nor one with nearly the same words is in two splits."""
    words = {split: [(line["id"], set(tokenize(line["question"]))) for line in sample[split]] for split in SPLITS}
    close = [
        (one, other)
        for a, b in combinations(SPLITS, 2)
        for one, left in words[a]
        for other, right in words[b]
        if len(left & right) >= 0.8 * len(left | right)
    ]
    assert close == []


def test_test_evidence_is_mostly_unseen_in_training(sample: Sample) -> None:
    """At most a quarter of the passages that support a test question also support a training question."""
    found = {split: {passage["id"] for line in sample[split] for passage in supporting(line)} for split in SPLITS}
    assert len(found["test"] & found["train"]) <= 0.25 * len(found["test"])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_both_languages_have_their_share(lines: list[Line], language: str) -> None:
    """Each language has at least 40 % of the questions, written in it, with passages in it."""
    own = [line for line in lines if line["lang"] == language]
    assert len(own) >= 0.4 * len(lines)
    assert ids([line for line in own if language_of(line["question"]) != language]) == []
    assert {language_of(passage["text"]) for passage in passages(own)} == {language}


@pytest.mark.parametrize("split", SPLITS)
def test_every_split_has_every_type_in_both_languages(sample: Sample, split: str) -> None:
    """Each of the six types occurs in each split in English and in Chinese, and no other type does."""
    for language in ("en", "zh"):
        assert {line["type"] for line in sample[split] if line["lang"] == language} == TYPES
