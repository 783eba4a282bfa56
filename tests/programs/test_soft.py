"""Soft verdicts: probabilities of a closed field's values from a reply's log-probabilities, worked out by hand."""

import json
import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal

import dspy
import pytest
from dspy.lm15 import Request, Response, TokenLogprob, TopLogprob

from reflective_rag.programs.soft import GRADES, YES_NO, logprob_config, soft_choice, soft_grade, soft_yes
from reflective_rag.programs.soft_places import place_of
from tests.fakes import AsyncFunctionEngine, FunctionEngine, chat_reply, json_reply

RELEVANCE = tuple(GRADES)
SUPPORT = ("supported", "partially", "not_supported", "contradicted")
SCOPE = ("timeless", "now", "as_of", "before", "after", "between")

Others = Mapping[str, float]


def token(text: str, p: float = 1.0, others: Others | None = None) -> dict[str, Any]:
    """One token as OpenAI reports it; without `others` there are no alternatives."""
    listed = [(text, p), *(others or {}).items()] if others is not None else []
    top = [{"token": t, "logprob": math.log(q)} for t, q in listed]
    return {"token": text, "logprob": math.log(p), "top_logprobs": top}


def reply(*tokens: dict[str, Any] | str) -> dict[str, Any]:
    """The log-probabilities of a reply; a text stands for a sure token."""
    return {"content": [token(t) if isinstance(t, str) else t for t in tokens]}


