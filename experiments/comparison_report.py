"""A comparison in a folder: its document, the rows of each system, and the risk-coverage curves as PNG and SVG."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reflective_rag.experiments.measuring import about_run, rows_header
from reflective_rag.experiments.plotting import new_figure, save_figure
from reflective_rag.experiments.rows import write_rows
from reflective_rag.experiments.sweeps.setting import write_report
from reflective_rag.experiments.systems import System
from reflective_rag.experiments.tracking_values import file_name
from reflective_rag.optimizers.evaluation import Evaluation

ROWS = "rows"
"""Folder of the rows, one file a system."""


def rows_path(out: Path, system: str) -> Path:
    """Where the rows of a system are."""
    return out / ROWS / f"{file_name(system.replace('/', '_'))}.jsonl"


def keeping(out: Path | None, about: Mapping[str, Any], **header: Any) -> Callable[[System, str, Evaluation], None]:
    """A function that writes the rows of a system to the folder, in place of earlier ones; does nothing without one.

    Args:
        about: `data` and `n` of `about_run`.
        header: The rest of `rows_header`.
    """

    def keep(system: System, lm: str, evaluation: Evaluation) -> None:
        if out is not None:
            known = about_run(system, lm=lm, **about)
            write_rows(rows_path(out, system.name), rows_header(system, lm=lm, **header), known, evaluation.rows)

    return keep


@contextmanager
def saying_what_is_kept(systems: Sequence[System], out: Path | None) -> Iterator[None]:
    """Where the block is interrupted, the `KeyboardInterrupt` says which rows are kept, and how to go on."""
    paths = [] if out is None else [rows_path(out, system.name) for system in systems]
    before = {path: _state(path) for path in paths}
    try:
        yield
    except KeyboardInterrupt:
        done = [path for path in paths if _state(path) != before[path]]
        raise KeyboardInterrupt(_kept_words(done, len(systems), out)) from None


def _state(path: Path) -> tuple[int, int] | None:
    """What tells a file from the one that stood there before; None without one."""
    return (path.stat().st_ino, path.stat().st_mtime_ns) if path.exists() else None


def _kept_words(done: Sequence[Path], count: int, out: Path | None) -> str:
    if not done:
        how = "" if out else "; with `--out DIR` the rows of each system are, as soon as it is done"
        return f"no system was done, so nothing was kept{how}" if out else f"nothing was kept{how}"
    files = ", ".join(f"`{path}`" for path in done)
    return (
        f"the rows of {len(done)} of {count} systems are kept ({files}); `diagnose --rows FILE` reads them; the same "
        "command again asks all systems anew"
    )


def kept(document: Mapping[str, Any], out: Path | None) -> list[str]:
    """Write report and plot to `out`, which exists; the files. Without a folder nothing is written."""
    if out is None:
        return []
    told = [each for each in document["systems"] if "not_available" not in each]
    files = save_figure(risk_coverage_figure(told, document["n"]), out / "risk_coverage")
    return [str(path) for path in [*files, write_report(out, document)]]


def risk_coverage_figure(systems: Sequence[Mapping[str, Any]], n: int) -> Any:
    """The risk over coverage of every system, the surest answers first."""
    figure = new_figure()
    axes = figure.add_subplot()
    axes.set(title=f"Risk and coverage, {n} questions", xlabel="coverage of all questions", ylabel="share wrong")
    axes.set(xlim=(0, 1), ylim=(-0.02, 1.02))
    axes.grid(alpha=0.3)
    for each in systems:
        points = each["selective"]["curve"]
        label = f"{each['system']} (by {each['selective']['by'].replace('_', ' ')})"
        axes.plot([c for c, _ in points], [r for _, r in points], marker=".", markersize=3, linewidth=1.2, label=label)
    axes.legend(loc="best", fontsize=8)
    return figure
