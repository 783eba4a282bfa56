"""Yes/no questions for what is allowed or possible: "Can I pay by card?", 孕妇可以吃吗. A yes that is none does harm."""

import re
from typing import Literal

from reflective_rag.programs.rules.evidence import Evidence, Page
from reflective_rag.programs.rules.matching import fold, has_cjk, segmenter, stem
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.words import STOP_EN, STOP_ZH
from reflective_rag.signatures.patterns import late_pattern

_ASKED = late_pattern(
    r"^\W*(?:can|may|could|am\s+i|are\s+we|is\s+it\s+(?:ok|okay|safe|possible))\b"
    r"|\b(?:allowed|permitted|accept(?:s|ed)?|take|welcome|admitted|possible|safe)\b"
    r"|可以|能(?!力|源|量|够量)|可否|允许|准许|让不让|接受|收不收|行不行|适合|支持",
    re.IGNORECASE,
)
_NO_EN = (
    r"(?:not|never|n['’]t)\s+(?:\w+ly\s+)?(?:allowed|permitted|accepted|welcome|admitted|possible|safe|suitable|recommended)"
    r"|forbidden|prohibited|banned|refused|rejected|off[- ]limits|unwelcome"
)
_PASSIVE = late_pattern(
    rf"\b(?:{_NO_EN})\b|\b(?:is|are|do|does|can|may|must)\s*(?:not|n['’]t)\s*[.!]?\s*$", re.IGNORECASE
)
_ACTIVE = late_pattern(
    r"\b(?:may|can|must|should|shall|could|do|does)\s*(?:not|never|n['’]t)\s+|\b(?:cannot|never)\s+|^\W*no\s+(?!longer|more|one)"
    r"|\b(?:accepts?|takes?|allows?|permits?)\s+no\s+|\b(?:refuses?|forbids?|prohibits?|bans?)\s+",
    re.IGNORECASE,
)
_NO_ZH = late_pattern(
    r"禁止|严禁|谢绝|请勿|切勿|勿|不得|不能|不可以?|不准|不许|不允许|不接受|不收|不支持|不提供|不对|不向|不宜|不适合|不让|不予|禁用|忌用|忌服|拒绝|拒收|恕不|无法"
)
_CAREFUL = late_pattern(
    r"慎用|不建议|不推荐|遵医嘱|咨询医生|酌情|须经|除非|仅限|只限|只[收接能]|仅[收接支]|\b(?:unless|except|only|caution|consult|with\s+(?:the\s+)?permission)\b",
    re.IGNORECASE,
)
"""What allows something to some or sometimes."""
_OBLIGED = late_pattern(r"\b(?:must|(?:has|have|needs?|is|are)\s+to|required\s+to)\b(?!\s+not\b)", re.IGNORECASE)
_WAYS = (
    ("on", "off"),
    ("in|into|inside|indoors", "out|outside|outdoors"),
    ("with", "without"),
    ("open", "closed|shut"),
)
"""Particles of which an obligation to the one forbids the other."""
_YES_EN = late_pattern(r"\b(?:allowed|permitted|accepted|welcome|admitted)\b", re.IGNORECASE)
_CUT = late_pattern(r"[;，；。！!\n]|[,.](?=\s|$)|\b(?:but|while|whereas|although)\b|但是?|不过", re.IGNORECASE)
_WORD = late_pattern(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_PERMIT = frozenset(
    "allow allowed permit permitted accept accepted accepts take takes welcome admit admitted possible safe ok use using i get go in bring".split()
)
_PERMIT_ZH = frozenset(
    "可以 能 允许 接受 支持 准许 可 吗 带 进 使用 用 这 那 种 款 对 开放 适合 不 不能 不可 内 里 在".split()
)
_ALIKE_ZH = (
    frozenset(("吃", "服用", "服", "饮食", "进食", "食用", "吃东西", "喝", "饮用", "使用", "用")),
    frozenset(("拍照", "摄影", "照相", "拍摄")),
    frozenset(("抽烟", "吸烟")),
    frozenset(("信用卡", "刷卡", "银行卡")),
)
_STRICT = 0.6
"""Coverage by the sentence with its surroundings from which the denial is of what is asked and not of a part."""

Verdict = Literal["no", "yes", "unclear"]


def asks_permission(question: Question) -> bool:
    """Whether a yes/no question asks what is allowed, accepted, possible or safe; one with a negation in it does not."""
    return bool(_ASKED.search(question.text)) and not _NO_ZH.search(question.text) and "not" not in question.text


def permitted(evidence: Evidence) -> tuple[Verdict, Page, float] | None:
    """What a clause says of the asked permission, with its passage and coverage; None where no clause speaks of it."""
    found: tuple[float, Verdict, Page] | None = None
    for page in evidence.pages:
        for line in page.lines:
            about = evidence.coverage(line.context)
            for clause in _CUT.split(line.text):
                said = _said(evidence.question.text, clause, about) if clause and clause.strip() else None
                if said and (found is None or about > found[0]):
                    found = (about, said, page)
    return (found[1], found[2], found[0]) if found else None


def clause_of(question: str, text: str) -> str:
    """The clause of a sentence that speaks of the asked permission: the one that holds the most of the asked words."""
    asked = _words(question)
    clauses = [clause for clause in _CUT.split(text) if clause and clause.strip() and not _of_others(question, clause)]
    held = [len(asked & _words(clause)) for clause in clauses]
    return clauses[held.index(max(held))] if held and held.count(max(held)) == 1 else text


def _of_others(question: str, clause: str) -> bool:
    """Whether a clause speaks of those that the question excludes: 非会员 where 会员 are asked about."""
    return "非" in clause and "非" not in question


def _said(question: str, clause: str, about: float) -> Verdict | None:
    zh = has_cjk(clause)
    asked = _words(question)
    if zh != has_cjk(question) or _of_others(question, clause):
        return None
    if zh and (no := _NO_ZH.search(clause)):
        return _of_it(asked, _words(clause[no.end() :]), _words(clause[: no.start()]), clause, about)
    if zh:
        return "unclear" if _CAREFUL.search(clause) and _alike(asked, _words(clause)) else None
    if _OBLIGED.search(clause) and _other_way(question, clause) and _alike(asked, _words(clause)):
        return "no"
    if no := _PASSIVE.search(clause):
        head = re.split(r"\b(?:in|on|at|inside|within|during|for)\b", clause[: no.start()], maxsplit=1)[0]
        return _of_it(asked, _words(head), set(), clause, about)
    if no := _ACTIVE.search(clause):
        return _of_it(asked, _words(clause[no.end() :]), _words(clause[: no.start()]), clause, about)
    if _CAREFUL.search(clause):
        return "unclear" if about >= _STRICT and not _YES_EN.search(clause) else None
    if (yes := _YES_EN.search(clause)) and re.search(r"\b(?:allowed|permitted|accepted|welcome|admitted)\b", question):
        return "yes" if asked and asked <= _words(clause[: yes.start()]) else None
    return None


def _other_way(question: str, clause: str) -> bool:
    """Whether a clause obliges to the opposite of what is asked: kept on a leash, where "off the leash" is asked."""
    ways = [(re.compile(rf"\b(?:{a})\b", re.IGNORECASE), re.compile(rf"\b(?:{b})\b", re.IGNORECASE)) for a, b in _WAYS]
    pairs = [*ways, *((b, a) for a, b in ways)]
    return any(a.search(question) and b.search(clause) and not a.search(clause) for a, b in pairs)


def _of_it(asked: set[str], object_: set[str], doers: set[str], clause: str, about: float) -> Verdict | None:
    """A denial counts where the denied thing is asked for; with an age or a number, or for others only, nothing is clear."""
    told = object_ or doers
    if not _alike(asked, told):
        return None
    if object_ and doers and not has_cjk(clause) and not _alike(asked, doers) and asked - object_ - doers:
        return None  # "underwear cannot be returned" says nothing of shoes
    if re.search(r"\d|[一二三四五六七八九十]+[岁米公]|以[下上]", clause) or _CAREFUL.search(clause):
        return "unclear"
    others = doers - asked if has_cjk(clause) and doers else set()
    return "unclear" if about < _STRICT and others and not _alike(asked, doers) else "no"


def _alike(asked: set[str], said: set[str]) -> bool:
    if asked & said or any(len(a) > 1 and (a in b or b in a) for a in asked for b in said if len(b) > 1 and has_cjk(a)):
        return True
    return any(group & asked and group & said for group in _ALIKE_ZH)


def _words(text: str) -> set[str]:
    """The telling words of a text: stems in English; in Chinese as the segmenter cuts them, plain verbs included."""
    folded = fold(text)
    if has_cjk(text):
        cut = {word for word, _ in segmenter().tag(folded) if _WORD.fullmatch(word)}
        return cut - STOP_ZH - _PERMIT_ZH
    return {stem(w) for w in _WORD.findall(folded) if w not in STOP_EN and w not in _PERMIT and len(w) > 1}
