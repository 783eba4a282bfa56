"""`reflective-rag ask`: its JSON, its words, and what it refuses."""

import json
from pathlib import Path

import pytest

from reflective_rag.signatures.types import Result
from tests.experiments.helpers import FACTS, records, run, run_json, use_model, without, write_jsonl
from tests.fakes import chat_reply

QUESTION = "Where was Marie Curie born?"


@pytest.fixture
def corpus(workplace: Path) -> Path:
    """A corpus of the facts."""
    return write_jsonl(workplace / "corpus.jsonl", records())


def test_json_is_the_result(corpus: Path) -> None:
    """Beside question, program, model, corpus and notes the document is exactly a `Result`, with checked citations."""
    document = run_json("ask", QUESTION, "--corpus", corpus)
    result = Result.model_validate(without(document, "question", "program", "lm", "corpus", "notes"))
    assert (document["question"], document["program"], document["lm"]) == (QUESTION, "reflective", "rules")
    assert result.answer == "Warsaw"
    texts = {passage.id: passage.text for passage in result.passages}
    assert all(texts[c.passage_id][c.start : c.end] == c.quote for c in result.citations)
    assert result.citations


def test_the_bundled_sample_is_asked_without_a_corpus(workplace: Path) -> None:
    """An English and a Chinese question find passages of their language."""
    for question, title in (
        ("《百年孤独》的作者是谁？", "百年孤独"),
        ("Which horse does Don Quixote ride?", "Don Quixote"),
    ):
        document = run_json("ask", question)
        assert any(title in passage["title"] for passage in document["passages"])


def test_words_for_people(corpus: Path) -> None:
    """Answer, quote, judgement, reason to stop and rounds are on stdout; that it is rules is said plainly."""
    done = run("ask", QUESTION, "--corpus", corpus)
    assert done.exit_code == 0
    for part in (
        "Warsaw",
        "[1] Marie Curie",
        "“Marie Curie was born",
        "relevance",
        "stopped",
        "round 1",
        "by",
        "rules",
    ):
        assert part in done.stdout
    assert "keyword search only" in done.stderr


def test_streaming_tells_each_step_before_the_answer(corpus: Path) -> None:
    """With --json every event is a line, the last is the result; without, events go to stderr."""
    lines = [
        json.loads(line) for line in run("ask", QUESTION, "--corpus", corpus, "--stream", "--json").stdout.splitlines()
    ]
    assert [lines[0]["event"], lines[0]["step"], lines[-1]["event"]] == ["started", "search", "result"]
    assert lines[-1]["answer"] == "Warsaw"
    done = run("ask", QUESTION, "--corpus", corpus, "--stream")
    assert "search started" in done.stderr
    assert done.stdout.startswith("Warsaw")


