"""What commands print: results on stdout, everything else on stderr, bars only on a terminal."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from reflective_rag.data.secrets import scrub

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Something the user should know, on stderr."""
    if text:
        err.print(f"note: {scrub(text)}", style="yellow", markup=False)


@contextlib.contextmanager
def only_results() -> Iterator[None]:
    """Inside, whatever a library prints to stdout goes to stderr, so that stdout holds the result alone."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A function `(what, done, total)` that moves one bar a task on stderr; without a terminal it shows nothing."""
    if not err.is_terminal:
        yield lambda what, done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars: dict[str, Any] = {}
    with Progress(*columns, console=err, transient=True) as progress:

        def update(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = progress.add_task(what, total=total)
            progress.update(bars[what], completed=done, total=total)

        yield update


def interval(value: dict[str, Any] | None) -> str:
    """`0.42 [0.31, 0.53]`; `n/a` without values, no interval below two."""
    if not value or value["mean"] is None:
        return "n/a"
    low, high = value["low"], value["high"]
    return f"{value['mean']:.3f}" + ("" if low is None else f" [{low:.3f}, {high:.3f}]")


def number(value: float | None, digits: int = 1) -> str:
    """A mean for a table."""
    return "n/a" if value is None else f"{value:,.{digits}f}"


def counts(values: dict[str, int]) -> str:
    """`sufficient 3, max_rounds 1`."""
    return ", ".join(f"{name} {count}" for name, count in values.items()) or "none"
