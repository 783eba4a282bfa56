"""SelfRAG's short form: what is asked, in which order, which answer is taken, and what is said of it."""

from collections.abc import Sequence
from typing import Any

import dspy
import pytest

from reflective_rag.programs import SelfRAG, result_of
from reflective_rag.programs.steps import Ask, Steps
from reflective_rag.signatures import answering, gaps, self_rag
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage, Result
from tests.fakes import FakeLM
from tests.programs.self_rag_worlds import (
    BORN,
    FRUIT,
    QUESTION,
    WRONG,
    ZH_BORN,
    ZH_FRUIT,
    ZH_QUESTION,
    Model,
    Shelf,
    ask,
    codes,
)
from tests.programs.worlds import plain

CRITICS = {
    "retrieve": self_rag.DecideRetrieval,
    "relevance": self_rag.JudgePassage,
    "support": answering.JudgeSupport,
    "usefulness": self_rag.RateUsefulness,
}
ALONE = {"alone": self_rag.AnswerAlone}
WRITERS = {"answer": answering.AnswerQuestion, "rewrite": gaps.RewriteQuery, **ALONE}


def without(names: Sequence[str], predictors: dict[str, Any]) -> dict[str, Any]:
    """The predictors but some."""
    return {name: signature for name, signature in predictors.items() if name not in names}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, {**CRITICS, **WRITERS}, id="default"),
        pytest.param({"retrieval": "always"}, {**without(["retrieve"], CRITICS), **WRITERS}, id="always"),
        pytest.param(
            {"retrieval": "always", "answer_from_memory": False},
            {**without(["retrieve"], CRITICS), **without(["alone"], WRITERS)},
            id="never from memory",
        ),
        pytest.param({"retrieval": "never"}, {"usefulness": self_rag.RateUsefulness, **ALONE}, id="never"),
        pytest.param(
            {"critics": {"support": "rules", "relevance": "models"}},
            {**without(["support", "relevance"], CRITICS), **WRITERS},
            id="other back ends for two critics",
        ),
        pytest.param({"long_form": True}, {**CRITICS, "proceed": self_rag.ContinueAnswer, **ALONE}, id="long form"),
        pytest.param({"mode": "rules"}, {}, id="rules"),
        pytest.param(
            {"mode": "rules", "critics": {"support": "lm"}},
            {"support": answering.JudgeSupport},
            id="rules, but the model checks support",
        ),
    ],
)
def test_only_the_predictors_of_the_configuration_are_built(options: Any, expected: dict[str, Any]) -> None:
    """Names and signatures are pinned: optimizers and artefacts hang on them."""
    program = SelfRAG(**options)
    assert {name: p.signature for name, p in program.named_predictors()} == expected
    assert {name for name, _ in program.named_parameters()} == {*expected, "controls"}


def test_a_good_answer_ends_the_first_round() -> None:
    """Decide, filter, answer from what is relevant, criticise; each critic once; a true result of the common type."""
    model = Model()
    result = ask(model)
    assert model.roles() == ["answer", "relevance", "relevance", "retrieve", "support", "usefulness"]
    assert (result.answer, result.stop_reason, result.degraded, result.warnings) == ("1267", "sufficient", False, ())
    assert (result.confidence, result.evidence_score, result.need_retrieval) == (1.0, 1.0, True)
    assert (result.retrieved_count, result.relevant_count, result.candidate_count, result.retrievals) == (2, 1, 1, 1)
    assert [(c.passage_id, c.quote) for c in result.citations] == [("born", BORN.text)]
    assert [(p.passage.id, p.reason) for p in result.dropped] == [("fruit", "judged irrelevant")]
    assert [(r.queries, r.draft, r.decision.action) for r in result.rounds] == [((QUESTION,), "1267", "generate")]
    assert set(result.keys()) == set(Result.model_fields)
    assert isinstance(result_of(result), Result)


