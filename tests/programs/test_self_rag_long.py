"""SelfRAG's long form: sentence by sentence on a beam, with citations for each."""

from collections.abc import Mapping
from typing import Any

import dspy
import pytest

from reflective_rag.programs import SelfRAG
from reflective_rag.signatures.types import Passage
from tests.programs.self_rag_worlds import Model, Shelf, ask, codes
from tests.programs.worlds import plain

QUESTION = "What is known of Giotto's life and work?"
LIFE = Passage(id="life", text="Giotto was born in 1267. He died in 1337.", title="Giotto")
WORK = Passage(id="work", text="Giotto painted the Scrovegni Chapel in Padua.", title="Scrovegni Chapel")
FRUIT = Passage(id="fruit", text="Bananas are yellow.", title="Banana")
ZH_QUESTION = "请介绍乔托的生平和作品。"
ZH_LIFE = Passage(id="life", text="乔托出生于1267年。乔托于1337年去世。", title="乔托")
SENTENCES = {
    "life": ["Giotto was born in 1267.", "He died in 1337."],
    "work": ["Giotto painted the Scrovegni Chapel in Padua."],
}


def write(inputs: Mapping[str, str]) -> str:
    """The first sentence of the passage that is not written yet."""
    for passage in (LIFE, WORK, ZH_LIFE):
        if passage.text in inputs["passages"]:
            pieces = passage.text.replace("。", "。|").replace(". ", ".|").split("|")
            return next((p for p in pieces if p and p not in inputs["so_far"]), "END")
    return "END"


def model(**more: Any) -> Model:
    """A writer that copies, and critics that are content."""
    return Model(relevance={"Giotto": "relevant", "乔托": "relevant", "*": "irrelevant"}, **{"sentence": write, **more})


def shelf(*passages: Passage) -> Shelf:
    """One result for every query."""
    return Shelf({"": list(passages)})


def long(used: Model | None, found: Any, question: str = QUESTION, **options: Any) -> dspy.Prediction:
    """One long answer."""
    return ask(used, found, question, **{"long_form": True, **options})


def test_an_answer_grows_by_a_sentence_a_round_each_cited() -> None:
    """From several passages, until none adds anything."""
    used = model()
    result = long(used, shelf(LIFE, WORK, FRUIT))
    assert all(sentence in result.answer for sentence in [*SENTENCES["life"], *SENTENCES["work"]])
    assert (result.stop_reason, result.degraded, result.warnings) == ("sufficient", False, ())
    assert [c.support for c in result.claims] == ["supported"] * 3
    assert {c.citations[0].passage_id for c in result.claims} == {"life", "work"}
    by_id = {p.id: p.text for p in result.passages}
    assert all(by_id[c.passage_id][c.start : c.end] == c.quote for c in result.citations)
    assert used.count("relevance") == 3  # each passage once, however often it is read
    assert len(result.rounds) == 4
    assert result.rounds[1].draft.startswith(result.rounds[0].draft)


def test_chinese_sentences_are_joined_without_a_space() -> None:
    """As Chinese is written."""
    result = long(model(), shelf(ZH_LIFE), ZH_QUESTION)
    assert result.answer == "乔托出生于1267年。乔托于1337年去世。"
    assert result.stop_reason == "sufficient"


@pytest.mark.parametrize("segments", [1, 2])
def test_the_longest_answer_is_bounded_and_says_so(segments: int) -> None:
    """`max_segments` sentences at most; the cut is a warning."""
    result = long(model(), shelf(LIFE, WORK), max_segments=segments)
    assert (len(result.claims), len(result.rounds)) == (segments, segments)
    assert (result.stop_reason, result.degraded, codes(result)) == ("max_segments", True, {"answer_cut"})


@pytest.mark.parametrize("width", [1, 2])
def test_the_beam_bounds_what_is_written_side_by_side(width: int) -> None:
    """Per round one call for each beginning that is kept and each relevant passage."""
    used = model()
    result = long(used, shelf(LIFE, WORK), beam_width=width, max_segments=3)
    assert used.count("sentence") <= 2 + width * 2 * 2
    assert len(result.claims) == 3


def test_a_worse_beginning_may_be_the_better_path() -> None:
    """With a beam of two the second best start is kept and overtakes; greedily it is lost."""

    def useful(inputs: Mapping[str, str]) -> str:
        answer = inputs["answer"]
        if "died" in answer:
            return "1"
        if answer.startswith("Giotto painted"):
            return "3" if "born" not in answer else "5"
        return "4" if "painted" not in answer else "1"

    starts = {
        width: long(model(usefulness=useful), shelf(LIFE, WORK), beam_width=width, max_segments=2).answer[:14]
        for width in (1, 2)
    }
    assert starts == {1: "Giotto was bor", 2: "Giotto painted"}


