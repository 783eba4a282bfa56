"""Demos of predictors that are called several times a round: those calls that the final answer came from."""

from collections.abc import Callable
from typing import Any

import dspy
from dspy.lm15 import Request

from reflective_rag.data.records import Record
from reflective_rag.optimizers.answer_sources import Entry
from reflective_rag.optimizers.examples import to_examples
from reflective_rag.optimizers.loop_demos import useful_calls
from reflective_rag.programs import AgenticRAG, CorrectiveRAG, SelfRAG
from reflective_rag.signatures.types import Passage
from tests.fakes import asks_for, chat_reply, fake_lm, fields_of

BORN = "Giotto was born in 1267 near Florence."
SAID = "Giotto was a pupil of Cimabue, it is said."
TAUGHT = "Giotto was taught by Cimabue."
OTHER = "Giotto painted a chapel in Padua, finished in 1305."
QUESTION = "When was Giotto born?"
RECORD = Record.model_validate(
    {
        "id": "1",
        "question": QUESTION,
        "answers": ["1267"],
        "passages": [
            {"id": "a", "text": BORN, "supporting": True},
            {"id": "b", "text": TAUGHT, "supporting": True},
            {"id": "c", "text": OTHER},
        ],
    }
)


def traced(program: Any, reply: Callable[[Request], dict[str, Any]]) -> tuple[list[Entry], Any]:
    """Trace and result of the question, with a model that gives those of the fields that it is asked for."""

    def told(request: Request) -> str:
        return chat_reply(**{field: value for field, value in reply(request).items() if asks_for(request, field)})

    with dspy.context(lm=fake_lm(told), trace=[], adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        prediction = program(question=QUESTION)
        return list(dspy.settings.trace), prediction


def useful(trace: list[Entry], prediction: Any) -> list[Entry]:
    """What is kept of the run."""
    (example,) = to_examples([RECORD])
    return useful_calls(trace, example, prediction, lambda draft: draft == "1267")


def of(calls: list[Entry], output: str, *inputs: str) -> list[str]:
    """What the calls that gave `output` read in these fields, and what they gave."""
    return [
        " | ".join([*(str(read[name]) for name in inputs), str(given[output])])
        for predictor, read, given in calls
        if output in predictor.signature.output_fields
    ]


def critic(request: Request) -> dict[str, Any]:
    """Self-RAG: every passage is relevant, the one that tells the year gives it, the other the year of the chapel."""
    fields = fields_of(request)
    read, answer = fields.get("passages", ""), fields.get("answer", "")
    year = "1267" if "1267" in read else "1305"
    return {
        "retrieve": "yes",
        "relevance": "relevant",
        "answer": year,
        "cited": [1],
        "problem": "none",
        "support": "supported" if answer == "1267" else "not_supported",
        "usefulness": "5" if answer == "1267" else "2",
    }


def self_rag(*texts: str) -> SelfRAG:
    """Searches bring these passages."""
    return SelfRAG(lambda query, k: [Passage(id=f"p{i}", text=text) for i, text in enumerate(texts)])


def test_of_candidates_side_by_side_the_one_that_won_is_shown() -> None:
    """Two relevant passages give two answers in one round; the demo is the one that became the final answer."""
    trace, prediction = traced(self_rag(OTHER, BORN), critic)
    assert (prediction.answer, len(prediction.rounds)) == ("1267", 1)
    assert len(of(trace, "answer")) == 2
    assert of(useful(trace, prediction), "answer", "passages") == [f"[1] {BORN} | 1267"]


def test_of_equal_answers_the_one_from_the_winning_passage_is_shown() -> None:
    """The same year read out of a passage that does not carry it is no demo."""

    def lucky(request: Request) -> dict[str, Any]:
        told = critic(request)
        held = BORN in fields_of(request).get("passages", "")
        return {**told, "answer": "1267", "support": "supported" if held else "not_supported"}

    trace, prediction = traced(self_rag(OTHER, BORN), lucky)
    assert of(trace, "answer") == ["1267", "1267"]
    assert of(useful(trace, prediction), "answer", "passages") == [f"[1] {BORN} | 1267"]


def test_critics_verdicts_that_the_outcome_bears_out_are_shown() -> None:
    """A "supported" of the winner and a "not supported" of the wrong answer; not their opposites."""
    trace, prediction = traced(self_rag(OTHER, BORN), critic)
    kept = useful(trace, prediction)
    assert of(kept, "support", "answer") == ["1305 | not_supported", "1267 | supported"]
    assert of(kept, "usefulness", "answer") == ["1305 | 2", "1267 | 5"]
    assert of(kept, "retrieve") == ["yes"]

    def lenient(request: Request) -> dict[str, Any]:
        return {**critic(request), "support": "supported", "usefulness": "5"}

    trace, prediction = traced(self_rag(BORN, OTHER), lenient)
    assert prediction.answer == "1267"
    kept = useful(trace, prediction)
    assert of(kept, "support", "answer") == ["1267 | supported"]
    assert of(kept, "usefulness", "answer") == ["1267 | 5"]


def test_a_candidate_of_a_later_round_is_told_from_one_of_an_earlier_round() -> None:
    """Round 1 gives two wrong answers, round 2 the right one: only that is shown, and the query that found it."""

    def search(query: str, k: int) -> list[Passage]:
        if query == QUESTION:
            return [Passage(id="c", text=OTHER), Passage(id="d", text=SAID)]
        return [Passage(id="a", text=BORN)]

    def reply(request: Request) -> dict[str, Any]:
        return {**critic(request), "query": "birth year of the painter near Florence"}

    trace, prediction = traced(SelfRAG(search), reply)
    assert (prediction.answer, len(prediction.rounds)) == ("1267", 2)
    kept = useful(trace, prediction)
    assert of(trace, "answer") == ["1305", "1305", "1267"]
    assert of(kept, "answer", "passages") == [f"[1] {BORN} | 1267"]


def test_the_query_for_a_second_source_is_shown_where_its_passages_carry_the_answer() -> None:
    """The answer's passage tells whether CorrectiveRAG's second search was worth it."""

    def reply(request: Request) -> dict[str, Any]:
        told = any(BORN in text for text in fields_of(request).values())
        grade, year = ("relevant", "1267") if told else ("irrelevant", "1305")
        return {"relevance": grade, "query": "birth year of the painter", "answer": year, "cited": [1]}

    def rewrites(second: str) -> list[str]:
        first = [Passage(id="c", text=OTHER)]
        found = [Passage(id="a", text=second)]
        program = CorrectiveRAG(lambda query, k: first if query == QUESTION else found)
        trace, prediction = traced(program, reply)
        assert len(of(trace, "query")) == 1
        return of(useful(trace, prediction), "query")

    assert rewrites(BORN) == ["birth year of the painter"]
    assert rewrites(SAID) == []


PARTS = ["Who taught Giotto?", "Where was Giotto buried?", "When was Giotto born near Florence?"]


def planner(request: Request) -> dict[str, Any]:
    """Agentic: three independent sub-questions, of which the second finds nothing that tells it."""
    fields = fields_of(request)
    known = {PARTS[0]: "Cimabue", PARTS[2]: "1267"}
    asked = fields.get("question", "")
    return {
        "sub_questions": [{"question": part, "depends_on": []} for part in PARTS],
        "answer": known.get(asked, "1267" if "notes" in fields else "unknown"),
        "cited": [1],
        "query": "grave of the painter",
        "reasoning": "",
    }


def test_answers_to_sub_questions_are_shown_where_the_final_answer_used_them() -> None:
    """Side by side in one round: the two that went into the composition, not the "unknown" that did not."""

    def search(query: str, k: int) -> list[Passage]:
        text = TAUGHT if "taught" in query else BORN if "born" in query else OTHER
        return [Passage(id=text, text=text)]

    trace, prediction = traced(AgenticRAG(search), planner)
    assert prediction.answer == "1267"
    assert of(trace, "answer", "question")[:3] == [
        f"{PARTS[0]} | Cimabue",
        f"{PARTS[1]} | unknown",
        f"{PARTS[2]} | 1267",
    ]
    assert of(useful(trace, prediction), "answer", "question") == [
        f"{PARTS[0]} | Cimabue",
        f"{PARTS[2]} | 1267",
        f"{QUESTION} | 1267",
    ]


def test_the_answer_to_a_sub_question_from_a_wrong_passage_is_no_demo() -> None:
    """Where the record marks its passages, an answer that was read from none of them was a guess."""

    def search(query: str, k: int) -> list[Passage]:
        text = OTHER if "taught" in query else BORN
        return [Passage(id=text, text=text)]

    trace, prediction = traced(AgenticRAG(search), planner)
    assert f"{PARTS[0]} | Cimabue" in of(trace, "answer", "question")
    assert f"{PARTS[0]} | Cimabue" not in of(useful(trace, prediction), "answer", "question")
