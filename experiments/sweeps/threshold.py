"""The threshold sweep: θ of ReflectiveRAG by replay. One pass is recorded, every θ is read off it without a model."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from reflective_rag.data.records import Record
from reflective_rag.data.retrieval import Retriever
from reflective_rag.experiments.calibrating import metric_and_column
from reflective_rag.experiments.console import Report, note, only_results, progress_bar
from reflective_rag.experiments.models import asking, model_named, ping
from reflective_rag.experiments.reporting import flat_metrics
from reflective_rag.experiments.sweeps.setting import Setting, shares_in, write_report
from reflective_rag.experiments.sweeps.threshold_plots import save_threshold_plots
from reflective_rag.experiments.systems import System, named_system, parse_options, pick_system
from reflective_rag.experiments.tracking import check_store, tracked
from reflective_rag.optimizers.metrics import metric
from reflective_rag.optimizers.replay import record_pass
from reflective_rag.optimizers.replay_rules import Stop, simulate
from reflective_rag.optimizers.statistics import bootstrap_mean, paired_difference
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.programs.reflective import ReflectiveRAG
from reflective_rag.programs.settings import PRESETS, LoopControls
from reflective_rag.signatures.errors import ConfigError

FIGURES = ("score", "retrievals", "tokens", "abstained")
"""Of a `Stop`, what is reported: quality, and what it cost."""


def sweep_threshold(
    setting: Setting,
    *,
    thetas: str,
    correct: str,
    presets: bool,
    artifact: Path | None,
    mode: str | None,
    option: list[str] | None,
) -> dict[str, Any]:
    """Run the sweep and return its document; with an output folder, report and plots are there too.

    Raises:
        ConfigError: An option that cannot work; found before a question is asked.
        DataError: Data, corpus, artefact, output folder or MLflow store cannot be used.
    """
    with only_results(), progress_bar() as bar:
        values = shares_in("--thetas", thetas)
        metric_and_column(correct)
        if presets and artifact is not None:
            raise ConfigError("`--presets` are settings of a fresh program; leave out `--artifact`, or `--presets`")
        model = setting.open_model()
        system = pick_system(None, artifact, model, options=parse_options(option, k=setting.k, mode=mode))
        own = _controls(system)
        more = _presets(model, mode) if presets else {}
        setting.check_out()
        check_store(setting.tracking)
        data = setting.load()
        count = sum(len(asked) for _, asked in data.values())
        passes = f"in {1 + len(more)} passes" if more else "in one pass"
        note(f"{count} questions, recorded {passes} to the last round; {len(values)} values of θ")
        ping(model)
        cells, notes = [], list(system.notes)
        rules = {f"{theta:g}": own.model_copy(update={"theta": theta}) for theta in values}
        with asking(model):
            for name, (everything, asked) in data.items():
                with setting.open_search(everything, partial(bar, f"indexing {name}")) as search:
                    notes.append(setting.note_of(search))
                    recorded = partial(_recorded, asked, search, correct, setting.threads, bar)
                    cells += _cells(name, recorded(f"recording {name}", system), rules, own)
                    for preset, other in more.items():
                        stops = recorded(f"recording {name}, {preset}", other)
                        cells += _cells(name, stops, {preset: _controls(other)}, None)
            asked_model = model_named(system.program, model)
        about: dict[str, Any] = {"sweep": "threshold", "program": system.name, "lm": asked_model, "quality": correct}
        about |= {"data": setting.data, "corpus": setting.corpora, "limit": setting.limit, "theta": own.theta}
        notes += [_idle(cells, name) for name in data]
        document = {**about, "cells": cells, "notes": list(filter(None, dict.fromkeys(notes)))}
        return _kept(setting, document)


def _controls(system: System) -> LoopControls:
    if not isinstance(system.program, ReflectiveRAG):
        raise ConfigError(f"`sweep threshold` tunes a loop; program {system.program.name!r} has no θ")
    controls: LoopControls = system.program.controls.values
    return controls


def _presets(model: Model, mode: str | None) -> dict[str, System]:
    return {
        name: named_system("reflective", model, options=parse_options(None, preset=name, mode=mode)) for name in PRESETS
    }


def _recorded(
    asked: Sequence[Record], search: Retriever, correct: str, threads: int, bar: Report, what: str, system: System
) -> list[Any]:
    program = system.searching(search).program
    assert isinstance(program, ReflectiveRAG)
    rounds = program.controls.values.max_rounds
    told = partial(bar, what)
    score = metric(correct).score
    return record_pass(program, asked, score, max_rounds=rounds, num_threads=threads, on_question=told)


def _cells(
    data: str, records: Sequence[Any], rules: dict[str, LoopControls], own: LoopControls | None
) -> list[dict[str, Any]]:
    """One entry a rule; `difference` is paired with the program's own θ."""
    base = None if own is None else [simulate(record, own) for record in records]
    cells = []
    for name, rule in rules.items():
        stops = [simulate(record, rule) for record in records]
        about = {"data": data, "rule": name, "theta": rule.theta, "max_rounds": rule.max_rounds, "n": len(stops)}
        means = {figure: bootstrap_mean(_values(stops, figure)).to_dict() for figure in FIGURES}
        paired = {} if base is None else {f: _paired(stops, base, f) for f in FIGURES}
        reasons = dict(sorted(Counter(stop.reason for stop in stops).items()))
        cells.append({**about, **means, "stop_reasons": reasons, "differences": paired})
    return cells


def _values(stops: Sequence[Stop], figure: str) -> list[float]:
    return [float(getattr(stop, figure)) for stop in stops]


def _paired(stops: Sequence[Stop], base: Sequence[Stop], figure: str) -> dict[str, Any]:
    return paired_difference(_values(stops, figure), _values(base, figure)).to_dict()


def _idle(cells: Sequence[dict[str, Any]], data: str) -> str:
    """One sentence where θ made no difference; empty where it did."""
    mine = [cell for cell in cells if cell["data"] == data and cell["differences"]]
    if len(mine) < 2 or any(cell["differences"][figure]["mean"] for cell in mine for figure in FIGURES):
        return ""
    return (
        f"θ changes nothing on {data}: what is missing, conflicts and the critic's verdict decide before the score "
        "does, and where the score alone is too low there is no gap to search for"
    )


def _kept(setting: Setting, document: dict[str, Any]) -> dict[str, Any]:
    files: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = setting.out or Path(temporary)
        if setting.out is not None or setting.tracking != "off":
            files = [str(path) for path in save_threshold_plots(document["cells"], folder)]
            files.append(str(write_report(folder, document)))
        run_id = _tracked(setting, document, files)
    return document | {"files": files if setting.out is not None else [], "run_id": run_id}


def _tracked(setting: Setting, document: dict[str, Any], files: Sequence[str]) -> str | None:
    params = {name: document[name] for name in ("program", "lm", "quality", "limit", "theta")}
    params |= {"data": ", ".join(document["data"]), "corpus": ", ".join(document["corpus"])}
    name = "sweep threshold"
    with tracked(name, experiment=setting.experiment, uri=setting.tracking, params=params, tags={"kind": name}) as run:
        for cell in document["cells"]:
            figures = {name: cell[name] for name in FIGURES}
            about = {"data": cell["data"], "rule": cell["rule"], "theta": cell["theta"]}
            metrics = flat_metrics(figures) | flat_metrics(cell["differences"], "difference.")
            run.child(f"{cell['data']} θ={cell['rule']}", params=about, metrics=metrics)
        for path in files:
            run.folder(path, "sweep")
        return run.run_id
