"""What may go into a tracking store: plain JSON values without credentials.

Two nets: values whose **name** says credential (`api_key`, `Authorization`, `HF_TOKEN`), and every occurrence of the
**value** of an environment variable that holds one. Neither is enough alone: a key in a header has no telling value,
a key in an error message of a server has no telling name.
"""

import dataclasses
import math
import re
import shutil
from collections.abc import Mapping, Set
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from reflective_rag.data.secrets import REMOVED, environment_secrets, scrub, without_secrets

# Compared with the name in lower case without separators, so that api_key, apiKey, X-Api-Key and lm.api_key are one.
_CREDENTIAL = re.compile(
    r"(api|access|private|secret|master)key(s|id)?$|(password|passwd|passphrase|secret|credential)s?$|authorization$"
    r"|(api|access|auth|bearer|refresh|session|security|hf|hub)tokens?$"
)
# Not `eos_token` or `stop_token`, which are no credentials.
_TOKEN = re.compile(r"(?:.*\.)?token|[A-Z0-9_]+_TOKEN", re.DOTALL)


class Scrubber:
    """Takes credentials out of values. Reads the environment once, when it is made; make a new one for each write."""

    def __init__(self) -> None:
        self._secrets = environment_secrets()

    def text(self, text: str) -> str:
        """Secrets of the environment, `api_key = …` and the password in `scheme://user:password@host` taken out."""
        # Models do write lone surrogates, and no store can hold them.
        return scrub(text, self._secrets).encode("utf-8", "backslashreplace").decode()

    def value(self, value: Any, name: str = "") -> Any:
        """A plain copy (see `plain`) without credentials, at any depth. `name` is the key that the value is under."""
        return self._scrubbed(plain(value), name)

    def file(self, path: Path) -> bytes | None:
        """The content without secrets, or None when the file holds none and can stay as it is."""
        content = path.read_bytes()
        try:
            clean = without_secrets(content.decode(), self._secrets).encode()
        except UnicodeDecodeError:  # a picture, say: the values alone can be looked for
            clean = content
            for secret in self._secrets:
                clean = clean.replace(secret.encode(), REMOVED.encode())
        return None if clean == content else clean

    def _scrubbed(self, value: Any, name: str) -> Any:
        if _is_credential(name, value):
            return REMOVED
        if isinstance(value, dict):
            return {self.text(key): self._scrubbed(item, key) for key, item in value.items()}
        if isinstance(value, list):
            return [self._scrubbed(item, "") for item in value]
        return self.text(value) if isinstance(value, str) else value


def copy_without_secrets(source: Path, temporary: Path) -> Path:
    """The folder or file itself, or a copy in the folder `temporary` when secrets had to be taken out.

    Raises:
        FileNotFoundError: there is none.
    """
    if not source.exists():
        raise FileNotFoundError(f"`{source}` does not exist")
    scrub = Scrubber()
    files = [source] if source.is_file() else [path for path in sorted(source.rglob("*")) if path.is_file()]
    clean = {path: content for path in files if (content := scrub.file(path)) is not None}
    if not clean:
        return source
    target = temporary / source.name
    shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    for path, content in clean.items():
        (target / path.relative_to(source)).write_bytes(content)
    return target


def _is_credential(name: str, value: Any) -> bool:
    if value in (None, "") or isinstance(value, bool):
        return False
    if _TOKEN.fullmatch(name):
        return not isinstance(value, int | float)  # a count of tokens
    return bool(_CREDENTIAL.search(re.sub(r"[\W_]", "", name.lower())))


def plain(value: Any) -> Any:
    """The same value in JSON types, for display: models and dataclasses become dicts, what is unknown its `str`.

    Numbers that JSON lacks become None (NaN, infinity) or text (beyond 64 bits).
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # the value of a string enumeration
    if isinstance(value, int):
        return int(value) if abs(value) < 2**63 else str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return _plain_object(value)


def _plain_object(value: Any) -> Any:
    if isinstance(value, Set):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="json"))
    if isinstance(value, Enum):
        return plain(value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if callable(to_list := getattr(value, "tolist", None)):  # numpy's arrays and scalars
        return plain(to_list())
    return str(value)
