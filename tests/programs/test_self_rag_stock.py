"""SelfRAG with stock DSPy, as an artefact, and with verdicts read from log-probabilities."""

import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from reflective_rag.programs import SelfRAG, load_program, make_program, save_program
from reflective_rag.programs.drivers import replay
from reflective_rag.programs.self_rag_settings import SelfRagControls
from reflective_rag.programs.steps import Ask, AskOutcome, Outcome, Search, SearchOutcome, Step
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Passage, Result
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, fields_of, prompt_text
from tests.programs.self_rag_worlds import BORN, QUESTION, WRONG
from tests.programs.worlds import plain

YEARS = {"Giotto": 1267, "Dante": 1265, "Petrarch": 1304, "Boccaccio": 1313}
TRAIN = [
    dspy.Example(question=f"When was {name} born?", answer=str(year)).with_inputs("question")
    for name, year in YEARS.items()
]


def search(query: str, k: int) -> list[Passage]:
    """The passage of the person in the query, and noise."""
    named = [Passage(id=n, text=f"{n} was born in {y}.") for n, y in YEARS.items() if n in query]
    return [*named, Passage(id="noise", text="Bananas are yellow.")][:k]


def reply(request: Request) -> str:
    """Right for odd years until a demo or a better instruction stands in the prompt; proposes one."""
    names = ("observations", "summary", "program_description", "module_description", "proposed_instruction", "tip")
    if proposal := {n: "Give the exact year." for n in names if asks_for(request, n)}:
        return chat_reply(**proposal)
    inputs = fields_of(request)
    name = next((n for n in YEARS if n in inputs.get("question", "")), "nobody")
    helped = "exact year" in prompt_text(request) or len(request.messages) > 1
    year = YEARS.get(name, 0) if helped or YEARS.get(name, 0) % 2 else "unknown"
    fields: dict[str, Any] = {
        "retrieve": "yes",
        "relevance": "relevant" if name in inputs.get("passage", "") else "irrelevant",
        "support": "supported",
        "problem": "none",
        "usefulness": "5",
        "query": f"{name} year of birth",
        "answer": year if asks_for(request, "cited") else "unknown",
        "cited": [1],
    }
    return chat_reply(**{name: value for name, value in fields.items() if asks_for(request, name)})


def metric(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> bool:
    """A metric of one's own."""
    return bool(example.answer == prediction.answer)


@pytest.fixture(autouse=True)
def model() -> Iterator[FakeLM]:
    """The model, with DSPy's and optuna's progress reports off."""
    levels = {name: logging.getLogger(name).level for name in ("dspy", "optuna")}
    for name in levels:
        logging.getLogger(name).setLevel(logging.ERROR)
    lm = fake_lm(reply)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        yield lm
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def scored(program: dspy.Module) -> float:
    """The score in percent by DSPy's own evaluation."""
    return float(dspy.Evaluate(devset=TRAIN, metric=metric, num_threads=2, display_progress=False)(program).score)


def test_bootstrap_few_shot_fills_demos_and_keeps_the_controls() -> None:
    """Every predictor that a trace reached gets demos, with short passages; the score rises."""
    student = SelfRAG(search, retrieval_threshold=0.4, weights={"usefulness": 1})
    compiled = dspy.BootstrapFewShot(metric=metric, max_bootstrapped_demos=2, max_labeled_demos=0).compile(
        student, trainset=TRAIN
    )
    demos = {name: len(p.demos) for name, p in compiled.named_predictors()}
    assert demos == {
        "retrieve": 2,
        "relevance": 2,
        "answer": 2,
        "support": 2,
        "usefulness": 2,
        "rewrite": 0,
        "alone": 0,
    }
    assert compiled.controls.values == student.controls.values
    assert compiled.controls.values.weights.usefulness == 1
    assert scored(compiled) > scored(student)


def test_mipro_compiles_it(capsys: pytest.CaptureFixture[str]) -> None:
    """MIPROv2 proposes from the class's source and keeps the better programs."""
    student = SelfRAG(search, max_rounds=1)
    optimizer = dspy.MIPROv2(metric=metric, auto=None, num_candidates=2, num_threads=1, seed=9)
    compiled = optimizer.compile(student, trainset=TRAIN[:2], valset=TRAIN[1:], num_trials=2, minibatch=False)
    assert scored(compiled) > scored(student)
    assert compiled.search is student.search
    capsys.readouterr()


def test_save_and_load_keep_controls_and_demos(tmp_path: Path) -> None:
    """DSPy's own JSON; a damaged number is one clear error that changes nothing."""
    rag, file = SelfRAG(search, min_usefulness=2.5, retrieval_threshold=0.45), tmp_path / "program.json"
    rag.answer.demos = [dspy.Example(question="谁？", passages="[1] 乔托", answer="乔托", cited=[1])]
    rag.save(file)
    loaded = SelfRAG(search)
    loaded.load(file)
    assert loaded.controls.values == SelfRagControls(min_usefulness=2.5, retrieval_threshold=0.45)
    assert loaded.answer.demos[0]["answer"] == "乔托"
    file.write_text(file.read_text().replace("0.45", "4.5"))
    with pytest.raises(DataError, match="`retrieval_threshold`"):
        loaded.load(file)
    assert loaded.controls.values.retrieval_threshold == 0.45


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"long_form": True, "beam_width": 3},
        {"mode": "rules"},
        {"retrieval": "never"},
        {"retrieval": "always", "critics": {"support": "rules"}, "closed_set": True, "min_usefulness": 2},
    ],
    ids=["default", "long form", "rules", "never", "mixed"],
)
def test_an_artefact_brings_the_same_program_back(tmp_path: Path, options: dict[str, Any]) -> None:
    """Settings, controls and predictors; the same answer for the same replies."""
    rag = make_program("self-rag", search, **options)
    save_program(rag, tmp_path / "artefact", model="fake/model")
    loaded = load_program(tmp_path / "artefact", search)
    assert isinstance(loaded, SelfRAG)
    assert (loaded.settings, loaded.controls.values) == (rag.settings, rag.controls.values)
    assert [n for n, _ in loaded.named_predictors()] == [n for n, _ in rag.named_predictors()]
    assert plain(loaded(question=TRAIN[0].question)) == plain(rag(question=TRAIN[0].question))


