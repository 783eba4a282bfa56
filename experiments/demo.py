"""`make demo`: the main job on the bundled sample, from an empty folder to an artefact that another process loads.

Everything here is done with the functions that the commands use. Two kinds of rows stand side by side and say which
they are: `rules` (no model), and a recording of a real compile with a small local model, replayed call by call.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from reflective_rag.data.secrets import scrub
from reflective_rag.experiments.cli import logging_restored, quiet  # first: it sets the environment before DSPy loads
from reflective_rag.experiments.compiling import CompileReport, flat_metrics, rows_of, run_compile
from reflective_rag.experiments.console import err, note, out, print_whole, progress_bar
from reflective_rag.experiments.corpora import open_search, search_note
from reflective_rag.experiments.measuring import measure, summary_of
from reflective_rag.experiments.models import is_recording, open_model
from reflective_rag.experiments.printing import leaderboard_table
from reflective_rag.experiments.recipes import Recipe, load_recipe
from reflective_rag.experiments.systems import named_system
from reflective_rag.experiments.tracking import DEFAULT_URI, tracked
from reflective_rag.signatures.errors import ReflectiveRAGError

Row = tuple[str, str, dict[str, Any]]
"""A row of the leaderboard: program, model, summary."""

EXPERIMENT = "demo"
ARTEFACTS = Path("artifacts")
RECORDING = "sample-mipro.jsonl.gz"
QUESTIONS = (
    "In which town was the poet born whose verses are sung in the finale of Beethoven's Ninth Symphony?",
    "设计悉尼歌剧院的建筑师在哪一年获得普利兹克奖？",
)


def main() -> None:
    """Run the demo; what goes wrong is one line on stderr."""
    try:
        with logging_restored():
            quiet()
            _demo()
    except ReflectiveRAGError as error:
        err.print(f"error: {scrub(str(error))}", style="red", markup=False)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        err.print("error: interrupted", style="red")
        raise SystemExit(130) from None


def _demo() -> None:
    """Prints what it does and ends with what to do next."""
    started = time.monotonic()
    with _step("1/5  index the sample, evaluate NaiveRAG and ReflectiveRAG on rules (no language model)"):
        rows = _baselines()
    with _step("2/5  compile: tune the stopping rule by replay, still without a model"):
        controls = _compile("sample-controls", "demo-controls", lm="rules")
        _tuned(controls)
    with _step("3/5  replay the recording of a real MIPROv2 compile"):
        mipro = _compile("sample-mipro", "demo-mipro", replay=recording_path())
        _what_changed(mipro)
    _leaderboard([*rows, *_rows_of(controls, "rules"), *_rows_of(mipro, mipro.lm)])
    with _step("4/5  load the artefact in another process and ask"):
        _ask(controls)
    out.print("[bold]5/5  what next[/]")
    out.print(_NEXT.format(seconds=time.monotonic() - started), markup=False)


def recording_path() -> Path:
    """The shipped recording."""
    return Path(str(files("reflective_rag.experiments") / "recordings" / RECORDING))


@contextmanager
def _step(title: str) -> Iterator[None]:
    out.print(f"[bold]{title}[/]")
    started = time.monotonic()
    yield
    out.print(f"      {time.monotonic() - started:.0f} s", style="dim")


def _recipe(name: str) -> Recipe:
    return load_recipe(name).model_copy(update={"experiment": EXPERIMENT, "tracking": DEFAULT_URI})


def _baselines() -> list[Row]:
    """Both programs on the test questions, each logged as a run of its own."""
    recipe = _recipe("sample-controls")
    model = open_model("rules")
    from reflective_rag.data.records import load_sample, pool

    records = load_sample("test")
    own = pool(record for split in ("train", "dev", "test") for record in load_sample(split))
    rows = []
    with ExitStack() as opened:
        opened.enter_context(model.use())
        with progress_bar() as bar:
            indexing = partial(bar, "indexing passages")
            search = opened.enter_context(open_search(["own"], own, embedder=recipe.embedder, progress=indexing))
        out.print(f"      {search.count()} passages, {search.mode} search", markup=False)
        note(search_note(search, recipe.embedder))
        for name in ("naive", "reflective"):
            system = named_system(name, model, options={"k": 5}).searching(search)
            with progress_bar() as bar:
                evaluation = measure(system, records, threads=2, progress=bar)
            summary = summary_of(evaluation, None)
            with tracked(f"{name} (rules)", experiment=EXPERIMENT, uri=DEFAULT_URI, params={"program": name}) as run:
                run.metrics(flat_metrics(summary))
                run.table("rows", rows_of(evaluation))
            rows.append((name, "rules", summary))
    return rows


def _compile(recipe: str, folder: str, **model: Any) -> CompileReport:
    lm, replay = model.get("lm"), model.get("replay")
    with progress_bar() as bar:
        return run_compile(_recipe(recipe), model=open_model(lm, replay=replay), out=ARTEFACTS / folder, progress=bar)


def _rows_of(report: CompileReport, model: str) -> list[Row]:
    """The compiled program on the test questions; where a model was asked, the uncompiled one too."""
    after = report.after["test"].summary()
    name = report.recipe.program
    compiled = [(f"{name}, compiled by {report.recipe.strategy}", model, after)]
    if report.lm == "rules":
        return compiled
    return [(name, model, report.before["test"].summary()), *compiled]


def _tuned(report: CompileReport) -> None:
    """What tuning the stopping rule gained, in one line."""
    before, after = (report.before["test"].summary(), report.after["test"].summary())
    searches = " → ".join(f"{summary['retrievals_per_question']:.2f}" for summary in (before, after))
    scores = " → ".join(f"{summary['f1']['mean']:.3f}" for summary in (before, after))
    out.print(f"      tuned stopping rule: retrievals per question {searches}, F1 {scores}", style="dim")


def _leaderboard(rows: list[Row]) -> None:
    out.print("[bold]what came out, side by side[/]")
    short = [(name, "recording" if is_recording(model) else model, summary) for name, model, summary in rows]
    print_whole(leaderboard_table(short, title="test questions of the bundled sample: a smoke test, never a result"))
    for model in dict.fromkeys(model for _, model, _ in rows if is_recording(model)):
        out.print(f"      recording: the replies of {model.removesuffix(' (recording)')}", style="dim", markup=False)
    out.print("      tokens and retrievals are per question; F1 with a 95 % bootstrap interval", style="dim")
    out.print()


def _what_changed(report: CompileReport) -> None:
    out.print("      what the recorded compile changed:", style="dim")
    for name, text in report.chosen.get("instructions", {}).items():
        out.print(f"      instruction of {name}: {' '.join(text.split())[:400]}", markup=False)
    for name, count in report.chosen.get("demos", {}).items():
        out.print(f"      demos of {name}: {count}", markup=False)
    before, after = (part["test"].interval("f1").mean or 0.0 for part in (report.before, report.after))
    gain = after - before
    verdict = "it helped" if gain > 0 else "it did NOT help: fewer right, more tokens"
    out.print(f"      on the {len(report.after['test'].rows)} test questions {verdict} (F1 {gain:+.3f})", markup=False)
    out.print("      (chosen on 12 questions, by a 0.5B model: it need not hold on others)", style="dim")
    if not report.chosen:
        out.print("      nothing: no candidate beat the program as it was on the validation questions", markup=False)


def _ask(report: CompileReport) -> None:
    for question in QUESTIONS:
        out.print(f"\n      {question}", style="bold", markup=False)
        command = [
            sys.executable,
            "-m",
            "reflective_rag.experiments",
            "ask",
            question,
            "--artifact",
            str(report.artifact),
        ]
        done = subprocess.run([*command, "--lm", "rules"], capture_output=True, text=True, check=False)
        out.print("\n".join("      " + line for line in done.stdout.splitlines()), markup=False)
        if done.returncode:
            err.print(done.stderr, markup=False)
            raise SystemExit(done.returncode)


_NEXT = """      done in {seconds:.0f} s. Runs are in mlflow.db and mlartifacts/, artefacts in artifacts/.

      see the runs          .venv/bin/mlflow ui --backend-store-uri sqlite:///mlflow.db
      ask                   .venv/bin/reflective-rag ask "Which lake is deeper, Lake Baikal or Lake Tanganyika?"
      use your own model    .venv/bin/reflective-rag compile sample-mipro --lm openai/gpt-4o-mini --dry-run
      use your own data     .venv/bin/reflective-rag evaluate --data my.jsonl --corpus my-passages.jsonl
                            (a line of my.jsonl: {{"id": "1", "question": "…", "answers": ["…"], "passages": []}})
"""

if __name__ == "__main__":
    main()
