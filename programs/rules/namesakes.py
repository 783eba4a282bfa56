"""Several bearers of the asked name, each with another answer: John Miller (painter), John Miller (physicist)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from reflective_rag.programs.rules.evidence import Evidence, Page, core_title
from reflective_rag.programs.rules.matching import fold, has_cjk, prepare, stem
from reflective_rag.programs.rules.question import WEIGHT_WEAK
from reflective_rag.programs.rules.spans import candidates
from reflective_rag.programs.rules.validity import without_revision
from reflective_rag.programs.rules.values import numbers, worded_amount
from reflective_rag.programs.rules.words import STOP_EN
from reflective_rag.signatures.patterns import late_pattern

_TYPED = frozenset(("time", "number", "person", "place"))
_AFTER_EN = late_pattern(
    r"\s*\((?P<in>[^()\d]{3,40})\)|\s*,\s+(?:an?|the)\s+(?P<apart>[\w' -]{3,40}?)(?=[,.;(]|\s+(?:from|of|in|who|born|and|is|was)\b)"
    r"|\s+(?:is|was)\s+an?\s+(?P<is>[\w' -]{3,40}?)(?=[,.;(]|\s+(?:from|of|in|at|who|which|that|born|and|with)\b|$)"
    r"|\s*,\s+(?P<where>[A-Z][\w'-]+(?:\s[A-Z][\w'-]+)?)(?=[,\s.])"
)
_BEFORE_EN = late_pattern(r"\b[Tt]he\s+(?P<is>[a-z][\w-]{2,}(?:\s[a-z][\w-]{2,})?)\s+$")
_AFTER_ZH = late_pattern(
    r"\s*[(（](?P<in>[^()（）\d]{2,12})[)）]|(?:，|是|，是)(?:一名|一位|一个|一座)?(?P<is>[㐀-鿿]{2,10})(?=[，。])"
)
_BEFORE_ZH = late_pattern(
    r"(?P<is>[㐀-鿿]{0,4}(?:家|员|师|医生|歌手|教授|律师|诗人|导演|学者|选手|商人|记者|将军|院士|省|市|县|州))的?$"
)
_SAME = 0.005
"""Relative difference up to which two amounts are the same."""


@dataclass(frozen=True)
class Bearer:
    """One bearer of the asked name: as its page calls it, what tells it apart, its answer, and its passage."""

    name: str
    told_by: str
    value: str
    page: Page


def differing_bearers(evidence: Evidence) -> tuple[Bearer, ...]:
    """The bearers of a name of the question whose answers differ; empty where a word of the question tells them apart."""
    question = evidence.question
    if question.kind not in _TYPED:
        return ()
    for name in question.entities:
        found: dict[str, Bearer] = {}
        for page in evidence.pages:
            if bearer := _bearer(evidence, page, name):
                found.setdefault(fold(bearer.told_by), bearer)
        bearers = _apart(tuple(found.values()))
        if len(bearers) > 1 and not _told_apart(evidence, name, bearers):
            return bearers
    return ()


def _bearer(evidence: Evidence, page: Page, name: str) -> Bearer | None:
    told_by = _told_by(page, name)
    value = _value(evidence, page) if told_by is not None else ""
    if told_by is None or not value:
        return None
    label = page.name if fold(told_by) in fold(page.name) else _labelled(name, told_by)
    return Bearer(label or name, told_by, value, page)


def _labelled(name: str, told_by: str) -> str:
    return f"{name}（{told_by}）" if has_cjk(name) else f"{name} ({told_by})"


def _told_by(page: Page, name: str) -> str | None:
    """What tells the page's bearer of the name from others; "" where its title is the bare name, None without a bearer."""
    title, wanted = without_revision(page.name), fold(name).removeprefix("the ")
    core = core_title(title)
    if fold(core).removeprefix("the ") == wanted:
        if told := title[len(core) :].strip(" ()（）"):
            return told
        return _in_text(page, name) or ""
    head, comma, tail = core.partition(",")
    if comma and fold(head).removeprefix("the ") == wanted:
        return tail.strip()
    return None if core else _in_text(page, name)


def _in_text(page: Page, name: str) -> str | None:
    """The trade or place that the text gives beside the name where it first names it; None without one."""
    at = page.text.find(name)
    if at < 0:
        return None
    chinese = has_cjk(name)
    after, before = (_AFTER_ZH, _BEFORE_ZH) if chinese else (_AFTER_EN, _BEFORE_EN)
    found = after.match(page.text, at + len(name)) or before.search(page.text[max(0, at - 40) : at])
    return next((part.strip() for part in found.groups() if part), None) if found else None


def _value(evidence: Evidence, page: Page) -> str:
    """What the page answers; "" where no sentence of it is on topic."""
    least = evidence.settings.on_topic
    lines = sorted(page.lines, key=lambda line: (-evidence.coverage(line.context), line.start))
    for line in lines[:3]:
        if evidence.coverage(line.context) >= least and (spans := candidates(evidence, line)):
            return spans[0].text
    return ""


def _apart(bearers: Sequence[Bearer]) -> tuple[Bearer, ...]:
    """Those of which each pair are two bearers with two answers, as far as can be told."""
    if all(_two(a, b) and not _same_value(a.value, b.value) for a, b in combinations(bearers, 2)):
        return tuple(bearers)
    pairs = [(a, b) for a, b in combinations(bearers, 2) if _two(a, b) and not _same_value(a.value, b.value)]
    return pairs[0] if pairs else ()


def _two(a: Bearer, b: Bearer) -> bool:
    """Whether what tells the one does not fit the other: no word of it stands in the other's page."""
    ours, theirs = _words(a.told_by), _words(b.told_by)
    common = ours & theirs
    if common and not (_titled(a) and _titled(b) and ours != theirs and ours - common and theirs - common):
        return False
    texts = [fold(f"{each.page.name} {each.page.text}") for each in (a, b)]
    return not any(_mentions(text, other - common) for text, other in zip(texts, (theirs, ours), strict=True))


def _titled(bearer: Bearer) -> bool:
    return fold(bearer.told_by) in fold(bearer.page.name)


def _mentions(text: str, words: set[str]) -> bool:
    stems = prepare(text).stems
    return any(word in text if has_cjk(word) else word in stems for word in words)


def _words(told_by: str) -> set[str]:
    if has_cjk(told_by):
        return {fold(told_by)}
    return {stem(word) for word in re.findall(r"\w+", fold(told_by)) if word not in STOP_EN}


def _same_value(a: str, b: str) -> bool:
    x, y = fold(a), fold(b)
    if x in y or y in x:
        return True
    one, two = (next((n for span in numbers(text) if (n := worded_amount(span)) is not None), None) for text in (a, b))
    return one is not None and two is not None and abs(one - two) <= _SAME * max(abs(one), abs(two))


def _told_apart(evidence: Evidence, name: str, bearers: Sequence[Bearer]) -> bool:
    """Whether the question says which it means, or holds a word that only some of the pages have."""
    question = evidence.question
    rest = fold(question.text).replace(fold(name), " ")
    told = [_words(bearer.told_by) for bearer in bearers]
    common = {word for word in told[0] if all(word in words for words in told)}
    if any(_mentions(rest, words - common) for words in told):
        return True
    for i, term in enumerate(question.terms):
        held = {bearer.page.own[i] > 0 for bearer in bearers}
        if term.weight > WEIGHT_WEAK and fold(term.text) not in fold(name) and len(held) > 1:
            return True
    return False
