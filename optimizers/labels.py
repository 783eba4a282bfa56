"""What a record's labels say of one model call: which of the passages it read support the answer."""

import re
from collections.abc import Mapping
from typing import Any

from reflective_rag.signatures.text import normalize, sentences
from reflective_rag.signatures.types import Passage

_NUMBER = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
_SHORTEST = 8
"""Characters of normalised text that tell one passage from another."""


def numbered_passages(text: str) -> dict[int, str]:
    """Number → text of passages as a model reads them: `[1] …`, each from the start of a line."""
    pieces = _NUMBER.split(text)
    return {int(number): body for number, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def supporting_found(example: Any, prediction: Any) -> list[Passage]:
    """The record's supporting passages that were retrieved, whether they were read or left out."""
    wanted = set(getattr(example, "supporting", None) or ())
    dropped = [item.passage for item in getattr(prediction, "dropped", None) or ()]
    found = [p for p in [*(getattr(prediction, "passages", None) or ()), *dropped] if isinstance(p, Passage)]
    return list({p.key: p for p in found if p.key in wanted}.values())


def shows(text: str, passage: Passage) -> bool:
    """Whether a sentence of the passage stands in the text: calls and demos read long passages in part."""
    where = normalize(text)
    told = [normalize(passage.text), *(normalize(sentence.text) for sentence in sentences(passage.text))]
    return any(len(part) >= _SHORTEST and part in where for part in told)


def supporting_numbers(text: str, example: Any, prediction: Any) -> dict[int, Passage]:
    """Of the numbered passages in a call's input, those that support the answer."""
    gold = supporting_found(example, prediction)
    read = numbered_passages(text)
    found: dict[int, Passage] = {}
    for number, body in read.items():
        if match := next((passage for passage in gold if shows(body, passage)), None):
            found[number] = match
    return found


def holds_everything(text: str, example: Any, prediction: Any) -> bool | None:
    """Whether a call read all supporting passages; None where the record marks none."""
    wanted = set(getattr(example, "supporting", None) or ())
    if not wanted:
        return None
    return {passage.key for passage in supporting_numbers(text, example, prediction).values()} >= wanted


def passages_text(inputs: Mapping[str, Any]) -> str:
    """The passages of a call: field `passages`, or `passage` where it reads one."""
    return str(inputs.get("passages") or inputs.get("passage") or "")
