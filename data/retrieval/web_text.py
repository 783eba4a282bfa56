"""Text and dates as search services write them."""

from __future__ import annotations

import html
import re
from datetime import date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from reflective_rag.data.files.document import as_date

# By name, and never as a pattern for anything in angle brackets: "a < b and c > d" is text.
_INSIDE = "a|abbr|b|bdi|cite|code|del|em|font|i|ins|kbd|mark|q|s|small|span|strong|sub|sup|u|wbr"
_BETWEEN = "article|blockquote|br|dd|div|dl|dt|figure|h[1-6]|hr|img|li|ol|p|pre|section|table|tbody|td|th|thead|tr|ul"
_TAG = re.compile(rf"</?(?:({_INSIDE})|{_BETWEEN})(?:\s[^<>]*|/)?>", re.IGNORECASE)
_UNSEEN = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|$)|<!--.*?(?:-->|$)", re.IGNORECASE | re.DOTALL)

_AGO = re.compile(r"\b(\d{1,4}|an?)\s+(minute|min|hour|hr|day|week|month|year)s?\s+ago\b", re.IGNORECASE)
_AGO_ZH = re.compile(r"(\d{1,4})\s*(?:个)?(分钟|小时|天|日|周|星期|月|年)(?:之)?前")
_DAYS = {"minute": 0, "min": 0, "分钟": 0, "hour": 0, "hr": 0, "小时": 0, "day": 1, "天": 1, "日": 1}
_DAYS |= {"week": 7, "周": 7, "星期": 7, "month": 30, "月": 30, "year": 365, "年": 365}
_WRITTEN = re.compile(
    r"\b(?:(\d{1,2})\s+)?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?:(\d{1,2}),?\s+)?(\d{4})\b",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def plain(text: str) -> str:
    """The text without HTML marks, on one line. An escaped mark (`&lt;b&gt;`) is text: what it stands for."""
    text = _TAG.sub(lambda match: "" if match[1] else " ", _UNSEEN.sub(" ", text))
    return " ".join(html.unescape(text).split())


def web_date(value: Any, today: date) -> date | None:
    """The day that a service means: ISO, RFC 2822, `Mar 5, 2024`, `2024年3月5日`, `3 days ago`, `3天前`.

    Months and years ago are counted in 30 and 365 days. None for a day that cannot be read, or is still to come.
    """
    if not isinstance(value, str):
        return as_date(value) if isinstance(value, date | datetime) else None
    if (found := as_date(value)) is not None:
        return found
    return as_date(_ago(value, today) or _written(value))


def _ago(text: str, today: date) -> date | None:
    if match := _AGO.search(text):
        number = 1 if match[1].lower().startswith("a") else int(match[1])
    elif match := _AGO_ZH.search(text):
        number = int(match[1])
    else:
        return None
    try:
        return today - timedelta(days=number * _DAYS[match[2].lower()])
    except OverflowError:
        return None


def _written(text: str) -> date | None:
    if match := _WRITTEN.search(text):
        try:
            return date(int(match[4]), _MONTHS.index(match[2].lower()) + 1, int(match[3] or match[1] or 1))
        except ValueError:
            return None
    try:
        return parsedate_to_datetime(text).date()
    except ValueError:
        return None
