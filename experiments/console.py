"""What commands print: results on stdout, everything else on stderr."""

import contextlib
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from reflective_rag.data.secrets import scrub

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

Report = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is; from any thread."""
EVERY_SECONDS = 10.0
"""Without a terminal progress is at most one line in that time, beside the first of each task."""


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON that stdout can print: where it is not UTF-8, letters beyond ASCII become JSON's own escapes."""
    unicode = (sys.stdout.encoding or "utf-8").lower().replace("-", "").startswith("utf")
    return json.dumps(value, ensure_ascii=not unicode, indent=indent)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json_text(value, indent=indent) + "\n")
    sys.stdout.flush()


def print_whole(table: Table) -> None:
    """Print a table as wide as it is: a terminal that wraps a line is better than a number that is cut."""
    wide = Console(highlight=False, soft_wrap=True, width=1000)
    wide = Console(highlight=False, soft_wrap=True, width=max(out.width, wide.measure(table).maximum))
    wide.print(table)


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
def progress_bar(*, short: bool = False) -> Iterator[Report]:
    """A function that moves one bar a task; without a terminal a line when it begins, every 10 s, and at its end.

    Args:
        short: The work usually takes seconds: without a terminal nothing is printed before 10 s have passed.
    """
    if not err.is_terminal:
        yield Lines(short=short)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars: dict[str, TaskID] = {}
    lock = threading.Lock()
    with Progress(*columns, console=err, transient=True) as progress:

        def update(what: str, done: int, total: int) -> None:
            with lock:
                if what not in bars:
                    bars[what] = progress.add_task(what, total=total)
            progress.update(bars[what], completed=done, total=total)

        yield update


class Lines:
    """Plain lines `dev before: 12 of 36 (33 %)`, as described at `progress_bar`."""

    def __init__(self, *, short: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._short = short
        self._clock = clock
        self._last = clock()
        self._begun: set[str] = set()
        self._open: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Report; prints or not."""
        with self._lock:
            due = self._clock() - self._last >= EVERY_SECONDS
            begins, ended = what not in self._begun, done >= total
            if ended and what not in self._open:
                return  # done at once, or told before
            if not (due or ended or (begins and not self._short)):
                return  # told lately
            self._begun.add(what)
            (self._open.discard if ended else self._open.add)(what)
            self._last = self._clock()
            share = f" ({100 * done // total} %)" if total else ""
            err.print(f"{what}: {done} of {total}{share}", markup=False)


def interval(value: dict[str, Any] | None) -> str:
    """`0.42 [0.31, 0.53]`; `n/a` without values, no interval below two."""
    if not value or value["mean"] is None:
        return "n/a"
    low, high = value["low"], value["high"]
    return f"{value['mean']:.3f}" + ("" if low is None else f" [{low:.3f}, {high:.3f}]")


def short(value: dict[str, Any] | None, digits: int, sign: str = "") -> str:
    """`.42 [.31, .53]`; `n/a` without values."""
    if value is None or value["mean"] is None:
        return "n/a"
    mean, low, high = (
        None if v is None else _short_number(v, digits, sign) for v in (value["mean"], value["low"], value["high"])
    )
    return f"{mean}" if low is None else f"{mean} [{low}, {high}]"


def _short_number(value: float, digits: int, sign: str) -> str:
    text = f"{value:{sign},.{digits}f}"
    if text.lstrip("+-").startswith("0."):
        text = text.replace("0.", ".", 1)
    return text


def number(value: float | None, digits: int = 1) -> str:
    """A mean for a table."""
    return "n/a" if value is None else f"{value:,.{digits}f}"


def counts(values: dict[str, int]) -> str:
    """`sufficient 3, max_rounds 1`."""
    return ", ".join(f"{name} {count}" for name, count in values.items()) or "none"
