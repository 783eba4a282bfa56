"""From when a rule holds, and of which year a document is: "from 1 January 2025", 自2025年1月1日起, "Travel policy 2022"."""

import re
from datetime import date

from reflective_rag.programs.rules.dates import day_of, located_years
from reflective_rag.programs.rules.evidence import Page
from reflective_rag.programs.rules.values import dates
from reflective_rag.signatures.patterns import late_pattern

_FROM = late_pattern(
    r"(?:\b(?:from|effective(?:\s+from)?|with\s+effect\s+from|as\s+from|starting(?:\s+from)?|beginning(?:\s+in)?)\s+"
    r"(?:(?:the\s+)?\d{1,2}(?:st|nd|rd|th)?\s+)?(?:of\s+)?(?:[A-Z][a-z]{2,8}\.?,?\s+)?(?:\d{1,2}(?:st|nd|rd|th)?,?\s+)?|[自从]\s*)$",
    re.IGNORECASE,
)
_TO = late_pattern(r"^\s*(?:to|until|till|through|[-–—~至到])")
_FROM_ZH = late_pattern(r"^年?(?:\d{1,2}月)?(?:\d{1,2}[日号])?\s*(?:起|开始|以后|之后)")
_START = late_pattern(
    r"\b(?:from|since|as\s+(?:of|from|at)|effective(?:\s+(?:from|on|as\s+of))?|with\s+effect\s+from|starting(?:\s+(?:from|on|in))?|beginning(?:\s+(?:in|on))?"
    r"|valid\s+from)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_START_ZH, _AS_OF_ZH = late_pattern(r"\s*(?:起|开始|以来|以后|之后)"), late_pattern(r"(?:截至|截止到?|截止)\s*$")
_DOCUMENT = late_pattern(
    r"\b(?:polic(?:y|ies)|rules?|regulations?|handbook|manual|guide(?:lines?)?|price\s*list|tariffs?|fees|terms|edition|version|revision)\b"
    r"|规定|制度|办法|手册|指南|价格表|收费标准|条例|细则|通知|章程|版",
    re.IGNORECASE,
)
_REVISION = late_pattern(
    r"[(（\[](?:revised|revision|updated?|new|old|former|current|draft|final|(?:\d+\w*\s+)?edition|v(?:ersion)?\s*[\d.]+|\d{4}(?:\s+(?:edition|version|revision))?"
    r"|(?:\d{4}年?)?(?:修订|修正|更新|试行|暂行|新|旧|现行|最新|原)?版?本?稿?)[)）\]]",
    re.IGNORECASE,
)
_LONGEST_HEADING = 60


def valid_from(sentence: str) -> date | None:
    """The first day of the year from which a sentence says that it holds; None where it says none, or an end too."""
    found = []
    for year, start, end in located_years(sentence):
        before, after = sentence[max(0, start - 48) : start], sentence[end:]
        if _FROM.search(before) and not _TO.match(after) and (before[-1:] not in "自从" or _FROM_ZH.match(after)):
            found.append(year)
    return date(max(found), 1, 1) if found else None


def day_from(sentence: str) -> date | None:
    """The latest day from which a sentence says that its amount holds: from, since, as of, 自…起; None where it says none.

    The first day of the month or of the year where no day is given. A span of years ("from 2010 to 2015") is none.
    """
    found = []
    for span in dates(sentence):
        before, after = sentence[max(0, span.start - 32) : span.start], sentence[span.end :]
        year, month, day = day_of(span.text)
        if year is None or not 1 <= year <= 2999 or _TO.match(after):
            continue
        zh = _START_ZH.match(after) is not None or _AS_OF_ZH.search(before) is not None
        if zh or _START.search(before):
            try:
                found.append(date(year, month or 1, day or 1))
            except ValueError:
                continue
    return max(found, default=None)


_YEAR = late_pattern(r"[\s(（,，-]*(?<!\d)(?:19|20)\d{2}(?:年版?)?(?!\d)[)）]?")


def edition_years(page: Page) -> tuple[int, ...]:
    """The years in the title, or in a heading at the start, of a document that is issued anew: a policy, a price list."""
    heading = page.lines[0].text if page.lines and len(page.lines[0].text) <= _LONGEST_HEADING else ""
    for text in (page.passage.title, heading):
        if _DOCUMENT.search(text) and (found := [year for year, _, _ in located_years(text)]):
            return tuple(found)
    return ()


def without_revision(title: str) -> str:
    """A title without the mark of its revision: Travel policy (revised), 差旅规定（修订） and the first text are one.

    So are the editions of two years of a document that is issued anew: Leave policy 2019, Leave policy 2024.
    """
    bare = _REVISION.sub("", title)
    return (_YEAR.sub("", bare) if _DOCUMENT.search(bare) else bare).strip()
