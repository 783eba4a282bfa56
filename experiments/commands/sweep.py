"""`reflective-rag sweep`: the same questions at one share of noise, or one threshold, after another."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from reflective_rag.experiments import options

_NOISE, _THRESHOLD = "sweep noise", "sweep threshold"
PROGRAMS, RATES, KINDS = "naive,self-rag,reflective,corrective", "0,.2,.4,.6,.8,1", "unrelated,tangential"
THETAS = "0,.1,.2,.3,.4,.5,.6,.7,.8,.9,1"

Programs = Annotated[
    str | None,
    typer.Option(
        show_default=PROGRAMS,
        metavar="NAMES",
        help="Programs or artefacts, with commas; the first is the baseline. `always` (as many searches for each "
        "question, blindly) runs beside `reflective`.",
        rich_help_panel=_NOISE,
    ),
]
Rates = Annotated[
    str | None,
    typer.Option(
        show_default=RATES,
        metavar="SHARES",
        help="Shares of noise, with commas; 1 measures refusal.",
        rich_help_panel=_NOISE,
    ),
]
Kinds = Annotated[
    str | None,
    typer.Option(
        show_default=KINDS,
        metavar="NAMES",
        help="`unrelated`, `tangential`, `outdated`, `counterfactual`, with commas.",
        rich_help_panel=_NOISE,
    ),
]
Correct = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What counts as right: `groups` (containment of every part, and of nothing planted), `f1` (from 0.5 on), "
        "`em` or `containment`. For a threshold the score itself is the quality.",
    ),
]
Thetas = Annotated[
    str | None,
    typer.Option(show_default=THETAS, metavar="VALUES", help="Values of θ, with commas.", rich_help_panel=_THRESHOLD),
]
Presets = Annotated[
    bool, typer.Option("--presets", help="Also the presets, each recorded with its own k.", rich_help_panel=_THRESHOLD)
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Rows (a sweep that was stopped goes on from them), report and plots. Without: printed only.",
    ),
]


def command(
    what: Annotated[
        Literal["noise", "threshold"],
        typer.Argument(help="`noise`: robustness of several systems. `threshold`: θ of ReflectiveRAG, by replay."),
    ],
    data: options.DataSets,
    programs: Programs = None,
    rates: Rates = None,
    kinds: Kinds = None,
    correct: Correct = "groups",
    thetas: Thetas = None,
    presets: Presets = False,
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
    out: Out = None,
    tracking: options.Tracking = "sqlite:///mlflow.db",
    experiment: options.Experiment = "reflective-rag",
    json: options.Json = False,
) -> None:
    """Measure systems under noise, or ReflectiveRAG under other thresholds.

        reflective-rag sweep noise --data dev.jsonl --kinds tangential,counterfactual --out sweeps/noise

        reflective-rag sweep threshold --data dev.jsonl --out sweeps/theta

    Noise wraps the retriever: every search of every system, first or later, returns the same share of it (`--seed`).
    A threshold is tried on one recorded pass, without further model calls.
    """
    from reflective_rag.experiments.sweeps.setting import Setting

    setting = Setting(
        data=list(dict.fromkeys(data)),
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
        experiment=experiment,
    )
    ours = {"--programs": programs, "--rates": rates, "--kinds": kinds}
    theirs = {"--thetas": thetas, "--presets": presets or None, "--artifact": artifact, "--mode": mode}
    _refuse(what, theirs | {"--option": option} if what == "noise" else ours)
    if what == "noise":
        _noise(setting, _or(programs, PROGRAMS), _or(rates, RATES), _or(kinds, KINDS), correct, json=json)
    else:
        _threshold(setting, _or(thetas, THETAS), correct, presets, artifact, mode, option, json=json)


def _or(given: str | None, default: str) -> str:
    return default if given is None else given


def _refuse(what: str, given: dict[str, Any]) -> None:
    """Raise `ConfigError` for an option of the other sweep: it would be passed over in silence."""
    from reflective_rag.signatures.errors import ConfigError

    if wrong := next((name for name, value in given.items() if value is not None), None):
        raise ConfigError(f"`{wrong}` means nothing to `sweep {what}`; see `reflective-rag sweep --help`")


def _noise(setting: Any, programs: str, rates: str, kinds: str, correct: str, *, json: bool) -> None:
    from reflective_rag.experiments.sweeps.noise_command import sweep_noise
    from reflective_rag.experiments.sweeps.noise_print import show

    _print(sweep_noise(setting, programs=programs, rates=rates, kinds=kinds, correct=correct), show, json)


def _threshold(
    setting: Any,
    thetas: str,
    correct: str,
    presets: bool,
    artifact: Path | None,
    mode: str | None,
    option: list[str] | None,
    *,
    json: bool,
) -> None:
    from reflective_rag.experiments.sweeps.threshold import sweep_threshold
    from reflective_rag.experiments.sweeps.threshold_print import show

    chosen: dict[str, Any] = {"artifact": artifact, "mode": mode, "option": option}
    _print(sweep_threshold(setting, thetas=thetas, correct=correct, presets=presets, **chosen), show, json)


def _print(document: dict[str, Any], show: Any, json: bool) -> None:
    from reflective_rag.experiments.console import note, out, print_json

    if json:
        print_json(document)
        return
    show(document)
    for text in document["notes"]:
        note(text)
    for path in document["files"]:
        out.print(path, markup=False)
    if document["run_id"]:
        out.print(f"MLflow run {document['run_id']}")
