"""Between DSPy's canonical request and response and llama.cpp's chat completions (the OpenAI form, with extras)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dspy import lm15

DEFAULT_MAX_TOKENS = 512
DEFAULT_TEMPERATURE = 0.0
PROVIDER = "local"


def system_text(request: lm15.Request) -> str:
    """The system message, empty when there is none. Each DSPy predictor has its own."""
    if request.system is None or isinstance(request.system, str):
        return request.system or ""
    return _text(request.system)


def chat_body(request: lm15.Request) -> dict[str, Any]:
    """The body that llama.cpp is sent.

    Raises:
        lm15.UnsupportedFeatureError: the request has tools, images or other parts that are not text, or requires
            measured probabilities of its choices (ask for log-probabilities instead).
    """
    config = request.config
    if request.tools:
        raise _unsupported("takes no tools", "tools")
    if config.probabilities == "required":
        raise _unsupported("measures no probabilities of choices; ask for logprobs", "config.probabilities")
    body: dict[str, Any] = {
        "messages": _messages(request),
        "max_tokens": config.max_tokens or DEFAULT_MAX_TOKENS,
        "temperature": DEFAULT_TEMPERATURE if config.temperature is None else config.temperature,
        # A thinking model would spend the whole answer on its thoughts. Templates without this switch ignore it.
        "chat_template_kwargs": {"enable_thinking": config.reasoning is not None and not config.reasoning.is_off},
    }
    for name in ("top_p", "top_k", "seed", "frequency_penalty", "presence_penalty"):
        if getattr(config, name) is not None:
            body[name] = getattr(config, name)
    if config.stop:
        body["stop"] = list(config.stop)
    if config.logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": max(1, config.logprobs)}  # none at all for 0
    if config.response_format:
        body["response_format"] = _response_format(config.response_format)
    return body | dict(config.extensions or {})


def response_of(reply: Mapping[str, Any], request: lm15.Request, *, max_tokens: int, n_ctx: int) -> lm15.Response:
    """The reply as DSPy's response, with log-probabilities where asked for and the prompt tokens that were kept.

    Raises:
        lm15.ContextLengthError: the prompt, or the prompt and the answer so far, fill the context. DSPy shows it as
            `dspy.ContextWindowExceededError` and does not try again.
        lm15.InvalidRequestError, lm15.ProviderError: llama.cpp refused the request, or failed.
    """
    if "error" in reply:
        raise _error(reply["error"])
    response = lm15.response_from_openai_chat(reply, model=request.model)
    prompt, answer = response.usage.input_tokens or 0, response.usage.output_tokens or 0
    # `length` before `max_tokens`: the context ran out. A caller must not take the piece for an answer cut at its wish.
    if response.finish_reason == "length" and answer < max_tokens:
        raise _too_long(
            f"the prompt of {prompt} tokens leaves {n_ctx - prompt} of {n_ctx} for the answer, which needs more "
            f"(it may have {max_tokens})"
        )
    logprobs = response.logprobs
    if logprobs and request.config.logprobs == 0:
        logprobs = tuple(replace(token, top=()) for token in logprobs)
    timings = dict(reply.get("timings") or {})
    return replace(response, model=request.model, logprobs=logprobs, provider_data={"timings": timings})


def _messages(request: lm15.Request) -> list[dict[str, str]]:
    system = system_text(request)
    messages = [{"role": "system", "content": system}] if system else []
    for message in request.messages:
        role = "system" if message.role == "developer" else message.role
        messages.append({"role": role, "content": _text(message.parts)})
    return messages


def _text(parts: Iterable[Any]) -> str:
    texts = []
    for part in parts:
        if isinstance(part, lm15.TextPart):
            texts.append(part.text)
        elif not isinstance(part, lm15.ThinkingPart):
            raise _unsupported(f"reads text only, got {type(part).__name__}", type(part).__name__)
    return "".join(texts)


def _response_format(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """DSPy's form is flat, llama.cpp's nested; it ignores the flat one without a word, and the JSON stays free."""
    if wanted["type"] != "json_schema":
        return dict(wanted)
    nested = {"name": wanted.get("name", "output"), "schema": wanted["schema"], "strict": True}
    return {"type": "json_schema", "json_schema": nested}


def _unsupported(what: str, feature: str) -> Exception:
    error: Exception = lm15.UnsupportedFeatureError(f"a local model {what}", provider=PROVIDER, feature=feature)
    return error


def _error(error: Mapping[str, Any]) -> Exception:
    kind, message = str(error.get("type", "")), str(error.get("message", error))
    if kind == "exceed_context_size_error":
        size, room = error.get("n_prompt_tokens"), error.get("n_ctx")
        return _too_long(f"the prompt has {size} tokens, and the context holds {room}, answer included")
    of_kind = lm15.InvalidRequestError if kind == "invalid_request_error" else lm15.ProviderError
    refusal: Exception = of_kind(message, provider=PROVIDER, provider_code=kind or None)
    return refusal


def _too_long(finding: str) -> Exception:
    remedy = "Use fewer or shorter passages and demos, or a larger context (RRAG_LOCAL_CTX, in tokens)."
    error: Exception = lm15.ContextLengthError(f"{finding}. {remedy}", provider=PROVIDER)
    return error