def test_a_sentence_that_is_not_carried_is_never_added() -> None:
    """The answer ends before it, and is marked."""
    used = model(support={"died": "contradicted", "*": "supported"})
    result = long(used, shelf(LIFE))
    assert (result.answer, result.stop_reason, result.degraded) == ("Giotto was born in 1267.", "no_progress", True)
    first = long(model(support="not_supported"), shelf(LIFE))
    assert (first.answer, first.stop_reason) == ("Giotto was born in 1267.", "no_progress")
    assert "unsupported_answer" in codes(first)


@pytest.mark.parametrize(
    ("retrieve", "queries"),
    [
        pytest.param("yes", 3, id="searches again with the last sentence"),
        pytest.param({"nothing yet": "yes", "*": "continue"}, 1, id="continues with its passage"),
    ],
)
def test_each_sentence_decides_whether_to_search(retrieve: Any, queries: int) -> None:
    """A query that was sent is not sent again; the first sentence is decided once."""
    found = shelf(LIFE)
    used = model(retrieve=retrieve)
    result = long(used, found)
    assert result.answer == LIFE.text
    assert len(found.queries) == queries == len(set(found.queries))
    assert used.count("retrieve") == 3
    assert found.queries[0] == QUESTION
    assert all(query.startswith(f"{QUESTION} ") for query in found.queries[1:])


def test_a_sentence_without_passage_is_from_memory_and_marked() -> None:
    """[Retrieve] no amid an answer: written by the model alone, unchecked, and said so."""

    def sentence(inputs: Mapping[str, str]) -> str:
        if "Giotto was born" in inputs["passages"]:
            return "Giotto was born in 1267."
        return "END" if "Italian" in inputs["so_far"] else "He was Italian."

    used = model(sentence=sentence, retrieve={"nothing yet": "yes", "*": "no"})
    result = long(used, shelf(LIFE))
    assert result.answer == "Giotto was born in 1267. He was Italian."
    assert [c.support for c in result.claims] == ["supported", None]
    assert (result.degraded, "from_memory" in codes(result)) == (True, True)


@pytest.mark.parametrize(
    ("found", "stop"),
    [([FRUIT], "no_relevant_passages"), ([], "no_passages")],
    ids=["nothing relevant", "nothing"],
)
def test_without_evidence_the_model_answers_alone(found: list[Passage], stop: str) -> None:
    """As in the short form."""
    result = long(model(alone="A painter."), shelf(*found))
    assert (result.answer, result.stop_reason, result.degraded) == ("A painter.", stop, True)
    assert "from_memory" in codes(result)


@pytest.mark.parametrize("calls", [0, 1, 2, 3, 4, 5, 6, 9, 13, 17])
def test_budgets_hold_between_and_amid_sentences(calls: int) -> None:
    """The answer so far is given, the stop reason is true."""
    used = model()
    result = long(used, shelf(LIFE, WORK), budget={"lm_calls": calls})
    assert len(used.asked) <= calls
    assert (result.stop_reason, result.degraded) == ("budget_calls", True)
    assert {"budget_exhausted"} <= codes(result)


@pytest.mark.parametrize("role", ["retrieve", "relevance", "sentence", "support", "usefulness"])
def test_a_role_that_fails_does_not_end_in_an_error(role: str) -> None:
    """Rules take its place, which is said."""
    result = long(model(raises=frozenset({role})), shelf(LIFE, WORK))
    assert result.answer.startswith("Giotto")
    assert (result.degraded, "model_degraded" in codes(result)) == (True, True)


@pytest.mark.parametrize(
    "said", ["END", "END.", "[END]", "Giotto was born in 1267.", "unknown", "", "The passage does not say."]
)
def test_what_adds_nothing_ends_the_answer(said: str) -> None:
    """END in any spelling, a repetition, a refusal."""

    def sentence(inputs: Mapping[str, str]) -> str:
        return "Giotto was born in 1267." if inputs["so_far"] == "nothing yet" else said

    result = long(model(sentence=sentence), shelf(LIFE))
    assert (result.answer, result.stop_reason) == ("Giotto was born in 1267.", "sufficient")


@pytest.mark.parametrize(
    ("question", "passages"), [(QUESTION, [LIFE, WORK, FRUIT]), (ZH_QUESTION, [ZH_LIFE])], ids=["en", "zh"]
)
def test_rules_write_long_answers_from_the_passages_own_sentences(question: str, passages: list[Passage]) -> None:
    """Offline, cited, nothing off the matter."""
    result = long(None, shelf(*passages), question, mode="rules")
    assert "1267" in result.answer
    assert "Banana" not in result.answer
    assert all(claim.support == "supported" and claim.citations for claim in result.claims)
    assert "rules_only" in codes(result)


async def test_sync_and_async_agree() -> None:
    """On the beam too."""
    rag = SelfRAG(shelf(LIFE, WORK, FRUIT), long_form=True)
    with dspy.context(lm=model().lm):
        assert plain(rag(question=QUESTION)) == plain(await rag.acall(question=QUESTION))
