"""Words for people: in the language of the question, while the JSON keeps its codes."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from reflective_rag.experiments.printing import print_answer
from reflective_rag.experiments.wording import event_text
from reflective_rag.programs.drivers import Event
from reflective_rag.signatures.chinese import in_chinese
from reflective_rag.signatures.text import language_of
from reflective_rag.signatures.types import Assessment, Candidate, Decision, Result, Round, StopReason
from reflective_rag.signatures.wording import STOPPED, stopped
from tests.experiments.helpers import records, run, run_json, use_model, write_jsonl

QUESTIONS = {"en": "Where was Marie Curie born?", "zh": "鲁迅出生在哪里？"}
LABELS = {
    "en": ("evidence ", "relevance ", "confidence ", "stopped ", "round 1 ", "by "),
    "zh": ("证据评分 ", "相关性 ", "置信度 ", "停止原因 ", "第 1 轮 ", "回答者 "),
}
ENGLISH = re.compile(r"[A-Za-z]{2,}")


@pytest.fixture
def corpus(workplace: Path) -> Path:
    """A corpus of the facts."""
    return write_jsonl(workplace / "corpus.jsonl", records())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_labels_are_in_the_language_of_the_question(corpus: Path, language: str) -> None:
    """Every label, and none of the other language."""
    shown = run("ask", QUESTIONS[language], "--corpus", corpus).stdout
    assert all(label in shown for label in LABELS[language])
    assert not any(label in shown for other in LABELS if other != language for label in LABELS[other])


def test_a_chinese_answer_holds_no_english_but_codes(corpus: Path) -> None:
    """The code of the stop reason, in brackets, and the name of an option."""
    shown = run("ask", QUESTIONS["zh"], "--corpus", corpus).stdout
    assert "（sufficient）" in shown or "（no_" in shown
    assert set(ENGLISH.findall(shown.replace("_", ""))) <= {"lm", *(reason.replace("_", "") for reason in STOPPED)}


def test_a_models_name_calls_and_tokens_are_told_in_chinese(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are in English, with Chinese words around them."""
    use_model(monkeypatch)
    shown = run("ask", QUESTIONS["zh"], "--corpus", corpus, "--lm", "fake/model").stdout
    assert re.search(r"回答者 +fake/model，\d+ 次调用，[\d,]+ 个词元", shown)


def test_the_json_has_the_same_codes_in_both_languages(corpus: Path) -> None:
    """What programs read does not depend on the question's language."""
    keys = [set(run_json("ask", question, "--corpus", corpus)) for question in QUESTIONS.values()]
    reasons = [run_json("ask", question, "--corpus", corpus)["stop_reason"] for question in QUESTIONS.values()]
    assert keys[0] == keys[1]
    assert set(reasons) <= set(get_args(StopReason))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("reason", get_args(StopReason))
def test_every_stop_reason_has_words(reason: StopReason, language: Any) -> None:
    """With the code in brackets behind them."""
    text = stopped(reason, language)
    assert text.startswith(STOPPED[reason][language])
    assert text.rstrip("）)").endswith(reason)
    assert language_of(STOPPED[reason][language]) == language


def test_a_dimension_that_does_not_apply_is_told_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    """Instead of n/a."""
    judged = Round(number=1, queries=("问",), retrieved=1, new=1, assessment=Assessment(relevance=0.5))
    print_answer(Result(answer="答", evidence_score=0.5, rounds=(judged,)), "rules", "zh")
    assert "0.50（相关性 0.50，一致性 不适用" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("language", "shown"),
    [("en", "candidate “1267” 2.50 (born, [IsREL] 1.00, [IsSUP] supported, [IsUSE] 5) (chosen)"),
     ("zh", "候选 “1267” 2.50（born，[IsREL] 1.00，[IsSUP] supported，[IsUSE] 5）（选用）")],
)  # fmt: skip
def test_candidates_are_told_where_there_was_a_choice(
    language: Any, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The chosen one first, with its critics' verdicts; one alone says nothing new."""
    good = Candidate(
        passage_id="born", answer="1267", relevance=1.0, support="supported", usefulness=5, score=2.5, chosen=True
    )
    for candidates in ((Candidate(passage_id="x", answer="1276", score=0.5), good), (good,)):
        print_answer(Result(answer="1267", candidates=candidates), "rules", language)
        told = " ".join(capsys.readouterr().out.split())
        assert (shown in told) == (len(candidates) > 1)


def test_a_system_that_needs_a_model_says_so_in_chinese() -> None:
    """Both as a note and as the error about a baseline."""
    needs = "`react` is n/a on rules: it needs a language model, name one with `--lm`"
    assert in_chinese(needs) == "`react` 无法使用规则运行：它需要语言模型，请用 `--lm` 指定"
    assert in_chinese(f"the baseline {needs}, or put another system first").endswith("或把另一个系统放在首位")


EVENTS = {
    "search": (Event(kind="started", step="search", queries=("a", "b")), "search started: a; b", "检索开始：a；b"),
    "critic": (Event(kind="finished", step="assess"), "assess finished", "assess完成"),
    "missing": (
        Event(
            kind="round",
            round=Round(
                number=2,
                queries=("a",),
                retrieved=1,
                new=1,
                decision=Decision(action="retrieve_more", reason="1867"),
            ),
        ),
        "round 2: search for more, 1867",
        "第 2 轮：继续检索，1867",
    ),
    "enough": (
        Event(
            kind="round",
            round=Round(
                number=1,
                queries=(),
                retrieved=0,
                new=0,
                decision=Decision(action="generate", reason="1867", stop="sufficient"),
            ),
        ),
        "round 1: write the answer, 1867 (sufficient)",
        "第 1 轮：写出回答，1867（sufficient）",
    ),
    "undecided": (Event(kind="round", round=Round(number=1, queries=(), retrieved=0, new=0)), "round 1", "第 1 轮"),
}


@pytest.mark.parametrize(("event", "english", "chinese"), EVENTS.values(), ids=EVENTS.keys())
def test_events_of_a_stream_are_told_in_both_languages(event: Event, english: str, chinese: str) -> None:
    """Steps with their queries, rounds with the decision and its reason."""
    assert (event_text(event, "en"), event_text(event, "zh")) == (english, chinese)


def test_a_stream_speaks_chinese_to_people_and_codes_to_programs(corpus: Path) -> None:
    """`--stream` alone, and with `--json`."""
    command = ("ask", QUESTIONS["zh"], "--corpus", corpus, "--stream")
    assert "· 检索开始：鲁迅出生在哪里？" in run(*command).stderr
    first = json.loads(run(*command, "--json").stdout.splitlines()[0])
    assert (first["event"], first["step"]) == ("started", "search")
