"""What was wrong with one call of a run, in words, told from its inputs and outputs and the record's labels."""

from collections.abc import Iterator
from typing import Any

from reflective_rag.optimizers.labels import (
    holds_everything,
    numbered_passages,
    passages_text,
    shows,
    supporting_found,
    supporting_numbers,
)
from reflective_rag.optimizers.loop_demos import progress_of
from reflective_rag.optimizers.scores import containment
from reflective_rag.programs.judgements import is_refusal


def feedback_on_call(predictor: Any, inputs: Any, outputs: Any, gold: Any, pred: Any) -> Iterator[str]:
    """Lines about one call, by the fields that it was asked for; nothing where the labels do not tell.

    Args:
        predictor: The one that was called.
        inputs: What it read; its passages may be shortened, as in a demo.
        outputs: What it said.
        gold: An example of `to_examples`.
        pred: The result of the run.
    """
    told = set(predictor.signature.output_fields)
    text = passages_text(inputs)
    if "sufficient" in told:
        yield from _on_sufficiency(text, outputs, gold, pred)
    if "relevant" in told and getattr(gold, "supporting", None):
        yield from _on_numbers(text, outputs.get("relevant"), gold, pred, "named relevant")
    if "relevance" in told and getattr(gold, "supporting", None):
        yield from _on_relevance(text, outputs, gold, pred)
    if "answer" in told:
        yield from _on_draft(text, outputs, gold, pred)
    if "support" in told:
        yield from _on_support(inputs, outputs, gold)
    if told in ({"query"}, {"gaps"}):
        yield from _on_query(outputs, pred)


def _on_sufficiency(text: str, outputs: Any, gold: Any, pred: Any) -> Iterator[str]:
    whole = holds_everything(text, gold, pred)
    said = str(outputs.get("sufficient") or "").strip().lower()
    if whole is None or said not in ("yes", "no"):
        return
    if said == "yes" and not whole:
        yield "In this call the passages lacked some that the answer needs, yet they were called sufficient."
    elif said == "no" and whole:
        yield "In this call all passages that carry the answer were there, yet they were called not sufficient."
    else:
        yield f"In this call the verdict {said!r} on sufficiency was right."


def _on_numbers(text: str, named: Any, gold: Any, pred: Any, what: str) -> Iterator[str]:
    numbers = {n for n in named if isinstance(n, int)} if isinstance(named, list | tuple) else set()
    right = set(supporting_numbers(text, gold, pred))
    there = set(numbered_passages(text))
    if extra := sorted((numbers & there) - right):
        yield f"Passage {_listed(extra)} was {what} and does not support the answer."
    if lost := sorted(right - numbers):
        yield f"Passage {_listed(lost)} supports the answer and was not {what}."
    if unknown := sorted(numbers - there):
        yield f"There is no passage {_listed(unknown)}."


def _on_relevance(text: str, outputs: Any, gold: Any, pred: Any) -> Iterator[str]:
    supports = any(shows(text, passage) for passage in supporting_found(gold, pred))
    said = str(outputs.get("relevance") or "")
    if supports and said == "irrelevant":
        yield "This passage is needed for the answer, yet it was called irrelevant."
    elif not supports and said == "relevant":
        yield "This passage is not needed for the answer, yet it was called relevant."
    else:
        yield f"The verdict {said!r} on this passage was right."


def _on_draft(text: str, outputs: Any, gold: Any, pred: Any) -> Iterator[str]:
    draft = str(outputs.get("answer") or "").strip()
    whole = holds_everything(text, gold, pred)
    if is_refusal(draft) and whole and getattr(gold, "answerable", True):
        yield "In this call all passages that carry the answer were there, yet none was given."
    elif not is_refusal(draft) and whole is False and not _is_right(draft, gold):
        yield "In this call the passages lacked some that the answer needs; it should have said 'unknown'."
    if not is_refusal(draft) and getattr(gold, "supporting", None):
        yield from _on_numbers(text, outputs.get("cited"), gold, pred, "cited")


def _on_support(inputs: Any, outputs: Any, gold: Any) -> Iterator[str]:
    right, said = _is_right(str(inputs.get("answer") or ""), gold), str(outputs.get("support") or "")
    if right and said in ("not_supported", "contradicted"):
        yield f"The answer under review was right, yet the verdict was {said!r}."
    elif not right and said == "supported":
        yield "The answer under review was wrong, yet the verdict was 'supported'."


def _on_query(outputs: Any, pred: Any) -> Iterator[str]:
    rounds = getattr(pred, "rounds", None) or ()
    query = str(outputs.get("query") or "").strip()
    for this, better in zip(rounds, progress_of(pred, rounds), strict=True):
        if query and query in this.queries:
            yield f"The query {query!r} brought {this.new} new passage(s) and {'' if better else 'no '}progress."
            return
    if query:
        yield f"The query {query!r} was not sent or brought nothing new: it must differ from the tried ones."


def _is_right(answer: str, gold: Any) -> bool:
    answers = getattr(gold, "answers", None) or getattr(gold, "answer", None) or ()
    accepted = [answers] if isinstance(answers, str) else list(answers)
    return bool(accepted) and bool(containment(answer, accepted))


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
