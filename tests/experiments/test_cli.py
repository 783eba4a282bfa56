"""The command line as a whole: its table of contents, its exit codes, and what faults look like."""

import errno
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reflective_rag import __version__
from reflective_rag.experiments.commands import COMMANDS
from reflective_rag.signatures.errors import DataError
from tests.experiments.helpers import run, run_json

ROOT = Path(__file__).resolve().parents[2]
Process = subprocess.CompletedProcess[str]


def script(*arguments: str, code: str = "", cwd: Path) -> Process:
    """The command line in a process of its own, after `code` has run there."""
    program = (
        f"import sys; sys.argv[0] = 'reflective-rag'\n{code}\nfrom reflective_rag.experiments.cli import main; main()"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("arguments", [["data", "--help"], ["ask", "?", "--lm", "rules"], ["--debug", "compare", "x"]])
def test_a_command_in_this_process_leaves_its_logging_alone(
    arguments: list[str], workplace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Libraries are quiet while a command runs; warnings of the caller's own are heard afterwards, as before."""
    level = logging.getLogger("dspy").level
    run(*arguments)
    logging.getLogger("reflective_rag.data").warning("heard")
    assert "heard" in caplog.text
    assert logging.getLogger("dspy").level == level


def test_help_is_a_table_of_contents() -> None:
    """Every command stands in its panel, and each has a help of its own with an option --json."""
    shown = run("--help").stdout
    for panel, names in COMMANDS.items():
        assert panel in shown
        for name in names:
            assert name in shown
            assert "--json" in run(name, "--help").stdout


@pytest.mark.parametrize("name", ["", *(name for names in COMMANDS.values() for name in names)])
def test_flags_stand_alone_in_every_help(name: str) -> None:
    """No `<bool>` behind them, as if a value had to follow."""
    shown = run(*([name] if name else []), "--help").stdout
    assert "--help" in shown
    assert "bool" not in shown


def test_version() -> None:
    """`--version` prints name and version."""
    assert run("--version").stdout.strip() == f"reflective-rag {__version__}"


def test_help_imports_nothing_heavy(workplace: Path) -> None:
    """The list of commands comes without DSPy, MLflow or LanceDB."""
    code = (
        "import atexit; atexit.register(lambda: print([m for m in "
        "('dspy', 'mlflow', 'lancedb', 'numpy', 'litellm') if m in sys.modules]))"
    )
    done = script("--help", code=code, cwd=workplace)
    assert done.returncode == 0
    assert done.stdout.strip().endswith("[]")


@pytest.mark.parametrize(
    "arguments", [["frobnicate"], ["ask"], ["evaluate"], ["ask", "q?", "--frob"], ["ask", "q?", "--k", "0"]]
)
def test_usage_errors_end_with_2(arguments: list[str]) -> None:
    """Unknown commands and options, missing arguments and numbers out of range."""
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stderr


def test_a_fault_of_ours_is_one_line(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception ends with 1 and says how to see the traceback; --debug raises it."""

    def fault(*args: object, **kwargs: object) -> None:
        raise KeyError("first line\nsecond line")

    monkeypatch.setattr("reflective_rag.experiments.corpora.open_search", fault)
    done = run("ask", "q?")
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "KeyError" in done.stderr
    assert "--debug" in done.stderr
    assert isinstance(run("--debug", "ask", "q?").exception, KeyError)
    assert isinstance(run("ask", "q?", "--debug").exception, KeyError)
    assert run("ask", "--", "--debug").exit_code == 1


def test_markup_in_a_message_is_printed_as_it_is(workplace: Path) -> None:
    """A file name with brackets is not taken for a colour."""
    assert "`[red]x[/red].jsonl` does not exist" in run("ask", "q?", "--corpus", "[red]x[/red].jsonl").stderr


def test_interrupts_end_with_130(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is one line and the exit code that shells know."""

    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("reflective_rag.experiments.corpora.open_search", interrupted)
    done = run("ask", "q?")
    assert (done.exit_code, done.stderr) == (130, "error: interrupted\n")


def test_a_closed_pipe_is_quiet(workplace: Path) -> None:
    """`reflective-rag … | head` leaves no complaint."""
    code = "import os; r, w = os.pipe(); os.close(r); os.dup2(w, 1)"
    done = script("ask", "《百年孤独》的作者是谁？", "--json", code=code, cwd=workplace)
    assert done.returncode == 141
    assert done.stderr == ""
    for shown in (["ask", "q?"], ["doctor"], ["data", "list"]):  # what Rich prints
        assert script(*shown, code=code, cwd=workplace).returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], ["ask", "--help"], ["ask", "《百年孤独》的作者是谁？", "--json"]],
    ids=" ".join,
)
def test_a_full_disk_behind_stdout_is_one_line(workplace: Path, arguments: list[str]) -> None:
    """Whatever was to be printed."""
    code = "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)"
    done = script(*arguments, code=code, cwd=workplace)
    assert done.returncode == 2
    said = done.stderr.splitlines()[-1]
    assert said.startswith(("error: the output cannot be read or written: No space", "错误：无法写出结果：No space"))
    assert "Traceback" not in done.stderr


