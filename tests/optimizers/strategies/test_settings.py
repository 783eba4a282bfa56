"""Strategy `settings`: what changes prompts or searches is chosen by running, in few trials, for quality less cost."""

import json
from typing import Any

import pytest

from reflective_rag.optimizers.metrics import metric
from reflective_rag.optimizers.strategies import STRATEGIES, Compiled, strategy
from reflective_rag.optimizers.strategies.spaces import SPACES, now, space_of
from reflective_rag.programs import NaiveRAG, ReflectiveRAG, ReflectiveWrapper
from reflective_rag.programs.registry import make_program
from reflective_rag.programs.variants import with_options
from reflective_rag.signatures.errors import ConfigError, DataError, ReflectiveRAGError
from reflective_rag.signatures.types import Passage
from tests.optimizers.strategies.small import NOISE, RECORDS, YEARS, Bench, search


def third_best(query: str, k: int) -> list[Passage]:
    """The passage that answers comes third."""
    others = [Passage(id=f"noise{i}", text=f"{NOISE.text} {i}") for i in range(2)]
    return [*others, *(Passage(id=n, text=f"{n} was born in {y}.") for n, y in YEARS.items() if n in query)][:k]


def tuned(program: Any, *, model: bool = True, **options: Any) -> tuple[Compiled, Bench]:
    """A compile of the small world, on rules unless a model is wanted."""
    bench = Bench()
    task = bench.task("settings", program=program, options=options, metric=metric("costed", lam=0.0, mu=0.001))
    if model:
        return bench.compile("settings", task), bench
    return STRATEGIES["settings"].compile(task), bench


def test_it_finds_the_width_that_answers_and_no_wider() -> None:
    """On rules too: with k = 2 nothing is found, with 3 all is, and 5 costs the same but changes nothing."""
    found, _ = tuned(NaiveRAG(third_best, mode="rules", k=2), model=False, space={"k": [1, 2, 3, 5]}, trials=9)
    assert found.program.settings.k == 3
    assert found.report["chosen"] == {"k": 3}
    assert found.report["before"]["quality"] < found.report["quality"]["mean"] == 1.0
    assert found.report["gain"]["low"] <= found.report["gain"]["mean"] <= found.report["gain"]["high"]
    assert [c.name for c in found.candidates] == ["as it is", "k=1", "k=3", "k=5"]


def test_the_program_stays_as_it_is_where_nothing_is_better() -> None:
    """Of equals the one with fewer changes wins, and nothing is said to be chosen."""
    start = NaiveRAG(search, mode="rules", k=5)
    found, _ = tuned(start, model=False, space={"passage_chars": [400, 800]})
    assert found.report["chosen"] == {}
    assert (found.program.settings, found.program is start) == (start.settings, False)


def test_no_combination_is_run_twice_and_the_same_seed_chooses_the_same() -> None:
    """However often Optuna comes back to one."""
    first, again = (tuned(make_program("always", search), trials=8)[0] for _ in range(2))
    tried = [str(sorted(c.details["settings"].items())) for c in first.candidates]
    assert len(tried) == len(set(tried)) <= 8
    assert first.report == again.report


def test_prices_decide_between_equal_answers() -> None:
    """The same quality from fewer searches is worth more."""
    start = make_program("always", search, rounds=4)
    found, _ = tuned(start, space={"rounds": [1, 2, 4]})
    assert found.program.settings.rounds == 1
    assert found.report["retrievals"]["mean"] < found.report["before"]["retrievals"]


def test_another_mode_keeps_the_instructions_of_predictors_that_both_have() -> None:
    """What was compiled before is not lost where the predictor is there in the new mode too."""
    start = ReflectiveRAG(search, mode="paired", repair=False)
    start.answer.signature = start.answer.signature.with_instructions("Answer with a year.")
    made: Any = with_options(start, mode="separate", k=3)
    assert (made.settings.mode, made.settings.k, made.search) == ("separate", 3, start.search)
    assert made.answer.signature.instructions == "Answer with a year."
    assert {name for name, _ in made.named_predictors()} != {name for name, _ in start.named_predictors()}


