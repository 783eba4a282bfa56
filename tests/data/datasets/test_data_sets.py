"""Data sets by name: cards, fetching from a hub, pins, names."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.data.datasets import (
    all_cards,
    card_named,
    check,
    facts_of,
    fetch,
    is_data_set,
    load_named,
    named_passages,
)
from reflective_rag.data.datasets.cards import Card
from reflective_rag.data.datasets.places import manifest_path, records_path
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.data.datasets.rows import HOTPOT, RGB_LINES, SQUAD

COMMIT = "1908d6afbbead072334abe2965f91bd2709910ab"


class Rows(list[Any]):
    """What the hub's library returns; breaks off after `whole` rows if told so."""

    whole: int | None = None

    def __iter__(self) -> Iterator[Any]:
        for number, row in enumerate(list.__iter__(self)):
            if number == self.whole:
                raise ConnectionError("the hub went away")
            yield row


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("RRAG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def hub(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Puts rows on the hub (or an error in their place); gives the list of what was asked for."""
    import datasets
    import huggingface_hub

    asked: list[Any] = []

    def offer(*rows: Any, whole: int | None = None, error: Exception | None = None) -> list[Any]:
        def load(path: str, name: str | None = None, *, split: str, revision: str | None) -> Rows:
            asked.append((path, name, split, revision))
            if error is not None:
                raise error
            found = Rows(rows)
            found.whole = whole
            return found

        monkeypatch.setattr(datasets, "load_dataset", load)
        return asked

    info = type("Info", (), {"sha": "c" * 40})
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", lambda self, repo, revision=None: info)
    return offer


def hotpot(number: int, **changes: Any) -> dict[str, Any]:
    """A row of its own id."""
    return HOTPOT | {"id": f"row{number}"} | changes


def left(cache: Path) -> list[str]:
    """The files of the cache."""
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


@pytest.mark.parametrize("card", all_cards().values(), ids=lambda card: card.name)
def test_every_card_is_whole(card: Card) -> None:
    """It names source, paper, licence and faults, a full commit or a branch, and no number of rows that nobody saw."""
    assert card.source.startswith("https://")
    assert card.revision == "" or len(card.revision) == 40 or card.revision.startswith("refs/")
    assert not {"rows", "n", "count"} & set(Card.model_fields)
    assert all(facts_of(card, split)[1] in ("unverified", "shipped") for split in card.splits)


def test_what_is_fetched_can_be_asked(hub: Any, cache: Path) -> None:
    """The pinned revision and configuration are asked for; the records are those of the rows."""
    asked = hub(hotpot(1), hotpot(2), hotpot(3))
    card = card_named("hotpotqa")
    progress: list[tuple[int, int]] = []
    seen = fetch(card, "validation", progress=lambda done, total: progress.append((done, total)))
    assert asked == [("hotpotqa/hotpot_qa", "distractor", "validation", COMMIT)]
    assert (seen.commit, seen.n, seen.first, seen.last) == (COMMIT, 3, "row1", "row3")
    assert progress[-1] == (3, 3)
    records = load_named("hotpotqa:dev")
    assert [record.id for record in records] == ["row1", "row2", "row3"]
    assert [record.id for record in load_named("hotpotqa", limit=1)] == ["row1"]
    assert len(named_passages("hotpotqa:validation")) == 3
    assert left(cache) == ["datasets/hotpotqa/validation.json", "datasets/hotpotqa/validation.jsonl"]


def test_where_no_revision_is_known_the_commit_is_found_and_kept(hub: Any) -> None:
    """The hub is asked which commit it has, that one is read, and it is in the facts."""
    asked = hub(SQUAD)
    assert fetch(card_named("xquad-zh"), "validation").commit == "c" * 40
    assert fetch(card_named("cmrc2018"), "validation").commit == "c" * 40
    assert [each[3] for each in asked] == ["c" * 40] * 2


@pytest.mark.parametrize(
    "offered",
    [
        {"error": ConnectionError("Couldn't reach it (OfflineModeIsEnabled)")},
        {"error": RuntimeError("Dataset scripts are no longer supported, but found hotpot_qa.py")},
        {"error": ValueError("Unknown split \"validation\". Should be one of ['train'].")},
        {"error": FileNotFoundError("Revision gone")},
        {"rows": [hotpot(1), hotpot(2)], "whole": 1},
        {"rows": [hotpot(1), {"id": "row2", "text": "another layout"}]},
        {"rows": [hotpot(1), hotpot(1)]},
        {"rows": []},
    ],
    ids=["offline", "script", "no split", "moved", "breaks off", "layout", "same id", "empty"],
)
@pytest.mark.parametrize("before", [False, True], ids=["nothing before", "a copy before"])
def test_a_fetch_that_fails_changes_nothing(hub: Any, cache: Path, offered: dict[str, Any], before: bool) -> None:
    """One clear error; no half file stays, and an earlier copy is as it was."""
    card = card_named("hotpotqa")
    if before:
        hub(hotpot(7))
        fetch(card, "validation")
    was = {name: (cache / name).read_bytes() for name in left(cache)}
    hub(*offered.get("rows", ()), whole=offered.get("whole"), error=offered.get("error"))
    with pytest.raises(DataError, match="hotpotqa:validation"):
        fetch(card, "validation")
    assert {name: (cache / name).read_bytes() for name in left(cache)} == was
    assert before or not (cache / "datasets" / "hotpotqa").exists()


def test_offline_says_how_to_get_it(cache: Path) -> None:
    """What is not here is an error that names the command, the files to copy and nothing else; so is an offline hub."""
    with pytest.raises(DataError, match=r"`hotpotqa:validation` is not here.*data fetch hotpotqa:validation.*\.jsonl"):
        load_named("hotpotqa")
    with pytest.raises(DataError, match="could not be fetched from `hotpotqa/hotpot_qa` at revision 1908d6") as told:
        fetch(card_named("hotpotqa"), "validation")  # the tests' environment is offline
    assert "data fetch hotpotqa:validation" in str(told.value)
    assert left(cache) == []


def test_the_library_itself_reads_a_folder_of_parquet(tmp_path: Path, cache: Path) -> None:
    """Through the real `datasets`, from a local repository in the hub's layout of columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "repo" / "data").mkdir(parents=True)
    rows = [hotpot(number) for number in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "repo" / "data" / "validation-00000-of-00001.parquet")
    card = card_named("hotpotqa").model_copy(update={"hub": str(tmp_path / "repo"), "config": ""})
    assert fetch(card, "validation").n == 3
    assert [p.title for p in load_named("hotpotqa")[0].passages] == ["Ed Wood (film)", "Scott Derrickson", "Ed Wood"]


def test_the_first_check_pins_and_the_next_compares(hub: Any, cache: Path) -> None:
    """Until then a split is unverified; a source that moved is an error that names what changed; the pin stays."""
    card = card_named("ramdocs")
    rows = {"question": "Q?", "documents": [{"text": "A", "type": "correct", "answer": "A"}], "gold_answers": ["A"]}
    hub(rows, rows)
    fetch(card, "test")
    assert facts_of(card, "test") == (None, "unverified")
    first = check(card, "test")
    assert (first.pinned_now, first.facts.n, first.facts.first) == (True, 2, "ramdocs-0")
    assert check(card, "test").pinned_now is False
    assert facts_of(card, "test") == (first.facts, "here")
    hub(rows, rows | {"question": "Other?"}, rows)
    fetch(card, "test")
    with pytest.raises(DataError, match=r"not what was pinned: `n` was 2, now it is 3; .*`sha256` was"):
        check(card, "test")
    assert facts_of(card, "test") == (first.facts, "here")


def test_pins_can_be_written_for_others(hub: Any, tmp_path: Path) -> None:
    """Into a file of their own, sorted by name: what a maintainer commits; a file that holds none is refused."""
    hub(SQUAD)
    for name in ("xquad-zh", "cmrc2018"):
        fetch(card_named(name), "validation")
        assert check(card_named(name), "validation", tmp_path / "pins.json").pinned_now
    assert list(json.loads((tmp_path / "pins.json").read_text())) == ["cmrc2018:validation", "xquad-zh:validation"]
    (tmp_path / "pins.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match="holds no pins"):
        check(card_named("cmrc2018"), "validation", tmp_path / "pins.json")


def test_a_file_that_was_changed_here_is_found(hub: Any) -> None:
    """`check` compares the converted file with what was written; a manifest that is damaged means it is not here."""
    hub(hotpot(1))
    card = card_named("hotpotqa")
    fetch(card, "train")
    path = records_path(card, "train")
    path.write_text(path.read_text(encoding="utf-8").replace("1994", "1995"), encoding="utf-8")
    with pytest.raises(DataError, match="is not what was fetched"):
        check(card, "train")
    manifest_path(card, "train").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="is not here"):
        check(card, "train")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("hotpotqa", True),
        ("xquad-zh:dev", True),
        ("file:x.jsonl", True),
        ("rgb:zh.json", True),
        ("x.jsonl", False),
        ("sample:dev", False),
        ("local:index", False),
        ("hotpotqa.dev.jsonl", False),
    ],
)
def test_which_names_are_data_sets(name: str, meant: bool) -> None:
    """A data set by its name with or without a split, and paths with a prefix; nothing else."""
    assert is_data_set(name) is meant


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("hotpotqa:devv", "`hotpotqa:devv` is no split"),
        ("popqa:train", "known: `popqa:test`"),
        ("file:", "names no file"),
        ("rgb: ", "names no file"),
    ],
)
def test_names_that_cannot_work(name: str, part: str) -> None:
    """One clear error with what could have been meant."""
    with pytest.raises(ConfigError, match=part):
        load_named(name)


def test_files_with_a_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`file:` reads JSONL even where a data set has that name, `rgb:` a local copy of RGB; limits and seeds hold."""
    monkeypatch.chdir(tmp_path)
    record = {"id": "1", "question": "Q?", "answers": ["a"], "passages": []}
    Path("hotpotqa").write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert [each.id for each in load_named("file:hotpotqa")] == ["1"]
    lines = [RGB_LINES["zh"] | {"id": number} for number in range(5)]
    Path("zh.json").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert [each.id for each in load_named("rgb:zh.json", limit=2)] == ["rgb-zh-0", "rgb-zh-1"]
    assert len(load_named("rgb:zh.json", limit=2, seed=1)) == 2
    assert len(named_passages("rgb:zh.json")) == 3
    Path("zh.json").write_text(json.dumps(lines[0]) + "\n" + json.dumps(lines[0]) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="expected ids that differ"):
        load_named("rgb:zh.json")
    with pytest.raises(DataError, match=r"is a folder; name one of RGB's files: .*zh\.json"):
        load_named(f"rgb:{tmp_path}")
