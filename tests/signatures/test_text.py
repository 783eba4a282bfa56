"""Text helpers in both languages: language, normal form, identity, tokens, sentences."""

import itertools

import pytest

from reflective_rag.signatures.text import content_hash, identity, language_of, normalize, sentences, tokenize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Who painted it?", "en", id="English"),
        pytest.param("谁画的？", "zh", id="Chinese"),
        pytest.param("ReflectiveRAG 是什么？", "zh", id="Chinese with a Latin name"),
        pytest.param("The character 水 means water in most of the dialects", "en", id="English with one character"),
        pytest.param("", "en", id="empty"),
        pytest.param("12345 !?", "en", id="no letters"),
        pytest.param("Qui a peint ça ?", "en", id="another Latin script"),
    ],
)
def test_language_is_english_unless_a_tenth_is_chinese(text: str, expected: str) -> None:
    """Messages follow the question's language; anything that is not Chinese is answered in English."""
    assert language_of(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("Giotto, born in 1267.", "giotto born in 1267", id="case and punctuation"),
        pytest.param("a  b\n c", "a b c", id="white space"),
        pytest.param("Ｇｉｏｔｔｏ　１２６７", "giotto 1267", id="full-width"),
        pytest.param("北京，是中国的首都。", "北京 是中国的首都", id="Chinese punctuation"),
        pytest.param("snake_case", "snake case", id="underscore"),
        pytest.param("Straße", "STRASSE", id="case folding"),
    ],
)
def test_texts_that_differ_in_form_only_are_the_same(one: str, other: str) -> None:
    """Case, width, punctuation and white space do not make a passage or a query new."""
    assert normalize(one) == normalize(other)
    assert content_hash(one) == content_hash(other)


def test_texts_with_other_words_are_not_the_same() -> None:
    """One digit makes another text: 1267 and 1268 must not be merged."""
    assert content_hash("born in 1267") != content_hash("born in 1268")


def test_any_text_has_an_identity() -> None:
    """Half of a surrogate pair, as broken JSON escapes give it, is a text like any other."""
    assert len(content_hash("broken \ud83d")) == 16


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Giotto was born", ["giotto", "was", "born"], id="English"),
        pytest.param("北京市", ["北京", "京市"], id="Chinese bigrams"),
        pytest.param("水", ["水"], id="lone character"),
        pytest.param("GDP 增长 6.5%", ["gdp", "增长", "6.5"], id="mixed"),
        pytest.param("1,234 and 3.14", ["1,234", "and", "3.14"], id="numbers whole"),
        pytest.param("it's", ["it's"], id="apostrophe"),
        pytest.param("—?!", [], id="punctuation alone"),
        pytest.param("", [], id="empty"),
    ],
)
def test_tokens_are_words_and_chinese_bigrams(text: str, expected: list[str]) -> None:
    """Words and numbers in lower case, Chinese as overlapping pairs that need no dictionary."""
    assert tokenize(text) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("Giotto was born in 1267. He died in 1337.", 2, id="English"),
        pytest.param("Dr. Smith met Mr. Jones. They talked.", 2, id="abbreviations"),
        pytest.param("北京是首都。上海是最大的城市。", 2, id="Chinese"),
        pytest.param("  leading and trailing  ", 1, id="white space around"),
        pytest.param("no end", 1, id="without a full stop"),
        pytest.param("", 0, id="empty"),
        pytest.param(" \n\t ", 0, id="white space alone"),
        pytest.param("First.\n\nSecond.\n\nFirst.\n", 3, id="a sentence that stands twice"),
    ],
)
def test_sentences_are_verbatim_spans(text: str, count: int) -> None:
    """Every sentence stands at its offsets in the text, in order and without overlap: citations rely on it."""
    found = sentences(text)
    assert len(found) == count
    assert all(text[s.start : s.end] == s.text == s.text.strip() for s in found)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))


def test_a_very_long_text_keeps_its_offsets() -> None:
    """Text without a full stop, with many, and with quotes that hide where a sentence ends, is split all the same."""
    quoted = ("“他说。”" * 20_000, "“他说这是对的。" * 10_000, "“ he said so. " * 8_000)
    for text in ("x" * 200_000, "One more sentence here. " * 8_000, "这是一句话。" * 30_000, *quoted):
        found = sentences(text)
        assert found
        assert all(text[s.start : s.end] == s.text for s in found)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param("The ticket costs $50.", "The ticket costs €50.", id="currency"),
        pytest.param("票价￥50。", "票价$50。", id="currency, Chinese"),
        pytest.param("written in C++", "written in C#", id="name with signs"),
        pytest.param("rated A+", "rated A-", id="grade"),
        pytest.param("at least ≥ 5 mg", "at least ≤ 5 mg", id="bound"),
        pytest.param("it is -5 °C", "it is 5 °C", id="sign"),
        pytest.param("it is –5 °C", "it is 5 °C", id="sign as a dash"),
        pytest.param("1/2 cup", "1.2 cup", id="fraction"),
        pytest.param("10² metres", "102 metres", id="power"),
        pytest.param("5 % of them", "5 of them", id="share"),
        pytest.param("👍", "👎", id="emoji"),
        pytest.param("!!!", "", id="nothing but punctuation"),
    ],
)
def test_signs_that_mean_something_make_another_text(a: str, b: str) -> None:
    """Two facts are never taken for one: only what carries no meaning is left out of a text's identity."""
    assert identity(a) != identity(b)
