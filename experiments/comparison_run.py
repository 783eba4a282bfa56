"""`compare` from options to documents: one for each data set, and on how many of them a system is better or worse."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from reflective_rag.experiments.comparing import check_baseline, check_names, tracked_comparison
from reflective_rag.experiments.comparison_report import keeping, kept, saying_what_is_kept
from reflective_rag.experiments.console import Report, only_results, progress_bar
from reflective_rag.experiments.measuring import check_metric
from reflective_rag.experiments.models import asking, is_recording, ping
from reflective_rag.experiments.sweeps.noise_report import over_data
from reflective_rag.experiments.sweeps.setting import Setting, write_report
from reflective_rag.experiments.systems import System, any_system, parse_options, searches
from reflective_rag.experiments.tracking import check_store
from reflective_rag.experiments.tracking_values import file_name
from reflective_rag.experiments.warming import NOT_COUNTED
from reflective_rag.programs.lm.resolve import Model

FIGURES = {"f1": True, "recall": True, "citation_precision": True, "unsupported": False, "tokens": False}
"""What is summarised over data sets, and whether higher is better."""


def run_comparison(
    setting: Setting, names: Sequence[str], *, metric: str | None, equal_cost: bool
) -> list[dict[str, Any]]:
    """Compare the systems on every data set in turn; the document of each.

    With an output folder its files are there too, for several data sets in a folder each.

    Raises:
        ConfigError: An option that cannot work; found before a question is asked.
        DataError: Data, corpus, artefact, output folder or MLflow store cannot be used.
    """
    with only_results(), progress_bar() as bar:
        loaded = setting.load()
        check_metric(metric)
        check_names(names)
        model = setting.open_model()
        built = [
            any_system(name, model, options=parse_options(None, k=setting.k if searches(name) else None))
            for name in names
        ]
        check_baseline(built, model, equal_cost=equal_cost)
        several = setting.out is not None and len(loaded) > 1
        parts = [
            replace(setting, data=[name], out=_folder(setting.out, short) if several else setting.out)
            for name, short in zip(setting.data, loaded, strict=True)
        ]
        for part in parts:
            part.check_out()
        check_store(setting.tracking)
        ping(model)
        how: dict[str, Any] = {"metric": metric, "threads": setting.threads, "equal_cost": equal_cost}
        with asking(model):
            return [_one(part, data, built, model, how, bar) for part, data in zip(parts, loaded.values(), strict=True)]


def summary_over_data(documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each figure and system: on how many data sets it is better, worse or unclear, and where it is worst.

    No mean over data sets: it would hide a loss on one behind the others.
    """
    cells = [
        {
            "data": document["data"],
            "noise": "",
            "rate": 0.0,
            "system": each["system"],
            "differences": each["differences"],
        }
        for document in documents
        for each in document["systems"]
    ]
    rows = [row for figure, higher in FIGURES.items() for row in over_data(cells, figure, higher)]
    return [{key: value for key, value in row.items() if key not in ("noise", "rate")} for row in rows]


def keep_summary(out: Path | None, document: dict[str, Any]) -> list[str]:
    """Write the report over several data sets beside the folders of the comparisons; the file, if any."""
    return [] if out is None else [str(write_report(out, document))]


def _folder(out: Path | None, short: str) -> Path | None:
    return out and out / file_name(short.replace("/", "_"))


def _one(
    setting: Setting, loaded: Any, built: Sequence[System], model: Model, how: dict[str, Any], bar: Report
) -> dict[str, Any]:
    everything, records = loaded
    (name,) = setting.data
    with setting.open_search(everything, partial(bar, f"indexing passages of {name}")) as search:
        systems = [system.searching(search) for system in built]
        header = {"data": everything, "corpus": setting.corpora, "search": search, "metric": how["metric"]}
        keep = keeping(setting.out, {"data": name, "n": len(records)}, **header)
        about = {"lm": model.name, "data": name, "corpus": setting.corpora, "embedder": setting.embedder}
        about["systems"] = [system.name for system in systems]
        with saying_what_is_kept(systems, setting.out):
            compared, run_id = tracked_comparison(
                systems,
                records,
                model,
                setting.experiment,
                setting.tracking,
                params=about,
                keep=keep,
                progress=bar,
                **how,
            )
        notes = list(filter(None, [setting.note_of(search), "" if is_recording(model.name) else NOT_COUNTED]))
    document = {"data": name, "lm": model.name, "corpus": setting.corpora, "n": len(records)}
    document |= {"baseline": systems[0].name, "systems": compared, "run_id": run_id, "notes": notes}
    return document | {"files": kept(document, setting.out)}
