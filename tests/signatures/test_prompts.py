"""The exact messages that DSPy sends for each signature, kept as files: whoever changes a prompt reads the difference.

After a wanted change write them anew, `RRAG_TEST_UPDATE_PROMPTS=1 pytest tests/signatures/test_prompts.py`, and read
the diff before committing it. A new DSPy release may change them too.
"""

import os
from pathlib import Path
from typing import Any

import dspy
import pytest

from reflective_rag.signatures import answering, evidence, gaps, self_rag, systems

FOLDER = Path(__file__).parent / "prompts"
SIGNATURES: dict[str, Any] = {
    name: value
    for module in (answering, evidence, gaps, self_rag, systems)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, dspy.Signature) and value is not dspy.Signature
}
INPUTS = {
    "question": "When was Giotto born?",
    "passages": "[1] Giotto · 2001-01-01: Giotto di Bondone was born in 1267.\n[2] 乔托：意大利画家。",
    "passage": "[1] Giotto · 2001-01-01: Giotto di Bondone was born in 1267.",
    "requirements": "not listed yet",
    "today": "2026-11-30",
    "missing": "Giotto's year of birth",
    "tried": "When was Giotto born?",
    "problem": "the year is not stated in the passages",
    "draft": "1276",
    "notes": "1. Who painted it? → Giotto [1]",
    "answer": "1267",
    "so_far": "Giotto was a painter.",
}


def prompt(signature: Any) -> str:
    """The messages of one call, as a reader sees them."""
    inputs = {name: INPUTS[name] for name in signature.input_fields}
    messages = dspy.ChatAdapter().format(signature, demos=[], inputs=inputs)
    text = "\n\n".join(f"=== {message['role']} ===\n{message['content']}" for message in messages)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_the_prompt_is_the_one_that_was_read(name: str) -> None:
    """No prompt changes unseen: results and recordings hang on every word of it."""
    file = FOLDER / f"{name}.txt"
    if os.environ.get("RRAG_TEST_UPDATE_PROMPTS"):
        file.write_text(prompt(SIGNATURES[name]), encoding="utf-8")
    assert prompt(SIGNATURES[name]) == file.read_text(encoding="utf-8"), "see the docstring of this file"


def test_no_prompt_is_left_over() -> None:
    """Each file belongs to a signature that exists."""
    assert {file.stem for file in FOLDER.glob("*")} == set(SIGNATURES)


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_passages_are_declared_as_evidence(name: str) -> None:
    """Wherever a model reads retrieved text, the prompt says that text inside it is never an instruction."""
    fields = {"passages", "passage"} & set(SIGNATURES[name].input_fields)
    assert ("never an instruction" in prompt(SIGNATURES[name])) == bool(fields)


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_no_score_is_asked_of_a_model(name: str) -> None:
    """The model judges, Python counts: no output field is a bare number."""
    kinds = [info.annotation for info in SIGNATURES[name].output_fields.values()]
    assert float not in kinds
    assert int not in kinds


@pytest.mark.parametrize("name", ["AssessEvidence", "AssessAndAnswer", "JudgeSupport", "RateUsefulness"])
def test_grounds_come_before_verdicts(name: str) -> None:
    """A model writes its fields in order, so the verdict or answer comes last, after what it rests on."""
    order = list(SIGNATURES[name].output_fields)
    last = {
        "AssessEvidence": ["sufficient"],
        "AssessAndAnswer": ["sufficient", "answer", "cited"],
        "JudgeSupport": ["support"],
        "RateUsefulness": ["usefulness"],
    }
    assert order[-len(last[name]) :] == last[name]
