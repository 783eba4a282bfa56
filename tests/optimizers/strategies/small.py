"""A small world for every strategy: people and years, a model that errs until it is helped, a model that writes."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dspy
from dspy.lm15 import Request

from reflective_rag.data.records import Record
from reflective_rag.optimizers.metrics import metric
from reflective_rag.optimizers.strategies import STRATEGIES, Compiled, CompileTask
from reflective_rag.programs import ReflectiveRAG
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.programs.module import RagModule
from reflective_rag.signatures.types import Passage
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, fields_of, json_reply, prompt_text

YEARS = {"Giotto": 1267, "Dante": 1265, "Petrarch": 1304, "Boccaccio": 1313, "Duccio": 1255, "Cimabue": 1240}
NOISE = Passage(id="noise", text="Bananas are yellow and grow in bunches.")
HELP = "Give the exact year."
"""The instruction that makes the model answer right; so does any demo."""


def record(name: str) -> Record:
    """Who was born when, with the passage that says so and one that does not."""
    return Record.model_validate(
        {
            "id": name,
            "question": f"When was {name} born?",
            "answers": [str(YEARS[name])],
            "passages": [
                {"id": name, "text": f"{name} was born in {YEARS[name]}.", "supporting": True},
                {"id": "noise", "text": NOISE.text},
            ],
        }
    )


RECORDS = [record(name) for name in YEARS]


def search(query: str, k: int) -> list[Passage]:
    """The passage of the person in the query, and noise."""
    named = [Passage(id=n, text=f"{n} was born in {y}.") for n, y in YEARS.items() if n in query]
    return [*named, NOISE][:k]


def reply(request: Request) -> str:
    """Finds all evidence enough; knows the odd years, and the even ones with the right instruction or a demo."""
    name = next((n for n in YEARS if n in fields_of(request).get("question", "")), "nobody")
    helped = HELP in prompt_text(request) or len(request.messages) > 1
    right = name in YEARS and (helped or YEARS[name] % 2 == 1)
    fields: dict[str, Any] = {
        "needs": [{"need": "year", "passages": [1]}],
        "relevant": [1],
        "contradictions": [],
        "outdated": [],
        "gaps": [],
        "sufficient": "yes",
        "answer": str(YEARS[name]) if right else "in the Middle Ages",
        "cited": [1],
        "query": "year of birth",
        "relevance": "relevant",
        "support": "supported",
        "problem": "none",
    }
    return _written(request, fields)


def writer_reply(request: Request) -> str:
    """Whatever an optimizer asks of the model that writes: the right instruction."""
    words = (
        "observations summary program_description module_description proposed_instruction tip new_instruction".split()
    )
    advice = {"answer": HELP, "assess_and_answer": HELP}
    more = {
        "proposed_prefix_for_output_field": "Cited:",
        "discussion": "The year was missing.",
        "module_advice": advice,
    }
    return _written(request, {**dict.fromkeys(words, HELP), **more})


def _written(request: Request, fields: Mapping[str, Any]) -> str:
    known = {name: value for name, value in fields.items() if asks_for(request, name)}
    return (json_reply if "JSON object" in (request.messages[-1].text or "") else chat_reply)(**known)


class Bench:
    """One compile: the models with their call logs, and what came of it."""

    def __init__(self) -> None:
        self.lm = fake_lm(reply)
        self.writer = fake_lm(writer_reply, model="fake/writer")
        self.teacher = fake_lm(reply, model="fake/teacher")

    def task(self, strategy: str, *, program: RagModule | None = None, **changes: Any) -> CompileTask:
        """A task with half of the records to learn from; `options` over the strategy's defaults."""
        known: dict[str, Any] = {
            "program": program or ReflectiveRAG(search, mode="rules", repair=False, k=2),
            "train": RECORDS[:3],
            "val": RECORDS[3:],
            "metric": metric("f1", threshold=0.9),
            "models": {"prompt_model": self._model(self.writer)},
        }
        options = {**STRATEGIES[strategy].defaults, **changes.pop("options", {})}
        return CompileTask(**{**known, **changes}, options=options)

    def _model(self, lm: FakeLM) -> Model:
        return Model(name=lm.model, lm=lm)

    @property
    def with_teacher(self) -> dict[str, Model]:
        """Another model for bootstrapping."""
        return {"prompt_model": self._model(self.writer), "teacher": self._model(self.teacher)}

    def compile(self, strategy: str, task: CompileTask) -> Compiled:
        """Compile with the models of this bench."""
        with self.use():
            return STRATEGIES[strategy].compile(task)

    @contextmanager
    def use(self) -> Iterator[None]:
        """The model in use, DSPy's chatter off."""
        names = ("dspy", "optuna", "dspy.teleprompt.gepa.gepa")
        levels = {name: logging.getLogger(name).level for name in names}
        for name in names:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            with dspy.context(lm=self.lm, adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
                yield
        finally:
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)


def score(bench: Bench, program: Any) -> float:
    """Mean F1 over all records."""
    measure = metric("f1")
    with bench.use():
        examples = [dspy.Example(question=r.question, answers=r.answers) for r in RECORDS]
        return sum(float(measure(e, program(question=e.question))) for e in examples) / len(examples)
