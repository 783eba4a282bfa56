from typing import Any

import pytest
from dspy import lm15

from reflective_rag.programs.lm.llama_chat import chat_body, response_of, system_text
from tests.programs.lm.conftest import chat_reply


def request(*messages: lm15.Message, system: Any = None, **config: Any) -> lm15.Request:
    """A request with one user message unless others are given."""
    return lm15.Request(
        model="local/tiny", system=system, messages=messages or (lm15.Message.user("hi"),), config=lm15.Config(**config)
    )


def read(reply: dict[str, Any], *, max_tokens: int = 20) -> lm15.Response:
    """The response to a reply in a context of 100 tokens."""
    return response_of(reply, request(), max_tokens=max_tokens, n_ctx=100)


def test_messages_keep_their_order_and_roles() -> None:
    """System text comes first, in one string; demos follow as user and assistant turns; thoughts are left out."""
    body = chat_body(
        request(
            lm15.Message.user("你好"),
            lm15.Message.assistant([lm15.ThinkingPart(text="hm"), lm15.TextPart(text="yes")]),
            lm15.Message.user("more?"),
            system=(lm15.TextPart(text="Be "), lm15.TextPart(text="brief.")),
        )
    )
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "你好"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "more?"},
    ]


def test_without_a_system_message_none_is_sent() -> None:
    """An empty system text would switch off the one that some chat templates bring."""
    assert system_text(request()) == ""
    assert [message["role"] for message in chat_body(request())["messages"]] == ["user"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param({}, {"temperature": 0.0, "max_tokens": 512}, id="defaults"),
        pytest.param({"temperature": 0.0}, {"temperature": 0.0}, id="zero-is-a-temperature"),
        pytest.param({"seed": 0}, {"seed": 0}, id="zero-is-a-seed"),
        pytest.param({"stop": ["\n"], "top_p": 0.5, "top_k": 3}, {"stop": ["\n"], "top_p": 0.5, "top_k": 3}, id="all"),
        pytest.param({"logprobs": 0}, {"logprobs": True, "top_logprobs": 1}, id="chosen-tokens-only"),
        pytest.param({"logprobs": 5}, {"logprobs": True, "top_logprobs": 5}, id="with-alternatives"),
        pytest.param({"extensions": {"min_p": 0.1}}, {"min_p": 0.1}, id="extras-pass"),
        pytest.param({}, {"chat_template_kwargs": {"enable_thinking": False}}, id="no-thinking-unless-asked"),
        pytest.param(
            {"reasoning": lm15.Reasoning(effort="low")},
            {"chat_template_kwargs": {"enable_thinking": True}},
            id="thinking",
        ),
    ],
)
def test_settings_reach_llama_cpp(config: dict[str, Any], expected: dict[str, Any]) -> None:
    """Each setting has its name in llama.cpp; what was not asked for is not sent."""
    body = chat_body(request(**config))
    assert {name: body[name] for name in expected} == expected
    assert not {"seed", "stop", "top_p", "logprobs", "response_format"} & (set(body) - set(expected))


def test_a_schema_is_nested() -> None:
    """llama.cpp ignores a schema that stands where DSPy puts it."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    body = chat_body(request(response_format={"type": "json_schema", "name": "out", "schema": schema}))
    assert body["response_format"]["json_schema"] == {"name": "out", "schema": schema, "strict": True}
    assert chat_body(request(response_format={"type": "json_object"}))["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    "wanted",
    [
        request(lm15.Message.user([lm15.ImagePart(url="https://example.org/x.png")])),
        request(probabilities="required"),
        lm15.Request(
            model="local/tiny", messages=(lm15.Message.user("hi"),), tools=(lm15.FunctionTool(name="f", parameters={}),)
        ),
    ],
    ids=["image", "measured-probabilities", "tools"],
)
def test_what_the_model_cannot_do_is_refused(wanted: lm15.Request) -> None:
    """Nothing is dropped silently: the error names the feature."""
    with pytest.raises(lm15.UnsupportedFeatureError) as caught:
        chat_body(wanted)
    assert caught.value.feature


def test_usage_and_name() -> None:
    """Tokens already read from the slot are counted apart; the model has the name it was asked by."""
    reply = chat_reply("yes") | {"model": "/somewhere/x.gguf"}
    reply["usage"]["prompt_tokens_details"] = {"cached_tokens": 7}
    response = read(reply)
    assert (response.text, response.model) == ("yes", "local/tiny")
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.cache_read_tokens) == (10, 3, 7)


def test_log_probabilities_are_kept() -> None:
    """Every token has its log-probability and the alternatives, best first; the end token's empty text is no error."""
    reply = chat_reply("yes")
    top = [
        {"id": 1, "token": "yes", "bytes": [121, 101, 115], "logprob": -0.2},
        {"id": 2, "token": "no", "bytes": [110, 111], "logprob": -1.9},
    ]
    end = {"id": 3, "token": "", "bytes": [], "logprob": -0.1, "top_logprobs": []}
    reply["choices"][0]["logprobs"] = {"content": [top[0] | {"top_logprobs": top}, end]}
    response = read(reply)
    assert [(token.token, token.logprob) for token in response.logprobs] == [("yes", -0.2), ("", -0.1)]
    assert [(token.token, token.logprob) for token in response.logprobs[0].top] == [("yes", -0.2), ("no", -1.9)]


def test_thoughts_are_apart_from_the_answer() -> None:
    """A thinking model's thoughts are not part of its text."""
    reply = chat_reply("yes")
    reply["choices"][0]["message"]["reasoning_content"] = "let me see"
    assert read(reply).text == "yes"


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        pytest.param(
            {"type": "exceed_context_size_error", "message": "…", "n_prompt_tokens": 900, "n_ctx": 100},
            lm15.ContextLengthError,
            "the prompt has 900 tokens, and the context holds 100",
            id="too-long",
        ),
        pytest.param(
            {"type": "invalid_request_error", "message": "bad grammar"},
            lm15.InvalidRequestError,
            "bad grammar",
            id="bad",
        ),
        pytest.param({"type": "server_error", "message": "broke"}, lm15.ProviderError, "broke", id="server"),
        pytest.param({}, lm15.ProviderError, "{}", id="empty"),
    ],
)
def test_refusals_become_errors_that_are_not_retried(
    error: dict[str, Any], expected: type[Exception], message: str
) -> None:
    """The same request would fail in the same way, so none is of a kind that DSPy tries again."""
    with pytest.raises(expected, match=message) as caught:
        read({"error": error})
    assert not isinstance(
        caught.value, lm15.ServerError | lm15.RateLimitError | lm15.TimeoutError | lm15.TransportError
    )


def test_an_answer_cut_by_the_context_is_an_error() -> None:
    """Half an answer is not passed off as one: the numbers say how much room the prompt left."""
    with pytest.raises(lm15.ContextLengthError, match=r"prompt of 90 tokens leaves 10 of 100 .* \(it may have 20\)"):
        read(chat_reply(finish="length", prompt=90, answer=10))


def test_an_answer_cut_at_the_callers_wish_is_an_answer() -> None:
    """Ending at `max_tokens` is what was asked for, and the finish reason says so."""
    response = read(chat_reply(finish="length", prompt=10, answer=20))
    assert response.finish_reason == "length"
