"""Reads what a model wrote: one place for verdicts in other case, quoted, as text instead of a list, or out of range.

A verdict that cannot be read is `None` and is counted by the caller. It is never taken for "no", 0 or an empty list.
"""

import re
import types
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import json_repair
from dspy.utils.exceptions import AdapterParseError
from pydantic import BaseModel, ValidationError

from reflective_rag.signatures.text import well_formed

C = TypeVar("C", bound=str)

_MARKER = re.compile(r"\[\[\s*##\s*(\w+)\s*##\s*\]\]")
_NUMBER = re.compile(r"(?<![A-Za-z\d_.])-?\d+(?:\.\d+)?\s*%?")
_FIRST_NUMBER = re.compile(r"(?:passages?|段落|文段|第|no\.?|[\W_])*?(-?\d+(?:\.\d+)?\s*%?)(?![\d.])", re.IGNORECASE)
_LIST_WORDS = re.compile(r"passages?|numbers?|\bnos?\b|\band\b|段落|文段|[第段和与及号条]")
_RANGE = re.compile(r"(?<![\d.\-])(\d{1,3})\]?\s*(?:-|–|~|至|到|\bto\b)\s*\[?(\d{1,3})(?![\d.%])")
_WRAPPING = " \t\r\n\"'`*.,;:!?。，；：！？“”‘’「」()[]（）【】\u200b\ufeff"
_CLAUSE = re.compile(r"[,;:\n–—。，；]| - |\. ")
_FENCE = re.compile(r"^\s*```\w*|```\s*$")
_NOTHING = {"", "none", "null", "nothing", "n/a", "na", "empty", "no passages", "无", "没有", "空"}
_WORDS: dict[str, tuple[str, ...]] = {
    "yes": ("yes", "true", "y", "是", "对", "足够", "充分"),
    "no": ("no", "false", "n", "否", "不", "不是", "不足", "不够", "不充分"),
    "continue": ("continue", "continue to use evidence", "继续", "继续使用证据"),
    "relevant": ("relevant", "highly relevant", "相关"),
    "partly": ("partly", "partially", "partially relevant", "partly relevant", "部分", "部分相关"),
    "irrelevant": ("irrelevant", "not relevant", "unrelated", "不相关", "无关"),
    "supported": ("supported", "fully", "fully supported", "支持", "完全支持"),
    "partially": ("partially", "partly", "partially supported", "部分支持", "部分"),
    "not_supported": ("not_supported", "not supported", "unsupported", "no support", "none", "不支持", "无支持"),
    "contradicted": ("contradicted", "contradictory", "refuted", "矛盾"),
}
"""Spellings that a value of a closed set may come in; other values match by their own name."""


def read_choice(value: Any, choices: Sequence[C]) -> C | None:
    """The member of a closed set that `value` names, in any case, quotes or language; None for none or several.

    Only the whole reply, or its first words before a full stop, comma, dash or line break, may name it: a verdict
    quoted inside a longer sentence is not a verdict, and two that disagree are none.
    """
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if isinstance(value, int):  # a grade "4" that JSON brings as a number
        value = _text(value)
    if not isinstance(value, str):
        return None
    visible = "".join(c for c in unicodedata.normalize("NFKC", value) if unicodedata.category(c) != "Cf")
    text = visible.casefold().strip(_WRAPPING)
    spelled = {spelling: c for c in choices for spelling in (c.replace("_", " "), c, *_WORDS.get(c, ()))}
    spelled |= {c.casefold(): c for c in choices}
    if found := spelled.get(text):
        return found
    head, *rest = (spelled.get(part.strip(_WRAPPING)) for part in _CLAUSE.split(text))
    return head if all(other in (None, head) for other in rest) else None


def read_numbers(value: Any, count: int) -> tuple[tuple[int, ...], int]:
    """Passage numbers 1..`count` in their order without repeats, and how many entries could not be read.

    Takes a list of numbers or of texts that begin with one, or one text such as `"[1], 3"`, `"1-3"`, `"none"`, `"无"`.
    A sentence that has numbers in it ("none of 1, 2 and 3") is no list: like no reply (None), it is one unreadable.
    """
    if value is None:
        return (), 1
    if isinstance(value, str):
        if value.casefold().strip(_WRAPPING) in _NOTHING:
            return (), 0
        value = _listed(unicodedata.normalize("NFKC", value).casefold())
    if not isinstance(value, list | tuple):
        value = [value]
    numbers: list[int] = []
    unreadable = 0
    for item in value:
        match = _FIRST_NUMBER.match(_text(item)) if not isinstance(item, bool) else None
        number = float(match[1].rstrip("% ")) if match else 0.0
        if number.is_integer() and 1 <= number <= count:
            numbers.append(int(number))
        else:
            unreadable += 1
    return tuple(dict.fromkeys(numbers)), unreadable


