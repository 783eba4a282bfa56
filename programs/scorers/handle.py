"""The small models of one program: named by settings or given as objects, loaded at first use, asked in steps."""

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from reflective_rag.programs.material import Reading
from reflective_rag.programs.settings import CriticModels
from reflective_rag.programs.steps import Score, ScoreOutcome
from reflective_rag.programs.verdicts import Parts
from reflective_rag.signatures.errors import ConfigError, ReflectiveRAGError
from reflective_rag.signatures.types import ClaimSupport, Judgement, JudgementName, Passage

if TYPE_CHECKING:
    from reflective_rag.programs.scorers.base import NliScorer, PairScorer

RETRY_SECONDS = 300.0
"""How long a model that could not be loaded is not tried again: a hub that is down would cost each question seconds."""
_loading = threading.Lock()
OWN = "own"
"""What stands in an artefact's settings for an object of the caller's, which must be given again when it is loaded."""


def check_scorers(own: Collection[str], settings: Any) -> None:
    """Raises `ConfigError` for scorers that no critic asks, instead of passing them over in silence.

    `settings` has `critics` and `fallback`, as `ReflectiveSettings` does.
    """
    if "models" in settings.fallback:
        return
    critics = settings.critics
    asked = {"relevance": (critics.relevance,), "nli": (critics.consistency, critics.support)}
    for name in own:
        if name in asked and "models" not in asked[name]:
            judged = "relevance" if name == "relevance" else "support"
            raise ConfigError(
                f"`scorers` has {name!r}, but no critic asks it: expected `critics` with {judged!r} given to 'models' "
                f"(such as `critics={{{judged!r}: 'models'}}`), got {critics.model_dump(exclude_none=True)!r}"
            )


def check_own(own: Any) -> dict[str, Any]:
    """The caller's scorers by key. Raises `ConfigError` where they are something else."""
    if not isinstance(own, Mapping):
        raise ConfigError(f"`scorers` must be a dict such as {{'relevance': my_scorer}}, got {own!r:.80}")
    if unknown := [name for name in own if name not in CriticModels.model_fields]:
        known = ", ".join(f"`{name}`" for name in CriticModels.model_fields)
        raise ConfigError(f"`scorers`: unknown {', '.join(map(repr, unknown))}; known: {known}")
    for name, scorer in own.items():
        if not callable(getattr(scorer, "predict", None)):
            raise ConfigError(f"`scorers`: {name!r} must be an object with `predict(pairs)`, got {scorer!r:.80}")
    return dict(own)


def check_models(settings: Any) -> None:
    """Raises `ConfigError` for a model in `critic_models`, or an object in its place, that no judgement asks.

    `settings` has `critic_models`, and `critics` and `fallback` or one `critic`.
    """
    critics = getattr(settings, "critics", None)
    if "models" in getattr(settings, "fallback", ()):
        return
    if critics is None:
        asked: dict[str, tuple[Any, ...]] = {"relevance": (settings.critic,)}
        how = {"relevance": "`critic='models'`"}
    else:
        asked = {"relevance": (critics.relevance,), "nli": (getattr(critics, "consistency", None), critics.support)}
        how = {"relevance": "`critics={'relevance': 'models'}`", "nli": "`critics={'support': 'models'}`"}
    for name, field in CriticModels.model_fields.items():
        chosen = getattr(settings.critic_models, name)
        if chosen != field.default and "models" not in asked.get(name, ()):
            cure = f"give a judgement to it with {how[name]}, or leave it out" if name in how else "leave it out"
            given = f"`scorers` has {name!r}" if chosen == OWN else f"`critic_models.{name}` is {chosen!r}"
            raise ConfigError(f"{given}, but no judgement asks a model of that kind: {cure}")


