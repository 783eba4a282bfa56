"""Records: what a line may hold, how a bad file is reported, and the pool of passages."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.data.records import (
    LabelledPassage,
    Record,
    load_corpus,
    load_records,
    load_sample,
    pool,
    record_fingerprint,
    sample_path,
    supporting_keys,
)
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Passage


def line(**changes: Any) -> dict[str, Any]:
    """A good line; a change to `...` leaves the key out."""
    good: dict[str, Any] = {
        "id": "q1",
        "question": "Where is the Louvre?",
        "answers": ["Paris"],
        "passages": [
            {"id": "p1", "title": "Louvre", "text": "The Louvre is in Paris.", "supporting": True},
            {"id": "p2", "title": "", "text": "Lyon lies on the Rhône.", "supporting": False},
        ],
    }
    return {key: value for key, value in (good | changes).items() if value is not ...}


def write(path: Path, *lines: dict[str, Any] | str) -> Path:
    """Write lines; a text is written as it stands."""
    text = "\n".join(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in lines)
    path.write_text(text + "\n", encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a test writes its file."""
    return tmp_path / "mini.jsonl"


def test_defaults_come_from_question_and_file_name(file: Path) -> None:
    """A line without `lang`, `dataset` and `type` gets the question's language, the file's stem and an empty type."""
    english, chinese = load_records(write(file, line(), line(id="q2", question="卢浮宫在哪里？", dataset=None)))
    assert (english.lang, english.dataset, english.type, english.answerable) == ("en", "mini", "", True)
    assert (chinese.lang, chinese.dataset) == ("zh", "mini")


def test_byte_order_mark_blank_lines_and_carriage_returns_are_tolerated(file: Path) -> None:
    """Files written by Windows programs load like any other."""
    file.write_bytes(
        b"\xef\xbb\xbf" + json.dumps(line()).encode() + b"\r\n\r\n   \r\n" + json.dumps(line(id="q2")).encode()
    )
    assert [record.id for record in load_records(file)] == ["q1", "q2"]


def test_unknown_keys_survive_a_round_trip(file: Path) -> None:
    """Keys the schema does not know, in records and passages, are kept and written out again unchanged."""
    passage = {"id": "p1", "text": "Soul won.", "supporting": True, "label": "positive", "evidence_group": 2}
    source = line(level="hard", decomposition=[{"question": "?", "answer": None}], extra=1, passages=[passage])
    (record,) = load_records(write(file, source))
    assert record.extra == {"level": "hard", "decomposition": [{"question": "?", "answer": None}], "extra": 1}
    assert record.passages[0].extra == {"label": "positive", "evidence_group": 2}
    assert load_records(write(file, record.model_dump(mode="json"))) == [record]


def test_labels_do_not_reach_the_passage() -> None:
    """What a program sees of a labelled passage holds its declared metadata but no label and no unknown key."""
    labelled = LabelledPassage.model_validate(
        {
            "id": "p",
            "text": "t",
            "supporting": True,
            "label": "counterfactual",
            "published": "2021-05-31",
            "metadata": {"lang": "en"},
        }
    )
    assert labelled.to_passage() == Passage(id="p", text="t", published=date(2021, 5, 31), metadata={"lang": "en"})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2021-05-31", date(2021, 5, 31)),
        ("2021-05-31T23:00:00Z", date(2021, 5, 31)),
        ("", None),
        (None, None),
    ],
    ids=["day", "moment", "empty", "null"],
)
def test_dates_are_iso_text(file: Path, value: str | None, expected: date | None) -> None:
    """`as_of` is an ISO day or moment; empty means unknown."""
    assert load_records(write(file, line(as_of=value)))[0].as_of == expected