def test_a_place_that_cannot_be_used_is_bad_input(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever library met it: no fault of ours, and the file is named."""
    error = PermissionError(errno.EACCES, "Permission denied", "/somewhere/file")
    monkeypatch.setattr("reflective_rag.experiments.corpora.open_search", _raising(error))
    done = run("ask", "q?")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "`/somewhere/file` cannot be read or written: Permission denied" in done.stderr


ASCII_AND_A_WARNING = """
import atexit, logging
for stream in (sys.stdout, sys.stderr):
    stream.reconfigure(encoding="ascii")
def warn():
    import dspy
    logging.getLogger("dspy.clients.lm").warning("LM response was truncated")
atexit.register(warn)
"""


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "debug"])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[bool, Process]:
    """Whether with --debug; a Chinese question asked on an ASCII terminal, after which DSPy has something to say."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RRAG_EMBEDDER", "none")
        options = ["--debug"] if request.param else []
        place = tmp_path_factory.mktemp("asked")
        return request.param, script(*options, "ask", "《百年孤独》的作者是谁？", code=ASCII_AND_A_WARNING, cwd=place)


def test_a_terminal_that_lacks_letters_shows_escapes(asked: tuple[bool, Process]) -> None:
    """Chinese on an ASCII terminal is no reason for a traceback."""
    _, done = asked
    assert done.returncode == 0
    assert r"\u505c\u6b62\u539f\u56e0" in done.stdout


def test_libraries_are_quiet_unless_debugged(asked: tuple[bool, Process]) -> None:
    """Also DSPy, which sets its level when it is imported, after the command line has set it."""
    debug, done = asked
    assert done.returncode == 0
    assert ("LM response was truncated" in done.stderr) is debug


def test_the_demo_ends_with_one_line_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What goes wrong in it is told as the commands tell it, with their exit codes."""
    from reflective_rag.experiments import demo

    for error, code, line in (
        (DataError("no room"), 2, "error: no room\n"),
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
    ):
        monkeypatch.setattr(demo, "_baselines", _raising(error))
        with pytest.raises(SystemExit) as ended:
            demo.main()
        assert (ended.value.code, capsys.readouterr().err) == (code, line)


def test_secrets_are_not_in_error_messages(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wrote the message: an error of ours or a fault."""
    key = "s" + "k-echoed-0123456789"
    monkeypatch.setenv("FAKE_API_KEY", key)
    for error, code in ((DataError(f"server said {key}"), 2), (KeyError(key), 1)):
        monkeypatch.setattr("reflective_rag.experiments.corpora.open_search", _raising(error))
        done = run("ask", "q?")
        assert done.exit_code == code
        assert "[removed]" in done.stderr
        assert key not in done.output


def _raising(error: BaseException) -> Callable[..., None]:
    def fault(*args: object, **kwargs: object) -> None:
        raise error

    return fault


def test_the_examples_of_ask_are_answered(workplace: Path) -> None:
    """Those that its help shows for the bundled sample, by rules."""
    shown = " ".join(run("ask", "--help").stdout.replace("│", " ").split())
    questions = re.findall(r'reflective-rag ask "([^"…]+)"', shown)
    answers = [run_json("ask", question)["answer"] for question in questions]
    assert [question[:5] for question in questions] == ["Which", "京张铁路的"]
    assert "Baikal" in answers[0]
    assert "耶鲁大学" in answers[1]
