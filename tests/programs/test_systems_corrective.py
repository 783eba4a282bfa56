"""CorrectiveRAG: three actions on three critics, strips that are cited in their passages, and a second source."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Request

from reflective_rag.programs import CorrectiveRAG, ReflectiveRAG, load_program, save_program
from reflective_rag.programs.correcting import action_of
from reflective_rag.programs.rewriting import keywords
from reflective_rag.signatures import answering, evidence, gaps
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, field_of, fields_of
from tests.programs.systems import ask, codes, on_rules

QUESTION = "When was Giotto born?"
TRUE = Passage(
    id="a", text="Giotto was a painter. He worked in Padua. Giotto was born in 1267 near Florence.", title="Giotto"
)
NOISE = Passage(id="b", text="Bananas are yellow.", title="Banana")


def search(query: str, k: int) -> list[Passage]:
    """A passage that helps, and noise."""
    return [TRUE, NOISE][:k]


def noise_only(query: str, k: int) -> list[Passage]:
    """Nothing that helps."""
    return [NOISE]


def other(query: str, k: int) -> list[Passage]:
    """A second source, with the answer."""
    return [Passage(id="web", text="Born in 1267, Giotto became a painter.")]


def grading(**verdicts: str) -> FakeLM:
    """A model whose verdict on a passage is that of the first word it holds."""

    def reply(request: Request) -> str:
        if asks_for(request, "relevance"):
            text = field_of(request, "passage")
            return chat_reply(relevance=next((v for word, v in verdicts.items() if word in text), "irrelevant"))
        if asks_for(request, "query"):
            return chat_reply(query="Giotto birth year")
        return chat_reply(answer="1267", cited=[1])

    return fake_lm(reply)


def test_predictors_are_pinned() -> None:
    """A change here breaks saved artefacts; only what the critic and the mode need is built."""
    write = {"answer": answering.AnswerQuestion, "rewrite": gaps.RewriteQuery}

    def found(**options: Any) -> dict[str, Any]:
        return {name: p.signature for name, p in CorrectiveRAG(**options).named_predictors()}

    assert found() == {"relevance": evidence.JudgeRelevance, **write}
    assert found(critic="rules") == found(critic="models") == write
    assert found(mode="rules") == {}
    assert found(mode="rules", critic="lm") == {"relevance": evidence.JudgeRelevance}


@pytest.mark.parametrize(
    ("grades", "action"),
    [
        ([0.8, 0.0], "correct"),
        ([0.75], "correct"),
        ([0.74, 0.0], "ambiguous"),
        ([0.05], "ambiguous"),
        ([0.04, 0.0], "incorrect"),
        ([], "incorrect"),
        ([None, 0.0], "ambiguous"),
        ([None], "ambiguous"),
        ([None, 0.9], "correct"),
    ],
)
def test_the_three_actions(grades: Sequence[float | None], action: str) -> None:
    """Any at `upper`: correct. All below `lower`: incorrect. An unreadable grade is neither good nor bad."""
    assert action_of(grades, 0.75, 0.05) == action


@pytest.mark.parametrize(
    ("verdict", "action", "stop", "searched"),
    [
        pytest.param("relevant", "correct", "sufficient", 1, id="correct"),
        pytest.param("partly", "ambiguous", "finished", 2, id="ambiguous"),
        pytest.param("irrelevant", "incorrect", "finished", 2, id="incorrect"),
    ],
)
def test_each_action_does_what_it_says(verdict: str, action: str, stop: str, searched: int) -> None:
    """Correct evidence is only refined; incorrect is replaced; ambiguous gets both."""
    lm = grading(became="relevant", Giotto=verdict)
    result = ask(CorrectiveRAG(search, fallback_search=other), lm, QUESTION)
    assert result.rounds[0].decision.reason.startswith(f"{action}: best grade ")
    assert (result.stop_reason, result.retrievals, result.degraded) == (stop, searched, False)
    read = {"correct": ["a"], "ambiguous": ["a", "web"], "incorrect": ["web"]}[action]
    assert [p.id for p in result.passages] == read
    assert {d.passage.id for d in result.dropped} == {"a", "b"} - set(read)
    assert result.rounds[0].assessment.passage_relevance == {"a": {"c": 1.0, "a": 0.5, "i": 0.0}[action[0]], "b": 0.0}
    assert result.evidence_score == 1.0 == result.rounds[-1].assessment.evidence_score


def test_strips_are_read_and_passages_are_cited() -> None:
    """The model reads the best sentences only; the citation is a span of the whole passage."""
    filler = " ".join(f"He also painted wall number {i} in some town." for i in range(40))
    long = TRUE.model_copy(update={"text": f"{filler} Giotto was born in 1267 near Florence. {filler}"})
    lm = grading(Giotto="relevant")
    result = ask(CorrectiveRAG(lambda query, k: [long], strip_chars=150, strips=2), lm, QUESTION)
    read = field_of(lm.engine.requests[-1], "passages")
    assert "born in 1267" in read
    assert len(read) < 400 < len(long.text)
    assert result.passages == (long,)
    assert all(long.text[s.start : s.end] in read for s in result.rounds[-1].strips)
    (citation,) = result.citations
    assert long.text[citation.start : citation.end] == citation.quote == "Giotto was born in 1267 near Florence."


def test_without_a_second_source_the_search_is_asked_again() -> None:
    """With the rewritten query and a larger k; what was thrown away does not come back."""
    asked: list[tuple[str, int]] = []

    def logged(query: str, k: int) -> list[Passage]:
        asked.append((query, k))
        return [NOISE] if len(asked) == 1 else [NOISE, TRUE]

    result = ask(CorrectiveRAG(logged, k=4, fallback_k=9), grading(Giotto="relevant"), QUESTION)
    assert asked == [(QUESTION, 4), ("Giotto birth year", 9)]
    assert [p.id for p in result.passages] == ["a"]


def test_a_second_search_for_nothing_is_said() -> None:
    """Thrown away and not replaced: the best there is, marked as not enough."""
    result = ask(CorrectiveRAG(noise_only), grading(), QUESTION)
    assert (result.stop_reason, result.degraded) == ("no_new_passages", True)
    assert "insufficient_evidence" in codes(result)


@pytest.mark.parametrize(
    ("verdict", "grade", "stop", "degraded"),
    [
        pytest.param("relevant", 1.0, "finished", False, id="supports the answer"),
        pytest.param("partly", 0.5, "finished", False, id="helps in part"),
        pytest.param("irrelevant", 0.0, "no_relevant_passages", True, id="helps in nothing"),
    ],
)
def test_the_second_source_is_graded_like_the_first(verdict: str, grade: float, stop: str, degraded: bool) -> None:
    """By the same critic: its grade is the evidence score, and an answer from nothing is never sound."""
    result = ask(CorrectiveRAG(noise_only, fallback_search=other), grading(Giotto=verdict), QUESTION)
    assert result.rounds[1].assessment.passage_relevance == {"web": grade}
    assert (result.evidence_score, result.stop_reason, result.degraded) == (grade, stop, degraded)
    assert ("no_evidence" in codes(result)) == degraded


def test_a_second_source_that_does_not_help_uncertain_evidence_is_said() -> None:
    """What is read is what the first search brought; what came after is dropped as irrelevant."""
    lm = grading(became="irrelevant", Giotto="partly")
    result = ask(CorrectiveRAG(search, fallback_search=other), lm, QUESTION)
    assert ([p.id for p in result.passages], result.evidence_score) == (["a"], 0.5)
    assert (result.stop_reason, codes(result)) == ("no_progress", {"insufficient_evidence"})
    assert {d.passage.id for d in result.dropped} == {"b", "web"}


def test_a_budget_that_ends_before_the_second_grading_leaves_it_to_rules() -> None:
    """The last call is for the answer; the result says so."""
    rag = CorrectiveRAG(noise_only, fallback_search=other, budget={"lm_calls": 3})
    result = ask(rag, grading(Giotto="irrelevant"), QUESTION)
    (fallback,) = result.rounds[1].assessment.fallbacks
    assert (fallback.backend, fallback.to, result.rounds[1].assessment.by_rules) == ("lm", "rules", True)
    assert (result.answer, result.stop_reason, result.degraded) == ("1267", "budget_calls", True)
    assert [p.id for p in result.passages] == ["web"]


@pytest.mark.parametrize(("critic", "second"), [("rules", "Bananas are sweet."), ("models", "Apples are red.")])
def test_every_critic_grades_the_second_source(critic: str, second: str) -> None:
    """Rules and small models too."""
    scorers = {"relevance": Scorer("1267")} if critic == "models" else None
    rag = CorrectiveRAG(
        noise_only, fallback_search=lambda query, k: [Passage(id="web", text=second)], critic=critic, scorers=scorers
    )
    result = ask(rag, grading(), QUESTION)
    assert (result.stop_reason, result.degraded) == ("no_relevant_passages", True)


@pytest.mark.parametrize("failing", [True, False], ids=["raises", "finds nothing"])
def test_the_second_source_steps_in_where_the_first_has_nothing(failing: bool) -> None:
    """An index that is away or empty is the incorrect case; a failure stays on record."""

    def first(query: str, k: int) -> list[Passage]:
        if failing:
            raise ConnectionError("away")
        return []

    result = ask(CorrectiveRAG(first, fallback_search=other), grading(Giotto="relevant"), QUESTION)
    assert (result.answer, [p.id for p in result.passages]) == ("1267", ["web"])
    assert (result.stop_reason, result.degraded) == (("retriever_error", True) if failing else ("finished", False))


def test_the_second_source_counts_as_a_retrieval() -> None:
    """A budget of one search does not allow it."""
    result = ask(CorrectiveRAG(search, fallback_search=other, budget={"retrievals": 1}), grading(), QUESTION)
    assert (result.retrievals, result.stop_reason) == (1, "budget_retrievals")


async def test_an_async_second_source_works_in_both_worlds() -> None:
    """Like `search`, it may be a coroutine function."""

    async def later(query: str, k: int) -> list[Passage]:
        return other(query, k)

    rag = CorrectiveRAG(noise_only, fallback_search=later, mode="rules")
    assert on_rules(rag, QUESTION).answer == (await rag.acall(question=QUESTION)).answer == "1267"


@pytest.mark.parametrize(
    ("question", "first", "action"),
    [
        pytest.param(QUESTION, [TRUE, NOISE], "correct", id="en, correct"),
        pytest.param(QUESTION, [NOISE], "incorrect", id="en, incorrect"),
        pytest.param(
            "乔托出生于哪一年？",
            [Passage(id="z", text="乔托于1267年出生在佛罗伦萨附近。")],
            "correct",
            id="zh, correct",
        ),
        pytest.param("乔托出生于哪一年？", [Passage(id="z", text="香蕉是黄色的。")], "incorrect", id="zh, incorrect"),
    ],
)
def test_rules_grade_and_write_the_query(question: str, first: list[Passage], action: str) -> None:
    """Without a model the same three ways, with the question's content words as the query."""
    seen: list[str] = []

    def second(query: str, k: int) -> list[Passage]:
        seen.append(query)
        return [Passage(id="more", text="Giotto was born in 1267. 乔托出生于1267年。")]

    result = on_rules(CorrectiveRAG(lambda query, k: first, fallback_search=second), question)
    assert result.rounds[0].decision.reason.startswith(action)
    assert result.rounds[0].assessment.by_rules
    assert seen == ([] if action == "correct" else [keywords(question)])
    assert "1267" in result.answer


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (QUESTION, "Giotto born"),
        ("Where was the director of Falling Leaves born?", "Falling Leaves director born"),
        ("is it?", "is it?"),
    ],
)
def test_keywords_of_a_question(question: str, words: str) -> None:
    """Names and content words; a question without any stays as it is."""
    assert keywords(question) == words


