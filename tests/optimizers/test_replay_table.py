"""Replaying thousands of rules at once gives what replaying each by itself gives, and a choice that can be trusted."""

import random
from itertools import pairwise
from typing import Any

import dspy
import pytest

from reflective_rag.optimizers.kind_thetas import LEAST, thetas_by_kind
from reflective_rag.optimizers.replay import QuestionRecord, RecordedRound
from reflective_rag.optimizers.replay_choice import best_rule, frontier, held_out_gain, joined
from reflective_rag.optimizers.replay_rules import grid, simulate
from reflective_rag.optimizers.replay_table import ReplayTable
from reflective_rag.programs import LoopControls
from reflective_rag.signatures.types import Assessment, Contradiction, Requirement, Result, Support
from tests.optimizers.test_replay import calm_world, recorded

RULES = list(grid())
SUPPORT: list[Support | None] = ["supported", "partially", "not_supported", "contradicted", None]


def an_assessment(dice: random.Random) -> Assessment:
    """Anything that a critic may say."""
    dimensions: dict[str, Any] = {
        name: dice.choice([None, 0.0, 1.0, dice.random()])
        for name in ("relevance", "consistency", "coverage", "freshness")
    }
    needs = tuple(
        Requirement(need=f"n{i}", important=dice.random() < 0.5, status=dice.choice(["covered", "missing"]))
        for i in range(dice.randrange(3))
    )
    about: dict[str, Any] = {"about": "x", "passage_a": "a", "passage_b": "b", "span_a": "1", "span_b": "2"}
    return Assessment(
        **dimensions,
        requirements=needs,
        contradictions=(Contradiction(**about),) if dice.random() < 0.2 else (),
        sufficient=dice.choice([None, True, False]),
        sufficiency=dice.choice([None, None, 0.5, dice.random()]),
    )


def a_record(dice: random.Random, question: str = "Who was Giotto?", *, abstains: bool = False) -> QuestionRecord:
    """A recorded pass of up to four rounds with endings of any score and cost."""
    spent = searched = 0
    record = QuestionRecord("q", question, dice.random() if abstains else None, empty_score=dice.random())
    for _ in range(dice.randrange(5)):
        spent, searched = spent + dice.randrange(2000), searched + dice.randrange(4)
        record.rounds.append(
            RecordedRound(
                assessment=an_assessment(dice),
                ending=Result(answer="x"),
                score=dice.random(),
                refusal_score=dice.random(),
                support=dice.choice(SUPPORT),
                tokens=spent,
                tokens_after_gaps=spent + dice.randrange(100),
                retrievals=searched,
            )
        )
    record.last_retrievals = searched + 1
    record.last_stop = dice.choice(["no_gap", "no_new_query", "max_rounds"])
    return record


@pytest.mark.parametrize("abstains", [False, True], ids=["answers", "abstains"])
def test_all_rules_at_once_are_each_rule_by_itself(abstains: bool) -> None:
    """Score, tokens and retrievals agree to the last bit, whatever critics said and wherever the pass ended."""
    dice = random.Random(5)
    records = [a_record(dice, abstains=abstains) for _ in range(40)]
    rules = [*RULES[::97], LoopControls(stop_when_enough=False), LoopControls(theta_by_kind={"single": 0.1})]
    tried = ReplayTable(records).try_rules(rules)
    for row, rule in enumerate(rules):
        stops = [simulate(record, rule) for record in records]
        assert tried.score[row].tolist() == [stop.score for stop in stops]
        assert tried.tokens[row].tolist() == [stop.tokens for stop in stops]
        assert tried.retrievals[row].tolist() == [stop.retrievals for stop in stops]


def test_recorded_worlds_replay_the_same_either_way() -> None:
    """On passes that the program itself recorded, every rule of the grid gives the same at once and by itself."""
    records = []
    for seed in range(6):
        world = calm_world(seed)
        with dspy.context(lm=world.lm(), adapter=dspy.ChatAdapter()):
            records.append(recorded(world))
    rules = RULES[::31]
    tried = ReplayTable(records).try_rules(rules)
    singly = [[simulate(record, rule).score for record in records] for rule in rules]
    assert tried.score.tolist() == singly


def test_the_grid_is_large_and_its_rules_differ() -> None:
    """At least 10,000 settings with four rounds, and none twice."""
    assert len(RULES) >= 10_000
    assert len({rule.model_dump_json() for rule in RULES}) == len(RULES)


def test_of_equal_rules_the_nearest_to_the_programs_own_is_chosen() -> None:
    """Where nothing makes a difference, the program keeps its rule; where θ does, θ alone changes."""
    dice = random.Random(1)
    same = a_record(dice)
    same.rounds = []
    start = LoopControls(theta=0.55)
    tried = ReplayTable([same]).try_rules(joined(start, RULES))
    assert tried.rules[best_rule(tried, 0.02, 0.01)] == start
    asked = [two_rounds(0.6, better=True) for _ in range(3)]
    tried = ReplayTable(asked).try_rules(joined(start, RULES))
    chosen = tried.rules[best_rule(tried, 0.02, 0.01)]
    assert chosen.model_copy(update={"theta": start.theta}) == start
    assert chosen.theta > 0.6


