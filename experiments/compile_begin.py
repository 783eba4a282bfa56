"""What `compile` was asked for, as a new compile or as one that goes on."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from reflective_rag.experiments.compile_runs import CompileOrder, CompileRun, find_run, new_run, versions_changed
from reflective_rag.experiments.console import note
from reflective_rag.experiments.models import open_model
from reflective_rag.experiments.recipes import Recipe, load_recipe
from reflective_rag.experiments.tracking_store import OFF, parse_address
from reflective_rag.programs.artefact_manifest import library_versions
from reflective_rag.programs.lm.resolve import ENVIRONMENT, RULES, Model
from reflective_rag.signatures.errors import ConfigError, DataError


@dataclass(frozen=True, kw_only=True)
class Order:
    """Everything that `run_compile` takes."""

    recipe: Recipe
    model: Model
    out: Path
    max_cost: float | None
    run: CompileRun | None

    @contextmanager
    def told(self) -> Iterator[None]:
        """Say how to go on: before it begins, since a kill leaves no time for it, and again when it ends early."""
        if self.run is None:
            yield
            return
        hint = f"`reflective-rag compile --resume {self.run.name}`"
        note(f"every reply is kept: should this end early, go on with {hint}")
        try:
            yield
        except BaseException:
            if self.run.begun:
                note(f"nothing that was paid for is lost: go on with {hint}")
            raise


def begun(
    recipe: str | None,
    replaced: Mapping[str, str | None],
    *,
    lm: str | None,
    out: Path | None,
    record: Path | None,
    replay: Path | None,
    temperature: float | None,
    max_tokens: int | None,
    max_cost: float | None,
    dry_run: bool,
) -> Order:
    """A new compile. What asks no model, and what replays, has nothing to keep.

    Args:
        replaced: Keys of the recipe that the command line names; None is "not given".

    Raises:
        ConfigError, DataError: Recipe or model cannot be used.
    """
    if recipe is None:
        raise ConfigError("give a recipe (a TOML file, or the name of a bundled one), or `--resume RUN`")
    given = {name: value for name, value in replaced.items() if value}
    chosen = load_recipe(recipe).model_copy(update=given)
    spec = lm if lm is not None else chosen.lm
    model = open_model(spec, record=record, replay=replay, temperature=temperature, max_tokens=max_tokens)
    target = out or Path("artifacts", chosen.name)
    run = None
    if not (dry_run or model.is_rules or replay):
        order = CompileOrder(
            recipe=_from_anywhere(chosen),
            out=str(target.absolute()),
            lm=spec or os.environ.get(ENVIRONMENT) or RULES,
            temperature=temperature,
            max_tokens=max_tokens,
            max_cost=max_cost,
            record=str(record.absolute()) if record else None,
            today=model.today or date.today(),
            versions=library_versions(),
        )
        run = new_run(order)
    return Order(recipe=chosen, model=model, out=target, max_cost=max_cost, run=run)


def resumed(name: str, max_cost: float | None, others: Mapping[str, Any]) -> Order:
    """A compile that goes on: as it was begun, but with another limit if one is given.

    Raises:
        ConfigError: There is no such run, or `others`, which it has settled, holds a value.
        DataError: Its folder or its recording cannot be used.
    """
    if given := [
        name if name.isupper() else f"`--{name.replace('_', '-')}`" for name, value in others.items() if value
    ]:
        raise ConfigError(f"`--resume` goes on with what the compile began with; leave out {', '.join(given)}")
    run = find_run(name)
    order = run.order
    if changed := versions_changed(order, library_versions()):
        note(changed)
    record = Path(order.record) if order.record else None
    if record is not None and not record.is_file():
        raise DataError(
            f"the recording `{record}` of the compile `{run.name}` is gone, and with it every reply that was paid for. "
            "Put it back, or begin a new compile"
        )
    model = open_model(order.lm, record=record, temperature=order.temperature, max_tokens=order.max_tokens)
    limit = order.max_cost if max_cost is None else max_cost
    return Order(recipe=order.recipe, model=model, out=Path(order.out), max_cost=limit, run=run)


def _from_anywhere(recipe: Recipe) -> Recipe:
    """With the store's address as seen from any folder; the other paths of a recipe are absolute already."""
    try:
        address = recipe.tracking if recipe.tracking == OFF else parse_address(recipe.tracking).uri
    except DataError:
        return recipe  # told with all other problems
    return recipe.model_copy(update={"tracking": address})
