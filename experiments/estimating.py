"""What a compile will ask of the model, in calls, tokens and money, without asking it. Every figure is an estimate."""

from collections.abc import Sequence
from typing import Any

import dspy
from dspy.lm15 import Message, Response, TextPart, Usage, response_to_events

from reflective_rag.data.records import Record, pool
from reflective_rag.optimizers.strategies import CompileTask, Plan
from reflective_rag.optimizers.strategies.base import calls_per_run
from reflective_rag.programs.lm.prices import price_of
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.searching import SearchHandle
from reflective_rag.signatures.types import Passage

COMPLETION_TOKENS = 150
"""Assumed for one reply: a short answer, or a judgement of five to ten passages."""


def estimate(task: CompileTask, plan: Plan, model: Model, *, evaluated: int) -> dict[str, Any]:
    """The plan as JSON: calls, tokens and (where the price is listed) dollars, each from fewest to most.

    Args:
        evaluated: Questions of dev and test, each of which is answered once before and once after.
    """
    asks = task.program.uses_model()
    low, high = calls_per_run(task.program) if asks else (0, 0)
    scoring = {"low": 2 * evaluated * low, "high": 2 * evaluated * high}
    compiling = {"low": plan.calls_low, "high": plan.calls_high} if asks else {"low": 0, "high": 0}
    calls = {end: compiling[end] + scoring[end] + plan.prompt_calls for end in ("low", "high")}
    prompt = prompt_tokens(task.program, task.train, model) if asks else 0
    completion = COMPLETION_TOKENS if asks else 0
    price = None if task.models else price_of(model.lm)  # who answers which call, and at what price, is not planned
    money = None if price is None else {end: calls[end] * price.of(prompt, completion) for end in calls}
    return {
        "program_runs": plan.program_runs + 2 * evaluated,
        "calls": calls,
        "calls_compiling": compiling,
        "calls_scoring": scoring,
        "calls_writing_instructions": plan.prompt_calls,
        "tokens_per_call": {"prompt": prompt, "completion": completion},
        "tokens": {end: calls[end] * (prompt + completion) for end in calls},
        "dollars": money,
        "price": "unknown" if price is None else "listed" if any(price) else "free",
        "note": _note(plan, asks),
    }


def _note(plan: Plan, asks: bool) -> str:
    if not asks:
        return "; ".join(part for part in (plan.note, "runs on rules: no model is asked") if part)
    rough = "estimates: prompts of one training question at 4 bytes a token, without demos; replies assumed"
    return "; ".join(part for part in (plan.note, rough) if part)


def prompt_tokens(program: RagModule, train: Sequence[Record], model: Model) -> int:
    """Mean prompt length in tokens: the program answers the first training question with a model that only counts."""
    counter = _CountingEngine()
    passages = pool([train[0], *train])
    sized = program.deepcopy()
    sized.search = SearchHandle(_always(passages))
    adapter = dspy.JSONAdapter() if model.adapter == "json" else dspy.ChatAdapter(use_json_adapter_fallback=False)
    lm = dspy.LM("counting/model", engine=counter, cache=False, num_retries=0)
    with dspy.context(lm=lm, adapter=adapter, disable_history=True, callbacks=[]):
        sized(question=train[0].question)
    return round(sum(counter.sizes) / max(1, len(counter.sizes)))


def _always(passages: Sequence[Passage]) -> Any:
    return lambda query, k: list(passages[:k])


class _CountingEngine:
    """A model that reads every prompt and says nothing. `sizes` are the prompts' tokens at 4 bytes each."""

    supports_response_schema = False
    supported_params = frozenset({"temperature", "max_tokens"})

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> "_CountingEngine":
        return self

    def complete(self, request: Any) -> Response:
        texts = [request.system if isinstance(request.system, str) else "", *(m.text or "" for m in request.messages)]
        self.sizes.append(sum(len(text.encode()) for text in texts) // 4)
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        message = Message.assistant([TextPart("-")])
        return Response(id="counted", model=request.model, message=message, finish_reason="stop", usage=usage)

    def stream(self, request: Any) -> Any:
        return response_to_events(self.complete(request))

    def close(self) -> None:
        """Nothing is held open."""