def test_prices_decide_between_a_cheap_rule_and_a_good_one() -> None:
    """Free tokens buy the second round; where a thousand cost more than it brings, one round is enough."""
    records = [two_rounds(0.6, better=True) for _ in range(4)]
    tried = ReplayTable(records).try_rules(joined(LoopControls(), RULES))
    free, dear = (best_rule(tried, lam, 0.0) for lam in (0.0, 2.0))
    assert (tried.score[free].mean(), tried.tokens[free].mean()) == (1.0, 2000)
    assert (tried.score[dear].mean(), tried.tokens[dear].mean()) == (0.0, 1000)


def test_the_frontier_rises_in_quality_with_the_price() -> None:
    """Every point is better and dearer than the one before; the free answer and the best one are its ends."""
    records = [two_rounds(dice / 10, better=dice % 3 > 0) for dice in range(10)]
    tried = ReplayTable(records).try_rules(joined(LoopControls(), RULES))
    points = frontier(tried, 0.02, 0.01)
    pairs = [(point["tokens"], point["quality"]["mean"]) for point in points]
    assert len(pairs) > 2
    assert all(a < b and c < d for (a, c), (b, d) in pairwise(pairs))
    assert pairs[0][0] == tried.tokens.mean(axis=1).min()
    assert pairs[-1][1] == pytest.approx(tried.score.mean(axis=1).max())
    assert all(point["quality"]["low"] <= point["quality"]["mean"] for point in points)


def test_a_choice_among_noise_is_not_sold_as_a_gain() -> None:
    """The best of ten thousand rules on noise leads on the questions it was chosen on, but not on those left out."""
    dice = random.Random(3)
    records = [a_record(dice) for _ in range(40)]
    tried = ReplayTable(records).try_rules(joined(LoopControls(), RULES))
    row = best_rule(tried, 0.0, 0.0)
    lead = float((tried.score[row] - tried.score[0]).mean())
    estimate = held_out_gain(tried, 0.0, 0.0)
    assert estimate is not None
    assert estimate["mean"] < lead / 2
    assert estimate["low"] < 0
    assert held_out_gain(ReplayTable(records[:9]).try_rules(RULES[:5]), 0.0, 0.0) is None


BRIDGE, SINGLE = "When was the director of film Bonds Of Honor born?", "Who was Giotto?"


def two_rounds(score: float, *, better: bool, question: str = SINGLE) -> QuestionRecord:
    """A question whose first round scores `score`; the second, of score 1, answers right only where `better`."""
    record = QuestionRecord("q", question)
    for number, evidence in enumerate((score, 1.0), 1):
        right = (number == 2) is better
        record.rounds.append(
            RecordedRound(
                assessment=Assessment(relevance=evidence),
                ending=Result(answer="x"),
                score=float(right),
                refusal_score=0.0,
                support="supported",
                tokens=1000 * number,
                tokens_after_gaps=1000 * number,
                retrievals=number,
            )
        )
    record.last_retrievals = 2
    return record


def test_a_kind_of_question_gets_a_theta_where_that_helps_on_held_out_labels() -> None:
    """Bridges need the second round and others lose by it: bridges alone get a θ above their first round's score."""
    part = [two_rounds(0.6, better=True, question=BRIDGE) for _ in range(LEAST)]
    part += [two_rounds(0.6, better=False) for _ in range(LEAST)]
    rule, about = thetas_by_kind(part, part, LoopControls(theta=0.5), 0.0, 0.0)
    assert set(rule.theta_by_kind) == {"bridge"}
    assert rule.theta_by_kind["bridge"] > 0.6
    assert rule.theta == 0.5
    assert about["kinds"]["bridge"]["gain"]["mean"] == 1.0
    assert about["kinds"]["single"]["why"] == "the common θ is the best here too"
    assert about["kinds"]["comparison"]["why"] == f"fewer than {LEAST} questions in a part"
    assert simulate(part[0], rule).score == simulate(part[-1], rule).score == 1.0


def test_a_theta_that_does_not_help_on_held_out_labels_is_not_used() -> None:
    """What was best on one part and is not on the other stays out, and the report says so."""
    learnt = [two_rounds(0.6, better=True, question=BRIDGE) for _ in range(LEAST)]
    held = [two_rounds(0.6, better=False, question=BRIDGE) for _ in range(LEAST)]
    rule, about = thetas_by_kind(learnt, held, LoopControls(theta=0.5), 0.0, 0.0)
    assert rule == LoopControls(theta=0.5)
    assert about["kinds"]["bridge"]["gain"]["mean"] == -1.0
    assert not about["kinds"]["bridge"]["kept"]
    assert "no kind of question has a θ of its own" in about["note"]
