"""A calibration in use: does it hold for this program and model, what does it make of a result, when is it withheld."""

from dataclasses import dataclass
from typing import Any

import dspy

from reflective_rag.programs.calibration import Calibration, RiskThreshold
from reflective_rag.programs.fingerprints import program_digest
from reflective_rag.programs.messages import abstention, warning
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Result, ResultWarning, StopReason, WarningCode

OUTSIDE: frozenset[StopReason] = frozenset({"model_error", "retriever_error"})
"""An outage is not what the labels were like: such a result is never calibrated, and withheld where a risk is to be
kept."""
_OF_AN_ANSWER: frozenset[WarningCode] = frozenset(
    {"low_confidence_generation", "unsupported_answer", "unverified_citation", "from_memory"}
)
"""Warnings about an answer that is given; one that is withheld has none of them."""


@dataclass(frozen=True)
class InUse:
    """A calibration, and the threshold below which answers are withheld (None: none is)."""

    calibration: Calibration
    threshold: RiskThreshold | None = None

    def misfit(self, program: Any) -> str:
        """Why the calibration does not hold for a program as it is now, with the model in use; empty where it does."""
        if (model := model_in_use(program)) != self.calibration.model:
            return f"it was fitted with {_model(self.calibration.model)}, and this is {_model(model)}"
        if program_digest(program) != self.calibration.program:
            return "the program's settings, instructions, demos or controls are not those that it was fitted with"
        return ""

    def require(self, program: Any) -> None:
        """Raise `ConfigError`, before anything is spent, where a risk is to be kept and cannot be."""
        if self.threshold is not None and (why := self.misfit(program)):
            raise ConfigError(
                f"`abstain_at_risk` cannot be kept: {why}. Calibrate it as it is now (`reflective-rag calibrate`), "
                "or leave `abstain_at_risk` out"
            )

    def apply(self, result: Result, question: str, settings: Any) -> Result:
        """The result with a calibrated confidence, withheld where that is too low for the risk that is to be kept."""
        if result.abstained:
            return result.model_copy(update={"calibrated": True})
        if result.stop_reason in OUTSIDE:
            return result if self.threshold is None else _withheld(result, question, result.stop_reason)
        sure = self.calibration.confidence(result)
        if self.threshold is not None and sure < (self.threshold.abstain_below or 0.0):
            return _withheld(result, question, f"{sure:.2f} < {self.threshold.abstain_below:.2f}")
        warnings = _without(result, frozenset({"low_confidence_generation"}))
        if getattr(settings, "warn_on_low_confidence", False) and sure < settings.min_confidence:
            warnings += (warning("low_confidence_generation", question),)
        return result.model_copy(update={"confidence": sure, "calibrated": True, "warnings": warnings})


def model_in_use(program: Any) -> str:
    """Names of the models that the program's predictors would ask now, joined; empty where it asks none."""
    if not program.uses_model():
        return ""
    models = (predictor.lm or dspy.settings.lm for predictor in program.predictors())
    return " + ".join(sorted({str(getattr(lm, "model", lm)) for lm in models if lm is not None}))


def _model(name: str) -> str:
    return f"the model {name!r}" if name else "rules"


def _without(result: Result, codes: frozenset[WarningCode]) -> tuple[ResultWarning, ...]:
    return tuple(each for each in result.warnings if each.code not in codes)


def _withheld(result: Result, question: str, detail: str) -> Result:
    return result.model_copy(
        update={
            "answer": abstention(question),
            "claims": (),
            "citations": (),
            "confidence": 0.0,
            "calibrated": result.stop_reason not in OUTSIDE,
            "abstained": True,
            "degraded": True,
            "warnings": (*_without(result, _OF_AN_ANSWER), warning("answer_withheld", question, detail)),
        }
    )