class Counted(SelfRAG):
    """Notes how many calls each batch holds."""

    batches: list[int]

    def steps(self, question: str) -> Steps:
        """The steps of SelfRAG, watched."""
        inner = super().steps(question)
        self.batches = []
        try:
            batch = next(inner)
            while True:
                if calls := sum(isinstance(step, Ask) for step in batch):
                    self.batches.append(calls)
                batch = inner.send((yield batch))
        except StopIteration as stop:
            result: Result = stop.value
            return result


def test_ten_passages_take_four_calls_in_a_row() -> None:
    """What is independent runs side by side: 1 decision, 10 filters, 10 answers, 10 claims with 1 rating."""
    corpus = [Passage(id=str(i), text=f"In book {i} Giotto was born in 1267, page {i * 7}.") for i in range(10)]
    rag = Counted(Shelf({"": corpus}), near_duplicate=None)
    with dspy.context(lm=Model().lm):
        rag(question=QUESTION)
    assert rag.batches == [1, 10, 10, 11]


@pytest.mark.parametrize(
    ("verdicts", "options", "answer", "stop"),
    [
        pytest.param(
            {"support": {"1267": "supported", "*": "not_supported"}}, {}, "1267", "sufficient", id="supported one wins"
        ),
        pytest.param({"usefulness": {"1267": "3", "1276": "5"}}, {}, "1276", "sufficient", id="more useful one wins"),
        pytest.param(
            {"usefulness": {"1267": "3", "1276": "5"}, "support": {"1276": "contradicted", "*": "supported"}},
            {},
            "1267",
            "sufficient",
            id="support outranks usefulness",
        ),
        pytest.param(
            {"usefulness": {"1267": "3", "1276": "5"}},
            {"weights": {"usefulness": 0}},
            "1267",
            "sufficient",
            id="without weight the first of equals",
        ),
        pytest.param({"usefulness": "2"}, {"max_rounds": 1}, "1267", "max_rounds", id="useless both"),
        pytest.param({"usefulness": "2"}, {"min_usefulness": 2}, "1267", "sufficient", id="a lower bar"),
        pytest.param({"support": "partially"}, {"max_rounds": 1}, "1267", "max_rounds", id="partially is not enough"),
        pytest.param({"support": "partially"}, {"min_support": "partially"}, "1267", "sufficient", id="unless allowed"),
    ],
)
def test_which_answer_is_taken_and_whether_it_is_enough(
    verdicts: dict[str, Any], options: dict[str, Any], answer: str, stop: str
) -> None:
    """By support, then by score; good enough needs support and usefulness. Less is degraded and carries a warning."""
    result = ask(Model(**verdicts), Shelf({"": [BORN, WRONG]}), **options)
    assert (result.answer, result.stop_reason) == (answer, stop)
    assert result.degraded == (stop != "sufficient")
    assert not result.degraded or result.warnings


def test_the_query_is_rewritten_with_the_reason_and_only_new_passages_are_read() -> None:
    """The second round is told why the first failed; its supported answer beats the first round's."""
    model = Model(support={"1276": "contradicted", "*": "supported"}, problem="Vasari errs")
    shelf = Shelf({"date of birth": [WRONG, BORN], "": [WRONG, FRUIT]})
    result = ask(model, shelf)
    assert shelf.queries == [QUESTION, "Giotto date of birth"]
    (told,) = model.inputs("query")
    assert told["problem"].startswith("contradicted by “Vasari: Giotto di Bondone was born in 1276")
    assert "Vasari errs" in told["problem"]
    assert model.count("relevance") == 3
    assert (result.answer, result.stop_reason, result.degraded) == ("1267", "sufficient", False)
    assert [(r.new, r.draft, r.decision.action) for r in result.rounds] == [
        (2, "1276", "retrieve_more"),
        (1, "1267", "generate"),
    ]


