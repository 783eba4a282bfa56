"""What one text denies and another affirms: has not opened / opened, non-toxic / toxic, 没有通车 / 通车, 无毒 / 有毒.

Only the word that is denied counts, and only where the other text affirms the same word of the same things: "not only",
"not until 1995", 没有通车前 and questions deny nothing.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from reflective_rag.programs.rules.matching import fold, forms_of, has_cjk, segmenter, stem
from reflective_rag.programs.rules.words import STOP_EN, STOP_ZH
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.text import tokenize

_WORD = late_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CLAUSE = late_pattern(r"[，。；！？;!?\n]|(?<=[a-z\d)])[,.:](?=\s|$)")
_LATER_EN = late_pattern(
    r"\b(?:until|till|unless|if|whether|before|not\s+(?:only|just|merely|simply|necessarily|all|every|to\s+be\s+confused)|nor\s+only"
    r"|might|may|could|would|should|alleged\w*|claim\w*|rumou?r\w*)\b",
    re.IGNORECASE,
)
"""Words of a clause that make a denial one of a time, a condition, a part or of hearsay."""
_LATER_ZH = late_pattern(
    r"直到|直至|才(?!能)|如果|若|假如|除非|是否|有没有|能不能|会不会|不仅|不但|不只|不光|不过|不得不|不能不|未必|不一定|并非所有|不都|之前|以前|前(?=[，,]|$)|据称|谣传|可能"
)
_DENY_EN = frozenset(
    "not never cannot without neither nor isn't wasn't aren't weren't didn't doesn't don't hasn't haven't hadn't won't can't couldn't".split()
)
_NO_LONGER = late_pattern(r"\bno\s+longer\b|\b(?:has|have|had)\s+yet\s+to\b|\bfail(?:s|ed)\s+to\b", re.IGNORECASE)
_PREFIXED = late_pattern(r"\bnon-?([a-z]{4,})\b")
_NO_EN = late_pattern(r"\b(?:has|have|had|contains?|with|there\s+(?:is|are|was|were)|of)\s+no\s+([a-z]{3,})")
_SKIPPED_EN = STOP_EN | frozenset(
    "yet ever officially currently actually still fully formally publicly really been be longer considered regarded".split()
)
_AHEAD = 3
"""Words after a negation among which the denied one stands."""
_DENY_ZH = late_pattern(
    r"(?:并没有|还没有|从来没有|一直没有|没有|没能|尚未|从未|并未|还未|未曾|未能|未被|并不|不再|不会|不能|不得|不是|不|没|未|无法|无)"
)
_SKIPPED_ZH = STOP_ZH | frozenset("正式 真正 完全 曾 曾经 再 被 能 会 得到 进行 任何 具有 带 有".split())
_LEXICAL_ZH = frozenset(
    "不同 不断 不久 不少 不足 不满 不锈钢 不利 不料 不禁 不已 不幸 不错 不见 不如 不论 不管 不得 不无 未来 未必 无限 无论 无数 无锡 无线 无人 无人机 "
    "无疑 无意 无比 无关 无边 无常 无名 无穷 无私 无形 无缘 没收 没落".split()
)
"""Words that only look like a denial of their second part."""
_AFFIRMED_BY = {"无": ("有", "含", "带", "具")}
"""Negation → what must stand before a noun that is affirmed: 无毒 denies 有毒, and 毒 by itself affirms nothing."""


@dataclass(frozen=True)
class _Denial:
    """A denied word: how the denial reads, its stem (English) or itself (Chinese), how it reads affirmed.

    `before` is what must stand before a Chinese noun that is affirmed, `behind` the rest of the denying clause.
    """

    shown: str
    word: str
    affirmed: str
    behind: str
    before: tuple[str, ...] = ()


def denied(a: str, b: str) -> str:
    """The word that one text denies and the other affirms, as "not x / x" in the order of the texts; "" without one."""
    for first, second, pattern in ((a, b, "{0} / {1}"), (b, a, "{1} / {0}")):
        for no in _denials(first):
            if not any(other.word == no.word for other in _denials(second)) and _affirms(second, no):
                return pattern.format(no.shown, no.affirmed)
    return ""


def _denials(text: str) -> tuple[_Denial, ...]:
    return _denials_zh(text) if has_cjk(text) else _denials_en(text)


@lru_cache(maxsize=4096)
def _denials_en(text: str) -> tuple[_Denial, ...]:
    found: list[_Denial] = []
    for clause in _CLAUSE.split(fold(text)):
        if _LATER_EN.search(clause):
            continue
        clause = _NO_LONGER.sub(" not ", clause)
        for no in (m for m in _WORD.finditer(clause) if m.group() in _DENY_EN):
            ahead = [*_WORD.finditer(clause, no.end())][: 1 + _AHEAD]
            found += [_english("not", m, clause) for m in ahead if m.group() not in _SKIPPED_EN][:1]
        found += [_english("non-", m, clause) for m in _PREFIXED.finditer(clause)]
        found += [_english("no", m, clause) for m in _NO_EN.finditer(clause)]
    return tuple(found)


def _english(negation: str, found: re.Match[str], clause: str) -> _Denial:
    word = found.group(found.re.groups)
    shown = f"{negation}{'' if negation.endswith('-') else ' '}{word}"
    return _Denial(shown, stem(word), word, clause[found.end() :])


@lru_cache(maxsize=4096)
def _denials_zh(text: str) -> tuple[_Denial, ...]:
    found: list[_Denial] = []
    for clause in _CLAUSE.split(text):
        if _LATER_ZH.search(clause):
            continue
        words = [word for word, _ in segmenter().tag(clause)]
        for i, word in enumerate(words):
            deny = _DENY_ZH.match(word)
            if deny is None or word in _LEXICAL_ZH:
                continue
            no, rest = deny.group(), word[deny.end() :]
            at = next((j for j in range(i + 1, min(i + 4, len(words))) if words[j] not in _SKIPPED_ZH), i)
            rest, at = (rest, i) if rest else (words[at] if at > i else "", at)
            if _tells(no, rest):
                before = _AFFIRMED_BY.get(no, ())
                shown = (before[0] if before else "") + rest
                found.append(_Denial(no + rest, rest, shown, "".join(words[at + 1 :]), before))
    return tuple(found)


def _tells(negation: str, rest: str) -> bool:
    """Whether a word can be denied: Chinese characters, and more than one with 不 and 未, unless it is a plain verb."""
    if not rest or not has_cjk(rest) or rest in STOP_ZH:
        return False
    return len(rest) > 1 or negation == "无" or rest in "含会属产卖收用获婚"


def _affirms(text: str, no: _Denial) -> bool:
    """Whether a text holds the word somewhere without denying it, of the same object where both name one."""
    if has_cjk(no.word):
        for m in re.finditer(re.escape(no.word), text):
            before, behind = text[max(0, m.start() - 4) : m.start()], _CLAUSE.split(text[m.end() :])[0]
            if _DENY_ZH.search(before) or _LATER_ZH.search(before + no.word + behind):
                continue
            if (not no.before or before.endswith(no.before)) and _same_object(no.behind, behind):
                return True
        return False
    wanted = {no.word, *forms_of(no.affirmed)}
    for clause in _CLAUSE.split(fold(text)):
        words = [*_WORD.finditer(clause)]
        if _LATER_EN.search(clause) or not _DENY_EN.isdisjoint(m.group() for m in words) or _NO_LONGER.search(clause):
            continue
        said = [m for m in words if m.group() not in _SKIPPED_EN and stem(m.group()) in wanted]
        if any(not _non(clause, m.start()) and _same_object(no.behind, clause[m.end() :]) for m in said):
            return True
    return False


def _non(clause: str, at: int) -> bool:
    return clause[max(0, at - 4) : at].endswith(("non-", "non", " no "))


def _same_object(a: str, b: str) -> bool:
    """Whether what follows a word in two clauses may be one thing: gold and silver medals are two."""
    ours, theirs = ({t for t in tokenize(text) if t not in STOP_EN and t not in STOP_ZH} for text in (a, b))
    ours, theirs = ({t for t in side if not t[0].isdigit()} for side in (ours, theirs))
    return not ours or not theirs or not ours.isdisjoint(theirs)
