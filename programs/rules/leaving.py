"""How a sentence says that somebody left an office: stepped down, was dismissed, died, 辞去…职务, 被免职, 去世."""

import re
from functools import lru_cache

from reflective_rag.programs.rules.matching import fold, has_cjk, hits
from reflective_rag.programs.rules.names import is_person_zh, names
from reflective_rag.programs.rules.question import WEIGHT_WEAK, Question
from reflective_rag.programs.rules.words import OFFICES_EN, OFFICES_ZH
from reflective_rag.signatures.patterns import late_pattern

_OFFICES_EN = (
    rf"{OFFICES_EN}|chair|director|manager|captain|coach|owner|minister|senator|head\s?(?:teacher|master|mistress)?|principal|dean|rector|editor(?:-in-chief)?"
    r"|secretary|treasurer|leader|boss|curator|conductor|commander|ambassador|bishop|archbishop"
)
_OFFICES_ZH = rf"{OFFICES_ZH}|经理|主任|队长|教练|总监|馆长|院长|主编|会长|社长|局长|厂长|处长|县长|镇长|村长|园长|店长|团长|秘书长|负责人|大使"
OFFICE = late_pattern(rf"\b(?:{_OFFICES_EN})\b|{_OFFICES_ZH}", re.IGNORECASE)
"""Offices that one person holds at a time."""

