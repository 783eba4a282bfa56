"""Two sources that answer a question differently in different words: another person, place or date in the asked role.

Unlike twins they share no wording, so a value counts only where it is bound to the asked word ("directed by X", "CEO X",
由X执导, 首都X): nothing but function words and the question's own words stand between them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from reflective_rag.programs.rules.comparing import Statement, same_scope, same_subject, same_time
from reflective_rag.programs.rules.dates import other_day, years
from reflective_rag.programs.rules.evidence import Evidence, Line, core_title, merge
from reflective_rag.programs.rules.matching import CHIEF_EXECUTIVE, fold, has_cjk, stem
from reflective_rag.programs.rules.names import is_person_zh
from reflective_rag.programs.rules.opposites import restricted
from reflective_rag.programs.rules.question import WEIGHT_WEAK, Question
from reflective_rag.programs.rules.spans import PLURAL, Candidate, candidates
from reflective_rag.programs.rules.tolerance import hedge
from reflective_rag.programs.rules.values import dates
from reflective_rag.programs.rules.words import BODIES_EN, DEMONYM, STOP_EN
from reflective_rag.signatures.patterns import late_pattern

_SHARED = late_pattern(
    r"\b(?:spouse|husband|wife|married|child|children|son|daughter|brother|sister|sibling|parent|friend|member|star(?:s|red|ring)?"
    r"|actor|actress|cast|play(?:s|ed|ing)?|appear\w*|perform\w*|sing|sang|sung|record\w*|cover\w*|produc\w+|writ\w+|wrote|found\w*"
    r"|invent\w*|discover\w*|compos\w+|design\w*|develop\w*|creat\w+|owned?|owners?|visit\w*|lived?|work(?:s|ed)?|stud(?:y|ied)|nominee|nominated)\b"
    r"|妻子|丈夫|配偶|子女|儿子|女儿|兄弟|姐妹|成员|主演|出演|饰演|扮演|演员|演唱|演的|参演|制片|编剧|创始人|创立|创办|创建|发明|发现|设计|开发|朋友|合作|提名|有谁|居住|代表",
    re.IGNORECASE,
)
"""Roles that several people fill at once: two names are then no contradiction."""
_PLACES = late_pattern(
    r"\b(?:capital|which\s+(?:city|country)|what\s+(?:city|country)|host\s+(?:city|country)|headquarter\w*)\b"
    r"|首都|首府|省会|哪一?[个座]?(?:城市|国家)|哪国|主办国|举办国|总部|主席国",
    re.IGNORECASE,
)
"""Questions whose places are of one size: born in a town and born in its country are no contradiction."""
_FILLER_EN = STOP_EN | frozenset(
    "first new current currently former late film movie novel book series album song company country city officially finally".split()
)
_WORD = late_pattern(r"[^\W_]+(?:['’-][^\W_]+)*")
_IS_A = late_pattern(r"[\s\"”]*(?:is|was|are|were)\s+(?:an?|the)\s+(?:[\w'’-]+\s+){0,7}", re.IGNORECASE)
"""What a definition puts between the thing and what is said of it: X *is a 1954 American film* directed by Y."""
_GAP_ZH = late_pattern(
    r"[\s了在于是为由被的叫作做到过：:“”「」《》\"女士先生同志教授博士现任新任当选担任出任正式宣布选手球员电影影片小说一部该]{0,10}"
)
_LEAD_ZH = late_pattern(r"[^，。；！？]{0,16}[，,]?[\s“”「」《》\"]{0,2}")
_ONCE = late_pattern(
    r"\b(?:born|birth|die|died|dies|death|buried|founded|established|built|completed|opened|invented|discovered|launched)\b"
    r"|出生|生于|诞生|去世|逝世|病逝|葬|成立|创立|创办|建成|竣工|落成|通车|开通|发明|发现|发射",
    re.IGNORECASE,
)
"""Events that happen once, wherever they are said to have happened."""
_PLACE = late_pattern(
    r",?\s*\b(?:near|in|at|outside|to|from|by|of|on)\s+(?:the\s+)?(?:(?:small\s+)?(?:town|village|city|parish|district|region|county|province|hospital|house)\s+(?:of\s+)?)?"
    r"(?:[A-Z][\w'’-]*(?:,?\s+|(?=,|$)))*(?:[A-Z][\w'’-]*),?(?=\s|$)"
)
_PLACE_ZH = late_pattern(
    r"[在于]?[\u3400-\u9fff]{2,8}?(?:附近|境内|郊外|郊区|村|镇|市|县|省|城)|[在于][\u3400-\u9fff]{2,6}$"
)
_NAMESAKE = late_pattern(r"\s*[(（](?![^()（）]*\d{4}[)）])[^()（）]*[A-Za-z㐀-鿿]{3}[^()（）]*[)）]")
_BRACKETS = late_pattern(r"[(（][^()（）]{0,60}[)）]")
LONGEST_GAP = 80
"""Characters between the thing, the asked word and the value."""


@dataclass(frozen=True)
class Rival:
    """What one page answers: the value, and the sentence that binds it to the asked word."""

    statement: Statement
    value: Candidate


def rivals(evidence: Evidence, statements: Sequence[Statement]) -> Iterator[tuple[Statement, Statement, str]]:
    """Pairs of pages whose bound answers exclude each other, and both values as "x / y"."""
    if not _one_answer(evidence.question):
        return
    by_page: dict[int, list[Statement]] = {}
    for statement in statements:
        by_page.setdefault(statement.line.page, []).append(statement)
    found = [rival for own in by_page.values() if (rival := _answer(evidence, own))]
    for a, b in combinations(found, 2):
        texts = a.statement.line.text, b.statement.line.text
        same = same_subject(evidence, a.statement.line, b.statement.line) and same_scope(a.statement, b.statement)
        if same and _one_time(evidence, a, b) and not restricted(*texts) and _differ(evidence, a, b):
            yield a.statement, b.statement, f"{a.value.text} / {b.value.text}"


def _one_time(evidence: Evidence, a: Rival, b: Rival) -> bool:
    """Whether both sentences are of one time; a date that is asked for does not part them."""
    texts = (rival.statement.line.text for rival in (a, b))
    if evidence.question.kind == "time":
        texts = (text.replace(rival.value.text, "", 1) for text, rival in zip(texts, (a, b), strict=True))
    return same_time(*texts)


def _one_answer(question: Question) -> bool:
    """Whether only one value can be right: one person in a role that one fills, one place of one size, one day."""
    if question.kind not in ("person", "place", "time") or PLURAL.search(question.text) or not question.attribute:
        return False
    if question.kind == "place":
        return _PLACES.search(question.text) is not None
    return question.kind == "time" or _SHARED.search(question.text) is None


def _answer(evidence: Evidence, statements: Sequence[Statement]) -> Rival | None:
    """The value that a page's sentences on topic bind to the asked word; None where they bind none, or two."""
    found: list[Rival] = []
    entity = [term.entity or term.text[0].isdigit() for term in evidence.question.terms]
    for statement in statements:
        line = statement.line
        named = merge(line.own, evidence.pages[line.page].title)
        if not all(h > 0 for h, use in zip(named, entity, strict=True) if use):
            continue
        if evidence.coverage(line.context) >= evidence.settings.rival:
            spans = candidates(evidence, line)
            found += [Rival(statement, value) for value in spans if _bound(evidence, line, value)]
    values = {fold(rival.value.text) for rival in found}
    whole = [v for v in values if not any(v != other and v in other for other in values)]
    return found[0] if len(whole) == 1 else None


