"""Upstream faults that the strategies work around: each shown in stock DSPy where that is cheap, and gone in ours."""

from pathlib import Path
from typing import Any, ClassVar

import dspy
import pytest

from reflective_rag.optimizers.metrics import AnswerMetric, metric
from reflective_rag.optimizers.strategies import STRATEGIES
from reflective_rag.optimizers.strategies.gepa import _Reached
from reflective_rag.programs import NaiveRAG, ReflectiveRAG, load_program
from reflective_rag.programs.artefacts import save_program
from reflective_rag.programs.registry import PROGRAMS, make_program
from reflective_rag.signatures.errors import ConfigError, DataError, ReflectiveRAGError
from tests.fakes import prompt_text
from tests.optimizers.strategies.small import RECORDS, Bench, reply, search

QUICK = {"num_candidates": 3, "num_trials": 1, "program_aware_proposer": False}


def test_mipro_seed_0_is_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """MIPROv2 takes 0 for "none given" (dspy #10321): our seeds are shifted, so every one counts."""
    seeds: list[int] = []
    real = dspy.MIPROv2._set_random_seeds

    def noted(self: Any, seed: int) -> None:
        seeds.append(seed)
        real(self, seed)

    monkeypatch.setattr(dspy.MIPROv2, "_set_random_seeds", noted)
    for seed in (0, 1):
        bench = Bench()
        bench.compile("mipro", bench.task("mipro", options=QUICK, seed=seed))
    assert seeds == [1, 2]


def test_mipro_on_labels_alone() -> None:
    """Labels without bootstrapped demos crash MIPROv2 from the fourth candidate on (dspy #9938); ours goes on."""
    bench = Bench()
    labels = {"max_bootstrapped_demos": 0, "max_labeled_demos": 1, "num_candidates": 4}
    task = bench.task("mipro", options=QUICK | labels)
    compiled = bench.compile("mipro", task)
    assert len(bench.lm.engine.calls) <= STRATEGIES["mipro"].plan(task).calls_high
    assert compiled.candidates


@pytest.mark.parametrize("name", ["mipro", "gepa", "bootstrap-rs"])
def test_val_is_what_candidates_are_scored_on(name: str) -> None:
    """Left alone, these optimizers take most or all of the training questions for it."""
    bench = Bench()
    options = {"mipro": QUICK, "gepa": {"max_metric_calls": 5}, "bootstrap-rs": {"num_candidate_programs": 1}}[name]
    task = bench.task(name, options=options, train=RECORDS[:2], val=RECORDS[2:3])
    compiled = bench.compile(name, task)
    assert {round(one.score, 2) for one in compiled.candidates} <= {0.0, 1.0}


def test_bootstrap_rs_does_not_score_the_same_candidate_twice() -> None:
    """Without labels its "labels only" is the empty program again; with labels it is a candidate."""
    for labels, candidates in ((0, 3), (1, 4)):
        bench = Bench()
        task = bench.task("bootstrap-rs", options={"num_candidate_programs": 1, "max_labeled_demos": labels})
        assert len(bench.compile("bootstrap-rs", task).candidates) == candidates


def test_gepa_skips_predictors_that_no_run_called() -> None:
    """A turn of one (no query had to be rewritten) would be spent without a rewriting; the next in turn is taken."""

    class State:
        list_of_named_predictors = ("assessor.assess", "answer", "rewrite")
        named_predictor_id_to_update_next_for_program_candidate: ClassVar = [2]

    program = ReflectiveRAG(search, repair=False)
    names = dict(program.named_predictors())
    assert set(names) == set(State.list_of_named_predictors)
    called: list[Any] = [{"trace": [(names["answer"].deepcopy(), {}, None)]}]
    state, choose = State(), _Reached(program)
    assert choose(state, called, [0.0], 0, {}) == ["answer"]
    assert choose(state, [], [0.0], 0, {}) == ["rewrite"]


def test_gepa_reads_feedback_in_words() -> None:
    """What the writing model sees is what was wrong, with the right answer; never a bare score."""
    bench = Bench()
    bench.compile("gepa", bench.task("gepa", options={"max_metric_calls": 12}))
    assert "the right answer is '13" in "".join(map(prompt_text, bench.writer.engine.requests)) or (
        "the right answer is '12" in "".join(map(prompt_text, bench.writer.engine.requests))
    )


def test_gepa_survives_replies_that_cannot_be_read() -> None:
    """Stock GEPA drops an example whose reply parses in part (dspy #10362); our programs salvage it, and it counts."""
    bench = Bench()
    bench.lm.engine.fn = lambda request: (
        "[[ ## answer ## ]]\n1313" if "Boccaccio" in prompt_text(request) else reply(request)
    )
    task = bench.task("gepa", options={"max_metric_calls": 8})
    assert "metric_errors" not in bench.compile("gepa", task).report


def test_gepa_refuses_a_budget_that_val_alone_uses_up() -> None:
    """It would end with the program it began with, and call that a result."""
    bench = Bench()
    with pytest.raises(ConfigError, match="`max_metric_calls` must be more than the 3 questions of val"):
        STRATEGIES["gepa"].plan(bench.task("gepa", options={"max_metric_calls": 3}))