class Scorer:
    """A small model: 0.9 for what names the word, else 0.01."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.pairs: list[Any] = []

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """One score a pair."""
        self.pairs += pairs
        if self.word == "broken":
            raise RuntimeError("no weights")
        return [0.9 if self.word in text else 0.01 for _, text in pairs]


def test_a_small_model_grades_passages_and_strips() -> None:
    """As in the paper the same evaluator scores both, and no language model is asked to."""
    scorer, lm = Scorer("1267"), grading()
    rag = CorrectiveRAG(search, critic="models", scorers={"relevance": scorer}, strip_chars=100, strips=1)
    result = ask(rag, lm, QUESTION)
    assert result.rounds[0].decision.reason.startswith("correct: best grade 0.90")
    assert "born in 1267" in field_of(lm.engine.requests[-1], "passages")
    assert len(scorer.pairs) > 2
    assert len(lm.engine.calls) == 1


def test_a_critic_that_fails_is_replaced_by_rules_and_said() -> None:
    """With the rules' own thresholds: grades of different critics are not comparable."""
    rag = CorrectiveRAG(search, critic="models", scorers={"relevance": Scorer("broken")})
    result = ask(rag, grading(), QUESTION)
    (fallback,) = result.rounds[0].assessment.fallbacks
    assert (fallback.backend, fallback.to) == ("models", "rules")
    assert "thresholds 0.30 and 0.60" in result.rounds[0].decision.reason
    assert ("model_degraded" in codes(result), result.degraded) == (True, True)