CHAT = ("[[ ## relevance", " ## ]]", "\n")
CLOSE = ("\n\n", "[[ ## completed ## ]]")


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        pytest.param(
            (*CHAT, token("relevant", 0.6, {"part": 0.3, "irre": 0.1}), *CLOSE), (0.6, 0.3, 0.1), id="chat section"
        ),
        pytest.param(
            ('{"', "relevance", '": "', token("part", 0.5, {"relevant": 0.25, "ir": 0.25}), 'ly"}'),
            (0.25, 0.5, 0.25),
            id="JSON",
        ),
        pytest.param(
            ('{"relevance":', token(' "part', 0.5, {' "relevant': 0.3, ' "ir': 0.2}), 'ly"}'),
            (0.3, 0.5, 0.2),
            id="quotation mark and value in one token",
        ),
        pytest.param(
            ('{"relevance', token('": "part', 0.5, {'": "relevant': 0.3, '":': 0.2}), 'ly"}'),
            (0.375, 0.625, 0.0),
            id="end of the name and value in one token",
        ),
        pytest.param(
            ("<relevance>", "\n", token("partly", 0.8, {"relevant": 0.2}), "\n</relevance>"), (0.2, 0.8, 0.0), id="XML"
        ),
        pytest.param((token("partly", 0.5, {"relevant": 0.5}),), (0.5, 0.5, 0.0), id="plain word"),
        pytest.param(
            ("Relevance", ":", token(" Partly", 0.5, {" relevant": 0.5}), "."), (0.5, 0.5, 0.0), id="label and capital"
        ),
        pytest.param(
            ("<think>", "relevant", "</think>", "\n", token("irrelevant", 0.9, {"relevant": 0.1})),
            (0.1, 0.0, 0.9),
            id="a word in the thoughts is no verdict",
        ),
        pytest.param(("**", token("partly", 0.5, {"irrelevant": 0.5}), "**"), (0.0, 0.5, 0.5), id="bold"),
        pytest.param(
            (*CHAT, token("部分", 0.7, {"相关": 0.2, "不": 0.1}), "相关", *CLOSE), (0.2, 0.7, 0.1), id="Chinese"
        ),
        pytest.param(
            (*CHAT, token("partly", 0.5, {"banana": 0.3, "Relevant": 0.2}), *CLOSE),
            (2 / 7, 5 / 7, 0.0),
            id="what names no value is left out",
        ),
        pytest.param(
            (*CHAT, token("irre", 0.5, {"relevant": 0.5}), token("levant", 0.9, {"spective": 0.1}), *CLOSE),
            (0.5, 0.0, 0.5),
            id="told by its first piece",
        ),
    ],
)
def test_a_verdict_is_found_at_its_place(tokens: tuple[Any, ...], expected: tuple[float, ...]) -> None:
    """Whatever form the reply has and wherever its tokens are cut, the figures are those of the field's own verdict."""
    found = soft_choice(reply(*tokens), "relevance", RELEVANCE)
    assert found is not None
    assert tuple(found.values()) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("tokens", "values", "expected"),
    [
        pytest.param(
            (token("not", 0.5, {"supported": 0.3, "part": 0.2}), token("_supported", 0.9, {"hing": 0.1})),
            SUPPORT,
            {"not_supported": 0.5, "supported": 0.3, "partially": 0.2},
            id="`supported` inside `not_supported`",
        ),
        pytest.param(
            (token("be", 0.6, {"after": 0.4}), token("fore", 0.75, {"tween": 0.25})),
            SCOPE,
            {"before": 0.45, "between": 0.15, "after": 0.4},
            id="a shared prefix branches at the next token",
        ),
        pytest.param(
            (token("b", 0.8, {"now": 0.2}), token("e", 1.0, {}), token("tween", 0.5, {"fore": 0.5})),
            SCOPE,
            {"before": 0.4, "between": 0.4, "now": 0.2},
            id="two tokens shared",
        ),
        pytest.param(
            (token("no", 0.5, {"yes": 0.5}), token("t_supported", 0.6, {"\n": 0.4})),
            ("no", "not_supported", "yes"),
            {"not_supported": 0.3, "no": 0.2, "yes": 0.5},
            id="`no` ends where `not_supported` goes on",
        ),
        pytest.param(
            (token("no", 0.5, {"yes": 0.5}), token("", 0.6, {"t_": 0.4})),
            ("no", "not_supported", "yes"),
            {"not_supported": 0.2, "no": 0.3, "yes": 0.5},
            id="the end of the reply ends the word",
        ),
        pytest.param(
            (token("no", 0.5, {"yes": 0.5}), token("t_", 0.6, {"": 0.4}), "supported"),
            ("no", "not_supported", "yes"),
            {"not_supported": 0.3, "no": 0.2, "yes": 0.5},
            id="the reply might have ended there",
        ),
        pytest.param(
            (token("after", 0.4, {"be": 0.3, "before": 0.2, "between": 0.1}),),
            SCOPE,
            {"after": 0.4, "before": 0.4, "between": 0.2},
            id="an unknown branch goes by what is known: 2 to 1",
        ),
        pytest.param(
            (token("after", 0.4, {"be": 0.6}),),
            SCOPE,
            {"after": 0.4, "before": 0.3, "between": 0.3},
            id="an unknown branch of which nothing is known is halved",
        ),
        pytest.param(
            (token('"', 0.5, {"after": 0.25, "now": 0.25}), token("now", 0.5, {"after": 0.5}), '"'),
            SCOPE,
            {"after": 0.5, "now": 0.5},
            id="with and without a quotation mark",
        ),
        pytest.param(
            (token("now", 0.5, {"n": 0.25, "nowhere": 0.25}),), SCOPE, {"now": 1.0}, id="`nowhere` is not `now`"
        ),
        pytest.param(
            (token("partly", 0.5, {"unsupported": 0.25, "refuted": 0.25}),),
            SUPPORT,
            {"partially": 0.5, "not_supported": 0.25, "contradicted": 0.25},
            id="other spellings",
        ),
        pytest.param(
            (token("不", 0.6, {"支持": 0.3, "矛盾": 0.1}), token("支持", 0.9, {"对": 0.1})),
            SUPPORT,
            {"not_supported": 0.6, "supported": 0.3, "contradicted": 0.1},
            id="Chinese spellings",
        ),
    ],
)
def test_values_that_look_alike_are_told_apart(
    tokens: tuple[Any, ...], values: tuple[str, ...], expected: dict[str, float]
) -> None:
    """A branch counts for the one value it can still become; the written one is followed until it can be only one."""
    found = soft_choice(reply("[[ ## verdict ## ]]\n", *tokens), "verdict", values)
    assert found == pytest.approx(dict.fromkeys(values, 0.0) | expected)


