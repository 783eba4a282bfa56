"""What the embedded index asks of LanceDB in SQL."""

import json
from collections.abc import Iterable
from datetime import date

from reflective_rag.data.retrieval.filters import Condition


def one_of(ids: Iterable[str]) -> str:
    """The SQL filter for a set of ids."""
    return f"id IN ({', '.join(map(_quoted, ids))})"


def where(condition: Condition) -> str:
    """The condition in SQL; for metadata, kept as JSON, only that the key is there (`matches` then decides)."""
    if not condition.own:
        return f"strpos(metadata, {_quoted(json.dumps(condition.field) + ': ')}) > 0"
    values = [("DATE " if condition.kind is date else "") + _quoted(str(value)) for value in condition.values]
    if condition.operator == "in":
        return f"{condition.field} IN ({', '.join(values)})"
    return f"{condition.field} {condition.operator.replace('==', '=')} {values[0]}"


def _quoted(text: str) -> str:
    """A literal of SQL: a quote is doubled, nothing else is special."""
    return "'" + text.replace("'", "''") + "'"
