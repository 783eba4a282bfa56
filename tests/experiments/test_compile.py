"""`reflective-rag compile`: plan, scores before and after, artefact, run; and what happens when it cannot finish."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.data.records import Record
from reflective_rag.experiments.compiling import run_compile
from reflective_rag.experiments.jobs import split_train
from reflective_rag.experiments.recipes import load_recipe
from reflective_rag.programs.artefact_manifest import seals_of
from reflective_rag.programs.artefacts import load_program, read_manifest
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.experiments.helpers import FACTS, knowing, records, run, run_json, use_model, write_jsonl, write_recipe
from tests.fakes import chat_reply, fake_lm

RULES = Model(name="rules", lm=None)


class FakeRun:
    """Keeps what is logged."""

    run_id = "run-1"

    def __init__(self) -> None:
        self.logged: dict[str, Any] = {"metrics": {}, "tables": {}, "folders": {}, "children": [], "prompts": {}}

    def metrics(self, values: dict[str, float], step: int | None = None) -> None:
        self.logged["metrics"] |= values

    def table(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.logged["tables"][name] = rows

    def folder(self, path: Path, name: str) -> None:
        self.logged["folders"][name] = path

    def inputs(self, data: dict[str, Any]) -> None:
        self.logged["inputs"] = data

    def prompts(self, family: str, before: dict[str, str], after: dict[str, str], tags: dict[str, str]) -> None:
        self.logged["prompts"] = {"family": family, "before": before, "after": after, "tags": tags}

    def model(self, artefact: Path, config: dict[str, Any]) -> None:
        self.logged["model"] = config

    def child(self, name: str, **what: Any) -> str:
        self.logged["children"].append({"name": name, **what})
        return "child"


class FakeTracker:
    """Stands for `tracked`: keeps the run, its arguments, and how the block ended."""

    def __init__(self) -> None:
        self.run = FakeRun()
        self.arguments: dict[str, Any] = {}
        self.ended: type[BaseException] | str | None = "never"

    @contextmanager
    def __call__(self, name: str, **arguments: Any) -> Iterator[FakeRun]:
        self.arguments = {"name": name, **arguments}
        try:
            yield self.run
        except BaseException as error:
            self.ended = type(error)
            raise
        self.ended = None


def test_the_contract_of_its_json(workplace: Path) -> None:
    """Artefact, run id, and a summary before and after for dev and test."""
    write_jsonl(workplace / "test.jsonl", records(3, 3))
    data = {"train": "train.jsonl", "dev": "dev.jsonl", "test": "test.jsonl"}
    document = run_json("compile", write_recipe(workplace, data=data), "--out", "art")
    assert set(document) >= {
        "artifact",
        "run_id",
        "strategy",
        "program",
        "lm",
        "n",
        "before",
        "after",
        "plan",
        "chosen",
    }
    assert document["n"] == {"train": 2, "val": 2, "dev": 2, "test": 3}
    for when in ("before", "after"):
        assert {split: summary["n"] for split, summary in document[when].items()} == {"dev": 2, "test": 3}
        assert set(document[when]["dev"]["f1"]) >= {"mean", "low", "high"}
    assert (document["artifact"], document["lm"], document["run_id"]) == ("art", "rules", None)


def test_the_artefact_says_what_it_is(workplace: Path) -> None:
    """It loads, and its manifest holds data fingerprints, scores with intervals, strategy, seed and plan."""
    run_json("compile", write_recipe(workplace, seed=7, metric="costed"), "--out", "deep/art")
    program = load_program("deep/art", search=lambda query, k: [FACTS[1][1]])
    assert program(question=FACTS[1][2]).answer == "Warsaw"
    manifest = read_manifest("deep/art")
    assert manifest.data["train"]["file"] == "train.jsonl"
    assert len(manifest.data["dev"]["fingerprint"]) == 16
    assert manifest.scores["dev"]["after"]["score"]["metric"] == "costed"
    assert manifest.notes["seed"] == 7
    assert manifest.notes["strategy"] == "controls"
    assert str(workplace) not in Path("deep/art/manifest.json").read_text()
    assert "controls" in manifest.notes["chosen"] or manifest.notes["chosen"] == {}


def test_the_run_holds_everything(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One run with params, metrics, tables and the artefact, and a child for every candidate."""
    tracker = FakeTracker()
    recipe = load_recipe(write_recipe(workplace, experiment="mine", tracking="sqlite:///x.db"))
    monkeypatch.setattr("reflective_rag.experiments.tracking.check_store", lambda uri: None)
    report = run_compile(recipe, model=RULES, out=workplace / "art", tracker=tracker)
    assert (tracker.arguments["experiment"], tracker.arguments["uri"]) == ("mine", "sqlite:///x.db")
    params = tracker.arguments["params"]
    assert (params["strategy"], params["seed"], params["lm"], params["data.dev.n"]) == ("controls", 0, "rules", 2)
    assert {"program.k", "controls.theta", "strategy.lam", "data.train.fingerprint"} <= params.keys()
    logged = tracker.run.logged
    assert {"dev.before.f1", "dev.after.f1", "dev.after.f1_low", "dev.after.n"} <= logged["metrics"].keys()
    assert [row["record_id"] for row in logged["tables"]["dev_after"]] == ["q4", "q5"]
    assert {"replay.gain", "replay.costed", "replay.replayed.same"} <= logged["metrics"].keys()
    assert logged["tables"]["frontier"][0]["theta"] >= 0
    assert logged["folders"] == {"artefact": workplace / "art"}
    assert logged["inputs"]["dev"]["n"] == 2
    own = [str(workplace / name) for name in ("train.jsonl", "dev.jsonl")]
    assert logged["model"] == {"lm": "rules", "corpus": own, "embedder": "none"}
    assert logged["children"]
    assert all("score" in child["metrics"] for child in logged["children"])
    assert (report.run_id, tracker.ended) == ("run-1", None)


