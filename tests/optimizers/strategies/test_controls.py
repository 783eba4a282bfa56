"""Strategy `controls`: one recorded pass, thousands of rules, the best by quality less cost, proved on the replies."""

from typing import Any

import pytest

from reflective_rag.optimizers.metrics import LAM, MU, metric
from reflective_rag.optimizers.replay_rules import grid
from reflective_rag.optimizers.strategies.controls import TuneControls
from reflective_rag.optimizers.strategies.prices import prices
from reflective_rag.programs import ReflectiveRAG
from tests.optimizers.strategies.small import RECORDS, Bench, search


def compiled(mode: str = "paired", **options: Any) -> Any:
    """A compile of the small world, and how many calls the model had got when it ended."""
    bench = Bench()
    start = ReflectiveRAG(search, mode=mode, repair=False, k=2, theta=0.95)
    task = bench.task("controls", program=start, options=options, metric=metric("costed", lam=0.5, mu=0.25))
    return bench.compile("controls", task), task, len(bench.lm.engine.calls)


def test_every_rule_is_tried_on_one_recorded_pass() -> None:
    """Ten thousand rules cost the calls of one pass: as many calls as with a tenth of the rules or with all."""
    found, task, calls = compiled()
    plan = TuneControls().plan(task)
    assert found.report["rules"] >= 10_000
    assert found.report["n"] == len(RECORDS)
    assert plan.calls_low <= calls <= plan.calls_high


@pytest.mark.parametrize("mode", ["paired", "separate"])
def test_the_chosen_rule_scores_on_the_replies_what_was_replayed(mode: str) -> None:
    """The program itself, run on the recorded replies under the chosen rule, has the replayed score on each."""
    found, _, _ = compiled(mode)
    replayed = found.report["replayed"]
    assert (replayed["n"], replayed["same"], replayed["differ"]) == (len(RECORDS), len(RECORDS), [])
    assert replayed["score"] == pytest.approx(found.report["quality"]["mean"])


def test_the_choice_comes_with_intervals_and_is_no_worse_than_before() -> None:
    """Costed score, quality, tokens and gain are means with intervals; the start is one of the rules."""
    report = compiled()[0].report
    for name in ("costed", "quality", "tokens", "retrievals", "gain"):
        assert report[name]["low"] <= report[name]["mean"] <= report[name]["high"]
    assert report["costed"]["mean"] >= report["before"]["costed"]
    assert report["gain"]["mean"] == pytest.approx(report["costed"]["mean"] - report["before"]["costed"])


@pytest.mark.parametrize(
    ("name", "known", "options", "expected"),
    [
        pytest.param("costed", {"lam": 0.5, "mu": 0.25}, {}, (0.5, 0.25), id="of the metric"),
        pytest.param("costed", {"lam": 0.5}, {"lam": 0.1}, (0.1, MU), id="the option wins"),
        pytest.param("costed", {"lam": 0.5}, {"lam": 0, "mu": 0.0}, (0.0, 0.0), id="free is an option too"),
        pytest.param("f1", {}, {}, (LAM, MU), id="defaults"),
    ],
)
def test_prices_are_those_of_the_metric_unless_options_say_otherwise(
    name: str, known: dict[str, Any], options: dict[str, float], expected: tuple[float, float]
) -> None:
    """λ and μ of the metric `costed` count in the tuning as they do in its scores."""
    task = Bench().task("controls", metric=metric(name, **known), options=options)
    assert prices(task) == expected


def test_kinds_of_questions_are_looked_at_only_when_asked() -> None:
    """Off, nothing is said; on, every kind is reported, here with too few questions to learn from."""
    assert "by_kind" not in compiled()[0].report
    found = compiled(by_kind=True)[0]
    assert set(found.report["by_kind"]["kinds"]) == {"comparison", "temporal", "bridge", "single"}
    assert found.program.controls.values.theta_by_kind == {}
    assert "no kind" in found.report["by_kind"]["note"]


def test_the_grid_ends_at_the_last_recorded_round() -> None:
    """A rule that asks for more rounds than were recorded could not be replayed."""
    assert {rule.max_rounds for rule in grid(2)} == {1, 2}
