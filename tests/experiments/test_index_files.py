"""From a folder of documents to an answer that cites the place."""

import json
from pathlib import Path

import pytest

from tests.data.files.documents import write_folder
from tests.experiments.helpers import run, run_json


@pytest.mark.parametrize(
    ("question", "answer", "source", "place"),
    [
        ("How many days of paid leave does a worker of Northwind have?", "25", "docs/hr/leave.md", "› Annual leave"),
        ("What is the fee of an electric car?", "30 euros", "docs/garage.docx", "› Parking › Fees"),
        ("出差结束后多少天内提交报销单？", "三十天", "docs/报销制度.html", "› 报销期限"),
        ("How many kilograms does the pump P-200 weigh?", "41", "docs/manual.pdf", "manual.pdf, page 1"),
        ("水泵P-200的最高工作温度是多少摄氏度？", "80", "docs/manual.pdf", "manual.pdf，第 3 页"),
        ("How many places has the garage of Northwind?", "120", "docs/garage.docx", "› Parking"),
        ("本季度的销售额是多少？", "三千万元", "docs/季度.pptx", "季度.pptx，第 1 页"),
    ],
    ids=["markdown", "table", "html zh", "pdf", "pdf zh", "docx", "pptx zh"],
)
def test_a_citation_names_the_file_and_the_place_in_it(
    folder: Path, question: str, answer: str, source: str, place: str
) -> None:
    """On rules, in both languages: heading or page, as the kind has them."""
    done = run("ask", question, "--corpus", "local:idx")
    assert done.exit_code == 0, done.stderr
    assert answer in done.stdout.split("\n")[0]
    cited = next(line for line in done.stdout.split("\n") if line.lstrip().startswith("[1]"))
    assert source in cited
    assert place in cited


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of documents, and its index beside it."""
    place = tmp_path_factory.mktemp("files")
    write_folder(place / "docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("RRAG_EMBEDDER", "none")
        done = run("index", "docs", "--to", "local:idx")
        assert done.exit_code == 0, done.stderr
    return place


@pytest.fixture
def folder(indexed: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The index as `local:idx` of the current folder."""
    monkeypatch.chdir(indexed)
    return indexed


def test_the_report_says_what_was_done_and_what_was_not(workplace: Path) -> None:
    """The same in JSON and for people; what was skipped has its reason."""
    docs = write_folder(workplace / "docs")
    (docs / "picture.png").write_bytes(b"\x89PNG")
    document = run_json("index", "docs", "--to", "local:idx")
    assert document["files"] == {"read": 6, "unchanged": 0, "removed": 0}
    assert document["skipped"] == [
        {"reason": "is of an unknown kind (`.png`)", "count": 1, "places": ["docs/picture.png"]}
    ]
    assert document["count"] == document["passages"] == document["added"]
    (docs / "canteen.txt").unlink()
    again = run("index", "docs", "--to", "local:idx")
    assert "0 passage(s) added or changed" in again.stdout
    assert "1 removed" in again.stdout
    assert "unknown kind" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scan.pdf"], "'scan.pdf' holds no passages at all"),
        (["empty"], "holds no document that can be read"),
        (["pictures"], "skipped 1: is of an unknown kind"),
        (["scan.pdf"], "is a PDF without text"),
        (["a.zip"], "is an archive; unpack it"),
        (["datasets:"], "names no data set"),
    ],
)
def test_nothing_to_index_is_one_error(workplace: Path, arguments: list[str], message: str) -> None:
    """With the reasons; no index is left behind."""
    from tests.data.files.documents import pdf_bytes

    for name in ("empty", "pictures"):
        Path(name).mkdir()
    for name, data in (("pictures/a.png", b"x"), ("scan.pdf", pdf_bytes()), ("a.zip", b"PK")):
        Path(name).write_bytes(data)
    done = run("index", *arguments, "--to", "local:idx")
    assert done.exit_code == 2
    assert message in done.stderr
    assert not Path("idx").exists()


