"""What the critics and the answerer of one round read, and the calls that read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from reflective_rag.programs.pool import DEMO_CHARS, numbered
from reflective_rag.programs.steps import Ask
from reflective_rag.signatures.text import tokenize, without_markup
from reflective_rag.signatures.types import Passage, Phase, Requirement, Strip


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The question, the passages in reading order, and what round 1 fixed."""

    question: str
    passages: Sequence[Passage]
    requirements: tuple[Requirement, ...]
    today: date
    passage_chars: int
    carried: tuple[Strip, ...] = ()
    """What earlier rounds read of the long passages; the same windows are read again unless better ones are found."""

    @cached_property
    def terms(self) -> frozenset[str]:
        """What a sentence must speak of to be kept when a passage is shortened."""
        return frozenset(tokenize(" ".join([self.question, *(r.need for r in self.requirements)])))

    def inputs(self) -> dict[str, str]:
        """Question and numbered passages."""
        return {"question": without_markup(self.question), "passages": self.numbered[0]}

    @cached_property
    def numbered(self) -> tuple[str, tuple[Strip, ...]]:
        """The numbered passages, and what was read of those that are longer than `passage_chars`."""
        return numbered(self.passages, self.terms, self.passage_chars, carried=self.carried)

    @cached_property
    def demo(self) -> dict[str, str]:
        """The passages as a bootstrapped demo carries them: same numbers, best sentences only."""
        return {"passages": numbered(self.passages, self.terms, DEMO_CHARS)[0]}

    def one(self, passage: Passage) -> str:
        """One passage alone, as number 1."""
        return numbered([passage], self.terms, self.passage_chars, carried=self.carried)[0]

    def needs(self) -> str:
        """The requirements as the critics read them."""
        lines = (f"{i}. {r.need} ({r.status})" for i, r in enumerate(self.requirements, 1))
        return "\n".join(lines) or "not listed yet"


def reading_ask(
    predictor: Any, name: str, phase: Phase, reading: Reading, config: Mapping[str, Any] | None = None
) -> Ask:
    """A call that reads the round's passages; its signature says which inputs it takes."""
    both = {**reading.inputs(), "requirements": reading.needs(), "today": reading.today.isoformat()}
    inputs = {key: both[key] for key in predictor.signature.input_fields}
    return Ask(
        name=name, predictor=predictor, inputs=inputs, phase=phase, demo_inputs=reading.demo, config=config or {}
    )
