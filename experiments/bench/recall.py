"""`bench recall`: how much of the supporting evidence a search brings, by keywords, by vectors, and by both."""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from reflective_rag.data.records import Record, load_corpus, pool, supporting_keys
from reflective_rag.data.retrieval import open_retriever, resolve_embedder
from reflective_rag.data.retrieval.base import Progress
from reflective_rag.data.retrieval.cache import CachingEmbedder, VectorCache
from reflective_rag.data.retrieval.embedders import Embedder
from reflective_rag.data.retrieval.rows import analyze, to_passage
from reflective_rag.data.retrieval.store import LanceStore
from reflective_rag.experiments.corpora import load_data
from reflective_rag.optimizers.statistics import bootstrap_mean
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage

Pool = Literal["all", "own"]
Search = Callable[[str, int], list[Passage]]

AT = (5, 10)
DEV = ".dev.jsonl"


@dataclass(frozen=True, kw_only=True)
class Files:
    """`asked` name labelled questions; the files `more` are searched beside their passages in the pool `all`."""

    asked: Sequence[str]
    more: Sequence[Path] = ()


def find_files(names: Sequence[str] | None, shared: Path) -> Files:
    """The named data, or else of the folder `shared` every dev file, and all the others to be searched too.

    Raises:
        ConfigError: There is no such folder, or no dev file in it.
    """
    if names:
        return Files(asked=list(dict.fromkeys(names)))
    paths = sorted(shared.glob("*.jsonl"))
    asked = [path for path in paths if path.name.endswith(DEV)]
    if not asked:
        raise ConfigError(
            f"no labelled questions: expected files named `NAME{DEV}` in the folder {str(shared)!r}; give another with "
            "`--shared DIR`, or single files with `--data FILE` (repeatable)"
        )
    return Files(asked=list(map(str, asked)), more=[path for path in paths if path not in asked])


def run(
    files: Files,
    *,
    pools: Sequence[Pool] = ("all", "own"),
    embedder: str | Embedder = "auto",
    seed: int = 0,
    progress: Progress,
) -> dict[str, Any]:
    """Recall of the supporting passages among the first 5 and 10, with 95 % bootstrap intervals over questions.

    A passage is found when its text is (`Passage.key`); every text is in a pool once. Questions without a supporting
    passage are left out and counted. In the pool `all` every question is searched for in the passages of all files, in
    `own` in those of its own file.

    Raises:
        ConfigError: An embedder that is not there.
        DataError: A file cannot be used.
    """
    asked = {_label(name): load_data(name) for name in files.asked}
    rows: list[dict[str, Any]] = []
    sizes: dict[str, int] = {}
    if "all" in pools:
        passages = pool([*(record for found in asked.values() for record in found), *map(load_corpus, files.more)])
        sizes["all"] = len(passages)
        rows += _measured("all", [(asked, passages)], embedder, seed, progress)
    if "own" in pools:
        parts = [({label: found}, pool(found)) for label, found in asked.items()]
        sizes["own"] = sum(len(passages) for _, passages in parts)
        rows += _measured("own", parts, embedder, seed, progress)
    chosen = _chosen(embedder)
    return {"rows": rows, "passages": sizes, "embedder": chosen.name if chosen else "none", "seed": seed}


def _measured(
    name: Pool,
    parts: Iterable[tuple[dict[str, list[Record]], list[Passage]]],
    embedder: str | Embedder,
    seed: int,
    progress: Progress,
) -> list[dict[str, Any]]:
    """A row a file, then the languages and all questions together, where there are several files."""
    groups: dict[str, list[tuple[Record, dict[str, float]]]] = {}
    for files, passages in parts:
        with tempfile.TemporaryDirectory(prefix="reflective-rag-") as folder:
            groups |= _recalls(files, passages, folder, embedder, progress)
    every = [pair for pairs in groups.values() for pair in pairs]
    if len(groups) > 1:
        for lang in sorted({record.lang for record, _ in every}):
            groups[f"all {lang}"] = [pair for pair in every if pair[0].lang == lang]
        groups["all"] = every
    return [_row(name, group, pairs, seed) for group, pairs in groups.items()]


def _row(name: Pool, group: str, pairs: Sequence[tuple[Record, dict[str, float]]], seed: int) -> dict[str, Any]:
    scored = [recalls for _, recalls in pairs if recalls]
    columns = list(dict.fromkeys(column for recalls in scored for column in recalls))
    recall = {
        column: bootstrap_mean([recalls[column] for recalls in scored], seed=seed).to_dict() for column in columns
    }
    return {"pool": name, "data": group, "n": len(scored), "unlabelled": len(pairs) - len(scored), "recall": recall}


def _recalls(
    files: dict[str, list[Record]], passages: list[Passage], folder: str, embedder: str | Embedder, progress: Progress
) -> dict[str, list[tuple[Record, dict[str, float]]]]:
    """For each question of each file its recalls by column, such as `dense@5`; none without supporting passages."""
    place = Path(folder) / "index"
    with open_retriever(f"local:{place}", embedder=embedder, create=True) as retriever:
        retriever.add(passages, progress=progress)
        searches = _searches(LanceStore(place, f"local:{place}"), embedder) | {"hybrid": retriever.search}
        if retriever.mode == "keyword":
            del searches["hybrid"]
        return {label: [(r, _recall(r, searches)) for r in records] for label, records in files.items()}


def _chosen(embedder: str | Embedder) -> Embedder | None:
    return resolve_embedder(embedder) if isinstance(embedder, str) else embedder


def _label(name: str) -> str:
    return Path(name).name.removesuffix(DEV).removesuffix(".jsonl")


def _searches(store: LanceStore, embedder: str | Embedder) -> dict[str, Search]:
    """The two searches of the index by themselves."""

    def by_words(query: str, k: int) -> list[Passage]:
        return [to_passage(hit.row, hit.score) for hit in store.by_words(analyze(query), k)]

    found: dict[str, Search] = {"BM25": by_words}
    chosen = _chosen(embedder)
    if chosen is not None and store.dimensions is not None:
        vectors = CachingEmbedder(chosen, store.dimensions, VectorCache())

        def by_vector(query: str, k: int) -> list[Passage]:
            return [to_passage(hit.row, hit.score) for hit in store.by_vector(vectors.query(query), k)]

        found["dense"] = by_vector
    return found


def _recall(record: Record, searches: dict[str, Search]) -> dict[str, float]:
    wanted = supporting_keys(record)
    if not wanted:
        return {}
    return {
        f"{name}@{k}": len(wanted & {passage.key for passage in search(record.question, k)}) / len(wanted)
        for name, search in searches.items()
        for k in AT
    }
