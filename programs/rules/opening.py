"""Yes/no questions on which days or in which months something is open: "Is it open on Sundays?", 书店星期一开门吗."""

import re
from collections.abc import Callable
from functools import cache

from reflective_rag.programs.rules.evidence import GOES_ON, Evidence, Line, Page
from reflective_rag.programs.rules.matching import fold, has_cjk, segmenter, stem
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.words import NUMBER_WORDS, STOP_EN, STOP_ZH
from reflective_rag.signatures.patterns import late_pattern

_DAYS_EN = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = late_pattern(
    r"\b(?P<en>mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?(?:day)?s?\b|(?:周|星期|礼拜)(?P<zh>[一二三四五六日天])",
    re.IGNORECASE,
)
_TO = late_pattern(r"\s*(?:to|till|until|through|thru|-|–|—|至|到|~|～)\s*", re.IGNORECASE)
_MONTHS_EN = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = late_pattern(
    r"\b(?P<en>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?"
    r"|Dec(?:ember)?)\b|(?<!\d)(?P<zh>\d{1,2})月(?!底前)"
)
_TO_MONTH = late_pattern(
    r"\.?\s*(?:\d{1,2}[日号]?)?(?:st|nd|rd|th)?\s*(?:to|till|until|through|thru|and\s+ends\s+in|-|–|—|至|到|~|～)\s*(?:the\s+end\s+of\s+)?次?年?"
    r"(?:\d{1,2}(?:st|nd|rd|th)?\s*)?",
    re.IGNORECASE,
)
_ALL_YEAR = late_pattern(
    r"\ball\s+year\b|\byear[- ]round\b|\bthroughout\s+the\s+year\b|全年|常年|一年四季", re.IGNORECASE
)
_ALL = late_pattern(r"\b(?:daily|every\s+day|seven\s+days)\b|每[天日]|全年无休|天天", re.IGNORECASE)
_WEEKEND = late_pattern(r"\bweekends?\b|周末|双休日", re.IGNORECASE)
_WORKDAY = late_pattern(r"\bweekdays?\b|\bworking\s+days\b|工作日|平日", re.IGNORECASE)
_ASKED = late_pattern(r"\bopen(?:s|ed)?\b|开门|开放|营业|开馆|上班|开店|开不开", re.IGNORECASE)
_OPEN = late_pattern(r"\bopen(?:s|ed)?\b|(?<!不)(?:开门|开放|营业|开馆|上班)", re.IGNORECASE)
_CLOSED = late_pattern(
    r"\b(?:closed|shut|except|not\s+open|never\s+open|isn['’]t\s+open|aren['’]t\s+open|doesn['’]t\s+open)\b"
    r"|休息|闭馆|闭店|关门|停业|休馆|休业|公休|店休|关闭|封闭|不(?:对外)?(?:营业|开放|开门|上班)|放假|除外",
    re.IGNORECASE,
)
_CUT = late_pattern(r"[,;，；。]|\b(?:but|and(?=\s+(?:is|it|closed|shut|open)\b))|(?=\bexcept\b)", re.IGNORECASE)


def asks_open_day(question: Question) -> bool:
    """Whether a yes/no question asks if something is open, or closed, on a day of the week or in a month."""
    return bool(_ASKED.search(question.text) or _CLOSED.search(question.text)) and _read(question.text) is not None


def _read(question: str) -> Callable[[str], frozenset[int]] | None:
    """What reads the asked days or months out of a text; None where a question asks for both, or neither."""
    if bool(_days(question)) == bool(_months(question)):
        return None
    return _days if _days(question) else _months


def open_on(evidence: Evidence) -> tuple[bool, Page] | None:
    """Whether it is open (or closed) as asked, and the passage that says so; None where no sentence tells.

    A day that is named as closed is closed whatever "daily" says; one that a list of opening days leaves out is closed,
    and one that a list of closing months leaves out is open.
    """
    question = evidence.question.text
    read = _read(question)
    if read is None:
        return None
    asked, wanted = read(question), _CLOSED.search(question) is None
    for page in evidence.pages:
        opened, closed = _told(evidence, page, read)
        if closed & asked:
            return (not wanted, page) if asked <= closed else None
        if opened:
            return ((asked <= opened) == wanted, page) if asked <= opened or not asked & opened else None
        if closed and read is _months:
            return (wanted, page)
    return None


