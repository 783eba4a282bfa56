"""A question that may mean several bearers of a name is answered for one, with a warning that names all."""

import pytest

from reflective_rag.programs import make_program
from reflective_rag.signatures.types import Passage, Result
from tests.programs.rules.worlds import passage

BROOK = (
    passage("p", "Adam Brook, a sculptor, was born in Leeds.", "Adam Brook (sculptor)"),
    passage("q", "Adam Brook, a chemist, was born in York.", "Adam Brook (chemist)"),
)
LI = (
    passage("p", "画家王海青出生于1950年。", "王海青（画家）"),
    passage("q", "医生王海青出生于1972年。", "王海青（医生）"),
)
HALDEN = (
    passage("p", "Halden, Maine has a population of 24,000.", "Halden (Maine)"),
    passage("q", "Halden, Norway has a population of 2,100,000.", "Halden"),
)
RIVER_ZH = (
    passage("p", "白河全长410公里。", "白河（河南）"),
    passage("q", "白河全长275公里。", "白河（北京）"),
)
FILMS = (
    passage("p", "Glass Tide was directed by Nora Pell.", "Glass Tide (2011 film)"),
    passage("q", "Glass Tide was directed by Tom Reed.", "Glass Tide (2019 film)"),
)
BARE = tuple(page.model_copy(update={"title": ""}) for page in BROOK)
PLACES = (
    passage("p", "Halden, Maine has a population of 24,000."),
    passage("q", "Halden, Norway has a population of 2,100,000."),
)
BORN, BORN_ZH = "Where was Adam Brook born?", "王海青出生于哪一年？"
PEOPLE = "What is the population of Halden?"


def ask(question: str, pages: tuple[Passage, ...], program: str = "reflective") -> Result:
    """What a program answers from these pages, by rules."""
    result: Result = make_program(program, search=lambda _, k: list(pages), mode="rules")(question=question)
    return result


def told(result: Result) -> str:
    """The message of the warning, empty without one."""
    return next((warning.message for warning in result.warnings if warning.code == "ambiguous_question"), "")


@pytest.mark.parametrize(
    ("question", "pages", "parts"),
    [
        pytest.param(BORN, BROOK, ("Adam Brook (sculptor): Leeds", "Adam Brook (chemist): York"), id="en people"),
        pytest.param(BORN, BARE, ("sculptor", "Leeds", "chemist", "York"), id="en people, told apart in the text"),
        pytest.param(PEOPLE, HALDEN, ("Halden (Maine): 24,000", "Halden", "2,100,000"), id="en places"),
        pytest.param(PEOPLE, PLACES, ("Maine", "24,000", "Norway", "2,100,000"), id="en places in the text"),
        pytest.param("Who directed Glass Tide?", FILMS, ("Nora Pell", "Tom Reed"), id="en films of two years"),
        pytest.param("Who directed the film Glass Tide?", FILMS, ("Nora Pell", "Tom Reed"), id="en, both are films"),
        pytest.param(BORN_ZH, LI, ("王海青（画家）：1950年", "王海青（医生）：1972年"), id="zh people"),
        pytest.param("白河全长多少公里？", RIVER_ZH, ("410公里", "275公里"), id="zh rivers"),
    ],
)
@pytest.mark.parametrize("program", ["reflective", "self-rag", "corrective"])
def test_each_bearer_is_named_with_its_answer(
    program: str, question: str, pages: tuple[Passage, ...], parts: tuple[str, ...]
) -> None:
    """Every program that judges its evidence says so, and the result is degraded, whatever the order of the pages."""
    for order in (pages, pages[::-1]):
        result = ask(question, order, program)
        assert not result.abstained
        assert result.degraded
        assert all(part in told(result) for part in parts)


@pytest.mark.parametrize(
    ("question", "pages", "answer"),
    [
        pytest.param("Where was the sculptor Adam Brook born?", BROOK, "Leeds", id="en before the name"),
        pytest.param("Where was Adam Brook the chemist born?", BROOK, "York", id="en after the name"),
        pytest.param("Where was Adam Brook (chemist) born?", BROOK, "York", id="en in brackets"),
        pytest.param("Where was the chemist Adam Brook born?", BARE, "York", id="en by the text"),
        pytest.param("What is the population of Halden, Maine?", HALDEN, "24,000", id="en place"),
        pytest.param("What is the population of Halden in Norway?", HALDEN, "2,100,000", id="en country"),
        pytest.param("画家王海青出生于哪一年？", LI, "1950年", id="zh painter"),
        pytest.param("医生王海青出生于哪一年？", LI, "1972年", id="zh doctor"),
    ],
)
def test_a_question_that_says_which_is_answered_without_it(
    question: str, pages: tuple[Passage, ...], answer: str
) -> None:
    """The word that tells the bearers apart chooses the right one, whatever the order of the pages."""
    for order in (pages, pages[::-1]):
        result = ask(question, order)
        assert result.answer == answer
        assert not told(result)
        assert not result.degraded


@pytest.mark.parametrize(
    ("question", "pages"),
    [
        pytest.param(
            BORN,
            (BROOK[0], passage("q", "Adam Brook, a chemist, was born in Leeds.", "Adam Brook (chemist)")),
            id="one answer",
        ),
        pytest.param(
            BORN,
            (BROOK[0], passage("q", "Adam Brook, a chemist, taught at a school.", "Adam Brook (chemist)")),
            id="only one answers",
        ),
        pytest.param(
            "How much may employees spend on a hotel?",
            (
                passage("p", "Employees may spend 85 euros on a hotel.", "Travel policy"),
                passage("q", "Employees may spend 110 euros on a hotel.", "Travel policy (revised)"),
            ),
            id="a revision",
        ),
        pytest.param(
            "How long is the Orel Bridge?",
            (
                passage("p", "The Orel Bridge is 410 metres long.", "Orel Bridge"),
                passage("q", "The Orel Bridge is 512 metres long.", "Orel Bridge"),
            ),
            id="a contradiction about one thing",
        ),
        pytest.param(
            "Where was Ida Brock born?",
            (
                passage("p", "Ida Brock, a painter, was born in Leeds.", "Ida Brock"),
                passage("q", "Ida Brock was a painter born in York.", "Ida Brock"),
            ),
            id="one trade",
        ),
        pytest.param(
            "王海青出生于哪一年？",
            (passage("p", "画家王海青出生于1950年。", "王海青"), passage("q", "王海青出生于1972年。", "王海青")),
            id="zh, a contradiction about one person",
        ),
    ],
)
def test_what_is_no_question_of_namesakes(question: str, pages: tuple[Passage, ...]) -> None:
    """One answer, one bearer, two versions of a text: none is ambiguous."""
    assert not told(ask(question, pages))
