"""Base of every program: one loop written as steps, run sync, async, as a stream, or from a record."""

import unicodedata
from collections.abc import AsyncIterator, Iterator
from datetime import date, datetime
from typing import Any

import dspy

from reflective_rag.programs import drivers
from reflective_rag.programs.calibrated import InUse
from reflective_rag.programs.calibration import Calibration, RiskRule, check_rule
from reflective_rag.programs.drivers import Event
from reflective_rag.programs.lateness import late_result
from reflective_rag.programs.ledger import Ledger
from reflective_rag.programs.saved_state import check_state
from reflective_rag.programs.searching import SearchFunction, SearchHandle
from reflective_rag.programs.settings import Budget
from reflective_rag.programs.steps import Steps
from reflective_rag.signatures.errors import ConfigError, DataError, described
from reflective_rag.signatures.types import Result

MAX_QUESTION_CHARS = 10_000
"""A longer question is refused: it is a document, and would crowd the evidence out of every prompt."""


class RagModule(dspy.Module):
    """A question-answering program over a caller's `search`. Subclasses write `steps` and hold `settings`.

    `rag(question=…)`, `await rag.acall(question=…)`, `rag.stream(question=…)` and `rag.astream(question=…)` run the
    same loop; the first two return one `dspy.Prediction` with the fields of `Result`.
    """

    name = ""
    """The name of this program on the command line and in artefacts."""
    settings: Any
    asks_model = True
    """Whether it has predictors at all."""
    needs_model = False
    """Whether it cannot run on rules: what it does is asking a model."""
    needs_search = True
    """Whether it cannot run without a `search`."""

    def __init__(self, search: SearchFunction | None = None, *, today: date | None = None) -> None:
        super().__init__()
        self.search = SearchHandle(search)
        self.today = as_day(today)
        """The date that "now" means; None is the real one. Fix it to replay a recording or to ask as of any day."""
        self.calibrated: InUse | None = None
        """Set by `use_calibration`; without it `confidence` is the program's own heuristic."""

    def steps(self, question: str) -> Steps:
        """The loop: yields lists of steps, receives their outcomes, returns the result (`forward` adds the usage)."""
        raise TypeError(f"{type(self).__name__} does not define steps()")

    def uses_model(self) -> bool:
        """Whether a language model is configured for this program; without one it runs on rules and says so."""
        if dspy.settings.lm is not None:
            return self.asks_model
        predictors = self.predictors()  # a slow walk over all attributes, only needed where models are pinned
        return bool(predictors) and all(p.lm is not None for p in predictors)

    def use_calibration(
        self,
        calibration: Calibration | None,
        *,
        abstain_at_risk: float | None = None,
        abstain_rule: RiskRule = "selective",
    ) -> None:
        """Make `confidence` a probability; with `abstain_at_risk`, withhold answers that are too unsure for that risk.

        Where the program or the model is another than the calibration was fitted with, results stay uncalibrated and
        say so (`calibrated`); with `abstain_at_risk` the call is a `ConfigError` instead. None ends it. The stopping
        rule, and `min_confidence` where the program abstains by itself, keep to the program's own confidence.

        Args:
            abstain_rule: Which risk is meant, see `RiskRule`.

        Raises:
            ConfigError: The calibration has no threshold for that risk, there is no calibration, or a rule is named
                without a risk.
        """
        check_rule(abstain_rule)
        if abstain_at_risk is None and abstain_rule != "selective":
            raise ConfigError(f"`abstain_rule={abstain_rule!r}` needs `abstain_at_risk`, such as 0.1: the risk to keep")
        if calibration is None:
            if abstain_at_risk is not None:
                raise ConfigError("`abstain_at_risk` needs a calibration: `reflective-rag calibrate` fits one")
            self.calibrated = None
            return
        wanted = None if abstain_at_risk is None else calibration.threshold(abstain_at_risk, abstain_rule)
        self.calibrated = InUse(calibration, wanted)

    def load_state(self, state: Any, *, allow_unsafe_lm_state: bool = False) -> None:
        """As DSPy's, for a state of this program only.

        Raises:
            DataError: It is another program's, or damaged; nothing has changed then.
        """
        check_state(self, self.name or type(self).__name__, state)
        try:
            super().load_state(state, allow_unsafe_lm_state=allow_unsafe_lm_state)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"the saved state cannot be loaded: {described(error)}") from error

    def calls_per_question(self) -> tuple[int, int] | None:
        """Fewest and most model calls that a question's plan holds, for cost estimates; None where nobody knows."""
        return None

    def forward(self, question: str) -> dspy.Prediction:
        """Answer one question. Raises `ConfigError` for a question or set-up that cannot work."""
        ledger = self._start(question)
        return self._told(drivers.run(self.steps(question), self.search, ledger), ledger, question)

    async def aforward(self, question: str) -> dspy.Prediction:
        """The same without blocking the event loop."""
        ledger = self._start(question)
        return self._told(await drivers.arun(self.steps(question), self.search, ledger), ledger, question)

    def stream(self, question: str) -> Iterator[Event]:
        """Events while the question is answered; the last has kind `result` and the Prediction of a plain call."""
        ledger = self._start(question)
        events = drivers.stream(self.steps(question), self.search, ledger)
        return (self._with_usage(event, ledger, question) for event in events)

    async def astream(self, question: str) -> AsyncIterator[Event]:
        """`stream` on the event loop."""
        ledger = self._start(question)
        async for event in drivers.astream(self.steps(question), self.search, ledger):
            yield self._with_usage(event, ledger, question)

    def _start(self, question: str) -> Ledger:
        check_question(question)
        if self.needs_search:
            self.search.require()
        if self.needs_model and not self.uses_model():
            raise ConfigError(
                f"program `{self.name}` needs a language model and is not available on rules: configure one "
                "(`dspy.configure(lm=…)`, or `--lm` on the command line)"
            )
        if self.calibrated is not None:
            self.calibrated.require(self)
        budget: Budget = self.settings.budget
        return Ledger(budget)

    def _told(self, result: Result, ledger: Ledger, question: str) -> dspy.Prediction:
        """The loop's result as the caller gets it: calibrated, with its usage; replay works on the loop's own."""
        if ledger.undone or ledger.seconds_left() == 0.0:
            result = late_result(result, question, ledger.undone)
        if self.calibrated is not None and not self.calibrated.misfit(self):
            result = self.calibrated.apply(result, question, self.settings)
        return prediction(result, ledger)

    def _with_usage(self, event: Event, ledger: Ledger, question: str) -> Event:
        if event.kind != "result":
            return event
        return Event(kind="result", result=self._told(event.result, ledger, question))