def _bound(evidence: Evidence, line: Line, value: Candidate) -> bool:
    """Whether a sentence begins by saying the asked thing of the question's name: "The director of X is Y"."""
    question, text = evidence.question, line.text
    last = not re.search(r"\w", text[value.end - line.start :])
    if question.kind == "person" and not _is_person(value.text) and not (last and _first_name(value.text)):
        return False
    asked = [t for t in question.attribute if t.weight > WEIGHT_WEAK and not t.text[0].isdigit()]
    thing = _things(evidence, line)
    mine = (value.start - line.start, value.end - line.start)
    for at in (place for term in asked for place in places_of(term.forms, text)):
        for name in thing:
            parts = sorted([mine, at, *([name] if name[1] else [])])
            apart = all(x[1] <= y[0] for x, y in pairwise(parts))
            if (
                apart
                and _leads(text[: parts[0][0]])
                and all(_is_gap(question, text[x[1] : y[0]]) for x, y in pairwise(parts))
            ):
                return True
    return False


def _things(evidence: Evidence, line: Line) -> list[tuple[int, int]]:
    """Where the sentence names what the question asks about; (0, 0) where the page's title does, and it refers to it."""
    question = evidence.question
    title = fold(core_title(evidence.pages[line.page].name)).removeprefix("the ")
    if not question.entities:
        return [(0, 0)]
    name = question.entities[0]
    own = fold(name).removeprefix("the ")
    if own in title and own != title:
        return []
    found = [m.span() for m in re.finditer(re.escape(fold(name)), fold(line.text))]
    if any(_NAMESAKE.match(line.text, end) for _, end in found):
        return []
    return found or ([(0, 0)] if title == own else [])


