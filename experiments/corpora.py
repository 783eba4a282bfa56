"""From corpus names to one retriever: the data's own passages, files, the bundled sample, addresses, or several."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import get_args

from reflective_rag.data.datasets import is_data_set, load_named, named_passages
from reflective_rag.data.files.kinds import DOCUMENTS, ROWS
from reflective_rag.data.records import Record, Split, load_corpus, load_records, pool, sample_path
from reflective_rag.data.retrieval import (
    Progress,
    Retriever,
    RetrieverUnavailable,
    open_retriever,
)
from reflective_rag.experiments.fused import FusedRetriever
from reflective_rag.experiments.recipes import OWN, SAMPLE, is_address, is_sample
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.installing import install_hint
from reflective_rag.signatures.spelling import did_you_mean
from reflective_rag.signatures.types import Passage


def load_data(name: str, *, limit: int | None = None, seed: int | None = None) -> list[Record]:
    """The records of a file, of a split of the bundled sample (`sample:dev`), or of a data set by its name.

    Raises as `load_records` and `load_named`.
    """
    if is_data_set(name):
        return load_named(name, limit=limit, seed=seed)
    return load_records(data_path(name), limit=limit, seed=seed)


def data_path(name: str) -> Path:
    """The file that a data name means.

    Raises:
        ConfigError: The name is empty, or `sample` without a split or with one that does not exist.
    """
    if not name.strip():
        raise ConfigError(f"the name of a data or corpus file is empty; give a JSONL file, or `{SAMPLE}:dev`")
    if not is_sample(name):
        return Path(name)
    splits = get_args(Split)
    split = name.partition(":")[2]
    if split not in splits:
        known = [f"{SAMPLE}:{part}" for part in splits]
        meant = did_you_mean(name, known, "`") if split else ""
        raise ConfigError(
            f"`{name}` names no data{meant or ';'} the sample has {', '.join(f'`{part}`' for part in known)}"
        )
    return sample_path(split)  # type: ignore[arg-type]  # one of the literals, see above


def load_passages(corpora: Iterable[str], own: Sequence[Passage] = ()) -> list[Passage]:
    """The passages of every corpus name that is not an address: each text once.

    Raises:
        ConfigError: `own` where there is no data.
        DataError: A file cannot be used.
    """
    return pool(_passages(name, own) for name in dict.fromkeys(corpora) if not is_address(name))


def _passages(name: str, own: Sequence[Passage]) -> Sequence[Passage]:
    if name == OWN:
        if not own:
            raise ConfigError(
                f"the corpus `{OWN}` is the passages of the data, and there are none; name a file or an index"
            )
        return own
    if name == SAMPLE:
        return pool(record for split in get_args(Split) for record in load_data(f"{SAMPLE}:{split}"))
    if is_data_set(name):
        return named_passages(name)
    path = data_path(name)
    if path.is_dir():
        raise ConfigError(
            f"the corpus `{name}` is a folder; index it first: `reflective-rag index {name} --to local:my-index`, "
            "and search `local:my-index`"
        )
    if _to_index(path):
        raise ConfigError(
            f"the corpus `{name}` is no JSON Lines file; index it first: "
            f"`reflective-rag index {name} --to local:my-index`, and search `local:my-index`"
        )
    return load_corpus(path)


def _to_index(path: Path) -> bool:
    """Whether a file is a document or a table, and not JSON Lines under such a name."""
    if path.suffix.lower() not in {*DOCUMENTS, *ROWS} - {".jsonl"} or not path.is_file():
        return False
    with suppress(OSError), path.open("rb") as file:
        return not file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    return False


def open_search(
    corpora: Sequence[str],
    own: Sequence[Passage] = (),
    *,
    embedder: str = "auto",
    progress: Progress | None = None,
    need_all: bool = True,
) -> Retriever:
    """A retriever over all of `corpora`; close it, or use it in a `with` block.

    Files, the sample and `own` go into one temporary index; it and every address are searched side by side and fused by
    reciprocal rank.

    Args:
        corpora: `own`, `sample`, `sample:SPLIT`, files of records or passages, addresses (`local:PATH`,
            `weaviate://HOST/Collection`).
        own: The passages of the data.
        embedder: For the temporary index; an existing index keeps the embedder it was made with.
        progress: Told how many passages have been indexed.
        need_all: A server that does not answer is an error, as a measurement wants it; else the others are searched
            without it, as long as there is one.

    Raises:
        ConfigError: Nothing named, or a name that cannot work.
        DataError: A file or index cannot be used, or there is not a single passage.
    """
    if not corpora:
        raise ConfigError("`corpus` names nothing to search; give a file, an address such as `local:PATH`, or `sample`")
    passages = load_passages(corpora, own)
    with ExitStack() as opened:
        parts: list[Retriever] = []
        if passages:
            index = opened.enter_context(open_retriever("memory:", embedder=embedder))
            index.add(passages, progress=progress)
            parts.append(index)
        addresses = dict.fromkeys(name for name in corpora if is_address(name))
        parts += [opened.enter_context(open_retriever(address)) for address in addresses]
        if not _held(parts, need_all=need_all):
            raise DataError(
                f"the corpus {', '.join(map(repr, corpora))} holds no passages at all; index some, or name another"
            )
        opened.pop_all()  # the caller closes them
    return parts[0] if len(parts) == 1 else FusedRetriever(parts)


def _held(parts: Sequence[Retriever], *, need_all: bool) -> int:
    """How many passages the parts hold. Raises for a silent one: any with `need_all`, else if the rest is empty."""
    held, silent = 0, None
    for part in parts:
        try:
            held += part.count()
        except RetrieverUnavailable as error:
            if need_all:
                raise
            silent = silent or error
    if silent and not held:
        raise silent
    return held


def search_note(search: Retriever, embedder: str) -> str:
    """One sentence for the user when keywords alone are searched; empty in hybrid mode.

    Args:
        embedder: The one that was asked for.
    """
    if "memory:" not in search.note:  # the note of an index on disk says how it was made
        return search.note
    more = "" if embedder == "none" else f"; `{install_hint('local')}` adds dense search"
    return f"keyword search only{more}"