def test_the_same_recipe_compiles_to_the_same_program(workplace: Path) -> None:
    """Nothing depends on time, threads or order."""
    for out, threads in (("a", 1), ("b", 3)):
        run_json("compile", write_recipe(workplace, num_threads=threads), "--out", out)
    assert Path("a/program.json").read_bytes() == Path("b/program.json").read_bytes()


def test_a_second_compile_into_a_folder_says_that_it_replaced(workplace: Path) -> None:
    """The older artefact is gone, and the last lines tell."""
    recipe = write_recipe(workplace)
    first, second = (run("compile", recipe, "--out", "art") for _ in range(2))
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "replaced" not in first.stdout
    assert "(replaced the artefact that was there)" in second.stdout


@pytest.mark.parametrize("strategy", ["none", "bootstrap", "mipro"])
def test_strategies_on_a_model(workplace: Path, monkeypatch: pytest.MonkeyPatch, strategy: str) -> None:
    """Each strategy ends in an artefact that names the model."""
    use_model(monkeypatch)
    options = {"mipro": {"num_trials": 2}}.get(strategy, {})
    recipe = write_recipe(workplace, strategy=strategy, strategy_options=options, program_options={"mode": "fused"})
    document = run_json("compile", recipe, "--out", "art", "--lm", "fake/model")
    assert document["lm"] == read_manifest("art").model == "fake/model"
    assert document["after"]["dev"]["em"]["mean"] == 1.0
    if strategy == "bootstrap":
        assert document["chosen"]["demos"]["assess_and_answer"] >= 1


