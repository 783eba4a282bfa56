"""Grades of passages: from 0 (no content term of the question) to 1 (all of them in one place)."""

import pytest

from reflective_rag.programs.rules import assess
from tests.programs.rules.worlds import DIRECTOR, DISTRACTORS, FILM, LIBRARY_EN, LIBRARY_ZH, passage

TOLERANCE = 0.1
"""How far unrelated passages may move a grade."""

QUESTIONS = [("When was the Meridale Public Library opened?", LIBRARY_EN), ("青石图书馆是什么时候创办的？", LIBRARY_ZH)]


@pytest.mark.parametrize(("question", "passages"), QUESTIONS, ids=["en", "zh"])
def test_grades_spread_over_the_range(question, passages):
    """The passage with all terms is graded near 1, one with a shared name in between, an unrelated one 0."""
    grades = assess(question, passages).relevance
    assert grades["lib"] >= 0.9
    assert 0 < grades["tram"] < 0.6
    assert grades["bread"] == 0


@pytest.mark.parametrize(("question", "passages"), QUESTIONS, ids=["en", "zh"])
@pytest.mark.parametrize("count", [1, 5, 12])
def test_distractors_hardly_move_the_top_grades(question, passages, count):
    """Unrelated passages change no grade by more than the tolerance, and not the order of the first two."""
    before = assess(question, passages).relevance
    after = assess(question, passages + DISTRACTORS[:count]).relevance
    assert all(abs(after[name] - grade) <= TOLERANCE for name, grade in before.items())
    assert after["lib"] > after["tram"]


def test_every_passage_is_graded_once():
    """Each id has one grade in 0..1; a repeated id keeps its best."""
    twice = (passage("x", "Nothing of the kind."), passage("x", "The Meridale Public Library was opened in 1936."))
    grades = assess("When was the Meridale Public Library opened?", twice).relevance
    assert list(grades) == ["x"]
    assert grades["x"] >= 0.9


def test_word_forms_and_synonyms_count():
    """The term "founder" finds "founded", and 创办 finds 成立."""
    assert (
        assess("Who was the founder of Tornby?", (passage("a", "Tornby was founded by Selma Ek."),)).relevance["a"] == 1
    )
    assert assess("青石大学是谁创办的？", (passage("a", "青石大学由王立成立。"),)).relevance["a"] >= 0.9


def test_a_passage_that_names_nothing_asked_about_is_halved():
    """Sharing the verb but not the name is worth less than sharing the name but not the verb."""
    grades = assess(
        "When was Tornby flooded?", (passage("verb", "The cellar was flooded."), passage("name", "Tornby is a town."))
    ).relevance
    assert grades["verb"] < grades["name"]


def test_second_step_of_a_chain_gains_from_the_first():
    """A passage whose title the first passage names inherits part of what the first one covers."""
    question = "When was the director of The Silver Orchard born?"
    alone = assess(question, (DIRECTOR,)).relevance["quill"]
    chained = assess(question, (FILM, DIRECTOR)).relevance["quill"]
    assert chained > alone


def test_a_title_that_the_question_names_counts_more_than_a_mention():
    """Of two passages with the same terms the one about the named thing is graded higher."""
    pool = (
        passage("about", "It is red and lies in the north.", "Orlen Bridge"),
        passage("mention", "The Orlen Bridge is red and lies in the north."),
    )
    found = assess("Who designed the Orlen Bridge?", pool).relevance
    assert found["about"] > found["mention"]


def test_a_page_named_by_a_good_page_gains_even_without_terms():
    """The second hop is graded above zero though it shares no word with the question; a stranger is not."""
    pool = (
        FILM,
        passage("town", "Joe Fenn lives in Tornby.", "Joe Fenn"),
        passage("stranger", "Nora lives in Tornby.", "Nora"),
    )
    found = assess("Which studio made The Silver Orchard?", pool).relevance
    assert found["town"] > found["stranger"] == 0


def test_chinese_and_latin_words_that_touch_are_two_words():
    """The name in OpenVey由王立创立 is found though no space stands after it."""
    assert assess("OpenVey是谁创立的？", (passage("a", "OpenVey由王立创立。"),)).relevance["a"] == 1
