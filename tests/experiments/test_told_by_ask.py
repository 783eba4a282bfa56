"""What commands say beside results: in the language of a question, with exit codes that a script can trust."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reflective_rag.experiments.corpora import open_search
from reflective_rag.signatures.chinese import CHINESE, in_chinese
from tests.experiments.helpers import records, run, run_json, use_model, write_jsonl

ZH = "鲁迅出生在哪里？"


@pytest.fixture
def corpus(workplace: Path) -> Path:
    """A corpus of the facts."""
    return write_jsonl(workplace / "corpus.jsonl", records())


@pytest.fixture
def damaged(corpus: Path) -> str:
    """An index whose files hold something else since it was made."""
    assert run("index", corpus, "--to", "local:idx").exit_code == 0
    files = [*Path("idx").rglob("data/*.lance"), *Path("idx").rglob("_indices/*/*.lance")]
    for file in files:
        file.write_bytes(b"\0" * 64)
    assert files
    return "local:idx"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["--corpus", "nowhere.jsonl"], "错误：文件 `nowhere.jsonl` 不存在", id="file"),
        pytest.param(["--corpus", "empty.jsonl"], "错误：`empty.jsonl` 中没有任何记录", id="no passages"),
        pytest.param(["--corpus", "bad.jsonl"], "错误：`bad.jsonl` 中有 1 行无法使用：", id="bad line"),
        pytest.param(["--filter", "page"], "错误：`--filter` 应为 `KEY=VALUE`", id="filter"),
        pytest.param(["--corpus", "local:nowhere"], "错误：'local:nowhere' 处没有索引", id="index"),
        pytest.param(["--corpus", "own"], "错误：语料 `own` 指数据自带的段落", id="own"),
        pytest.param(["--artifact", "nowhere"], "错误：`nowhere` 处没有成品", id="artefact"),
        pytest.param(["--program", "foo"], "错误：未知的 program：'foo'；可用的有：", id="program"),
        pytest.param(["--program", "naiv"], "错误：未知的 program：'naiv'；是否想用 'naive'？", id="slip"),
        pytest.param(["--lm", "gpt"], "错误：未知的模型 'gpt'；应为", id="model"),
        pytest.param(["--replay", "nowhere"], "错误：`nowhere` 处没有录制文件", id="replay"),
        pytest.param(["--today", "x"], "错误：`--today` 应为日期", id="today"),
        pytest.param(["--option", "theta"], "错误：`--option` 应为", id="option"),
        pytest.param(["--temperature", "1"], "错误：`--temperature` 只对语言模型有效", id="temperature"),
    ],
)
def test_the_errors_of_a_chinese_question_are_chinese(workplace: Path, arguments: list[str], told: str) -> None:
    """One line on stderr, exit code 2, as in English."""
    (workplace / "empty.jsonl").touch()
    (workplace / "bad.jsonl").write_text("no JSON", encoding="utf-8")
    done = run("ask", ZH, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr.replace("\n", "")


@pytest.mark.parametrize(
    ("language", "told"), [("zh_CN.UTF-8", "错误：问题为空"), ("en_US.UTF-8", "error: `question`")]
)
def test_an_empty_question_is_refused_in_the_language_of_the_terminal(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, language: str, told: str
) -> None:
    """It has no language of its own."""
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.delenv("LC_MESSAGES", raising=False)
    monkeypatch.setenv("LANG", language)
    done = run("ask", " ")
    assert done.exit_code == 2
    assert told in done.stderr


def test_notes_are_chinese_and_json_stays_the_same(corpus: Path) -> None:
    """The terminal speaks the question's language; in JSON the notes are those of every question."""
    done = run("ask", ZH, "--corpus", corpus)
    assert "说明：仅使用关键词检索" in done.stderr
    assert "keyword search only" in run_json("ask", ZH, "--corpus", corpus)["notes"]
    assert "note: keyword search only" in run("ask", "Where was Marie Curie born?", "--corpus", corpus).stderr