BAD_LINES: dict[str, tuple[dict[str, Any] | str, str, str]] = {
    "not json": ("{'id': 1}", "", "not valid JSON (expecting property name enclosed in double quotes at character 2)"),
    "cut off": ('{"id": "q1", "question": "Wh', "", "not valid JSON (unterminated string starting at character 26)"),
    "nan": ('{"id": NaN}', "", "not valid JSON (NaN is not a JSON number)"),
    "deep nesting": ("[" * 100_000, "", "not valid JSON (nested too deeply)"),
    "huge integer": ('{"id": ' + "9" * 5000 + "}", "", "not valid JSON ("),
    "array": ("[1, 2]", "", "expected a JSON object, got [1, 2]"),
    "string": ('"text"', "", "expected a JSON object, got 'text'"),
    "null": ("null", "", "expected a JSON object, got None"),
    "no id": (line(id=...), "id", "missing"),
    "numeric id": (line(id=5), "id", "expected a valid string, got 5"),
    "empty question": (line(question=" \t"), "question", "not empty"),
    "no passages": (line(passages=...), "passages", "missing"),
    "null passages": (line(passages=None), "passages", "list, got None"),
    "passages as text": (line(passages=["The Louvre…"]), "passages[0]", "dictionary"),
    "passage without text": (line(passages=[{"id": "p"}]), "passages[0].text", "missing"),
    "passage with blank text": (line(passages=[{"id": "p", "text": "\n"}]), "passages[0].text", "not empty"),
    "passage id twice": (line(passages=[{"id": "p", "text": "a"}] * 2), "passages", "got 'p' twice"),
    "supporting is a word": (
        line(passages=[{"id": "p", "text": "a", "supporting": "maybe"}]),
        "passages[0].supporting",
        "maybe",
    ),
    "answers missing": (line(answers=...), "answers", "at least one answer"),
    "answers empty": (line(answers=[]), "answers", "at least one answer"),
    "answers as text": (line(answers="Paris"), "answers", "list, got 'Paris'"),
    "answer blank": (line(answers=["Paris", ""]), "answers[1]", "not empty"),
    "empty group": (line(answer_groups=[["Paris"], []]), "answer_groups", "empty group"),
    "unknown language": (line(lang="fr"), "lang", "'en' or 'zh', got 'fr'"),
    "year as number": (line(as_of=2021), "as_of", "ISO date such as '2021-05-31', got 2021"),
    "impossible day": (line(as_of="2021-02-30"), "as_of", "got '2021-02-30'"),
    "half a surrogate pair": ('{"id": "q1", "question": "hi \\uD83D"}', "question", "surrogate"),
    "surrogate in a passage": (
        json.dumps(line(passages=[{"id": "p", "text": "\udc00"}])),
        "passages[0].text",
        "surrogate",
    ),
    "surrogate in a key": ('{"\\ud83d": 1}', "", "surrogate"),
}


