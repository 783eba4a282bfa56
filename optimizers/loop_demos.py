"""Which calls of a loop's run are worth showing as demos.

A predictor of a loop is called once a round, and DSPy's bootstrapping takes the last call or, every other time, an
earlier one at random, whatever the call achieved. Here the trace is cut to the
useful calls before it is taken:

- a judgement that was right to stop (the accepted answer followed), right to go on (the next round made progress), or
  that saw a gap closed;
- a query that brought progress;
- an answer that the metric accepts, or an admitted "unknown" in a round that was rightly not enough; of answers that
  were written side by side, those that the final answer came from (see `answer_sources`);
- a relevance verdict that agrees with the record's labels, and a critic's verdict that agrees with how the run ended.

To which round a call belongs is marked when it is made (see `trace_marks`); one without a mark is left out.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from reflective_rag.optimizers.answer_sources import Ending, Entry, said
from reflective_rag.optimizers.labels import passages_text, shows, supporting_found
from reflective_rag.programs.judgements import is_refusal
from reflective_rag.programs.scoring import made_progress
from reflective_rag.programs.trace_marks import round_of
from reflective_rag.signatures.types import Round

Kind = Literal["judge", "answer", "both", "query", "relevance", "critic", "other"]
_JUDGED = {"sufficient", "needs", "contradictions", "outdated", "relevant"}
_CRITICS = {"retrieve", "support", "usefulness"}


class LoopAware:
    """A metric for bootstrapping: an accepted run keeps only its useful calls, and one without any is not accepted.

    It changes the trace in place, which is what DSPy's bootstrapping reads after the metric. Elsewhere it is the inner
    metric. Programs without rounds are left alone.
    """

    def __init__(self, metric: Any) -> None:
        self.metric = metric

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __call__(
        self, example: Any, prediction: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> Any:
        """The inner metric's value; False for an accepted run whose calls are all useless."""
        value = self.metric(example, prediction, trace, pred_name, pred_trace)
        if not isinstance(trace, list) or pred_name is not None or not value:
            return value
        trace[:] = useful_calls(trace, example, prediction, lambda draft: self._accepts(example, prediction, draft))
        return value if trace else False

    def _accepts(self, example: Any, prediction: Any, draft: str) -> bool:
        """Whether the run would have been accepted with this draft as its answer."""
        other = type(prediction)(**{**dict(prediction.items()), "answer": draft, "abstained": not draft})
        return bool(self.metric(example, other, [], None, None))


def useful_calls(trace: Sequence[Entry], example: Any, prediction: Any, right: Callable[[str], bool]) -> list[Entry]:
    """The calls of an accepted run that are worth showing, in their order.

    Args:
        trace: The run's calls.
        example: Labels, as of `to_examples`; used where present.
        prediction: The run's result; without `rounds` every call is kept.
        right: Whether the metric accepts an answer's text for this question.
    """
    rounds: tuple[Round, ...] = tuple(getattr(prediction, "rounds", None) or ())
    if not rounds:
        return list(trace)
    ending = Ending(trace, example, prediction, right)
    run = _Run(rounds, progress_of(prediction, rounds), example, prediction, ending, trace)
    calls: dict[int, list[Entry]] = {}
    for entry in trace:
        calls.setdefault(id(entry[0]), []).append(entry)
    kept = {id(entry) for same in calls.values() for entry in run.useful(same)}
    return [entry for entry in trace if id(entry) in kept]


def progress_of(prediction: Any, rounds: Sequence[Round]) -> list[bool]:
    """For each round, whether it closed a gap or bettered the evidence; the first one has nothing to better."""
    closed = {gap.ended for gap in getattr(prediction, "gaps", None) or () if gap.status == "closed"}
    found = []
    for index, this in enumerate(rounds):
        before = rounds[index - 1].assessment if index else None
        better = before is not None and this.assessment is not None and made_progress(before, this.assessment)
        found.append(index > 0 and (this.number in closed or better))
    return found


def kind_of(predictor: Any) -> Kind:
    """What a predictor does, by its fields: wrapped and renamed programs have the same signatures."""
    outputs, inputs = set(predictor.signature.output_fields), set(predictor.signature.input_fields)
    if "answer" in outputs and "draft" not in inputs:
        return "both" if outputs & _JUDGED else "answer"
    if outputs & _JUDGED:
        return "judge"
    if outputs == {"relevance"}:
        return "relevance"
    if outputs & _CRITICS:
        return "critic"
    return "query" if outputs in ({"query"}, {"gaps"}) else "other"


