"""What a sentence gives as a plan or as hearsay only: "plans to move … to Oslo", "may have written", 计划迁至, 据传."""

import re
from functools import lru_cache
from typing import Literal

from reflective_rag.programs.rules.dates import years
from reflective_rag.programs.rules.matching import Term, hits
from reflective_rag.programs.rules.question import WEIGHT_WEAK, Question
from reflective_rag.signatures.patterns import late_pattern

Unsettled = Literal["planned", "hedged", ""]

_CLAUSE = late_pattern(
    r"[，。；！？;!?\n]|,(?!\d{3}\b)|(?<=[a-z\d)])[.:](?=\s|$)|\b(?:but|and|although|though|while|whereas)\b",
    re.IGNORECASE,
)
_IRREGULAR = (
    r"had|made|built|won|sung|met|held|led|left|lost|sold|bought|brought|taught|thought|fought|caught|sent|spent|kept|felt|meant|heard|told|paid|laid|said|read"
    r"|put|cut|set|hit|let|run|come|become|begun|stood|understood|found|gone|done|struck|hung|dug"
)
_PARTICIPLE = rf"(?!(?:children|men|women|seven|ten|eleven|chicken|oxygen|even|open)\b)(?:been|{_IRREGULAR}|[a-z]{{2,}}(?:ed|en|wn|rn|ne))\b"
_TOLD = r"said|thought|believed|rumou?red|reported|alleged|claimed|presumed|assumed|suspected|speculated|supposed(?=\s+to\s+have)"
_HEDGED = late_pattern(
    rf"\b(?-i:may|might|could)\s+(?:well\s+|also\s+|possibly\s+|once\s+)*have\s+(?:[a-z]+ly\s+|also\s+|once\s+)?{_PARTICIPLE}"
    r"|\bmight\s+(?:well\s+|also\s+)?be\b|\b(?:may|could)\s+well\s+be\b"
    rf"|\b(?:{_TOLD})\s+to\s+(?:be|have)\b|\bit\s+(?:is|was|has\s+been)\s+(?:widely\s+|often\s+|sometimes\s+)?(?:{_TOLD})\s+that\b"
    r"|\b(?:some|many)\s+(?:people\s+|historians\s+|scholars\s+|sources\s+|critics\s+)?(?:say|believe|claim|think|suspect|suggest)\b"
    r"|\b(?:rumou?rs?|legend)\s+(?:has\s+it|have\s+it|says?|that)\b|\baccording\s+to\s+(?:a\s+|the\s+)?(?:local\s+)?(?:legends?|rumou?rs?|hearsay|unconfirmed)\b"
    r"|\b(?:possibly|perhaps|maybe|probably|presumably|supposedly|allegedly|reportedly|purportedly|conceivably)\b(?!\s+(?:one\s+of\s+)?(?:the|his|her|its|their)\s+(?:most|best|\w+est)\b)"
    r"|(?<![不尽])可能(?!性|的[话是])|或许|也许|据说|据传|相传|传说中?|传闻|疑似|疑为|据称|据信|说不定|有人(?:认为|说|猜测)|被(?:普遍|广泛)?认为(?!是?(?:最|世界|全|第一))|被指",
    re.IGNORECASE,
)
_KEEPS = r"(?:expand|renovate|enlarge|extend|modernise|modernize|upgrade|refurbish|restore|repair|sell|close|leave|quit|vacate|keep|remain|stay|continue|celebrate|step|retire|resign)\b"
_PLANNED = late_pattern(
    rf"\b(?:plan(?:s|ned|ning)?|intend(?:s|ed|ing)?|hop(?:e|es|ed|ing)|aim(?:s|ed|ing)?|want(?:s|ed)?|propos(?:es|ed|ing)|wish(?:es|ed)|seeks|seeking|sought)\s+to\s+(?!{_KEEPS})"
    rf"|\b(?:is|are|was|were)\s+(?:planned|proposed|slated|scheduled|due|set)\s+(?:to\s+(?!{_KEEPS})|for\b)"
    r"|\b(?:is|are|was|were|has\s+been|have\s+been)\s+(?:considering|contemplating|discussing|mulling|weighing|thinking\s+(?:of|about))\b|\b(?:considers|considered|contemplates|proposes|proposed|suggested)\s+[a-z]+ing\b"
    r"|\b(?:is|are|was|were)\s+(?:widely\s+|also\s+)?(?:expected|likely|tipped|poised|in\s+talks|in\s+negotiations)\s+to\s+(?:become|take\s+over|succeed|replace|lead|head|join|move|buy|acquire|direct|build|be\s+(?:moved|named|appointed|replaced|acquired))\b"
    r"|\b(?:offered|bid|bidding)\s+to\s+(?:buy|acquire)\b"
    r"|\b(?:proposals?|proposed|plans?)\s+(?:for|that)\b|\bplans\s+(?:call\s+for|are\s+to)\b"
    r"|\b(?:is|are)\s+to\s+(?:be|become|move|open|relocate|take|build|lead|head|succeed|replace|have)\b|\b(?:is|are)\s+going\s+to\b"
    r"|(?<![一二三四五的项划按照如])计划(?=于|在|将|把|明年|后年|今年|下|\d|[一-鿿]{0,6}(?:迁|搬|建|修|设|开|推出|收购|聘|任|投|扩|出版|发行|招))(?!的)"
    r"|(?<![模虚比])拟(?=于|在|将|把|向|从|由|任|聘|建|迁|搬|收购|投|开|设|\d)|打算|有意(?=于|在|将|把|向|从|由|任|聘|建|迁|搬|收购|投|开|设)|(?:正在?|曾)?考虑(?=于|在|将|把|由|从|任|聘|建|迁|搬|收购|开|设)|希望(?=于|在|将|把|能)"
    r"|(?:预计|预定|准备|力争|争取)(?=于|在|将|把|迁|搬|\d{4}年)",
    re.IGNORECASE,
)
_WILL = late_pattern(r"\bwill\s+(?!not\b)", re.IGNORECASE)
_COMING = late_pattern(r"将要|即将|将会|有望|将(?=(?:于|在)\d|迁|搬|成为|出任|接任|担任)")
"""The future itself, which is no plan any more once its year has come."""
_BEFORE_PLAN = late_pattern(r"(?:\bfrom\s+(?:its\s+)?|(?:从|由)(?:目前的?|现在的?)?)$", re.IGNORECASE)
_PLAN_ASKED = late_pattern(
    r"\b(?:will|plan\w*|intend\w*|intention\w*|going\s+to|hop(?:e|es|ed|ing)|aim\w*|propos\w*|expect\w*|consider\w*|schedul\w*|wants?|wanted|to\s+be|next|upcoming|future"
    r"|purpose|goals?|objectives?|targets?|mission|strateg\w+|may|might|could|should)\b|计划|拟|打算|考虑|何时|什么时候|将(?![军领士帅])|会(?![议场员计长展馆所社谈见晤])|预计|预定|准备|希望|有意|有望|下[一]?[任届次个]|未来|目标|目的|规划|方案",
    re.IGNORECASE,
)
_PAST_ASKED = late_pattern(r"\b(?:did|was|were|has|had)\b|了|已|曾|是.*的[？?]?$", re.IGNORECASE)
_HEARSAY_ASKED = late_pattern(
    r"\b(?:may|might|could|possibl[ey]|perhaps|probabl[ey]|reported\w*|alleg\w*|rumou?r\w*|said|says?|thought|think|believ\w*|suppos\w*|claim\w*|legend\w*|suspect\w*|presum\w*)\b"
    r"|可能|或许|也许|据说|据传|传说|相传|传闻|疑似|据称|认为|谣",
    re.IGNORECASE,
)
_GOING_ON = late_pattern(r"\b(?:is|are)\b.*\b\w+ing\b", re.IGNORECASE)
_QUOTED = late_pattern(r"《[^》]*》|“[^”]*”|「[^」]*」|\"[^\"]*\"")
_PARTS_ASIDE = late_pattern(r"\W*(?:however|today|in\s+\w+|then|later|so|但|而|不过|因此)?\W*", re.IGNORECASE)