def test_a_dry_run_plans_and_touches_nothing(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls, tokens and money from fewest to most; the model is not asked, nothing is written."""
    lm = use_model(monkeypatch, name="openai/gpt-4o-mini")
    recipe = write_recipe(workplace, strategy="bootstrap", tracking="sqlite:///x.db")
    before = sorted(workplace.iterdir())
    plan = run_json("compile", recipe, "--out", "art", "--lm", "x/y", "--dry-run", "--tracking", "sqlite:///x.db")[
        "plan"
    ]
    assert 0 < plan["calls"]["low"] < plan["calls"]["high"]
    assert plan["tokens_per_call"]["prompt"] > 100
    assert 0 < plan["dollars"]["low"] < plan["dollars"]["high"]
    assert "estimate" in plan["note"]
    assert lm.engine.calls == []
    assert sorted(workplace.iterdir()) == before


def test_the_plan_bounds_the_calls_of_the_run(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a compile asks lies between the planned fewest and most calls (one more tells that the model is there)."""
    lm = use_model(monkeypatch)
    recipe = write_recipe(workplace, strategy="bootstrap")
    plan = run_json("compile", recipe, "--out", "art", "--lm", "fake/model")["plan"]
    assert plan["calls"]["low"] <= len(lm.engine.calls) - 1 <= plan["calls"]["high"]


@pytest.mark.parametrize(
    ("name", "words"), [("openai/gpt-4o-mini", "$"), ("fake/model", "price unknown")], ids=["listed", "unlisted"]
)
def test_a_price_is_printed_where_it_is_known(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    """For people the plan ends with dollars, or says that the price is unknown."""
    use_model(monkeypatch, name=name)
    done = run("compile", write_recipe(workplace, strategy="bootstrap"), "--lm", "x/y", "--dry-run")
    assert done.exit_code == 0
    assert words in " ".join(done.stdout.split())


def test_the_cost_limit_ends_a_compile(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the optimizer swallows it: one clear error, no more calls than the money allows, no artefact."""
    lm = use_model(monkeypatch, name="openai/gpt-4o-mini")
    recipe = write_recipe(workplace, strategy="mipro", strategy_options={"num_trials": 2})
    total = run_json("compile", recipe, "--out", "whole", "--lm", "x/y", "--max-cost", "1")["dollars"]
    assert 0 < total < 1
    calls = len(lm.engine.calls)
    for share in (0.0, 0.1, 0.6):
        done = run("compile", recipe, "--out", "art", "--lm", "x/y", "--max-cost", str(total * share))
        assert done.exit_code == 2
        assert "the cost limit of $" in done.stderr
        assert not Path("art").exists()
        assert len(lm.engine.calls) - calls < calls
        calls = len(lm.engine.calls)


def test_a_limit_needs_a_price(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one the limit would be a promise that cannot be kept: refused before anything is spent."""
    lm = use_model(monkeypatch)
    done = run("compile", write_recipe(workplace, strategy="bootstrap"), "--lm", "x/y", "--max-cost", "1")
    assert done.exit_code == 2
    assert "needs the price of 'fake/model'" in done.stderr
    assert lm.engine.calls == []


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises, also where the suite runs as a background job, which inherits "ignore"."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_compile_leaves_nothing_half(workplace: Path) -> None:
    """Ctrl-C while scoring, compiling or scoring again: the run ends with it, the older artefact stays as it was."""
    run_json("compile", write_recipe(workplace), "--out", "art")
    old = {path.name: path.read_bytes() for path in Path("art").iterdir()}
    recipe = load_recipe(write_recipe(workplace, strategy="bootstrap"))
    for stop_at in (2, 7, 11):
        asked = 0

        def interrupting(request: Any, stop_at: int = stop_at) -> str:
            nonlocal asked
            asked += 1
            if asked == stop_at:
                os.kill(os.getpid(), signal.SIGINT)
            return knowing(request)

        tracker = FakeTracker()
        model = Model(name="fake/model", lm=fake_lm(interrupting))
        with pytest.raises(KeyboardInterrupt):
            run_compile(recipe, model=model, out=Path("art"), tracker=tracker)
        assert tracker.ended is KeyboardInterrupt
        assert {path.name: path.read_bytes() for path in Path("art").iterdir()} == old
    assert sorted(path.name for path in workplace.iterdir()) == ["art", "dev.jsonl", "recipe.toml", "train.jsonl"]


def test_all_problems_come_before_anything_is_spent(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data, strategy, output folder, store and model are checked together and told in one error."""

    def down(request: object) -> str:
        raise ConnectionError("connection refused")

    use_model(monkeypatch, down)
    recipe = write_recipe(
        workplace, strategy="controls", program="naive", data={"train": "no.jsonl", "dev": "dev.jsonl"}
    )
    Path("taken").mkdir()
    Path("taken/file").touch()
    done = run("compile", recipe, "--out", "taken", "--lm", "x/y", "--tracking", "sqlite:////proc/x/y.db")
    assert done.exit_code == 2
    assert "problems; nothing was started" in done.stderr
    for part in (
        "no.jsonl` does not exist",
        "`taken` exists and is not an artefact",
        "connection refused",
        "MLflow store",
    ):
        assert part in done.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param(
            {"strategy": "mipro"},
            "strategy 'mipro' changes instructions and demos, but this program runs on rules",
            id="rules",
        ),
        pytest.param({"strategy": "foo"}, "unknown strategy 'foo'", id="strategy"),
        pytest.param({"corpus": ["nowhere.jsonl"]}, "nowhere.jsonl` does not exist", id="corpus"),
        pytest.param({"corpus": ["local:nowhere"]}, "there is no index at", id="index"),
        pytest.param({"embedder": "foo"}, "unknown embedder 'foo'", id="embedder"),
        pytest.param({"lm": "gpt"}, "unknown model 'gpt'", id="model"),
        pytest.param(
            {"program_options": {"theta": -0.1}},
            "`program_options.theta`: input should be greater than or equal to 0",
            id="theta",
        ),
    ],
)
def test_bad_recipes_are_one_error(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], message: str
) -> None:
    """Exit code 2, no artefact."""
    monkeypatch.delenv("RRAG_EMBEDDER")
    done = run("compile", write_recipe(workplace, **changes), "--out", "art")
    assert done.exit_code == 2
    assert message in done.stderr
    assert not Path("art").exists()


def test_a_program_without_a_loop_is_tuned_by_running_it(workplace: Path) -> None:
    """NaiveRAG has no stopping rule to replay: its k is chosen in trials, which are told and kept."""
    recipe = write_recipe(workplace, program="naive", program_options={"k": 1}, strategy_options={})
    document = run_json("compile", recipe, "--out", "art")
    assert document["report"]["trials"] == 6
    assert read_manifest("art").notes["report"]["gain"]["n"] == document["n"]["train"] + document["n"]["val"]
    told = run("compile", recipe, "--out", "art").stdout
    assert "ran 6 combinations" in " ".join(told.split())


def test_replies_that_cannot_be_used_end_with_one_error(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An optimizer that gives up is no fault of ours: no traceback, no artefact."""
    use_model(monkeypatch, lambda request: chat_reply(answer="x", cited=[1], sufficient="yes", gaps=[], relevant=[1]))
    recipe = write_recipe(workplace, strategy="mipro", strategy_options={"num_trials": 2})
    done = run("compile", recipe, "--out", "art", "--lm", "x/y")
    assert done.exit_code == 2
    assert "strategy 'mipro' gave up, no artefact was written" in done.stderr
    assert not Path("art").exists()


def test_the_artefact_is_checked_when_it_is_loaded(workplace: Path) -> None:
    """Cut in half, of another program, or with a changed signature: one error that names file or field."""
    run_json("compile", write_recipe(workplace), "--out", "art")
    manifest = json.loads(Path("art/manifest.json").read_text())
    program = Path("art/program.json").read_text()
    cases = {
        "is damaged": ({}, program[: len(program) // 2]),
        "unknown program 'foo'": ({"program": "foo"}, program),
        "has other fields than when it was compiled": (
            {"signatures": manifest["signatures"] | {"answer": "0" * 16}},
            program,
        ),
    }
    for message, (changes, text) in cases.items():
        changed = manifest | changes
        Path("art/manifest.json").write_text(json.dumps(changed | {"seals": seals_of(changed)}))
        Path("art/program.json").write_text(text)
        done = run("ask", "q?", "--artifact", "art")
        assert done.exit_code == 2
        assert message in done.stderr


def test_shared_questions_are_warned_of(workplace: Path) -> None:
    """Dev questions that are in train too make the scores say little."""
    recipe = write_recipe(workplace)
    write_jsonl(workplace / "dev.jsonl", records(3, 2))
    assert "1 of 2 dev questions are in train too" in run_json("compile", recipe, "--out", "art")["warnings"][0]


@pytest.mark.parametrize(
    ("n", "share", "sizes"), [(2, 0.01, (1, 1)), (2, 0.99, (1, 1)), (10, 0.5, (5, 5)), (10, 0.2, (8, 2))]
)
def test_train_is_split_by_seed(n: int, share: float, sizes: tuple[int, int]) -> None:
    """Two disjoint parts, neither empty, in file order, the same for the same seed."""
    made = [Record(id=f"r{i}", question="q?", answers=("a",), passages=()) for i in range(n)]
    train, val = split_train(made, share, 3)
    assert (len(train), len(val)) == sizes
    assert sorted([r.id for r in train] + [r.id for r in val]) == sorted(r.id for r in made)
    assert (train, val) == split_train(made, share, 3)


def test_one_record_cannot_be_split() -> None:
    """It says how many there are and how many are needed."""
    with pytest.raises(DataError, match=r"holds 1 record.*at least 2"):
        split_train([Record(id="r", question="q?", answers=("a",), passages=())], 0.5, 0, "train.jsonl")


def test_a_recording_of_another_question_ends_the_compile(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compile replays exactly from its own recording; with other data it fails loudly and writes no artefact."""
    from reflective_rag.programs.lm import resolve

    monkeypatch.setattr(resolve, "_live", lambda spec, options: (fake_lm(knowing, model="fake/model"), "chat"))
    recipe = write_recipe(workplace, strategy="mipro", strategy_options={"num_trials": 2})
    first = run_json("compile", recipe, "--out", "a", "--lm", "fake/model", "--record", "calls.jsonl")
    again = run_json("compile", recipe, "--out", "b", "--replay", "calls.jsonl")
    assert again["lm"] == "fake/model (recording)"
    assert again["after"]["dev"]["f1"] == first["after"]["dev"]["f1"]
    assert Path("a/program.json").read_bytes() == Path("b/program.json").read_bytes()
    write_jsonl(workplace / "dev.jsonl", records(0, 1))
    done = run("compile", recipe, "--out", "c", "--replay", "calls.jsonl")
    assert done.exit_code == 2
    assert "replay of `calls.jsonl`" in done.stderr
    assert not Path("c").exists()


def test_the_cost_limit_must_be_an_amount(workplace: Path) -> None:
    """Negative or no number."""
    for amount in (-1.0, float("nan")):
        with pytest.raises(ConfigError, match="amount in dollars"):
            run_compile(load_recipe(write_recipe(workplace)), model=RULES, out=Path("art"), max_cost=amount)