def _told(evidence: Evidence, page: Page, read: Callable[[str], frozenset[int]]) -> tuple[set[int], set[int]]:
    """The days or months in which the page says that the asked thing is open, and closed."""
    texts = [term.text for term in evidence.question.terms]
    months = [found.group() for found in _MONTH.finditer(evidence.question.text)]
    subject = [
        not (_ASKED.search(text) or _CLOSED.search(text) or read(text) or any(text in month for month in months))
        for text in texts
    ]
    about = evidence.coverage(page.title, subject) >= 0.5 or not any(subject)
    opened: set[int] = set()
    closed: set[int] = set()
    before = False
    for line in page.lines:
        before = about or evidence.coverage(line.own, subject) >= 0.5 or (before and _goes_on(line))
        shut: bool | None = None
        for clause in _CUT.split(line.text) if before else ():
            shut = True if _CLOSED.search(clause) else False if _OPEN.search(clause) else shut
            if shut is not None and not _stranger(evidence.question.text, clause):
                (closed if shut else opened).update(read(clause))
    return opened, closed


def _goes_on(line: Line) -> bool:
    return GOES_ON.match(line.text) is not None or _DAY.match(line.text) is not None or bool(_CLOSED.match(line.text))


@cache
def _days(text: str) -> frozenset[int]:
    """The days of the week that a text names, 0 for Monday: 周二至周日, every day, weekends."""
    found: set[int] = set()
    last: tuple[int, int] | None = None
    for m in _DAY.finditer(text):
        day = _DAYS_EN.index(m["en"].lower()) if m["en"] else "一二三四五六日".index(m["zh"].replace("天", "日"))
        if last and _TO.fullmatch(text, last[1], m.start()):
            found |= {(last[0] + i) % 7 for i in range((day - last[0]) % 7 + 1)}
        found.add(day)
        last = (day, m.end())
    found |= set(range(7)) if _ALL.search(text) else set()
    found |= {5, 6} if _WEEKEND.search(text) else set()
    return frozenset(found | set(range(5)) if _WORKDAY.search(text) else found)


@cache
def _months(text: str) -> frozenset[int]:
    """The months that a text names, 1 to 12: April to October, 1 May – 30 September, 11月至次年3月, all year."""
    found: set[int] = set()
    last: tuple[int, int] | None = None
    for m in _MONTH.finditer(text):
        month = int(m["zh"]) if m["zh"] else _MONTHS_EN.index(m["en"][:3].lower()) + 1
        if not 1 <= month <= 12:
            continue
        if last and _TO_MONTH.fullmatch(text, last[1], m.start()):
            found |= {(last[0] - 1 + i) % 12 + 1 for i in range((month - last[0]) % 12 + 1)}
        found.add(month)
        last = (month, m.end())
    return frozenset(range(1, 13)) if _ALL_YEAR.search(text) else frozenset(found)


def _stranger(question: str, clause: str) -> bool:
    """Whether a clause says it of something else: it opens with a noun that the question lacks."""
    mark = _CLOSED.search(clause) or _OPEN.search(clause)
    head = fold(_ALL.sub(" ", _DAY.sub(" ", clause[: mark.start()] if mark else "")))
    if has_cjk(clause):
        words = [word for word, tag in segmenter().tag(head) if tag in ("n", "nz", "nt", "ns") and word not in STOP_ZH]
        return bool(words) and not any(word in question for word in words)
    named = [w for w in re.findall(r"[a-z]{3,}", head) if w not in STOP_EN and w not in NUMBER_WORDS]
    named = [word for word in named if word not in ("from", "always", "usually", "normally", "remains", "stays")]
    asked = {stem(word) for word in re.findall(r"[a-z]+", fold(question))}
    return bool(named) and not any(stem(word) in asked for word in named)
