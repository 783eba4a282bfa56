"""`reflective-rag report`: one page from rows, comparisons, sweeps and MLflow runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments.report.examples import verdict_of, worst
from reflective_rag.experiments.report.sources import Run
from reflective_rag.experiments.report.words import WORDS
from reflective_rag.experiments.rows import read_rows
from reflective_rag.optimizers.evaluation import Row
from tests.experiments.helpers import records, run, run_json, write_jsonl
from tests.experiments.pages import Page, opened, title_of

HOSTILE = (
    "</bdi></script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\x07\u202e"
)
PROBE = """<script>document.title = JSON.stringify({
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  page: getComputedStyle(document.body).backgroundColor, loaded: performance.getEntriesByType('resource').length,
  rounds: document.querySelectorAll('.rounds > li').length, plots: document.querySelectorAll('svg').length,
  label: getComputedStyle(document.querySelector('svg text')).fill })</script></body>"""


@pytest.fixture
def data(workplace: Path) -> Path:
    """The facts as labelled questions; passages, a title and a question hold markup."""
    lines = records()
    for line in lines:
        line["passages"][0]["text"] += f" {HOSTILE}"
        line["passages"][0]["title"] += " <b>&amp;"
    lines[0]["question"] = f"{lines[0]['question']} {HOSTILE}"
    return write_jsonl(workplace / "data.jsonl", lines)


def report(*arguments: str | Path) -> Page:
    """The page that the command writes, parsed."""
    done = run("report", *arguments, "--out", "page.html")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.strip() == "page.html"
    return Page(Path("page.html").read_text(encoding="utf-8"))


def test_rows_become_a_page_that_is_whole_in_itself(data: Path) -> None:
    """Settings, tables, plots and every question with its rounds; nothing is loaded, and no text becomes markup.

    Ids are unique, and the same rows give the same page.
    """
    assert run("evaluate", "--program", "reflective", "--data", data, "--rows", "rows.jsonl").exit_code == 0
    page = report("rows.jsonl")
    first = Path("page.html").read_bytes()
    assert page.tags.count("article") == 6
    assert page.tags.count("svg") == 2
    assert not {"script", "img", "link", "iframe"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    links = [*page.values("src"), *page.values("href"), *page.values("xlink:href")]
    assert all(link.startswith("#") for link in links)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in links} <= set(ids)
    for part in ("reflective", "citation precision", "claims checked by", "decision: ", "evidence 1.00", "<b>&amp;"):
        assert part in page.text, part
    assert "<script>document.title='owned'</script>" in page.text
    assert "\x07" not in page.text
    told = run_json("report", "rows.jsonl", "--out", "page.html")
    assert told == {"file": "page.html", "sources": [{"name": "rows.jsonl", "kind": "rows", "rows": 6}]}
    assert Path("page.html").read_bytes() == first


def test_a_browser_shows_it_on_a_phone_light_and_dark_and_runs_nothing(data: Path, tmp_path: Path) -> None:
    """In Chromium at 400 pixels nothing sticks out, and colours follow the reader's scheme.

    Nothing is loaded, and markup in passages stays text, also without the policy that forbids scripts.
    """
    assert run("evaluate", "--program", "reflective", "--data", data, "--rows", "rows.jsonl").exit_code == 0
    report("rows.jsonl")
    source = Path("page.html").read_text(encoding="utf-8")
    open_page = source.replace("Content-Security-Policy", "x-none")
    assert open_page != source
    unprotected, probe = tmp_path / "unprotected.html", tmp_path / "probe.html"
    unprotected.write_text(open_page, encoding="utf-8")
    probe.write_text(open_page.replace("</body>", PROBE), encoding="utf-8")
    assert title_of(opened(unprotected, tmp_path)) == "ReflectiveRAG: Report"
    light = json.loads(title_of(opened(probe, tmp_path)))
    dark = json.loads(title_of(opened(probe, tmp_path, dark=True)))
    assert (light["wide"], light["loaded"], light["plots"]) == (0, 0, 2)
    assert light["rounds"] >= 6
    assert (light["page"], dark["page"]) == ("rgb(255, 255, 255)", "rgb(21, 23, 26)")
    assert (light["label"], dark["label"]) == ("rgb(28, 30, 33)", "rgb(231, 233, 236)")


def test_rows_over_the_same_questions_stand_side_by_side(data: Path) -> None:
    """Two programs give one section with paired differences; other questions give a section of their own."""
    for name in ("naive", "reflective"):
        assert run("evaluate", "--program", name, "--data", data, "--rows", f"{name}.jsonl").exit_code == 0
    assert run("evaluate", "--program", "naive", "--data", data, "--limit", "2", "--rows", "few.jsonl").exit_code == 0
    page = report("naive.jsonl", "reflective.jsonl", "few.jsonl")
    assert page.tags.count("section") == 2
    assert "Difference to naive, on the same questions" in page.text
    assert page.tags.count("article") == 8


def test_a_comparison_s_folder(data: Path) -> None:
    """`compare --out` keeps the rows of every system, a second run in place of the first.

    The page shows all systems under each question, and its tables are those that were printed.
    """
    for _ in range(2):
        document = run_json("compare", "naive", "reflective", "react", "--data", data, "--out", "cmp")
    assert sorted(path.name for path in Path("cmp/rows").iterdir()) == ["naive.jsonl", "reflective.jsonl"]
    assert len(read_rows(Path("cmp/rows/naive.jsonl")).cells[""]) == 6
    page = report("cmp", "--examples", "3")
    assert page.tags.count("article") == 3
    assert f"{document['systems'][1]['recall']['mean']:.3f}" in page.text
    assert "`react` is n/a on rules" in page.text
    assert "Selective answering" in page.text


def test_a_comparison_on_several_data_sets(data: Path) -> None:
    """A system that loses on one data set is named with it; the report has a section for all and one for each."""
    few = write_jsonl(Path("few.jsonl"), records(0, 3))
    document = run_json("compare", "naive", "reflective", "--data", data, "--data", few, "--out", "cmp")
    assert [each["data"] for each in document["comparisons"]] == [str(data), str(few)]
    rows = {row["figure"]: row for row in document["over_data"]}
    assert rows["f1"]["better"] + rows["f1"]["unclear"] + rows["f1"]["worse"] == 2
    assert rows["f1"]["worst"]["data"] in (str(data), str(few))
    page = report("cmp")
    assert page.tags.count("section") == 3
    assert "Against naive, data sets counted" in page.text
    assert page.tags.count("article") == 9


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_noise_sweep_s_folder(data: Path, lang: str) -> None:
    """A table and a plot for each data set and kind, and questions of several conditions, in either language."""
    write_jsonl(Path("plain.jsonl"), records())
    sweep = ["sweep", "noise", "--data", "plain.jsonl", "--rates", "0,1", "--kinds", "unrelated"]
    assert run(*sweep, "--programs", "naive,reflective", "--out", "noise").exit_code == 0
    page = report("noise", "--lang", lang, "--examples", "6")
    title, figure, condition = {
        "en": ("Noise sweep", "hallucination rate", "condition unrelated 1"),
        "zh": ("噪声扫描", "幻觉率", "条件 unrelated 1"),
    }[lang]
    for part in (title, figure, condition):
        assert part in page.text
    assert (page.tags.count("svg"), page.tags.count("article")) == (1, 6)
    assert page.values("lang") == ["zh-CN" if lang == "zh" else "en"]


def test_a_threshold_sweep_s_folder(data: Path) -> None:
    """A table of θ and its plot; without rows it says that there are no questions to show."""
    assert run("sweep", "threshold", "--data", data, "--thetas", "0,1", "--out", "theta").exit_code == 0
    page = report("theta")
    assert "rounds ≤" in page.text
    assert "no questions can be shown" in page.text
    assert page.tags.count("svg") == 1


def test_the_page_speaks_the_language_of_most_questions(workplace: Path) -> None:
    """Chinese questions give a Chinese page, stop reasons and warnings included."""
    chinese = [line for line in records() if "鲁迅" in line["question"]]
    write_jsonl(workplace / "zh.jsonl", chinese)
    assert run("evaluate", "--data", "zh.jsonl", "--rows", "rows.jsonl").exit_code == 0
    page = report("rows.jsonl")
    for part in ("评测", "证据评分", "停止原因", "所读段落", "论断核对者"):
        assert part in page.text


def test_an_mlflow_run(data: Path, uri: str) -> None:
    """The run of a comparison gives its systems with their rows, that of a sweep its tables; both by their id."""
    tracking = ["--tracking", uri, "--experiment", "report"]
    compared = run_json("compare", "naive", "reflective", "--data", data, *tracking)
    page = report(compared["run_id"], "--tracking", uri)
    assert page.tags.count("article") == 6
    assert "decision: " in page.text
    swept = run_json("sweep", "threshold", "--data", data, "--thetas", "0,1", *tracking)
    assert "Threshold sweep" in report(swept["run_id"], "--tracking", uri).text
    gone = run("report", "0" * 32, "--tracking", uri)
    assert (gone.exit_code, "there is no run" in gone.stderr) == (2, True)


def row(number: int, **known: Any) -> Row:
    """A row of one question."""
    about: dict[str, Any] = {"record_id": f"q{number}", "question": "?", "answer": "Paris", "answers": ("Paris",)}
    return Row(**{**about, **known})


def test_the_worst_come_first() -> None:
    """A crash, then the answer that was wrong and sure, then wrong and unsure, silence, and what is right last."""
    rows = [
        row(0, f1=1.0),
        row(1, answer="", abstained=True),
        row(2, confidence=0.2),
        row(3, confidence=0.9),
        row(4, error="OSError: gone"),
    ]
    found = worst([Run(system="naive", rows=rows)], 4)
    assert [(e.row.record_id, e.answers[0].verdict) for e in found] == [
        ("q4", "failed"), ("q3", "wrong"), ("q2", "wrong"), ("q1", "silent"),
    ]  # fmt: skip
    assert verdict_of(row(5, f1=0.2, score=1.0), "groups") == "right"


def test_every_condition_is_among_the_examples() -> None:
    """The questions are taken from each condition in turn, so that the hardest does not fill the page."""
    runs = [Run(system="naive", rows=[row(n) for n in range(9)], cell=f"unrelated {rate}") for rate in (0, 0.5, 1)]
    assert {example.cell for example in worst(runs, 6)} == {"unrelated 0", "unrelated 0.5", "unrelated 1"}


def test_rows_of_an_earlier_version_are_read(workplace: Path) -> None:
    """Rows without a trace, a citation score or words about the run still give a page, which says what is missing."""
    old = {"kind": "row", "record_id": "q0", "question": "Who?", "answer": "Ada", "answers": ["Ada"], "f1": 1.0}
    write_jsonl(workplace / "old.jsonl", [{"kind": "header", "program": "naive", "lm": "rules", "metric": None}, old])
    page = report("old.jsonl")
    assert "Rows of an earlier version" in page.text
    assert "naive (rules)" in page.text


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (None, "is no file, no folder and no id of an MLflow run"),
        ("", "is no file of rows"),
        ('{"question": "?"}\n', "is no file of rows"),
        ('{"kind": "header", "program": "naive"}\n', "holds no rows yet"),
        ('{"kind": "header"}\n{"kind": "row", "record_id": 1}\n{}\n', "is no row of this version"),
    ],
    ids=["missing", "empty", "records", "no rows", "bad row"],
)
def test_what_cannot_be_reported_on(workplace: Path, make: str | None, part: str) -> None:
    """One clear error that says what to give, and no page."""
    if make is not None:
        (workplace / "rows.jsonl").write_text(make, encoding="utf-8")
    done = run("report", "rows.jsonl", "--out", "page.html")
    assert (done.exit_code, part in done.stderr) == (2, True), done.stderr
    assert not Path("page.html").exists()


def test_a_folder_that_is_none_of_ours(workplace: Path) -> None:
    """A folder without a report, or with another one, is refused; so is an output that cannot be written."""
    Path("other").mkdir()
    assert "has no `report.json`" in run("report", "other").stderr
    Path("other/report.json").write_text("{}", encoding="utf-8")
    assert "is neither of `compare` nor of `sweep`" in run("report", "other").stderr
    Path("other/report.json").write_text("{", encoding="utf-8")
    assert "cannot be read" in run("report", "other").stderr


def test_an_output_that_cannot_be_written(data: Path) -> None:
    """The error names the file; a folder in its place is left alone."""
    assert run("evaluate", "--program", "naive", "--data", data, "--rows", "rows.jsonl").exit_code == 0
    Path("page").mkdir()
    done = run("report", "rows.jsonl", "--out", "page")
    assert (done.exit_code, "`--out page` cannot be written" in done.stderr) == (2, True)
    assert list(Path().glob(".page*")) == []


def test_every_word_is_there_in_both_languages() -> None:
    """No label is missing or the same gap left out in one language."""
    for key, words in WORDS.items():
        assert set(words) == {"en", "zh"}, key
        assert words["en"].count("{}") == words["zh"].count("{}"), key
