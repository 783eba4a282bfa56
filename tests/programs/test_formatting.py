"""`remembering`: the prompts of DSPy's adapters, to the letter."""

from typing import Any, Literal

import dspy
import pydantic
import pytest

from reflective_rag.programs.formatting import remembering
from reflective_rag.signatures.answering import AnswerQuestion, AssessAndAnswer
from reflective_rag.signatures.evidence import AssessEvidence

ADAPTERS = [dspy.ChatAdapter, dspy.JSONAdapter, dspy.XMLAdapter]


class Place(pydantic.BaseModel):
    """A type of a caller's own."""

    name: str
    number: int = pydantic.Field(ge=0, description="which one")


class Locate(dspy.Signature):
    """Find it."""

    text: str = dspy.InputField()
    kind: Literal["city", "river"] = dspy.OutputField()
    places: list[Place] = dspy.OutputField(desc="all of them")
    sure: bool | None = dspy.OutputField()


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.__name__)
@pytest.mark.parametrize(
    "signature", [AnswerQuestion, AssessAndAnswer, AssessEvidence, Locate, dspy.Signature("a -> b")]
)
def test_prompts_are_those_of_dspy_the_first_time_and_later(adapter: Any, signature: Any) -> None:
    """What is remembered changes no prompt, whichever of DSPy's adapters and signatures writes it."""
    inputs = dict.fromkeys(signature.input_fields, "x")
    wanted = adapter().format(signature, [], inputs)
    assert [remembering(adapter()).format(signature, [], inputs) for _ in range(2)] == [wanted, wanted]


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.__name__)
def test_a_field_of_the_same_name_and_another_type_has_a_text_of_its_own(adapter: Any) -> None:
    """Names alone do not make two signatures the same."""
    texts = {
        remembering(adapter()).format_field_structure(dspy.Signature(f"a -> b: {kind}"))
        for kind in ("str", "int", "list[int]", "Literal['x']", "dict[str, int]")
    }
    assert len(texts) == 5


def test_new_instructions_are_seen() -> None:
    """An optimizer's instructions reach the prompt of a signature that was formatted before."""
    first = remembering(dspy.ChatAdapter()).format(Locate, [], {"text": "x"})
    second = remembering(dspy.ChatAdapter()).format(Locate.with_instructions("Look twice."), [], {"text": "x"})
    assert "Look twice." not in str(first)
    assert "Look twice." in str(second)


def test_an_adapter_of_the_callers_own_is_not_touched() -> None:
    """Nobody knows what its texts depend on."""

    class Own(dspy.ChatAdapter):
        pass

    adapter = Own()
    assert remembering(adapter) is adapter


def test_no_adapter_means_dspys_default() -> None:
    """As for `dspy.Predict`, None is the chat adapter."""
    assert type(remembering(None)) is dspy.ChatAdapter
