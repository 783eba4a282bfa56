"""`reflective-rag evaluate`: one program on labelled questions."""

from functools import partial
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
    json: options.Json = False,
) -> None:
    """Score one program on labelled questions.

        reflective-rag evaluate --program naive --data sample:dev

        reflective-rag evaluate --artifact artifacts/my --data dev.jsonl --corpus own --corpus more.jsonl --limit 50

    F1, EM, containment and recall come with intervals, beside what it cost and how it ended.
    Without --corpus it searches the passages of the data file itself.
    """
    from reflective_rag.data.records import pool
    from reflective_rag.experiments.calibration_notes import corpus_note
    from reflective_rag.experiments.console import only_results, progress_bar
    from reflective_rag.experiments.corpora import load_data, open_search, search_note
    from reflective_rag.experiments.measuring import check_metric, measure, rows_header, summary_of
    from reflective_rag.experiments.models import asking, model_named, open_model, ping
    from reflective_rag.experiments.recipes import OWN
    from reflective_rag.experiments.rows import open_rows
    from reflective_rag.experiments.systems import parse_options, pick_system

    chosen, names = parse_options(option, k=k, mode=mode), corpus or [OWN]
    with only_results(), progress_bar() as bar:
        everything = load_data(data)
        records = load_data(data, limit=limit, seed=seed)
        check_metric(metric)
        model = open_model(lm, record=record, replay=replay, temperature=temperature, max_tokens=max_tokens)
        system = pick_system(program, artifact, model, options=chosen)
        ping(model)
        indexing = partial(bar, "indexing passages")
        with asking(model), open_search(names, pool(everything), embedder=embedder, progress=indexing) as search:
            system.searching(search)
            asked = model_named(system.program, model)
            calibrated = corpus_note(system.program, search)
            header = rows_header(system, lm=asked, data=everything, corpus=names, search=search, metric=metric)
            with open_rows(rows, header) as file:
                evaluation = measure(
                    system, records, metric=metric, threads=threads, done=file.done, keep=file.add, progress=bar
                )
    about = {"program": system.program.name, "data": data, "lm": asked}
    notes = [*system.notes, *filter(None, [search_note(search, embedder), calibrated])]
    extra = {"artifact": str(artifact) if artifact else None, "corpus": names, "notes": notes}
    _show({**about, **summary_of(evaluation, metric), **extra}, system.name, json=json)


def _show(document: dict[str, Any], name: str, *, json: bool) -> None:
    from reflective_rag.experiments.console import note, out, print_json
    from reflective_rag.experiments.models import is_recording
    from reflective_rag.experiments.printing import summary_table

    if json:
        print_json(document)
        return
    title, lm = f"{document['n']} questions of {document['data']}", document["lm"]
    out.print(summary_table([(f"{name} ({lm})", document)], title, recorded=is_recording(lm)))
    for text in document["notes"]:
        note(text)
    if document["data"].startswith("sample:"):
        note("scores on the bundled sample are a smoke test, never a result")