class Scorers:
    """Relevance and NLI scorers. Not copied with the program, and not saved with it.

    Args:
        names: Where the models are.
        own: Objects with `predict(pairs)` instead, by the same keys (`relevance`, `nli`).
    """

    def __init__(self, names: CriticModels | None = None, own: Mapping[str, Any] | None = None) -> None:
        self._names = names or CriticModels()
        self._own = check_own({} if own is None else own)
        self._loaded: dict[str, Any] = {}
        self._failed: dict[str, tuple[ReflectiveRAGError, float]] = {}
        """What could not be loaded: why, and when it may be tried again."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def _spec(self, key: str) -> Any:
        spec = self._own.get(key, getattr(self._names, key))
        if spec == OWN:
            raise ConfigError(
                f"this program was made with a `{key}` scorer of your own: give it again, as "
                f"`scorers={{{key!r}: my_scorer}}`"
            )
        return spec

    @property
    def relevance(self) -> "PairScorer":
        """The cross-encoder or embedder. Raises `ConfigError` or `DataError` when it cannot be had."""
        from reflective_rag.programs.scorers.resolve import relevance_scorer

        scorer: PairScorer = self._once("relevance", relevance_scorer)
        return scorer

    @property
    def nli(self) -> "NliScorer":
        """The inference model. Raises `ConfigError` or `DataError` when it cannot be had."""
        from reflective_rag.programs.scorers.resolve import nli_scorer

        scorer: NliScorer = self._once("nli", nli_scorer)
        return scorer

    def _once(self, key: str, load: Callable[[Any], Any]) -> Any:
        """What was loaded before, or why it could not be; see `RETRY_SECONDS`."""
        if key in self._loaded:
            return self._loaded[key]
        with _loading:
            failure, until = self._failed.get(key, (None, 0.0))
            if failure is not None and time.monotonic() < until:
                raise type(failure)(*failure.args)
            if key not in self._loaded:
                try:
                    self._loaded[key] = load(self._spec(key))
                except ReflectiveRAGError as error:
                    self._failed[key] = error, time.monotonic() + RETRY_SECONDS
                    raise
        return self._loaded[key]

    def _grade(self, pairs: Sequence[tuple[str, str]]) -> Any:
        return self.relevance.predict(pairs)  # loaded in the worker that scores, not where the step is made

    def _infer(self, pairs: Sequence[tuple[str, str]]) -> Any:
        return self.nli.predict(pairs)

    def steps(self, names: Sequence[JudgementName], reading: Reading) -> list[Score]:
        """What these judgements ask of the models, independent of each other."""
        steps = []
        if "relevance" in names and reading.passages:
            from reflective_rag.programs.scorers.verdicts import relevance_pairs

            pairs = tuple(relevance_pairs(reading.question, reading.passages))
            steps.append(Score(name="relevance", predict=self._grade, pairs=pairs, phase="assess"))
        if "consistency" in names and reading.passages:
            from reflective_rag.programs.scorers.verdicts import contradiction_pairs

            pairs = tuple(pair for pair, _ in contradiction_pairs(reading.question, reading.passages))
            steps.append(Score(name="consistency", predict=self._infer, pairs=pairs, phase="assess"))
        return steps

    def take(self, parts: Parts, step: Score, outcome: ScoreOutcome) -> None:
        """Put the judgement in an outcome into `parts`; what cannot be read fails."""
        name: JudgementName = "relevance" if step.name == "relevance" else "consistency"
        if parts.lost(outcome, [name], "models"):
            return
        try:
            parts.put(self._judgement(name, parts.reading, outcome.scores), [name], "models")
        except ReflectiveRAGError as error:
            parts.fail([name], "models", str(error))

    def _judgement(self, name: JudgementName, reading: Reading, scores: Any) -> Judgement:
        from reflective_rag.programs.scorers.verdicts import contradiction_pairs, contradictions_from, grades_from

        if name == "relevance":
            return Judgement(relevance=grades_from(scores, reading.passages))
        asked = contradiction_pairs(reading.question, reading.passages)
        return Judgement(contradictions=contradictions_from(scores, [where for _, where in asked]))

    def support_step(self, question: str, claim: str, passages: Sequence[Passage]) -> Score:
        """What checking a claim asks of the inference model."""
        from reflective_rag.programs.scorers.verdicts import support_pairs

        pairs = tuple(pair for pair, _ in support_pairs(question, claim, passages))
        return Score(name="support", predict=self._infer, pairs=pairs, phase="check")

    def support(self, question: str, claim: str, passages: Sequence[Passage], outcome: ScoreOutcome) -> ClaimSupport:
        """The verdict in an outcome of `support_step`. Raises `ReflectiveRAGError` when it cannot be read."""
        from reflective_rag.programs.scorers.verdicts import support_from, support_pairs

        asked = support_pairs(question, claim, passages)
        return support_from(claim, outcome.scores, [where for _, where in asked])
