"""The quoted sentence is verbatim and carries the answer."""

import pytest

from reflective_rag.programs.rules import locate_quote
from tests.programs.rules.worlds import passage

EN = passage("a", "Rain fell in 1931. The Orlen Bridge was completed in 1931 by Otto Brandt. It is 640 metres long.")
ZH = passage("a", "1931年下了大雨。奥伦桥于1931年建成，由王立设计。全长640米。")

QUOTES = [
    ("When was the Orlen Bridge completed?", "1931", EN, "The Orlen Bridge was completed in 1931 by Otto Brandt."),
    ("Who built the Orlen Bridge?", "Otto Brandt", EN, "The Orlen Bridge was completed in 1931 by Otto Brandt."),
    ("How long is it?", "640 metres", EN, "It is 640 metres long."),
    ("Was the Orlen Bridge completed?", "yes", EN, "The Orlen Bridge was completed in 1931 by Otto Brandt."),
    ("奥伦桥何时建成？", "1931年", ZH, "奥伦桥于1931年建成，由王立设计。"),
    ("奥伦桥有多长？", "640米", ZH, "全长640米。"),
    ("奥伦桥建成了吗？", "是", ZH, "奥伦桥于1931年建成，由王立设计。"),
]


@pytest.mark.parametrize(("question", "answer", "source", "quote"), QUOTES, ids=[f"{q}{a}" for q, a, _, _ in QUOTES])
def test_best_carrying_sentence(question, answer, source, quote):
    """Of the sentences that hold the answer the one nearest the question is quoted, with its offsets."""
    found = locate_quote(question, answer, source)
    assert found is not None
    text, start, end = found
    assert text == quote
    assert source.text[start:end] == text


@pytest.mark.parametrize("source", [EN, ZH, passage("a", ""), passage("a", " \n ")], ids=["en", "zh", "empty", "blank"])
@pytest.mark.parametrize("answer", ["Selma Ek", "林德华", "", "🙂"])
def test_no_shared_content_gives_none(source, answer):
    """Without a sentence that shares content with the answer there is no quote."""
    assert locate_quote("Who wrote it?", answer, source) is None
