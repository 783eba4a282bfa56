"""Recipes: what is accepted, and that every slip is one error that names file, key, expected and got."""

import re
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments.recipes import bundled_recipes, is_address, load_recipe
from reflective_rag.signatures.errors import ConfigError
from tests.experiments.helpers import write_recipe


@pytest.mark.parametrize("name", ["sample-controls", "sample-bootstrap", "sample-mipro"])
def test_bundled_recipes_are_valid(name: str) -> None:
    """Every bundled recipe loads by its name and carries that name."""
    assert load_recipe(name).name == name
    assert bundled_recipes()[name].is_file()


def test_paths_are_relative_to_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data, corpus files and index folders are found beside the recipe, wherever the command is run."""
    path = write_recipe(tmp_path, corpus=["own", "more.jsonl", "local:index", "sample"])
    monkeypatch.chdir("/")
    recipe = load_recipe(path)
    assert recipe.data.train == str(tmp_path.resolve() / "train.jsonl")
    more, index = str(tmp_path.resolve() / "more.jsonl"), f"local:{tmp_path.resolve() / 'index'}"
    assert recipe.corpus == ("own", more, index, "sample")


def test_defaults(tmp_path: Path) -> None:
    """Name, metric, corpus and share have the documented defaults."""
    recipe = load_recipe(write_recipe(tmp_path, name=None))
    assert (recipe.name, recipe.metric, recipe.corpus, recipe.val_share) == ("recipe", "f1", ("own",), 0.5)


def test_one_corpus_needs_no_list(tmp_path: Path) -> None:
    """`corpus = "sample"` means the list of it."""
    assert load_recipe(write_recipe(tmp_path, corpus="sample")).corpus == ("sample",)


DATA = {"train": "train.jsonl", "dev": "dev.jsonl"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"sede": 1}, r"`sede` is unknown; did you mean `seed`\? known: .*`seed`", id="unknown-key"),
        pytest.param(
            {"data": DATA | {"tset": "x"}},
            r"`data\.tset` is unknown; did you mean `test`\? known: .*`test`",
            id="unknown-data-key",
        ),
        pytest.param({"data": {"train": "train.jsonl"}}, r"`data\.dev` is missing", id="missing-data"),
        pytest.param({"program": None}, r"`program` is missing", id="missing-program"),
        pytest.param({"program": "foo"}, r"unknown program 'foo'; known: 'naive'|unknown program 'foo'", id="program"),
        pytest.param({"program": "reflectiv"}, r"unknown program 'reflectiv'; did you mean 'reflective'\?", id="slip"),
        pytest.param({"strategy": "MIPRO"}, r"unknown strategy 'MIPRO'; did you mean 'mipro'\?", id="strategy-slip"),
        pytest.param({"metric": "contains"}, r"got 'contains'; did you mean 'containment'\?", id="metric-slip"),
        pytest.param(
            {"strategy_options": {"max_round": 1}}, r"'max_round'; did you mean 'max_rounds'\?", id="option-slip"
        ),
        pytest.param({"strategy": "foo"}, r"unknown strategy 'foo'; known: 'none', 'controls'", id="strategy"),
        pytest.param({"metric": "foo"}, r"`metric` must be one of 'f1'.*got 'foo'", id="metric"),
        pytest.param({"metric_options": {"lam": 1}}, r"`lam` and `mu` are prices of the metric 'costed'", id="price"),
        pytest.param(
            {"metric_options": {"nu": 1}}, r"`metric_options\.nu` is unknown; known: `lam`", id="metric-option"
        ),
        pytest.param(
            {"program_options": {"theta": 1.5}},
            r"`program_options.theta`.*less than or equal to 1, got 1\.5",
            id="theta",
        ),
        pytest.param(
            {"program_options": {"thteta": 1}},
            r"unknown option 'thteta'.*; did you mean 'theta'\?",
            id="program-option",
        ),
        pytest.param({"program_options": {"search": 1}}, r"`program_options.search` cannot be set", id="search"),
        pytest.param(
            {"strategy_options": {"demos": 1}}, r"has no option 'demos'; options: `lam`", id="strategy-option"
        ),
        pytest.param(
            {"strategy_options": {"max_rounds": 0}}, r"`max_rounds` must be .* from 1 to 10, got 0", id="size"
        ),
        pytest.param({"strategy_options": {"max_rounds": "4"}}, r"`max_rounds` must be .*, got '4'", id="text-option"),
        pytest.param(
            {"strategy_options": {"max_rounds": True}}, r"`max_rounds` must be .*, got True", id="bool-option"
        ),
        pytest.param(
            {"strategy": "mipro", "strategy_options": {"program_aware_proposer": 1}},
            r"`program_aware_proposer` must be true or false, got 1",
            id="number-for-a-switch",
        ),
        pytest.param({"seed": "1"}, r"`seed`: input should be a valid integer, got '1'", id="text-number"),
        pytest.param({"seed": -1}, r"`seed`: .*greater than or equal to 0, got -1", id="negative-seed"),
        pytest.param({"num_threads": 0}, r"`num_threads`: .*greater than or equal to 1, got 0", id="threads"),
        pytest.param({"val_share": 1.0}, r"`val_share`: .*less than 1, got 1\.0", id="share"),
        pytest.param({"corpus": []}, r"`corpus`: .*at least 1 item", id="no-corpus"),
        pytest.param({"name": "a/b"}, r"`name`: .*got 'a/b'", id="name-with-a-folder"),
        pytest.param({"data": DATA | {"train_limit": 1}}, r"`data\.train_limit`: .*to 2, got 1", id="limit"),
    ],
)
def test_slips_are_named(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    """The error names the file, the key, what was expected and what came."""
    path = write_recipe(tmp_path, **changes)
    with pytest.raises(ConfigError, match=expected) as caught:
        load_recipe(path)
    assert str(path) in str(caught.value)


def test_all_slips_come_at_once(tmp_path: Path) -> None:
    """One error tells of every bad key."""
    with pytest.raises(ConfigError, match=r"(?s)`seed`.*`val_share`.*`colour`"):
        load_recipe(write_recipe(tmp_path, seed=-1, val_share=2.0, colour="red"))


def test_a_missing_recipe_lists_the_bundled_ones() -> None:
    """A name that is neither a file nor a bundled recipe says what there is."""
    with pytest.raises(ConfigError, match=re.escape("`nowhere.toml` does not exist") + ".*sample-controls"):
        load_recipe("nowhere.toml")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sample-contrls", "sample-controls"),
        ("controls", "sample-controls"),
        ("Sample-MIPRO.toml", "sample-mipro"),
        ("recpie.toml", "recipe.toml"),
    ],
)
def test_a_misspelt_recipe_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    """Bundled names, and the files that lie in the same folder."""
    write_recipe(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=re.escape(f"`{name}` does not exist; did you mean `{meant}`?")):
        load_recipe(name)


def test_an_empty_name_is_not_taken_for_a_folder() -> None:
    """As a script passes it whose variable is not set."""
    with pytest.raises(ConfigError, match="has an empty name"):
        load_recipe("")


@pytest.mark.parametrize(
    "content",
    [b"name = ", b"\x00", b"= 1", b'name = "\xff"', b"seed = " + b"9" * 5000, b"a = " + b"[" * 5000],
    ids=["half-a-line", "nul", "no-key", "latin-1", "huge-number", "deep"],
)
def test_what_is_no_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    """A file that TOML cannot read is one error that names it."""
    path = tmp_path / "recipe.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"recipe\.toml` is not valid TOML"):
        load_recipe(path)


def test_a_byte_order_mark_is_tolerated(tmp_path: Path) -> None:
    """Windows editors write one."""
    path = write_recipe(tmp_path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_recipe(path).name == "tiny"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("local:x", True),
        ("memory:", True),
        ("weaviate://h:1/C", True),
        ("own", False),
        ("sample:dev", False),
        ("a.jsonl", False),
        ("C:\\data\\a.jsonl", False),
        ("./local:x", False),
    ],
)
def test_addresses_and_files_are_told_apart(name: str, expected: bool) -> None:
    """An address has a scheme of more than one letter."""
    assert is_address(name) is expected
