"""Compiles that can go on after a kill: what was asked for and every reply paid for, in a folder of the cache.

    run.json       recipe, model, folder of the artefact, data fingerprints, the MLflow runs of its attempts
    calls-….jsonl  one file a model: see `programs.lm.kept`

It is made when a compile begins to spend and removed when that has ended well. A killed compile is not continued in the
middle: the same work is done again from the start, and every reply that was paid for is taken from the folder. So no
optimizer has to be rewritten, and the end is that of an uninterrupted run.
"""

import hashlib
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from reflective_rag.data.retrieval.cache import cache_folder
from reflective_rag.experiments.recipes import OWN, Recipe, is_address, is_sample
from reflective_rag.programs.artefact_files import write_file
from reflective_rag.programs.lm.kept import Kept, keep_replies
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.spelling import did_you_mean

FORMAT = 1


class CompileOrder(BaseModel):
    """What a compile was asked to do: enough to do it again in another process and folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    recipe: Recipe
    out: str
    """Absolute."""
    lm: str
    """The model string."""
    temperature: float | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    record: str | None = None
    """The user's own recording, where one is made."""
    today: date
    """When it began. Prompts hold the date, and must not change with the day on which it goes on."""
    versions: dict[str, str] = {}
    data: dict[str, Any] = {}
    """Part → its file, size and fingerprint; filled in when it begins."""
    mlflow_runs: tuple[str, ...] = ()
    """Of each attempt."""


class CompileRun:
    """One compile and its folder. Changes are written at once."""

    def __init__(self, name: str, order: CompileOrder) -> None:
        self.name = name
        self.order = order
        self.folder = runs_folder() / name

    @property
    def begun(self) -> bool:
        """Whether there is something to go on with."""
        return (self.folder / "run.json").is_file()

    def begin(self, data: Mapping[str, Any]) -> None:
        """Make the folder, or see that an earlier attempt's data is still the same.

        Raises:
            DataError: The folder cannot be written, or the data has changed since.
        """
        if not self.begun:
            self.update(data=dict(data))
            return
        for part in sorted(self.order.data.keys() | data.keys()):
            old, new = self.order.data.get(part), data.get(part)
            if old != new:
                raise DataError(
                    f"the compile `{self.name}` cannot go on: the data `{part}` has changed since it began (was {old}, "
                    f"is {new}). Put the old data back, or begin a new compile"
                )

    def update(self, **changes: Any) -> None:
        """Change what is known about it, in memory and in the folder."""
        self.order = self.order.model_copy(update=changes)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_file(self.folder / "run.json", self.order.model_dump_json(indent=2))
        except OSError as error:
            raise _unwritable(self.folder, error) from None

    @contextmanager
    def keeping(self, models: Mapping[str, Model]) -> Iterator[dict[str, Kept]]:
        """Role → that model with its replies kept here; two roles of one model share a file.

        What could not be written is raised at the end, whatever an optimizer has made of it.

        Raises:
            DataError: The folder cannot be written, or another process is at work in it.
        """
        opened: dict[str, Kept] = {}
        try:
            for model in models.values():
                if model.name not in opened:
                    file = self.folder / f"calls-{_file_part(model.name)}.jsonl"
                    opened[model.name] = keep_replies(model, file, today=self.order.today)
            try:
                yield {role: opened[model.name] for role, model in models.items()}
            except Exception:
                _check(opened.values())
                raise
            _check(opened.values())
        finally:
            for kept in opened.values():
                kept.close()

    def done(self) -> None:
        """It has ended well: nothing has to be kept."""
        shutil.rmtree(self.folder, ignore_errors=True)


def new_run(order: CompileOrder) -> CompileRun:
    """A run with a name of its own; nothing is written yet."""
    return CompileRun(f"{order.recipe.name}-{secrets.token_hex(3)}", order)