def test_a_model_that_answers_nothing_is_an_error_in_chinese(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason of a server stays as it came."""

    def down(request: object) -> str:
        raise ConnectionError("connection refused")

    use_model(monkeypatch, down)
    done = run("ask", ZH, "--corpus", corpus, "--lm", "fake/model")
    assert done.exit_code == 2
    assert "错误：模型 'fake/model' 无法使用：" in done.stderr
    assert "connection refused" in done.stderr


@pytest.mark.parametrize("english", CHINESE)
def test_each_message_of_the_catalogue_keeps_what_stands_in_its_gaps(english: str) -> None:
    """A translation that lost the name of a file or a command would be worse than none."""
    text = english.format_map(_Named())
    chinese = in_chinese(text)
    assert chinese != text
    gaps = [word.strip("{}") for word in _words(english)]
    kept = [name for name in gaps if f"<{name}>" in chinese]
    assert len(kept) >= len(gaps) - ("Dense search" in english)


class _Named(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return f"<{key}>"


def _words(text: str) -> list[str]:
    import re

    return re.findall(r"\{\w+\}", text)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ask", "Where was Marie Curie born?"], id="ask"),
        pytest.param(["ask", "Where was Marie Curie born?", "--program", "naive"], id="naive"),
        pytest.param(["evaluate", "--data", "corpus.jsonl"], id="evaluate"),
        pytest.param(["compare", "naive", "reflective", "--data", "corpus.jsonl"], id="compare"),
    ],
)
def test_a_corpus_that_cannot_be_searched_at_all_is_an_error(damaged: str, command: list[str]) -> None:
    """A script that looks at the exit code does not take an empty answer for one."""
    done = run(*command, "--corpus", damaged)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "no search could be made: " in done.stderr
    assert "index again into a new folder" in done.stderr


def test_in_python_it_is_a_warning(damaged: str) -> None:
    """An app decides by itself what a degraded answer is worth."""
    from reflective_rag.programs import ReflectiveRAG

    with open_search([damaged]) as search:
        result = ReflectiveRAG(search, mode="rules")(question="Where was Marie Curie born?")
    assert (result.stop_reason, result.abstained) == ("retriever_error", True)
    assert "retriever_degraded" in {warning.code for warning in result.warnings}


def test_rows_without_a_search_are_asked_again(corpus: Path, damaged: str) -> None:
    """They say nothing about the program; a file of rows does not hold them as done."""
    assert run("evaluate", "--data", corpus, "--corpus", damaged, "--rows", "rows.jsonl").exit_code == 2
    assert run("evaluate", "--data", corpus, "--corpus", damaged, "--rows", "rows.jsonl").exit_code == 2
    assert (
        "rows of another run"
        not in run("evaluate", "--data", corpus, "--corpus", damaged, "--rows", "rows.jsonl").stderr
    )


def test_lance_does_not_write_into_the_terminal(damaged: str) -> None:
    """Its warnings come from Rust, past Python's logging: only a process of its own shows them."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for name in ("RUST_LOG", "LANCEDB_LOG"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "reflective_rag.experiments.cli", "ask", "Who?", "--corpus", damaged]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["evaluate", "--data", "sample:dev", "--max-tokens", "5"], "`--max-tokens` is for", id="evaluate"),
        pytest.param(
            ["compare", "naive", "--data", "sample:dev", "--temperature", "1"], "`--temperature` is for", id="compare"
        ),
        pytest.param(["compile", "sample-controls", "--temperature", "1"], "`--temperature` is for", id="compile"),
        pytest.param(
            ["calibrate", "--data", "sample:dev", "--temperature", "1"], "`--temperature` is for", id="calibrate"
        ),
        pytest.param(["compare", "--runs", "a", "--limit", "3"], "`--limit` does nothing there", id="leaderboard"),
        pytest.param(["compare", "naive", "--data", "sample:dev", "--split", "test"], "`--split` exports", id="split"),
        pytest.param(["ask", "q?", "--program", "naive", "--preset", "general"], "preset", id="preset"),
        pytest.param(["ask", "q?", "--program", "none", "--k", "3"], "`k` is unknown", id="k"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(workplace: Path, arguments: list[str], told: str) -> None:
    """Before anything is asked, and by name."""
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("question", "told"),
    [("What is the salary of the mayor of Halm?", "not sure: "), ("哈姆市长的工资是多少？", "不确定：")],
)
def test_an_answer_that_its_warnings_do_not_stand_by_does_not_look_like_one(
    workplace: Path, question: str, told: str
) -> None:
    """The first line says so in the question's language; JSON has the answer as it is, with its warnings."""
    texts = [
        "The Orne Bridge in Halm cost 47 million euros; the mayor of Halm opened it.",
        "哈姆大桥造价4700万元，由哈姆市长剪彩。",
    ]
    corpus = write_jsonl(workplace / "c.jsonl", [{"id": str(i), "text": text} for i, text in enumerate(texts)])
    shown = run("ask", question, "--corpus", corpus, "--lm", "rules")
    result = run_json("ask", question, "--corpus", corpus, "--lm", "rules")
    assert not result["abstained"]
    assert shown.stdout.splitlines()[0] == told + result["answer"]
