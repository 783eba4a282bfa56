"""What a run of a world must have been: the rules of the loop, written a second time."""

import itertools
from dataclasses import dataclass

import dspy

from reflective_rag.programs.repeats import is_repeat
from reflective_rag.signatures.types import Assessment, Round
from tests.fakes import Call, prompt_text
from tests.programs.worlds import World


@dataclass(frozen=True)
class Run:
    """A world, its result, and what its model saw."""

    world: World
    result: dspy.Prediction
    calls: list[Call]


def tokens_of(call: Call) -> tuple[int, int]:
    """Prompt and completion tokens as the fake engine counts them."""
    return max(1, len(prompt_text(call.request)) // 4), max(1, len(call.reply) // 4) if call.reply is not None else 0


def enough(a: Assessment, world: World) -> bool:
    """The enough-rule, written a second time."""
    settled = not any(c.newer is None for c in a.contradictions)
    covered = all(r.status == "covered" for r in a.requirements if r.important)
    return (
        a.evidence_score >= world.options["theta"]
        and settled
        and covered
        and a.freshness != 0
        and a.sufficient is not False
    )


def progress(before: Assessment, after: Assessment) -> bool:
    """Whether a round helped, written a second time."""
    covered = [sum(r.status == "covered" for r in a.requirements) for a in (before, after)]
    return covered[1] > covered[0] or after.evidence_score > before.evidence_score


def is_true(run: Run) -> bool:
    """Whether the stop reason can be derived from the rounds and the world's own log."""
    world, result = run.world, run.result
    reason: str = result.stop_reason
    rounds: tuple[Round, ...] = result.rounds
    last = next((r.assessment for r in reversed(rounds) if r.assessment), None)
    if reason == "sufficient":
        return last is not None and enough(last, world)
    if reason.startswith("budget_"):
        name = {"budget_calls": "lm_calls"}.get(reason, reason.removeprefix("budget_"))
        return getattr(world.budget, name) is not None
    if reason == "model_error":
        return any(call.reply is None for call in run.calls)
    if reason == "retriever_error":
        return None in world.found
    if last is not None and reason != "no_new_passages" and enough(last, world):
        return False
    if reason == "max_rounds":
        return bool(len(rounds) == world.options["max_rounds"])
    if reason == "no_passages":
        return last is None and not any(world.found)
    if reason == "no_new_passages":
        known = {p.key for p in [*result.passages, *(d.passage for d in result.dropped)]}
        return all(p.key in known for found in world.found for p in found or [])
    if reason == "no_progress":
        misses = 0
        for before, after in itertools.pairwise(r.assessment for r in rounds if r.assessment):
            misses = 0 if progress(before, after) else misses + 1
        return bool(misses >= world.options["patience"])
    assert last is not None
    wanted = [g.query for g in last.gaps] or [r.need for r in last.requirements if r.status == "missing"]
    if reason == "no_gap":
        return not wanted
    return bool(wanted) and all(is_repeat(query, world.searched) for query in wanted)
