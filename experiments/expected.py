"""Published numbers with the command that gives them: `expected.toml`, read and compared."""

import shlex
import tomllib
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from reflective_rag.signatures.errors import DataError


class Expected(BaseModel):
    """One number; the fields are described at the top of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    published: str = ""
    text: str = ""
    command: str = Field(min_length=1)
    recording: str = ""
    lm: str = Field(min_length=1)
    at: str = Field(min_length=1)
    value: float
    tolerance: float = Field(ge=0)
    n: int = Field(ge=1)
    cheap: bool

    @model_validator(mode="after")
    def _whole(self) -> "Expected":
        if bool(self.published) != bool(self.text):
            raise ValueError("expected `published` and `text` together")
        return self

    def arguments(self, **places: str) -> list[str]:
        """The command's arguments, with words such as `OUT` replaced, and `--json`."""
        return [places.get(word, word) for word in shlex.split(self.command)] + ["--json"]

    def measured(self, document: Any) -> tuple[float, int | None]:
        """The number in a command's JSON, and the number of questions behind it where that stands beside it.

        Raises:
            DataError: There is no number at that place.
        """
        place, beside = document, document
        for key in self.at.split("."):
            beside, place = place, _entered(place, key)
        if not isinstance(place, int | float) or isinstance(place, bool):
            raise DataError(f"`{self.name}`: there is no number at `{self.at}`, got {place!r}")
        return float(place), beside.get("n") if isinstance(beside, dict) else None

    def differs(self, document: Any) -> str:
        """What is wrong with a rerun, with its command; empty where it agrees."""
        value, n = self.measured(document)
        if abs(value - self.value) <= self.tolerance and n in (None, self.n):
            return ""
        return (
            f"`{self.name}`: expected {self.value:g} ± {self.tolerance:g} (n = {self.n}), got {value:.4g} (n = {n}) "
            f"from `reflective-rag {self.command}`"
        )


def expected() -> list[Expected]:
    """Every number of `expected.toml`. Raises `DataError` where an entry is not whole or a name comes twice."""
    text = files("reflective_rag.experiments").joinpath("expected.toml").read_text(encoding="utf-8")
    try:
        found = [Expected.model_validate(entry) for entry in tomllib.loads(text)["expected"]]
    except (tomllib.TOMLDecodeError, KeyError, ValidationError) as error:
        raise DataError(f"`expected.toml` cannot be used: {error}") from None
    names = [each.name for each in found]
    if len(set(names)) < len(names):
        raise DataError(f"`expected.toml` has a name twice: {', '.join(sorted(names))}")
    return found


def _entered(place: Any, key: str) -> Any:
    if isinstance(place, dict):
        return place.get(key)
    if isinstance(place, list):
        if key.isdigit():
            return place[int(key)] if int(key) < len(place) else None
        return next((each for each in place if isinstance(each, dict) and each.get("system") == key), None)
    return None