def test_an_artefacts_controls_give_way_to_options_and_its_shape_does_not(tmp_path: Path) -> None:
    """Numbers may be changed when it is loaded; what decides about predictors may not."""
    save_program(SelfRAG(search, min_usefulness=2), tmp_path / "artefact")
    loaded: Any = load_program(tmp_path / "artefact", search, retrieval_threshold=0.9, max_rounds=1)
    assert loaded.controls.values == SelfRagControls(min_usefulness=2, retrieval_threshold=0.9)
    assert loaded.settings.max_rounds == 1
    fixed: dict[str, Any] = {"retrieval": "never", "long_form": True, "answer_from_memory": False}
    for name, value in fixed.items():
        with pytest.raises(ConfigError, match=f"`{name}` cannot be changed"):
            load_program(tmp_path / "artefact", search, **{name: value})


def weighed(word: str, field: str, **p: float) -> dict[str, Any]:
    """Fields of a reply with the probabilities of the field's values."""
    top = [{"token": value, "logprob": math.log(mass)} for value, mass in p.items()]
    token = {"token": word, "logprob": math.log(p[word]), "top_logprobs": top}
    head = {"token": f"[[ ## {field} ## ]]\n", "logprob": 0.0, "top_logprobs": []}
    return {field: word, "logprobs": {"content": [head, token]}}


def replayed(answers: dict[str, dict[str, Any]], passages: list[Passage], **options: Any) -> Result:
    """A run over given replies; for relevance, support and usefulness by a piece of the passage or answer."""

    def outcome(step: Step) -> Outcome:
        if isinstance(step, Search):
            return SearchOutcome(ran=step.queries, results=tuple(tuple(passages) for _ in step.queries))
        assert isinstance(step, Ask)
        text = " ".join(step.inputs.values())
        if step.name == "answer" and "answer" not in answers:
            return AskOutcome(fields={"answer": "1276" if "1276" in text else "1267", "cited": [1]})
        return AskOutcome(fields=next((v for k, v in answers[step.name].items() if k in text), {}))

    return replay(SelfRAG(search, **options).steps(QUESTION), outcome)


RELEVANT = {"": {"relevance": "relevant"}}
FULL = {"": {"support": "supported", "problem": "none"}}
GOOD = {"": {"usefulness": "4", "problem": "none"}}


