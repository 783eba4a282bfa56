"""The README tells the truth: its first code block runs as written, and its commands have the options it uses."""

import re
import shlex
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from reflective_rag.experiments.cli import app
from reflective_rag.programs import PROGRAMS
from reflective_rag.programs.verdicts import BACKENDS
from tests.fakes import asks_for, chat_reply, fake_lm

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
CHINESE = README.with_suffix(".zh.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
WRAPPED = [block for block in BLOCKS if "ReflectiveWrapper(" in block]
COMMANDS = list(dict.fromkeys(re.findall(r"^reflective-rag .*$", f"{TEXT}\n{CHINESE}", re.MULTILINE)))
_ALL_CHINESE = re.findall(r"```python\n(.*?)```", CHINESE, re.DOTALL)
INDEXED = [block for block in [*BLOCKS, *_ALL_CHINESE] if re.search(r"open_retriever\([^)]*my-index", block)]
FILLED = [block for block in BLOCKS if "create=True" in block]
CHINESE_BLOCKS = [block for block in _ALL_CHINESE if block not in INDEXED]


def _reply(request: Any) -> str:
    """A model that knows Giotto, and answers whatever else an optimizer asks with one sentence."""
    if asks_for(request, "needs"):
        return chat_reply(
            needs=[{"need": "the painter", "passages": [1]}],
            relevant=[1],
            contradictions=[],
            outdated=[],
            gaps=[],
            sufficient="yes",
        )
    if asks_for(request, "answer"):
        return chat_reply(answer="Giotto", cited=[1])
    fields = ("observations", "summary", "program_description", "module_description", "proposed_instruction")
    return chat_reply(**{name: "Use the passages." for name in fields if asks_for(request, name)})


def test_the_first_code_block_is_stock_dspy_and_runs_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """MIPROv2 compiles ReflectiveRAG, `.save` and `.load` work, and the loaded program answers with a citation."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dspy, "LM", lambda *args, **kwargs: fake_lm(_reply))
    names: dict[str, Any] = {}
    exec(compile(BLOCKS[0], "README.md", "exec"), names)
    capsys.readouterr()
    assert (tmp_path / "rag.json").is_file()
    assert names["result"].answer == "Giotto"
    assert names["result"].citations[0].quote in names["PASSAGES"][0]["text"]
    assert names["result"].stop_reason == "sufficient"


def _chinese_reply(request: Any) -> str:
    """As `_reply`, of the painter's year."""
    return chat_reply(answer="1267", cited=[1]) if not asks_for(request, "needs") else _reply(request)


def test_the_chinese_code_blocks_run_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other: the first answers with a citation, the second compiles and saves."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dspy, "LM", lambda *args, **kwargs: fake_lm(_chinese_reply))
    names: dict[str, Any] = {}
    for block in CHINESE_BLOCKS:
        exec(compile(block, "README.zh.md", "exec"), names)
    capsys.readouterr()
    assert (names["result"].answer, names["result"].citations[0].passage_id) == ("1267", "1")
    assert (tmp_path / "rag.json").is_file()


def test_each_readme_names_the_other_and_the_same_exit_codes() -> None:
    """A reader of either finds the other language, and what a script may rely on."""
    assert "(README.zh.md)" in TEXT[:200]
    assert "(README.md)" in CHINESE[:200]
    for code in ("0", "1", "2", "130", "141"):
        assert re.search(rf"^\| {code} \|", CHINESE, re.MULTILINE)
        assert re.search(rf"[:;]\s{code} ", TEXT)


@pytest.mark.parametrize("block", WRAPPED, ids=["plain", "langchain", "llama_index", "haystack"])
def test_each_wrapper_example_runs_as_written(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is the generator's, cited in what the retriever brought. Skips where the library is not installed."""
    if library := re.search(r"^from (langchain_core|llama_index\.core|haystack)\b", block, re.MULTILINE):
        pytest.importorskip(library[1], reason=f"needs `{library[1]}`: install the dependency group `frameworks`")
    names: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), names)
    capsys.readouterr()
    assert names["result"].answer == "in about 1267"
    assert [citation.quote for citation in names["result"].citations] == ["Giotto was born in about 1267."]


@pytest.mark.parametrize("block", INDEXED, ids=["en", "zh"])
def test_the_example_over_an_index_runs_as_written(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program answers from an index of the reader's own, cites a window, and a filter finds chunks of a page."""
    from tests.data.files.documents import write_pdf

    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    lines = ("Every worker has 25 days of paid leave a year.", "员工每年有25天年假。")
    write_pdf(tmp_path / "docs" / "leave.pdf", [("", ("Leave.",)), ("", lines)], bookmarks=False)
    done = CliRunner().invoke(app, ["index", "docs", "--to", "local:my-index", "--embedder", "none"])
    assert done.exit_code == 0, done.stderr
    names: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), names)
    assert [passage.id for passage in names["found"]] == ["docs/leave.pdf#1"]
    assert {citation.passage_id for citation in names["result"].citations} == {"docs/leave.pdf@0"}


@pytest.mark.parametrize("block", FILLED, ids=["filled in Python"])
def test_the_example_that_fills_an_index_runs_as_written(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two passages are added, one is deleted, and the other is found."""
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("1 [Passage(id='pump'")


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_in_the_readme_exists_with_its_options(line: str) -> None:
    """Each `reflective-rag` line names a command, and only options that its `--help` lists."""
    _, name, *words = shlex.split(line, comments=True)
    done = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    for option in (word for word in words if word.startswith("--")):
        assert option in done.output, f"{name} has no {option}"


def test_the_table_of_back_ends_is_what_the_settings_take() -> None:
    """Each judgement's row says `–` exactly for the back ends that are refused for it."""
    rows = {
        name: cells for name, *cells in re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \| ", TEXT, re.MULTILINE)
    }
    for name, backends in BACKENDS.items():
        shown = {backend for backend, cell in zip(("lm", "rules", "models"), rows[name], strict=True) if cell != "–"}
        assert shown == set(backends), name


def test_the_table_of_programs_is_the_registry() -> None:
    """Every program that the command line knows is listed, by the class that it is."""
    listed = dict(re.findall(r"^\| `([\w-]+)` \| `(\w+)` \| ", TEXT, re.MULTILINE))
    assert listed == {name: program.__name__ for name, program in PROGRAMS.items()}
