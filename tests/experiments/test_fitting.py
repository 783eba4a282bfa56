"""What a terminal of 80 columns shows: no line is wider, no word and no number is broken, nothing is left out."""

import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from reflective_rag.experiments.commands import COMMANDS
from reflective_rag.experiments.fitting import fits, fitted, folded
from reflective_rag.signatures.installing import install_hint
from tests.experiments.helpers import run

NAMES = [name for names in COMMANDS.values() for name in names]
ARTEFACT = Path(__file__).resolve().parents[2] / "experiments" / "artefacts" / "sample-mipro"
INTERVAL = "0.420 [0.310, 0.530]"


def table(*columns: tuple[str, ...]) -> Table:
    """A table of headers with their cells below."""
    made = Table(title="a title")
    for header, *_ in columns:
        made.add_column(header)
    for row in zip(*(cells for _, *cells in columns), strict=True):
        made.add_row(*row)
    return made


def printed(made: Table, width: int) -> tuple[str, list[str]]:
    """The fitted tables as text, and the footnotes."""
    parts, notes = fitted(made, width)
    console = Console(width=width, soft_wrap=True)
    with console.capture() as kept:
        for part in parts:
            console.print(part)
    return kept.get(), notes


SYSTEMS = [(f"system {number}", INTERVAL, "sufficient 3, no_new_passages 18") for number in range(6)]
LABEL = ("", "F1", "stopped")


@pytest.mark.parametrize("columns", range(1, 7), ids=str)
def test_a_table_of_systems_fits(columns: int) -> None:
    """However many: intervals stand under their means, reasons one a line, and the labels stand in each part."""
    text, _ = printed(table(LABEL, *SYSTEMS[:columns]), 80)
    assert max(map(cell_len, text.splitlines())) <= 80
    assert text.count("no_new_passages 18") == columns
    assert len(re.findall(r"\[(0?\.310),.(0?\.530)\]", text)) == columns
    assert text.count("stopped") == (1 if columns <= 3 else 2 if columns <= 6 else 3)


def test_a_wide_terminal_shows_the_full_form() -> None:
    """Nothing changes where there is room."""
    assert fits(table(LABEL, *SYSTEMS), 300)
    text, _ = printed(table(LABEL, *SYSTEMS[:2]), 300)
    assert text.count(INTERVAL) == 2
    assert text.count("sufficient 3, no_new_passages 18") == 2


def test_a_long_name_is_cut_in_the_middle_and_told_below() -> None:
    """Beginning and end stay, which is where names of models differ."""
    name = "openrouter/some-laboratory/some-model-with-a-long-name-72b-instruct-2026-10-01"
    text, notes = printed(table(("model", name), ("F1", INTERVAL), ("tokens", "1,000")), 60)
    assert max(map(cell_len, text.splitlines())) <= 60
    cut = notes[0].split()[0]
    assert notes == [f"{cut}  {name}"]
    assert cut in text
    assert (cut[:5], cut[-5:]) == (name[:5], name[-5:])


def test_chinese_is_two_cells_wide() -> None:
    """A cell of Chinese wraps anywhere, and still fits."""
    text, _ = printed(table(("问题", "设计悉尼歌剧院的建筑师在哪一年获得普利兹克奖" * 2), ("F1", INTERVAL)), 50)
    assert max(map(cell_len, text.splitlines())) <= 50
    assert text.count("奖") == 2


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("word " * 4 + "end", "word word word word\nend", id="words"),
        pytest.param("label   one two three four", "label   one two\n        three four", id="label"),
        pytest.param("see https://example.org/a/long/path", "see https://example.org/a/long/path", id="link"),
        pytest.param("设计悉尼歌剧院的建筑师", "设计悉尼歌剧院的建筑\n师", id="chinese"),
    ],
)
def test_texts_wrap_between_words(line: str, expected: str) -> None:
    """Under what follows their label; a link stays whole, so that it can be copied."""
    assert folded(line, 20) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("data", "list"), id="data list"),
        pytest.param(("data", "show", "hotpotqa"), id="data show"),
        pytest.param(("inspect", str(ARTEFACT)), id="inspect"),
        pytest.param(("compare", "naive", "reflective", "self-rag", "--limit", "4"), id="compare"),
        pytest.param(("evaluate", "--program", "reflective", "--limit", "4"), id="evaluate"),
        pytest.param(("diagnose", "--program", "naive", "--limit", "4"), id="diagnose"),
        pytest.param(("sweep", "threshold", "--thetas", "0.4,0.6", "--limit", "4"), id="sweep threshold"),
        pytest.param(("calibrate", "--limit", "12"), id="calibrate"),
        *(pytest.param((name, "--help"), id=f"{name} --help") for name in NAMES),
    ],
)
def test_no_line_is_wider_than_the_terminal(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """On 80 columns, whatever the command prints."""
    monkeypatch.setenv("COLUMNS", "80")
    if arguments[0] not in ("data", "inspect") and "--help" not in arguments:
        arguments += ("--data", "sample:dev", "--lm", "rules", "--embedder", "none")
        arguments += ("--tracking", "off") if arguments[0] not in ("evaluate", "diagnose") else ()
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(cell_len, lines)) <= 80, max(lines, key=cell_len)


def test_a_leaderboard_fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its many columns stand in two tables, each with the names of the runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    store = ("--tracking", "sqlite:///mlflow.db")
    asked = ("--data", "sample:dev", "--limit", "2", "--lm", "rules", "--embedder", "none")
    assert run("compare", "naive", "reflective", *asked, *store).exit_code == 0
    done = run("compare", "--experiment", "reflective-rag", *store)
    assert max(map(cell_len, done.stdout.splitlines())) <= 80
    assert "program" in done.stdout
    assert "searches" in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_examples_can_be_copied(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All set in by the same, one a line or with a backslash; no braces in the usage; extras keep their brackets."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(name, "--help").stdout
    usage, _, rest = shown.partition("\n \n" if "\n \n" in shown else "\n\n")
    assert "{" not in usage
    examples = [line for line in rest.splitlines() if re.match(r" +reflective-rag ", line)]
    assert all(re.match(r" {5}reflective-rag ", line) for line in examples)
    if re.search(r"extra `files`", shown):
        assert install_hint("files") in " ".join(shown.split())


def test_install_hints_work_where_they_are_read() -> None:
    """In a checkout the extra is that of the folder: the package is on no registry."""
    assert install_hint("local") == "pip install '.[local]'"
