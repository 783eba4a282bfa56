"""A recipe made ready to run: data loaded and split, program, strategy, metric and search built, all checked."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from reflective_rag.data.records import Record, pool, record_fingerprint
from reflective_rag.data.retrieval import Retriever
from reflective_rag.experiments.compile_runs import check_runs_folder
from reflective_rag.experiments.corpora import load_data, load_passages, open_search
from reflective_rag.experiments.models import ping
from reflective_rag.experiments.other_models import other_models
from reflective_rag.experiments.preflight import Preflight, check_output
from reflective_rag.experiments.recipe_checks import build_metric
from reflective_rag.experiments.recipes import OWN, Recipe, is_sample, short_name
from reflective_rag.experiments.registry import is_registered
from reflective_rag.experiments.systems import any_system, pick_system
from reflective_rag.optimizers.stages import Stage, staged
from reflective_rag.optimizers.strategies import CompileTask, Strategy, strategy
from reflective_rag.programs.lm.capped import SpendingCap
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.searching import SearchHandle
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Passage


@dataclass(frozen=True, kw_only=True)
class CompileData:
    """The questions of a compile. `train` and `val` are the two parts of the recipe's train file."""

    recipe: Recipe
    train: Sequence[Record]
    val: Sequence[Record]
    dev: Sequence[Record]
    test: Sequence[Record]

    def sizes(self) -> dict[str, int]:
        """Questions in each part."""
        return {name: len(records) for name, records in self._parts().items()}

    def passages(self) -> list[Passage]:
        """The pool of the passages of all parts."""
        return pool(record for records in self._parts().values() for record in records)

    def fingerprints(self) -> dict[str, Any]:
        """Part → the name of its file, its size and its fingerprint."""
        files = {"train": self.recipe.data.train, "val": self.recipe.data.train, "dev": self.recipe.data.dev}
        files["test"] = self.recipe.data.test or ""
        return {
            part: {
                "file": files[part] if is_sample(files[part]) else Path(files[part]).name,
                "n": len(records),
                "fingerprint": record_fingerprint(records),
            }
            for part, records in self._parts().items()
            if records
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the scores less than they seem."""
        seen = {record.question for record in (*self.train, *self.val)}
        found = []
        for split, records in (("dev", self.dev), ("test", self.test)):
            if shared := sum(record.question in seen for record in records):
                found.append(f"{shared} of {len(records)} {split} questions are in train too: their scores say little")
        if is_sample(self.recipe.data.dev):
            found.append("scores on the bundled sample are a smoke test, never a result")
        return tuple(found)

    def _parts(self) -> dict[str, Sequence[Record]]:
        return {"train": self.train, "val": self.val, "dev": self.dev, "test": self.test}


@dataclass(frozen=True, kw_only=True)
class Job:
    """Everything a compile works with."""

    data: CompileData
    strategy: Strategy
    task: CompileTask

    def params(self, lm: str) -> dict[str, Any]:
        """For the MLflow run: the recipe's own words, the program's settings, the data's fingerprints."""
        recipe, program = self.data.recipe, self.task.program
        settings = {f"program.{name}": value for name, value in program.settings.model_dump(mode="json").items()}
        controls = getattr(program, "controls", None)
        tuned = controls.values.model_dump(mode="json") if controls is not None else {}
        params: dict[str, Any] = {
            "recipe": recipe.name,
            "program": recipe.program,
            **({"artifact": short_name(recipe.artifact)} if recipe.artifact else {}),
            "strategy": recipe.strategy,
            "stage": recipe.stage,
            "metric": recipe.metric,
            "lm": lm,
            "seed": recipe.seed,
            "val_share": recipe.val_share,
            "corpus": ", ".join(short_name(name) for name in recipe.corpus),
            "embedder": recipe.embedder,
            **{f"strategy.{name}": value for name, value in self.task.options.items()},
            **settings,
            **{f"controls.{name}": value for name, value in tuned.items()},
        }
        for part, about in self.data.fingerprints().items():
            params |= {f"data.{part}.{key}": value for key, value in about.items()}
        return {name: json.dumps(value) if isinstance(value, Mapping) else value for name, value in params.items()}


@contextmanager
def prepare(
    recipe: Recipe,
    model: Model,
    out: Path,
    *,
    dry_run: bool,
    progress: Any,
    cap: SpendingCap | None = None,
    keeps: bool = False,
) -> Iterator[Job]:
    """Check everything and build the job; the index is closed at the end of the `with` block.

    A dry run asks no model, opens no tracking store and indexes nothing: its program has no search. With `keeps` the
    place for replies is looked at too.

    Raises:
        ConfigError, DataError: All problems at once.
    """
    checks = Preflight()
    data = _load(recipe, checks)
    program = checks.run(partial(_program, recipe, model))
    chosen = checks.run(partial(_strategy, recipe, program)) if program else None
    others = checks.run(lambda: other_models(chosen[1] if chosen else {}, model, cap)) or {}
    checks.run(lambda: check_output(out))
    if not dry_run:
        checks.run(lambda: _check_store(recipe.tracking))
        if keeps:
            checks.run(check_runs_folder)
        for asked in (model, *others.values()):
            checks.run(partial(ping, asked))
    if data is not None or OWN not in recipe.corpus:
        own = data.passages() if data else []
        checks.run(lambda: load_passages(recipe.corpus, own))
    checks.finish()
    if data is None or program is None or chosen is None:
        raise AssertionError("a check without a result leaves a problem, which `finish` raises")
    how, options = chosen
    told = partial(progress, "indexing passages")
    search = None if dry_run else open_search(recipe.corpus, data.passages(), embedder=recipe.embedder, progress=told)
    try:
        task = _task(recipe, data, _searching(program, search), options, progress)
        yield Job(data=data, strategy=how, task=replace(task, models=others))
    finally:
        if search is not None:
            search.close()


def _program(recipe: Recipe, model: Model) -> RagModule:
    """A fresh program, or the compiled one that the recipe goes on from."""
    if recipe.artifact is None:
        return any_system(recipe.program, model, options=recipe.program_options).program
    program = _compiled_before(recipe.artifact, model, recipe.program_options)
    if program.name != recipe.program:
        raise ConfigError(
            f"`program` of the recipe is {recipe.program!r}, but the artefact `{recipe.artifact}` holds a "
            f"{program.name!r}; name that one"
        )
    return program


def _compiled_before(artifact: str, model: Model, options: Mapping[str, Any]) -> RagModule:
    """The program of the recipe's `artifact`. Raises with the key, and with where its path is looked for."""
    try:
        return pick_system(None, Path(artifact), model, options=options).program
    except DataError as error:
        missing = not is_registered(artifact) and not Path(artifact).exists()
        where = "; a recipe's paths are looked for from the recipe's own folder" if missing else ""
        raise DataError(f"`artifact` of the recipe: {error}{where}") from None


def _strategy(recipe: Recipe, program: RagModule) -> tuple[Strategy, dict[str, Any]]:
    """The recipe's strategy for its stage, and the full options."""
    how, options = strategy(recipe.strategy, program, recipe.strategy_options)
    return staged(how, cast(Stage, recipe.stage), program), options


def _searching(program: RagModule, search: Retriever | None) -> RagModule:
    program.search = SearchHandle(search)
    return program


def _task(
    recipe: Recipe, data: CompileData, program: RagModule, options: Mapping[str, Any], progress: Any
) -> CompileTask:
    return CompileTask(
        program=program,
        train=data.train,
        val=data.val,
        metric=build_metric(recipe),
        seed=recipe.seed,
        num_threads=recipe.num_threads,
        options=options,
        progress=progress,
    )


def _load(recipe: Recipe, checks: Preflight) -> CompileData | None:
    """The data, or None after every bad file has been told to `checks`."""
    files = recipe.data
    train = checks.run(lambda: load_data(files.train, limit=files.train_limit))
    dev = checks.run(lambda: load_data(files.dev, limit=files.dev_limit))
    test = checks.run(lambda: load_data(files.test, limit=files.test_limit) if files.test else [])
    parts = checks.run(lambda: split_train(train, recipe.val_share, recipe.seed, files.train)) if train else None
    if parts is None or dev is None or test is None:
        return None
    return CompileData(recipe=recipe, train=parts[0], val=parts[1], dev=dev, test=test)


def split_train(
    records: Sequence[Record], val_share: float, seed: int, name: str = "train"
) -> tuple[list[Record], list[Record]]:
    """Two disjoint parts in the file's order, each of at least one record; which goes where depends on `seed` alone.

    Raises:
        DataError: Fewer than two records.
    """
    if len(records) < 2:
        raise DataError(
            f"`{name}` holds {len(records)} record(s); a compile needs at least 2, to split into train and val"
        )
    wanted = min(len(records) - 1, max(1, round(len(records) * val_share)))
    chosen = set(random.Random(seed).sample(range(len(records)), wanted))
    parts: tuple[list[Record], list[Record]] = ([], [])
    for index, record in enumerate(records):
        parts[index in chosen].append(record)
    return parts


def _check_store(uri: str) -> None:
    from reflective_rag.experiments.tracking import check_store

    check_store(uri)
