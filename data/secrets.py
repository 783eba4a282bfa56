"""Credentials by value: secrets of the environment and what is shaped like a key, taken out of texts that are shared.

A server may echo the key that it was sent in its error, and a model may repeat one that it read: such a text has no
telling name, so the values themselves are looked for.
"""

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.text import well_formed

REMOVED = "[removed]"
"""Stands where a credential stood."""

_SHORTEST_SECRET, _LONG_SECRET = 8, 20
"""Characters below which a value is too common to be looked for, and from which even a word is taken for one."""
_SECRET_VARIABLE = late_pattern(
    r"(?:.*_)?(?:API_?KEY|TOKEN|SECRET|(?:ACCESS|SECRET|PRIVATE|MASTER)_KEY(?:_ID)?)", re.IGNORECASE | re.DOTALL
)
_LIKELY_VARIABLE = late_pattern(
    r"(?:.*_)?(?:\w*PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|KEY|\w*TOKEN|\w*SECRET)", re.IGNORECASE | re.DOTALL
)
"""Often a credential, sometimes a path, a word or the name of a column: these values must look like one too."""
_PLAIN = late_pattern(r"[A-Za-z]?[a-z]+(?:[_-][a-z]+)*|[A-Z]+(?:[_-][A-Z]+)*")
_FILE = late_pattern(r"[~.]{0,2}/\S*/\S*|[A-Za-z]:\\.*", re.DOTALL)

_SHAPES = late_pattern(
    r"(?<![\w-])(?:"
    r"sk-(?:[A-Za-z]{2,10}-)*[A-Za-z0-9]{20,}[\w-]*"  # OpenAI, Anthropic and their kin
    r"|sk-(?=[\w-]*[A-Za-z0-9]{12})(?=[\w-]*\d)[\w-]{20,}"
    r"|(?:gh[opsur]_|hf_|gsk_|xai-|npm_)[A-Za-z0-9]{20,}|(?:github_pat_|glpat-)(?=[\w-]*\d)[\w-]{20,}"
    r"|xox[abeoprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[\w-]{35}"
    r"|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"  # a JSON web token
    r")",
    re.ASCII,  # a Chinese character beside a key is no part of it
)
"""What the keys of well-known services look like. Long enough that no word is one."""
_BEARER = late_pattern(r"\b(Bearer\s+)(?=[\w.~+/-]*\d)[\w.~+/-]{16,}=*", re.IGNORECASE | re.ASCII)
_KEY_IN_ADDRESS = late_pattern(
    r"(://)(?!\[[\da-fA-F:.]+\])(?:[^\s/@:\"']*:(?=[^\s@\"']*\d)(?=[^\s@\"']*[A-Za-z])(?!\d{1,5}/)[^\s@\"']{12,}"
    r"|(?=[\w%.~+=-]*\d)[\w%.~+=-]{20,})@",
    re.ASCII,
)
"""A user with a long password of letters and digits, or a long token in place of both."""
_ASSIGNED = late_pattern(
    r"""((?:api[_-]?key|authorization|access[_-]token|client[_-]secret)["']?\s{0,9}[:=]\s{0,9}["'(\[]{0,2}(?:Bearer\s)?)"""
    r"""(?=[^\s"',;}\])]{8})(?:\[removed\]|[^\s"',;}\])])+""",  # what is removed already stays whole
    re.IGNORECASE,
)
_PASSWORD = late_pattern(
    r"""((?:password|passwd|passphrase|pwd|密码|口令)(?:"""
    r"""["']?\s{0,3}=(?!=)\s{0,3}(?=\S)|["']\s{0,3}:\s{0,3}(?=["'])|\s{0,3}[:：]\s{0,3}(?=["'][^\s"']{1,200}["'])"""
    r"""|\s{0,3}[:：]\s{0,3}(?=[!-~]*[A-Za-z])(?=[!-~]*[\d!#$%^*&+~])(?![\w+.-]*://)(?=[!-~])))"""
    r"""(?:(["'])(?:\[removed\]|[^"'\n]){1,200}(?=\2)|(?:\[removed\]|[^\s"',;&，。；、)}\]])+)""",
    re.IGNORECASE,
)
"""After `=` whatever stands there; after a colon what is quoted or no plain word, so that prose stays."""
_IN_ADDRESS = late_pattern(r"(://)(?!\[[\da-fA-F:.]+\])[^/\s:@\"']*:(?!\d{1,5}/)[^\s@\"']+(?:@[^\s@/\"']+)*@")
_IN_QUERY = late_pattern(
    r"([?&][\w-]*(?:key|token|secret|password|signature)=)(?=[^&\s\"'#]*\d)[^&\s\"'#]{8,}", re.IGNORECASE
)


def environment_secrets() -> tuple[str, ...]:
    """Values of the variables whose names say credential, the longest first; those under 8 characters are too common.

    The longest first, because one secret may be the beginning of another. Under a name that says it less surely
    (`DB_PASSWORD`, `SSH_KEY`) a plain word such as `postgres`, a number and a path stay: they would be taken out of
    texts that are about something else.
    """
    values = [(name, value.strip()) for name, value in os.environ.items()]
    found = {value for name, value in values if _SECRET_VARIABLE.fullmatch(name)}
    found |= {value for name, value in values if _LIKELY_VARIABLE.fullmatch(name) and _looks_secret(value)}
    return tuple(sorted((s for s in found if len(s) >= _SHORTEST_SECRET), key=lambda s: (-len(s), s)))


def _looks_secret(value: str) -> bool:
    """Whether a value is no path, no number, and no word as a text may hold it."""
    if _FILE.fullmatch(value) or "://" in value or len(value.split()) > 1 or value.isdecimal():
        return False
    return len(value) >= _LONG_SECRET or not _PLAIN.fullmatch(value)


def without_secrets(text: str, secrets: Sequence[str] | None = None) -> str:
    """The text without these values (by default those of the environment) and without what has the shape of a key.

    Otherwise word for word.
    """
    for secret in environment_secrets() if secrets is None else secrets:
        text = text.replace(secret, REMOVED)
    text = _BEARER.sub(rf"\1{REMOVED}", _SHAPES.sub(REMOVED, text))
    return _KEY_IN_ADDRESS.sub(rf"\1{REMOVED}@", text) if "://" in text else text


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A copy of a JSON value with every text in it changed."""
    if isinstance(value, dict):
        return {k: map_texts(v, change) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [map_texts(v, change) for v in value]
    return change(value) if isinstance(value, str) else value


def scrub(text: str, secrets: Sequence[str] | None = None) -> str:
    """`without_secrets`, and without what is assigned as one: `api_key = …`, `password=…`, `scheme://user:password@host`.

    For messages and logs, which are stored as UTF-8, so half characters are replaced too. The text of a model goes
    through `without_secrets` alone: it may be about such assignments.
    """
    text = well_formed(text)
    text = _ASSIGNED.sub(rf"\1{REMOVED}", without_secrets(text, secrets))
    text = _PASSWORD.sub(lambda found: f"{found[1]}{found[2] or ''}{REMOVED}", text)
    return _IN_QUERY.sub(rf"\1{REMOVED}", _IN_ADDRESS.sub(rf"\1{REMOVED}@", text))