def test_a_default_mode_stays_one_that_does_not_insist_on_a_model() -> None:
    """Built anew a program runs on rules like before, and is not degraded for a model that nobody asked for."""
    start = ReflectiveRAG(search)
    question = RECORDS[0].question
    assert with_options(start, k=3)(question=question).degraded is start(question=question).degraded is False


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"kk": [3]}, "unknown setting 'kk'"),
        ({"k": 3}, r"`space.k` must be a list of values to try, got 3"),
        ({"k": []}, r"`space.k` must be a list of values to try, got \[\]"),
        ({"k": [3, 0]}, "`space.k`: `k`: input should be greater than or equal to 1, got 0"),
        ({"mode": ["rules", "fast"]}, "`space.mode`: .*'fast'"),
        ({"budget": [{}]}, "unknown setting 'budget'"),
    ],
)
def test_a_space_that_cannot_work_is_refused_before_anything_runs(space: dict[str, Any], said: str) -> None:
    """By the name of the setting."""
    task = Bench().task("settings", program=ReflectiveRAG(search), options={"space": space})
    with pytest.raises(ConfigError, match=said):
        STRATEGIES["settings"].plan(task)


def test_combinations_that_do_not_go_together_are_left_out() -> None:
    """CorrectiveRAG's lower threshold above its upper one is no combination; the others are run."""
    start = make_program("corrective", search)
    found, _ = tuned(start, space={"upper": [0.3, 0.9], "lower": [0.1, 0.5]}, trials=9)
    pairs = [(c.details["settings"]["lower"], c.details["settings"]["upper"]) for c in found.candidates[1:]]
    assert sorted(pairs) == [(0.1, 0.3), (0.1, 0.9), (0.5, 0.9)]


def test_a_program_that_always_fails_is_no_result() -> None:
    """Nothing is compiled, and the first error is told."""

    def broken(example: Any, prediction: Any, trace: Any = None) -> float:
        raise ValueError("no such field")

    class Broken:
        name, threshold, score = "broken", 0.5, staticmethod(broken)

    task = Bench().task("settings", program=NaiveRAG(search, mode="rules"), metric=Broken())
    with pytest.raises(ReflectiveRAGError, match=r"no answer could be scored.*no such field"):
        STRATEGIES["settings"].compile(task)


def test_a_program_of_ones_own_is_tuned_by_its_k() -> None:
    """A ninth program needs no entry in the table."""

    class Mine(NaiveRAG):
        name = "mine"

    assert space_of(Mine(search), {}).keys() == {"k"}


@pytest.mark.parametrize("name", SPACES)
def test_every_space_is_of_settings_that_the_program_has(name: str) -> None:
    """Each value alone can be built, and the program's present values can be read."""
    program = make_program(name, search)
    space = space_of(program, {key: list(values) for key, values in SPACES[name].items()})
    assert now(program, space).keys() == SPACES[name].keys()
    assert ("mode" in space_of(program, {})) is False  # without a model there is one mode


def test_a_wrapper_cannot_be_built_anew() -> None:
    """Its callables are the caller's; the refusal says which programs can."""
    wrapper = ReflectiveWrapper(lambda query: ["x"], lambda question, passages: "y")
    with pytest.raises(ConfigError, match=r"program 'wrapper' cannot be built anew.*'naive'"):
        with_options(wrapper, k=3)


