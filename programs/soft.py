"""Soft verdicts: the probability a model gave to each value of a closed set, where log-probabilities are reported.

Seen with a 1.5B model: relevance accuracy .68 from the written word, .83 from its log-probability (n = 60).

The verdict is found at its field's place in the reply (chat sections, JSON, XML, or a plain reply). From there on the
reply's tokens are walked. At each token every alternative that the model weighed, put behind what is written so far,
either names one value, could become several, or none:

- it names one value (`irre`, or `not` where no other value begins so): its probability, times that of the tokens
  written before it in the verdict, is that value's;
- it could become several (`n` for "no" and "not_supported", a quotation mark, a line break): if it is the written
  token, its branches are told apart by the next one; if not, nobody knows how it would have gone on, so its probability
  is shared among those values in the proportion in which the known probability is, equally where none of them has any;
- it names none: it is left out.

The sum is then brought to 1. Values may be written in any spelling that `programs.reading` reads (partly, 部分, …).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as field_
from typing import Any

from reflective_rag.programs.soft_places import Spelling, place_of, spellings_of, values_in, written_value

GRADES = {"relevant": 1.0, "partly": 0.5, "irrelevant": 0.0}
YES_NO = ("yes", "no")

MIN_MASS = 0.01
"""Least probability that must fall on the values together; with less the figures say nothing about the verdict."""

ALTERNATIVES = 10
"""Alternatives asked for per token; OpenAI, vLLM and Gemini give at most 20."""


def logprob_config(lm: Any) -> dict[str, Any]:
    """The `config` of a `dspy.Predict` call that makes `lm` report log-probabilities; empty where it cannot.

    DSPy takes the OpenAI form only; `{"logprobs": 10}` fails before the model is asked.
    """
    able = {"logprobs", "top_logprobs"} <= set(getattr(lm, "supported_params", None) or ())
    return {"logprobs": True, "top_logprobs": ALTERNATIVES} if able else {}


def soft_grade(logprobs: Any, field: str = "relevance") -> float | None:
    """Expected relevance grade 0..1 of the verdict in `field`; None without usable figures (see `soft_choice`)."""
    found = soft_choice(logprobs, field, tuple(GRADES))
    return None if found is None else sum(GRADES[value] * p for value, p in found.items())


def soft_yes(logprobs: Any, field: str) -> float | None:
    """Probability 0..1 of "yes" in a yes/no field; None without usable figures (see `soft_choice`)."""
    found = soft_choice(logprobs, field, YES_NO)
    return None if found is None else found["yes"]


def soft_choice(logprobs: Any, field: str, values: Sequence[str]) -> dict[str, float] | None:
    """Probability of each of a closed field's values, in the order of `values`; they sum to 1.

    None when there are no usable figures: no tokens, no verdict at the field's place, no alternatives reported, or less
    than `MIN_MASS` on all values together. Where the model reports its own tokens only, a field of two values still has
    p and 1 − p. It does not judge the written verdict: read that with `read_choice` first ("yes and no" is none).

    Args:
        logprobs: `prediction.logprobs`: `content`, a list of tokens with `token`, `logprob`, `top_logprobs` and, where
            known, `bytes`; objects or dicts (OpenAI, vLLM, llama.cpp, and DSPy's own).
        field: Name of the output field.
        values: The members of its `Literal`, at least two.
    """
    tokens = _tokens(logprobs)
    reply = b"".join(token.text for token in tokens)
    spellings = spellings_of(values)
    start = place_of(reply, field)
    if start is None or (written := written_value(reply[start:], spellings)) is None:
        return None
    walk = _walk(tokens, reply, start, spellings, written)
    if walk is None:
        return None
    if not walk.compared:
        # Only the written tokens were reported: enough where there is one other value.
        return {v: walk.spelled if v == written else 1 - walk.spelled for v in values} if len(values) == 2 else None
    mass = _shared_out(walk, values)
    total = sum(mass.values())
    return {value: p / total for value, p in mass.items()} if total >= MIN_MASS else None


def text_probability(logprobs: Any, field: str, text: str) -> float | None:
    """exp(mean log-probability) of the tokens that write `text` in `field`: how sure the model was of it, 0..1.

    None without figures, or where the text does not stand in the reply as it is (escaped in JSON, say).
    """
    tokens = _tokens(logprobs)
    reply = b"".join(token.text for token in tokens)
    place = place_of(reply, field)
    start = -1 if place is None or not text else reply.find(text.encode(), place)
    if start < 0:
        return None
    end, offset = start + len(text.encode()), 0
    found: list[float | None] = []
    for token in tokens:
        if offset < end and offset + len(token.text) > start:
            found.append(token.p)
        offset += len(token.text)
    known = [p for p in found if p is not None]
    if len(known) < len(found):
        return None
    return math.exp(sum(map(math.log, known)) / len(known)) if all(known) else 0.0


@dataclass(frozen=True)
class _Token:
    """One token of the reply: its bytes, its probability (None unknown), and the alternatives other than itself."""

    text: bytes
    p: float | None
    others: tuple[tuple[bytes, float], ...]


@dataclass
class _Walk:
    """What the tokens of one verdict told."""

    known: dict[str, float] = field_(default_factory=dict)
    """Probability of the branches that name one value."""
    ambiguous: list[tuple[frozenset[str], float]] = field_(default_factory=list)
    compared: bool = False
    """Whether the model reported any alternative to what it wrote."""
    spelled: float = 1.0
    """Probability of the written value's own tokens."""

    def give(self, values: frozenset[str], p: float) -> None:
        if len(values) == 1:
            (value,) = values
            self.known[value] = self.known.get(value, 0.0) + p
        elif values:
            self.ambiguous.append((values, p))


def _walk(
    tokens: Sequence[_Token], reply: bytes, start: int, spellings: Sequence[Spelling], written: str
) -> _Walk | None:
    """Follow the verdict until it can only be one value; None when a token of it has no probability."""
    walk = _Walk()
    path, offset = 1.0, 0
    for token in tokens:
        begin, offset = offset, offset + len(token.text)
        if offset <= start:
            continue
        before, ahead = reply[start : max(start, begin)], token.text[: max(0, start - begin)]
        for text, p in token.others:
            if text.startswith(ahead):
                walk.compared = True
                walk.give(_values_of(before, text, text[len(ahead) :], spellings), path * p)
        if token.p is None:
            return None
        path *= token.p
        possible = values_in(reply[start:offset], spellings)
        if len(possible) < len(values_in(b"", spellings)):
            walk.spelled *= token.p
        if len(possible) == 1:
            break
    walk.give(frozenset([written]), path)
    return walk


def _values_of(before: bytes, token: bytes, piece: bytes, spellings: Sequence[Spelling]) -> frozenset[str]:
    """The values that the verdict may be when it goes on with `piece`; the empty token is the end of the reply."""
    if token:
        return values_in(before + piece, spellings)
    ended = written_value(before, spellings)
    return frozenset([ended] if ended else ())


def _shared_out(walk: _Walk, values: Sequence[str]) -> dict[str, float]:
    """The known probability of each value, and its share of what could have become several."""
    mass = {value: walk.known.get(value, 0.0) for value in values}
    for shared, p in walk.ambiguous:
        known = sum(walk.known.get(value, 0.0) for value in shared)
        for value in shared:
            mass[value] += p * (walk.known.get(value, 0.0) / known if known else 1 / len(shared))
    return mass


def _tokens(logprobs: Any) -> list[_Token]:
    content = logprobs if isinstance(logprobs, list | tuple) else _get(logprobs, "content")
    return [_token(entry) for entry in content or ()]


def _token(entry: Any) -> _Token:
    text = _bytes(entry)
    listed = list(_alternatives(entry))
    own = _probability(entry)
    if own is None:
        own = next((p for other, p in listed if other == text), None)
    return _Token(text, own, tuple((other, p) for other, p in listed if other != text))


def _alternatives(entry: Any) -> Iterator[tuple[bytes, float]]:
    for other in _get(entry, "top_logprobs") or ():
        p = _probability(other)
        if p is not None:
            yield _bytes(other), p


def _bytes(entry: Any) -> bytes:
    """A token as bytes: a Chinese character may lie in two tokens, and then only the bytes are whole."""
    raw = _get(entry, "bytes")
    if isinstance(raw, list | tuple) and all(isinstance(b, int) and 0 <= b < 256 for b in raw):
        return bytes(raw)
    return str(_get(entry, "token") or "").encode(errors="replace")


def _probability(entry: Any) -> float | None:
    value = _get(entry, "logprob")
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return math.exp(min(0.0, value))


def _get(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
