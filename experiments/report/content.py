"""From sources to what a page shows: settings, tables, plots, examples; all as plain text."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table as RichTable

from reflective_rag.experiments import comparison_print
from reflective_rag.experiments.comparing import correct_by, measured
from reflective_rag.experiments.models import is_recording
from reflective_rag.experiments.printing import difference_table, summary_table
from reflective_rag.experiments.report import figures
from reflective_rag.experiments.report.examples import Example, worst
from reflective_rag.experiments.report.sources import Run, Source
from reflective_rag.experiments.report.words import text
from reflective_rag.experiments.sweeps.noise_print import noise_table, over_data_table
from reflective_rag.experiments.sweeps.threshold_print import threshold_table
from reflective_rag.optimizers.evaluation import Evaluation
from reflective_rag.signatures.text import Language, language_of

KNOWN = ("program", "lm", "data", "corpus", "n", "metric", "support_critic", "search", "passages", "run_id")
"""What is told of a run before its settings, in this order."""
OF_SWEEP = ("data", "lm", "program", "corpus", "baseline", "correct", "quality", "rates", "theta", "seed", "k", "limit")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of texts."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Section:
    """One source, or the part of several rows files that were asked the same questions."""

    title: str
    settings: Table
    all_settings: Mapping[str, str] = field(default_factory=dict)
    """System → its settings as JSON."""
    tables: Sequence[Table] = ()
    plots: Sequence[str] = ()
    """SVG elements."""
    examples: Sequence[Example] | None = ()
    """None where none are to be expected."""
    notes: Sequence[str] = ()


def sections(sources: Sequence[Source], language: Language, most: int) -> list[Section]:
    """What the page shows, in order. Files of rows over the same questions become one section.

    Args:
        most: Example questions a section.
    """

    def say(key: str, *values: object) -> str:
        return text(key, language, *values)

    found: list[Section] = []
    groups: dict[tuple[str, frozenset[tuple[str, str]]], list[Run]] = {}
    for source in sources:
        name = f"s{len(found)}"
        if source.kind == "rows":
            for run in source.runs:
                asked = frozenset((row.record_id, row.question) for row in run.rows)
                groups.setdefault((run.cell, asked), []).append(run)
        elif source.kind == "several":
            found.append(_several(source, say))
        elif source.kind == "compare":
            found.append(_comparison(source, say, most, name))
        else:
            found.append(_sweep(source, say, most, name))
    for number, runs in enumerate(groups.values()):
        found.append(_rows(runs, say, most, f"r{number}"))
    return found


def language_of_sources(sources: Sequence[Source]) -> Language:
    """Chinese where most of the questions are."""
    asked = [row.question for source in sources for run in source.runs for row in run.rows]
    chinese = sum(language_of(question) == "zh" for question in asked)
    return "zh" if asked and chinese > len(asked) / 2 else "en"


Say = Callable[..., str]


def _rows(runs: Sequence[Run], say: Say, most: int, name: str) -> Section:
    """Rows files of the same questions: the first is the baseline."""
    names = _names(runs)
    order = {row.record_id: place for place, row in enumerate(runs[0].rows)}
    evaluations = [Evaluation(tuple(sorted(run.rows, key=lambda row: order[row.record_id]))) for run in runs]
    systems = []
    for run, label, evaluation in zip(runs, names, evaluations, strict=True):
        base = None if evaluation is evaluations[0] else evaluations[0]
        about = {"system": label, "lm": str(run.about.get("lm", "")), "support_critic": run.about.get("support_critic")}
        systems.append(about | measured(evaluation, base, run.metric, correct_by(run.metric)))
    shown = [
        Run(system=label, rows=run.rows, about=run.about, cell=run.cell) for run, label in zip(runs, names, strict=True)
    ]
    return _of_systems("kind rows", runs[0].cell, shown, systems, say, most, name, ())


def _comparison(source: Source, say: Say, most: int, name: str) -> Section:
    systems = [each for each in source.document["systems"] if "not_available" not in each]
    notes = [*source.document["notes"], *(note for each in source.document["systems"] for note in each["notes"])]
    runs = source.runs or [Run(system=each["system"], rows=(), about=source.document | each) for each in systems]
    return _of_systems("kind compare", "", runs, systems, say, most, name, notes)


def _of_systems(
    kind: str,
    cell: str,
    runs: Sequence[Run],
    systems: Sequence[dict[str, Any]],
    say: Say,
    most: int,
    name: str,
    notes: Sequence[str],
) -> Section:
    baseline = systems[0]["system"]
    recorded = any(is_recording(each["lm"]) for each in systems)
    labels = [(f"{each['system']} ({each['lm']})" if each["lm"] else each["system"], each) for each in systems]
    tables = [_plain(summary_table(labels, recorded=recorded), say("scores"), say)]
    if len(systems) > 1:
        title = say("difference", baseline)
        tables.append(_plain(difference_table(list(systems), baseline), title, say))
    titles = ("cost", "phases", "selective", "equal cost")
    more = comparison_print.tables(systems, baseline, recorded=recorded)
    tables += [_plain(table, say(key, baseline), say) for key, table in zip(titles, more, strict=False)]
    about = str(runs[0].about.get("data", "")) if runs else ""
    return Section(
        title=": ".join(part for part in (say(kind), about, cell) if part),
        settings=_settings(runs, say),
        all_settings={run.system: _json(run.about["settings"]) for run in runs if run.about.get("settings")},
        tables=[table for table in tables if table.rows],
        plots=figures.system_plots(systems, systems[0]["n"], name),
        examples=worst(runs, most),
        notes=list(dict.fromkeys(notes)),
    )


def _sweep(source: Source, say: Say, most: int, name: str) -> Section:
    document: dict[str, Any] = dict(source.document)
    cells = document["cells"]
    if source.kind == "noise":
        groups = dict.fromkeys((cell["data"], cell["noise"]) for cell in cells)
        tables = [
            _plain(noise_table([c for c in cells if (c["data"], c["noise"]) == group], "", document["baseline"]),
                   ", ".join(group), say)
            for group in groups
        ]  # fmt: skip
        if document.get("over_data"):
            over = over_data_table(document["over_data"], document["baseline"])
            tables.append(_plain(over, say("over data", document["baseline"]), say))
        plots = figures.noise_plots(cells, name)
    else:
        names = dict.fromkeys(cell["data"] for cell in cells)
        tables = [
            _plain(threshold_table([c for c in cells if c["data"] == data], document), data, say) for data in names
        ]
        plots = figures.threshold_plots(cells, name)
    known = [(say(key), _shown(document[key])) for key in OF_SWEEP if document.get(key) not in (None, [], "")]
    return Section(
        title=say(f"kind {source.kind}"),
        settings=Table(title=say("settings"), headers=(), rows=known),
        tables=tables,
        plots=plots,
        examples=worst(source.runs, most),
        notes=document["notes"],
    )


def _several(source: Source, say: Say) -> Section:
    """What a comparison says over all its data sets; each has a section of its own."""
    baseline = source.document["comparisons"][0]["baseline"]
    over = comparison_print.over_data_table(source.document["over_data"], baseline)
    known = [(say("data"), _shown(source.document["data"])), (say("baseline"), baseline)]
    return Section(
        title=say("kind several"),
        settings=Table(title=say("settings"), headers=(), rows=known),
        tables=[_plain(over, say("over figures", baseline), say)],
        examples=None,
    )


def _settings(runs: Sequence[Run], say: Say) -> Table:
    keys = [key for key in KNOWN if any(run.about.get(key) not in (None, "", []) for run in runs)]
    rows = [[say(key), *(_shown(run.about.get(key)) for run in runs)] for key in keys]
    return Table(title=say("settings"), headers=["", *(run.system for run in runs)], rows=rows)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return "" if value is None else str(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _names(runs: Sequence[Run]) -> list[str]:
    """A name for each run; those that are called the same get a number."""
    names: list[str] = []
    for run in runs:
        same = sum(other.system == run.system for other in runs[: len(names)])
        names.append(f"{run.system} #{same + 1}" if same else run.system)
    return names


def _plain(table: RichTable, title: str, say: Say) -> Table:
    """A table of the command line as texts; its labels in the page's language."""
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    rows = [[say(cell) if place == 0 else cell for place, cell in enumerate(row)] for row in zip(*columns, strict=True)]
    return Table(title=title, headers=[say(str(column.header).strip()) for column in table.columns], rows=rows)
