"""`reflective-rag index`: files and data sets into an index on disk, or into a collection on a server."""

import time
from typing import Annotated

import typer

from reflective_rag.experiments import options

Everything = Annotated[
    bool, typer.Option("--everything", help="Read every file again, also those that have not changed.")
]
Drop = Annotated[
    bool,
    typer.Option(
        "--drop", help="Take these sources, or single files of them, out of the index; they need not exist any more."
    ),
]
MaxMb = Annotated[
    int, typer.Option("--max-mb", min=1, help="Documents larger than this are skipped; data files may be of any size.")
]


def command(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="A folder of documents, a document, JSONL, CSV or Parquet, `datasets:NAME:CONFIG:SPLIT`, or `sample`.",
            show_default=False,
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="ADDRESS",
            help="Where the index is, or will be: `local:PATH`, `weaviate://HOST/Collection`.",
        ),
    ],
    embedder: options.Embedder = "auto",
    everything: Everything = False,
    drop: Drop = False,
    max_mb: MaxMb = 100,
    json: options.Json = False,
) -> None:
    """Put documents and passages into an index, new or existing: on disk, or on a Weaviate server.

        reflective-rag index handbook/ faq.csv --to local:my-index

        reflective-rag ask "…" --corpus local:my-index

        reflective-rag index my.jsonl --to weaviate://localhost/MyPassages

        reflective-rag index faq.csv --drop --to local:my-index

    Folders are searched for .txt .md .html .pdf .docx .pptx (extra `files`). Run it again after
    a change: what has not changed costs nothing, what is gone from a source is removed, and a broken run goes on where
    it was. What was left out is listed with the reason. A server's key comes from WEAVIATE_API_KEY.
    """
    from reflective_rag.experiments.console import err, note, only_results, out, print_json, progress_bar
    from reflective_rag.experiments.indexing import drop_sources, index_sources

    started = time.perf_counter()
    with only_results(), progress_bar() as bar:
        if drop:
            report, about = drop_sources(source, to)
        else:
            report, about = index_sources(source, to, embedder=embedder, everything=everything, max_mb=max_mb, bar=bar)
    if json:
        print_json({"to": to, "sources": source, **report.as_json(), **about, "seconds": time.perf_counter() - started})
        return
    counts = report.as_json()
    if drop:
        out.print(
            f"{report.removed} passage(s) of {report.files_removed} file(s) removed; {to} holds {about['count']}",
            markup=False,
        )
        return
    removed = f", {report.removed} removed" if report.removed else ""
    out.print(
        f"{report.added} passage(s) added or changed, {counts['unchanged']} unchanged{removed}; "
        f"{to} holds {about['count']}",
        markup=False,
    )
    for line in report.lines():
        err.print(line, markup=False)
    if about["dense"] and about["dense"]["kind"] == "approximate":
        note(about["searched"])
    note(str(about["note"]))