def test_tables_and_data_sets_are_indexed(workplace: Path) -> None:
    """A CSV and a data set, asked together."""
    Path("rivers.csv").write_text("id,text\n1,The Rhine is 1230 kilometres long.\n2,\n")
    Path("set").mkdir()
    Path("set/train.jsonl").write_text(json.dumps({"content": "长江全长6300公里。"}) + "\n")
    document = run_json("index", "rivers.csv", "datasets:./set", "--to", "local:idx")
    assert (document["added"], document["skipped"][0]["reason"]) == (2, "has no text")
    assert "6300" in run_json("ask", "长江全长多少公里？", "--corpus", "local:idx")["answer"]


def test_a_folder_as_a_corpus_is_told_to_be_indexed(workplace: Path) -> None:
    """The message has the command."""
    Path("docs").mkdir()
    done = run("ask", "Where?", "--corpus", "docs")
    assert done.exit_code == 2
    assert "index it first: `reflective-rag index docs --to local:my-index`" in done.stderr


@pytest.mark.parametrize("name", ["faq.csv", "one.txt"])
def test_a_document_as_a_corpus_is_told_to_be_indexed(workplace: Path, name: str) -> None:
    """One hint, not an error for every line that is no JSON; in the question's language."""
    (workplace / name).write_text("id,text\n1,Giotto was born in 1267.\n", encoding="utf-8")
    done = run("ask", "Who was born?", "--corpus", name)
    told = " ".join(done.stderr.split())
    assert done.exit_code == 2
    assert f"index it first: `reflective-rag index {name} --to local:my-index`" in told
    assert "JSON (" not in told
    assert "请先建立索引" in run("ask", "谁出生了？", "--corpus", name).stderr


def test_an_address_without_its_kind_is_a_slip(workplace: Path) -> None:
    """A path alone is taken for the `local:` that was forgotten."""
    (workplace / "one.txt").write_text("Giotto was born in 1267.", encoding="utf-8")
    done = run("index", "one.txt", "--to", "my-index")
    assert done.exit_code == 2
    assert "did you mean `local:my-index`" in " ".join(done.stderr.split())


def test_renamed_ids_are_told(workplace: Path) -> None:
    """Two texts under one id are both kept, and people are told how."""
    (workplace / "dup.csv").write_text("id,text\n1,Giotto painted.\n1,Dante wrote.\n", encoding="utf-8")
    done = run("index", "dup.csv", "--to", "local:idx", "--embedder", "none")
    assert done.exit_code == 0
    assert "renamed 1: an id that stands for another text" in done.stderr


def test_ask_searches_only_what_a_filter_matches(workplace: Path) -> None:
    """Values of one key are alternatives; a key that no passage has names those that there are."""
    lines = "".join(
        f"{n},{place},Giotto was born in {place}.\n" for n, place in enumerate(("Florence", "Siena", "Pisa"))
    )
    (workplace / "born.csv").write_text(f"id,town,text\n{lines}", encoding="utf-8")
    assert run("index", "born.csv", "--to", "local:idx", "--embedder", "none").exit_code == 0
    asked = ("ask", "Where was Giotto born?", "--corpus", "local:idx", "--filter")
    assert {p["id"] for p in run_json(*asked, "town=Siena")["passages"]} == {"1"}
    assert {p["id"] for p in run_json(*asked, "town=Siena", "--filter", "town=Pisa")["passages"]} <= {"1", "2"}
    wrong = run(*asked, "city=Siena")
    assert wrong.exit_code == 2
    assert "no passage has 'city' to filter by; there are `id`, `source`, `published`, `town`" in " ".join(
        wrong.stderr.split()
    )
    assert "expects `KEY=VALUE`" in run(*asked, "town").stderr


def test_the_date_of_a_file_is_marked(workplace: Path) -> None:
    """Every copy changes it, so it is not shown as the date of the text."""
    (workplace / "one.txt").write_text("Giotto was born in 1267.", encoding="utf-8")
    assert run("index", "one.txt", "--to", "local:idx", "--embedder", "none").exit_code == 0
    assert "(file date)" in run("ask", "When was Giotto born?", "--corpus", "local:idx").stdout
