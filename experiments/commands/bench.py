"""`reflective-rag bench`: what our code costs on top of the model, and how often the critics are right."""

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from reflective_rag.experiments import options

_TIMED, _CRITICS = "bench loop, bench harness, bench retrieval", "bench critics"
_DATA = "bench critics, bench recall, bench retrieval"

Backends = Annotated[
    str,
    typer.Option(
        metavar="NAMES", help="Who judges: any of `rules`, `embedder`, `lm`, with commas.", rich_help_panel=_CRITICS
    ),
]
Judgements = Annotated[
    str | None,
    typer.Option(
        "--judgement",
        metavar="NAMES",
        show_default="all",
        help="`relevance`, `sufficiency`, `consistency`, `freshness`, `support`, with commas.",
        rich_help_panel=_CRITICS,
    ),
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="`NAME.train.jsonl` and `NAME.dev.jsonl` files (repeatable), or `sample`; for `recall` any labelled data.",
        rich_help_panel=_DATA,
    ),
]
Shared = Annotated[Path, typer.Option("--shared", metavar="DIR", help="Folder of such files.", rich_help_panel=_DATA)]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=2,
        metavar="N",
        show_default="rules 400, embedder 200, lm 22",
        help="Dev cases a judgement and language; half as many to tune on.",
        rich_help_panel=_CRITICS,
    ),
]
Pool = Annotated[
    Literal["all", "own"] | None,
    typer.Option(
        show_default="both",
        help="`all` files as one corpus, or each file's `own` passages.",
        rich_help_panel="bench recall",
    ),
]
Passages = Annotated[int, typer.Option(min=1000, help="In the index.", rich_help_panel="bench retrieval")]
Growth = Annotated[
    str | None,
    typer.Option(
        metavar="SIZES",
        help="Only how an index without vectors grows: numbers of passages, with commas (10000,100000,1000000).",
        rich_help_panel="bench retrieval",
    ),
]
Rows = Annotated[
    Path | None,
    typer.Option(
        "--rows", metavar="FILE", help="Keep every verdict; go on where it stopped.", rich_help_panel=_CRITICS
    ),
]


def command(
    what: Annotated[
        Literal["loop", "harness", "critics", "recall", "retrieval"],
        typer.Argument(
            help="`loop`: imports, overhead, side-by-side calls, throughput. `harness`: evaluation, logging, replay. "
            "`critics`: every judgement. `recall`: keyword, dense and hybrid search. `retrieval`: speed and size of an "
            "index."
        ),
    ] = "loop",
    repeats: Annotated[
        int,
        typer.Option(min=3, help="Measurements of each figure; medians are reported.", rich_help_panel=_TIMED),
    ] = 9,
    data: Data = None,
    shared: Shared = Path("../shared/data"),
    judgement: Judgements = None,
    backend: Backends = "rules,embedder",
    lm: options.Lm = None,
    limit: Limit = None,
    seed: Annotated[int, typer.Option(help="Of sample and intervals.", rich_help_panel=_DATA)] = 0,
    rows: Rows = None,
    pool: Pool = None,
    embedder: options.Embedder = "auto",
    passages: Passages = 100_000,
    growth: Growth = None,
    json: options.Json = False,
) -> None:
    """Measure the loop against bare DSPy, evaluating against bare threads, or the critics against labels.

    `bench loop` and `bench harness` need a quiet machine and ask no model; the latter takes some minutes.
    `bench critics` tunes a threshold on `*.train.jsonl` and reports `*.dev.jsonl`. `bench recall` asks the questions of
    `*.dev.jsonl`; passages are embedded once, and that may take an hour.
    `bench retrieval` makes passages like those of the sample and of `--shared`; it takes some minutes.
    """
    from reflective_rag.experiments.bench.machine import facts
    from reflective_rag.experiments.console import print_json

    if what == "recall":
        from reflective_rag.experiments.bench.recall_print import show as show_recall

        report: dict[str, Any] = {"bench": what, **_recall(data, shared, pool, embedder, seed)}
        show = show_recall
    elif what == "retrieval":
        from reflective_rag.experiments.bench.retrieval_print import show as show_retrieval

        report = {"bench": what, **_retrieval(repeats, passages, growth, shared)}
        show = show_retrieval
    elif what != "critics":
        report = {"bench": what, "rows": _timed(what, repeats)}
        show = _show_timed
    else:
        from reflective_rag.experiments.bench.critics_print import show as show_critics

        names = _names("--backend", backend, ("rules", "embedder", "lm"))
        judgements = _names("--judgement", judgement, None)
        report = {"bench": what, **_critics(data, shared, judgements, names, lm, limit, seed, rows)}
        show = show_critics
    report["machine"] = facts()
    if json:
        print_json(report)
    else:
        show(report)


