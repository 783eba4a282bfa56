"""GEPA's metric: the score, and in words what was wrong with the run and with the one call under reflection.

The words are English, whatever the question's language: the model that reads them writes instructions. They quote what
the record's labels and the result say, and nothing is asked of a model.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dspy

from reflective_rag.optimizers.evidence_scores import cited_passages
from reflective_rag.optimizers.feedback_calls import feedback_on_call
from reflective_rag.optimizers.scores import containment, exact_match, f1
from reflective_rag.signatures.errors import ContractError
from reflective_rag.signatures.types import Passage

SHORT = 160
"""Characters of a quotation."""


class FeedbackMetric:
    """`metric(gold, pred, trace, pred_name, pred_trace)` → `dspy.Prediction(score, feedback)`, as dspy.GEPA wants it.

    The score is that of the inner metric, also where GEPA asks about one predictor.
    """

    def __init__(self, metric: Any) -> None:
        self.metric = metric

    def __call__(
        self, gold: Any, pred: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> dspy.Prediction:
        """Score and feedback. Raises `ContractError` as the inner metric does."""
        score = self.metric.score(gold, pred)
        lines = [*_on_call(gold, pred, pred_trace), *feedback_on_run(gold, pred)]
        return dspy.Prediction(score=score, feedback="\n".join([f"Score {score:.2f}.", *lines]))


def _on_call(gold: Any, pred: Any, pred_trace: Any) -> list[str]:
    if not pred_trace:
        return []
    predictor, inputs, outputs = pred_trace[0]
    return (
        list(feedback_on_call(predictor, inputs, outputs, gold, pred))
        if isinstance(outputs, Mapping | dspy.Example)
        else []
    )


def feedback_on_run(gold: Any, pred: Any) -> Iterator[str]:
    """What was wrong with a run as a whole: its answer, its evidence, its citations."""
    yield _on_answer(gold, pred)
    yield from _on_evidence(gold, pred)
    yield from _on_citations(gold, pred)
    yield from _on_claims(pred)


def _on_answer(gold: Any, pred: Any) -> str:
    answer = str(getattr(pred, "answer", "") or "")
    silent = bool(getattr(pred, "abstained", False)) or not answer.strip()
    answers = _accepted(gold)
    right = " or ".join(map(repr, answers[:3]))
    if not getattr(gold, "answerable", True):
        return (
            "It rightly gave no answer: the passages hold none."
            if silent
            else f"It answered {answer[:SHORT]!r}, but no answer is right here: it should have said 'unknown'."
        )
    if silent:
        return f"It wrongly gave no answer: the right answer is {right}."
    wrong = [text for text in getattr(gold, "wrong_answers", None) or () if containment(answer, [text])]
    if wrong:
        return f"It answered {answer[:SHORT]!r}, taken from a passage that is false: the right answer is {right}."
    if missing := _missing_groups(gold, answer):
        return f"Its answer {answer[:SHORT]!r} is incomplete: it lacks {', '.join(missing)}."
    if exact_match(answer, answers):
        return f"Its answer {answer[:SHORT]!r} is right."
    if containment(answer, answers):
        return f"Its answer {answer[:SHORT]!r} holds the right one, {right}, and says more than that."
    share = f1(answer, answers)
    return f"Its answer {answer[:SHORT]!r} is {'only partly right' if share else 'wrong'}: the right answer is {right}."


def _accepted(gold: Any) -> Sequence[str]:
    answers = getattr(gold, "answers", None) or getattr(gold, "answer", None) or ()
    return [answers] if isinstance(answers, str) else list(answers)


def _missing_groups(gold: Any, answer: str) -> list[str]:
    groups = getattr(gold, "answer_groups", None) or ()
    missing = [repr(group[0]) for group in groups if not containment(answer, group)]
    return missing if len(missing) < len(groups) else []


def _on_evidence(gold: Any, pred: Any) -> Iterator[str]:
    wanted = set(getattr(gold, "supporting", None) or ())
    read = {p.key for p in getattr(pred, "passages", None) or () if isinstance(p, Passage)}
    dropped = {d.passage.key for d in getattr(pred, "dropped", None) or ()}
    if wanted and (lost := wanted - read):
        left_out = len(lost & dropped)
        where = f", {left_out} of them retrieved but left out" if left_out else ""
        yield f"{len(lost)} of the {len(wanted)} passages that carry the answer were not read{where}."
    rounds = getattr(pred, "rounds", None) or ()
    last = next((r.assessment for r in reversed(rounds) if r.assessment is not None), None)
    if last is not None:
        for requirement in last.requirements:
            if requirement.status == "missing":
                yield f"Still missing in the end: {requirement.need[:SHORT]}."
        if last.sufficient and wanted - read:
            yield "The evidence was called enough while it lacked passages that the answer needs."
    for conflict in getattr(pred, "conflicts", None) or ():
        yield f"Passages contradict each other about {conflict.about[:SHORT]}, and this was left open."


def _on_citations(gold: Any, pred: Any) -> Iterator[str]:
    wanted = set(getattr(gold, "supporting", None) or ())
    try:
        cited = cited_passages(pred)
    except ContractError:  # a stock module cites nothing of ours
        return
    if wanted:
        for passage in cited:
            if passage.key not in wanted:
                yield f"It cited a passage that does not support the answer: {_quote(passage)}."
        keys = {passage.key for passage in cited}
        for passage in pred.passages:
            if cited and passage.key in wanted - keys:
                yield f"It did not cite a passage that supports the answer: {_quote(passage)}."


def _on_claims(pred: Any) -> Iterator[str]:
    words = {
        "contradicted": "is contradicted by the passages",
        "not_supported": "stands in no passage",
        "partially": "stands only partly in the passages",
    }
    for claim in getattr(pred, "claims", None) or ():
        if claim.support in words:
            problem = f" ({claim.problem[:SHORT]})" if claim.problem else ""
            yield f"Its claim {claim.claim[:SHORT]!r} {words[claim.support]}{problem}."


def _quote(passage: Passage) -> str:
    return repr(f"{passage.title}: {passage.text}"[:SHORT] if passage.title else passage.text[:SHORT])
