"""From the sources that a command names to an index at an address."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from reflective_rag.data.datasets import is_data_set
from reflective_rag.data.files import (
    Indexer,
    IndexReport,
    Manifest,
    Source,
    drop_source,
    holds_source,
    manifest_path,
    parse_source,
)
from reflective_rag.data.files.sources import DATASETS
from reflective_rag.data.retrieval import LanceRetriever, Retriever, open_retriever
from reflective_rag.experiments.console import Report
from reflective_rag.experiments.corpora import load_passages
from reflective_rag.experiments.recipes import OWN, is_address, is_sample
from reflective_rag.signatures.errors import ConfigError, DataError

_SHOWN = 3


def index_sources(
    names: Sequence[str], to: str, *, embedder: str, everything: bool, max_mb: int, bar: Report
) -> tuple[IndexReport, dict[str, Any]]:
    """Index every source; the report, and `count`, `mode` and `note` of the index.

    `dense` is its `VectorIndex` (none without vectors), `searched` the same in words.

    Raises:
        ConfigError: A name or the address cannot work.
        DataError: A source cannot be read, nothing was found to index, or a server refused passages.
    """
    sources = _checked(names, to)
    with closing(
        Indexer(
            lambda: open_retriever(to, embedder=embedder, create=True),
            lambda: Manifest(manifest_path(to)),
            exists=not to.startswith("local:") or manifest_path(to).with_name("passages.lance").is_dir(),
            most_bytes=max_mb << 20,
            everything=everything,
            progress=bar,
        )
    ) as indexer:
        faults = [fault for source in sources if (fault := _added(indexer, source, alone=len(sources) == 1))]
        index, report = indexer.index, indexer.report
        if faults and index is not None:
            raise DataError(_unread(faults, len(sources), index, report, to))
        if faults:
            raise DataError("\n".join(faults))
        if index is None or not report.passages:
            why = "".join(f"\n  {line}" for line in report.lines())
            hold = "holds" if len(names) == 1 else "hold"
            raise DataError(f"{', '.join(map(repr, names))} {hold} no passages at all; there is nothing to index{why}")
        _tell_refused(report, to)
        dense = index.vector_index() if isinstance(index, LanceRetriever) else None
        about = {"count": index.count(), "mode": index.mode, "note": index.note}
        return report, {**about, "dense": dense._asdict() if dense else None, "searched": str(dense or "")}


def _added(indexer: Indexer, source: Source, *, alone: bool) -> str:
    """Index one source; what is wrong with it where it cannot be used and is not the only one, so that others go on."""
    try:
        if _is_known(source.name):
            indexer.add_passages(source, load_passages([source.name]))
        else:
            indexer.add(source)
    except DataError as error:
        if alone:
            raise
        return str(error)
    return ""


def _unread(faults: Sequence[str], total: int, index: Retriever, report: IndexReport, to: str) -> str:
    """Which sources could not be used, and what became of the others."""
    told = "".join(f"\n  {line}" for line in (*faults, *report.lines()))
    return (
        f"{len(faults)} of {total} sources could not be indexed, or not to their end; the others are: {report.added} "
        f"passage(s) added or changed, {to} holds {index.count()}{told}"
    )


def drop_sources(names: Sequence[str], to: str) -> tuple[IndexReport, dict[str, Any]]:
    """Take every source out of the index; the report, and `count`, `mode` and `note` of the index.

    Raises:
        ConfigError: The address cannot work.
        DataError: There is no such index, it does not know what it was made from, or holds nothing of a source; the
            sources before that one are out.
    """
    _check_target(to)
    with open_retriever(to) as index:
        if not manifest_path(to).is_file():
            raise DataError(
                f"it is not known what {to!r} was made from: its list of sources would be `{manifest_path(to)}`, on "
                "the machine that indexes. Run it there, or index again into a new place."
            )
        report = IndexReport()
        with closing(Manifest(manifest_path(to))) as manifest:
            for name in dict.fromkeys(names):
                drop_source(index, manifest, name, report, known=_is_known)
        return report, {"count": index.count(), "mode": index.mode, "note": index.note}


def _is_known(name: str) -> bool:
    """Whether a name means labelled data that is found by its name: the sample, a data set with a card."""
    return is_sample(name) or is_data_set(name)


def _checked(names: Sequence[str], to: str) -> list[Source]:
    if refused := [name for name in names if name == OWN or (is_address(name) and not name.startswith(DATASETS))]:
        raise ConfigError(
            f"{', '.join(map(repr, refused))} cannot be indexed; expected files, folders, `datasets:NAME`, or `sample`"
        )
    _check_target(to)
    sources = [Source(name, name, name, None) if _is_known(name) else _parsed(name, to) for name in names]
    return list({source.root: source for source in sources}.values())


def _parsed(name: str, to: str) -> Source:
    """The source of that name. One that is gone, but not from the index, is said to be there."""
    try:
        return parse_source(name)
    except DataError as error:
        if not manifest_path(to).is_file():
            raise
        with closing(Manifest(manifest_path(to))) as manifest:
            if not holds_source(manifest, name):
                raise
        raise DataError(
            f"{error} What the index has of it stays; `reflective-rag index {name} --drop --to {to}` removes it."
        ) from None


def _check_target(to: str) -> None:
    if to.strip() and ":" not in to:
        raise ConfigError(
            f"`--to {to}` is no address; did you mean `local:{to}` (an index in the folder `{to}`)? Expected "
            "`local:PATH` or `weaviate://HOST/Collection`"
        )
    if to.startswith("memory:"):
        raise ConfigError("`--to memory:` would be gone at once; expected `local:PATH` or `weaviate://HOST/Collection`")


def _tell_refused(report: IndexReport, to: str) -> None:
    if report.failures:
        shown = "".join(f"\n  {name!r}: {why}" for name, why in list(report.failures.items())[:_SHOWN])
        more = f"\n  and {len(report.failures) - _SHOWN} more" if len(report.failures) > _SHOWN else ""
        raise DataError(
            f"{len(report.failures)} passage(s) were refused by {to!r}, {report.added} were stored:{shown}{more}\n"
            "Mend these and run it again; what is stored already is skipped."
        )
