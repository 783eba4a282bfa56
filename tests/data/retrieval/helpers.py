"""A deterministic embedder without weights, and a small bilingual corpus."""

import hashlib
import threading
from datetime import date
from functools import cache
from typing import Any

from reflective_rag.signatures.text import tokenize
from reflective_rag.signatures.types import Passage

SYNONYMS = {"automobile": "car", "physician": "doctor"}


class HashEmbedder:
    """Each word is a fixed random direction, a text their sum; synonyms share one. Counts the texts it embeds."""

    def __init__(self, name: str = "hash", dimensions: int = 16) -> None:
        self.name, self.dimensions = name, dimensions
        self.embedded: list[str] = []

    def passages(self, texts: list[str]) -> Any:
        import numpy as np

        self.embedded += texts
        return np.stack([self._vector(text) for text in texts])

    def query(self, text: str) -> Any:
        return self._vector(text)

    def _vector(self, text: str) -> Any:
        import numpy as np

        total = np.zeros(self.dimensions)
        for word in tokenize(text):
            total += _direction(SYNONYMS.get(word, word), self.dimensions)
        return (total / (np.linalg.norm(total) or 1)).astype(np.float32)


@cache
def _direction(word: str, dimensions: int) -> Any:
    import numpy as np

    return np.random.default_rng(list(hashlib.sha256(word.encode()).digest())).standard_normal(dimensions)


CORPUS = [
    Passage(id="car", title="Transport", text="The automobile changed every city.", source="a.txt"),
    Passage(id="tea", title="Longjing", text="Green tea is grown in Hangzhou.", published=date(2020, 5, 1)),
    Passage(id="茶", title="龙井茶", text="西湖龙井产于浙江省杭州市。", metadata={"页": 3, "标签": ["茶", None]}),
    Passage(id="bell", title="Alexander Bell", text="Bell’s telephones were patented in 1876 (café notes)."),
    Passage(id="北京", text="北京市是中国的首都。", source="https://example.org/北京"),
]


def run_threads(work: Any, n: int) -> list[Any]:
    """What `work` returned in each of `n` threads that start together."""
    barrier, results = threading.Barrier(n), [None] * n

    def run(i: int) -> None:
        barrier.wait()
        results[i] = work()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
