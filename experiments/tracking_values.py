"""How values look in MLflow: names it accepts, params as text, metrics as finite numbers, rows as a table."""

import json
import math
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reflective_rag.experiments.tracking_secrets import Scrubber, plain

PARAM_LENGTH = 6000
"""MLflow's limit for the value of a param, in characters."""
TAG_LENGTH = 5000
"""What every MLflow server takes as the value of a tag; newer ones take 8,000."""
_NAME_LENGTH = 250
_PART_LENGTH = 60  # characters; 180 bytes in Chinese, of the 255 that a file name may have


def field_name(name: str) -> str:
    """The nearest name of a param, metric or tag that MLflow accepts: `recall@5` → `recall_5`. Chinese stays."""
    parts = [part for part in re.sub(r"[^/\w.\- :]", "_", str(name)).split("/") if part.strip(".")]
    return "/".join(parts)[:_NAME_LENGTH].rstrip("/") or "_"


def file_name(name: str, suffix: str = "") -> str:
    """A path inside a run's artifacts: folders stay, what leads out of the run or upsets a file system does not.

    `suffix` is added where the name has none of its own, or always when it is `.json`, which a table needs.
    """
    parts = [re.sub(r"[^\w.\- ]", "_", part).strip(" ") for part in str(name).replace("\\", "/").split("/")]
    kept = [part for part in parts if part.strip(".")] or ["unnamed"]
    stem, own = posixpath.splitext(kept[-1])
    if own and (own == suffix or (suffix != ".json" and len(own) <= 10)):
        kept[-1], suffix = stem, own
    return "/".join(part[:_PART_LENGTH] for part in kept) + suffix


def field_texts(values: Mapping[str, Any], scrub: Scrubber) -> dict[str, str]:
    """Params or tags as MLflow takes them; two names that only differ in what it refuses stay two."""
    fields: dict[str, str] = {}
    for key, value in values.items():
        name = field_name(scrub.text(str(key)))
        while name in fields:
            name += "_"
        fields[name] = _field_text(value, str(key), scrub)
    return fields


def _field_text(value: Any, name: str, scrub: Scrubber) -> str:
    """Numbers and strings as Python prints them, everything else as JSON."""
    if isinstance(value, float):
        return repr(float(value))  # NaN and infinity too
    clean = scrub.value(value, name)
    return json.dumps(clean, ensure_ascii=False) if isinstance(clean, list | dict) else str(clean)


def shortened(text: str, limit: int, where: str) -> str:
    """The text, cut to `limit` characters with a note that says where the whole is."""
    note = f" … [cut, {len(text)} characters; whole text: {where}]"
    return text if len(text) <= limit else text[: limit - len(note)] + note


def finite_metrics(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Names and values of all finite numbers; those of a nested mapping, model or dataclass as `outer.inner`.

    None, NaN, infinity and text are left out: a missing score is not a score of 0.
    """
    for name, value in values.items():
        if not isinstance(value, bool | int | float):
            value = plain(value)
        if isinstance(value, Mapping):
            yield from finite_metrics(value, f"{prefix}{name}.")
        elif isinstance(value, bool | int | float) and math.isfinite(value):
            yield field_name(f"{prefix}{name}"), float(value)


def as_frame(rows: Sequence[Mapping[str, Any]], scrub: Scrubber) -> Any:
    """Rows as the data frame that MLflow's tables take: the columns of all rows in order of appearance, gaps empty."""
    import pandas as pd

    clean = [scrub.value(row) for row in rows]
    columns = list(dict.fromkeys(name for row in clean for name in row))
    # As objects: an integer column with a gap would turn into floats.
    return pd.DataFrame([[row.get(name) for name in columns] for row in clean], columns=columns, dtype=object)
