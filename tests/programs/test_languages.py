"""What a result says in words is in the question's language: decisions, what was left out, gaps, and explanations."""

import re
from typing import Any

import pytest

from reflective_rag.programs import PROGRAMS
from reflective_rag.programs.registry import make_program
from reflective_rag.signatures import wording
from reflective_rag.signatures.types import Assessment, Contradiction, Fallback, Gap, Passage, Requirement

ENGLISH = re.compile(r"[A-Za-z]{2,}")
CODES = re.compile(r"[a-z]+_[a-z_]+|\bmax_passages\b|\b(?:correct|incorrect|ambiguous|Retrieve|yes|no|continue)\b")
"""Codes and option names stay as they are."""

ZH = [
    Passage(id="1", text="乔托出生于1267年，是佛罗伦萨的画家。", title="乔托"),
    Passage(id="2", text="乔托出生于1267年，是佛罗伦萨的画家。", title="乔托"),
    Passage(id="3", text="黑麦面包需要长时间低温烘烤。"),
    Passage(id="4", text="乔托于1337年去世。", title="乔托"),
]
PLAIN = ("reflective", "self-rag", "always", "naive", "corrective")


def _run(name: str, question: str, passages: list[Passage]) -> Any:
    options = {} if name == "naive" else {"max_passages": 2} if name in ("reflective", "always") else {}
    return make_program(name, lambda query, k: passages, mode="rules", **options)(question=question)


@pytest.mark.parametrize("name", [name for name in PLAIN if name in PROGRAMS])
def test_a_chinese_question_gets_chinese_reasons(name: str) -> None:
    """No English word stands in a decision's reason or beside what was left out, but codes."""
    result = _run(name, "乔托的老师的出生地是哪里？", ZH)
    reasons = [r.decision.reason for r in result.rounds if r.decision] + [d.reason for d in result.dropped]
    reasons += [record.reason for record in getattr(result, "gaps", ())]
    assert not [reason for reason in reasons if ENGLISH.search(CODES.sub("", reason))]
    assert all(r.decision.stop is None or r.decision.stop == result.stop_reason for r in result.rounds if r.decision)


def test_an_english_question_gets_english_reasons() -> None:
    """The last decision says the stop reason in words, and holds it as a code."""
    result = _run("reflective", "When was Giotto born?", [Passage(id="a", text="Giotto was born in 1267.")])
    decision = result.rounds[-1].decision
    assert (decision.reason, decision.stop) == (wording.STOPPED[result.stop_reason]["en"], result.stop_reason)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_explanations_follow_the_question(language: str) -> None:
    """An assessment with Chinese needs explains itself in Chinese, in English when asked for."""
    need = {"en": "birth year", "zh": "出生年份"}[language]
    assessment = Assessment(
        relevance=1.0,
        requirements=(Requirement(need=need),),
        contradictions=(Contradiction(passage_a="a", span_a="1267", passage_b="b", span_b="1276", about=need),),
        gaps=(Gap(kind="missing_attribute", need=need, query=need),),
        fallbacks=(Fallback(judgement="relevance", backend="lm", to=None, reason="429"),),
        unreadable=1,
    )
    lines = assessment.explain().splitlines()
    heads = {"en": ("evidence score", "missing", "conflict", "gap"), "zh": ("证据评分", "缺少", "关于", "缺口")}
    assert all(line.startswith(head) for line, head in zip(lines, heads[language], strict=False))
    assert len(lines) == 6
    assert assessment.explain("en").startswith("evidence score")


@pytest.mark.parametrize("table", [wording.WARNINGS, wording.STOPPED, wording.PHRASES, wording.WORDS])
def test_every_wording_is_there_in_both_languages(table: Any) -> None:
    """The same gaps to fill in stand in both."""
    for key, words in table.items():
        assert set(words) == {"en", "zh"}, key
        assert sorted(re.findall(r"\{\w*", words["en"])) == sorted(re.findall(r"\{\w*", words["zh"])), key
