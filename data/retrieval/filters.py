"""Filters: which passages may be found, by id, source, date and metadata, the same for every back end.

{"lang": "en"}                                equal
{"lang": ["en", "zh"]}                        equal to one of them
{"published": {">=": date(2024, 1, 1)}}       compared; several comparisons must all hold
{"lang": "en", "year": {">": 2020, "<": 2025}}

`id`, `source` and `published` are the passage's own fields, every other name is a key of its `metadata`. A passage
without the key is not found (where none has it, the index logs the keys that there are); a list in the metadata
counts as each of its elements. Texts are compared by code point,
so dates in metadata compare rightly where they are written YYYY-MM-DD.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from reflective_rag.signatures.errors import ConfigError

Scalar = str | bool | int | float | date
Filters = Mapping[str, Scalar | Sequence[Scalar] | Mapping[str, Scalar | Sequence[Scalar]]]

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
OPERATORS = (*COMPARISONS, "in")
OWN_FIELDS = ("id", "source", "published")
_NOT_FILTERABLE = ("text", "title", "score", "metadata")


class Condition(NamedTuple):
    """One comparison. `values` holds one value, for `in` one or more, all of one kind.

    They are `date` for the field `published`, else `str`, `bool` or `float`.
    """

    field: str
    operator: str
    values: tuple[str | bool | float | date, ...]

    @property
    def own(self) -> bool:
        """Whether the field is the passage's own, not a key of its metadata."""
        return self.field in OWN_FIELDS

    @property
    def kind(self) -> type:
        """`str`, `bool`, `float` or `date`."""
        return type(self.values[0])


def parse_filters(filters: Filters | None) -> tuple[Condition, ...]:
    """The conditions, which must all hold. Raises `ConfigError` for what is no filter."""
    if filters is None:
        return ()
    if not isinstance(filters, Mapping):
        raise ConfigError(f"`filters` must be a mapping such as {{'lang': 'en'}}, got {type(filters).__name__}")
    return tuple(
        _condition(field, sign, value)
        for field, wanted in filters.items()
        for sign, value in _comparisons(field, wanted)
    )


def matches(conditions: Sequence[Condition], fields: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    """Whether a passage with these own fields and this metadata may be found."""
    return all(_holds(c, fields.get(c.field) if c.own else metadata.get(c.field)) for c in conditions)


def _comparisons(field: object, wanted: object) -> list[tuple[str, Any]]:
    if not isinstance(field, str) or not field or field in _NOT_FILTERABLE:
        own = ", ".join(f"`{name}`" for name in OWN_FIELDS)
        raise ConfigError(f"cannot filter by {field!r}: expected {own} or a key of the metadata")
    if not isinstance(wanted, Mapping):
        return [("in" if isinstance(wanted, list | tuple | set | frozenset) else "==", wanted)]
    if not wanted or not set(wanted) <= set(OPERATORS):
        raise ConfigError(
            f"the filter `{field}` compares by {', '.join(map(repr, wanted)) or 'nothing'}: "
            f"expected {', '.join(map(repr, OPERATORS))}"
        )
    return list(wanted.items())


def _condition(field: str, sign: str, value: Any) -> Condition:
    several = isinstance(value, list | tuple | set | frozenset)
    if several != (sign == "in") or (several and not value):
        raise ConfigError(f"the filter `{field}` with {sign!r} needs {_needs(sign)}, got {value!r}")
    values = tuple(_value(field, item) for item in (value if several else (value,)))
    kinds = {type(item) for item in values}
    if len(kinds) > 1:
        raise ConfigError(f"the filter `{field}` mixes kinds of values: {value!r}")
    if kinds == {bool} and sign not in ("==", "in"):
        raise ConfigError(f"the filter `{field}` compares a truth value by {sign!r}: expected '==' or 'in'")
    return Condition(field, sign, values)


def _needs(sign: str) -> str:
    return "a list of one value or more" if sign == "in" else "one value"


def _value(field: str, value: Any) -> str | bool | float | date:
    if field == "published":
        return _date(value)
    if field in OWN_FIELDS and not isinstance(value, str):
        raise ConfigError(f"the filter `{field}` needs text, got {value!r}")
    if isinstance(value, str | bool):
        return value
    if isinstance(value, int | float) and not math.isnan(number := as_float(value)):
        if math.isinf(number) and isinstance(value, int):
            raise ConfigError(
                f"the filter `{field}` has a whole number of more than 308 digits, which nothing compares"
            )
        return number
    if isinstance(value, date):
        return value.isoformat()
    raise ConfigError(f"the filter `{field}` needs text, a number, a truth value or a date, got {value!r}")


def _date(value: Any) -> date:
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        parsed = None
    if not isinstance(parsed, date):
        raise ConfigError(f"the filter `published` needs a date, or text YYYY-MM-DD, got {value!r}")
    return parsed.date() if isinstance(parsed, datetime) else parsed


def _holds(condition: Condition, found: Any) -> bool:
    compare = COMPARISONS["==" if condition.operator == "in" else condition.operator]
    return any(
        compare(item, value)
        for item in map(_comparable, found if isinstance(found, list | tuple) else (found,))
        for value in condition.values
        if type(item) is type(value)
    )


def _comparable(value: Any) -> Any:
    """A number as `float`, whose type is then compared: a truth value is no number."""
    return as_float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def as_float(value: float) -> float:
    """The number as `float`; a whole number beyond all of them is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
