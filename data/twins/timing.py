"""Binding a question in time by a phrase in front of it."""

import re

from reflective_rag.data.records import Record

_TIMED = re.compile(
    r"(?<!\d)(?:1\d{3}|20\d{2})(?!\d)"
    r"|\b(?:current|currently|now|today|latest|last year|this year|ago|since|until|before|after)\b"
    r"|目前|现在|当前|如今|现任|最新|今年|去年|前年|截至|以来|之前|之后|世纪",
    re.IGNORECASE,
)
_OPENERS = re.compile(
    r"(?:Who|What|Which|Where|When|How|Whose|Whom|Why|In|On|At|Of|The|Are|Is|Was|Were|Do|Does|Did|Name)\b"
)
_PLAIN = re.compile(r"(?:The|It|He|She|They|This|There|Its|In|At|On|A|An)\b")


def can_be_bound(record: Record) -> bool:
    """Whether the question says nothing of time yet."""
    return _TIMED.search(record.question) is None


def now_question(record: Record) -> str:
    """The question asked for the present: “Currently, …”, 目前，…."""
    return _with(record, "目前，" if record.lang == "zh" else "Currently, ")


def until_question(record: Record, year: int) -> str:
    """The question asked as of the end of a year: “As of 2018, …”, 截至2018年，…."""
    return _with(record, f"截至{year}年，" if record.lang == "zh" else f"As of {year}, ")


def in_year(sentence: str, year: int, lang: str) -> str:
    """The sentence said of a year: "In 2009, …", 2009年，…."""
    if lang == "zh":
        return f"{year}年，{sentence}"
    return f"In {year}, " + (sentence[0].lower() + sentence[1:] if _PLAIN.match(sentence) else sentence)


def _with(record: Record, phrase: str) -> str:
    question = record.question
    if record.lang == "en" and _OPENERS.match(question):
        question = question[0].lower() + question[1:]
    return phrase + question
