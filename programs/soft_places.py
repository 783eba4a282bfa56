"""Where a closed field's verdict stands in a reply, and which values a piece of it can still become.

All on UTF-8 bytes: tokens of a model may end in the middle of a Chinese character.
"""

import re
from collections.abc import Iterator, Sequence

from reflective_rag.programs.reading import _WORDS as WORDS
from reflective_rag.programs.reading import _WRAPPING as WRAPPING

Spelling = tuple[bytes, str]
"""A value as it may be written, in lower case, and the value."""

_THOUGHTS_END = b"</think>"
_SECTION = re.compile(rb"^[ \t]*\[\[\s*##\s*(\w+)\s*##\s*\]\]", re.MULTILINE)
_JSON_PIECE = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_COLON = re.compile(rb"\s*:")
_LEAD = re.compile(b"(?:" + b"|".join(re.escape(c.encode()) for c in WRAPPING) + b")*")
_JOINING = "_-/'"
"""Characters that go on with a word: "n/a" is no "n"."""


def spellings_of(values: Sequence[str]) -> tuple[Spelling, ...]:
    """Every spelling of the values that `reading.read_choice` knows; a value's own name is never another's spelling."""
    found: dict[str, str] = {}
    for value in values:
        for spelling in (value.replace("_", " "), *WORDS.get(value, ())):
            found[spelling.casefold()] = value
    found |= {value.casefold(): value for value in values}
    return tuple((spelling.encode(), value) for spelling, value in found.items())


def values_in(piece: bytes, spellings: Sequence[Spelling]) -> frozenset[str]:
    """The values that a verdict which begins with `piece` may be; all of them while there is no letter yet."""
    text = _without_lead(piece)
    return frozenset(value for spelling, value in spellings if spelling.startswith(text) or _is_whole(text, spelling))


def written_value(reply: bytes, spellings: Sequence[Spelling]) -> str | None:
    """The value that `reply` begins with, as whole words; the longest spelling counts."""
    text = _without_lead(reply)
    whole = [(len(spelling), value) for spelling, value in spellings if text == spelling or _is_whole(text, spelling)]
    return max(whole)[1] if whole else None


def place_of(reply: bytes, field: str) -> int | None:
    """Offset from which the value of `field` is written; None when the reply has fields, but not this one.

    Reads the forms of DSPy's adapters: `[[ ## field ## ]]` sections, `<field>` tags, a JSON object (its own keys only,
    not those of nested objects), and a plain reply, with or without "field:". Thoughts before `</think>` are passed by.
    """
    start = max(0, reply.rfind(_THOUGHTS_END) + len(_THOUGHTS_END)) if _THOUGHTS_END in reply else 0
    name = field.encode()
    sections = list(_SECTION.finditer(reply, start))
    if sections:
        return next((found.end() for found in sections if found[1] == name), None)
    if found := re.compile(rb"<" + re.escape(name) + rb">").search(reply, start):
        return found.end()
    keys = dict(_keys(reply, start))
    if keys:
        return keys.get(name)
    label = re.compile(
        rb"[\s*]*" + re.escape(name).replace(b"_", b"[_ ]") + rb"[\s*]*(?::|\xef\xbc\x9a)", re.IGNORECASE
    )
    found = label.match(reply, start)
    return found.end() if found else start


def _keys(reply: bytes, start: int) -> Iterator[tuple[bytes, int]]:
    """The keys of the outermost JSON objects, each with the offset behind its colon."""
    depth = 0
    for piece in _JSON_PIECE.finditer(reply, start):
        text = piece[0]
        if text in (b"{", b"["):
            depth += 1
        elif text in (b"}", b"]"):
            depth = max(0, depth - 1)
        elif depth == 1 and (colon := _COLON.match(reply, piece.end())):
            yield text[1:-1], colon.end()


def _without_lead(text: bytes) -> bytes:
    """`text` without the quotes, spaces and marks before its first letter, in lower case."""
    lead = _LEAD.match(text)
    return (text[lead.end() :] if lead else text).lower()


def _is_whole(text: bytes, spelling: bytes) -> bool:
    """Whether `text` begins with the spelling as whole words."""
    if not text.startswith(spelling) or len(text) == len(spelling):
        return False
    following = text[len(spelling) :].decode(errors="replace")[0]
    # U+FFFD is the beginning of a character: nobody knows yet whether it is a letter.
    return not (following.isalnum() or following in _JOINING or following == "\ufffd")
