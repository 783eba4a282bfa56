"""`reflective-rag`: the command line. Errors are one line on stderr; what a command returns goes to stdout.

Exit codes: 0 done, 1 something is wrong that `doctor` found or that is a fault of ours, 2 bad input, 130 interrupted.
"""

import importlib
import logging
import os
import sys
from typing import Annotated, Any

# Before anything imports DSPy: it and LiteLLM would fetch a price list, MLflow would report usage, and LanceDB would
# warn at every query. A value of the user's own wins.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("RUST_LOG", "error")
if not sys.stderr.isatty():  # progress bars of libraries are noise in a file
    os.environ.setdefault("TQDM_DISABLE", "1")

import typer
from typer.core import TyperGroup

from reflective_rag import __version__
from reflective_rag.experiments.commands import COMMANDS
from reflective_rag.signatures.errors import ReflectiveRAGError

_INTERRUPTED, _BROKEN_PIPE = 130, 141  # as a shell reports SIGINT and SIGPIPE
_EXAMPLES = """Answer questions from passages that are judged before they are used.

Try it: [bold]reflective-rag ask "Which lake is deeper, Lake Baikal or Lake Tanganyika?"[/bold]

Without a model it runs on rules; name one with [bold]--lm[/bold] or RRAG_LM.
Each command has its own [bold]--help[/bold].
"""


class _Group(TyperGroup):
    """The commands, with every error turned into a line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        debug = bool(ctx.params.get("debug"))
        try:
            value = super().invoke(ctx)
            sys.stdout.flush()
        except ReflectiveRAGError as error:
            _fail(ctx, str(error), 2, debug)
        except KeyboardInterrupt:
            _fail(ctx, "interrupted", _INTERRUPTED, debug=False)
        except BrokenPipeError:
            # Python would complain once more when it flushes stdout at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(_BROKEN_PIPE)
        except Exception as error:
            if _is_signal(error):
                raise
            hint = "run it again with `reflective-rag --debug …` for the traceback"
            first = (str(error).strip().splitlines() or ["no message"])[0]
            _fail(ctx, f"{type(error).__name__}: {first} (unexpected; {hint})", 1, debug)
        return value


def _is_signal(error: Exception) -> bool:
    """Whether it is how Typer ends a command, not a fault."""
    return type(error).__module__.partition(".")[0] in ("typer", "click")


def _fail(ctx: Any, message: str, code: int, debug: bool) -> None:
    if debug:
        raise  # noqa: PLE0704 - called from an except block only: the traceback was asked for
    from reflective_rag.data.secrets import scrub
    from reflective_rag.experiments.console import err

    err.print(f"error: {scrub(message)}", style="red", markup=False)
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


def quiet(debug: bool = False) -> None:
    """Libraries report to stderr what our own warnings already say."""
    level = logging.INFO if debug else logging.ERROR
    # For all at once too: libraries set levels of their own when they are imported, which is later.
    logging.disable(logging.NOTSET if debug else logging.WARNING)
    for name in ("dspy", "optuna", "mlflow", "alembic", "LiteLLM", "reflective_rag", "httpx"):
        logging.getLogger(name).setLevel(level)


for _panel, _names in COMMANDS.items():
    for _name in _names:
        _module = importlib.import_module(f"reflective_rag.experiments.commands.{_name}")
        app.command(name=_name, rich_help_panel=_panel)(_module.command)


def main() -> None:
    """The console script."""
    try:
        app()
    except SystemExit as ending:
        if ending.code != _INTERRUPTED:
            raise
        # Calls that were under way sit in threads that Python would wait for, minutes with a slow model.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
