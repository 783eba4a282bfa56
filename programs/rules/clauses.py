"""Clauses of a sentence, the words in them that carry content, and what may lead a Chinese clause."""

import re

from reflective_rag.programs.rules.matching import fold, has_cjk
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.values import dates
from reflective_rag.programs.rules.words import STOP_EN
from reflective_rag.signatures.patterns import late_pattern

_MARK = late_pattern(r"[，；：。！？;!?]|[,:](?!\d)")
_WORD = late_pattern(r"[^\W_]+(?:['’-][^\W_]+)*")
_LEAD_ZH = late_pattern(
    r"根据[^，。]{0,12}(?:协议|规定|通知|合同|决定|办法)|[自从截][至止]?|[起后]|以来|开始|[\s年月日号的了其该现已将由为]|目前|现在|当前|如今|新的?|公司|每[月年天人名位]"
    r"|享有|享受|可享|可休|拥有|规定|有|全部|所有|职工|员工|整个|项目|工程|大约|约|“|”|《|》"
)


def clause(text: str, start: int, end: int, mark: re.Pattern[str] = _MARK) -> tuple[int, int]:
    """Where the clause around a stretch of a text begins and ends: between two of the marks."""
    marks = [found.span() for found in mark.finditer(text)]
    first = max((stop for _, stop in marks if stop <= start), default=0)
    last = min((at for at, _ in marks if at >= end), default=len(text))
    return first, last


def content(text: str) -> list[str]:
    """The words of an English text that are no function words, in lower case."""
    return [word for found in _WORD.finditer(text) if (word := found.group().lower()) not in STOP_EN]


def lead_zh(question: Question, before: str) -> bool:
    """Whether a Chinese clause up to its asked word names nothing but what the question names, and a day."""
    text = fold(before)
    for name in question.entities:
        text = text[text.rfind(fold(name)) + len(name) :] if fold(name) in text else text
    for day in dates(text):
        text = text.replace(day.text, "", 1)
    for term in sorted(question.terms, key=lambda term: -len(term.text)):
        text = text.replace(fold(term.text), "")
    return not has_cjk(_LEAD_ZH.sub("", text))


def without_events(text: str, start: int, end: int, event: re.Pattern[str]) -> str:
    """A sentence without its clauses of an event, but for the one that holds a stretch: ", opened in 2019,"."""
    kept, at = [], 0
    while at < len(text):
        stop = clause(text, at, at + 1)[1]
        stop = max(stop, at) + 1
        if (at <= start < stop) or not event.search(text[at:stop]):
            kept.append(text[at:stop])
        at = stop
    return "".join(kept)