def test_each_field_has_its_own_figures() -> None:
    """In a reply of several fields the one asked for counts, not the first word that looks like one of its values."""
    tokens = (
        '{"problem": "the \\"sufficient\\": yes is irrelevant, {relevant}", "nested": {"relevance": "irrelevant"}, ',
        '"relevance": "',
        token("partly", 0.5, {"relevant": 0.5}),
        '", "sufficient": "',
        token("yes", 0.75, {"no": 0.25}),
        '", "complete": ',
        token("false", 0.9, {"true": 0.1}),
        "}",
    )
    assert soft_choice(reply(*tokens), "relevance", RELEVANCE) == pytest.approx(
        {"relevant": 0.5, "partly": 0.5, "irrelevant": 0.0}
    )
    assert soft_yes(reply(*tokens), "sufficient") == pytest.approx(0.75)
    assert soft_yes(reply(*tokens), "complete") == pytest.approx(0.1)
    assert soft_grade(reply(*tokens)) == pytest.approx(0.75)


@pytest.mark.parametrize(
    "logprobs",
    [
        pytest.param(None, id="no log-probabilities"),
        pytest.param({"content": None}, id="no tokens"),
        pytest.param({"content": []}, id="empty"),
        pytest.param(reply(*CHAT, "partly", *CLOSE), id="no alternatives and three values"),
        pytest.param(reply("[[ ## answer ## ]]\n", token("partly", 0.5, {"relevant": 0.5})), id="another section"),
        pytest.param(reply('{"answer": "', token("partly", 0.5, {"relevant": 0.5}), '"}'), id="another key"),
        pytest.param(reply("It is ", token("partly", 0.5, {"relevant": 0.5}), " so."), id="inside a sentence"),
        pytest.param(reply(*CHAT, token("perhaps", 0.5, {"relevant": 0.5}), *CLOSE), id="no value written"),
        pytest.param(reply(*CHAT, token("relevance", 0.5, {"irre": 0.5}), *CLOSE), id="a longer word"),
        pytest.param(reply(*CHAT, token("partly", 0.004, {"banana": 0.9}), *CLOSE), id="next to no probability"),
        pytest.param(
            {"content": [{"token": "partly", "top_logprobs": [{"token": "relevant", "logprob": -1.0}]}]},
            id="written token without a figure",
        ),
        pytest.param(
            {"content": [{"token": "partly", "logprob": math.nan, "top_logprobs": [{"token": "x", "logprob": None}]}]},
            id="not a number",
        ),
    ],
)
def test_without_usable_figures_there_is_no_soft_verdict(logprobs: Any) -> None:
    """None, so that the caller keeps the written word; never a made-up distribution."""
    assert soft_choice(logprobs, "relevance", RELEVANCE) is None
    assert soft_grade(logprobs) is None


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        pytest.param((token("yes", 0.8),), 0.8, id="yes"),
        pytest.param((token("no", 0.7),), 0.3, id="no"),
        pytest.param((token("\n", 0.2), token("n", 0.5), token("o", 0.9)), 0.5, id="leading line break does not count"),
    ],
)
def test_two_values_need_no_alternatives(tokens: tuple[Any, ...], expected: float) -> None:
    """Where only the written tokens are reported, the other value has what is left."""
    assert soft_yes(reply("[[ ## sufficient ## ]]\n", *tokens), "sufficient") == pytest.approx(expected)


def _as_objects(logprobs: dict[str, Any]) -> Any:
    return json.loads(json.dumps(logprobs), object_hook=lambda fields: SimpleNamespace(**fields))