def test_one_unreadable_grade_throws_nothing_away() -> None:
    """The passage without a verdict is kept, and the verdict is counted."""
    lm = grading(became="relevant", Giotto="perhaps")
    result = ask(CorrectiveRAG(search, fallback_search=other, budget={"lm_calls": 9}), lm, QUESTION)
    assert result.rounds[0].decision.reason.startswith("ambiguous")
    assert [p.id for p in result.passages] == ["a", "web"]
    assert result.unparsed == 1


@pytest.mark.parametrize("verdict", ["perhaps", "yes and no", "", "不确定"])
def test_grades_that_cannot_be_read_at_all_are_given_by_rules_and_said(verdict: str) -> None:
    """Who judged was not who was chosen: degraded, as where the model fails."""
    result = ask(CorrectiveRAG(search, budget={"lm_calls": 9}), grading(Giotto=verdict, Bananas=verdict), QUESTION)
    (fallback,) = result.rounds[0].assessment.fallbacks
    assert (fallback.backend, fallback.to, result.unparsed) == ("lm", "rules", 2)
    assert (result.answer, result.degraded) == ("1267", True)
    assert {"unreadable_verdict", "model_degraded"} <= codes(result)


def test_a_query_that_cannot_be_read_is_written_by_rules_and_said() -> None:
    """The content words of the question go to the second source, and the result is degraded."""
    queries = []

    def second(query: str, k: int) -> list[Passage]:
        queries.append(query)
        return other(query, k)

    def reply(request: Request) -> str:
        if asks_for(request, "query"):
            return chat_reply(query=" ")
        return chat_reply(**({"relevance": "irrelevant"} if asks_for(request, "relevance") else {"answer": "1267"}))

    result = ask(CorrectiveRAG(search, fallback_search=second), fake_lm(reply), QUESTION)
    assert queries == [keywords(QUESTION)]
    assert (result.degraded, "model_degraded" in codes(result)) == (True, True)


