"""The README tells the truth: its first code block runs as written, and its commands have the options it uses."""

import re
import shlex
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from reflective_rag.experiments.cli import app
from tests.fakes import asks_for, chat_reply, fake_lm

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = re.findall(r"^reflective-rag .*$", TEXT, re.MULTILINE)


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


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_in_the_readme_exists_with_its_options(line: str) -> None:
    """Each `reflective-rag` line names a command, and only options that its `--help` lists."""
    _, name, *words = shlex.split(line, comments=True)
    done = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    for option in (word for word in words if word.startswith("--")):
        assert option in done.output, f"{name} has no {option}"
