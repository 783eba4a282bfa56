"""A sentence that denies a thing does not state it: it answers nothing, supports nothing, and refutes the claim."""

import pytest

from reflective_rag.programs.rules import answer, check_support
from tests.programs.rules.worlds import passage

DENIED = [
    ("Who founded Acme?", "Acme was not founded by John Smith.", "John Smith"),
    ("Who founded Acme?", "John Smith did not found Acme.", "John Smith"),
    ("Who founded Acme?", "It is a myth that Acme was founded by John Smith.", "John Smith"),
    ("Who invented the telephone?", "Thomas Edison never invented the telephone.", "Thomas Edison"),
    ("When was Acme founded?", "Acme was not founded in 1990.", "1990"),
    ("Where is Acme based?", "Acme is no longer based in Paris.", "Paris"),
    ("谁创立了维河公司？", "维河公司不是由张伟创立的。", "张伟"),
    ("维河公司成立于哪一年？", "维河公司并非成立于1990年。", "1990年"),
]


@pytest.mark.parametrize(("question", "text", "claim"), DENIED, ids=[row[1] for row in DENIED])
def test_what_is_denied_is_no_answer_and_no_support(question, text, claim):
    """In neither language, whatever the words of the denial."""
    pages = [passage("a", text)]
    assert claim not in answer(question, pages).answer
    assert check_support(question, claim, pages).support == "contradicted"


STATED = [
    ("When was Acme founded?", "Acme was not founded in 1990 but in 1985.", "1985"),
    ("Who founded Acme?", "Acme was founded by Ann Lee, not by John Smith.", "Ann Lee"),
    ("When did Giotto die?", "Giotto did not die until 1337.", "1337"),
    ("Where was Arvid Lund born?", "Arvid Lund was born in Oslo and did not go to school.", "Oslo"),
    ("Which city is not in Foo?", "Bar is not in Foo.", "Bar"),
    ("维河公司成立于哪一年？", "维河公司不是1990年成立的，而是1985年成立的。", "1985年"),
    ("谁创立了维河公司？", "维河公司由李丽创立，而不是张伟。", "李丽"),
    ("林德华获得了什么奖？", "林德华不仅获得了金帆奖，还是一名导演。", "金帆奖"),
]


@pytest.mark.parametrize(("question", "text", "claim"), STATED, ids=[row[1] for row in STATED])
def test_what_is_stated_beside_a_denial_stays(question, text, claim):
    """The other half of "not … but", a date after "not until", another verb, a question that denies itself."""
    pages = [passage("a", text)]
    assert claim in answer(question, pages).answer
    assert check_support(question, claim, pages).support in ("supported", "partially")
