"""`reflective-rag diagnose`: why answers are wrong, and what to work on next."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reflective_rag.experiments import options

if TYPE_CHECKING:
    from reflective_rag.optimizers.diagnosis import Diagnosis

Rows = Annotated[
    Path | None,
    typer.Option(
        "--rows",
        metavar="FILE",
        help="Rows of an earlier `evaluate`; with `--data` what they lack is asked, and added.",
    ),
]
Correct = Annotated[
    str,
    typer.Option(
        "--correct", metavar="NAME", help="What counts as right: `f1` (from 0.5 on), `em`, `containment` or `groups`."
    ),
]


def command(
    data: options.MaybeData = None,
    rows: Rows = None,
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
    correct: Correct = "f1",
    json: options.Json = False,
) -> None:
    """Say why answers are wrong: one kind of failure a question, with shares, examples, and what to work on next.

        reflective-rag diagnose --rows rows.jsonl

        reflective-rag diagnose --program reflective --data dev.jsonl

    The labels decide: was a supporting passage not retrieved, dropped, or not missed by the critic; or was everything
    read, and the answer missing, not carried, or another one?
    """
    from reflective_rag.experiments.calibrating import metric_and_column
    from reflective_rag.experiments.evaluating import Asked, evaluate_system
    from reflective_rag.optimizers.diagnosis import diagnose
    from reflective_rag.signatures.errors import ConfigError

    metric, column = metric_and_column(correct)
    if data is None:
        if rows is None:
            raise ConfigError("give `--rows FILE` of an earlier `evaluate`, or `--data` and a program to ask")
        if program or artifact:
            raise ConfigError("`--program` and `--artifact` are asked on `--data`; leave them out to read `--rows`")
        name, found = str(rows), _read(rows, metric)
        _show(diagnose(found, correct=column), {"system": name}, json=json)
        return
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
    done = evaluate_system(asked)
    about = {"system": done.name, **{name: done.document[name] for name in ("data", "lm", "notes")}}
    _show(diagnose(done.evaluation.rows, done.records, column, program=done.program), about, json=json)


def _read(path: Path, metric: str | None) -> list[Any]:
    """The rows of a file without cells."""
    from reflective_rag.experiments.rows import read_rows
    from reflective_rag.signatures.errors import DataError

    found = read_rows(path)
    rows = list(found.cells.get("", ()))
    if not rows:
        raise DataError(f"`{path}` holds no rows of a plain evaluation; give a file that `evaluate --rows` wrote")
    if metric is not None and found.header.get("metric") != metric:
        raise DataError(
            f"`{path}` has no scores of {metric!r}; evaluate with `--metric {metric}`, or use another `--correct`"
        )
    return rows


def _show(diagnosis: "Diagnosis", about: dict[str, Any], *, json: bool) -> None:
    from reflective_rag.experiments.console import note, out, print_json, print_whole
    from reflective_rag.experiments.diagnosis_print import example_lines, kinds_table, next_words

    document = diagnosis.to_dict()
    if json:
        print_json({**about, **document})
        return
    print_whole(kinds_table(document))
    for line in example_lines(document):
        out.print(line, markup=False)
    if document["right_but_unsupported"]:
        out.print(f"{document['right_but_unsupported']} right answers claim something that no passage carries")
    out.print(next_words(document) or "nothing went wrong", markup=False)
    for text in about.get("notes", ()):
        note(text)
