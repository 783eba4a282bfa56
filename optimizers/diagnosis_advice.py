"""What each kind of failure means, and the settings and predictors to work on that a program has."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from reflective_rag.programs.module import RagModule

FailureKind = Literal[
    "failed",
    "unreadable",
    "retrieval_miss",
    "wrongly_dropped",
    "false_sufficient",
    "over_conservative",
    "unsupported",
    "wrong_despite_evidence",
    "unclear",
]
"""In the order of the pipeline: what is mended early helps what comes later."""
ANSWERING: frozenset[FailureKind] = frozenset({"over_conservative", "unsupported", "wrong_despite_evidence"})
"""Failures of the step that answers: everything that was needed had been read."""
A_MODEL = "--lm (rules answered: a language model is the lever, it reads where rules match words)"
_SETTING = re.compile(r"[a-z_]+(\.[a-z_]+)?")
"""How the name of a setting looks."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What a kind of failure means, and where to work on it."""

    means: str
    settings: tuple[str, ...]
    predictors: tuple[str, ...] = ()


ADVICE: Mapping[FailureKind, Advice] = {
    "failed": Advice(
        means="the program raised, or the model or the retriever gave out",
        settings=("budget", "the model's address and time-out", "--threads"),
    ),
    "unreadable": Advice(
        means="no answer was given, and replies of the model could not be read",
        settings=("--max-tokens", "mode", "fallback"),
        predictors=("answer", "assess_and_answer"),
    ),
    "retrieval_miss": Advice(
        means="a supporting passage was never retrieved, and the loop did not stop because it had enough",
        settings=("k", "k_gap", "gaps_per_round", "max_rounds", "--embedder"),
        predictors=("rewrite", "assessor.gaps"),
    ),
    "wrongly_dropped": Advice(
        means="a supporting passage was retrieved, and left out of what is read",
        settings=("max_passages", "near_duplicate", "tangent_margin", "critics.relevance", "relevant_at"),
        predictors=("assessor.relevance",),
    ),
    "false_sufficient": Advice(
        means="evidence that does not carry the answer was judged sufficient, or an unanswerable question was answered",
        settings=(
            "theta (strategy `controls`)",
            "abstain",
            "min_confidence",
            "sufficient_at",
            "respect_verdict",
            "critics.sufficiency",
            "min_support",
            "upper",
        ),
        predictors=("assessor.sufficiency", "assessor.coverage", "assess (`--stage critics`)"),
    ),
    "over_conservative": Advice(
        means="every supporting passage was read, and no answer was given",
        settings=("min_confidence", "abstain", "abstain_at_risk (calibrate)", "theta", "min_usefulness"),
        predictors=("answer", "assess_and_answer"),
    ),
    "unsupported": Advice(
        means="every supporting passage was read, and the answer claims what no passage carries",
        settings=("repair", "critics.support", "min_support"),
        predictors=("answer", "repair"),
    ),
    "wrong_despite_evidence": Advice(
        means="every supporting passage was read, the claims are carried, and the answer is not the expected one",
        settings=("max_passages", "passage_chars", "the accepted answers (another one may be right too)"),
        predictors=("answer (`--stage answer`)", "assess_and_answer"),
    ),
    "unclear": Advice(
        means="no supporting passages are labelled, or the row does not tell what was read",
        settings=("the labels (`supporting`)", "rows of this version"),
    ),
}
"""Kind → what it means and what to work on."""


def bare(name: str) -> str:
    """A name without what stands in brackets behind it."""
    return name.partition(" (")[0]


def has_setting(program: RagModule, name: str) -> bool:
    """Whether a program has a setting or control of that name; options of a command and words are for every program."""
    if not (found := _SETTING.fullmatch(bare(name))) or "(calibrate)" in name:
        return True
    held = (getattr(program, "settings", None), getattr(getattr(program, "controls", None), "values", None))
    return any(_holds(each, found[0].split(".")) for each in held)


def _holds(value: Any, path: Sequence[str]) -> bool:
    fields = getattr(type(value), "model_fields", {})
    return not path or (path[0] in fields and _holds(getattr(value, path[0]), path[1:]))