def _as_llama_cpp(logprobs: dict[str, Any]) -> Any:
    def entry(t: dict[str, Any]) -> dict[str, Any]:
        return {"id": 7, **t, "bytes": list(t["token"].encode()), "token": t["token"] if t["token"].isascii() else "�"}

    return {
        "content": [entry(t) | {"top_logprobs": [entry(o) for o in t["top_logprobs"]]} for t in logprobs["content"]]
    }


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda x: x, id="dicts"),
        pytest.param(_as_objects, id="objects of a client"),
        pytest.param(_as_llama_cpp, id="llama.cpp"),
        pytest.param(lambda x: x["content"], id="list of tokens"),
    ],
)
def test_every_reported_form_is_read(form: Callable[[Any], Any]) -> None:
    """Dicts, client objects, and entries whose text is only right in `bytes`."""
    tokens = reply(*CHAT, token("部分", 0.6, {"相关": 0.3, "无关": 0.1}), *CLOSE)
    assert soft_grade(form(tokens)) == pytest.approx(0.3 + 0.3)


def test_a_character_cut_in_two_tokens_is_one_character() -> None:
    """Bytes decide, not the broken text that stands for a part of a character."""
    first, second = "是".encode()[:2], "是".encode()[2:]

    def piece(raw: bytes, p: float) -> dict[str, Any]:
        return {"token": raw.decode(errors="replace"), "bytes": list(raw), "logprob": math.log(p)}

    no = piece("否".encode()[:2], 0.2)
    split = piece(first, 0.8) | {"top_logprobs": [piece(first, 0.8), no]}
    tokens = [token("[[ ## sufficient ## ]]\n"), split, piece(second, 1.0) | {"top_logprobs": [piece(second, 1.0)]}]
    assert soft_yes({"content": tokens}, "sufficient") == pytest.approx(0.8)


@pytest.mark.parametrize("seed", range(60))
def test_probabilities_sum_to_one_and_the_values_get_their_own(seed: int) -> None:
    """For a model with a known distribution over the values, cut into random tokens, that distribution comes out."""
    rng = random.Random(seed)
    values = rng.choice([YES_NO, RELEVANCE, SUPPORT, SCOPE])
    weights = [rng.random() + 0.01 for _ in values]
    truth = {value: w / sum(weights) for value, w in zip(values, weights, strict=True)}
    written = rng.choice(values)
    tokens, done = [], ""
    while done != written:
        # The model's own probability of each next piece: the values that share what is written so far go on with it.
        piece = written[len(done) : len(done) + rng.randint(1, 5)]
        left = {v: p for v, p in truth.items() if v.startswith(done)}
        same = sum(p for v, p in left.items() if v.startswith(done + piece)) / sum(left.values())
        others = {v[len(done) :]: p / sum(left.values()) for v, p in left.items() if not v.startswith(done + piece)}
        tokens.append(token(piece, same, others))
        done += piece
    opening = rng.choice(["", "[[ ## verdict ## ]]\n", '{"verdict": "'])
    found = soft_choice(reply(opening, *tokens, '"}' if "{" in opening else ""), "verdict", values)
    assert found is not None
    assert sum(found.values()) == pytest.approx(1.0)
    assert found == pytest.approx(truth)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        pytest.param("[[ ## a ## ]]\nx\n\n[[ ## b ## ]] y", " y", id="section on its own line"),
        pytest.param("[[ ## a ## ]]\nsee [[ ## b ## ]] z", None, id="a marker inside a line is text"),
        pytest.param('```json\n{"a": {"b": 1}, "b": 2}\n```', " 2}\n```", id="nested key passed by"),
        pytest.param('{"a": "\\"b\\": 1", "b":2}', "2}", id="a quoted key is text"),
        pytest.param('[1] {x} {"b": 2', " 2", id="cut off, brackets before"),
        pytest.param("B：是", "是", id="full-width colon"),
        pytest.param("whatever", "whatever", id="plain"),
    ],
)
def test_the_place_of_a_field(text: str, rest: str | None) -> None:
    """Sections, then tags, then the keys of the outermost object, then the reply itself."""
    place = place_of(text.encode(), "b")
    assert (None if place is None else text.encode()[place:].decode()) == rest