@pytest.mark.parametrize(
    ("question", "texts", "answer"),
    [
        pytest.param(
            "When was the Old Bridge of Torvale opened?",
            ["The Old Bridge of Torvale was opened in 1901.", "The Old Bridge of Torvale was opened in 1950."],
            "1901",
            id="en",
        ),
        pytest.param("老桥是哪一年建成的？", ["老桥于1901年建成通车。", "老桥于1950年建成通车。"], "1901年", id="zh"),
    ],
)
def test_sources_that_disagree_are_said(question: str, texts: list[str], answer: str) -> None:
    """By rules, beside the grades: both sides, and the result is degraded although the evidence is called correct."""
    passages = [Passage(id=str(i), text=text) for i, text in enumerate(texts)]
    result = on_rules(CorrectiveRAG(lambda query, k: passages, mode="rules"), question)
    assert (result.answer, result.degraded) == (answer, True)
    assert {(c.passage_a, c.passage_b) for c in result.conflicts} == {("0", "1")}
    assert "1950" in next(w.message for w in result.warnings if w.code == "conflicting_evidence")


@pytest.mark.parametrize("reply", ["unknown", "", "未知"])
def test_enough_evidence_without_an_answer_is_an_abstention_as_everywhere(reply: str) -> None:
    """The stop reason tells why the search ended, as with ReflectiveRAG; the warning, that no answer came of it."""

    def lm(request: Request) -> str:
        fields: dict[str, Any] = {"relevance": "relevant", "answer": reply, "cited": [], "sufficient": "yes"}
        fields |= {"needs": [{"need": "year", "passages": [1]}], "relevant": [1], "gaps": [], "contradictions": []}
        fields |= {"outdated": [], "time_scope": "timeless"}
        return chat_reply(**{name: value for name, value in fields.items() if asks_for(request, name)})

    for program in (CorrectiveRAG(search), ReflectiveRAG(search)):
        result = ask(program, fake_lm(lm), QUESTION)
        assert (result.stop_reason, result.abstained, result.degraded) == ("sufficient", True, True)
        assert codes(result) == {"no_answer"}


def test_the_rewriter_is_told_why() -> None:
    """In words that fit the action."""
    lm = grading(Giotto="partly")
    ask(CorrectiveRAG(search, fallback_search=other), lm, QUESTION)
    (seen,) = [fields_of(r) for r in lm.engine.requests if asks_for(r, "query")]
    assert seen["problem"].startswith("it is not certain")


@pytest.mark.parametrize(
    "options",
    [{"upper": 0.2, "lower": 0.4}, {"upper": 0.1, "critic": "rules"}, {"upper": 2}, {"critic": "nobody"}],
    ids=str,
)
def test_thresholds_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    """Also against the default of the other one."""
    with pytest.raises(ConfigError):
        CorrectiveRAG(**options)


def test_an_own_second_source_must_be_given_again(tmp_path: Path) -> None:
    """An artefact cannot keep a function; it says that there was one instead of asking another source silently."""
    folder = save_program(CorrectiveRAG(search, fallback_search=other), tmp_path / "artefact")
    with pytest.raises(ConfigError, match="give it again, as `fallback_search="):
        ask(load_program(folder, search), grading(), QUESTION)
    for options in ({"fallback_search": other}, {"second_source": "same"}):
        assert ask(load_program(folder, search, **options), grading(), QUESTION).answer == "1267"
