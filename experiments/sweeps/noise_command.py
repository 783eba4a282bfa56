"""`sweep noise` from options to a document: checked, run, kept."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from reflective_rag.data.noise import NOISE_KINDS
from reflective_rag.experiments.calibrating import metric_and_column
from reflective_rag.experiments.comparing import check_baseline
from reflective_rag.experiments.console import Report, note, only_results, progress_bar
from reflective_rag.experiments.models import asking, ping
from reflective_rag.experiments.reporting import flat_metrics
from reflective_rag.experiments.rows import open_rows
from reflective_rag.experiments.sweeps.noise import (
    BLIND,
    MOST_ROUNDS,
    DataSet,
    Done,
    Plan,
    data_set,
    open_cells,
    planned,
    run,
)
from reflective_rag.experiments.sweeps.noise_plots import save_noise_plots
from reflective_rag.experiments.sweeps.noise_report import cells_of, over_data, questions_of
from reflective_rag.experiments.sweeps.setting import Setting, names_in, shares_in, write_report
from reflective_rag.experiments.systems import any_system, parse_options, searches
from reflective_rag.experiments.tracking import check_store, tracked
from reflective_rag.experiments.warming import warm_up
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.spelling import check_name


def sweep_noise(setting: Setting, *, programs: str, rates: str, kinds: str, correct: str) -> dict[str, Any]:
    """Run the sweep and return its document; with an output folder, rows, report and plots are there too.

    Raises:
        ConfigError: An option that cannot work; found before a question is asked.
        DataError: Data, corpus, output folder or MLflow store cannot be used.
    """
    with only_results(), progress_bar() as bar, ExitStack() as opened:
        plan = _plan(setting, programs, rates, kinds, correct)
        setting.check_out()
        check_store(setting.tracking)
        data = [data_set(name, *parts, plan) for name, parts in setting.load().items()]
        if setting.out is not None:
            header = {"sweep": "noise", "lm": plan.model.name, "corpus": setting.corpora, "seed": plan.seed}
            header |= {"k": plan.k, "correct": correct}
            opened.enter_context(open_rows(setting.out / "sweep.jsonl", header, name=f"`--out {setting.out}`"))
        count = planned(data, plan)
        note(_announced(data, plan, count))
        ping(plan.model)
        done, notes = _run(setting, plan, data, count, bar)
        document = _document(setting, plan, data, done, correct) | {"planned": count}
        document["notes"] += notes
        return _kept(setting, document)


def _plan(setting: Setting, programs: str, rates: str, kinds: str, correct: str) -> Plan:
    wanted = names_in("--kinds", kinds)
    for kind in wanted:
        check_name("kind of noise", kind, NOISE_KINDS)
    shares = shares_in("--rates", rates)
    metric, column = metric_and_column(correct)
    names = names_in("--programs", programs)
    model = setting.open_model()
    built = [
        any_system(name, model, options=parse_options(None, k=setting.k if searches(name) else None)) for name in names
    ]
    has_loop = any(system.program.name == "reflective" for system in built)
    systems = [system for system in built if system.name != BLIND or not has_loop]  # it runs beside the loop then
    if not systems or systems[0] is not built[0]:
        raise ConfigError(f"`{BLIND}` copies the loop's searches, so it cannot be the baseline; put another name first")
    check_baseline(systems, model)
    how: dict[str, Any] = {"k": setting.k, "seed": setting.seed or 0, "threads": setting.threads}
    return Plan(systems=systems, model=model, kinds=wanted, rates=shares, correct=column, metric=metric, **how)


def _announced(data: Sequence[DataSet], plan: Plan, count: int) -> str:
    parts = [f"{each.name}: {', '.join(f'{n.kind} {len(n.of)}' for n in each.noise)}" for each in data]
    return (
        f"questions: {'; '.join(parts)}; × {len(plan.names)} systems ({', '.join(plan.names)}) × {len(plan.rates)} "
        f"rates = {count:,} answers"
    )


def _run(
    setting: Setting, plan: Plan, data: Sequence[DataSet], count: int, bar: Report
) -> tuple[list[Done], list[str]]:
    done: list[Done] = []
    notes: list[str] = []
    before = 0
    with asking(plan.model):
        for each in data:
            with setting.open_search(each.everything, partial(bar, f"indexing {each.name}")) as search:
                notes.append(setting.note_of(search))
                warm_up(search, [record.question for noise in each.noise for record in noise.records])
                with open_cells(setting.out, each, search, setting.corpora, plan) as cells:
                    told = partial(_overall, bar, before, count)
                    done += run(each, search, cells, plan, told)
            before += planned([each], plan)
    return done, list(filter(None, dict.fromkeys(notes)))


def _overall(bar: Report, before: int, count: int, _: str, done: int, __: int) -> None:
    bar("noise sweep", before + done, count)


def _document(
    setting: Setting, plan: Plan, data: Sequence[DataSet], done: Sequence[Done], correct: str
) -> dict[str, Any]:
    baseline = plan.systems[0].name
    cells = cells_of(done, baseline, plan.correct)
    notes = [*plan.not_available.values(), *(text for system in plan.systems for text in system.notes)]
    notes += [
        f"{each['data']}: {each['left_out']} questions left out: no {each['noise']} noise with an exact label"
        for each in questions_of(data)
        if each["left_out"]
    ]
    if BLIND in plan.names and BLIND not in [system.name for system in plan.systems]:
        notes.append(f"`{BLIND}` searches each question as often as `{plan.loop}` did, at most {MOST_ROUNDS} times")
    if plan.model.is_rules:
        notes.append("no tokens: rules ask no model; JSON has `read_tokens`, the size of the passages that were read")
    return {
        "sweep": "noise",
        "data": setting.data,
        "lm": plan.model.name,
        "corpus": setting.corpora,
        "seed": plan.seed,
        "k": plan.k,
        "limit": setting.limit,
        "correct": correct,
        "baseline": baseline,
        "rates": list(plan.rates),
        "questions": questions_of(data),
        "cells": cells,
        "over_data": over_data(cells) if len(data) > 1 else [],
        "not_available": plan.not_available,
        "notes": notes,
    }


def _kept(setting: Setting, document: dict[str, Any]) -> dict[str, Any]:
    """Report and plots to the output folder, and all of it to MLflow."""
    files: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = setting.out or Path(temporary)
        if setting.out is not None or setting.tracking != "off":
            files = [str(path) for path in save_noise_plots(document["cells"], folder)]
            files.append(str(write_report(folder, document)))
        run_id = _tracked(setting, document, files)
    return document | {"files": files if setting.out is not None else [], "run_id": run_id}


def _tracked(setting: Setting, document: dict[str, Any], files: Sequence[str]) -> str | None:
    about = ("lm", "seed", "k", "limit", "correct", "baseline", "planned")
    params = {name: document[name] for name in about}
    params |= {"data": ", ".join(document["data"]), "corpus": ", ".join(document["corpus"])}
    params |= {"rates": ", ".join(f"{rate:g}" for rate in document["rates"])}
    with tracked(
        "sweep noise", experiment=setting.experiment, uri=setting.tracking, params=params, tags={"kind": "sweep noise"}
    ) as run:
        for system in dict.fromkeys(cell["system"] for cell in document["cells"]):
            mine = [cell for cell in document["cells"] if cell["system"] == system]
            metrics: dict[str, float] = {}
            for cell in mine:
                place = f"{cell['data']}.{cell['noise']}.{cell['rate']:g}."
                metrics |= flat_metrics({k: v for k, v in cell.items() if k not in ("rate", "differences")}, place)
                metrics |= flat_metrics(cell["differences"], f"{place}difference.")
            run.child(system, params={"system": system, "lm": document["lm"]}, metrics=metrics)
        for path in files:
            run.folder(path, "sweep")
        return run.run_id
