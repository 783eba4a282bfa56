"""Names and quotations in a text: by spelling in English, by the segmenter's tags in Chinese.

Offsets are into the text given.
"""

from reflective_rag.programs.rules.dates import ERAS
from reflective_rag.programs.rules.matching import has_cjk, segmenter
from reflective_rag.programs.rules.values import Span, SpanKind
from reflective_rag.programs.rules.words import (
    MONTH_WORDS,
    PLACE_ENDINGS_ZH,
    STOP_EN,
    STOP_ZH,
    SURNAMES_ZH,
    TRANSLITERATION_ZH,
    WEEKDAYS,
)
from reflective_rag.signatures.patterns import late_pattern

_QUOTED = late_pattern(r"《([^》]{1,60})》|“([^”]{1,60})”|「([^」]{1,60})」|『([^』]{1,60})』|\"([^\"]{1,60})\"")
_WORD = late_pattern(r"\w+(?:[.'’&–-]\w+)*(?:(?<=\b\w)\.)?")
LINKS = frozenset("of the de von van der den di da la le du del bin al el y & for at ibn st".split())
_ZH_NAME_TAGS: dict[str, SpanKind] = {
    "nr": "person",
    "nrt": "person",
    "nrfg": "person",
    "ns": "place",
    "nt": "name",
    "nz": "name",
    "eng": "name",
}
_PARTICLES, _SURE_PARTICLES = "于与在被将曾则即把从自由和及为是对向任也并称等", "于与在被将曾则即把从"
"""Characters that a segmenter leaves at the end of a person's name (陈文远于); those that end no two-character given
name."""

_COMPOUND_SURNAMES = (
    "欧阳",
    "司马",
    "诸葛",
    "上官",
    "司徒",
    "东方",
    "夏侯",
    "皇甫",
    "尉迟",
    "公孙",
    "慕容",
    "令狐",
    "端木",
)
_DOTTED = late_pattern(rf"[{TRANSLITERATION_ZH}A-Z]{{1,7}}(?:[·•・‧∙][{TRANSLITERATION_ZH}A-Z]{{1,8}})+")


def quoted(text: str) -> list[Span]:
    """What stands in quotation marks or 《》, without them."""
    spans = []
    for found in _QUOTED.finditer(text):
        group = next(i for i in range(1, 6) if found.group(i) is not None)
        spans.append(Span(found.group(group), found.start(group), found.end(group), "quoted"))
    return spans


def names(text: str) -> list[Span]:
    """Names of persons, places, organisations and works, where the text shows them.

    In English the spelling does, in Chinese the segmenter's tags.
    """
    return _names_zh(text) if has_cjk(text) else _names_en(text)


def _names_en(text: str) -> list[Span]:
    words = [(found.group(), found.start(), found.end()) for found in _WORD.finditer(text)]
    spans: list[Span] = []
    i = 0
    while i < len(words):
        if not _is_name_word(words[i][0]):
            i += 1
            continue
        last = j = i
        while j + 1 < len(words) and text[words[j][2] : words[j + 1][1]] in (" ", "  ", " & ") and j + 1 - last <= 3:
            j += 1
            word = words[j][0]
            if _is_name_word(word) or (word.isdigit() and len(word) < 4 and j - last == 1):
                last = j
            elif word.lower() not in LINKS and not word[0].isupper():
                break
        start, end = words[i][1], words[last][2]
        name = text[start:end].removesuffix("'s").removesuffix("’s")
        spans.append(Span(name, start, start + len(name), "name"))
        i = last + 1
    return spans


def _is_name_word(word: str) -> bool:
    low = word.lower().rstrip(".")
    return (
        word[0].isupper() and low not in STOP_EN and low not in MONTH_WORDS - {"may", "march"} and low not in WEEKDAYS
    )


def _names_zh(text: str) -> list[Span]:
    dotted = [Span(m.group(), m.start(), m.end(), "person") for m in _DOTTED.finditer(text)]
    pieces = _tagged(text)
    spans: list[Span] = []
    i = 0
    while i < len(pieces):
        kind = _zh_kind(pieces[i][0], pieces[i][1])
        if kind is None:
            i += 1
            continue
        j = i
        while j + 1 < len(pieces) and _zh_joins(pieces, i, j + 1, kind):
            j += 1
        while pieces[j][0] == " ":
            j -= 1
        spans.append(Span(text[pieces[i][2] : pieces[j][3]], pieces[i][2], pieces[j][3], kind))
        i = j + 1
    kept = [span for span in spans if not any(d.start < span.end and span.start < d.end for d in dotted)]
    return sorted(kept + dotted, key=lambda span: span.start)


def is_person_zh(text: str) -> bool:
    """Whether a Chinese text has the form of a person's name: a family name and one or two characters, or a foreign one.

    The segmenter tags much else as a person (公开赛, 桂冠).
    """
    if _DOTTED.fullmatch(text) or text.startswith(_COMPOUND_SURNAMES):
        return len(text) <= 30
    own = 2 <= len(text) <= 3 and text[0] in SURNAMES_ZH
    return own or (2 <= len(text) <= 6 and all(c in TRANSLITERATION_ZH for c in text))


