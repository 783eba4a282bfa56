"""What commands print: results on stdout, everything else on stderr."""

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from reflective_rag.data.secrets import scrub
from reflective_rag.experiments.fitting import fits, fitted, folded
from reflective_rag.signatures.chinese import LABELS, in_chinese
from reflective_rag.signatures.text import Language


class _Console(Console):
    """Wraps texts between words where somebody reads them; a file gets whole lines, which `grep` finds.

    Errors and notes are whole lines wherever they do not go to a terminal, whatever COLUMNS says.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        """As Rich; a terminal, or COLUMNS where it is set, gives the width."""
        if (self.is_terminal or (not self.stderr and os.environ.get("COLUMNS"))) and not options.get("markup", True):
            objects = tuple(folded(each, self.width) if isinstance(each, str) else each for each in objects)
        super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Whoever read the output has gone: the command ends as `cli` says. Rich would end it with 1."""
        raise BrokenPipeError


# A text may hold `:smile:`, which is none of ours to draw.
out = _Console(highlight=False, soft_wrap=True, emoji=False)
err = _Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)

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
    """Print a table so that no line is wider than the terminal and no number is cut: see `fitting`."""
    title, parts, notes = str(table.title or ""), [table], list[str]()
    if not fits(table, out.width):
        parts, notes = fitted(table, out.width)
    elif cell_len(title) > Console(width=1000, emoji=False).measure(table).maximum:
        table.title = None
    else:
        title = ""
    if title:
        out.print(title, style="table.title", markup=False, soft_wrap=False)
    for part in parts:
        out.print(part)
    for line in notes:
        out.print(line, style="dim", markup=False)


_language: ContextVar[Language] = ContextVar("reflective_rag_language", default="en")


def speak(language: Language) -> None:
    """Say errors and notes of this command in that language, where there are words for them."""
    _language.set(language)


def said(label: str, text: str) -> str:
    """An error or a note as it is printed: `error: …`, or in Chinese."""
    text = scrub(text)
    return f"{label}: {text}" if _language.get() == "en" else f"{LABELS[label]}{in_chinese(text)}"


def note(text: str) -> None:
    """Something the user should know, on stderr."""
    if text:
        err.print(said("note", text), style="yellow", markup=False)


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
        lines = Lines(short=short)
        try:
            yield lines
        finally:
            lines.close()
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
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
        self._open: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Report; prints or not."""
        with self._lock:
            if what in self._open:
                self._open[what] = (done, total)
            due = self._clock() - self._last >= EVERY_SECONDS
            begins, ended = what not in self._begun, done >= total
            if ended and what not in self._open:
                return  # done at once, or told before
            if not (due or ended or (begins and not self._short)):
                return  # told lately
            self._begun.add(what)
            self._open[what] = (done, total)
            if ended:
                del self._open[what]
            self._last = self._clock()
            share = f" ({100 * done // total} %)" if total else ""
            err.print(f"{what}: {done} of {total}{share}", markup=False)

    def close(self) -> None:
        """Tell of tasks that ended before all was done: a search that stopped early, or an error."""
        with self._lock:
            for what, (done, total) in self._open.items():
                err.print(f"{what}: ended at {done} of {total}", markup=False)
            self._open.clear()


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
