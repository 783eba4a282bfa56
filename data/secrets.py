"""Credentials by value: the secrets of the environment, taken out of texts that are printed, stored or shared.

A server may echo the key that it was sent in its error, and a model may repeat one that it read: such a text has no
telling name, so the values themselves are looked for.
"""

import os
import re
from collections.abc import Sequence

from reflective_rag.signatures.text import well_formed

REMOVED = "[removed]"
"""Stands where a credential stood."""

_SHORTEST_SECRET = 8
_SECRET_VARIABLE = re.compile(
    r"(?:.*_)?(?:API_?KEY|TOKEN|SECRET|ACCESS_KEY(?:_ID)?|SECRET_KEY)", re.IGNORECASE | re.DOTALL
)
_ASSIGNED = re.compile(
    r"""((?:api[_-]?key|authorization|access[_-]token|client[_-]secret)["']?\s{0,9}[:=]\s{0,9}["']?(?:Bearer\s)?)"""
    r"""[^\s"',;}\]]{8,}""",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(r"(://)[^/\s:@\"']*:[^/\s@\"']+@")


def environment_secrets() -> tuple[str, ...]:
    """Values of the variables whose names say credential, the longest first; those under 8 characters are too common.

    The longest first, because one secret may be the beginning of another.
    """
    found = {value.strip() for name, value in os.environ.items() if _SECRET_VARIABLE.fullmatch(name)}
    return tuple(sorted((s for s in found if len(s) >= _SHORTEST_SECRET), key=lambda s: (-len(s), s)))


def without_secrets(text: str, secrets: Sequence[str] | None = None) -> str:
    """The text without these values (by default those of the environment), otherwise word for word."""
    for secret in environment_secrets() if secrets is None else secrets:
        text = text.replace(secret, REMOVED)
    return text


def scrub(text: str, secrets: Sequence[str] | None = None) -> str:
    """`without_secrets`, and without what is assigned as one: `api_key = …`, `scheme://user:password@host`.

    For messages and logs, which are stored as UTF-8, so half characters are replaced too. The text of a model goes
    through `without_secrets` alone: it may be about such assignments.
    """
    text = well_formed(text)
    return _IN_ADDRESS.sub(rf"\1{REMOVED}@", _ASSIGNED.sub(rf"\1{REMOVED}", without_secrets(text, secrets)))
