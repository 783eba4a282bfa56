"""`sweep noise`: every system under the same noise; resumed where it stopped, refused where it would mix settings."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.data.line_file import LineFile
from reflective_rag.experiments.rows import RowFile
from reflective_rag.optimizers.evaluation import Row
from tests.experiments.helpers import FACTS, records, run, run_json, use_model, write_jsonl


@pytest.fixture
def data(workplace: Path) -> Path:
    """The facts as labelled questions."""
    return write_jsonl(workplace / "data.jsonl", records())


def sweep(data: Path, *more: str) -> Any:
    """A small sweep as JSON."""
    return run_json("sweep", "noise", "--data", data, "--rates", "0,.5,1", "--kinds", "unrelated", *more)


def cell(document: Any, system: str, rate: float, noise: str = "unrelated") -> Any:
    """One condition."""
    wanted = (system, rate, noise)
    return next(c for c in document["cells"] if (c["system"], c["rate"], c["noise"]) == wanted)


def without_time(document: Any) -> str:
    """The conditions as text, but for what a clock said."""
    cells = [{k: v for k, v in c.items() if k != "seconds"} for c in document["cells"]]
    for each in cells:
        each["differences"] = {k: v for k, v in each["differences"].items() if k != "seconds"}
    return json.dumps(cells, sort_keys=True)


def test_every_system_stands_under_the_same_noise(data: Path) -> None:
    """All systems at all rates, with AlwaysRetrieve beside the loop; at rate 1 nobody reads a supporting passage."""
    document = sweep(data)
    systems = ["naive", "self-rag", "reflective", "corrective", "always"]
    assert [(c["system"], c["rate"]) for c in document["cells"]] == [(s, r) for r in (0.0, 0.5, 1.0) for s in systems]
    assert document["planned"] == 6 * 3 * 5
    for system in systems:
        assert cell(document, system, 1)["recall"]["mean"] == 0
        assert cell(document, system, 1)["accuracy"]["mean"] == 0
        assert cell(document, system, 0)["n"] == 6
    assert cell(document, "naive", 0)["recall"]["mean"] == 1
    assert cell(document, "naive", 0)["differences"] == {}
    paired = cell(document, "reflective", 0.5)["differences"]["retrievals"]
    assert paired["mean"] == pytest.approx(
        cell(document, "reflective", 0.5)["retrievals"]["mean"] - cell(document, "naive", 0.5)["retrievals"]["mean"]
    )
    assert paired["n"] == 6


def test_right_hallucinated_and_rejected_are_apart(data: Path) -> None:
    """Each question is one of the three, unless it failed."""
    for each in sweep(data)["cells"]:
        parts = sum(each[name]["mean"] for name in ("accuracy", "hallucination", "rejection"))
        assert parts == pytest.approx(1)


def test_always_searches_as_often_as_the_loop(data: Path) -> None:
    """For each question; rules may run out of queries before."""
    document = sweep(data)
    for rate in (0.0, 0.5, 1.0):
        ours, blind = cell(document, "reflective", rate), cell(document, "always", rate)
        assert blind["retrievals"]["mean"] <= ours["retrievals"]["mean"]
    assert any("`always` searches each question as often as `reflective`" in text for text in document["notes"])
    alone = sweep(data, "--programs", "naive,corrective")
    assert {c["system"] for c in alone["cells"]} == {"naive", "corrective"}


def test_tables_and_plots_are_written(data: Path) -> None:
    """Report, PNG and SVG of each data set and kind; the table has every figure and the differences."""
    kinds, words = ("--kinds", "unrelated,counterfactual"), ("--limit", "2", "--out", "noise")
    done = run("sweep", "noise", "--data", data, "--rates", "0,1", *kinds, *words)
    assert done.exit_code == 0, done.stderr
    for part in ("hallucination rate", "rejection rate", "redundancy", "− naive", "tokens read", "2 questions"):
        assert part in done.stdout
    assert "× 5 systems" in done.stderr
    assert "2 rates" in done.stderr
    for name in (
        "report.json",
        "noise-data-unrelated.png",
        "noise-data-unrelated.svg",
        "noise-data-counterfactual.svg",
    ):
        assert (Path("noise") / name).stat().st_size > 100
    report = json.loads(Path("noise/report.json").read_text(encoding="utf-8"))
    assert [each["noise"] for each in report["questions"]] == ["unrelated", "counterfactual"]


def watched(monkeypatch: pytest.MonkeyPatch, most: int = 10_000) -> list[Row]:
    """The rows that are written from now on; Ctrl-C after so many."""
    add, kept = RowFile.add, list[Row]()

    def keep(self: RowFile, row: Row, cell: str = "") -> None:
        if len(kept) == most:
            raise KeyboardInterrupt
        kept.append(row)
        add(self, row, cell)

    monkeypatch.setattr(RowFile, "add", keep)
    return kept


def test_a_stopped_sweep_goes_on_where_it_was(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C, and with the last line left half, the same command ends with the same figures, asking the rest."""
    programs = ("--programs", "naive,corrective")
    whole = sweep(data, "--out", "whole", *programs)
    words = ("sweep", "noise", "--data", data, "--rates", "0,.5,1", "--kinds", "unrelated", "--out", "part")
    with monkeypatch.context() as stopping:
        watched(stopping, 20)
        assert run(*words, *programs).exit_code == 130
    rows = Path("part/rows/data/naive.jsonl")
    with rows.open("a", encoding="utf-8") as file:
        file.write('{"kind": "row", "cell": "unrelated 0.5", "rec')
    kept = watched(monkeypatch)
    assert without_time(sweep(data, "--out", "part", *programs)) == without_time(whole)
    assert len(kept) == whole["planned"] - 20
    assert '"rec\n' not in rows.read_text(encoding="utf-8")


