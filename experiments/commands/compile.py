"""`reflective-rag compile`: a recipe becomes an artefact."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reflective_rag.experiments import options

if TYPE_CHECKING:
    from reflective_rag.experiments.compile_report import CompileReport


def command(
    recipe: Annotated[
        str | None,
        typer.Argument(metavar="[RECIPE]", help="A TOML file, or the name of a bundled recipe.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the artefact.", show_default="artifacts/NAME")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check and print the plan.")] = False,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", metavar="DOLLARS", help="Hard limit on what the model may cost.")
    ] = None,
    lm: options.Lm = None,
    record: options.Record = None,
    replay: options.Replay = None,
    temperature: options.Temperature = None,
    max_tokens: options.MaxTokens = None,
    tracking: Annotated[
        str | None, typer.Option("--tracking", envvar="RRAG_TRACKING", metavar="URI", help="In place of the recipe's.")
    ] = None,
    embedder: Annotated[
        str | None, typer.Option("--embedder", envvar="RRAG_EMBEDDER", metavar="NAME", help="In place of the recipe's.")
    ] = None,
    stage: Annotated[
        str | None, typer.Option("--stage", metavar="STAGE", help="all, critics or answer; in place of the recipe's.")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="RUN", help="Go on with a compile that ended early; nothing is paid twice."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Compile a recipe into an artefact, scored before and after.

    reflective-rag compile sample-controls

    reflective-rag compile my.toml --lm openai/gpt-4o-mini --dry-run

    reflective-rag compile my.toml --lm openai/gpt-4o-mini --max-cost 2 --out artifacts/my

    reflective-rag compile my.toml --lm openai/gpt-4o-mini --stage critics

    reflective-rag compile --resume my-3f9a2c
    """
    from reflective_rag.experiments.compile_begin import begun, resumed
    from reflective_rag.experiments.compiling import run_compile
    from reflective_rag.experiments.console import only_results, progress_bar
    from reflective_rag.optimizers.stages import check_stage_name

    if stage is not None:
        check_stage_name(stage)
    replaced = {"tracking": tracking, "embedder": embedder, "stage": stage}
    asked: dict[str, Any] = {
        "out": out,
        "lm": lm,
        "record": record,
        "temperature": temperature,
        "max_tokens": max_tokens,
    }
    with only_results(), progress_bar() as bar:
        if resume is None:
            order = begun(recipe, replaced, replay=replay, max_cost=max_cost, dry_run=dry_run, **asked)
        else:
            order = resumed(resume, max_cost, {"RECIPE": recipe, "dry_run": dry_run, "replay": replay, **asked})
        with order.told():
            report = run_compile(
                order.recipe,
                model=order.model,
                out=order.out,
                dry_run=dry_run,
                max_cost=order.max_cost,
                run=order.run,
                progress=bar,
            )
    _show(report, dry_run=dry_run, json=json)


def _show(report: "CompileReport", *, dry_run: bool, json: bool) -> None:
    from reflective_rag.experiments.console import note, print_json

    document = report.as_json()
    if json:
        print_json(document)
        return
    _print_plan(document)
    if not dry_run:
        _print_outcome(document)
    for text in document["warnings"]:
        note(text)


def _print_plan(document: dict[str, Any]) -> None:
    from reflective_rag.experiments.console import out

    plan, n = document["plan"], document["n"]
    calls, tokens, dollars = plan["calls"], plan["tokens"], plan["dollars"]
    money = "price unknown" if dollars is None else f"${dollars['low']:.2f} to ${dollars['high']:.2f}"
    lines = [
        f"{document['recipe']}: {document['program']} by {document['strategy']}{_stage(document)} on {document['lm']}",
        f"  questions  {', '.join(f'{name} {count}' for name, count in n.items())}",
        f"  planned    {plan['program_runs']:,} program runs, {_range(calls)} calls, {_range(tokens)} tokens, {money}",
    ]
    if document["started_from"]:
        lines.insert(1, f"  goes on    from {document['started_from']}")
    if plan["note"]:
        lines.append(f"  note       {plan['note']}")
    out.print("\n".join(lines), markup=False)


def _stage(document: dict[str, Any]) -> str:
    return "" if document["stage"] == "all" else f" (stage {document['stage']})"


def _range(ends: dict[str, int]) -> str:
    low, high = ends["low"], ends["high"]
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _spent(spent: dict[str, Any]) -> str:
    """What the models were asked in all."""
    tokens = spent["prompt_tokens"] + spent["completion_tokens"]
    parts = [f"asked {spent['calls']:,} calls, {tokens:,} tokens"]
    parts += [f"{spent['kept']:,} of them paid for by an earlier attempt"] if spent["kept"] else []
    parts += [f"{spent['failed']:,} more failed"] if spent["failed"] else []
    return "; ".join(parts)


def _plain(value: Any) -> str:
    """A setting as a person writes it."""
    return "(" + ", ".join(f"{k} {v}" for k, v in value.items()) + ")" if isinstance(value, dict) else str(value)


def _print_outcome(document: dict[str, Any]) -> None:
    from reflective_rag.experiments.console import note, out, print_whole
    from reflective_rag.experiments.models import is_recording
    from reflective_rag.experiments.printing import summary_table
    from reflective_rag.experiments.tuning_words import tuning_lines
    from reflective_rag.experiments.warming import NOT_COUNTED

    columns = []
    for split in document["after"]:
        columns += [(f"{split} before", document["before"][split]), (f"{split} after", document["after"][split])]
    recorded = is_recording(document["lm"])
    print_whole(summary_table(columns, recorded=recorded))
    for text in document["verdict"].values():
        out.print(text, markup=False)
    note("" if recorded else NOT_COUNTED)
    for name, value in document["chosen"].items():
        shown = ", ".join(f"{k} {_plain(v)}" for k, v in value.items()) if isinstance(value, dict) else value
        out.print(f"{name}: {shown}", markup=False)
    if not document["chosen"]:
        out.print("nothing changed: the program it began with is the best that was found")
    for line in tuning_lines(document["report"]):
        out.print(line, markup=False)
    if document["dollars"] is not None:
        out.print(f"spent ${document['dollars']:.4f}")
    if spent := document["spent"]:
        out.print(_spent(spent), markup=False)
    older = " (replaced the artefact that was there)" if document["replaced"] else ""
    out.print(f"artefact {document['artifact']}{older}", markup=False)
    if document["run_id"]:
        out.print(f"MLflow run {document['run_id']}")
