"""AgenticRAG: break the question into sub-questions, search and answer each, then answer from all that was found.

Independent sub-questions run side by side, dependent ones when their answers are there (Self-Ask, Press et al., 2023,
arXiv 2210.03350, as a plan made beforehand).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import dspy

from reflective_rag.programs.judgements import draft_of
from reflective_rag.programs.material import Reading, reading_ask
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.nearest import show_nearest
from reflective_rag.programs.plain import plain_result, take_answer
from reflective_rag.programs.plans import MOST_PARTS, Part, read_plan, resolved
from reflective_rag.programs.repeats import is_repeat
from reflective_rag.programs.rewriting import rewrite_ask, rewritten
from reflective_rag.programs.searching import SearchFunction
from reflective_rag.programs.settings import build
from reflective_rag.programs.steps import Ask, Search, SearchOutcome, Steps, Substeps, answered, ask
from reflective_rag.programs.system_settings import AgenticSettings
from reflective_rag.programs.system_state import SystemState
from reflective_rag.signatures.answering import AnswerQuestion
from reflective_rag.signatures.gaps import RewriteQuery
from reflective_rag.signatures.systems import ComposeAnswer, Decompose
from reflective_rag.signatures.text import normalize, without_markup
from reflective_rag.signatures.types import Draft, Passage
from reflective_rag.signatures.wording import phrase

SILENT = "the passages that it brought do not tell the answer"
"""What the rewriter is told of a query whose passages gave no answer."""


@dataclass(kw_only=True)
class AgenticState(SystemState):
    """The plan, what each sub-question became once it could be asked, its passages, and its answer."""

    plan: tuple[Part, ...] = ()
    wording: dict[int, str] = field(default_factory=dict)
    passages: dict[int, list[Passage]] = field(default_factory=dict)
    answers: dict[int, Draft] = field(default_factory=dict)
    results: dict[str, list[Passage]] = field(default_factory=dict)
    """Query in its normal form → what it brought; no query is sent twice."""
    left_out: int = 0
    """Sub-questions beyond `MOST_PARTS`."""

    def reading_of(self, number: int) -> Reading:
        """A sub-question with its own passages."""
        return Reading(
            question=self.wording[number],
            passages=self.passages[number][: self.settings.max_passages],
            requirements=(),
            today=self.today,
            passage_chars=self.settings.passage_chars,
        )

    @property
    def is_answered(self) -> bool:
        """Whether every sub-question has an answer."""
        return all(part.number in self.answers and self.answers[part.number].answer for part in self.plan)


class AgenticRAG(RagModule):
    """Decompose, search each sub-question, answer it from its passages (one retry), then compose the answer.

    It stops when all sub-questions are answered, or have been tried twice. A decomposition that cannot be carried out
    (unreadable, in a circle) is replaced by the question itself, with the warning `model_degraded`; of one with more
    than `MOST_PARTS` sub-questions the first are worked on, with the warning `plan_cut`. It needs a model.

    Args:
        search: `search(query, k)`; see `ReflectiveRAG`.
        options: Any field of `AgenticSettings` (k, max_passages, budget, …).
    """

    name = "agentic"
    needs_model = True

    def __init__(self, search: SearchFunction | None = None, *, today: date | None = None, **options: Any) -> None:
        super().__init__(search, today=today)
        self.settings = build(AgenticSettings, options)
        self.decompose = dspy.Predict(Decompose)
        self.answer = dspy.Predict(AnswerQuestion)
        self.rewrite = dspy.Predict(RewriteQuery)
        self.compose = dspy.Predict(ComposeAnswer)
        show_nearest(self, self.settings.nearest_demos)

    def calls_per_question(self) -> tuple[int, int]:
        """A question that stays whole, and four sub-questions that all need their retry; then the answer."""
        return 2, 2 + 3 * MOST_PARTS

    def steps(self, question: str) -> Steps:
        """Plan, work through it level by level, compose."""
        state = AgenticState(question=question, settings=self.settings, today=self.today or date.today())
        yield from self._decompose(state)
        while (ready := _ready(state)) and not state.is_over:
            yield from self._work_on(state, ready)
        if not state.results:
            yield from self._search(state, {1: question})  # there was no call to spare for a plan
        if not len(state.pool):
            state.end("no_passages")
        elif state.is_answered:
            state.end("max_parts" if state.left_out else "finished")
        else:
            state.end("max_rounds")
        draft = yield from self._compose(state)
        return plain_result(state, draft, rounds=tuple(state.rounds))

    def _decompose(self, state: AgenticState) -> Substeps[None]:
        state.plan = (Part(1, state.question),)
        if not state.may_ask(1):
            return
        inputs = {"question": without_markup(state.question)}
        outcome = yield from ask(Ask(name="decompose", predictor=self.decompose, inputs=inputs, phase="rewrite"))
        if state.took(outcome):
            state.plan, bad, state.left_out = read_plan((outcome.fields or {}).get("sub_questions"), state.question)
            state.unread(bad)
            if bad:
                state.replaced("decompose")
        if state.left_out:
            total = MOST_PARTS + state.left_out
            state.warn("plan_cut", phrase("left_out", state.question, count=state.left_out, total=total))

    def _work_on(self, state: AgenticState, ready: Sequence[Part]) -> Substeps[None]:
        """Search and answer these sub-questions side by side; those without an answer once more, with another query."""
        answers = {number: draft.answer for number, draft in state.answers.items()}
        state.wording |= {part.number: resolved(part, answers, state.plan) for part in ready}
        yield from self._search(state, {part.number: state.wording[part.number] for part in ready})
        yield from self._answer(state, [part.number for part in ready])
        silent = [part.number for part in ready if not state.answers[part.number].answer]
        if silent and not (state.is_over or state.is_closed):
            queries = yield from self._rewrite(state, silent)
            yield from self._search(state, queries)
            yield from self._answer(state, list(queries))

    def _search(self, state: AgenticState, queries: Mapping[int, str]) -> Substeps[None]:
        """One search for each query that was not sent before, side by side."""
        new = {normalize(query): query for query in queries.values() if normalize(query) not in state.results}
        steps = [Search(queries=(query,), k=self.settings.k) for query in new.values()]
        outcomes = (yield steps) if steps else ()
        ran: tuple[str, ...] = ()
        retrieved = entered = 0
        for key, outcome in zip(new, outcomes, strict=True):
            assert isinstance(outcome, SearchOutcome)
            entered += len(state.take(outcome))
            retrieved += len(outcome.passages)
            ran += outcome.ran
            kept = (state.pool.find(passage) for passage in outcome.passages)
            state.results[key] = list({p.id: p for p in kept if p is not None}.values())
        for number, query in queries.items():
            known = {p.id: p for p in (*state.results[normalize(query)], *state.passages.get(number, ()))}
            state.passages[number] = list(known.values())
        if ran:
            yield [state.close(ran, retrieved, entered)]

    def _answer(self, state: AgenticState, numbers: Sequence[int]) -> Substeps[None]:
        """An answer to each sub-question from its own passages, side by side."""
        for number in numbers:
            state.answers.setdefault(number, Draft(answer=""))
        wanted = [number for number in numbers if state.passages[number]]
        # A question that stayed whole is answered here, so no call is kept for later.
        wanted = wanted[: state.may_ask(len(wanted), spare=int(len(state.plan) > 1))]
        readings = {number: state.reading_of(number) for number in wanted}
        steps = [reading_ask(self.answer, "answer", "answer", reading) for reading in readings.values()]
        outcomes = (yield steps) if steps else ()
        for (number, reading), outcome in zip(readings.items(), map(answered, outcomes), strict=True):
            if not state.took(outcome):
                continue
            draft = draft_of(outcome, reading.passages)
            if draft is None:
                state.unread_answer()
            else:
                state.unread(draft.unreadable)
            state.answers[number] = draft or Draft(answer="")

    def _rewrite(self, state: AgenticState, numbers: Sequence[int]) -> Substeps[dict[int, str]]:
        """Another query for each of these sub-questions; those for which there is none are left out."""
        numbers = numbers[: state.may_ask(len(numbers))]
        steps = [rewrite_ask(self.rewrite, state.wording[n], state.tried, SILENT) for n in numbers]
        outcomes = (yield steps) if steps else ()
        queries: dict[int, str] = {}
        for number, outcome in zip(numbers, map(answered, outcomes), strict=True):
            query = rewritten(state, outcome) if state.took(outcome) else ""
            if query and not is_repeat(query, [*state.tried, *queries.values()]):
                queries[number] = query
        return queries

    def _compose(self, state: AgenticState) -> Substeps[Draft]:
        """The answer from the best passages of all, those that carry the sub-answers first."""
        cited = {id_ for draft in state.answers.values() for id_ in draft.cited}
        if len(state.plan) == 1 and state.answers.get(1, Draft(answer="")).answer:
            state.reading = state.reading_of(1)  # the question itself was asked: its answer is the answer
            return state.answers[1]
        if len(state.plan) == 1:
            return (yield from state.last_draft(self, self.settings.max_passages))
        reading = state.read(self.settings.max_passages, covering=cited)
        if not reading.passages or state.stop == "model_error":
            return state.extracted(self.settings.max_passages) if reading.passages else Draft(answer="")
        inputs = {**reading.inputs(), "notes": _notes(state, reading)}
        step = Ask(name="compose", predictor=self.compose, inputs=inputs, phase="answer", demo_inputs=reading.demo)
        return take_answer(state, (yield from ask(step)))


def _ready(state: AgenticState) -> list[Part]:
    """The sub-questions whose turn it is: not tried yet, and all that they need was tried."""
    return [p for p in state.plan if p.number not in state.answers and state.answers.keys() >= set(p.needs)]


def _notes(state: AgenticState, reading: Reading) -> str:
    """The sub-questions with their answers and the numbers of their passages, one a line."""
    number_of = {passage.id: i for i, passage in enumerate(reading.passages, 1)}
    lines = []
    for part in state.plan:
        draft = state.answers.get(part.number, Draft(answer=""))
        where = "".join(f" [{number_of[id_]}]" for id_ in draft.cited if id_ in number_of)
        lines.append(f"{part.number}. {state.wording.get(part.number, part.question)} → {draft.answer or '?'}{where}")
    return without_markup("\n".join(lines))
