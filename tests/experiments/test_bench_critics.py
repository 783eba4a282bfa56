"""`bench critics`: its figures on the sample, resuming, the model's hard and soft verdicts, and bad input."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Request, Response

from reflective_rag.data.twins import units_of
from reflective_rag.experiments.bench.critics_data import load, sampled
from reflective_rag.experiments.bench.critics_report import rows_of
from reflective_rag.experiments.bench.critics_verdicts import Verdict
from reflective_rag.programs.lm.resolve import Model
from tests.experiments.helpers import run, run_json, write_jsonl
from tests.fakes import FakeLM, FunctionEngine, asks_for, chat_reply, fake_lm, field_of

RULES = ("bench", "critics", "--data", "sample", "--backend", "rules")


def test_rules_are_measured_on_the_bundled_sample(workplace: Path) -> None:
    """Every judgement has rows in both languages, each with n, AUROC and an accuracy at a threshold of train."""
    report = run_json(*RULES, "--limit", "8")
    rows = report["rows"]
    assert {row["judgement"] for row in rows} == {"relevance", "sufficiency", "consistency", "freshness", "support"}
    assert {row["lang"] for row in rows} == {"en", "zh"}
    for row in rows:
        assert 0 < row["n"] <= 8
        assert row["true"] * 2 == row["n"]
        assert 0 <= row["auroc"]["mean"] <= 1
        assert 0 <= row["accuracy"]["mean"] <= 1
        assert row["train"] > 0
        assert row["cost"]["calls"] == 0
    assert {row["kind"] for row in report["contradictions"]} >= {"number", "swapped values"}


def test_tables_are_printed_in_markdown(workplace: Path) -> None:
    """A person reads whole lines, ready for a results file, and what was asked."""
    done = run(*RULES, "--limit", "4", "--judgement", "support,consistency")
    assert done.exit_code == 0
    assert "| support | rules | zh |" in done.stdout
    assert "| contradictions | lang | swapped |" in done.stdout
    assert "seed 0" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--shared", "nowhere"), "--shared DIR", id="no-folder"),
        pytest.param(("--data", "x.jsonl"), "belongs to no split", id="no-split-in-the-name"),
        pytest.param(("--data", "x.train.jsonl"), "no dev data", id="one-split-only"),
        pytest.param(("--data", "sample", "--backend", "gpt"), "`--backend` must be", id="backend"),
        pytest.param(("--data", "sample", "--judgement", "beauty"), "`--judgement` must be", id="judgement"),
        pytest.param(("--data", "sample", "--judgement", ","), "`--judgement` must be", id="nothing"),
        pytest.param(("--data", "sample", "--backend", "lm"), "needs a model", id="lm-without-a-model"),
    ],
)
def test_bad_input_is_one_line(workplace: Path, arguments: tuple[str, ...], message: str) -> None:
    """Whatever is missing or wrong is said in one error that tells what to give."""
    done = run("bench", "critics", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_verdicts_of_a_file_are_not_asked_again(workplace: Path) -> None:
    """A second run with the same file gives the same figures and writes nothing; a larger one adds to it."""
    arguments = (*RULES, "--judgement", "support", "--rows", "v.jsonl", "--limit")
    first = run_json(*arguments, "4")
    lines = Path("v.jsonl").read_text(encoding="utf-8").splitlines()
    second = run_json(*arguments, "4")
    assert Path("v.jsonl").read_text(encoding="utf-8").splitlines() == lines
    assert second["rows"] == first["rows"]
    run_json(*arguments, "8")
    assert len(Path("v.jsonl").read_text(encoding="utf-8").splitlines()) > len(lines)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('{"kind": "header", "program": "naive"}\n', id="rows-of-an-evaluation"),
        pytest.param("not json\n", id="no-json"),
        pytest.param('{"kind": "header", "bench": "critics", "version": 1}\n{"kind": "verdict"}\n', id="no-verdict"),
        pytest.param('{"kind": "header", "bench": "critics", "version": 1}\n[1]\n', id="a-list"),
    ],
)
def test_a_file_of_something_else_is_left_as_it_is(workplace: Path, content: str) -> None:
    """A wrong `--rows` file is refused and not changed."""
    Path("v.jsonl").write_text(content, encoding="utf-8")
    done = run(*RULES, "--rows", "v.jsonl", "--limit", "4", "--judgement", "support")
    assert done.exit_code == 2
    assert "v.jsonl" in done.stderr
    assert Path("v.jsonl").read_text(encoding="utf-8") == content


def test_a_smaller_sample_is_a_part_of_a_larger_one() -> None:
    """Back ends with different limits share cases; languages and labels stay balanced."""
    units = load(["sample"], None, ["relevance"]).dev["relevance"]
    small, large = sampled(units, 4), sampled(units, 12)
    assert {case.id for case in small} < {case.id for case in large}
    for lang in ("en", "zh"):
        own = [case for case in large if case.lang == lang]
        assert 0 < len(own) <= 12
        assert sum(case.label for case in own) * 2 == len(own)


def test_thresholds_come_from_train_alone() -> None:
    """A score that separates dev at another place than train is judged at train's threshold."""
    data = load(["sample"], None, ["support"])
    train, dev = sampled(data.train["support"], 8), sampled(data.dev["support"], 8)
    verdicts = {c.id: Verdict(case=c.id, by="x", score=0.9 if c.label else 0.7) for c in train}
    verdicts |= {c.id: Verdict(case=c.id, by="x", score=0.6 if c.label else 0.1) for c in dev}
    rows = rows_of("support", "x", train, dev, verdicts)
    assert [row["threshold"] for row in rows] == pytest.approx([0.8] * len(rows))
    assert all(row["auroc"]["mean"] == 1.0 and row["accuracy"]["mean"] == 0.5 for row in rows)


