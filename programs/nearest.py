"""Demos chosen for each question: of a predictor's demos, those whose questions are most like the one that is asked.

By words alone, so that a loaded program needs no embedder: cosine of the questions' tokens, rare ones weighing more
(tf-idf over the demos, Salton and Buckley 1988).
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from reflective_rag.signatures.text import tokenize


def show_nearest(program: Any, k: int) -> None:
    """Let every predictor of a program show only its `k` nearest demos; 0 shows all."""
    for predictor in program.predictors():
        predictor.nearest_demos = k


def nearest_demos(predictor: Any, inputs: Any) -> list[Any] | None:
    """The demos to show in this call, the most alike last; None where all are shown."""
    k = getattr(predictor, "nearest_demos", 0)
    demos = list(getattr(predictor, "demos", ()))
    if not k or len(demos) <= k or not isinstance(inputs.get("question"), str):
        return None
    return nearest(demos, inputs["question"], k)


def nearest(demos: Sequence[Any], question: str, k: int) -> list[Any]:
    """The `k` demos whose `question` is most like this one, the most alike last; of equals the earlier are taken."""
    texts = [Counter(tokenize(str(demo.get("question", "")))) for demo in demos]
    found_in = Counter(token for text in texts for token in text)
    weight = {token: math.log(1 + len(texts) / count) for token, count in found_in.items()}
    asked = {token: count * weight.get(token, 0.0) for token, count in Counter(tokenize(question)).items()}

    def alike(text: Counter[str]) -> float:
        length = math.sqrt(sum((count * weight[token]) ** 2 for token, count in text.items()))
        return sum(count * weight[token] * asked.get(token, 0.0) for token, count in text.items()) / (length or 1.0)

    scores = [alike(text) for text in texts]
    best = sorted(range(len(texts)), key=lambda index: (-scores[index], index))[:k]
    return [demos[index] for index in reversed(best)]