def _text(value: Any) -> str:
    """The value as text; empty for an integer of more digits than Python writes out, which is no verdict."""
    try:
        return str(value)
    except ValueError:
        return ""


def _listed(text: str) -> list[str]:
    """The entries of a list written as text, ranges spelled out; the text alone where it is more than a list."""
    if re.search(r"[^\W\d_]", _LIST_WORDS.sub(" ", text)):
        return [text]
    spelled = _RANGE.sub(lambda m: ",".join(map(str, range(int(m[1]), min(int(m[2]), int(m[1]) + 200) + 1))), text)
    return _NUMBER.findall(_LIST_WORDS.sub(" ", spelled)) or [text]


def read_items(value: Any) -> tuple[list[dict[str, Any]], int]:
    """Entries of a list of objects as dicts, and how many could not be read. A list in JSON text is parsed."""
    if value is None:
        return [], 1
    if isinstance(value, str):
        value = _FENCE.sub("", value)
        if value.casefold().strip(_WRAPPING) in _NOTHING:
            return [], 0
        value = json_repair.loads(value)
        if not value:
            return [], 1
    if not isinstance(value, list | tuple):
        value = [value]
    items = [_as_dict(item) for item in value]
    return [item for item in items if item], sum(not item for item in items)


def _as_dict(item: Any) -> dict[str, Any]:
    if isinstance(item, BaseModel):
        return item.model_dump()
    return dict(item) if isinstance(item, Mapping) else {}


def well_formed_fields(fields: Any) -> dict[str, Any]:
    """A reply's fields with half characters replaced in every text, nested ones too (as plain dicts and lists)."""
    return {name: _well_formed(value) for name, value in fields.items()}


def _well_formed(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, BaseModel):
        return _well_formed(value.model_dump())
    if isinstance(value, Mapping):
        return {key: _well_formed(item) for key, item in value.items()}
    return [_well_formed(item) for item in value] if isinstance(value, list) else value


def salvage(
    predictor: Any, error: AdapterParseError, *, truncated: bool = False
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Output fields read one by one from a reply that DSPy refused, and the names of those that stay unread.

    Of a truncated reply the last field is not whole, so it stays unread.

    Where DSPy asked a second time (as JSON), the reply with more readable fields counts; the two are never mixed.
    """
    signature = getattr(predictor, "signature", None) or error.signature
    outputs = signature.output_fields
    attempts: list[dict[str, Any]] = []
    refused: BaseException | None = error
    while refused is not None:
        if isinstance(refused, AdapterParseError) and refused.signature is error.signature:
            attempts.append(_fields(str(refused.lm_response or ""), outputs, truncated))
        refused = refused.__context__
    fields = max(attempts, key=len)
    return fields, tuple(name for name in outputs if name not in fields)


def _fields(reply: str, outputs: Mapping[str, Any], truncated: bool) -> dict[str, Any]:
    raw = raw_fields(reply, list(outputs))
    if truncated and raw:
        del raw[next(reversed(raw))]
    read = {name: _coerce(raw.get(name), info.annotation) for name, info in outputs.items()}
    return {name: value for name, value in read.items() if value is not None}


def raw_fields(reply: str, names: Sequence[str]) -> dict[str, Any]:
    """Field name → raw text or JSON value, from `[[ ## name ## ]]` sections, a JSON object, or a plain reply."""
    parts = _MARKER.split(reply)
    sections = {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True) if name in names}
    if sections:
        return sections
    start = reply.find("{")
    parsed = json_repair.loads(reply[start:]) if start >= 0 else None
    if isinstance(parsed, dict) and any(name in parsed for name in names):
        return {name: parsed[name] for name in names if name in parsed}
    plain = len(parts) == 1 and not isinstance(parsed, dict)
    return {names[0]: reply.strip()} if plain and len(names) == 1 and reply.strip() else {}


def _coerce(raw: Any, annotation: Any) -> Any:
    """`raw` in the shape of `annotation` as far as it can be read, else None. Lists are left to their readers."""
    if raw is None:
        return None
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        annotation = next(a for a in get_args(annotation) if a is not type(None))
        return _coerce(raw, annotation)
    if origin is Literal:
        return read_choice(raw, get_args(annotation))
    if annotation is str:
        return raw if isinstance(raw, str) else _text(raw)
    if origin is list:
        return raw if isinstance(raw, str | list) else [raw]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        try:
            return annotation.model_validate(raw if isinstance(raw, Mapping) else json_repair.loads(str(raw)))
        except ValidationError:
            return None
    return raw