def test_verdicts_that_cannot_be_read_are_counted_apart() -> None:
    """They are neither right nor wrong: the row says how many there are."""
    dev = sampled(load(["sample"], None, ["support"]).dev["support"], 8)
    verdicts = {c.id: Verdict(case=c.id, by="x", score=None if i % 2 else 1.0) for i, c in enumerate(dev)}
    rows = [row for row in rows_of("support", "x", [], dev, verdicts) if row["dataset"] in ("all", "sample")]
    assert sum(row["n"] for row in rows) == sum(row["unread"] for row in rows) == len(dev) / 2
    assert all("accuracy" not in row for row in rows)


class _Weighing(FunctionEngine):
    """Reports log-probabilities: one token a piece, each sure but for the verdict word, which has probability `p`."""

    supported_params = FunctionEngine.supported_params | {"logprobs", "top_logprobs"}

    def __init__(self, fn: Callable[[Request], str], word: str, other: str, p: float) -> None:
        super().__init__(fn)
        self.word, self.other, self.p = word, other, p

    def respond(self, request: Request) -> Response:
        from dspy.lm15 import TokenLogprob, TopLogprob

        response = super().respond(request)
        head, word, tail = (response.text or "").rpartition(self.word)
        top = tuple(
            TopLogprob(token=t, logprob=math.log(p)) for t, p in ((self.word, self.p), (self.other, 1 - self.p))
        )
        tokens = (
            TokenLogprob(token=head, logprob=0.0),
            TokenLogprob(token=word, logprob=math.log(self.p), top=top),
            TokenLogprob(token=tail, logprob=0.0),
        )
        return replace(response, logprobs=tokens if word else None)


def _use(monkeypatch: pytest.MonkeyPatch, lm: FakeLM) -> FakeLM:
    monkeypatch.setattr(
        "reflective_rag.experiments.models.resolve_model", lambda *args, **kw: Model(name="fake/model", lm=lm)
    )
    return lm