def _leads(before: str) -> bool:
    """Whether next to nothing stands before: what a sentence says of something else first is another sentence."""
    if has_cjk(before):
        return _LEAD_ZH.fullmatch(before) is not None
    words = [word.lower() for word in _WORD.findall(before.rsplit(",", 1)[-1])]
    return all(word in _FILLER_EN or word.isdigit() for word in words) and len(before) < LONGEST_GAP


def _is_person(text: str) -> bool:
    if has_cjk(text):
        return is_person_zh(text)
    words = text.split()
    return len(words) > 1 and not any(word.lower() in BODIES_EN for word in words)


def _first_name(text: str) -> bool:
    """One capitalized word that is no adjective of nationality: where a sentence ends with it, somebody is named so."""
    return re.fullmatch(r"[A-Z][a-z]+", text) is not None and re.fullmatch(DEMONYM, text) is None


def places_of(forms: tuple[str, ...], text: str) -> list[tuple[int, int]]:
    """Where any of the forms stands: Chinese ones as they are, English ones by stem."""
    folded = fold(text)
    found = [(m.start(), m.end()) for form in forms if has_cjk(form) for m in re.finditer(re.escape(form), folded)]
    found += [m.span() for m in CHIEF_EXECUTIVE.finditer(text)] if "ceo" in forms else []
    return found + [(m.start(), m.end()) for m in _WORD.finditer(folded) if stem(m.group()) in forms]


def _is_gap(question: Question, gap: str) -> bool:
    """Whether only function words and the question's own words stand there, in one clause."""
    if len(gap) > 2 * LONGEST_GAP:
        return False
    gap = _BRACKETS.sub(" ", gap)
    if question.kind == "time" and _ONCE.search(question.text):
        gap = _PLACE_ZH.sub("", _PLACE.sub(" ", gap))
    if len(gap) > LONGEST_GAP or re.search(r"[;；。！？!?]|[，,].*[，,]", gap):
        return False
    if _IS_A.fullmatch(gap):
        return True
    if has_cjk(gap) or (question.language == "zh" and len(gap) < 8):
        for term in question.terms:
            gap = gap.replace(term.text, "")
        return _GAP_ZH.fullmatch(gap) is not None
    own = {form for term in question.terms for form in term.forms}
    words = [word.lower() for word in _WORD.findall(gap)]
    return sum(word not in _FILLER_EN and stem(word) not in own and not word.isdigit() for word in words) == 0


def _differ(evidence: Evidence, a: Rival, b: Rival) -> bool:
    """Whether the two values cannot both be right, and neither page knows the other's."""
    texts = [
        fold(f"{evidence.pages[r.statement.line.page].name} {evidence.pages[r.statement.line.page].text}")
        for r in (a, b)
    ]
    x, y = fold(a.value.text), fold(b.value.text)
    if evidence.question.kind == "time":
        if other_day(a.value.text, b.value.text):
            return _plain_day(a) and _plain_day(b) and x not in texts[1] and y not in texts[0]
        return (
            _other_day(a, b) and not set(years(x)) & set(years(texts[1])) and not set(years(y)) & set(years(texts[0]))
        )
    return not any(part in text for part, text in ((_known_by(x), texts[1]), (_known_by(y), texts[0])))


def _known_by(name: str) -> str:
    """The part of a name that a text repeats it by: the family name."""
    if has_cjk(name):
        return re.split(r"[·•]", name)[-1] if re.search(r"[·•]", name) else name
    return name.split()[-1].rstrip(".") if len(name.split()[-1]) > 3 else name


def _other_day(a: Rival, b: Rival) -> bool:
    """Whether two dates lie in different years, both stated as they are."""
    return _plain_day(a) and _plain_day(b) and years(a.value.text) != years(b.value.text)


def _plain_day(rival: Rival) -> bool:
    """Whether a value is one date, stated as it is."""
    before, _, behind = rival.statement.line.text.partition(rival.value.text)
    return not hedge(before, behind) and len(years(rival.value.text)) == 1 and len(dates(rival.value.text)) == 1
