"""`compare` of runs that are in MLflow: ranked, paired with the baseline, exported; nothing is asked."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments import run_leaderboard
from reflective_rag.experiments.run_entries import Entry
from reflective_rag.experiments.run_leaderboard import as_csv, cells, export, markdown, ranking
from reflective_rag.signatures.errors import DataError
from tests.experiments.helpers import records, run, run_json, use_model, write_jsonl, write_recipe


def rows(*scores: float, first: int = 0) -> list[dict[str, Any]]:
    """One row a question."""
    return [
        {"record_id": f"q{number}", "question": f"q{number}?", "answer": f"{score}", "f1": score, "tokens": 10}
        for number, score in enumerate(scores, start=first)
    ]


def entry(name: str, role: str, scored: Sequence[dict[str, Any]] = (), **more: Any) -> Entry:
    """An entry with the mean of its rows."""
    mean = sum(row["f1"] for row in scored) / len(scored) if scored else None
    scores = {} if mean is None else {"f1": {"mean": mean, "low": None, "high": None}}
    numbers = {"n": float(len(scored)), "tokens_per_question": 10.0} if scored else {}
    params = {"program": "reflective", "strategy": "mipro", "lm": "fake/model"}
    return Entry(
        name=name, role=role, run_id=f"id-{name}", params=params, scores=scores, numbers=numbers, rows=scored, **more
    )


def ranked(monkeypatch: pytest.MonkeyPatch, *entries: Entry) -> dict[str, Any]:
    """The leaderboard of these."""
    monkeypatch.setattr(run_leaderboard, "entries_of", lambda *args: (list(entries), []))
    return ranking(["x"], experiment="e", split="dev", uri="sqlite:///x.db")


def test_entries_are_ranked_and_paired_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first system is the baseline, whatever its rank; differences are over the questions that both were asked."""
    document = ranked(
        monkeypatch,
        entry("a before", "baseline", rows(0, 0, 1, 0)),
        entry("a", "compiled", rows(0, 1, 1, 0), spent={"calls": 7.0, "prompt_tokens": 60.0, "completion_tokens": 3.0}),
        entry("b", "compiled", rows(1, 1, 1, 1, 1)),
    )
    assert [line["name"] for line in document["entries"]] == ["b", "a", "a before"]
    assert document["baseline"] == "a before"
    best, middle, base = document["entries"]
    assert (best["differences"]["f1"]["mean"], best["differences"]["f1"]["n"]) == (0.75, 4)
    assert middle["differences"]["f1"]["mean"] == 0.25
    assert base["differences"] == {}
    shown = cells(document)
    assert shown[0][5].endswith("(n 4)")
    assert shown[1][-1] == "7 calls, 63 tokens"
    assert shown[2][5] == "baseline"
    assert "not all asked the same questions" in document["notes"][0]


def test_the_same_baseline_is_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two compiles of one program begin with the same answers."""
    before = [entry(f"{name} before", "baseline", rows(0, 1)) for name in "ab"]
    document = ranked(
        monkeypatch, before[0], entry("a", "compiled", rows(1, 1)), before[1], entry("b", "compiled", rows(0, 0))
    )
    assert [line["name"] for line in document["entries"]] == ["a", "a before", "b"]


def test_without_questions_in_common_there_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """`n/a`, and a note that says why."""
    document = ranked(monkeypatch, entry("a", "system", rows(1, 1)), entry("b", "system", rows(0, 0, first=5)))
    assert cells(document)[1][5] == "n/a"
    assert any("no question in common with the baseline: b" in text for text in document["notes"])


def test_the_exports_hold_what_the_table_holds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Markdown for people, CSV with every number in a column; a name with `|` or a comma breaks neither."""
    document = ranked(
        monkeypatch,
        entry("a|b, 甲 before", "baseline", rows(0, 1)),
        entry("a|b, 甲", "compiled", rows(1, 1), spent={"calls": 7.0, "dollars": 0.5}),
        entry("a: candidate 0", "candidate", val=0.25),
    )
    text = markdown(document)
    assert "| a\\|b, 甲 | reflective by mipro | fake/model | 2 | 1.000 |" in text
    assert "| a: candidate 0 | 0.250 |" in text
    first, *_, last = list(csv.DictReader(io.StringIO(as_csv(document))))
    assert (first["name"], first["f1_mean"], first["difference_f1_mean"]) == ("a|b, 甲", "1.0", "0.5")
    assert (first["spent_calls"], first["spent_dollars"], first["val"]) == ("7.0", "0.5", "")
    assert (last["role"], last["val"], last["f1_mean"]) == ("candidate", "0.25", "")
    files = export(document, to_markdown=tmp_path / "deep" / "l.md", to_csv=tmp_path / "l.csv")
    assert Path(files[0]).read_text(encoding="utf-8") == text
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"l\.csv` cannot be written"):
        export(document, to_markdown=None, to_csv=tmp_path / "file" / "l.csv")


