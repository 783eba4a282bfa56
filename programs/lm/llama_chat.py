"""Between DSPy's canonical request and response and llama.cpp's chat completions (the OpenAI form with its own extras)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dspy import lm15

DEFAULT_MAX_TOKENS = 512
DEFAULT_TEMPERATURE = 0.0


def system_text(request: lm15.Request) -> str:
    """The system message, empty when there is none. Each DSPy predictor has its own."""
    if request.system is None or isinstance(request.system, str):
        return request.system or ""
    return _text(request.system)


def chat_body(request: lm15.Request) -> dict[str, Any]:
    """What llama.cpp is sent. Raises lm15.UnsupportedFeatureError for what it would not be given: tools, images, measured choices."""
    config = request.config
    if request.tools or config.probabilities == "required":
        feature = "tools" if request.tools else "config.probabilities"
        raise lm15.UnsupportedFeatureError(f"a local model is not offered {feature}", provider="local", feature=feature)
    system = system_text(request)
    messages = [{"role": "system", "content": system}] if system else []
    for message in request.messages:
        role = "system" if message.role == "developer" else message.role
        messages.append({"role": role, "content": _text(message.parts)})
    body: dict[str, Any] = {
        "messages": messages,
        "max_tokens": config.max_tokens or DEFAULT_MAX_TOKENS,
        "temperature": DEFAULT_TEMPERATURE if config.temperature is None else config.temperature,
        # A thinking model would spend the whole answer on its thoughts; templates without the switch ignore it.
        "chat_template_kwargs": {"enable_thinking": config.reasoning is not None and not config.reasoning.is_off},
    }
    for name in ("top_p", "top_k", "seed", "frequency_penalty", "presence_penalty"):
        if getattr(config, name) is not None:
            body[name] = getattr(config, name)
    if config.stop:
        body["stop"] = list(config.stop)
    if config.logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": config.logprobs}
    if config.response_format:
        body["response_format"] = _response_format(config.response_format)
    return body | dict(config.extensions or {})


def response_of(reply: Mapping[str, Any], request: lm15.Request, *, max_tokens: int, n_ctx: int) -> lm15.Response:
    """The reply as DSPy's response, with log-probabilities and the number of prompt tokens that were already read.

    Raises:
        lm15.ContextLengthError: the prompt, or the prompt and the answer so far, fill the context. DSPy shows it to callers as
            `dspy.ContextWindowExceededError` and does not try again.
        lm15.InvalidRequestError, lm15.ProviderError: llama.cpp refused the request, or failed.
    """
    if "error" in reply:
        raise _error(reply["error"], request.model)
    response = lm15.response_from_openai_chat(reply, model=request.model)
    usage = response.usage
    # `length` before `max_tokens` means that the context ran out, which is no answer to give to a caller as if it were whole.
    if response.finish_reason == "length" and (usage.output_tokens or 0) < max_tokens:
        raise _too_long(
            request.model,
            f"the prompt has {usage.input_tokens} tokens, which leaves {n_ctx - (usage.input_tokens or 0)} of {n_ctx} for the answer; "
            f"it was not finished there (it may have {max_tokens})",
        )
    return replace(response, model=request.model, provider_data={"timings": dict(reply.get("timings") or {})})


def _text(parts: Iterable[Any]) -> str:
    texts = []
    for part in parts:
        if isinstance(part, lm15.ThinkingPart):
            continue
        if not isinstance(part, lm15.TextPart):
            feature = type(part).__name__
            raise lm15.UnsupportedFeatureError(
                f"a local model reads text only, got a {feature}", provider="local", feature=feature
            )
        texts.append(part.text)
    return "".join(texts)


def _response_format(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """DSPy's form is flat, llama.cpp's nested; it ignores the flat one without a word and the JSON stays free."""
    if wanted["type"] != "json_schema":
        return dict(wanted)
    schema = {"name": wanted.get("name", "output"), "schema": wanted["schema"], "strict": True}
    return {"type": "json_schema", "json_schema": schema}


def _error(error: Mapping[str, Any], model: str) -> lm15.ProviderError:
    kind, message = str(error.get("type", "")), str(error.get("message", error))
    if kind == "exceed_context_size_error":
        return _too_long(
            model,
            f"the prompt has {error.get('n_prompt_tokens')} tokens, the context holds {error.get('n_ctx')}, answer included",
        )
    known = {"invalid_request_error": lm15.InvalidRequestError}.get(kind, lm15.ProviderError)
    return known(message, provider="local", provider_code=kind or None)


def _too_long(model: str, finding: str) -> lm15.ContextLengthError:
    return lm15.ContextLengthError(
        f"`{model}`: {finding}. Give it fewer or shorter passages and demos, or a larger context (RRAG_LOCAL_CTX, tokens; it costs memory).",
        provider="local",
    )