def test_a_model_answers(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a model its name and its usage are reported."""
    use_model(monkeypatch)
    document = run_json("ask", "鲁迅出生在哪里？", "--corpus", corpus, "--lm", "fake/model")
    assert (document["answer"], document["lm"]) == ("绍兴", "fake/model")
    assert document["usage"]["answer"]["calls"] == 1


def test_a_model_that_answers_nothing_is_an_error(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer by rules is not passed off as the model's: the error names model and reason."""

    def down(request: object) -> str:
        raise ConnectionError("connection refused")

    use_model(monkeypatch, down)
    for program in ("reflective", "naive"):
        done = run("ask", QUESTION, "--corpus", corpus, "--program", program, "--lm", "fake/model")
        assert done.exit_code == 2
        assert "'fake/model' cannot be used" in done.stderr
        assert "connection refused" in done.stderr
        assert not done.stdout


@pytest.mark.parametrize(
    "command", [["ask", QUESTION], ["evaluate", "--data", "corpus.jsonl"]], ids=["ask", "evaluate"]
)
def test_a_key_that_is_not_set_is_named_by_its_variable(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """What to do is said for a shell, not for Python."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = run(*command, "--corpus", corpus, "--lm", "openai/gpt-4o-mini")
    assert done.exit_code == 2
    message = done.stderr.splitlines()[-1]
    assert "'openai/gpt-4o-mini' needs an API key: set the environment variable `OPENAI_API_KEY`" in message
    assert "api_key" not in message


def test_a_model_that_fails_once_still_answers(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One lost call is a warning, not an error."""

    def lame(request: object) -> str:
        if "sufficient" in str(request):
            raise ConnectionError("connection refused")
        return chat_reply(answer="Warsaw", cited=[1])

    use_model(monkeypatch, lame)
    document = run_json("ask", QUESTION, "--corpus", corpus, "--lm", "fake/model")
    assert document["answer"] == "Warsaw"
    assert "model_degraded" in [warning["code"] for warning in document["warnings"]]


def test_record_and_replay(corpus: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorded question is answered again without the model; another question is refused with the difference."""
    from reflective_rag.programs.lm import resolve
    from tests.experiments.helpers import knowing
    from tests.fakes import fake_lm

    monkeypatch.setattr(resolve, "_live", lambda spec, options: (fake_lm(knowing, model="fake/model"), "chat"))
    options = ("--corpus", corpus)
    first = run_json("ask", QUESTION, *options, "--lm", "fake/model", "--record", "calls.jsonl")
    again = run_json("ask", QUESTION, *options, "--replay", "calls.jsonl")
    assert again["lm"] == "fake/model (recording)"
    assert again["answer"] == first["answer"] == "Warsaw"
    other = run("ask", FACTS[0][2], *options, "--replay", "calls.jsonl")
    assert other.exit_code == 2
    assert "a request is not in it" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([""], "`question` is empty", id="empty"),
        pytest.param(["  \n"], "`question` is empty", id="blank"),
        pytest.param(["x" * 100_000], "`question` has 100,000 characters, at most 10,000", id="long"),
        pytest.param(["q?", "--program", "foo"], "unknown program 'foo'; known: ", id="program"),
        pytest.param(["q?", "--program", "Naiv"], "unknown program 'Naiv'; did you mean 'naive'?", id="program-slip"),
        pytest.param(["q?", "--option", "thetta=1"], "did you mean 'theta'?", id="option-slip"),
        pytest.param(["q?", "--corpus", ""], "the name of a data or corpus file is empty", id="corpus-empty"),
        pytest.param(["q?", "--corpus", "sample:tset"], "did you mean `sample:test`?", id="sample-slip"),
        pytest.param(["q?", "--program", "naive", "--artifact", "a"], "exclude each other", id="program-and-artifact"),
        pytest.param(["q?", "--artifact", "nowhere"], "there is no artefact at `nowhere`", id="artifact"),
        pytest.param(["q?", "--corpus", "nowhere.jsonl"], "`nowhere.jsonl` does not exist", id="corpus"),
        pytest.param(["q?", "--corpus", "local:nowhere"], "there is no index at 'local:nowhere'", id="index"),
        pytest.param(["q?", "--corpus", "own"], "`own` is the passages of the data", id="own"),
        pytest.param(["q?", "--lm", "gpt"], "unknown model 'gpt'; expected `provider/model`", id="model"),
        pytest.param(["q?", "--lm", "local:nowhere.gguf"], "there is no file 'nowhere.gguf'", id="model-file"),
        pytest.param(["q?", "--replay", "nowhere"], "there is no recording at `nowhere`", id="replay"),
        pytest.param(["q?", "--record", "a"], "rules ask no model, so there is nothing to record", id="record-rules"),
        pytest.param(["q?", "--option", "theta=1.5"], "`theta`: input should be less than or equal to 1", id="theta"),
        pytest.param(["q?", "--option", "theta=NaN"], "`theta`: ", id="theta-nan"),
        pytest.param(["q?", "--option", "theta"], "`--option` expects `name=value`", id="option"),
        pytest.param(["q?", "--option", "today=1"], "`--option` cannot set 'today'", id="option-today"),
        pytest.param(["q?", "--mode", "x"], "`mode`: input should be 'paired'", id="mode"),
        pytest.param(["q?", "--preset", "x"], "unknown preset 'x'; known: 'critical'", id="preset"),
        pytest.param(["q?", "--embedder", "x"], "unknown embedder 'x'", id="embedder"),
        pytest.param(["q?", "--today", "2020-13-01"], "--today", id="date"),
    ],
)
def test_bad_input_is_one_error(workplace: Path, arguments: list[str], message: str) -> None:
    """Exit code 2, nothing on stdout, one message without a traceback."""
    done = run("ask", *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert not done.stdout
