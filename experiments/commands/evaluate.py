"""`reflective-rag evaluate`: one program on labelled questions."""

from pathlib import Path
from typing import Annotated, Any

import typer

from reflective_rag.experiments import options

Rows = Annotated[
    Path | None,
    typer.Option(
        "--rows",
        metavar="FILE",
        help="Write every row here as it comes; the same command again goes on where it stopped.",
    ),
]


def command(
    data: options.Data,
    program: options.Program = None,
    artifact: options.Artifact = None,
    corpus: options.Corpus = None,
    embedder: options.Embedder = "auto",
    limit: options.Limit = None,
    seed: options.Seed = None,
    threads: options.Threads = 1,
    k: options.K = None,
    mode: options.Mode = None,
    option: options.Option = None,
    lm: options.Lm = None,
    record: options.Record = None,
    replay: options.Replay = None,
    temperature: options.Temperature = None,
    max_tokens: options.MaxTokens = None,
    metric: options.Metric = None,
    rows: Rows = None,
    tracking: options.Tracking = "off",
    experiment: options.Experiment = "reflective-rag",
    json: options.Json = False,
) -> None:
    """Score one program on labelled questions.

        reflective-rag evaluate --program naive --data sample:dev

        reflective-rag evaluate --artifact artifacts/my --data dev.jsonl --corpus own --corpus more.jsonl --limit 50

    F1, EM, containment and recall come with intervals, beside what it cost and how it ended.
    Without --corpus it searches the passages of the data file itself. With --tracking the run is logged to MLflow:
    scores, rows, and why answers were wrong.
    """
    from reflective_rag.experiments.evaluating import Asked, evaluate_system
    from reflective_rag.experiments.tracking import check_store

    asked = Asked(
        data=data,
        program=program,
        artifact=artifact,
        corpus=corpus,
        embedder=embedder,
        limit=limit,
        seed=seed,
        threads=threads,
        k=k,
        mode=mode,
        option=option,
        lm=lm,
        model_options={"record": record, "replay": replay, "temperature": temperature, "max_tokens": max_tokens},
        metric=metric,
        rows=rows,
    )
    check_store(tracking)
    found = evaluate_system(asked)
    if tracking != "off":
        from reflective_rag.experiments.evaluation_tracking import log_evaluation

        found.document["run_id"] = log_evaluation(found, asked, uri=tracking, experiment=experiment)
    _show(found.document, found.name, json=json)


def _show(document: dict[str, Any], name: str, *, json: bool) -> None:
    from reflective_rag.experiments.console import note, out, print_json, print_whole
    from reflective_rag.experiments.diagnosis_print import next_words
    from reflective_rag.experiments.models import is_recording
    from reflective_rag.experiments.printing import summary_table
    from reflective_rag.experiments.warming import NOT_COUNTED

    if json:
        print_json(document)
        return
    title, lm = f"{document['n']} questions of {document['data']}", document["lm"]
    print_whole(summary_table([(f"{name} ({lm})", document)], title, recorded=is_recording(lm)))
    if line := next_words(document["diagnosis"]):
        out.print(line, markup=False)
    if document.get("run_id"):
        out.print(f"MLflow run {document['run_id']}")
    for text in [*document["notes"], "" if is_recording(lm) else NOT_COUNTED]:
        note(text)
    if document["data"].startswith("sample:"):
        note("scores on the bundled sample are a smoke test, never a result")