CROSS_ENCODER = {"critics": [{"relevance": "models"}]}


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Attempts to load a cross-encoder; none can be."""
    tried: list[str] = []

    def absent(name: str) -> Any:
        tried.append(name)
        raise DataError(f"{name!r} could not be fetched")

    monkeypatch.setattr("reflective_rag.programs.scorers.resolve.OnnxPairModel", absent)
    monkeypatch.setattr("reflective_rag.programs.scorers.resolve.require_runtime", lambda spec: None)
    return tried


def test_a_trial_that_measured_the_fallback_is_not_chosen(loads: list[str]) -> None:
    """Rules judge in place of a model that is not to be had, and cost less: the values were not tried at all."""
    found, _ = tuned(make_program("self-rag", search), space=CROSS_ENCODER)
    assert (found.report["chosen"], found.report["left_out"]["fell_back"]["n"]) == ({}, 1)
    first = found.report["left_out"]["fell_back"]["first"]
    assert "relevance: models → rules" in first
    assert "could not be fetched" in first
    assert found.candidates[1].details["left_out"] in first
    assert len(loads) == 1


def test_suggested_trials_that_fell_back_teach_nothing(loads: list[str]) -> None:
    """More combinations than trials: those with the back end at hand are chosen among."""
    space = {"critics": [{"relevance": "models"}, {"relevance": "rules"}], "k": [1, 2, 3, 5]}
    found, _ = tuned(make_program("self-rag", search), space=space, trials=6)
    assert found.program.settings.critics.relevance != "models"
    assert found.report["left_out"]["fell_back"]["n"] >= 1


def test_a_fallback_that_the_program_has_already_leaves_nothing_out(loads: list[str]) -> None:
    """What all trials share does not tell one from the other."""
    start = make_program("self-rag", search, critics={"relevance": "models"}, k=5)
    found, _ = tuned(start, space={"k": [1, 2]})
    assert "left_out" not in found.report
    assert found.report["trials"] == 3


def test_combinations_that_were_not_run_are_told() -> None:
    """How many, and why the first could not be."""
    found, _ = tuned(make_program("corrective", search), space={"upper": [0.3, 0.9], "lower": [0.1, 0.5]}, trials=9)
    told = found.report["left_out"]["not_run"]
    assert (told["n"], "upper=0.3 lower=0.5" in told["first"]) == (1, True)


def test_where_nothing_else_can_be_run_there_is_no_compile() -> None:
    """The present settings alone are no choice."""
    with pytest.raises(ConfigError, match=r"none of the 1 other combination.*upper=0.3 lower=0.5"):
        tuned(make_program("corrective", search), space={"upper": [0.3], "lower": [0.5]})


def test_equal_values_are_run_once_and_are_plain() -> None:
    """A table and the model that it makes are the same settings; candidates and report are JSON."""
    critics = [{}, {"relevance": "rules"}, {"relevance": "rules", "support": "lm"}]
    found, _ = tuned(make_program("self-rag", search), space={"critics": critics, "k": [5, 5.0]})
    settings = [json.dumps(c.details["settings"], sort_keys=True) for c in found.candidates]
    assert len(settings) == len(set(settings)) <= 4
    assert json.dumps([found.report, [dict(c.details) for c in found.candidates]])


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        *(("settings", "trials", value) for value in (0, -3, 1, "x", 1.5, True, None)),
        *(("settings", "space", value) for value in ("k", ["k"])),
        *((kind, "lam", value) for kind in ("settings", "controls") for value in ("x", -1, float("nan"))),
        *((kind, "mu", float("inf")) for kind in ("settings", "controls")),
        ("controls", "max_rounds", 0),
        ("controls", "by_kind", "no"),
    ],
)
def test_odd_options_are_refused_from_python_too(kind: str, name: str, value: Any) -> None:
    """In the plan, in the compile and by `strategy`, in the words of a recipe's check."""
    program = make_program("reflective", search, mode="rules")
    task = Bench().task(kind, program=program, options={name: value})
    for refuse in (
        lambda: STRATEGIES[kind].plan(task),
        lambda: STRATEGIES[kind].compile(task),
        lambda: strategy(kind, program, {name: value}),
    ):
        with pytest.raises(ConfigError, match=f"option `{name}` must be"):
            refuse()


@pytest.mark.parametrize("options", [{"max_rounds": 2}, {"by_kind": True}], ids=str)
def test_options_of_the_replay_are_refused_where_nothing_is_replayed(options: dict[str, Any]) -> None:
    """Instead of being passed over."""
    task = Bench().task("controls", program=make_program("naive", search, mode="rules"), options=options)
    with pytest.raises(ConfigError, match=f"`{next(iter(options))}` needs the replay of 'reflective'"):
        STRATEGIES["controls"].plan(task)


def test_other_small_models_are_not_those_of_before() -> None:
    """A trial of another cross-encoder asks that one, and the searches are the caller's all the same."""
    start = make_program("self-rag", search, critics={"relevance": "models"}, critic_models={"relevance": "embedder"})
    same, other = with_options(start, k=3), with_options(start, critic_models={"relevance": "some/model"})
    assert (same.scorers is start.scorers, other.scorers is start.scorers) == (True, False)
    assert same.search is other.search is start.search
