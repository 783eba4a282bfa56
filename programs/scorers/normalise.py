"""From whatever a model returns to numbers of one kind.

Whether a number is a logit or already a probability:

- One column: an object that says so (see `declared_scale`) is believed. Otherwise values that all lie in 0..1 are
  taken for probabilities and anything else for logits, which go through the logistic function.
- Two or three columns: rows of numbers in 0..1 that sum to 1 are probabilities, anything else goes through softmax.
"""

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Literal

from reflective_rag.programs.scorers.base import NLI_LABELS, Nli
from reflective_rag.signatures.errors import ConfigError, ContractError

Scale = Literal["auto", "logits", "probabilities"]
SCALES: tuple[Scale, ...] = ("auto", "logits", "probabilities")

_ROUNDING = 1e-3
"""How far a row of probabilities may be from summing to 1 (half precision)."""


def table(raw: Any, count: int, name: str) -> list[list[float]]:
    """`raw` as `count` rows of equally many finite numbers; a plain list of numbers gives rows of one.

    Takes lists, numpy arrays and torch tensors, nested as they like. Raises `ContractError` for anything else.
    """
    value = _plain(raw)
    if not isinstance(value, list):
        raise ContractError(f"`{name}` must return one number or row a pair, got {type(raw).__name__}: {raw!r:.80}")
    if len(value) != count:
        raise ContractError(f"`{name}` was asked about {count} pair(s) and returned {len(value)} score(s)")
    rows = [item if isinstance(item, list) else [item] for item in value]
    widths = sorted({len(row) for row in rows})
    if len(widths) != 1 or widths[0] == 0 or any(not isinstance(x, float) for row in rows for x in row):
        shown = next((item for item in value if not isinstance(item, float)), value)
        raise ContractError(f"`{name}` must return numbers in equally long rows, one row a pair, got {shown!r:.80}")
    if bad := [x for row in rows for x in row if not math.isfinite(x)]:
        raise ContractError(f"`{name}` returned {bad[0]!r} as a score: expected finite numbers")
    return rows


def _plain(value: Any) -> Any:
    """Lists of floats where that is what it holds; other things as they are, for the message."""
    tolist = getattr(value, "tolist", None)
    if callable(tolist):  # numpy arrays and scalars, torch tensors on any device
        value = tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bool):
        return value
    return float(value) if isinstance(value, Real) else value


def relevance_of(rows: Sequence[Sequence[float]], *, logits: bool, name: str) -> list[float]:
    """Rows of one column (logits or probabilities) or two (not relevant, relevant) as numbers in 0..1."""
    width = len(rows[0]) if rows else 1
    if width == 1:
        values = [row[0] for row in rows]
        return [sigmoid(value) for value in values] if logits else [min(1.0, max(0.0, value)) for value in values]
    if width == 2:
        return [row[1] for row in _distributions(rows)]
    hint = " (it looks like a model for inference, not for relevance)" if width == 3 else ""
    raise ContractError(f"`{name}` gives {width} numbers a pair; a relevance scorer gives one or two{hint}")


def nli_of(rows: Sequence[Sequence[float]], labels: Sequence[str], *, name: str) -> list[Nli]:
    """Rows over `labels`, in the order the model has them, as `Nli` rows."""
    if rows and len(rows[0]) != len(NLI_LABELS):
        raise ContractError(
            f"`{name}` gives {len(rows[0])} number(s) a pair; an inference (NLI) scorer gives three: "
            f"{', '.join(NLI_LABELS)}"
        )
    places = [labels.index(label) for label in NLI_LABELS]
    return [Nli(*(row[place] for place in places)) for row in _distributions(rows)]


def _distributions(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    if all(min(row) >= 0 and abs(sum(row) - 1) <= _ROUNDING for row in rows):
        return [[value / sum(row) for value in row] for row in rows]
    return [_softmax(row) for row in rows]


def sigmoid(x: float) -> float:
    """The logistic function, without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _softmax(row: Sequence[float]) -> list[float]:
    exponentials = [math.exp(value - max(row)) for value in row]
    return [value / sum(exponentials) for value in exponentials]


def within_unit(rows: Sequence[Sequence[float]]) -> bool:
    """Whether all numbers lie in 0..1, up to rounding."""
    return all(-1e-6 <= value <= 1 + 1e-6 for row in rows for value in row)


def declared_scale(predictor: Any) -> Scale:
    """What an object says of its own scores.

    Read from an attribute `scale`, else from the name of a CrossEncoder's activation (Sigmoid, Identity); else `auto`.
    """
    own = getattr(predictor, "scale", None)
    if isinstance(own, str) and own in SCALES:
        return next(scale for scale in SCALES if scale == own)
    for attribute in ("activation_fn", "default_activation_function"):  # newer and older sentence-transformers
        kind = type(getattr(predictor, attribute, None)).__name__
        if kind in ("Sigmoid", "Identity"):
            return "probabilities" if kind == "Sigmoid" else "logits"
    return "auto"


def declared_labels(predictor: Any) -> Any:
    """What an object says its columns are: its `labels`, else `id2label` of its configuration; None without either."""
    if labels := getattr(predictor, "labels", None):
        return labels
    for holder in (predictor, getattr(predictor, "model", None)):
        if names := getattr(getattr(holder, "config", None), "id2label", None):
            return names
    return None


def nli_labels(names: Any, where: str) -> tuple[str, ...]:
    """The names of a model's columns, in its order, as the three words of `Nli`.

    Args:
        names: Labels in order, or `id2label` of a model's configuration. Case and extra words do not matter
            ("ENTAILMENT", "contradiction (2)").
        where: What has these names, for the message.

    Raises `ConfigError` for other names: a guessed order would turn verdicts round.
    """
    ordered = _in_order(names)
    read = tuple(next((label for label in NLI_LABELS if _means(name, label)), "") for name in ordered)
    if sorted(read) != sorted(NLI_LABELS):
        raise ConfigError(
            f"{where} names its columns {ordered!r}: expected entailment, neutral and contradiction, each once. "
            "Where the names are wrong, give the true order as `labels=(...)`; a model of other classes cannot be used"
        )
    return read


def _in_order(names: Any) -> list[str]:
    if isinstance(names, Mapping):
        try:
            return [str(names[key]) for key in sorted(names, key=int)]
        except (TypeError, ValueError):  # keys that are no numbers
            return [str(name) for name in names.values()]
    return [str(name) for name in names] if isinstance(names, list | tuple) else []


def _means(name: str, label: str) -> bool:
    folded = name.casefold()
    return folded.startswith(label[:6]) and "not" not in folded
