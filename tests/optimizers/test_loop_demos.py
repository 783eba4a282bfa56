"""Demos of a loop come from useful rounds: shown with a model whose last call is always the useless one."""

from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from reflective_rag.data.records import Record
from reflective_rag.optimizers.examples import to_examples
from reflective_rag.optimizers.loop_demos import LoopAware, useful_calls
from reflective_rag.optimizers.metrics import metric
from reflective_rag.programs import NaiveRAG, ReflectiveRAG
from reflective_rag.signatures.types import Passage
from tests.fakes import asks_for, chat_reply, fake_lm, fields_of

PEOPLE = ["Ada", "Bruno", "Cora", "Dario", "Edda", "Falk", "Gero", "Hanna", "Ilse", "Jonas", "Karla", "Linus"]
TEACHER = "{0} was taught by Old {0}."
TOWN = "Old {0} lived in {0}burg all his life."
RUMOUR = "Some say that {0} never lived in a town."


def record(name: str) -> Record:
    """A question of two hops; the rumour helps nobody."""
    passages = [
        {"id": "a", "text": TEACHER.format(name), "supporting": True},
        {"id": "b", "text": TOWN.format(name), "supporting": True},
        {"id": "c", "text": RUMOUR.format(name)},
    ]
    question = f"Where did the teacher of {name} live?"
    return Record.model_validate({"id": name, "question": question, "answers": [f"{name}burg"], "passages": passages})


RECORDS = [record(name) for name in PEOPLE]


def search(query: str, k: int) -> list[Passage]:
    """The first hop for the question, the second for the teacher's town, the rumour for anything else."""
    name = next(name for name in PEOPLE if name in query)
    if query.startswith("Where"):
        return [Passage(id="a", text=TEACHER.format(name))]
    if "town" in query:
        return [Passage(id="b", text=TOWN.format(name))]
    return [Passage(id="c", text=RUMOUR.format(name))]


def reply(request: Request) -> str:
    """Round 1 rightly lacks the town; round 2 has it, and is wrongly called not enough; round 3 brings a rumour."""
    fields = fields_of(request)
    read = fields.get("passages", "")
    name = next(name for name in PEOPLE if name in fields["question"])
    found, last = "burg" in read, "Some say" in read
    query = f"more about {name}" if found else f"town of Old {name}"
    gap = {
        "kind": "missing_attribute",
        "need": "rumours" if found else "the town",
        "query": query,
        "importance": "high",
    }
    told: dict[str, Any] = {
        "needs": [{"need": "the teacher", "passages": [1]}, {"need": "the town", "passages": [2] if found else []}],
        "relevant": [1, 2] if found else [1],
        "contradictions": [],
        "outdated": [],
        "gaps": [gap],
        "sufficient": "no",
        "answer": f"{name}burg" if found and not last else "unknown" if not found else f"{name}burg, or nowhere",
        "cited": [2] if found else [],
        "query": query,
    }
    return chat_reply(**{field: value for field, value in told.items() if asks_for(request, field)})


def program(**options: Any) -> ReflectiveRAG:
    """Three rounds, of which the last brings nothing."""
    return ReflectiveRAG(search, max_rounds=3, patience=3, k=1, k_gap=1, repair=False, **options)


def demos(made: Any) -> dict[str, list[str]]:
    """Predictor name → what each demo read."""
    return {name: [demo["passages"] for demo in p.demos] for name, p in made.named_predictors() if p.demos}


