"""`reflective-rag compare`: several systems on the same questions."""

from functools import partial
from typing import Annotated, Any

import typer

from reflective_rag.experiments import options


def command(
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME_OR_DIR...", help="Programs or artefacts; the first is the baseline.", show_default=False
        ),
    ],
    data: options.Data,
    corpus: options.Corpus = None,
    embedder: options.Embedder = "auto",
    limit: options.Limit = None,
    seed: options.Seed = None,
    threads: options.Threads = 1,
    k: options.K = None,
    lm: options.Lm = None,
    record: options.Record = None,
    replay: options.Replay = None,
    temperature: options.Temperature = None,
    max_tokens: options.MaxTokens = None,
    metric: options.Metric = None,
    tracking: options.Tracking = "sqlite:///mlflow.db",
    experiment: options.Experiment = "reflective-rag",
    json: options.Json = False,
) -> None:
    """Score several programs side by side, with paired differences.

    reflective-rag compare naive reflective artifacts/my --data sample:dev
    """
    from reflective_rag.data.records import pool
    from reflective_rag.experiments.comparing import check_baseline, check_names, tracked_comparison
    from reflective_rag.experiments.console import only_results, progress_bar
    from reflective_rag.experiments.corpora import load_data, open_search, search_note
    from reflective_rag.experiments.measuring import check_metric
    from reflective_rag.experiments.models import asking, open_model, ping
    from reflective_rag.experiments.recipes import OWN
    from reflective_rag.experiments.systems import any_system, parse_options, searches
    from reflective_rag.experiments.tracking import check_store

    names = corpus or [OWN]
    with only_results(), progress_bar() as bar:
        everything = load_data(data)
        records = load_data(data, limit=limit, seed=seed)
        check_metric(metric)
        check_names(systems)
        model = open_model(lm, record=record, replay=replay, temperature=temperature, max_tokens=max_tokens)
        built = [
            any_system(name, model, options=parse_options(None, k=k if searches(name) else None)) for name in systems
        ]
        check_baseline(built, model)
        check_store(tracking)
        ping(model)
        about = {"lm": model.name, "data": data, "corpus": names, "embedder": embedder, "systems": systems}
        how = {"metric": metric, "threads": threads, "progress": bar}
        indexing = partial(bar, "indexing passages")
        with asking(model), open_search(names, pool(everything), embedder=embedder, progress=indexing) as search:
            built = [system.searching(search) for system in built]
            compared, run_id = tracked_comparison(built, records, model, experiment, tracking, params=about, **how)
    document = {"data": data, "lm": model.name, "corpus": names, "n": len(records), "baseline": systems[0]}
    document |= {"systems": compared, "run_id": run_id, "notes": list(filter(None, [search_note(search, embedder)]))}
    _show(document, json=json)


def _show(document: dict[str, Any], *, json: bool) -> None:
    from reflective_rag.experiments.console import note, out, print_json
    from reflective_rag.experiments.models import is_recording
    from reflective_rag.experiments.printing import difference_table, summary_table

    if json:
        print_json(document)
        return
    compared = [each for each in document["systems"] if "not_available" not in each]
    title = f"{document['n']} questions of {document['data']}"
    columns = [(f"{each['system']} ({each['lm']})", each) for each in compared]
    out.print(summary_table(columns, title, recorded=is_recording(document["lm"])))
    if len(compared) > 1:
        out.print(difference_table(compared, document["baseline"]))
    for text in dict.fromkeys([*document["notes"], *(text for each in document["systems"] for text in each["notes"])]):
        note(text)
    if document["run_id"]:
        out.print(f"MLflow run {document['run_id']}")
