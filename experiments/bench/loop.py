"""`bench loop`: import time, overhead per question, side-by-side critics and throughput, each against bare DSPy."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dspy

from reflective_rag.experiments.bench.engine import steady_lm
from reflective_rag.experiments.bench.pairs import alternate, row_of
from reflective_rag.programs import ReflectiveRAG, SelfRAG
from reflective_rag.signatures.answering import AnswerQuestion
from reflective_rag.signatures.evidence import AssessEvidence
from reflective_rag.signatures.types import Passage

LATENCY = 0.2
"""Seconds a call takes in the measurements of parallel work."""
QUESTION = "Which painter influenced Lorenzo Monaco?"
_TEXTS = (
    "Lorenzo Monaco was influenced by Giotto, a painter and architect.",
    "Giotto di Bondone was born near Florence.",
    "Agnolo Gaddi was a painter in Florence.",
    "Spinello Aretino worked in Arezzo.",
    "Mariotto di Nardo painted frescoes.",
)
PASSAGES = [Passage(id=f"p{i}", text=text) for i, text in enumerate(_TEXTS, 1)]


def run(repeats: int = 9) -> list[dict[str, Any]]:
    """Every measurement: name, ours and bare in seconds (median), their ratio, the target, and n."""
    return [
        _imports(repeats),
        _overhead(repeats),
        _side_by_side(repeats),
        _self_rag(repeats),
        _throughput(repeats),
    ]


def _search(query: str, k: int) -> list[Passage]:
    return PASSAGES[:k]


def _imports(repeats: int) -> dict[str, Any]:
    """Interpreter start to import done, in fresh processes, alternating; both from byte code, as installed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def start(module: str) -> None:
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True, capture_output=True, env=environment)

    pairs = alternate(lambda: start("reflective_rag.programs"), lambda: start("dspy"), repeats, inner=1)
    return row_of("import reflective_rag.programs / import dspy", pairs, "<= 1.2", lambda ratio: ratio <= 1.2)


def _overhead(repeats: int) -> dict[str, Any]:
    """One question that one round answers, against the two bare calls it makes, on an engine without latency."""
    rag, answer, assess = ReflectiveRAG(search=_search, k=5), dspy.Predict(AnswerQuestion), dspy.Predict(AssessEvidence)
    numbered = "\n".join(f"[{i}] {p.text}" for i, p in enumerate(PASSAGES, 1))
    inputs = {"question": QUESTION, "passages": numbered}

    def bare() -> None:
        answer(**inputs)
        assess(**inputs, requirements="not listed yet", today="2026-11-30")

    with dspy.context(lm=steady_lm(0.0)):
        pairs = alternate(lambda: rag(question=QUESTION), bare, repeats, inner=20)
    return row_of("one-round question / its bare Predict calls", pairs, "<= 1.5", lambda ratio: ratio <= 1.5)


def _side_by_side(repeats: int) -> dict[str, Any]:
    """Mode `separate` makes 9 critic calls and one answer, all independent: the longest chain is one call."""
    rag = ReflectiveRAG(search=_search, k=5, mode="separate", soft_verdicts=False)
    answer = dspy.Predict(AnswerQuestion)
    with dspy.context(lm=steady_lm(LATENCY)):
        pairs = alternate(
            lambda: rag(question=QUESTION), lambda: answer(question=QUESTION, passages="[1] x"), repeats, inner=1
        )
    return row_of("separate assessment / longest chain (1 call)", pairs, "<= 1.3", lambda ratio: ratio <= 1.3)


def _self_rag(repeats: int) -> dict[str, Any]:
    """SelfRAG over ten passages: 32 calls, of which no chain that must wait for each other is longer than four."""
    pages = [Passage(id=f"p{i}", text=f"{_TEXTS[0]} Page {i} of ten says so too.") for i in range(10)]
    rag = SelfRAG(search=lambda query, k: pages[:k], k=10, near_duplicate=None, soft_verdicts=False)
    answer = dspy.Predict(AnswerQuestion)

    def chain() -> None:
        for _ in range(4):
            answer(question=QUESTION, passages="[1] x")

    with dspy.context(lm=steady_lm(LATENCY)):
        pairs = alternate(lambda: rag(question=QUESTION), chain, repeats, inner=1)
    return row_of("SelfRAG over 10 passages / longest chain (4 calls)", pairs, "<= 1.3", lambda ratio: ratio <= 1.3)


def _throughput(repeats: int, questions: int = 64) -> dict[str, Any]:
    """64 questions at once through `acall`, against bare `Predict.acall` with the same calls; ratio of throughputs."""
    rag, answer, assess = ReflectiveRAG(search=_search, k=5), dspy.Predict(AnswerQuestion), dspy.Predict(AssessEvidence)
    numbered = "\n".join(f"[{i}] {p.text}" for i, p in enumerate(PASSAGES, 1))
    inputs = {"question": QUESTION, "passages": numbered}

    async def ours() -> None:
        await asyncio.gather(*(rag.acall(question=QUESTION) for _ in range(questions)))

    async def bare() -> None:
        calls = []
        for _ in range(questions):
            calls.append(answer.acall(**inputs))
            calls.append(assess.acall(**inputs, requirements="not listed yet", today="2026-11-30"))
        await asyncio.gather(*calls)

    with dspy.context(lm=steady_lm(LATENCY)):
        pairs = alternate(lambda: _own_loop(ours), lambda: _own_loop(bare), repeats, inner=1)
    row = row_of("64 questions through acall: throughput / bare acall", pairs, ">= .9", lambda ratio: True)
    row["ratio"] = round(1 / row["ratio"], 3)
    row["lowest"], row["highest"] = round(1 / row["highest"], 3), round(1 / row["lowest"], 3)
    row["met"] = row["ratio"] >= 0.9
    return row


def _own_loop(work: Callable[[], Any]) -> None:
    """Run in a thread of its own, so that a benchmark may itself be called from a running event loop."""
    import contextvars

    context = contextvars.copy_context()
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(context.run, lambda: asyncio.run(work())).result()