def unsettled(question: Question, sentence: str, start: int, end: int) -> Unsettled:
    """How a sentence leaves open that `sentence[start:end]` answers: as a plan, or as hearsay; "" where it states it.

    "" too where the question itself asks for a plan or for hearsay.
    """
    if not _HEARSAY_ASKED.search(question.text) and _concerns(question, sentence, start, end, _HEDGED):
        return "hedged"
    if _asks_plan(question) or _BEFORE_PLAN.search(sentence[max(0, start - 16) : start]):
        return ""
    if _concerns(question, sentence, start, end, _PLANNED):
        return "planned"
    named = years(sentence)
    ahead = question.today is not None and any(year > question.today.year for year in named)
    cues = ([_WILL] if ahead else []) + ([_COMING] if ahead or not named else [])
    return "planned" if any(_concerns(question, sentence, start, end, cue) for cue in cues) else ""


def leaves_open(question: Question, terms: tuple[Term, ...], sentence: str) -> Unsettled:
    """The same of a whole statement with these terms, or of a yes: by the clause that holds most of them."""
    bare, bounds = _clauses(sentence)
    clauses = list(zip(bounds[::2], bounds[1::2], strict=True))
    best = max(clauses, key=lambda part: sum(hits(terms, sentence[part[0] : part[1]])) if terms else 0)
    said: list[tuple[Unsettled, re.Pattern[str], bool]] = [
        ("hedged", _HEDGED, _HEARSAY_ASKED.search(question.text) is not None),
        ("planned", _PLANNED, _asks_plan(question) or _GOING_ON.search(question.text) is not None),
    ]
    for name, cue, asked in said:
        found = cue.search(bare, *best)
        if not asked and found and any(hits(terms, sentence[found.start() : best[1]])):
            return name
    return ""