_AUX = r"(?:(?:has|have|had|was|were|is|been|being|got|then|also|suddenly|unexpectedly|officially|formally|voluntarily|already|recently|since|later|subsequently|abruptly)\s+)*"
_LEFT_EN = (
    r"(?:step(?:ped|s)\s+(?:down|aside|back)|stood\s+(?:down|aside)|stands\s+down|resigned|resigns|quit|quits|retired|retires|abdicated|departed"
    r"|vacated\s+(?:the|his|her|their)|(?:left|leaves)(?=\s*(?:[.,;]|$|(?:in|on|after|at\s+the\s+end|last|this|following|to\s+(?:join|become|lead))\b|as\b|(?:the\s+(?:company|firm|club|team|office|post|job|school|bank|board|party|position|role)|(?:his|her|their)\s+(?:post|job|office|position|role))\b|(?:the\s+)?(?-i:[A-Z])))|gave\s+up\s+(?:the|his|her)|relinquished"
    r"|(?:handed|tendered|submitted)\s+(?:in\s+)?(?:his|her|their)\s+resignation|no\s+longer\s+(?:the\s+)?|passed\s+away|died|dies|lost\s+(?:the|his|her)\s+(?:job|post|position|office))"
)
_PUT_OUT_EN = r"(?:dismissed|fired|sacked|removed|ousted|forced\s+out|forced\s+to\s+(?:resign|step\s+down)|voted\s+out|deposed|suspended|stripped\s+of|relieved\s+of|laid\s+off|let\s+go|impeached|killed|assassinated)"
_FOLLOWED_EN = r"succeeding|succeeds|succeeded(?!\s+by)|replacing|replaces|replaced(?!\s+by)|taking\s+over\s+from|took\s+over\s+from|takes\s+over\s+from|in\s+succession\s+to"
"""Before the name of whom somebody follows in an office; "succeeded by" is the other way round."""
_AFTER_EN = late_pattern(
    rf"(?:\s*\([^()]*\))?(?:\s*,[^,.;]{{1,60}},)?\s+(?:{_AUX}{_LEFT_EN}|(?:was|were|has\s+been|had\s+been|is|got|been)\s+{_AUX}(?:{_PUT_OUT_EN}|(?:succeeded|replaced|followed)\s+by))\b"
    r"|\s+(?:have\s+|has\s+)?parted\s+(?:company|ways)\b|['’]s?\s+contract\b[^.;]{0,40}\bterminated\b|['’]s?\s+(?:sudden\s+|unexpected\s+|recent\s+)?(?:resignation|departure|dismissal|retirement|death|removal|ouster|exit|abdication)\b(?!\s+(?:letter|plan|party|age))",
    re.IGNORECASE,
)
_BEFORE_EN = late_pattern(
    rf"\b(?:{_PUT_OUT_EN}|{_FOLLOWED_EN}|parted\s+ways\s+with|part\s+company\s+with|accepted\s+the\s+resignation\s+of|(?:resignation|departure|dismissal|retirement|death|removal|ouster)\s+of)\s+"
    r"(?:(?:its|the|their|his|her|long-time|longtime|embattled|as)\s+)*(?:[\w'’-]+\s+){0,5}?$",
    re.IGNORECASE,
)
_LEFT_ZH = r"(?:请辞[^，。；！？]{0,12}(?:获批|获准)|辞去|辞掉|辞任|卸任|卸去|离任|离职|辞职|退休|退任|去职|下台|下野|退位|让位|离开|免职|免去|撤职|解职|解聘|罢免|解雇|开除|革职|撤换|停职|去世|逝世|病逝|过世|辞世|离世|殉职|遇刺|不再(?:担任|出任|是|任))"
_AFTER_ZH = late_pattern(
    rf"(?:[(（][^()（）]*[)）])?[^，。；！？]{{0,24}}?{_LEFT_ZH}|[^。；！？]{{0,20}}，[^，。；！？]{{0,14}}?{_LEFT_ZH}"
)
_BEFORE_ZH = late_pattern(
    r"(?:接替|取代|接任|接棒)了?(?:前任|原任?)?$|(?:免去|解除|罢免|撤销|解聘|解雇|开除|撤换|免除)了?[^，。；！？]{0,12}$|(?:接受|批准)了?[^，。；！？]{0,8}$"
)
_NOT_YET = late_pattern(
    r"\b(?:will|would|may|might|could|should|if|unless|not|never|n['’]t|refus\w+|declin\w+|denied|denies|plans?|planned|intends?|intended|wants?|wanted|expected|threaten\w*|offered|rejected|before|until|almost|nearly"
    r"|rumou?r\w*|calls?|called|urged|asked)\b|未|没有|没能|并非|不会|不曾|拒绝|否认|将|拟|计划|打算|可能|可望|有望|如果|若|希望|要求|呼吁|传|是否|即将|准备|考虑",
    re.IGNORECASE,
)
_ANY = late_pattern(
    rf"\b(?:{_LEFT_EN}|{_PUT_OUT_EN}|{_FOLLOWED_EN}|part(?:ed)?\s+(?:ways|company)|terminated|resignation|departure|dismissal|retirement|death|removal|ouster|exit|abdication)\b"
    rf"|{_LEFT_ZH}|解除|撤销|免除|接替|取代|接任|接棒",
    re.IGNORECASE,
)
_CONDITION = late_pattern(r"\b(?:if|before|until|by)\s+$|如果|若")
_KIN = late_pattern(r"[父母妻夫兄弟姐妹]|儿子|女儿|同事|前任|搭档|秘书(?!长)|副")
_BODY_ZH = late_pattern(
    r"(?:辞去|卸任|离任|离开|免去|解除|担任|辞掉)了?(?:其|在)?(?P<body>[㐀-鿿]{2,12}?(?:公司|大学|中学|小学|学院|学校|集团|协会|学会|委员会|银行|医院|俱乐部|球队|市|县|省|部|局|馆|所|厂|社))"
)
"""The body whose office somebody left."""
_POST_ZH = late_pattern(rf"的?[^，。；！？]{{0,16}}?(?:职务|职位|职|{_LEFT_ZH})")
_DIED = late_pattern(
    r"\b(?:died|dies|passed\s+away|death|killed|assassinated)\b|去世|逝世|病逝|过世|辞世|离世|殉职|遇刺", re.IGNORECASE
)
_BACK = late_pattern(
    r"\b(?:return(?:ed|s)?|reinstated|reappointed|came\s+back|comes\s+back|rejoin\w*|re-?elected|resumed|again|withdrew)\b|复职|复任|重新(?:担任|出任|任命)|再次(?:担任|出任|当选)|再度|回归|重返|收回|连任",
    re.IGNORECASE,
)
_BUT = late_pattern(
    r"\b(?:but|and|who|while|after|when|following|to\s+(?:join|become|lead|take)|as\s+well\s+as)\b|[，。；;:.]",
    re.IGNORECASE,
)
_AROUND = 200
"""Characters before and after a name that are read for it."""
_REST = 60
"""Characters after the word of leaving in which it is said what is left."""


def left(text: str, who: str) -> bool:
    """Whether a sentence says that somebody left; not where it denies it, or tells of a return."""
    return any(said_of(text, *found.span()) for name in called(who) for found in re.finditer(re.escape(name), text))


