"""Citations: a cited sentence carries its claim, and is not merely one in which the answer's words occur."""

import pytest

from reflective_rag.programs.citing import cite, cite_claims
from reflective_rag.signatures.types import Draft, Passage

BRIDGE = Passage(
    id="bridge",
    title="Orlen Bridge",
    text="The Orlen Bridge was completed in 1931. It spans the Vey. Otto Brandt designed it.",
)
TUNNEL = Passage(id="tunnel", title="Vey Tunnel", text="The Vey Tunnel was completed in 1931. It is long.")
BIRDS = Passage(id="birds", title="Birds", text="In 1931 many birds were seen. Otto Brandt liked otters.")
BRIDGE_ZH = Passage(id="bridge", title="奥伦桥", text="奥伦桥于1931年建成。它横跨维河。")
BIRDS_ZH = Passage(id="birds", text="1931年，许多鸟被发现。奥托喜欢水獭。")
DONE, DONE_ZH = "When was the Orlen Bridge completed?", "奥伦桥何时建成？"
FILM = Passage(id="film", text="Red Sun is a 1950 film directed by Jean Foo.")
FOO = Passage(id="foo", text="Jean Foo was born in Paris and lived there.")

CASES = [
    pytest.param(DONE, "1931", ["bridge"], [BRIDGE, BIRDS], ["bridge"], [], id="carries it"),
    pytest.param(DONE, "1931", ["birds"], [BIRDS], [], ["birds"], id="holds the year only"),
    pytest.param(DONE, "1931", ["tunnel"], [TUNNEL, BRIDGE], ["bridge"], ["tunnel"], id="of another thing"),
    pytest.param(DONE, "1931", [], [BIRDS, BRIDGE], ["bridge"], [], id="names none"),
    pytest.param(DONE, "1931", ["gone"], [BIRDS, BRIDGE], ["bridge"], [], id="names one that was not read"),
    pytest.param(DONE, "1950", ["bridge"], [BRIDGE], [], ["bridge"], id="another number"),
    pytest.param(
        DONE, "The Orlen Bridge was completed in 1950.", ["bridge"], [BRIDGE], [], ["bridge"], id="false year"
    ),
    pytest.param(
        DONE, "The Orlen Bridge wasn't completed in 1931.", ["bridge"], [BRIDGE], [], ["bridge"], id="negated"
    ),
    pytest.param(
        DONE,
        "The Orlen Bridge was completed in 1931. It was designed by Otto Brandt.",
        ["birds", "bridge"],
        [BIRDS, BRIDGE],
        ["bridge", "bridge"],
        ["birds"],
        id="two claims, two sentences",
    ),
    pytest.param("Who designed it?", "x" * 5000, ["bridge"], [BRIDGE], [], ["bridge"], id="too long to stand anywhere"),
    pytest.param(
        "Where was the director of Red Sun born?", "Paris", ["foo"], [FILM, FOO], ["foo"], [], id="second step"
    ),
    pytest.param(
        "Where was the director of Red Sun born?", "Paris", ["foo"], [FOO], [], ["foo"], id="nothing links it"
    ),
    pytest.param("Is the Orlen Bridge long?", "yes", ["bridge"], [BRIDGE], ["bridge"], [], id="yes"),
    pytest.param("Is the Orlen Bridge long?", "yes", ["birds"], [BIRDS], [], ["birds"], id="yes, off topic"),
    pytest.param(DONE_ZH, "1931年", ["bridge"], [BIRDS_ZH, BRIDGE_ZH], ["bridge"], [], id="zh carries it"),
    pytest.param(
        DONE_ZH, "1931年", ["birds"], [BIRDS_ZH, BRIDGE_ZH], ["bridge"], ["birds"], id="zh holds the year only"
    ),
    pytest.param(DONE_ZH, "奥伦桥没有在1931年建成。", ["bridge"], [BRIDGE_ZH], [], ["bridge"], id="zh negated"),
    pytest.param(DONE_ZH, "1931年", [], [], [], [], id="nothing was read"),
]


@pytest.mark.parametrize(("question", "answer", "named", "passages", "cited", "failed"), CASES)
def test_what_is_cited(
    question: str, answer: str, named: list[str], passages: list[Passage], cited: list[str], failed: list[str]
) -> None:
    """Named passages come first, and only those whose sentence speaks of what is asked; quotes are verbatim."""
    citations, unverified = cite(question, Draft(answer=answer, cited=tuple(named)), passages)
    texts = {p.id: p.text for p in passages}
    assert [c.passage_id for c in citations] == cited
    assert list(unverified) == failed
    assert all(texts[c.passage_id][c.start : c.end] == c.quote != "" for c in citations)


def test_each_claim_has_its_own_sentences() -> None:
    """The spans come claim by claim, in the order of the claims."""
    spans = cite_claims(DONE, ["Otto Brandt designed it.", "completed in 1931"], ["bridge"], [BRIDGE])
    assert [[c.quote for c in found] for found in spans] == [
        ["Otto Brandt designed it."],
        ["The Orlen Bridge was completed in 1931."],
    ]


def test_the_same_sentence_is_cited_once() -> None:
    """Two claims that one sentence carries give one citation of the result."""
    line = Passage(id="line", text="The Orlen line serves the towns Tornby, Vey and Meridale.")
    draft = Draft(answer="Tornby and Vey", cited=("line",))
    assert len(cite("Which towns does the Orlen line serve?", draft, [line])[0]) == 1
