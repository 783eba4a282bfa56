"""Scorers around any object with `predict(pairs)`: one call at a time, numbers of one kind, errors of one kind."""

import threading
from collections.abc import Sequence
from typing import Any, Self

from reflective_rag.programs.scorers.base import Nli, Pair, Predictor
from reflective_rag.programs.scorers.normalise import (
    SCALES,
    Scale,
    declared_labels,
    declared_scale,
    nli_labels,
    nli_of,
    relevance_of,
    table,
    within_unit,
)
from reflective_rag.programs.scorers.windows import expand
from reflective_rag.signatures.errors import ConfigError, ContractError, ReflectiveRAGError, message_of


class _Wrapped:
    """The common part. A copy is the same object: a model is read, never changed, and may hold gigabytes."""

    def __init__(self, predictor: Predictor, name: str = "") -> None:
        self.predictor = predictor
        self.name = name or str(getattr(predictor, "name", "") or type(predictor).__name__)
        self._lock = threading.Lock()

    def _rows(self, pairs: Sequence[Pair]) -> list[list[float]]:
        """One call at a time: tokenizers that keep state fail under threads, and one call uses every core already."""
        asked = [(str(a), str(b)) for a, b in pairs]
        try:
            with self._lock:
                raw = self.predictor.predict(asked)
        except ReflectiveRAGError:
            raise
        except Exception as error:  # whatever a caller's object raises
            reason = (message_of(error).strip().splitlines() or ["no reason given"])[0][:200]
            raise ContractError(f"`{self.name}` gave no scores ({type(error).__name__}: {reason})") from error
        return table(raw, len(asked), self.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


class Relevance(_Wrapped):
    """Relevance 0..1 from any predictor of one or two columns. A long text counts as its best window does.

    `scale` says what one column holds. With `auto`, once a number outside 0..1 was seen the object gives logits, for
    good; until then its numbers pass as probabilities. State it where a model gives logits and pairs come one by one.
    """

    def __init__(self, predictor: Predictor, *, name: str = "", scale: Scale = "auto") -> None:
        super().__init__(predictor, name)
        if scale not in SCALES:
            raise ConfigError(f"`scale` must be one of {', '.join(SCALES)}, got {scale!r}")
        self.scale: Scale = declared_scale(predictor) if scale == "auto" else scale

    def predict(self, pairs: Sequence[Pair], /) -> list[float]:
        """One number in 0..1 a pair, in order. A pair without a second text gets 0; no call for no pairs."""
        asked, owners = expand(pairs)
        found = [0.0] * len(pairs)
        for owner, score in zip(owners, self._scores(asked) if asked else [], strict=True):
            found[owner] = max(found[owner], score)
        return found

    def _scores(self, pairs: Sequence[Pair]) -> list[float]:
        rows = self._rows(pairs)
        if len(rows[0]) == 1 and not within_unit(rows):
            if self.scale == "probabilities":
                worst = max((row[0] for row in rows), key=abs)
                raise ContractError(f"`{self.name}` says it gives probabilities and returned {worst!r}")
            self.scale = "logits"
        return relevance_of(rows, logits=self.scale == "logits", name=self.name)


class Entailment(_Wrapped):
    """Three probabilities from any predictor of three columns, whose order is recorded in `labels`.

    The order is read from the object (`labels`, `config.id2label`) when it is first needed, unless it is given.
    Raises `ConfigError` where it is nowhere to be found: models differ in it.
    """

    def __init__(self, predictor: Predictor, *, name: str = "", labels: Sequence[str] | None = None) -> None:
        super().__init__(predictor, name)
        self._given = nli_labels(list(labels), "`labels`") if labels is not None else None

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of the model, in its own order; may load the model."""
        if self._given is None:
            names = declared_labels(self.predictor)
            if names is None:
                raise ConfigError(
                    f"`{self.name}` does not say what its columns are (no `labels`, no `config.id2label`): "
                    "give them in its order, as `nli_scorer(model, labels=('contradiction', 'entailment', 'neutral'))`"
                )
            self._given = nli_labels(names, f"`{self.name}`")
        return self._given

    def predict(self, pairs: Sequence[Pair], /) -> list[Nli]:
        """One `Nli` a pair, in order; no call for no pairs."""
        if not pairs:
            return []
        labels = self.labels
        return nli_of(self._rows(pairs), labels, name=self.name)