def test_the_result_shows_what_every_candidate_was_worth() -> None:
    """Each passage's answer with [IsREL], [IsSUP], [IsUSE] and the paper's score; one is chosen."""
    support, useful = {"1276": "not_supported", "*": "supported"}, {"1276": "4", "*": "5"}
    result = ask(Model(support=support, usefulness=useful), Shelf({"": [WRONG, BORN, FRUIT]}))
    shown = {
        c.passage_id: (c.answer, c.relevance, c.support, c.usefulness, c.score, c.chosen) for c in result.candidates
    }
    assert shown == {
        "wrong": ("1276", 1.0, "not_supported", 4.0, 1.25, False),
        "born": ("1267", 1.0, "supported", 5.0, 2.5, True),
    }
    assert result.candidate_count == len(result.candidates)


@pytest.mark.parametrize(
    ("model", "options", "ids"),
    [
        pytest.param(None, {"mode": "rules"}, {"born"}, id="rules"),
        pytest.param(Model(retrieve="no"), {}, {None}, id="the model alone"),
        pytest.param(Model(sentence=lambda i: "END" if "1267" in i["so_far"] else "Born in 1267."),
            {"long_form": True}, {"born"}, id="long"),
    ],
)  # fmt: skip
def test_candidates_are_shown_whoever_judges(
    model: Model | None, options: dict[str, Any], ids: set[str | None]
) -> None:
    """By rules, from memory, and as the sentences of a long answer; what is chosen is in the answer."""
    result = ask(model, **options)
    chosen = [c for c in result.candidates if c.chosen]
    assert {c.passage_id for c in chosen} == ids
    assert all(c.answer in result.answer for c in chosen)
    assert len(result.candidates) == result.candidate_count


def test_the_best_of_all_rounds_is_the_answer_not_the_last() -> None:
    """A second round that does worse changes nothing, and the end is degraded."""
    model = Model(support={"1276": "not_supported", "*": "partially"})
    result = ask(model, Shelf({"date of birth": [WRONG], "": [BORN]}))
    assert (result.answer, result.stop_reason, result.degraded) == ("1267", "max_rounds", True)
    assert {"insufficient_evidence", "unsupported_answer"} <= codes(result)
    assert result.candidate_count == 2


@pytest.mark.parametrize(
    ("verdicts", "shelf", "stop"),
    [
        pytest.param({"query": QUESTION}, {"": [BORN]}, "no_new_query", id="the rewrite repeats the question"),
        pytest.param({"query": ""}, {"": [BORN]}, "no_new_query", id="an empty rewrite"),
        pytest.param({}, {"": [BORN]}, "no_new_passages", id="the same passages again"),
        pytest.param({"raises": frozenset({"query"})}, {"": [BORN]}, "model_error", id="the rewriter fails"),
    ],
)
def test_a_retry_that_cannot_help_ends_the_run(verdicts: dict[str, Any], shelf: Any, stop: str) -> None:
    """The stop reason says why, and the best answer so far is given."""
    result = ask(Model(support="not_supported", **verdicts), Shelf(shelf), max_rounds=5)
    assert (result.answer, result.stop_reason, result.degraded) == ("1267", stop, True)


@pytest.mark.parametrize("rule", ["lm", "rules"])
def test_a_search_that_brings_nothing_new_is_a_round(rule: str) -> None:
    """Also the last one, and the first: nothing was judged in it, and its decision says why the run ended."""
    model = Model(support="not_supported") if rule == "lm" else None
    options: dict[str, Any] = {"mode": rule} | ({} if model else {"min_usefulness": 5, "min_support": "supported"})
    shelf = Shelf({"": [FRUIT]}) if rule == "rules" else Shelf({"": [BORN]})
    result = ask(model, shelf, **options)
    assert [r.queries for r in result.rounds] == [(query,) for query in shelf.queries]
    assert len(shelf.queries) == result.retrievals == 2
    last = result.rounds[-1]
    assert (last.number, last.retrieved, last.new, last.assessment) == (2, 1, 0, None)
    assert last.decision.stop == "no_new_passages"
    (first,) = ask(model, Shelf({}), **options).rounds
    assert (first.number, first.retrieved, first.decision.stop) == (1, 0, "no_passages")