@pytest.mark.parametrize(("threshold", "searched"), [(0.2, True), (0.3, False), (0.5, False)])
def test_the_retrieval_threshold_is_on_the_ratio_of_probabilities(threshold: float, searched: bool) -> None:
    """p(yes) = .27 beside p(no) = .63 is .3, above .2 although "no" is written; a ratio equal to it is not above."""
    answers: dict[str, Any] = {
        "retrieve": {"": weighed("no", "retrieve", yes=0.27, no=0.63, **{"continue": 0.1})},
        "relevance": RELEVANT,
        "support": FULL,
        "usefulness": GOOD,
        "alone": {"": {"answer": "1267"}},
    }
    result = replayed(answers, [BORN], retrieval_threshold=threshold)
    assert result.need_retrieval is searched


def test_soft_verdicts_rank_what_written_ones_cannot() -> None:
    """Both passages are relevant and support fully in words; the probabilities tell them apart."""
    answers: dict[str, Any] = {
        "relevance": {
            "1276": weighed("relevant", "relevance", relevant=0.6, irrelevant=0.4),
            "1267": weighed("relevant", "relevance", relevant=0.9, irrelevant=0.1),
        },
        "support": FULL,
        "usefulness": {"": weighed("4", "usefulness", **{"4": 0.5, "5": 0.5})},
    }
    soft = replayed(answers, [WRONG, BORN], retrieval="always")
    assert soft.answer == "1267"
    assert soft.evidence_score == pytest.approx((0.9 + 1 + 0.5 * 0.75 + 0.5) / 3)
    first = soft.rounds[0].assessment
    assert first is not None
    assert {r: round(g, 3) for r, g in first.passage_relevance.items()} == {
        "wrong": 0.6,
        "born": 0.9,
    }


def test_a_relevance_below_the_bar_filters_whatever_is_written() -> None:
    """p(relevant) = .4 under `relevant_at` .5."""
    answers: dict[str, Any] = {
        "relevance": {
            "1276": weighed("relevant", "relevance", relevant=0.4, irrelevant=0.6),
            "": {"relevance": "relevant"},
        },
        "support": FULL,
        "usefulness": GOOD,
    }
    result = replayed(answers, [WRONG, BORN], retrieval="always")
    assert [p.id for p in result.passages] == ["born"]


@pytest.mark.parametrize(("sequence_score", "answer"), [(False, "1276"), (True, "1267")], ids=["off", "on"])
def test_the_sequence_score_is_added_where_it_is_switched_on(sequence_score: bool, answer: str) -> None:
    """A surer answer wins among equals; `evidence_score` stays that of the critics."""
    answers: dict[str, Any] = {
        "relevance": RELEVANT,
        "answer": {
            "1276": {"answer": "1276", "cited": [1], "logprobs": {"content": [{"token": "1276", "logprob": -2.0}]}},
            "1267": {"answer": "1267", "cited": [1], "logprobs": {"content": [{"token": "1267", "logprob": -0.1}]}},
        },
        "support": FULL,
        "usefulness": {"": {"usefulness": "5", "problem": "none"}},
    }
    result = replayed(answers, [WRONG, BORN], retrieval="always", sequence_score=sequence_score)
    assert (result.answer, result.evidence_score) == (answer, 1.0)


def test_an_answer_that_passages_contradict_is_told_so() -> None:
    """Contradicted and not stated are two things, whether or not the critic names the problem."""
    support = {"": {"support": "contradicted", "problem": "none"}}
    result = replayed(
        {"relevance": RELEVANT, "support": support, "usefulness": GOOD}, [BORN], retrieval="always", max_rounds=1
    )
    (told,) = [w.message for w in result.warnings if w.code == "unsupported_answer"]
    assert "the passages say otherwise" in told
    assert "not stated" not in told


def test_every_critic_that_fell_back_is_named() -> None:
    """With the reason once; `fallbacks` lists the same judgements."""
    rubbish: dict[str, Any] = {"": {}}
    answers = {"relevance": rubbish, "support": rubbish, "usefulness": rubbish}
    result = replayed(answers, [BORN], retrieval="always")
    (told,) = [w.message for w in result.warnings if w.code == "model_degraded"]
    assert all(f"{name}: lm → rules" in told for name in ("relevance", "support", "usefulness"))
    assert told.count("could not be read") == 1
