"""Which passages are nearest to a question by its words."""

import math
from collections import Counter
from collections.abc import Sequence

from reflective_rag.signatures.text import tokenize


class WordIndex:
    """Texts ranked by the rare words that they share with a question.

    The score is Σ idf(word) over the question's words in the text, over the root of the text's number of different
    words: binary tf-idf with cosine length normalisation (Manning, Raghavan and Schütze 2008, section 6.3) where all
    words of a text weigh alike. In memory and without an index file, so that ties always fall in the order given.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = [frozenset(tokenize(text)) for text in texts]
        counts = Counter(word for words in self._words for word in words)
        self._idf = {word: math.log(1 + len(texts) / count) for word, count in counts.items()}

    def nearest(self, question: str) -> list[int]:
        """Numbers of all texts, the nearest first."""
        asked = sorted(set(tokenize(question)) & self._idf.keys())
        scores = [
            sum(self._idf[word] for word in asked if word in words) / math.sqrt(max(1, len(words)))
            for words in self._words
        ]
        return sorted(range(len(scores)), key=lambda number: (-scores[number], number))