class Judge(dspy.Signature):
    """Judge a passage."""

    passage: str = dspy.InputField()
    problem: str = dspy.OutputField()
    support: Literal["supported", "partially", "not_supported", "contradicted"] = dspy.OutputField()
    sufficient: Literal["yes", "no"] = dspy.OutputField()


BRANCHES = {"not": {"supported": 0.2, "part": 0.1}, "yes": {"no": 0.4}}
"""What the fake model weighed beside these tokens; each of them had what is left."""


class LogprobEngine(FunctionEngine):
    """Reports log-probabilities, a token for each word or mark, when it is asked for them."""

    supported_params = FunctionEngine.supported_params | {"logprobs", "top_logprobs"}

    def respond(self, request: Request) -> Response:
        response = super().respond(request)
        wanted = request.config.logprobs
        return response if wanted is None else replace(response, logprobs=_logprobs(response.text or "", wanted))


def _logprobs(text: str, wanted: int) -> tuple[TokenLogprob, ...]:
    pieces = [piece for piece in _pieces(text) if piece]
    found = []
    for piece in pieces:
        others = BRANCHES.get(piece, {})
        own = TopLogprob(token=piece, logprob=math.log(1 - sum(others.values()) or 1.0))
        top = [own, *(TopLogprob(token=t, logprob=math.log(p)) for t, p in others.items())]
        found.append(TokenLogprob(token=piece, logprob=own.logprob, top=tuple(top[:wanted])))
    return tuple(found)


def _pieces(text: str) -> list[str]:
    return re.findall(r"[a-z]+|[^a-z]+", text)


@pytest.mark.parametrize(
    ("adapter", "form"),
    [
        pytest.param(dspy.ChatAdapter(), chat_reply, id="chat"),
        pytest.param(dspy.JSONAdapter(), json_reply, id="json"),
    ],
)
def test_through_dspy_with_demos(adapter: dspy.Adapter, form: Callable[..., str]) -> None:
    """A compiled predictor (demos present) asked with `logprob_config` gives every closed field its figures."""
    values = {"problem": "not yes, not supported", "support": "not_supported", "sufficient": "yes"}
    engine = LogprobEngine(lambda request: form(**values))
    lm = dspy.LM("fake/logs", engine=engine, async_engine=AsyncFunctionEngine(engine), cache=False, num_retries=0)
    predictor = dspy.Predict(Judge)
    predictor.demos = [
        dspy.Example(passage="p", problem="", support="supported", sufficient="no").with_inputs("passage"),
    ]
    with dspy.context(lm=lm, adapter=adapter):
        prediction = predictor(passage="The sky is blue.", config=logprob_config(lm))
    assert len(engine.requests[0].messages) == 3  # the demo is in the prompt
    assert soft_choice(prediction.logprobs, "support", SUPPORT) == pytest.approx(
        {"supported": 0.2, "partially": 0.1, "not_supported": 0.7, "contradicted": 0.0}
    )
    assert soft_yes(prediction.logprobs, "sufficient") == pytest.approx(0.6)


def test_only_a_model_that_can_is_asked() -> None:
    """DSPy refuses the setting for a model that reports none; asked for in another form it fails for all of them."""
    plain = dspy.LM("fake/plain", engine=FunctionEngine(lambda request: ""))
    able = dspy.LM("fake/able", engine=LogprobEngine(lambda request: chat_reply(answer="x")), cache=False)
    assert logprob_config(plain) == {}
    assert logprob_config(None) == {}
    config = logprob_config(able)
    with dspy.context(lm=able, adapter=dspy.ChatAdapter()):
        assert dspy.Predict("q -> answer")(q="a", config=config).answer == "x"
        with pytest.raises((TypeError, dspy.LMUnsupportedFeatureError), match="must be a boolean"):
            dspy.Predict("q -> answer")(q="a", config={"logprobs": 10})