def test_runs_of_a_store_become_a_leaderboard(
    workplace: Path, uri: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compile on a model and a comparison: before, after, each candidate and system, with intervals and cost."""
    use_model(monkeypatch)
    monkeypatch.setenv("RRAG_TRACKING", uri)
    mode = {"mode": "rules", "repair": False}
    options = {"num_trials": 2}
    recipe = write_recipe(
        workplace, name="tiny", strategy="mipro", strategy_options=options, program_options=mode, experiment=name
    )
    first = run_json("compile", recipe, "--out", "art", "--lm", "fake/model")
    write_jsonl(workplace / "dev.jsonl", records(4, 2))
    compared = run_json("compare", "naive", "reflective", "--data", "dev.jsonl", "--lm", "rules", "--experiment", name)
    document = run_json("compare", "--experiment", name, "--markdown", "l.md")
    names = {line["name"] for line in document["entries"]}
    assert {"tiny before", "tiny", "naive", "reflective"} >= names >= {"tiny before", "naive", "reflective"}
    assert document["baseline"] == "tiny before"
    assert all({"mean", "low", "high"} <= line["scores"]["f1"].keys() for line in document["entries"])
    assert len(document["candidates"]) >= 2
    assert Path("l.md").read_text().count("| tiny") >= 2
    alone = run_json("compare", "--runs", compared["run_id"])
    assert (alone["baseline"], len(alone["entries"]), alone["candidates"]) == ("naive", 2, [])
    assert alone["entries"][1]["differences"]["f1"]["n"] == 2
    both = run("compare", "--runs", first["run_id"], compared["run_id"])
    assert both.exit_code == 0
    assert "naive" in both.stdout
    assert "tiny before" in both.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param((), "name the programs or artefacts", id="nothing"),
        pytest.param(("naive",), "`--data` is missing", id="no data"),
        pytest.param(("--runs", "x", "--data", "sample:dev"), "leave out `--data`", id="runs and data"),
        pytest.param(("naive", "--data", "sample:dev", "--csv", "l.csv"), "exports a leaderboard of runs", id="export"),
        pytest.param(("--runs", "x"), "there is no MLflow store", id="no store"),
    ],
)
def test_what_cannot_be_meant_is_one_error(
    arguments: tuple[str, ...], said: str, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2 and what to do."""
    monkeypatch.setenv("RRAG_TRACKING", "sqlite:///none.db")
    done = run("compare", *arguments)
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--runs", "0" * 32), "there is no run", id="run"),
        pytest.param(("--experiment", "nowhere"), "no experiment 'nowhere'", id="experiment"),
        pytest.param(("--experiment", "made"), "the experiment 'made' has no scores on 'dev'", id="nothing measured"),
    ],
)
def test_what_is_not_in_the_store_is_one_error(
    arguments: tuple[str, ...], said: str, workplace: Path, uri: str
) -> None:
    """It names what was looked for."""
    done = run("compare", *arguments, "--tracking", uri)
    assert done.exit_code == 2
    assert said in done.stderr
