"""What the final answer of an accepted run came from: the calls that wrote it, and the verdicts that it bears out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reflective_rag.optimizers.labels import passages_text, shows, supporting_found
from reflective_rag.programs.judgements import is_refusal
from reflective_rag.signatures.text import normalize, without_markup
from reflective_rag.signatures.types import Passage

Entry = tuple[Any, dict[str, Any], Any]
"""One call in DSPy's trace: predictor, inputs, prediction."""

_CARRIED = ("supported", "partially")
_USEFUL = ("3", "4", "5")
"""[IsUSE] of an acceptable answer (the rubric of the paper)."""


def said(call: Entry) -> str:
    """The answer that a call gave."""
    return str(call[2].get("answer") or "").strip().strip("«»").strip()


@dataclass(frozen=True)
class Ending:
    """How an accepted run ended."""

    trace: Sequence[Entry]
    example: Any
    prediction: Any
    right: Callable[[str], bool]
    """Whether the metric accepts an answer's text for this question."""

    @cached_property
    def notes(self) -> str:
        """The sub-questions with their answers that the final answer was composed from; empty without a plan."""
        return "\n".join(str(inputs["notes"]) for _, inputs, _ in self.trace if "notes" in inputs)

    @cached_property
    def sources(self) -> list[Passage]:
        """The passages that carry the final answer's claims."""
        claims, citations = self.prediction.get("claims") or (), self.prediction.get("citations") or ()
        ids = {id_ for claim in claims for id_ in claim.passage_ids} | {citation.passage_id for citation in citations}
        return [p for p in self.prediction.get("passages") or () if p.id in ids]

    def accepted(self, call: Entry) -> bool:
        """Whether the only answer that was written is the one that the run was accepted for."""
        text = said(call)
        if is_refusal(text):
            return bool(self.prediction.get("abstained"))
        return self._is_final(text) or self.right(text)

    def won(self, call: Entry) -> bool:
        """Whether the final answer is this one of several that were written side by side."""
        text = said(call)
        return not is_refusal(text) and self._is_final(text) and self._reads_source(call)

    def noted(self, call: Entry) -> bool:
        """Whether the final answer was composed from this answer to a sub-question, read from a right passage."""
        text = said(call)
        line = without_markup(f". {call[1].get('question')} → {text}")
        if is_refusal(text) or line not in self.notes:
            return False
        gold = supporting_found(self.example, self.prediction)
        return not gold or any(shows(passages_text(call[1]), passage) for passage in gold)

    def agrees(self, call: Entry) -> bool:
        """Whether the verdict of one of Self-RAG's critics is borne out by how the run ended."""
        output = call[2]
        if "retrieve" in output:
            return (str(output["retrieve"]) != "no") == bool(self.prediction.get("need_retrieval", True))
        if "usefulness" in output:
            return self._rated_well(call)
        text = normalize(str(call[1].get("answer") or ""))
        claims = {normalize(claim.claim) for claim in self.prediction.get("claims") or ()}
        carried = str(output.get("support")) in _CARRIED
        if text in claims and self._reads_source(call):
            return carried
        return not carried and not self.right(str(call[1].get("answer") or ""))

    def _rated_well(self, call: Entry) -> bool:
        text = str(call[1].get("answer") or "")
        useful = str(call[2].get("usefulness")).strip() in _USEFUL
        return useful if self._is_final(text) else not (useful or self.right(text))

    def _is_final(self, text: str) -> bool:
        return normalize(text) == normalize(str(self.prediction.get("answer") or ""))

    def _reads_source(self, call: Entry) -> bool:
        """Whether a call read a passage that carries the final answer; true where no passage is known to."""
        return not self.sources or any(shows(passages_text(call[1]), passage) for passage in self.sources)