def _timed(what: str, repeats: int) -> list[dict[str, Any]]:
    from importlib import import_module

    from reflective_rag.experiments.console import only_results

    bench = import_module(f"reflective_rag.experiments.bench.{what}")
    with only_results():
        rows: list[dict[str, Any]] = bench.run(repeats)
        return rows


def _recall(
    data: list[str] | None, shared: Path, pool: Literal["all", "own"] | None, embedder: str, seed: int
) -> dict[str, Any]:
    from reflective_rag.experiments.bench import recall
    from reflective_rag.experiments.console import only_results, progress_bar

    files = recall.find_files(data, shared)
    with only_results(), progress_bar() as bar:
        return recall.run(
            files,
            pools=(pool,) if pool else ("all", "own"),
            embedder=embedder,
            seed=seed,
            progress=lambda done, total: bar("indexing passages", done, total),
        )


def _retrieval(repeats: int, passages: int, growth: str | None, shared: Path) -> dict[str, Any]:
    from reflective_rag.experiments.bench import retrieval
    from reflective_rag.experiments.console import only_results
    from reflective_rag.signatures.errors import ConfigError

    sizes = [part.strip() for part in (growth or "").split(",") if part.strip()]
    if growth is not None and not (sizes and all(part.isdecimal() and int(part) > 0 for part in sizes)):
        raise ConfigError(f"`--growth` must be numbers of passages with commas, such as 10000,100000; got {growth!r}")
    with only_results():
        if sizes:
            return {"growth": retrieval.growth([int(size) for size in sizes], shared=shared)}
        return retrieval.run(repeats, passages=passages, shared=shared)


def _names(option: str, text: str | None, known: tuple[str, ...] | None) -> list[Any]:
    """The names of a list with commas. Raises `ConfigError` for one that is not known."""
    from reflective_rag.data.twins import Judged
    from reflective_rag.signatures.errors import ConfigError

    known = known or get_args(Judged)
    names = [name.strip() for name in (text or ",".join(known)).split(",") if name.strip()]
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        valid, got = ", ".join(f"`{name}`" for name in known), wrong[0] if wrong else text
        raise ConfigError(f"`{option}` must be one or several of {valid} (with commas), got {got!r}")
    return list(dict.fromkeys(names))


def _critics(
    data: list[str] | None,
    shared: Path,
    judgements: list[Any],
    backends: list[str],
    lm: str | None,
    limit: int | None,
    seed: int,
    rows: Path | None,
) -> dict[str, Any]:
    from contextlib import nullcontext

    from reflective_rag.experiments.bench import critics
    from reflective_rag.experiments.bench.critics_data import load
    from reflective_rag.experiments.console import note, only_results, progress_bar
    from reflective_rag.experiments.models import asking, open_model, ping
    from reflective_rag.signatures.errors import ConfigError

    model = open_model(lm) if "lm" in backends else None
    if model is not None and model.is_rules:
        raise ConfigError("the back end `lm` needs a model: give `--lm MODEL`, or leave `lm` out of `--backend`")
    found = load(data, shared, judgements, seed=seed)
    sizes = {name: limit or critics.LIMITS[name] for name in backends}
    about = (
        f"dev cases a judgement and language: {', '.join(f'{name} ≤ {size}' for name, size in sizes.items())}; half as "
        f"many of train for the thresholds; true and false alike, data sets and kinds in turn, seed {seed}"
    )
    if model is not None:
        calls = critics.planned_calls(found, judgements, limit=limit, seed=seed)
        about += f"; `{model.name}`, at most {calls} calls"
        note(f"at most {calls} calls to `{model.name}`; replies are cached, so the same command goes on where it stops")
        ping(model)
    with only_results(), progress_bar() as progress, asking(model) if model else nullcontext():
        report = critics.run(
            found,
            backends,
            judgements=judgements,
            model=model,
            limit=limit,
            seed=seed,
            rows=rows,
            progress=progress,
        )
    return {"about": about, "limits": sizes, "lm": model.name if model else None, **report}


def _show_timed(report: dict[str, Any]) -> None:
    from reflective_rag.experiments.bench.pairs import show

    show(report)
