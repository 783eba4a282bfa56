"""`reflective-rag calibrate`: confidence becomes a probability, and a wanted risk a threshold."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from reflective_rag.experiments import options

Data = Annotated[
    list[str],
    typer.Option("--data", metavar="FILE", help="Labelled questions (JSONL), or `sample:test`. Repeatable."),
]
Method = Annotated[
    str, typer.Option("--method", metavar="NAME", help="`logistic` (all signals) or `isotonic` (evidence score).")
]
Risk = Annotated[
    list[float] | None,
    typer.Option(
        "--risk", metavar="SHARE", help="Wanted risk, such as 0.1. Repeatable.", show_default="0.05, 0.1, 0.2"
    ),
]
Delta = Annotated[
    float, typer.Option("--delta", metavar="SHARE", help="Chance that the labels mislead about the risk.")
]
Rule = Annotated[
    list[str] | None,
    typer.Option(
        "--abstain-rule",
        metavar="NAME",
        help="Of what the risk is: `selective` (of the answers, the wrong share) or `joint` (of all questions, the "
        "share answered and wrong). Repeatable.",
        show_default="both",
    ),
]
Correct = Annotated[
    str,
    typer.Option(
        "--correct", metavar="NAME", help="What counts as right: `f1` (from 0.5 on), `em`, `containment` or `groups`."
    ),
]
Rows = Annotated[
    Path | None,
    typer.Option(
        "--rows", metavar="FILE", help="Rows of an earlier `evaluate`; what they lack is asked, and added to them."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Report and plots; with `--program` also the artefact. Without: printed only."
    ),
]


def command(
    data: Data,
    program: options.Program = None,
    artifact: options.Artifact = None,
    corpus: options.Corpus = None,
    embedder: options.Embedder = "auto",
    limit: options.Limit = None,
    seed: options.Seed = None,
    threads: options.Threads = 1,
    mode: options.Mode = None,
    option: options.Option = None,
    method: Method = "logistic",
    risk: Risk = None,
    delta: Delta = 0.1,
    abstain_rule: Rule = None,
    correct: Correct = "f1",
    ablate: Annotated[bool, typer.Option("--ablate", help="Also measure what each dimension adds.")] = False,
    lm: options.Lm = None,
    record: options.Record = None,
    replay: options.Replay = None,
    temperature: options.Temperature = None,
    max_tokens: options.MaxTokens = None,
    rows: Rows = None,
    out: Out = None,
    tracking: options.Tracking = "sqlite:///mlflow.db",
    experiment: options.Experiment = "reflective-rag",
    json: options.Json = False,
) -> None:
    """Fit the confidence of a program on labelled questions, and find where to abstain.

        reflective-rag calibrate --artifact artifacts/my --data calibration.jsonl --risk 0.1 --out reports/my

        reflective-rag ask "…" --artifact artifacts/my --option abstain_at_risk=0.1

        reflective-rag ask "…" --artifact artifacts/my --option abstain_at_risk=0.1 --option abstain_rule=joint

    Use questions that neither the compile nor a test has seen. It holds for this program, model and corpus.
    """
    from reflective_rag.data.records import pool
    from reflective_rag.experiments.calibrating import (
        bound,
        check_out,
        embedder_of,
        keep,
        metric_and_column,
        refuse_changes,
    )
    from reflective_rag.experiments.calibration_notes import seen_note, worse_note
    from reflective_rag.experiments.calibration_tracking import log_calibration
    from reflective_rag.experiments.console import only_results, progress_bar
    from reflective_rag.experiments.corpora import load_data, open_search, search_note
    from reflective_rag.experiments.measuring import measure, rows_header
    from reflective_rag.experiments.models import asking, model_named, open_model, ping
    from reflective_rag.experiments.recipes import OWN
    from reflective_rag.experiments.rows import open_rows
    from reflective_rag.experiments.systems import parse_options, pick_system
    from reflective_rag.experiments.tracking import check_store
    from reflective_rag.optimizers.calibration.cases import collect
    from reflective_rag.optimizers.calibration.report import RISKS, calibrate, check_wanted
    from reflective_rag.programs.calibration import RULES

    names, risks, rules = corpus or [OWN], tuple(risk or RISKS), tuple(abstain_rule or RULES)
    metric, column = metric_and_column(correct)
    check_wanted(method, risks, delta, rules)
    refuse_changes(artifact, changed=bool(option or mode))
    check_out(out)
    check_store(tracking)
    with only_results(), progress_bar() as bar:
        everything = {name: load_data(name) for name in dict.fromkeys(data)}
        records = [record for name in everything for record in load_data(name, limit=limit, seed=seed)]
        model = open_model(lm, record=record, replay=replay, temperature=temperature, max_tokens=max_tokens)
        system = pick_system(program, artifact, model, options=parse_options(option, mode=mode))
        system.program.use_calibration(None)
        seen = seen_note(artifact, everything)
        flat = [record for part in everything.values() for record in part]
        indexing = partial(bar, "indexing passages")
        embedder = embedder_of(artifact, embedder)
        with asking(model), open_search(names, pool(flat), embedder=embedder, progress=indexing) as search:
            system.searching(search)
            asked = model_named(system.program, model)
            header = rows_header(system, lm=asked, data=flat, corpus=names, search=search, metric=metric)
            with open_rows(rows, header) as file:
                if any(record.id not in file.done for record in records):
                    ping(model)
                evaluation = measure(
                    system, records, metric=metric, threads=threads, done=file.done, keep=file.add, progress=bar
                )
            labelled = collect(evaluation.rows, column)
            report = calibrate(labelled, method, risks=risks, delta=delta, rules=rules, ablate=ablate, seed=seed or 0)
            fitted = bound(report.calibration, system.program, everything, names, search, correct)
            report = report.with_calibration(fitted)
    about = {"program": system.program.name, "data": list(everything), "lm": asked, "corpus": names}
    notes = [*system.notes, *filter(None, [search_note(search, embedder), seen, worse_note(report)])]
    document = {**about, "method": method, "correct": correct, "delta": delta, **report.to_dict(), "notes": notes}
    document |= keep(report, document, system, artifact, out)
    with only_results():
        where = {"uri": tracking, "experiment": experiment}
        document["run_id"] = log_calibration(report, document, evaluation, system, everything, **where)
    _show(document, json=json)


def _show(document: dict[str, Any], *, json: bool) -> None:
    from reflective_rag.experiments.calibration_notes import use_note
    from reflective_rag.experiments.calibration_tables import quality_table, risk_table
    from reflective_rag.experiments.console import note, out, print_json, print_whole

    if json:
        print_json(document)
        return
    print_whole(quality_table(document))
    print_whole(risk_table(document))
    for text in [*(each["note"] for each in document["risks"]), use_note(document["risks"]), *document["notes"]]:
        note(text)
    if any(name.startswith("sample:") for name in document["data"]):
        note("scores on the bundled sample are a smoke test, never a result")
    if document["artifact"]:
        out.print(f"calibration in {document['artifact']}", markup=False)
    else:
        note("the calibration was not kept: name an artefact, or give `--out`")
    for path in document["files"]:
        out.print(path, markup=False)
    if document["run_id"]:
        out.print(f"MLflow run {document['run_id']}")
