"""The card of a data set: where it is from, what may be done with it, what is wrong with it."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.spelling import check_name, did_you_mean
from reflective_rag.signatures.text import Language

Text = Annotated[str, Field(min_length=1)]
Layout = Literal["hotpot", "musique", "popqa", "ramdocs", "squad"]
"""How the hub's rows look, see `converting`."""
ALIASES = {"dev": "validation", "val": "validation"}
"""Other names of splits."""


class Card(BaseModel):
    """A data set. Numbers of rows are not on the card: they are pinned when they are first seen, see `pins`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Text
    title: Text
    languages: tuple[Language, ...] = Field(min_length=1)
    task: Text
    hub: Text
    """`OWNER/NAME` on the hub that the library `datasets` reads."""
    config: str
    revision: str
    """Commit or branch; empty where none is known. The commit that was read is pinned with the rest."""
    layout: Layout
    source: Text
    """Where the original is."""
    paper: Text
    licence: Text
    made: Text
    """How it was made, and by whom."""
    faults: tuple[Text, ...] = Field(min_length=1)
    """What a reader of scores must know."""
    default_split: Text
    splits: dict[str, str] = Field(min_length=1)
    """Split → its name on the hub."""

    @model_validator(mode="after")
    def _default(self) -> "Card":
        if self.default_split not in self.splits:
            raise ValueError(f"expected `default_split` among {', '.join(self.splits)}, got {self.default_split!r}")
        return self

    def split(self, name: str) -> str:
        """The split of that name (`dev` is `validation`), the default one for an empty name.

        Raises:
            ConfigError: There is none.
        """
        split = ALIASES.get(name, name) or self.default_split
        if split not in self.splits:
            known = ", ".join(f"`{self.name}:{split}`" for split in self.splits)
            raise ConfigError(
                f"`{self.name}:{name}` is no split{did_you_mean(name, self.splits) or ';'} known: {known}"
            )
        return split


@cache
def all_cards() -> dict[str, Card]:
    """Name → card, by name."""
    folder = files("reflective_rag.data.datasets").joinpath("cards")
    found = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            name = file.name.removesuffix(".toml")
            found[name] = Card.model_validate({"name": name, **tomllib.loads(file.read_text(encoding="utf-8"))})
    return found


def card_named(name: str) -> Card:
    """The card of that name. Raises `ConfigError`, which lists the names, where there is none."""
    check_name("data set", name, all_cards())
    return all_cards()[name]
