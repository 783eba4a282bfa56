"""`reflective-rag compare`: several systems on the same questions."""

from pathlib import Path
from typing import Annotated, Any

import typer

from reflective_rag.experiments import options

EqualCost = Annotated[
    bool,
    typer.Option(
        "--equal-cost",
        help="Also run `naive`, which must come first, with other k: quality at equal tokens, tokens at equal quality.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Report, rows and risk-coverage plot. Without: printed only."),
]
Runs = Annotated[
    list[str] | None,
    typer.Option(
        "--runs",
        metavar="RUN...",
        help="Instead: a leaderboard of these MLflow runs; without programs and with `--experiment`, of all its runs.",
    ),
]
Split = Annotated[
    str | None,
    typer.Option("--split", metavar="NAME", help="Of compiles in a leaderboard: `dev` or `test`.", show_default="dev"),
]
Markdown = Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="The leaderboard as Markdown.")]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="The leaderboard as CSV.")]


def command(
    systems: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME_OR_DIR...", help="Programs or artefacts; the first is the baseline.", show_default=False
        ),
    ] = None,
    data: options.MaybeDataSets = None,
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
    equal_cost: EqualCost = False,
    out: Out = None,
    tracking: options.Tracking = "sqlite:///mlflow.db",
    experiment: options.MaybeExperiment = None,
    runs: Runs = None,
    split: Split = None,
    markdown: Markdown = None,
    csv: Csv = None,
    json: options.Json = False,
) -> None:
    """Score several programs side by side, with paired differences.

        reflective-rag compare naive reflective artifacts/my --data sample:dev

        reflective-rag compare --experiment reflective-rag --markdown leaderboard.md

    It shows what each costs in percent of the first, phase by phase, and how well each knows when it is right. The
    second form asks nothing: it ranks what is in MLflow, each compile before and after, and its candidates. Several
    `--data` are compared one by one; a system that loses on one of them is named, whatever it gains on the others.
    """
    from reflective_rag.experiments.comparing import DEFAULT_EXPERIMENT, check_form

    exports = {"--markdown": markdown, "--csv": csv, "--split": split}
    asking: dict[str, Any] = {"--corpus": corpus, "--limit": limit, "--seed": seed, "--k": k, "--record": record}
    asking |= {"--replay": replay, "--temperature": temperature, "--max-tokens": max_tokens, "--metric": metric}
    asking |= {"--equal-cost": equal_cost, "--out": out}
    if check_form(systems, data, runs, experiment, exports, asking):
        chosen = [name for word in [*(runs or []), *(systems or [])] for name in word.split(",") if name]
        _leaderboard(chosen, experiment or DEFAULT_EXPERIMENT, split or "dev", tracking, markdown, csv, json=json)
        return
    from reflective_rag.experiments.comparison_run import keep_summary, run_comparison, summary_over_data
    from reflective_rag.experiments.console import print_json
    from reflective_rag.experiments.sweeps.setting import Setting

    setting = Setting(
        data=list(dict.fromkeys(data or [])),
        corpus=corpus,
        embedder=embedder,
        limit=limit,
        seed=seed,
        threads=threads,
        k=k,
        lm=lm,
        model_options={"record": record, "replay": replay, "temperature": temperature, "max_tokens": max_tokens},
        out=out,
        tracking=tracking,
        experiment=experiment or DEFAULT_EXPERIMENT,
    )
    documents = run_comparison(setting, systems or [], metric=metric, equal_cost=equal_cost)
    if len(documents) == 1:
        _show(documents[0], json=json)
        return
    document = {"data": setting.data, "comparisons": documents, "over_data": summary_over_data(documents)}
    document["files"] = keep_summary(out, document)
    if json:
        print_json(document)
        return
    for each in documents:
        _show(each, json=False)
    _show_over_data(document)


def _show_over_data(document: dict[str, Any]) -> None:
    from reflective_rag.experiments.comparison_print import over_data_table
    from reflective_rag.experiments.console import out, print_whole

    print_whole(over_data_table(document["over_data"], document["comparisons"][0]["baseline"]))
    for path in document["files"]:
        out.print(path, markup=False)


def _show(document: dict[str, Any], *, json: bool) -> None:
    from reflective_rag.experiments.comparison_print import tables
    from reflective_rag.experiments.console import note, out, print_json, print_whole
    from reflective_rag.experiments.models import is_recording
    from reflective_rag.experiments.printing import difference_table, summary_table

    if json:
        print_json(document)
        return
    compared = [each for each in document["systems"] if "not_available" not in each]
    title = f"{document['n']} questions of {document['data']}"
    columns = [(f"{each['system']} ({each['lm']})", each) for each in compared]
    print_whole(summary_table(columns, title, recorded=is_recording(document["lm"])))
    without = [each for each in document["systems"] if "not_available" in each]
    for each in without:
        out.print(f"{each['system']}: n/a ({each['not_available']})", markup=False)
    if len(compared) > 1:
        print_whole(difference_table(compared, document["baseline"]))
    for table in tables(compared, document["baseline"], recorded=is_recording(document["lm"])):
        print_whole(table)
    told = [each["not_available"] for each in without]
    notes = [*document["notes"], *(text for each in document["systems"] for text in each["notes"] if text not in told)]
    for text in dict.fromkeys(notes):
        note(text)
    for path in document["files"]:
        out.print(path, markup=False)
    if document["run_id"]:
        out.print(f"MLflow run {document['run_id']}")


def _leaderboard(
    runs: list[str], experiment: str, split: str, tracking: str, markdown: Path | None, csv: Path | None, *, json: bool
) -> None:
    from rich.table import Table

    from reflective_rag.experiments.console import note, only_results, out, print_json, print_whole
    from reflective_rag.experiments.registry import tracking_uri
    from reflective_rag.experiments.run_leaderboard import HEADERS, cells, export, ranking

    with only_results():
        document = ranking(runs, experiment=experiment, split=split, uri=tracking_uri(tracking))
        document["files"] = export(document, to_markdown=markdown, to_csv=csv)
    if json:
        print_json(document)
        return
    table = Table(title=f"difference to {document['baseline']}, on the same questions", title_justify="left")
    for header in HEADERS:
        table.add_column(header)
    for row in cells(document):
        table.add_row(*row)
    print_whole(table)
    for each in document["candidates"]:
        out.print(f"{each['name']}: {each['val']:.3f} on val", markup=False)
    for path in document["files"]:
        out.print(path, markup=False)
    for text in document["notes"]:
        note(text)