def test_identical_answers_pool_in_a_closed_set() -> None:
    """Two middling passages outvote one good one only where the setting says so."""
    corpus = [
        Passage(id="1", text="Yes, born."),
        Passage(id="2", text="No, not born."),
        Passage(id="3", text="He was never born."),
    ]
    verdicts: dict[str, Any] = {
        "answer": {"Yes": "yes", "*": "no"},
        "support": {"Yes": "supported", "*": "partially"},
    }
    options: dict[str, Any] = {"max_rounds": 1, "near_duplicate": None, "question": "Was he born?"}
    assert ask(Model(**verdicts), Shelf({"": corpus}), **options).answer == "yes"
    model = Model(**verdicts)
    assert ask(model, Shelf({"": corpus}), closed_set=True, **options).answer == "no"
    assert model.count("usefulness") == 2  # identical answers are rated once


@pytest.mark.parametrize(
    ("question", "corpus", "answer"),
    [(QUESTION, [BORN, FRUIT], "1267"), (ZH_QUESTION, [ZH_BORN, ZH_FRUIT], "1267")],
    ids=["en", "zh"],
)
@pytest.mark.parametrize("options", [{"mode": "rules"}, {}], ids=["asked for", "no model configured"])
def test_rules_do_all_of_it_without_a_model(question: str, corpus: Any, answer: str, options: dict[str, Any]) -> None:
    """Offline: filter, extract, check, rate; it says so."""
    result = ask(None, Shelf({"": corpus}), question, **options)
    assert answer in result.answer
    assert (result.stop_reason, result.relevant_count, codes(result)) == ("sufficient", 1, {"rules_only"})
    assert result.citations[0].passage_id == corpus[0].id
    assert sum(usage.calls for usage in result.usage.values()) == 0


@pytest.mark.parametrize("seconds", [None, 60.0], ids=["pool", "deadline"])
async def test_sync_async_and_stream_agree(seconds: float | None) -> None:
    """One loop, four doors, two rounds."""

    def model() -> FakeLM:
        return Model(support={"1276": "contradicted", "*": "supported"}).lm

    rag = SelfRAG(Shelf({"date of birth": [BORN], "": [WRONG, FRUIT]}), budget={"seconds": seconds})
    with dspy.context(lm=model(), adapter=dspy.ChatAdapter()):
        results = [rag(question=QUESTION), await rag.acall(question=QUESTION)]
        events = list(rag.stream(question=QUESTION))
        results += [events[-1].result, [e async for e in rag.astream(question=QUESTION)][-1].result]
    assert all(plain(r) == plain(results[0]) for r in results)
    assert [e.round.number for e in events if e.kind == "round" and e.round] == [1, 2]
    assert (events[0].kind, events[0].step) == ("started", "retrieve")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"min_usefulness": 6}, "`min_usefulness`.*6"),
        ({"retrieval_threshold": -1}, "`retrieval_threshold`"),
        ({"weights": {"relevance": -1}}, "`weights.relevance`"),
        ({"min_support": "fully"}, "`min_support`.*'fully'"),
        ({"critics": {"usefulness": "models"}}, "`critics.usefulness`"),
        ({"theta": 0.5}, "unknown option 'theta'.*min_usefulness"),
        ({"mode": "rules", "retrieval": "never"}, "'never' needs a model"),
        ({"long_form": True, "retrieval": "never"}, "`long_form`"),
    ],
)
def test_what_cannot_work_is_one_config_error(options: dict[str, Any], named: str) -> None:
    """Before anything is spent."""
    with pytest.raises(ConfigError, match=named):
        SelfRAG(**options)