def find_run(name: str) -> CompileRun:
    """The run that a name means: its own, its folder, or the id of an MLflow run of one of its attempts.

    Raises:
        ConfigError: There is no such run.
        DataError: Its folder is damaged or of a newer version.
    """
    path = Path(name)
    folders = _known()
    if name and path.is_dir() and path.resolve() in {folder.resolve() for folder in folders}:
        return _read(path)
    for folder in folders:
        if folder.name == name:
            return _read(folder)
    for folder in folders:
        with suppress(DataError):
            run = _read(folder)
            if name in run.order.mlflow_runs:
                return run
    names = [folder.name for folder in folders]
    listed = f"runs that can go on: {', '.join(map(_placed, folders))}" if names else "there is none"
    raise ConfigError(
        f"no compile {name!r} that could go on{did_you_mean(name, names, '`') or ';'} {listed}. One that ended "
        "well, or that asked no model, keeps nothing"
    )


def check_runs_folder() -> None:
    """Raise `DataError` unless runs can be kept."""
    folder = runs_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise _unwritable(folder, error) from None


def runs_folder() -> Path:
    """Where the runs are."""
    return cache_folder() / "compiles"


def _known() -> list[Path]:
    return sorted(path.parent for path in runs_folder().glob("*/run.json"))


def _placed(folder: Path) -> str:
    """The name of a run, with the folder that its artefact goes to where that is not below the current one."""
    with suppress(DataError):
        out = Path(_read(folder).order.out)
        if not out.is_relative_to(Path.cwd()):
            return f"`{folder.name}` (for `{out}`)"
    return f"`{folder.name}`"


def _read(folder: Path) -> CompileRun:
    path = folder / "run.json"
    try:
        order = CompileOrder.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"`{path}` cannot be read: {error.strerror or error}") from None
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"])) or "the whole"
        raise DataError(f"`{path}` is damaged or of another version: `{where}`: {fault['msg']}") from None
    if order.format != FORMAT:
        raise DataError(
            f"`{path}`: `format` must be {FORMAT}, got {order.format}: go on with the version that began it"
        )
    return CompileRun(folder.resolve().name, order)


def _check(kept: Any) -> None:
    for each in kept:
        each.check()


def _file_part(name: str) -> str:
    """A model's name as a part of a file's name; two models never share one."""
    plain = re.sub(r"[^\w.-]+", "-", name)[:60]
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def _unwritable(folder: Path, error: OSError) -> DataError:
    return DataError(
        f"the replies of the compile cannot be kept in `{folder}` ({error.strerror or error}); make room, or set "
        "RRAG_CACHE to a folder that can be written"
    )


def versions_changed(order: CompileOrder, now: Mapping[str, str]) -> str:
    """What to know before going on with other versions; empty where they are the same."""
    changed = [f"{name} {old} → {now[name]}" for name, old in order.versions.items() if now.get(name, old) != old]
    if not changed:
        return ""
    return f"versions have changed since it began ({', '.join(changed)}): requests that read differently are asked anew"


def spent_by(kept: Sequence[Kept]) -> dict[str, Any]:
    """Calls, tokens and (where every price is listed) dollars of all models together."""
    engines = {id(each.engine): each for each in kept}.values()
    spent = [each.engine.spent for each in engines]
    total: dict[str, Any] = {
        name: sum(getattr(one, name) for one in spent)
        for name in ("calls", "kept", "failed", "prompt_tokens", "completion_tokens")
    }
    prices = [each.price for each in engines]
    known = [
        price.of(one.prompt_tokens, one.completion_tokens) for price, one in zip(prices, spent, strict=True) if price
    ]
    return total | {"dollars": sum(known) if len(known) == len(prices) else None}


def sources(recipe: Recipe) -> dict[str, Any]:
    """What a compile reads beside its questions: the files of its corpus and the artefact it goes on from, by digest.

    An index or a server is known by its address alone: what it holds may change meanwhile.
    """
    found: dict[str, Any] = {}
    files = [Path(name) for name in recipe.corpus if name != OWN and not is_sample(name) and not is_address(name)]
    if files:
        found["corpus"] = {path.name: _digest(path) for path in files}
    if recipe.artifact and Path(recipe.artifact).is_dir():
        found["artifact"] = {path.name: _digest(path) for path in sorted(Path(recipe.artifact).glob("*.json"))}
    return found


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError:
        return "missing"