def bootstrapped(judge: Any, **options: Any) -> dict[str, list[str]]:
    """Demos of all questions by DSPy's own bootstrapping."""
    stock = dspy.BootstrapFewShot(metric=judge, max_bootstrapped_demos=len(RECORDS), max_labeled_demos=0)
    with dspy.context(lm=fake_lm(reply), adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        return demos(stock.compile(program(**options), trainset=to_examples(RECORDS)))


JUDGE = metric("f1", threshold=0.3)
"""Takes the whole run for right, hedging included."""


@pytest.mark.parametrize("mode", ["paired", "fused"])
def test_stock_bootstrapping_takes_the_useless_last_round(mode: str) -> None:
    """What the filter is for: about half of the demos show the rumour that nobody needed."""
    found = bootstrapped(JUDGE, mode=mode)
    assert all(any("Some say" in read for read in reads) for reads in found.values())


def test_demos_come_from_useful_rounds() -> None:
    """The judge's show a right "not enough" or a gap closed, the answerer's an accepted answer or a right "unknown"."""
    strict = metric("f1", threshold=0.9)

    class Lenient:
        """Accepts the hedging answer of the last round as the run's, but no draft that hedges."""

        def __call__(self, example: Any, prediction: Any, trace: Any = None, *rest: Any) -> bool:
            return strict(example, prediction) >= 0.9 or bool(JUDGE(example, prediction, trace, *rest) and trace)

    found = bootstrapped(LoopAware(Lenient()), mode="paired")
    assert found.keys() == {"answer", "assessor.assess"}
    assert all(reads for reads in found.values())
    assert not [read for reads in found.values() for read in reads if "Some say" in read]


def run(**options: Any) -> tuple[list[Any], Any, Any]:
    """Trace, example and prediction of the first question."""
    (example,) = to_examples(RECORDS[:1])
    lm = fake_lm(reply)
    with dspy.context(lm=lm, trace=[], adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        prediction = program(**options)(question=example.question)
        return list(dspy.settings.trace), example, prediction


def read_by(entries: list[Any], output: str) -> list[int]:
    """How many passages each call read that was asked for `output`."""
    return [inputs["passages"].count("[") for p, inputs, _ in entries if output in p.signature.output_fields]


def exact(draft: str) -> bool:
    """The accepted answer alone."""
    return draft == "Adaburg"


def test_which_calls_of_a_run_are_kept() -> None:
    """Of three rounds: judgements of 1 (rightly went on) and 2 (closed the gap), drafts of 1 ("unknown") and 2."""
    trace, example, prediction = run(mode="paired")
    assert len(prediction.rounds) == 3
    assert read_by(trace, "sufficient") == read_by(trace, "answer") == [1, 2, 3]
    kept = useful_calls(trace, example, prediction, exact)
    assert read_by(kept, "sufficient") == [1, 2]
    assert read_by(kept, "answer") == [1, 2]
    assert kept == [entry for entry in trace if entry in kept]


def test_a_right_stop_is_kept() -> None:
    """A round that ended with "enough" and an accepted answer is a demo for judge and answerer."""
    trace, example, prediction = run(mode="paired", respect_verdict=False, theta=0.3)
    assert prediction.stop_reason == "sufficient"
    kept = useful_calls(trace, example, prediction, exact)
    assert read_by(kept, "sufficient")[-1] == len(prediction.passages)


def test_a_reply_that_is_missing_moves_no_other_call_to_another_round() -> None:
    """Without the judge's first reply its second is still that of round 2, and the useless third still of round 3."""
    trace, example, prediction = run(mode="paired")
    lost = next(entry for entry in trace if "sufficient" in entry[0].signature.output_fields)
    kept = useful_calls([entry for entry in trace if entry is not lost], example, prediction, exact)
    assert read_by(kept, "sufficient") == [2]
    assert read_by(kept, "answer") == [1, 2]


def test_a_call_that_no_driver_made_belongs_to_no_round() -> None:
    """As many calls as rounds is no proof: a judgement without the mark of its round is left out."""
    trace, example, prediction = run(mode="paired")
    foreign = [(predictor, inputs, dspy.Prediction(**dict(output.items()))) for predictor, inputs, output in trace]
    assert read_by(useful_calls(foreign, example, prediction, exact), "sufficient") == []


def test_relevance_verdicts_must_agree_with_the_labels() -> None:
    """A verdict that calls the rumour relevant is no demo; one on a supporting passage is."""
    _, example, prediction = run(mode="paired")
    judge = dspy.Predict("question, passage -> relevance")
    calls = [
        (judge, {"passage": f"[1] {text.format('Ada')}"}, dspy.Prediction(relevance=said))
        for text, said in [(TEACHER, "relevant"), (RUMOUR, "relevant"), (RUMOUR, "irrelevant"), (TOWN, "irrelevant")]
    ]
    assert useful_calls(calls, example, prediction, exact) == [calls[0], calls[2]]


def test_programs_without_rounds_are_left_alone() -> None:
    """Naive RAG's one call is its demo."""
    (example,) = to_examples(RECORDS[:1])
    with dspy.context(lm=fake_lm(reply), trace=[], adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        prediction = NaiveRAG(search)(question=example.question)
        trace = list(dspy.settings.trace)
    assert useful_calls(trace, example, prediction, exact) == trace


def test_elsewhere_it_is_the_metric_itself() -> None:
    """In evaluation and for GEPA nothing is cut, and a refused run keeps its trace."""
    trace, example, prediction = run(mode="paired")
    strict, before = metric("f1", threshold=0.9), list(trace)
    aware = LoopAware(strict)
    assert aware(example, prediction) == strict(example, prediction)
    assert aware(example, prediction, trace, "answer", trace[:1]) == strict(example, prediction)
    assert aware(example, prediction, trace) is False
    assert trace == before
