"""`reflective-rag index`: passages into an index on disk, or into a collection on a server."""

import time
from typing import Annotated

import typer

from reflective_rag.experiments import options


def command(
    source: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", help="JSONL of records or passages, or `sample`.", show_default=False),
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
    json: options.Json = False,
) -> None:
    """Put passages into an index, new or existing: on disk, or on a Weaviate server.

        reflective-rag index my.jsonl more.jsonl --to local:my-index

        reflective-rag ask "…" --corpus local:my-index

        reflective-rag index my.jsonl --to weaviate://localhost/MyPassages

    A passage with a known id replaces the old one; what has not changed costs nothing, so a broken run is simply
    repeated. A server's key comes from WEAVIATE_API_KEY.
    """
    from reflective_rag.data.retrieval import open_retriever
    from reflective_rag.experiments.console import note, only_results, out, print_json, progress_bar
    from reflective_rag.experiments.corpora import load_passages
    from reflective_rag.experiments.recipes import OWN, is_address
    from reflective_rag.signatures.errors import ConfigError, DataError

    if refused := [name for name in source if name == OWN or is_address(name)]:
        raise ConfigError(f"{', '.join(map(repr, refused))} cannot be indexed; expected JSONL files, or `sample`")
    if to.startswith("memory:"):
        raise ConfigError("`--to memory:` would be gone at once; expected `local:PATH` or `weaviate://HOST/Collection`")
    started = time.perf_counter()
    with only_results(), progress_bar() as bar:
        passages = load_passages(source)
        if not passages:
            raise DataError(f"{', '.join(map(repr, source))} hold no passages at all; there is nothing to index")
        with open_retriever(to, embedder=embedder, create=True) as index:
            added = index.add(passages, progress=lambda done, total: bar("indexing passages", done, total))
            report = {
                "to": to,
                "sources": source,
                "passages": len(passages),
                "added": added,
                "unchanged": len(passages) - added,
                "count": index.count(),
                "mode": index.mode,
                "note": index.note,
                "seconds": time.perf_counter() - started,
            }
    if json:
        print_json(report)
        return
    out.print(
        f"{added} passage(s) added or changed, {report['unchanged']} unchanged; {to} holds {report['count']}",
        markup=False,
    )
    note(str(report["note"]))
