"""Cuts an answer into the claims that are checked one by one: its sentences, statements joined in one, listed items.

A claim is a verbatim piece of the answer. What cannot be told apart safely stays together: a claim too large is checked
as a whole, a claim cut through a name or a quotation is checked wrongly.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from reflective_rag.programs.rules.matching import has_cjk, segmenter
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.values import dates, numbers
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.text import sentences

MAX_CLAIMS = 12
"""Most claims of one answer; the last one holds the rest of the answer."""

LONGEST_CUT = 600
"""Characters of a sentence that is looked into; a longer one (a table, text without punctuation) is one claim."""

Piece = tuple[int, int]
"""Start and end of a piece of the answer."""

_KEPT_WHOLE = late_pattern(
    r"《[^》]{0,300}》|“[^”]{0,300}”|「[^」]{0,300}」|『[^』]{0,300}』|\"[^\"\n]{0,300}\""
    r"|（[^（）]{0,300}）|\([^()]{0,300}\)|\[[^\[\]]{0,300}\]"
    r"|\b(?:between|from)\s+[^,;]{1,40}?\s(?:and|to)\s"
)
"""Quotations, titles and brackets; "between A and B"."""

_BULLET = late_pattern(r"(?:[-*•]|\(?\d{1,2}[.)、）])\s*(?=\S)")
_SOURCE_EN = r"(?:passages?|documents?|sources?|evidence|contexts?|texts?|articles?|information)"
_FRAME = late_pattern(
    rf"""(?:
      (?:according\s+to|based\s+on|as\s+per|from|per)\s+(?:the\s+|these\s+)?(?:\w+\s+)?{_SOURCE_EN}(?:\s*\[?\d*\]?)\s*,
    | (?:the\s+)?(?:\w+\s+)?{_SOURCE_EN}\s+(?:states?|says?|mentions?|indicates?|shows?|confirms?)\s+that\b
    | (?:in\s+(?:summary|conclusion|short|addition|fact|other\s+words)|therefore|thus|hence|so|however|moreover|also
       |additionally|furthermore|overall|finally|yes|no|sure|indeed|correct|well|and|but)\s*[,:]
    | (?:i\s+(?:think|believe)|it\s+(?:seems|appears))(?:\s+that\b|\s*,)?
    | (?:根据|依据|按照|基于|从)(?:所给|给定|提供|上述|以上|检索到|现有)?的?[^，,：:。]{{0,4}}?
      (?:资料|段落|材料|文章|文本|信息|证据|上下文|内容|文档)[^，,：:。]{{0,8}}[，,：:]
    | (?:资料|段落|材料|文章|文中)中?(?:显示|提到|指出|表明|说)[，,：:]?
    | (?:综上所述|综上|总之|因此|所以|另外|此外|同时|然而|不过|可见|首先|其次|最后|是的|是|对|不是|否)[，,：:]
    | (?:并且|而且|但是|并|且|但|而)(?=[^且是\s])
    )\s*""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words before a claim that claim nothing: where it is from, how it is joined, yes and no before a reason."""

_NOTHING = late_pattern(
    rf"(?:yes|no|sure|indeed|correct|true|false|of course|certainly|i hope this helps"
    rf"|according to (?:the |these )?(?:\w+ )?{_SOURCE_EN}|是|是的|否|不是|不|对|没错|好的|当然|正确|综上所述|总之"
    rf"|根据[^，。]{{0,6}}(?:资料|段落|文章|信息))",
    re.IGNORECASE,
)
"""A piece that claims nothing by itself."""

_AUXILIARY = r"(?:is|was|are|were|has|had|have|does|did|do|will|would|can|could|may|might|must|shall|should)"
_FINITE = late_pattern(
    rf"\b{_AUXILIARY}\b|\b[a-z]{{2,}}ed\b|\b(?:built|won|wrote|made|led|began|became|took|held|lies)\b"
)
_JOINT_EN = late_pattern(r"\s*;\s+|(?P<comma>,)?\s+(?:and|but|while|whereas|yet)\s+")
_SUBJECT = late_pattern(
    rf"""(?:it|he|she|they|this|these|that|those|there)\s+(?:\w+\s+)?(?:{_AUXILIARY}\b|[a-z]+ed\b|[a-z]+s\b)
    | (?:the|its|his|her|their|an?|both)\s+(?:[\w’'-]+\s+){{1,5}}?{_AUXILIARY}\b
    | (?-i:[A-Z][\w’'-]*)(?:\s+(?:of|de|the|van|von|(?-i:[A-Z][\w’'-]*))){{0,4}}\s+
      (?:{_AUXILIARY}\b|(?:[a-z]+ed|built|won|wrote|made|led|began|became|took|held)\b(?!\s+(?:by|in|at|on)\b))""",
    re.IGNORECASE | re.VERBOSE,
)
"""A piece of a sentence that has a subject and a verb of its own."""

_JOINT_ZH = late_pattern(r"[；;，]")
_LEANS_ON_NEXT = late_pattern(
    r"(?:因为|由于|如果|虽然|尽管|即使|随着|当|为了|除了|通过|根据|作为|若|自|据).*|在.*[下上中时后前里内间]"
    r"|.*(?:时|后|之前|期间|以来|的话|的|指出|表示|认为|显示|提到|写道|说|称)",
    re.DOTALL,
)
_LEANS_ON_LAST = late_pattern(
    r"(?:因此|所以|从而|因为|以便|以及|例如|比如|即|也就是|包括|其中包括|尤其|特别|而是|是|为|使|导致|直到|直至|和|与|及|或|等)"
)

_ALSO_ZH = late_pattern(r"并|且|而|但|同时|此外|另外")

_SEVERAL = late_pattern(
    r"""\b(?:what|who|which)\s+(?:are|were)\b
    | \b(?:which|what)\s+(?:[a-z-]+\s+){0,2}?(?!(?:is|was|has|does|this|his|its|as)\b)[a-z]+[^siu'’\W]s\b
    | \b(?:two|three|four|five|six|seven|eight)\b | ^\s*(?:list|name|give|enumerate)\b
    | \b(?:who|what|when|where|which)\b.*\band\s+(?:\w+\s+)?(?:who|what|when|where|which|how)\b
    | 哪些|哪几|哪[两三四五六七八九十]|分别|各是|有谁|[几两三四五]种|列举|例举|例子|都有
    | 何时何地|(?:以及|和)(?:何|哪|谁|什么)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A question that asks for several things."""

_COMMA_ITEMS = late_pattern(r"\s*[、]\s*(?:和|与|及|以及)?|\s*，\s*|,\s+(?:and\s+)?|\s+and\s+")
_AND_ZH = ("和", "与", "及", "以及", "跟")
_STATES_EN = late_pattern(rf"{_FINITE.pattern}|\b[a-z’'-]+\s+[a-z]{{2,}}s\s+(?:the|an?|[A-Z]|\d)")
_STATES_ZH = late_pattern(r"[是在于了把被由]")
_LONGEST_ITEM_EN, _LONGEST_ITEM_ZH = 8, 16
"""Words, characters of a listed item."""


def split_claims(question: str, answer: str) -> tuple[str, ...]:
    """The claims of an answer, in order; at most `MAX_CLAIMS`, the last of which then holds all the rest.

    A short answer is one claim; where the question asks for several things, each listed item is one. An answer that
    comes out as a single claim is returned as it is, with its framing; an empty one gives none.
    """
    several = _SEVERAL.search(question) is not None
    found: list[Piece] = []
    for start, end in _sentences(answer):
        for piece in _statements(answer, start, end):
            found += _items(answer, *piece) if several else [piece]
        if len(found) > MAX_CLAIMS:
            found[MAX_CLAIMS - 1 :] = [(found[MAX_CLAIMS - 1][0], len(answer.rstrip()))]
            break
    if len(found) < 2:
        return (answer,) if answer.strip() else ()
    return tuple(answer[start:end] for start, end in found)


def _sentences(text: str) -> Iterator[Piece]:
    """Sentences, and lines, as offsets; one that would end inside a quotation goes on to the end of the next."""
    kept = [found.span() for found in _KEPT_WHOLE.finditer(text)] if len(text) <= 20 * LONGEST_CUT else []
    begin: int | None = None
    for sentence in sentences(text):
        begin = sentence.start if begin is None else begin
        if not any(start < sentence.end < end for start, end in kept):
            yield begin, sentence.end
            begin = None
    if begin is not None:
        yield begin, len(text.rstrip())


def _statements(text: str, start: int, end: int) -> list[Piece]:
    """The independent statements of one sentence, without the words before each that claim nothing."""
    if end - start > LONGEST_CUT:
        return [(start, end)]
    sentence = text[start:end]
    joints = _joints_zh(sentence) if has_cjk(sentence) else _joints_en(sentence)
    edges = [(0, 0), *joints, (len(sentence), len(sentence))]
    pieces = (_bare(text, start + left[1], start + right[0]) for left, right in pairwise(edges))
    return [piece for piece in pieces if piece]


def _bare(text: str, start: int, end: int) -> Piece | None:
    """The piece without bullet and framing; None when nothing is left that claims something."""
    if bullet := _BULLET.match(text, start, end):
        start = bullet.end()
    while frame := _FRAME.match(text, start, end):
        start = frame.end()
    piece = text[start:end].strip(" \t\n,;，；、.。!！*")
    return (start, end) if any(c.isalnum() for c in piece) and not _NOTHING.fullmatch(piece) else None


def _joints_en(sentence: str) -> list[Piece]:
    """Where ";", or "and" before a clause with a subject of its own, joins two statements."""
    closed = _closed(sentence)
    joints: list[Piece] = []
    candidates = [found for found in _JOINT_EN.finditer(sentence) if not _inside(found.span(), closed)]
    for i, found in enumerate(candidates):
        begin = joints[-1][1] if joints else 0
        end = candidates[i + 1].start() if i + 1 < len(candidates) else len(sentence)
        joined = _FINITE.search(sentence, begin, found.start()) and _SUBJECT.match(sentence, found.end(), end)
        if ";" in found.group() or joined:
            joints.append(found.span())
    return joints


def _joints_zh(sentence: str) -> list[Piece]:
    """Where "；", or "，" between two clauses that each have a verb, joins two statements."""
    verbs = _verbs(sentence)
    closed = _closed(sentence)
    marks = [found.span() for found in _JOINT_ZH.finditer(sentence) if not _inside(found.span(), closed)]
    joints: list[Piece] = []
    for i, (start, end) in enumerate(marks):
        begin = joints[-1][1] if joints else 0
        last = marks[i - 1][1] if i else 0
        stop = marks[i + 1][0] if i + 1 < len(marks) else len(sentence)
        left, right = sentence[max(begin, last) : start], sentence[end:stop]
        states = any(end <= at < stop for at in verbs) and any(begin <= at < start for at in verbs)
        states = states or _ALSO_ZH.match(right) is not None
        leans = _LEANS_ON_NEXT.fullmatch(left) or _LEANS_ON_LAST.match(right) or len(left) < 4 or len(right) < 4
        if sentence[start] in "；;" or (states and not leans):
            joints.append((start, end))
    return joints


def _verbs(sentence: str) -> list[int]:
    """Where words stand that the segmenter calls verbs (a verb used as a noun counts: it cannot tell them apart)."""
    position, found = 0, []
    for word, tag in segmenter().tag(sentence):
        if tag.startswith("v") or tag in ("l", "i"):
            found.append(position)
        position += len(word)
    return found


def _closed(text: str) -> list[Piece]:
    """Stretches that are never cut: quotations, brackets, dates, numbers, names."""
    spans = [*dates(text), *numbers(text), *(() if has_cjk(text) else names(text))]
    return [*(found.span() for found in _KEPT_WHOLE.finditer(text)), *((span.start, span.end) for span in spans)]


def _inside(span: Piece, closed: list[Piece]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in closed)


def _items(text: str, start: int, end: int) -> list[Piece]:
    """The items of a bare list (no verb, every item short), else the piece itself."""
    piece = text[start:end]
    chinese = has_cjk(piece)
    if len(piece) > LONGEST_CUT or (_STATES_ZH if chinese else _STATES_EN).search(piece):
        return [(start, end)]
    closed = _closed(piece)
    cuts = [found.span() for found in _COMMA_ITEMS.finditer(piece) if not _inside(found.span(), closed)]
    if chinese:
        cuts += [span for span in _words_and(piece) if not _inside(span, closed)]
    edges = [(0, 0), *sorted(cuts), (len(piece), len(piece))]
    items = [(left[1], right[0]) for left, right in pairwise(edges) if left[1] < right[0]]
    return [(start + a, start + b) for a, b in items] if all(_is_item(piece[a:b]) for a, b in items) else [(start, end)]


def _words_and(piece: str) -> list[Piece]:
    """Where 和, 与, 及 stand as words (not inside 和平 or 与会)."""
    position, found = 0, []
    for word in segmenter().cut(piece):
        if word in _AND_ZH:
            found.append((position, position + len(word)))
        position += len(word)
    return found


def _is_item(item: str) -> bool:
    return len(item) <= _LONGEST_ITEM_ZH if has_cjk(item) else len(item.split()) <= _LONGEST_ITEM_EN