def test_knn_asks_nothing_more_for_a_question_and_can_be_saved(tmp_path: Path) -> None:
    """Stock KNNFewShot runs its neighbours anew for each question and loses everything on a save; ours does neither."""
    bench = Bench()
    task = bench.task(
        "knn", program=NaiveRAG(search), options={"k": 1}, train=RECORDS, metric=metric("f1", threshold=0)
    )
    compiled = bench.compile("knn", task).program
    assert len(bench.lm.engine.calls) == len(compiled.answer.demos) == len(RECORDS)
    loaded = load_program(save_program(compiled, tmp_path / "art"), search=search)
    for made in (compiled, loaded):
        before = len(bench.lm.engine.calls)
        with bench.use():
            made(question="When was Dante born?")
        assert len(bench.lm.engine.calls) == before + 1
        assert len(bench.lm.engine.requests[-1].messages) == 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_setting_of_knn_works_in_every_program(name: str) -> None:
    """A program that is made with `nearest_demos`, as a loaded artefact is, shows that many demos a call."""
    made = make_program(name, search, nearest_demos=2)
    assert [getattr(predictor, "nearest_demos", 0) for predictor in made.predictors()] == [2] * len(made.predictors())


def test_labeled_demos_are_whole() -> None:
    """Stock labelled demos lack the passages; ours have every field, and the citations are the supporting passages."""
    bench = Bench()
    compiled = bench.compile("labeled", bench.task("labeled", program=NaiveRAG(search), options={"k": 2})).program
    demos = compiled.answer.demos
    assert len(demos) == 2
    for demo in demos:
        assert set(demo.keys()) == {"question", "passages", "answer", "cited"}
        assert f"[{demo['cited'][0]}] " in demo["passages"]
        assert demo["answer"] in demo["passages"]
    assert not bench.lm.engine.calls


def test_labeled_demos_for_single_verdicts() -> None:
    """In mode `separate` relevance has right and wrong passages; predictors of many fields get no demos."""
    bench = Bench()
    made = ReflectiveRAG(search, mode="separate", critics={"support": "lm"})
    compiled = bench.compile("labeled", bench.task("labeled", program=made)).program
    predictors = dict(compiled.named_predictors())
    assert {demo["relevance"] for demo in predictors["assessor.relevance"].demos} == {"relevant", "irrelevant"}
    assert {demo["support"] for demo in predictors["support"].demos} == {"supported", "not_supported"}
    assert not predictors["assessor.coverage"].demos
    assert not predictors["repair"].demos


def test_labeled_finds_nothing_to_label() -> None:
    """A program whose only predictor judges and answers at once: one clear error."""
    bench = Bench()
    made = ReflectiveRAG(search, mode="fused", repair=False)
    with pytest.raises(DataError, match="strategy 'labeled' found no demo"):
        bench.compile("labeled", bench.task("labeled", program=made))


class Failing(AnswerMetric):
    """A metric with a fault: it cannot read some questions, or none."""

    def score(self, example: Any, prediction: Any) -> float:
        """Raises for the question about Boccaccio, or with threshold 0 for all."""
        if "Boccaccio" in example.question or self.threshold == 0:
            raise KeyError("gold")
        return super().score(example, prediction)


@pytest.mark.parametrize("name", ["bootstrap-rs", "mipro", "gepa", "simba", "copro"])
def test_a_metric_that_fails_is_counted_and_one_that_never_works_ends_the_compile(name: str) -> None:
    """The optimizers go on with 0 in silence; ours reports the errors, and compiles nothing without one score."""
    options = {
        "bootstrap-rs": {"num_candidate_programs": 1},
        "mipro": QUICK,
        "gepa": {"max_metric_calls": 5},
        "simba": {"bsize": 2, "num_candidates": 2, "max_steps": 1},
        "copro": {"breadth": 2, "depth": 1},
    }[name]
    bench = Bench()
    report = bench.compile(name, bench.task(name, options=options, metric=Failing("f1", 0.5))).report
    assert report["metric_errors"] >= 1
    assert "KeyError" in report["first_metric_error"]
    with pytest.raises(ReflectiveRAGError, match="no answer could be scored"):
        bench.compile(name, bench.task(name, options=options, metric=Failing("f1", 0.0)))


def test_simba_keeps_the_useful_call_as_a_demo() -> None:
    """It would take a predictor's last call; and the traced inputs stay as they are."""
    from reflective_rag.optimizers.strategies.simba import _with_useful_calls
    from tests.optimizers.test_loop_demos import run

    trace, example, prediction = run(mode="paired")
    seen: list[Any] = []

    def append(bucket: list[dict[str, Any]], system: Any, **about: Any) -> bool:
        for _, inputs, _ in bucket[0]["trace"]:
            seen.append(inputs["passages"])
            inputs["passages"] = "cut"
        return True

    good = {"trace": trace, "example": example, "prediction": prediction, "score": 1.0}
    wrapped = _with_useful_calls(append, metric("f1", threshold=0.9))
    assert wrapped([good], None)
    assert seen
    assert not [text for text in seen if "Some say" in text]
    assert all(inputs.get("passages") != "cut" for _, inputs, _ in trace)
