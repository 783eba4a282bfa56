"""Text helpers for English and Chinese that every layer shares: language, normal form, tokens, sentences."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

import sentencex

from reflective_rag.signatures.patterns import late_pattern

Language = Literal["en", "zh"]

_HAN = "㐀-䶿一-鿿豈-﫿"
_CJK = late_pattern(f"[{_HAN}]")
_SPACE = late_pattern(r"\s+")
_PUNCTUATION = late_pattern(r"[^\w\s]|_")
# A run of CJK characters, or a word / number (decimal points and thousands commas inside a number stay in it).
_LETTERS = rf"(?:(?![{_HAN}])[^\W\d_])+"
_PIECE = late_pattern(rf"[{_HAN}]+|\d+(?:[.,]\d+)*|{_LETTERS}(?:['’]{_LETTERS})?")
# sentencex takes quadratic time in the length of a text, so longer ones are cut into blocks first.
_BLOCK: dict[Language, int] = {"zh": 2_000, "en": 10_000}
# Where a block may end, best first; the second only where the first is not found in as many characters again.
_BLOCK_END: dict[Language, tuple[re.Pattern[str], ...]] = {
    "zh": (late_pattern(r"[。！？\n](?![”’」』）])"), late_pattern(r"[。！？\n][”’」』）]*")),
    "en": (late_pattern(r"\n\s*\n|[.!?]\s+(?=[A-Z“\"])"), late_pattern(r"\s")),
}


class Sentence(NamedTuple):
    """One sentence: `text == source[start:end]`, white space at the edges left out."""

    text: str
    start: int
    end: int


_SIGN = late_pattern(r"(?<!\w)[-−－](?=\d)")
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
"""Full-width letters, digits and signs to the common ones. (NFKC would make 10² into 102.)"""
_DASH = late_pattern(r"[−‐‑‒–—]")
# A hyphen inside a word, or a dash between words.
_HYPHEN = late_pattern(r"(?<=[^\W\d])-+(?=[^\W\d])|(?<=\s)-+(?=\s)")
# The punctuation of sentences, but not a point, comma or colon inside a number.
_HARMLESS = late_pattern(r"""[;!?_'"“”‘’()\[\]{}。；！？、…·《》〈〉【】「」『』]|(?<!\d)[.,:]|[.,:](?!\d)""")
_SURROGATE = late_pattern(r"[\ud800-\udfff]")
_UNSEEN = late_pattern(r"[\x00-\x08\x0e-\x1b\x7f\xad\u200b\u2060\ufeff]")
_MARKUP = late_pattern(r"\[\[(?=\s*##)")


def well_formed(text: str) -> str:
    """`text` without what cannot be seen or said, so that words are whole.

    Lone surrogates (half a character; models and broken decoders do write them) become U+FFFD. Control characters that
    are no white space, soft hyphens and the zero-width space, joiner of words and byte order mark are left out: PDFs
    and web pages have them inside words.
    """
    return _UNSEEN.sub("", _SURROGATE.sub("\ufffd", text))


def without_markup(text: str) -> str:
    """`text` in which `[[ ##`, the mark that DSPy's chat adapter puts before a field, cannot be taken for one."""
    return _MARKUP.sub("[ [", text)


def language_of(text: str) -> Language:
    """`zh` when a tenth or more of the letters are Chinese characters: Chinese texts hold names in Latin letters."""
    letters = sum(map(str.isalpha, text))
    return "zh" if letters and len(_CJK.findall(text)) / letters >= 0.1 else "en"


def normalize(text: str) -> str:
    """NFKC, lower case, no punctuation, white space collapsed: the form in which texts and queries are compared."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return _SPACE.sub(" ", _PUNCTUATION.sub(" ", text)).strip()


def content_hash(text: str) -> str:
    """16 hex digits of SHA-256 over a text's normal form, signs of numbers kept; equal for nearly equal texts.

    A short name to look texts up by; whether two of the same name are the same text, `identity` tells.
    """
    return hashlib.sha256(normalize(_SIGN.sub("minus ", text)).encode()).hexdigest()[:16]


def identity(text: str) -> str:
    """The words of a text and every sign in it that means something: what makes two texts the same.

    Case, white space, full-width forms and the punctuation of sentences do not count. All else does: $5 is not €5, nor
    is C++ C#, ≥ 5 ≤ 5, 10² 102 or 1/2 1.2.
    """
    plain = text.translate(_NARROW).casefold()
    plain = _HARMLESS.sub(" ", _HYPHEN.sub(" ", _DASH.sub("-", plain)))
    return _SPACE.sub(" ", plain).strip() or text


def tokenize(text: str) -> list[str]:
    """Words and numbers in lower case; a run of Chinese characters gives its overlapping bigrams, or its one character.

    Bigrams need no dictionary and make query and text agree whatever the segmentation: 北京市 → 北京, 京市.
    """
    tokens: list[str] = []
    for piece in _PIECE.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _CJK.match(piece):
            tokens.extend(piece[i : i + 2] for i in range(max(1, len(piece) - 1)))
        else:
            tokens.append(piece)
    return tokens


def sentences(text: str) -> tuple[Sentence, ...]:
    """Split into sentences with offsets into `text` (library: sentencex, Wikimedia). White space alone gives none."""
    # One question splits each passage several times: for reading, support and citations. Few books are kept.
    return _kept_sentences(text) if len(text) <= 20_000 else _kept_books(text)


def _sentences(text: str) -> tuple[Sentence, ...]:
    found: list[Sentence] = []
    position = 0
    language = language_of(text)
    for raw in (raw for block in _blocks(text, language) for raw in sentencex.segment(language, block)):
        start = text.index(raw, position)
        position = start + len(raw)
        stripped = raw.strip()
        if stripped:
            begin = start + raw.index(stripped)
            found.append(Sentence(stripped, begin, begin + len(stripped)))
    return tuple(found)


def _blocks(text: str, language: Language) -> Iterator[str]:
    size, start = _BLOCK[language], 0
    while len(text) - start > 2 * size:
        found = (pattern.search(text, start + size, start + 2 * size) for pattern in _BLOCK_END[language])
        end = next((match.end() for match in found if match), start + 2 * size)
        yield text[start:end]
        start = end
    yield text[start:]


_kept_sentences = lru_cache(maxsize=2048)(_sentences)
_kept_books = lru_cache(maxsize=2)(_sentences)
