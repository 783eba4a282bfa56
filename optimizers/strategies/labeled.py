"""`labeled`: demos written from the records' labels, without asking a model."""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import dspy

from reflective_rag.data.records import LabelledPassage, Record
from reflective_rag.data.twins import Case, Judged, units_of
from reflective_rag.data.twins.evidence import READ, essential, reading
from reflective_rag.optimizers.strategies.base import Compiled, CompileTask, Plan
from reflective_rag.optimizers.strategies.running import demo_counts, finished, student
from reflective_rag.programs.pool import DEMO_CHARS, numbered
from reflective_rag.programs.react import ReActRAG, Turn
from reflective_rag.signatures.errors import DataError
from reflective_rag.signatures.text import language_of, tokenize, without_markup
from reflective_rag.signatures.types import Passage

UNKNOWN = "unknown"
"""What the answering signatures ask for where no passage tells."""


class Labeled:
    """Whole demos for the predictors whose every output is a label: answer with citations, and single verdicts.

    The answer comes from `answers`, the citations from the supporting passages; relevance, sufficiency and support from
    the labels of `data/twins`, as many true as false ones. The passages are shortened as in bootstrapped demos.
    ReActRAG gets them as what one search found, and NoRetrieval the answers alone. Other predictors (a judgement of
    many fields, a query, a turn of an agent) get none. Upstream faults worked around: dspy.LabeledFewShot gives
    every predictor the bare examples, in which our predictors' passages are missing and a label can be taken for an
    input, and always draws the same ones; MIPROv2 cannot use labels alone (dspy #9938).
    """

    name = "labeled"
    changes = "demos"
    asks_model = True
    defaults: Mapping[str, Any] = {"k": 4}
    least: Mapping[str, int] = {"k": 1}

    def plan(self, task: CompileTask) -> Plan:
        """No calls."""
        return Plan(program_runs=0, calls_low=0, calls_high=0, note="demos are written from labels")

    def compile(self, task: CompileTask) -> Compiled:
        """Write demos from `train`; `val` is not used.

        Raises:
            DataError: No predictor of the program can have demos from these labels.
        """
        program = student(task)
        for _, predictor in program.named_predictors():
            if (write := _writer(predictor, program)) is not None:
                predictor.demos = write(task.train, int(task.options["k"]), task.seed)
        counts = demo_counts(program)
        if not any(counts.values()):
            raise DataError(
                "strategy 'labeled' found no demo: no predictor of this program has only outputs that the train "
                "records label (answers, supporting passages). Use strategy 'bootstrap'"
            )
        return Compiled(program=finished(program, task), report={"demos": counts})


_Writer = Callable[[Sequence[Record], int, int], list[dspy.Example]]


def _writer(predictor: Any, program: Any) -> _Writer | None:
    """What writes demos for a predictor, by its fields."""
    inputs, outputs = set(predictor.signature.input_fields), set(predictor.signature.output_fields)
    answers: dict[tuple[frozenset[str], frozenset[str]], Callable[[Record], dspy.Example]] = {
        (frozenset({"question", "passages"}), frozenset({"answer", "cited"})): answer_demo,
        (frozenset({"question", "trajectory"}), frozenset({"reasoning", "answer", "cited"})): partial(
            found_demo, program
        ),
        (frozenset({"question"}), frozenset({"answer"})): memory_demo,
    }
    if (write := answers.get((frozenset(inputs), frozenset(outputs)))) is not None:
        return lambda records, k, seed: _answers(write, records, k, seed)
    verdicts: dict[frozenset[str], Judged] = {
        frozenset({"relevance"}): "relevance",
        frozenset({"sufficient"}): "sufficiency",
        frozenset({"problem", "support"}): "support",
    }
    judged = verdicts.get(frozenset(outputs))
    if judged is None or not inputs <= {"question", "passage", "passages", "answer"}:
        return None
    return lambda records, k, seed: [verdict_demo(case) for case in _cases(judged, records, k, seed)]


def _answers(
    write: Callable[[Record], dspy.Example], records: Sequence[Record], k: int, seed: int
) -> list[dspy.Example]:
    if write is memory_demo:  # whether the passages answer says nothing of what a model knows
        usable = [record for record in records if record.answerable]
    else:
        usable = [record for record in records if not record.answerable or any(p.supporting for p in record.passages)]
    return [write(record) for record in random.Random(seed).sample(usable, min(k, len(usable)))]


def memory_demo(record: Record) -> dspy.Example:
    """Question and answer, for a program without passages."""
    return dspy.Example(question=without_markup(record.question), answer=record.answers[0])


def found_demo(program: ReActRAG, record: Record) -> dspy.Example:
    """The demo of `answer_demo` with its passages as what a search for the question found."""
    demo = answer_demo(record)
    chinese, numbers = language_of(record.question) == "zh", ", ".join(f"[{number}]" for number in demo.cited)
    if chinese:
        reasoning = f"段落 {numbers} 说明了答案。" if numbers else "没有段落给出答案。"
    else:
        reasoning = f"The answer stands in {numbers}." if numbers else "No passage states the answer."
    thought = "先查找这个问题。" if chinese else "I search for the question."
    turn = Turn(thought, "search", {"query": demo.question}, demo.passages)
    return dspy.Example(
        question=demo.question,
        trajectory=program.trajectory([turn]),
        reasoning=reasoning,
        answer=demo.answer,
        cited=demo.cited,
    )


def answer_demo(record: Record) -> dspy.Example:
    """Question and passages with the right answer and the numbers of the passages that support it."""
    gold = essential(record)
    shown: Sequence[LabelledPassage] = reading(record, gold).passages if gold else record.passages[:READ]
    right = record.answerable and bool(gold)
    return dspy.Example(
        question=without_markup(record.question),
        passages=_numbered(record.question, [p.to_passage() for p in shown]),
        answer=record.answers[0] if right else UNKNOWN,
        cited=[number for number, p in enumerate(shown, 1) if p in gold] if right else [],
    )


def _cases(judged: Judged, records: Sequence[Record], k: int, seed: int) -> list[Case]:
    """Whole units, so that true and false ones take turns."""
    units = units_of(judged, records, seed=seed)
    random.Random(seed).shuffle(units)
    return [case for unit in units for case in unit][:k]


def verdict_demo(case: Case) -> dspy.Example:
    """The demo of a single verdict: relevance of a passage, sufficiency of several, support of an answer."""
    question = without_markup(case.question)
    if case.judgement == "relevance":
        (passage,) = (p for p in case.passages if p.id == case.target)
        verdict = "relevant" if case.label else "irrelevant"
        return dspy.Example(question=question, passage=_numbered(question, [passage]), relevance=verdict)
    passages = _numbered(f"{question} {case.answer}", case.passages)
    if case.judgement == "sufficiency":
        return dspy.Example(question=question, passages=passages, sufficient="yes" if case.label else "no")
    return dspy.Example(
        question=question,
        answer=case.answer,
        passages=passages,
        problem="none" if case.label else "no passage states this answer",
        support="supported" if case.label else "not_supported",
    )


def _numbered(about: str, passages: Sequence[Passage]) -> str:
    return numbered(passages, tokenize(about), DEMO_CHARS)[0]