def _judging(request: Request) -> str:
    """A model that calls everything sufficient, supported and relevant, and finds nothing wrong."""
    for field, value in (("relevance", "relevant"), ("sufficient", "yes"), ("contradictions", []), ("outdated", [])):
        if asks_for(request, field):
            return chat_reply(time_scope="now", **{field: value})
    return chat_reply(problem="none", support="supported") if asks_for(request, "support") else "ready"


def test_a_model_gives_hard_verdicts_of_every_judgement(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One narrow call a case: a model that says the same of everything is at chance, and its cost is counted."""
    lm = _use(monkeypatch, fake_lm(_judging))
    report = run_json("bench", "critics", "--data", "sample", "--backend", "lm", "--lm", "fake/model", "--limit", "4")
    rows = report["rows"]
    assert {row["by"] for row in rows} == {"lm hard"}
    assert {row["judgement"] for row in rows} == {"relevance", "sufficiency", "consistency", "freshness", "support"}
    assert all(row["auroc"]["mean"] == 0.5 and row["unread"] == 0 for row in rows)
    assert all(row["cost"]["prompt_tokens"] > 0 and 0.5 <= row["cost"]["calls"] <= 1 for row in rows)
    planned = int(report["about"].rpartition("at most ")[2].split()[0])
    assert len(lm.engine.calls) - 1 == planned  # one is the ping


def test_one_call_gives_the_hard_and_the_soft_verdict(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The soft one is the probability of the word that was written, from the same reply."""
    lm = fake_lm(_judging)
    lm._engine_spec = _Weighing(_judging, "yes", "no", 0.75)
    _use(monkeypatch, lm)
    arguments = ("--judgement", "sufficiency", "--limit", "4", "--rows", "v.jsonl")
    run_json("bench", "critics", "--data", "sample", "--backend", "lm", "--lm", "fake/model", *arguments)
    verdicts = [json.loads(line) for line in Path("v.jsonl").read_text(encoding="utf-8").splitlines()[1:]]
    scores: dict[str, set[float]] = {}
    for verdict in verdicts:
        scores.setdefault(verdict["by"], set()).add(round(verdict["score"], 6))
    assert scores == {"lm hard": {1.0}, "lm soft": {0.75}}
    assert len(lm.engine.calls) - 1 == len(verdicts) / 2


def test_a_model_that_answers_rubbish_leaves_unread_verdicts(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is taken for a no, and the report stands."""
    _use(monkeypatch, fake_lm(lambda request: "lorem ipsum"))
    report: Any = run_json(
        *("bench", "critics", "--data", "sample", "--backend", "lm", "--lm", "fake/model"),
        *("--limit", "4", "--judgement", "relevance,sufficiency,support"),
    )
    assert all(row["n"] == 0 and row["unread"] > 0 and row["auroc"]["mean"] is None for row in report["rows"])


def test_the_model_reads_passages_and_no_labels(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt holds question and passages; ids, supporting flags and kinds of twins stay out of it."""
    lm = _use(monkeypatch, fake_lm(_judging))
    run_json(
        *("bench", "critics", "--data", "sample", "--backend", "lm", "--lm", "fake/model"),
        *("--limit", "4", "--judgement", "consistency"),
    )
    prompts = [field_of(request, "passages") for request in lm.engine.requests if asks_for(request, "contradictions")]
    assert prompts
    assert all("[1]" in prompt and "swapped" not in prompt and "supporting" not in prompt for prompt in prompts)


def test_data_files_are_told_apart_by_their_names(tmp_path: Path) -> None:
    """A folder's train and dev files are taken, other files in it are not."""
    from reflective_rag.data.records import load_sample

    splits: dict[str, Any] = {"a.train.jsonl": "train", "b.dev.jsonl": "dev"}
    for name, split in splits.items():
        write_jsonl(tmp_path / name, [record.model_dump(mode="json") for record in load_sample(split)[:6]])
    (tmp_path / "corpus.jsonl").write_text("no records\n", encoding="utf-8")
    found = load(None, tmp_path, ["relevance"])
    assert found.dev["relevance"] == units_of("relevance", load_sample("dev")[:6])
