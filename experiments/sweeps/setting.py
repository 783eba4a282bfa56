"""What both sweeps are told: data, corpus, model, and where results go."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reflective_rag.data.records import Record, pool
from reflective_rag.data.retrieval import Retriever
from reflective_rag.experiments.calibrating import check_out
from reflective_rag.experiments.corpora import load_data, open_search, search_note
from reflective_rag.experiments.models import open_model
from reflective_rag.experiments.recipes import OWN
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.signatures.errors import ConfigError, DataError

Told = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """As typed on the command line."""

    data: list[str]
    corpus: list[str] | None = None
    embedder: str = "auto"
    limit: int | None = None
    seed: int | None = None
    threads: int = 1
    k: int | None = None
    lm: str | None = None
    model_options: Mapping[str, Any] = field(default_factory=dict)
    out: Path | None = None
    tracking: str = "off"
    experiment: str = "reflective-rag"

    @property
    def corpora(self) -> list[str]:
        """Corpus names; by default each file's own passages."""
        return self.corpus or [OWN]

    def open_model(self) -> Model:
        """The model, or rules."""
        return open_model(self.lm, **self.model_options)

    def load(self) -> dict[str, tuple[list[Record], list[Record]]]:
        """Short name → the whole file, and the questions that are asked.

        Raises:
            DataError: A file cannot be used or is empty, or two have one name.
        """
        found: dict[str, tuple[list[Record], list[Record]]] = {}
        for name in self.data:
            short = name if name.startswith("sample:") else Path(name).name.removesuffix(".jsonl")
            if short in found:
                raise DataError(f"two files are called `{short}`; results go by that name, so rename one")
            everything = load_data(name)
            if not everything:
                raise DataError(f"`{name}` holds no questions; give a file with one record a line")
            found[short] = everything, load_data(name, limit=self.limit, seed=self.seed)
        return found

    def open_search(self, everything: Sequence[Record], progress: Told) -> Retriever:
        """The corpus for one file's questions; close it."""
        return open_search(self.corpora, pool(everything), embedder=self.embedder, progress=progress)

    def note_of(self, search: Retriever) -> str:
        """What the user should know of the search."""
        return search_note(search, self.embedder)

    def check_out(self) -> None:
        """Raise `DataError` before anything is spent where the output folder cannot be made."""
        check_out(self.out)


def names_in(option: str, text: str) -> list[str]:
    """The names of a list with commas, each once. Raises `ConfigError` for an empty list."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise ConfigError(f"`{option}` names nothing, got {text!r}; give names with commas between them")
    return names


def shares_in(option: str, text: str) -> list[float]:
    """The numbers from 0 to 1 in a list with commas, ascending, each once. Raises `ConfigError` for anything else."""
    shares = []
    for word in names_in(option, text):
        try:
            share = float(word)
        except ValueError:
            share = math.nan
        if not 0 <= share <= 1:
            raise ConfigError(f"`{option}` takes numbers from 0 to 1 with commas between them, got {word!r}")
        shares.append(share + 0.0)  # -0 is 0
    return sorted(set(shares))


def write_report(out: Path, document: Mapping[str, Any]) -> Path:
    """The document as `report.json` in `out`: written beside it and renamed, so it is there whole or not at all."""
    path = out / "report.json"
    half = path.with_suffix(".json.part")
    half.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    half.replace(path)
    return path
