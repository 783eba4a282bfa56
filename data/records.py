"""Labelled questions with their passages: the records everything is compiled, tuned and scored on.

One line of a file, shortened:

    {"id": "xq-7-zh", "dataset": "xquad-zh", "lang": "zh", "question": "……？", "answers": ["我们爱电视"],
     "type": "single_hop", "passages": [{"id": "xquad-zh-p120", "title": "", "text": "2000年，……", "supporting": true}]}
"""

import hashlib
import json
import random
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from reflective_rag.data.jsonl import LineError, brief, read_jsonl
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.text import Language, identity, language_of
from reflective_rag.signatures.types import Passage

Split = Literal["train", "dev", "test"]
"""The parts of the bundled sample."""


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError(f"expected a text that is not empty, got {brief(text)}")
    return text


def _iso_date(value: object) -> object:
    """Dates are ISO text only: pydantic alone would read the year 2021 as seconds since 1970."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        with suppress(ValueError):
            return datetime.fromisoformat(value).date()
    elif isinstance(value, date):  # a datetime is a date too
        return value.date() if isinstance(value, datetime) else value
    raise ValueError(f"expected an ISO date such as '2021-05-31', got {brief(value)}")


NonBlank = Annotated[str, AfterValidator(_not_blank)]
IsoDate = Annotated[date | None, BeforeValidator(_iso_date)]


class _Loose(BaseModel):
    """Frozen, and unknown keys are kept: data sets carry keys of their own, which must survive a round trip."""

    model_config = ConfigDict(frozen=True, extra="allow")

    @property
    def extra(self) -> dict[str, Any]:
        """The keys of the source that are not fields here."""
        return dict(self.model_extra or {})

    @model_validator(mode="before")
    @classmethod
    def _null_is_default(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        optional = {name for name, field in cls.model_fields.items() if not field.is_required()}
        return {key: item for key, item in value.items() if item is not None or key not in optional}


class LabelledPassage(_Loose):
    """A passage with its label. Labels (`supporting` and unknown keys) never reach the `Passage` a program sees."""

    id: NonBlank
    title: str = ""
    text: NonBlank
    supporting: bool = False
    """Whether the passage is needed for, or carries, the answer."""
    published: IsoDate = None
    source: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """What a retriever may filter on; unlike the unknown keys it is handed on."""

    def to_passage(self) -> Passage:
        """The passage without its labels."""
        return Passage(
            id=self.id,
            text=self.text,
            title=self.title,
            source=self.source,
            published=self.published,
            metadata=dict(self.metadata),
        )


class Record(_Loose):
    """A question with accepted answers and labelled passages."""

    id: NonBlank
    dataset: str = ""
    lang: Language = "en"
    """Where it is not given: the language of the question."""
    question: NonBlank
    answerable: bool = True
    """False when the right reaction is to abstain."""
    answers: tuple[NonBlank, ...] = Field(default=(), validate_default=True)
    """Any one is accepted. Empty only where `answerable` is false."""
    type: str = ""
    passages: tuple[LabelledPassage, ...]
    answer_groups: tuple[tuple[NonBlank, ...], ...] = ()
    """Where present, an answer is complete when every group is matched by one of its aliases."""
    wrong_answers: tuple[NonBlank, ...] = ()
    """Answers planted by false passages."""
    as_of: IsoDate = None
    """The day on which the question is asked, where that matters."""

    @model_validator(mode="before")
    @classmethod
    def _language(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("lang") is None and isinstance(value.get("question"), str):
            return value | {"lang": language_of(value["question"])}
        return value

    @field_validator("answers")
    @classmethod
    def _answers(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if not value and info.data.get("answerable", True):
            raise ValueError("expected at least one answer (or `answerable` false), got none")
        return value

    @field_validator("answer_groups")
    @classmethod
    def _groups(cls, value: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        if not all(value):
            raise ValueError("expected at least one alias in every group, got an empty group")
        return value

    @field_validator("passages")
    @classmethod
    def _passage_ids(cls, value: tuple[LabelledPassage, ...]) -> tuple[LabelledPassage, ...]:
        seen: set[str] = set()
        for passage in value:
            if passage.id in seen:
                raise ValueError(f"expected passage ids that differ, got {brief(passage.id)} twice")
            seen.add(passage.id)
        return value


def load_records(path: str | Path, *, limit: int | None = None, seed: int | None = None) -> list[Record]:
    """Read a JSON Lines file of records, in file order.

    Args:
        limit: Without `seed`, the first `limit` records (the rest of the file is not read); with it, a random sample.
        seed: Of the sample (0 is a seed); the file's order is kept. Without `limit` it has no effect.

    Raises:
        DataError: One error for the whole file, see `read_jsonl`.
        ConfigError: `limit` is below 1.
    """
    _check_limit(limit)
    first_line: dict[str, int] = {}

    def build(value: dict[str, Any], number: int) -> Record:
        if number == 1 and "text" in value and not {"question", "passages"} & value.keys():
            raise DataError(
                f"`{path}` is a file of passages, and labelled questions were expected: give it with `--corpus`, and "
                f"with `--data` a file with `question`, `answers` and `passages` in each line"
            )
        return _record(value, number, Path(path).stem, first_line)

    return chosen(read_jsonl(path, build, limit=None if seed is not None else limit), limit, seed)


def chosen(records: list[Record], limit: int | None, seed: int | None) -> list[Record]:
    """The first `limit` records, or with `seed` a random sample in their order. Raises `ConfigError` below 1."""
    _check_limit(limit)
    if limit is None or limit >= len(records):
        return records
    places = sorted(random.Random(seed).sample(range(len(records)), limit)) if seed is not None else range(limit)
    return [records[place] for place in places]


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise ConfigError(f"`limit` must be at least 1, got {limit!r}. Leave it out to read every record.")


def load_corpus(path: str | Path) -> list[Passage]:
    """Read passages from JSON Lines whose lines are records (their passages are taken) or bare passages, even mixed.

    A line with `question` or `passages` is a record. A bare passage needs `id` and `text`; `title`, `source`,
    `published` and `metadata` are used, unknown keys go into `metadata`. Each text comes once, as in `pool`.

    Raises:
        DataError: As in `load_records`; the id of a bare passage may not stand for two texts.
    """
    record_line: dict[str, int] = {}
    passage_line: dict[str, tuple[int, str]] = {}

    def build(value: dict[str, Any], number: int) -> list[Passage]:
        if is_record(value):
            return [passage.to_passage() for passage in _record(value, number, Path(path).stem, record_line).passages]
        (passage,) = line_passages(value)
        line, key = passage_line.setdefault(passage.id, (number, passage.key))
        if key != passage.key:
            raise LineError(
                "id", f"expected an id of its own, got {brief(passage.id)}, which line {line} has for another text"
            )
        return [passage]

    return pool(read_jsonl(path, build))


def is_record(value: Mapping[str, Any]) -> bool:
    """Whether a line of a corpus is a record; else it is a bare passage."""
    return "question" in value or "passages" in value


def line_passages(value: dict[str, Any]) -> list[Passage]:
    """The passages of one line of a corpus, see `load_corpus`. Raises pydantic's `ValidationError`."""
    if is_record(value):
        return [passage.to_passage() for passage in Record.model_validate(value).passages]
    labelled = LabelledPassage.model_validate(value)
    return [labelled.to_passage().model_copy(update={"metadata": labelled.extra | labelled.metadata})]