def hedged(claim: str) -> bool:
    """Whether a claim itself says no more than that something is planned, to come or possible."""
    return any(cue.search(claim) for cue in (_HEDGED, _PLANNED, _WILL, _COMING))


def hedge_alone(text: str) -> bool:
    """Whether a span is nothing but such a word, which a capital made a name: Perhaps, Reportedly."""
    return _HEDGED.fullmatch(text) is not None


def without_hedge(name: str) -> str:
    """An English name without the hedge before it at the start of a sentence: Perhaps Mara Lind."""
    first, _, rest = name.partition(" ")
    return rest if rest and hedge_alone(first) else name


def _asks_plan(question: Question) -> bool:
    """Whether a question asks for what is to come: by its words, or for a date without a word of the past."""
    if _PLAN_ASKED.search(question.text):
        return True
    return question.kind == "time" and not _PAST_ASKED.search(question.text)


def _concerns(question: Question, sentence: str, start: int, end: int, cue: re.Pattern[str]) -> bool:
    """Whether such a word speaks of what is asked of a span.

    It does in the clause of the span, or in that of what is asked where the span's own clause says nothing of it, and
    only with one of the two behind it: "Mara Lind wrote it, possibly in 1931" leaves open when, and not who.
    """
    cues = [place for place in _cues(sentence, cue) if not (start <= place[0] < end)]
    if not cues:
        return False
    bare, bounds = _clauses(sentence)
    mine = _around(bounds, start, end)
    asked = [term for term in question.attribute if term.weight > WEIGHT_WEAK]
    says = any(hits(asked, sentence[mine[0] : mine[1]]))
    for first, last in cues:
        left, right = _around(bounds, first, last)
        if mine[0] <= first < mine[1]:
            if not asked or start >= last or any(hits(asked, sentence[first:right])):
                return True
        elif (
            _leads(bare, first, last, right)
            or (right <= start and _alone(bare, left, right, first, last))
            or (not says and any(hits(asked, sentence[left:right])))
        ):
            return True
    return False


@lru_cache(maxsize=4096)
def _cues(sentence: str, cue: re.Pattern[str]) -> tuple[tuple[int, int], ...]:
    """Where such words stand outside quotations and titles of works."""
    return tuple(found.span() for found in cue.finditer(_bare(sentence)))


@lru_cache(maxsize=512)
def _clauses(sentence: str) -> tuple[str, list[int]]:
    """The sentence without its quotations, and where its clauses begin and end, in turn."""
    bare = _bare(sentence)
    return bare, [0, *(place for m in _CLAUSE.finditer(bare) for place in m.span()), len(bare)]


def _bare(sentence: str) -> str:
    """The sentence with spaces for quotations and titles of works."""
    return _QUOTED.sub(lambda found: " " * len(found.group()), sentence)


def _leads(bare: str, first: int, last: int, right: int) -> bool:
    """Whether it opens the sentence, almost by itself: "Reportedly, …", 据传，…, "According to a legend of the town, …"."""
    return first <= 24 and _PARTS_ASIDE.fullmatch(bare[:first]) is not None and len(bare[last:right].strip()) <= 30


def _alone(bare: str, left: int, right: int, first: int, last: int) -> bool:
    """Whether it is put in between commas before what it speaks of: "was born, according to legend, in Ghent"."""
    return left > 0 and len(bare[left:first].strip()) + len(bare[last:right].strip()) <= 6


def _around(bounds: list[int], start: int, end: int) -> tuple[int, int]:
    return max(place for place in bounds if place <= start), min(place for place in bounds if place >= end)
