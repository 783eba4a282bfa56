"""Bytes of unknown encoding as text."""

from __future__ import annotations

import codecs
import re

from reflective_rag.data.files.document import Unreadable

SAMPLED = 1 << 20
"""Bytes that an encoding is guessed from."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Left to all that Python knows, the detector takes short Western texts for DOS code pages.
_LIKELY = ["gb18030", "big5", "cp1252", "shift_jis", "cp1251", "utf_16_le", "utf_16_be"]
_DECLARED = re.compile(
    rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE
)


def decoded(data: bytes, *, declared: str = "") -> tuple[str, str]:
    """(text with line feeds as line ends, encoding): by the byte order mark, else UTF-8, else `declared`, else a guess.

    The guess is that of charset-normalizer among Chinese, Japanese, Western and Cyrillic encodings and UTF-16, Chinese
    first.

    Raises:
        Unreadable: No encoding fits; the file is no text.
    """
    for encoding in _candidates(data, declared):
        try:
            text = data.decode(encoding)
        except (UnicodeError, LookupError):
            continue
        if "\0" not in text:
            return text.replace("\r\n", "\n").replace("\r", "\n"), encoding.removesuffix("-sig")
    raise Unreadable("is no text in any encoding that was tried; save it as UTF-8")


def _candidates(data: bytes, declared: str) -> list[str]:
    marked = [encoding for mark, encoding in _MARKS if data.startswith(mark)]
    if marked:
        return marked[:1]
    try:
        data.decode()
    except UnicodeDecodeError:
        pass
    else:
        if b"\0" not in data:
            return ["utf-8"]
    return [*filter(None, [declared]), *filter(None, [guessed(data[:SAMPLED])])]


def guessed(sample: bytes) -> str:
    """The likeliest encoding; empty where none fits."""
    from charset_normalizer import from_bytes

    if b"\0" not in sample and (chinese := _chinese(sample)):
        return chinese
    best = from_bytes(sample[: len(sample) // 2 * 2], cp_isolation=_LIKELY).best()
    return best.encoding if best else ""


def _chinese(sample: bytes) -> str:
    """`gb18030` where all characters are those of GB2312.

    A few words could be Korean or Big5 as well; Chinese is what this library is for, and longer texts tell themselves.
    """
    try:
        sample.decode("gb2312")
    except UnicodeDecodeError as error:
        return "gb18030" if len(sample) == SAMPLED and error.start > len(sample) - 4 else ""
    return "gb18030"


def declared_encoding(data: bytes) -> str:
    """What an HTML or XML file says of itself; empty where it says nothing."""
    found = _DECLARED.search(data[:4096])
    name = found[1].decode("ascii", "ignore").lower() if found else ""
    return "gb18030" if name in ("gb2312", "gbk") else name