def left_office(question: Question, text: str, start: int, end: int) -> str:
    """What a sentence says of how `text[start:end]` left the asked office, with what it left; "" for another office."""
    said = said_of(text, start, end)
    if said is None:
        return ""
    whole = text[said[0] : start] + " " + text[end : _end_of(text, said[1])]
    held = _DIED.search(text, *said) is not None or _same_office(question, whole)
    return text[said[0] : _end_of(text, said[1])].strip(" ,，") if held else ""


def comes_back(text: str) -> bool:
    """Whether a text tells of a return to office."""
    return _BACK.search(text) is not None


def left_another(question: Question, text: str, start: int, end: int) -> bool:
    """Whether a sentence says of `text[start:end]` only that it left some other office."""
    said = said_of(text, start, end)
    if said is None or left_office(question, text, start, end):
        return False
    rest = f"{text[: said[0]]} {text[_end_of(text, said[1]) :]}"
    return not any(hits([term for term in question.attribute if term.weight > WEIGHT_WEAK], rest))


def tells_of_leaving(text: str) -> bool:
    """Whether a text has any of the words of leaving; without them nothing else need be read."""
    return _ANY.search(text) is not None


@lru_cache(maxsize=256)
def stretches(question: Question, text: str) -> tuple[tuple[int, int], ...]:
    """Where a sentence says that anybody left an office, each with what was left, and with who left the asked one."""
    found: list[tuple[int, int]] = []
    if not tells_of_leaving(text):
        return ()
    for span in (span for span in names(text) if span.kind in ("person", "name")):
        if said := said_of(text, span.start, span.end):
            own = left_office(question, text, span.start, span.end)
            found.append((min(said[0], span.start) if own else max(said[0], span.end), _end_of(text, said[1])))
    return tuple(found)


def called(who: str) -> list[str]:
    """The name, and in English the family name by itself."""
    parts = who.split()
    return [who] if has_cjk(who) or len(parts) < 2 else [who, parts[-1]]


def said_of(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the words of leaving stand, after or before `text[start:end]`; None without any, or with one that denies it."""
    if _BACK.search(text, end, end + _AROUND):
        return None
    chinese, before = has_cjk(text), text[max(0, start - _AROUND) : start]
    clause = re.split(r"[.;。；！？]", before)[-1]
    found = (_AFTER_ZH if chinese else _AFTER_EN).match(text, end)
    if found and not _NOT_YET.search(found.group()):
        told = _CONDITION.search(re.split(r"[,，]", clause)[-1]) is None
        return found.span() if told and not (chinese and _of_another(found.group())) else None
    found = (_BEFORE_ZH if chinese else _BEFORE_EN).search(before)
    if not found or _NOT_YET.search(clause):
        return None
    behind = _POST_ZH.match(text, end) if chinese else None
    if chinese and not behind and found.group().startswith(("接受", "批准")):
        return None
    return start - len(before) + found.start(), behind.end() if behind else end


def _of_another(said: str) -> bool:
    """Whether Chinese words between a name and what happened name somebody else: 张伟的父亲去世."""
    own = said.startswith("的") and not re.match(rf"的{_LEFT_ZH}", said)
    return own or _KIN.search(said) is not None or any(is_person_zh(span.text) for span in names(said))


def _end_of(text: str, at: int) -> int:
    """Where it ends what a sentence says of what was left."""
    found = _BUT.search(text, at, at + _REST)
    return found.start() if found else min(len(text), at + _REST)


def _same_office(question: Question, said: str) -> bool:
    """Whether what is left is the asked office, or is not named; and no body that the question does not name."""
    asked = [term for term in question.attribute if term.weight > WEIGHT_WEAK]
    if OFFICE.search(said) and not any(hits(asked, said)):
        return False
    if has_cjk(said):
        return all(_is_asked(question, found["body"]) for found in _BODY_ZH.finditer(said))
    named = [span.text for span in names(said) if span.kind != "person" and not OFFICE.fullmatch(span.text)]
    return not named or any(_is_asked(question, name) for name in named)


def _is_asked(question: Question, name: str) -> bool:
    """Whether a body is one that the question names: Bolt Ltd, where it names Bolt."""
    wanted, own = fold(name), [fold(entity) for entity in question.entities]
    return not own or any(entity in wanted or wanted in entity for entity in own)