def _tagged(text: str) -> list[tuple[str, str, int, int]]:
    """Words with tag and offsets; a lone family name is joined to the given name that the segmenter cut off (林|德华).

    A particle at the end of a person's name (陈文远于) becomes a word of its own, and the word for its kind becomes part
    of a place's name (东海|市).
    """
    pieces: list[tuple[str, str, int, int]] = []
    position = 0
    for word, tag in segmenter().tag(text):
        start, position = position, position + len(word)
        last = pieces[-1] if pieces else None
        if last and len(last[0]) == 1 and last[0] in SURNAMES_ZH and _given(word, tag):
            pieces[-1] = (last[0] + word, "nr", last[2], position)
        elif last and tag.startswith("nr") and len(last[0]) == 2 and last[0][0] in "由被" and last[0][1] in SURNAMES_ZH:
            pieces[-1] = (last[0][0], "p", last[2], last[2] + 1)  # 由林|志远: the family name went to the preposition
            pieces.append((last[0][1] + word, "nr", last[2] + 1, position))
        elif last and tag == "n" and _split_place(last, word):
            pieces[-1] = (last[0] + word, "ns", last[2], position)
        elif last and _split_name(last, word, tag):
            pieces[-1] = (last[0] + word[0], "nr", last[2], start + 1)
            pieces.append((word[1], "p", start + 1, position))
        elif tag == "nr" and len(word) > 2 and word[0] in "由被":
            pieces += [(word[0], "p", start, start + 1), (word[1:], tag, start + 1, position)]
        elif tag == "nr" and (cut := _particle(word)):
            pieces += [(word[:-cut], tag, start, position - cut), (word[-cut:], "p", position - cut, position)]
        else:
            pieces.append((word, tag, start, position))
    return pieces


PLACE_WORDS_ZH = frozenset("市县镇乡村州省郡岛")
"""What the segmenter cuts off the names of places that it does not know."""
_VERBS_AT = frozenset(
    "位于 生于 属于 用于 处于 始于 建于 终于 敢于 善于 忠于 出于 在于 死于 卒于 毕于 任于 居于 葬于 长于 就于 定于".split()
)


def _split_place(last: tuple[str, str, int, int], word: str) -> bool:
    """Whether the segmenter cut the word for its kind off the name of a place: 东海|市, 清水|镇."""
    if last[1] in ("nr", "nrt", "ns", "nz"):
        return word in PLACE_WORDS_ZH
    return last[1] == "n" and len(last[0]) == 2 and word in "镇县乡"


def _split_name(last: tuple[str, str, int, int], word: str, tag: str) -> bool:
    """Whether the segmenter drew the end of a given name to a preposition: 周子|航于."""
    family = last[1] == "nr" and len(last[0]) == 2 and last[0][0] in SURNAMES_ZH
    return family and len(word) == 2 and word[1] == "于" and tag == "v" and word not in _VERBS_AT


def _given(word: str, tag: str) -> bool:
    """Whether a word after a lone family name can be the given name: 林|德华, 李|明远."""
    return len(word) <= 2 and (tag in ("nr", "nrt", "nz") or (tag in ("a", "ad", "z") and len(word) == 2))


def _particle(name: str) -> int:
    """1 when the last character of a tagged person's name is a particle, else 0."""
    family = 2 if name.startswith(_COMPOUND_SURNAMES) else 1
    given = len(name) - family
    if given < 2 or (name[0] not in SURNAMES_ZH and family == 1):
        return 0
    return int(name[-1] in (_PARTICLES if given > 2 else _SURE_PARTICLES))


def _zh_kind(word: str, tag: str) -> SpanKind | None:
    if word in ERAS or (tag in ("nr", "nrt") and len(word) > 2 and word[-1] == "人"):
        return None
    if tag == "nr" and len(word) == 3 and word[0] in SURNAMES_ZH and word[-1] in "国江山河洲":
        return "person"
    if len(word) > 2 and word[-1] in PLACE_ENDINGS_ZH and tag in ("nr", "nz", "ns"):
        return "place"
    kind = _ZH_NAME_TAGS.get(tag)
    return None if kind == "person" and len(word) < 2 else kind


def _zh_joins(pieces: list[tuple[str, str, int, int]], first: int, j: int, kind: SpanKind) -> bool:
    """Whether piece `j` goes on with the name that starts at `first`: 泰恩|威尔, 柯文|哲, Sky| |Digital, 泰国|曼谷."""
    word, tag = pieces[j][:2]
    so_far = pieces[j - 1][3] - pieces[first][2]
    if kind == "name":
        return (
            tag in ("eng", "nz", "nt")
            or (word == " " and j + 1 < len(pieces) and pieces[j + 1][1] == "eng")
            or (tag == "m" and word.isascii())
        )
    if kind == "place":
        return tag == "ns" or (tag == "nt" and so_far < 5)
    if pieces[first][1] == "nr" and so_far == 2 and pieces[first][0][0] in SURNAMES_ZH:
        return len(word) == 1 and tag not in ("x", "uj", "p", "c", "v", "d", "r", "f", "ul") and word not in STOP_ZH
    return tag == "nrt" and pieces[j - 1][1] == "nrt"