@pytest.mark.parametrize(("bad", "field", "said"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_bad_line_is_named_with_file_line_field_and_reason(
    file: Path, bad: dict[str, Any] | str, field: str, said: str
) -> None:
    """Every kind of bad line is one DataError: file, line, field (if it is one field), what was expected, what came."""
    with pytest.raises(DataError) as caught:
        load_records(write(file, line(id="good"), bad))
    message = str(caught.value)
    assert f"{file}:2: {field}: " in message if field else "line:" not in message
    assert said in message
    assert message.startswith("1 line(s) of")
    assert message.encode()  # the message itself must be printable


def test_whole_surrogate_pairs_are_text(file: Path) -> None:
    """An escaped pair of surrogates is one character and loads."""
    assert load_records(write(file, json.dumps(line(question="Who is 😀?"))))[0].question == "Who is 😀?"


def test_wrong_encoding_is_reported_by_line_and_byte(file: Path) -> None:
    """A GB 18030 file is a DataError that says UTF-8 was expected, not a UnicodeDecodeError."""
    file.write_bytes(json.dumps(line(question="卢浮宫在哪里？"), ensure_ascii=False).encode("gb18030"))
    with pytest.raises(DataError, match=r"mini\.jsonl:1: expected UTF-8, got byte 0x"):
        load_records(file)


def test_ten_bad_lines_are_listed_and_all_are_counted(file: Path) -> None:
    """Of many bad lines the first ten are shown, and the total is told."""
    with pytest.raises(DataError) as caught:
        load_records(write(file, *[line(id=f"q{n}", question="") for n in range(25)]))
    message = str(caught.value)
    assert message.startswith("25 line(s) of")
    assert message.count("question: ") == 10
    assert f"{file}:10:" in message
    assert f"{file}:11:" not in message


def test_several_faults_of_one_line_count_as_one_bad_line(file: Path) -> None:
    """A line with three faults names all three."""
    with pytest.raises(DataError, match=r"^1 line\(s\)[\s\S]*:1: id: .*; question: .*; type: .*, got 3\nCorrect"):
        load_records(write(file, line(id=1, question="", type=3)))


def test_all_missing_fields_are_named_at_once(file: Path) -> None:
    """Nobody should have to run four times to learn of four fields."""
    with pytest.raises(DataError) as caught:
        load_records(write(file, {"q": "Who?"}))
    for name in ("id", "question", "answers", "passages"):
        assert f"{name}: expected" in str(caught.value)


def test_of_very_many_faults_of_a_line_the_first_ten_are_named(file: Path) -> None:
    """The rest is counted."""
    with pytest.raises(DataError, match=r"\(and 20 more in this line\)") as caught:
        load_records(write(file, line(passages=[{"id": str(n)} for n in range(30)])))
    assert str(caught.value).count("the field is missing") == 10


def test_a_repeated_id_names_the_earlier_line(file: Path) -> None:
    """Two records with one id are an error that points at both lines."""
    with pytest.raises(DataError, match=r":3: id: .*'q1', which line 1 has already"):
        load_records(write(file, line(), line(id="q2"), line()))


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"], ids=["empty", "blank lines", "mark alone"])
def test_a_file_without_records_is_an_error(file: Path, content: bytes) -> None:
    """No records is never an empty result."""
    file.write_bytes(content)
    with pytest.raises(DataError, match="holds no records"):
        load_records(file)


def test_missing_files_and_folders_are_told_apart(tmp_path: Path) -> None:
    """A path that does not exist and a folder each get their own sentence."""
    with pytest.raises(DataError, match="does not exist"):
        load_records(tmp_path / "nothing.jsonl")
    with pytest.raises(DataError, match="is a folder"):
        load_records(str(tmp_path))


def test_answers_may_be_missing_only_where_the_question_is_unanswerable(file: Path) -> None:
    """`answerable: false` allows no answers, and the record says so, wherever the key stands in the line."""
    (record,) = load_records(write(file, line(answers=[]) | {"answerable": False}))
    assert (record.answers, record.answerable) == ((), False)


def test_limit_takes_the_first_and_stops_reading(file: Path) -> None:
    """With `limit` alone the lines behind the last wanted record are not even parsed."""
    write(file, line(id="a"), line(id="b"), "broken")
    assert [record.id for record in load_records(file, limit=2)] == ["a", "b"]


def test_a_seeded_limit_is_a_repeatable_sample_in_file_order(file: Path) -> None:
    """The same seed gives the same sample, in file order; other seeds (0 among them) give others."""
    write(file, *[line(id=f"{n:02}") for n in range(30)])
    samples = [[record.id for record in load_records(file, limit=5, seed=seed)] for seed in (0, 0, 1, 2)]
    assert samples[0] == samples[1] == sorted(samples[0])
    assert len(set(samples[0])) == 5
    assert len({tuple(sample) for sample in samples}) == 3
    assert len(load_records(file, limit=99, seed=0)) == 30


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(file: Path, limit: int) -> None:
    """Asking for no records is a mistake in the call, not in the file."""
    with pytest.raises(ConfigError, match="`limit` must be at least 1"):
        load_records(file, limit=limit)


def records() -> list[Record]:
    """Two records with the same two passages."""
    return [Record.model_validate(line()), Record.model_validate(line(id="q2", level="hard"))]


def test_the_fingerprint_follows_content_and_order() -> None:
    """Equal records in equal order agree; another order, an unknown key or a changed text does not."""
    one, two = records()
    base = record_fingerprint([one, two])
    assert base == record_fingerprint(records())
    assert len(base) == 16
    changed = [one, two.model_copy(update={"question": "Who?"})]
    without_key = [one, Record.model_validate(line(id="q2"))]
    assert (
        len({base, record_fingerprint([two, one]), record_fingerprint(changed), record_fingerprint(without_key)}) == 4
    )


def test_the_fingerprint_does_not_depend_on_the_order_of_keys() -> None:
    """The same line with its keys in another order has the same fingerprint."""
    shuffled = Record.model_validate(dict(reversed(line(b=1, a=2).items())))
    assert record_fingerprint([shuffled]) == record_fingerprint([Record.model_validate(line(a=2, b=1))])


def test_the_pool_holds_each_text_once_under_its_first_id() -> None:
    """Texts that differ only in case and punctuation are one passage, with the place and id of the first."""
    again = [Passage(id="other", text="the louvre is in paris"), Passage(id="p3", text="New text.")]
    assert [p.id for p in pool([*records(), again])] == ["p1", "p2", "p3"]


def test_two_texts_under_one_id_both_stay_in_the_pool() -> None:
    """Records that number their passages 0, 1, … do not overwrite each other's passages."""
    passages = pool([[Passage(id="0", text="first")], [Passage(id="0", text="second")]])
    assert [p.text for p in passages] == ["first", "second"]
    assert passages[0].id == "0"
    assert passages[1].id == f"0~{passages[1].key}"


def test_supporting_keys_are_the_keys_of_the_supporting_passages() -> None:
    """They match the key of the passage a retriever returns, whatever id it has there."""
    assert supporting_keys(records()[0]) == {Passage(id="elsewhere", text="the Louvre is in Paris").key}
    none = Record.model_validate(line(passages=[{"id": "p", "text": "a", "supporting": False}]))
    assert supporting_keys(none) == frozenset()


def test_a_corpus_may_mix_records_and_bare_passages(file: Path) -> None:
    """Each line is told apart by its keys; unknown keys of bare passages become metadata, labels of records do not."""
    bare = {"id": "b1", "text": "A bare text.", "published": "2020-01-02", "page": 3, "metadata": {"lang": "en"}}
    corpus = load_corpus(write(file, line(), bare, {"id": "b2", "text": "the LOUVRE is in Paris"}))
    assert [p.id for p in corpus] == ["p1", "p2", "b1"]
    assert corpus[2].metadata == {"lang": "en", "page": 3}
    assert corpus[2].published == date(2020, 1, 2)
    assert corpus[0].metadata == {}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"id": "b1", "text": "Another text."}, r":2: id: .*'b1', which line 1 has for another text"),
        ({"id": "b2"}, ":2: text: expected a value, but the field is missing"),
        ({"text": "no id"}, ":2: id: expected a value, but the field is missing"),
        ({"question": "Who?", "id": "q"}, ":2: answers: "),
    ],
    ids=["id twice", "no text", "no id", "half a record"],
)
def test_bad_corpus_lines_are_reported_like_bad_records(file: Path, bad: dict[str, Any], said: str) -> None:
    """A corpus file has the same one error, with file, line and field."""
    with pytest.raises(DataError, match=said):
        load_corpus(write(file, {"id": "b1", "text": "One text."}, bad))


def test_the_sample_has_three_splits() -> None:
    """`train`, `dev` and `test` lie beside the code; another name is refused with the list."""
    assert [sample_path(split).name for split in ("train", "dev", "test")] == ["train.jsonl", "dev.jsonl", "test.jsonl"]
    assert sample_path("dev").parent.name == "sample"
    with pytest.raises(ConfigError, match=r"'train', 'dev', 'test', got 'held-out'"):
        load_sample("held-out")  # type: ignore[arg-type]  # the wrong name is the point


def test_the_real_data_sets_load_and_round_trip(shared_data: Path) -> None:
    """Every line of the real subsets is a record; the JSON of a record holds all that its line held."""
    paths = sorted(path for path in shared_data.glob("*.jsonl") if "corpus" not in path.name)
    for path in paths:
        source = json.loads(path.read_text(encoding="utf-8").split("\n", 1)[0])
        dumped = load_records(path)[0].model_dump(mode="json")
        for before, after in zip(source.pop("passages"), dumped.pop("passages"), strict=True):
            assert before.items() <= after.items()
        assert {key: dumped[key] for key in source} == source
    assert len(paths) == 24