def _record(value: dict[str, Any], number: int, dataset: str, first_line: dict[str, int]) -> Record:
    record = Record.model_validate(value if value.get("dataset") is not None else value | {"dataset": dataset})
    line = first_line.setdefault(record.id, number)
    if line != number:
        raise LineError("id", f"expected an id of its own, got {brief(record.id)}, which line {line} has already")
    return record


def record_fingerprint(records: Iterable[Record]) -> str:
    """16 hex digits of SHA-256 over the records as canonical JSON, unknown keys included; order counts."""
    digest = hashlib.sha256()
    for record in records:
        text = json.dumps(record.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        digest.update(text.encode() + b"\n")
    return digest.hexdigest()[:16]


def pool(sources: Iterable[Record | Iterable[Passage]]) -> list[Passage]:
    """All passages of records and passage lists: each text (see `identity`) once, with the id it first had.

    Where two texts share an id, the later one becomes `id~key`: an index would otherwise overwrite the first.
    """
    found: dict[str, Passage] = {}
    ids: set[str] = set()
    for source in sources:
        passages = [p.to_passage() for p in source.passages] if isinstance(source, Record) else source
        for passage in passages:
            text = identity(passage.text)
            if text in found:
                continue
            if passage.id in ids:
                passage = passage.model_copy(update={"id": f"{passage.id}~{passage.key}"})
            ids.add(passage.id)
            found[text] = passage
    return list(found.values())


def supporting_keys(record: Record) -> frozenset[str]:
    """`Passage.key` of the supporting passages; empty where the record has none."""
    return frozenset(p.to_passage().key for p in record.passages if p.supporting)


def sample_path(split: Split) -> Path:
    """The file of one split of the bundled sample.

    Raises:
        ConfigError: Unknown split.
    """
    if split not in get_args(Split):
        raise ConfigError(f"`split` must be one of {', '.join(map(repr, get_args(Split)))}, got {split!r}.")
    return Path(str(files("reflective_rag.data"))) / "sample" / f"{split}.jsonl"


def load_sample(split: Split) -> list[Record]:
    """The records of one split of the bundled sample (self-written, bilingual)."""
    return load_records(sample_path(split))