@dataclass(frozen=True)
class _Run:
    rounds: Sequence[Round]
    progress: Sequence[bool]
    example: Any
    prediction: Any
    ending: Ending
    trace: Sequence[Entry]

    def useful(self, calls: Sequence[Entry]) -> list[Entry]:
        """Of one predictor's calls, those worth showing."""
        kind = kind_of(calls[0][0])
        if kind == "other":
            return list(calls)
        if kind == "query":
            return [call for call in calls if self._brought_progress(call)]
        if kind == "relevance":
            return [call for call in calls if self._agrees(call)]
        if kind == "critic":
            return [call for call in calls if self.ending.agrees(call)]
        if kind == "answer":
            return self._useful_answers(calls)
        return [call for call in calls if (i := self._round(call)) is not None and self._round_is_useful(kind, i, call)]

    def _round(self, call: Entry) -> int | None:
        return round_of(call[2], self.rounds)

    def _useful_answers(self, calls: Sequence[Entry]) -> list[Entry]:
        if self.ending.notes and "notes" not in calls[0][1]:
            return [call for call in calls if self.ending.noted(call)]
        if len(calls) == 1:
            return list(calls) if self.ending.accepted(calls[0]) or self._answered_in_its_round(calls[0]) else []
        alone = Counter(self._round(call) for call in calls)
        return [
            call
            for call in calls
            if (self._answered_in_its_round(call) if alone[self._round(call)] == 1 else self.ending.won(call))
        ]

    def _answered_in_its_round(self, call: Entry) -> bool:
        index = self._round(call)
        return index is not None and self._answered_well(index, call)

    def _round_is_useful(self, kind: Kind, index: int, call: Entry) -> bool:
        return self._judged_well(index) and (kind == "judge" or self._answered_well(index, call))

    def _judged_well(self, index: int) -> bool:
        decision = self.rounds[index].decision
        if decision is None:
            return False
        stopped = index == len(self.rounds) - 1 and decision.action != "retrieve_more"
        if stopped and (decision.action == "abstain" or decision.stop == "sufficient"):
            return True
        return self._not_enough(index) or self.progress[index]

    def _not_enough(self, index: int) -> bool:
        """Whether going on was right: the next round brought something, or silence was the right end."""
        decision = self.rounds[index].decision
        if decision is None or decision.action == "generate":
            return False
        return decision.action == "abstain" or (index + 1 < len(self.rounds) and self.progress[index + 1])

    def _answered_well(self, index: int, call: Entry) -> bool:
        text = said(call)
        return self._not_enough(index) if is_refusal(text) else self.ending.right(text)

    def _brought_progress(self, call: Entry) -> bool:
        """Whether a query of this output was sent for a round that got on, or a gap that it names was closed."""
        output = call[2]
        gaps = list(output.get("gaps") or ())
        queries = {_told(gap, "query") for gap in gaps} if gaps else {str(output.get("query") or "").strip()}
        sent = {
            query
            for index, this in enumerate(self.rounds)
            if self.progress[index] or self._is_noted(index) or self._carried(index)
            for query in this.queries
        }
        closed = {record.gap.need for record in self.prediction.get("gaps") or () if record.status == "closed"}
        return bool(queries & sent or {_told(gap, "need") for gap in gaps} & closed)

    def _is_noted(self, index: int) -> bool:
        """Whether every sub-question that this round searched for got an answer that the final one came from."""
        if not self.ending.notes or index == 0:
            return False
        asked = [c for c in self.trace if self._round(c) == index and kind_of(c[0]) == "answer" and "notes" not in c[1]]
        return bool(asked) and all(map(self.ending.noted, asked))

    def _carried(self, index: int) -> bool:
        """Whether a last round that nobody judged brought a passage that carries the answer and no earlier one had."""
        if index == 0 or index + 1 < len(self.rounds) or self.rounds[index].assessment is not None:
            return False
        judged = [this.assessment for this in self.rounds[:index] if this.assessment is not None]
        before = {id_ for assessment in judged for id_ in assessment.passage_relevance}
        return bool(before) and any(source.id not in before for source in self.ending.sources)

    def _agrees(self, call: Entry) -> bool:
        if not getattr(self.example, "supporting", None):
            return True
        gold = any(shows(passages_text(call[1]), p) for p in supporting_found(self.example, self.prediction))
        return gold == (str(call[2].get("relevance")) != "irrelevant")


def _told(gap: Any, name: str) -> str:
    return str(gap.get(name) if isinstance(gap, dict) else getattr(gap, name, "")).strip()
