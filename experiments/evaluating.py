"""One program on labelled questions, as the commands `evaluate` and `diagnose` ask for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from reflective_rag.data.records import Record, pool
from reflective_rag.experiments import models
from reflective_rag.experiments.calibration_notes import corpus_note
from reflective_rag.experiments.comparing import correct_by
from reflective_rag.experiments.console import only_results, progress_bar
from reflective_rag.experiments.corpora import load_data, open_search, search_note
from reflective_rag.experiments.measuring import (
    about_run,
    check_metric,
    measure,
    rows_header,
    summary_of,
    support_critic,
)
from reflective_rag.experiments.recipes import OWN
from reflective_rag.experiments.rows import open_rows
from reflective_rag.experiments.systems import parse_options, pick_system
from reflective_rag.optimizers.diagnosis import diagnose
from reflective_rag.optimizers.evaluation import Evaluation
from reflective_rag.programs.module import RagModule


@dataclass(frozen=True, kw_only=True)
class Asked:
    """As typed on the command line."""

    data: str
    program: str | None = None
    artifact: Path | None = None
    corpus: Sequence[str] | None = None
    embedder: str = "auto"
    limit: int | None = None
    seed: int | None = None
    threads: int = 1
    k: int | None = None
    mode: str | None = None
    option: list[str] | None = None
    lm: str | None = None
    model_options: Mapping[str, Any] = field(default_factory=dict)
    metric: str | None = None
    rows: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """The rows, the questions, and the document that `evaluate` prints as JSON."""

    name: str
    program: RagModule
    evaluation: Evaluation
    records: Sequence[Record]
    document: dict[str, Any]


def evaluate_system(asked: Asked) -> Evaluated:
    """Check everything, then ask every question.

    Raises:
        ConfigError, DataError: Something cannot work; found before a question is asked, where it can be.
    """
    chosen, names = parse_options(asked.option, k=asked.k, mode=asked.mode), list(asked.corpus or [OWN])
    with only_results(), progress_bar() as bar:
        everything = load_data(asked.data)
        records = load_data(asked.data, limit=asked.limit, seed=asked.seed)
        check_metric(asked.metric)
        model = models.open_model(asked.lm, **asked.model_options)
        system = pick_system(asked.program, asked.artifact, model, options=chosen)
        models.ping(model)
        indexing = partial(bar, "indexing passages")
        with (
            models.asking(model),
            open_search(names, pool(everything), embedder=asked.embedder, progress=indexing) as search,
        ):
            system.searching(search)
            lm = models.model_named(system.program, model)
            calibrated = corpus_note(system.program, search)
            header = rows_header(system, lm=lm, data=everything, corpus=names, search=search, metric=asked.metric)
            known = about_run(system, lm=lm, data=asked.data, n=len(records))
            with open_rows(asked.rows, header, about=known) as file:
                evaluation = measure(
                    system,
                    records,
                    metric=asked.metric,
                    threads=asked.threads,
                    done=file.done,
                    keep=file.add,
                    progress=bar,
                )
    notes = [*system.notes, *filter(None, [search_note(search, asked.embedder), calibrated])]
    document = {
        "program": system.program.name,
        "data": asked.data,
        "lm": lm,
        **summary_of(evaluation, asked.metric),
        "diagnosis": diagnose(evaluation.rows, records, correct_by(asked.metric), program=system.program).brief(),
        "support_critic": support_critic(system, lm),
        "artifact": str(asked.artifact) if asked.artifact else None,
        "corpus": names,
        "notes": notes,
    }
    return Evaluated(
        name=system.name, program=system.program, evaluation=evaluation, records=records, document=document
    )
