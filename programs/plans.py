"""A decomposition: sub-questions that may need each other's answers, read from a model's reply and checked."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reflective_rag.programs.reading import read_items, read_numbers

MOST_PARTS = 4
"""Sub-questions of one question; more are cut off."""
_REFERENCE = re.compile(r"[#＃]\s?(\d+)")
_DIGITS = 9
"""Digits of the longest number that is read; int() refuses some thousands of them."""
_END = " ?？.。"


@dataclass(frozen=True)
class Part:
    """One sub-question; `needs` are the numbers of those whose answers it waits for."""

    number: int
    question: str
    needs: tuple[int, ...] = ()


def read_plan(value: Any, question: str) -> tuple[tuple[Part, ...], int, int]:
    """The parts in a reply, how many entries could not be read, and how many parts beyond `MOST_PARTS` are cut off.

    An empty list leaves the question whole. A plan that cannot be carried out (in a circle, waiting for a part that is
    not there) is replaced by the question itself, as one part, and counts as unreadable.
    """
    whole = (Part(1, question),)
    if value == []:
        return whole, 0, 0
    if isinstance(value, list | tuple):
        value = [{"question": item} if isinstance(item, str) else item for item in value]
    items, bad = read_items(value)
    texts = [str(item.get("question") or "").strip() for item in items]
    if bad or not all(texts):  # numbers would point at other parts if one were left out
        return whole, max(1, bad + sum(not text for text in texts)), 0
    parts = tuple(_part(i, text, item) for i, (text, item) in enumerate(zip(texts, items, strict=True), 1))[:MOST_PARTS]
    return (parts, 0, len(texts) - len(parts)) if parts and _can_be_done(parts) else (whole, 1, 0)


def _part(number: int, text: str, item: Mapping[str, Any]) -> Part:
    named = [_number(n) for n in _REFERENCE.findall(text)]
    listed, _ = read_numbers(item.get("depends_on") or [], MOST_PARTS)
    return Part(number, text, tuple(sorted({*named, *listed} - ({number} - {*named}))))


def _number(digits: str) -> int:
    """The number of a part; 0, which no part has, for one that is too long to be any."""
    return int(digits) if len(digits) <= _DIGITS else 0


def _can_be_done(parts: Sequence[Part]) -> bool:
    done: set[int] = set()
    while ready := [p for p in parts if p.number not in done and done.issuperset(p.needs)]:
        done |= {part.number for part in ready}
    return len(done) == len(parts)


def resolved(part: Part, answers: Mapping[int, str], parts: Sequence[Part]) -> str:
    """The sub-question with the answers it refers to; where one is not known, the words of its question stand there.

    A number that is no reference (a question that stayed whole may speak of "#1 in the charts") stays as it is.
    """
    others = {p.number: replace(p, question=p.question.strip(_END)) for p in parts}

    def known(match: re.Match[str]) -> str:
        number = _number(match[1])
        if number not in part.needs:
            return match[0]
        return answers.get(number) or resolved(others[number], answers, parts)

    return _REFERENCE.sub(known, part.question)
