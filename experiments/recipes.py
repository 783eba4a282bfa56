"""Recipes: what to compile, on which data, how, in one TOML file. Bundled ones are in the folder of the same name."""

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from reflective_rag.data.datasets.names import PATHS, is_data_set
from reflective_rag.experiments.recipe_checks import problems
from reflective_rag.experiments.registry import is_registered
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.spelling import did_you_mean

SAMPLE = "sample"
"""Names the bundled sample: `sample:train` a split of it, as a corpus also `sample` alone."""
OWN = "own"
"""As a corpus: the passages of the data files themselves."""

_Words = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]


class _Table(BaseModel):
    # Strict: `seed = "1"` in a TOML file is a slip, not a number. No value may be infinite or NaN.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class MetricOptions(_Table):
    """Options of the metric; see `optimizers.metrics.metric`."""

    lam: float | None = None
    mu: float | None = None
    penalty: float | None = None
    quality: str | None = None
    threshold: float | None = None


class DataFiles(_Table):
    """The files of labelled questions: paths (relative to the recipe), or splits of the sample (`sample:train`, …)."""

    train: str
    dev: str
    """Scored before and after; never shown to the strategy."""
    test: str | None = None
    train_limit: int | None = Field(default=None, ge=2)
    dev_limit: int | None = Field(default=None, ge=1)
    test_limit: int | None = Field(default=None, ge=1)


class Recipe(_Table):
    """One compile. Unknown keys are refused; the keys are explained in the bundled recipes."""

    name: str = Field(pattern=r"^[\w.-]+$", max_length=100)
    """Of the MLflow run and the artefact folder."""
    program: str
    artifact: str | None = None
    """Folder of such a program, compiled, to go on from in place of a fresh one (or `models:/NAME@ALIAS`)."""
    strategy: str
    data: DataFiles
    program_options: dict[str, Any] = Field(default_factory=dict)
    strategy_options: dict[str, Any] = Field(default_factory=dict)
    stage: str = "all"
    """Which part of the program is compiled: `all`, `critics` or `answer`."""
    metric: str = "f1"
    metric_options: MetricOptions = MetricOptions()
    corpus: _Words = Field(default=(OWN,), min_length=1, strict=False)
    embedder: str = "auto"
    lm: str | None = None
    seed: int = Field(default=0, ge=0)
    num_threads: int = Field(default=1, ge=1, le=64)
    val_share: float = Field(default=0.5, gt=0, lt=1)
    """Share of train that is kept for choosing among candidates."""
    experiment: str = Field(default="reflective-rag", min_length=1)
    tracking: str = Field(default="sqlite:///mlflow.db", min_length=1)
    """Address of the MLflow store; `off` for none."""


def bundled_recipes() -> dict[str, Path]:
    """Name → file of the recipes that come with the library."""
    folder = Path(str(files("reflective_rag.experiments"))) / "recipes"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def load_recipe(source: str | Path) -> Recipe:
    """Read a recipe from a file, or a bundled one by its name. Its paths come out absolute.

    Raises:
        ConfigError: The file is missing or no TOML, or a key is unknown, missing or has a value that cannot work; one
            error names all of them.
    """
    path = _find(source)
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"the recipe `{path}` cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"the recipe `{path}` is not valid TOML: expected UTF-8, got byte 0x{error.object[error.start]:02x} at "
            f"position {error.start + 1}; save it as UTF-8"
        ) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise ConfigError(f"the recipe `{path}` is not valid TOML: {reason}") from None
    try:
        recipe = Recipe.model_validate({"name": path.stem, **raw})
    except ValidationError as error:
        raise ConfigError(_report(path, error)) from None
    recipe = _with_absolute_paths(recipe, path.parent)
    if found := problems(recipe):
        raise ConfigError("\n  ".join([f"the recipe `{path}` cannot work:", *found]))
    return recipe


def is_sample(name: str) -> bool:
    """Whether a data or corpus name means the bundled sample."""
    return name == SAMPLE or name.startswith(f"{SAMPLE}:")


def short_name(name: str) -> str:
    """A data or corpus name without the place where it lies: `hop3` for `local:…/hop3`."""
    return name if name == OWN or is_sample(name) else Path(name).name


def is_address(name: str) -> bool:
    """Whether a corpus name is a retriever's address (`local:PATH`, `weaviate://…`); a drive letter makes a file."""
    scheme, colon, _ = name.partition(":")
    if not colon or is_sample(name) or is_data_set(name):
        return False
    return len(scheme) > 1 and scheme.replace("+", "").isalpha()


def _find(source: str | Path) -> Path:
    path = Path(source)
    if path.is_file():
        return path
    bundled = bundled_recipes()
    if str(source) in bundled:
        return bundled[str(source)]
    what, meant = "has an empty name", ""
    if str(source).strip():
        what = "is a folder" if path.is_dir() else "does not exist"
        with suppress(OSError):
            there = sorted(
                str(found) for found in (path if path.is_dir() else path.parent).glob("*.toml") if _is_recipe(found)
            )
            meant = did_you_mean(str(source), [*there, *bundled], "`")
    listed = ", ".join(bundled)
    raise ConfigError(f"the recipe `{source}` {what}{meant or ';'} give a TOML file, or a bundled recipe: {listed}")


def _is_recipe(path: Path) -> bool:
    """Whether a TOML file says which data it compiles with, as no `pyproject.toml` does."""
    try:
        return "data" in tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False


def _report(path: Path, error: ValidationError) -> str:
    lines = [_fault(fault) for fault in error.errors(include_url=False)]
    return "\n  ".join([f"the recipe `{path}` cannot be used:", *lines])


def _fault(fault: Mapping[str, Any]) -> str:
    """Key, what was expected, what came."""
    *parents, key = [str(part) for part in fault["loc"]]
    name = ".".join([*parents, key])
    if fault["type"] == "extra_forbidden":
        tables: dict[str, type[BaseModel]] = {"data": DataFiles, "metric_options": MetricOptions}
        table = tables[parents[0]] if parents else Recipe
        return _unknown(key, name, table.model_fields)
    if fault["type"] == "missing":
        return f"`{name}` is missing; it must be given"
    return f"`{name}`: {fault['msg'][0].lower()}{fault['msg'][1:]}, got {fault['input']!r}"


def _unknown(key: str, name: str, known: Iterable[str]) -> str:
    meant = did_you_mean(key, known, "`")
    return f"`{name}` is unknown{meant or ';'} known: {', '.join(f'`{other}`' for other in known)}"


def _with_absolute_paths(recipe: Recipe, folder: Path) -> Recipe:
    def absolute_path(name: str) -> str:
        path = Path(name)
        with suppress(RuntimeError):  # an unknown user's home stays as it is, and is reported as a missing file
            path = path.expanduser()
        return str((folder / path).resolve())

    def absolute(name: str) -> str:
        if name == OWN or is_sample(name):
            return name
        if is_data_set(name) and not name.startswith(PATHS):
            return name
        if is_address(name):
            from reflective_rag.data.retrieval import absolute_address

            return absolute_address(name, folder)
        prefix = next((prefix for prefix in PATHS if name.startswith(prefix)), "")
        return f"{prefix}{absolute_path(name.removeprefix(prefix))}"

    names = {key: absolute(name) for key in ("train", "dev", "test") if (name := getattr(recipe.data, key))}
    start = recipe.artifact
    return recipe.model_copy(
        update={
            "artifact": start if not start or is_registered(start) else absolute_path(start),
            "data": recipe.data.model_copy(update=names),
            "corpus": tuple(absolute(name) for name in recipe.corpus),
        }
    )
