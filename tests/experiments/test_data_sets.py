"""`reflective-rag data`, and `--data` with the name of a data set."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.data.datasets.rows import HOTPOT, RGB_LINES
from tests.experiments.helpers import run, run_json


@pytest.fixture
def hub(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub with three questions of HotpotQA, and an empty cache."""
    import datasets

    rows = [HOTPOT | {"id": f"row{number}", "question": f"Question {number}?"} for number in range(3)]
    monkeypatch.setenv("RRAG_CACHE", str(workplace / "cache"))
    monkeypatch.setattr(datasets, "load_dataset", lambda *args, **kwargs: rows)


def test_list_and_show_need_no_network(workplace: Path) -> None:
    """Every data set with licence and splits, all unverified; the card in full."""
    document = run_json("data", "list")
    assert {"hotpotqa", "xquad-zh", "cmrc2018"} <= {each["name"] for each in document}
    assert {split["pin"] for each in document for split in each["splits"]} <= {"unverified", "shipped"}
    (card,) = run_json("data", "show", "musique")
    assert card["licence"] == "CC BY 4.0"
    assert card["faults"]
    shown = run("data", "show", "musique", "popqa").stdout
    for part in ("MuSiQue: Multihop Questions", "validation: unverified, not fetched", "It has no passages"):
        assert part in shown
    assert "file:PATH" in run("data", "list").stdout


def test_fetch_check_and_measure(hub: None, workplace: Path) -> None:
    """From the hub to scores: fetched once, pinned by the first check, then measured by name everywhere."""
    assert "3 records, 'row0' to 'row2'" in run("data", "fetch", "hotpotqa").stdout
    assert "pinned now" in run("data", "check", "hotpotqa:validation").stdout
    (again,) = run_json("data", "check", "hotpotqa:dev")
    assert (again["n"], again["pin"], again["pinned_now"]) == (3, "here", False)
    evaluated = run_json("evaluate", "--program", "naive", "--data", "hotpotqa:dev", "--limit", "2")
    assert (evaluated["n"], evaluated["data"], evaluated["failed"]) == (2, "hotpotqa:dev", 0)
    compared = run_json("compare", "naive", "reflective", "--data", "hotpotqa", "--corpus", "hotpotqa:validation")
    assert [each["n"] for each in compared["systems"]] == [3, 3]
    sweep = ["sweep", "threshold", "--data", "hotpotqa", "--data", "sample:dev", "--limit", "2", "--thetas", "0.5"]
    assert {cell["data"] for cell in run_json(*sweep)["cells"]} == {"hotpotqa", "sample:dev"}


def test_a_local_copy_of_rgb_is_measured(workplace: Path) -> None:
    """`rgb:PATH` without any conversion by hand; a noise sweep takes it too."""
    lines = [RGB_LINES["zh"] | {"id": number} for number in range(2)]
    Path("zh.json").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert run_json("evaluate", "--program", "naive", "--data", "rgb:zh.json", "--metric", "groups")["n"] == 2
    done = run(
        "sweep", "noise", "--data", "rgb:zh.json", "--rates", "0", "--kinds", "tangential", "--programs", "naive"
    )
    assert done.exit_code == 0, done.stderr


def test_a_data_set_without_passages_asks_for_a_corpus(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PopQA has none: an error that says to name a corpus, and it works with one."""
    import datasets
    import huggingface_hub

    from tests.data.datasets.rows import POPQA

    info = type("Info", (), {"sha": "c" * 40})
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", lambda self, repo, revision=None: info)
    monkeypatch.setattr(datasets, "load_dataset", lambda *args, **kwargs: [POPQA])
    assert run("data", "fetch", "popqa").exit_code == 0
    alone = run("evaluate", "--program", "naive", "--data", "popqa")
    assert (alone.exit_code, "name a file or an index" in alone.stderr) == (2, True), alone.stderr
    found = run_json("evaluate", "--program", "naive", "--data", "popqa", "--corpus", "sample")
    assert (found["n"], found["recall"]["n"], found["citation_recall"]["n"]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["data", "show", "hotpot"], "unknown data set 'hotpot'; did you mean 'hotpotqa'?"),
        (["data", "fetch"], "needs the name of a data set"),
        (["data", "fetch", "hotpotqa:dve"], "`hotpotqa:dve` is no split"),
        (["data", "fetch", "musique"], "could not be fetched from `bdsaglam/musique`"),
        (["data", "check", "musique"], "run `reflective-rag data fetch musique:validation`"),
        (["data", "list", "--pins", "p.json"], "`--pins` means nothing to `data list`"),
        (["evaluate", "--data", "musique"], "run `reflective-rag data fetch musique:validation`"),
        (["evaluate", "--data", "xquad-zh:train"], "known: `xquad-zh:validation`"),
        (["evaluate", "--data", "rgb:missing.json"], "`missing.json` does not exist"),
        (["compare", "naive", "--data", "sample:dev", "--corpus", "musique:dev"], "data fetch musique:validation"),
    ],
)
def test_one_clear_error(workplace: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[Any], part: str) -> None:
    """Exit code 2 and what to do; nothing is printed as a result."""
    monkeypatch.setenv("RRAG_CACHE", str(workplace / "cache"))
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert part in " ".join(done.stderr.split())
