"""What a model's tokens cost, from the price list that DSPy ships. Nothing is fetched where the environment says so.

DSPy refreshes its list from the network at first use unless `LITELLM_LOCAL_MODEL_COST_MAP=True`, which the command line
sets.
"""

from typing import NamedTuple

import dspy

from reflective_rag.programs.lm.recording_engine import RecordingEngine


class Price(NamedTuple):
    """Dollars for one token."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Dollars for so many tokens."""
        return prompt_tokens * self.prompt + completion_tokens * self.completion


FREE = Price(0.0, 0.0)


def price_of(lm: dspy.LM | None) -> Price | None:
    """The ordinary token price of a model, or None where it is not known. Rules, local models and replays are free.

    Discounts for cached prompts and surcharges for long ones are left out: it is for estimates, not for bills.
    """
    if lm is None:
        return FREE
    engine = lm.engine
    if isinstance(engine, RecordingEngine):
        return price_of(engine.inner)
    if _runs_here(engine):
        return FREE
    from dspy.clients.model_metadata import model_info, rate

    info = model_info(*_listed_as(lm))
    prompt, completion = rate(info, "input_cost_per_token"), rate(info, "output_cost_per_token")
    return None if prompt is None or completion is None else Price(prompt, completion)


def _runs_here(engine: object) -> bool:
    from reflective_rag.programs.lm.llama import LlamaEngine

    return isinstance(engine, LlamaEngine)


def _listed_as(lm: dspy.LM) -> tuple[str, str]:
    """Provider and model in the price list: as DSPy routes the model, else by the two parts of its name."""
    if isinstance(lm.engine, str):
        from dspy.clients.capabilities import resolve

        try:
            route = resolve(lm)
        except Exception:  # noqa: BLE001 - a name that DSPy leaves to LiteLLM; what it raises is its own affair
            pass
        else:
            return route.provider, route.model
    provider, _, model = lm.model.partition("/")
    return (provider, model) if model else ("openai", provider)