def test_more_rates_and_kinds_may_be_added_to_a_folder(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there already is not asked again; without noise the kinds share their answers."""
    sweep(data, "--out", "noise", "--programs", "naive")
    kept = watched(monkeypatch)
    more = ("--rates", "0,.5,.8,1", "--kinds", "unrelated,tangential", "--programs", "naive", "--out", "noise")
    document = run_json("sweep", "noise", "--data", data, *more)
    assert document["planned"] == 6 * 4 * 2
    assert len(kept) == 6 + 3 * 6  # .8 of the one kind, .5, .8 and 1 of the other


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ([], ["--seed", "3"], "`seed` was 0, now it is 3"),
        ([], ["--k", "4"], "`k` was None, now it is 4"),
        (["--correct", "f1"], ["--correct", "em"], "`correct` was 'f1', now it is 'em'"),
    ],
    ids=["seed", "k", "correct"],
)
def test_another_setting_in_the_folder_is_refused(
    data: Path, first: Sequence[str], second: Sequence[str], difference: str
) -> None:
    """The difference is named, and nothing is changed."""
    words = ("sweep", "noise", "--data", data, "--rates", "1", "--programs", "naive", "--out", "noise")
    assert run(*words, *first).exit_code == 0
    before = Path("noise/rows/data/naive.jsonl").read_bytes()
    done = run(*words, *second)
    assert done.exit_code == 2
    assert f"`--out noise` holds rows of another run: {difference}" in done.stderr
    assert Path("noise/rows/data/naive.jsonl").read_bytes() == before


def test_other_data_under_the_same_name_is_refused(data: Path, workplace: Path) -> None:
    """Rows are those of the questions that were asked."""
    sweep(data, "--out", "noise", "--programs", "naive")
    write_jsonl(workplace / "data.jsonl", records(0, 5))
    done = run("sweep", "noise", "--data", data, "--rates", "1", "--programs", "naive", "--out", "noise")
    assert done.exit_code == 2
    assert "holds rows of another run: `data` was" in done.stderr


def test_two_sweeps_at_once_in_one_folder_are_refused(data: Path) -> None:
    """The second ends at once and says why."""
    Path("noise").mkdir()
    held = LineFile(Path("noise/sweep.jsonl"), "held")
    done = run("sweep", "noise", "--data", data, "--programs", "naive", "--out", "noise")
    held.close()
    assert done.exit_code == 2
    assert "`--out noise` is being written by another run" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rates", "0,1.5"], "`--rates` takes numbers from 0 to 1 with commas between them, got '1.5'"),
        (["--rates", "-0.1"], "got '-0.1'"),
        (["--rates", "nan"], "got 'nan'"),
        (["--rates", "half"], "got 'half'"),
        (["--rates", " , "], "`--rates` names nothing"),
        (["--kinds", "tangent"], "unknown kind of noise 'tangent'; did you mean 'tangential'?"),
        (["--kinds", ""], "`--kinds` names nothing"),
        (["--programs", "naive,reflectiv"], "did you mean 'reflective'?"),
        (["--programs", "always,reflective"], "`always` copies the loop's searches, so it cannot be the baseline"),
        (["--programs", "react"], "the baseline `react` is n/a on rules"),
        (["--correct", "bleu"], "`--correct` must be one of"),
        (["--limit", "0"], "`limit` must be at least 1"),
        (["--presets"], "`--presets` means nothing to `sweep noise`"),
        (["--option", "theta=0.5"], "`--option` means nothing to `sweep noise`"),
        (["--data", "other/data.jsonl"], "two files are called `data`"),
        (["--data", "empty.jsonl"], "empty.jsonl"),
        (["--out", "data.jsonl"], "cannot be made"),
        (["--tracking", "sqlite:////proc/x/y.db"], "the MLflow store cannot be written"),
    ],
)
def test_bad_input_is_one_error_before_anything_is_asked(data: Path, words: Sequence[str], message: str) -> None:
    """One line that says what was expected."""
    Path("other").mkdir()
    write_jsonl(Path("other/data.jsonl"), records())
    write_jsonl(Path("empty.jsonl"), [])
    done = run("sweep", "noise", "--data", data, *words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_question_without_noise_is_an_error_where_it_is_the_only_one(workplace: Path) -> None:
    """There is nothing to mix in."""
    lonely = write_jsonl(workplace / "one.jsonl", records(0, 1))
    done = run("sweep", "noise", "--data", lonely)
    assert done.exit_code == 2
    assert "no question of `one` can be given noise of kind 'unrelated' or 'tangential'" in done.stderr


def test_systems_that_need_a_model_say_so_on_rules(data: Path) -> None:
    """They are n/a, and the others run."""
    document = sweep(data, "--programs", "naive,agentic", "--rates", "1")
    assert "needs a language model" in document["not_available"]["agentic"]
    assert {c["system"] for c in document["cells"]} == {"naive"}


def test_with_a_model_tokens_are_counted(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is asked under every rate; it knows the answers, so noise does not mislead it."""
    use_model(monkeypatch)
    document = sweep(data, "--programs", "naive,reflective", "--limit", "2")
    assert cell(document, "naive", 1)["accuracy"]["mean"] == 1
    assert cell(document, "reflective", 1)["tokens"]["mean"] > 0
    assert document["limit"] == 2


def test_several_files_are_measured_each_by_itself(data: Path, workplace: Path) -> None:
    """No mean over data sets: how many are better, unclear, worse, and where it is worst."""
    other = write_jsonl(workplace / "other.jsonl", [r | {"id": f"o{r['id']}"} for r in records(1, 4)])
    document = sweep(data, "--data", str(other), "--programs", "naive,corrective")
    assert {(c["data"], c["n"]) for c in document["cells"]} == {("data", 6), ("other", 4)}
    row = document["over_data"][0]
    assert (row["system"], row["better"] + row["unclear"] + row["worse"]) == ("corrective", 2)
    assert row["worst"]["data"] in ("data", "other")


def test_the_sweep_is_one_run_with_a_child_per_system(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics by data set, kind and rate; the report and the plots are artefacts of the parent."""
    from tests.experiments.test_compile import FakeTracker

    tracker = FakeTracker()
    monkeypatch.setattr("reflective_rag.experiments.sweeps.noise_command.tracked", tracker)
    document = sweep(data, "--programs", "naive,corrective", "--tracking", "sqlite:///store.db")
    assert document["run_id"] == "run-1"
    assert tracker.arguments["params"]["rates"] == "0, 0.5, 1"
    children = tracker.run.logged["children"]
    assert [child["name"] for child in children] == ["naive", "corrective"]
    assert "data.unrelated.0.5.accuracy" in children[1]["metrics"]
    assert "data.unrelated.0.5.difference.accuracy_low" in children[1]["metrics"]


def test_facts_are_the_questions(data: Path) -> None:
    """The fixture has one question a fact, in both languages."""
    assert len(FACTS) == len(data.read_text(encoding="utf-8").splitlines())


def test_threads_change_nothing(data: Path) -> None:
    """Questions asked side by side get the same noise."""
    programs = ("--programs", "naive,reflective")
    assert without_time(sweep(data, *programs, "--threads", "4")) == without_time(sweep(data, *programs))