def as_day(today: object) -> date | None:
    """A day that "now" means, or None for the real one. Raises `ConfigError` for anything but a date."""
    if today is not None and not isinstance(today, date):
        raise ConfigError(f"`today` must be a `datetime.date`, such as `date(2026, 11, 30)`, got {today!r:.80}")
    return today.date() if isinstance(today, datetime) else today


def check_question(question: object) -> None:
    """Raise `ConfigError` for a question that is not a text, is empty, or is too long."""
    if not isinstance(question, str):
        raise ConfigError(f"`question` must be a string, got {type(question).__name__}")
    if all(unicodedata.category(character)[0] in "ZC" for character in question):  # spaces and invisible characters
        raise ConfigError("`question` is empty; ask something")
    try:
        question.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"`question` is not valid text: half of a surrogate pair at position {error.start}; "
            "it was probably cut inside an emoji or decoded wrongly"
        ) from None
    if len(question) > MAX_QUESTION_CHARS:
        raise ConfigError(
            f"`question` has {len(question):,} characters, at most {MAX_QUESTION_CHARS:,} are allowed; "
            "put long material into the corpus and ask about it"
        )


def prediction(result: Result, ledger: Ledger) -> dspy.Prediction:
    """The result with its usage, as DSPy's Prediction (typed values, not JSON)."""
    final = result.model_copy(update={"usage": ledger.usage, "retrievals": ledger.retrievals})
    return dspy.Prediction(**{name: getattr(final, name) for name in Result.model_fields})


def result_of(prediction: dspy.Prediction) -> Result:
    """The `Result` inside a Prediction of ours, for JSON: `result_of(p).model_dump(mode="json")`."""
    return Result(**{name: prediction[name] for name in Result.model_fields})
