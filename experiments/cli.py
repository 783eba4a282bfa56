"""`reflective-rag`: the command line. Errors are one line on stderr; what a command returns goes to stdout.

Exit codes: 0 done, 1 something is wrong that `doctor` found or that is a fault of ours, 2 bad input or nothing to work
with (no model, no corpus that can be searched), 130 interrupted, 141 whoever read the output has gone.
"""

import errno
import importlib
import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

# Before anything imports DSPy: it and LiteLLM would fetch a price list, MLflow would report usage, and LanceDB would
# warn at every query. A value of the user's own wins.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("RUST_LOG", "error")
os.environ.setdefault("LANCEDB_LOG", "error")  # a variable of its own, for the same
if not sys.stderr.isatty():  # progress bars of libraries are noise in a file
    os.environ.setdefault("TQDM_DISABLE", "1")

import typer
from typer.core import TyperCommand, TyperGroup

from reflective_rag import __version__
from reflective_rag.experiments.commands import COMMANDS
from reflective_rag.experiments.help_texts import PlainHelp, laid_out
from reflective_rag.signatures.errors import ReflectiveRAGError, message_of

_INTERRUPTED, _BROKEN_PIPE = 130, 141  # as a shell reports SIGINT and SIGPIPE
_PLACES = {errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.EIO}
"""What is wrong with a disk, a file or a folder of the user's, wherever it comes up."""
_EXAMPLES = """Answer questions from passages that are judged before they are used.

Try it: [bold]reflective-rag ask "Which lake is deeper, Lake Baikal or Lake Tanganyika?"[/bold]

Without a model it runs on rules; name one with [bold]--lm[/bold] or RRAG_LM.
Each command has its own [bold]--help[/bold].
"""


class _Command(PlainHelp, TyperCommand):
    """One command."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.help = laid_out(self.help or "")


class _Group(PlainHelp, TyperGroup):
    """The commands, with every error turned into a line on stderr and an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """As Typer, with `--debug` taken wherever it stands; `--help` and `--version` print here."""
        own = args[: args.index("--")] if "--" in args else args
        if "--debug" in own:
            args = ["--debug", *(arg for arg in own if arg != "--debug"), *args[len(own) :]]
        with _one_line_errors(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        from reflective_rag.experiments.console import speak

        speak("en")  # a command that knows better says so
        with logging_restored(), _one_line_errors(ctx):
            value = super().invoke(ctx)
            sys.stdout.flush()
        return value


@contextmanager
def _one_line_errors(ctx: Any) -> Iterator[None]:
    debug = bool(ctx.params.get("debug"))
    try:
        yield
    except ReflectiveRAGError as error:
        _fail(ctx, str(error), 2, debug)
    except KeyboardInterrupt as error:  # a command that kept something says what
        _fail(ctx, ": ".join(["interrupted", *map(str, error.args)]), _INTERRUPTED, debug=False)
    except BrokenPipeError:
        _silence_stdout()
        ctx.exit(_BROKEN_PIPE)
    except Exception as error:
        if _is_signal(error):
            raise
        if isinstance(error, OSError) and error.errno in _PLACES:
            _fail(ctx, _place(error), 2, debug)
        hint = "run it again with `reflective-rag --debug …` for the traceback"
        first = (message_of(error).strip().splitlines() or ["no message"])[0]
        _fail(ctx, f"{type(error).__name__}: {first} (unexpected; {hint})", 1, debug)


def _place(error: OSError) -> str:
    if error.filename is not None:
        where = f"`{error.filename}`"
    elif error.errno == errno.ENOENT:
        where = "the current folder"  # it was removed meanwhile
    else:
        where = "the output"
        _silence_stdout()
    return f"{where} cannot be read or written: {error.strerror}. Mend that, or use another place"


def _silence_stdout() -> None:
    """Python would complain once more when it flushes stdout at its end."""
    with suppress(OSError, ValueError):  # ValueError: it has no descriptor, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_signal(error: Exception) -> bool:
    """Whether it is how Typer ends a command, not a fault."""
    return type(error).__module__.partition(".")[0] in ("typer", "click")


def _fail(ctx: Any, message: str, code: int, debug: bool) -> None:
    if debug:
        raise  # noqa: PLE0704 - called from an except block only: the traceback was asked for
    from reflective_rag.experiments.console import err, said

    err.print(said("error", message), style="red", markup=False)
    ctx.exit(code)


app = typer.Typer(
    name="reflective-rag",
    cls=_Group,
    help=_EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reflective-rag {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and library messages.")] = False,
) -> None:
    quiet(debug)


_TALKATIVE = ("dspy", "optuna", "mlflow", "alembic", "LiteLLM", "reflective_rag", "httpx")


def quiet(debug: bool = False) -> None:
    """Libraries report to stderr what our own warnings already say. Whole process: see `logging_restored`."""
    level = logging.INFO if debug else logging.ERROR
    # For all at once too: libraries set levels of their own when they are imported, which is later.
    logging.disable(logging.NOTSET if debug else logging.WARNING)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(level)


@contextmanager
def logging_restored() -> Iterator[None]:
    """What `quiet` has silenced speaks again afterwards: a caller in this process keeps its own logging."""
    disabled = logging.root.manager.disable
    levels = {name: logging.getLogger(name).level for name in _TALKATIVE}
    try:
        yield
    finally:
        logging.disable(disabled)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


for _panel, _names in COMMANDS.items():
    for _name in _names:
        _module = importlib.import_module(f"reflective_rag.experiments.commands.{_name}")
        app.command(name=_name, cls=_Command, rich_help_panel=_panel)(_module.command)


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows its escape, and no traceback
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SystemExit as ending:
        if "--debug" not in sys.argv:
            quiet()  # the process ends here, and threads and exit handlers of libraries may still report
        if ending.code != _INTERRUPTED:
            raise
        # Calls that were under way sit in threads that Python would wait for, minutes with a slow model.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
