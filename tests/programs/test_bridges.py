"""Bridges: the name that a covered requirement found is put into later queries. English and Chinese."""

import pytest

from reflective_rag.programs.bridges import Bridge, bridge_values, with_bridges
from reflective_rag.programs.gap_ledger import GapLedger
from reflective_rag.signatures.types import Passage
from tests.programs.gaps import DIRECTOR, FILM, QUESTION, gap, need, opened


@pytest.mark.parametrize(
    ("requirement", "text", "title", "question", "first"),
    [
        pytest.param("director of Stretch", FILM.text, FILM.title, QUESTION, "Joe Carnahan", id="nearest name"),
        pytest.param(
            "the director of the film Stretch",
            "Joe Carnahan directed Stretch.",
            "Joe Carnahan",
            QUESTION,
            "Joe Carnahan",
            id="name at the start",
        ),
        pytest.param(
            "country where Nokia was founded",
            "Nokia Corporation was founded in 1865 in Finland by Fredrik Idestam.",
            "Nokia",
            "What is the capital of the country where Nokia was founded?",
            "Finland",
            id="a longer form of the question's name is no value",
        ),
        pytest.param(
            "《红高粱》的导演",
            "《红高粱》是由张艺谋执导，巩俐、姜文主演的电影。",
            "红高粱",
            "《红高粱》的导演出生在哪里？",
            "张艺谋",
            id="zh synonym",
        ),
        pytest.param(
            "华为的创始人", "华为的创始人任正非生于1944年。", "华为", "华为的创始人毕业于哪所大学？", "任正非", id="zh"
        ),
    ],
)
def test_a_covered_requirement_gives_its_name(
    requirement: str, text: str, title: str, question: str, first: str
) -> None:
    """The name in the covering passage that stands by the describing words, and that the question does not hold."""
    passage = Passage(id="p", text=text, title=title)
    found = bridge_values(need(requirement, covered=True), passage, question)
    assert found[0] == first
    assert not any(value in question for value in found)


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        pytest.param("Stretch", FILM.text, id="only a name"),
        pytest.param("release date of Stretch", "Universal set the release date of Stretch to March.", id="a time"),
        pytest.param("population of Lyon", "The agency Insee Bureau gives a population of 522,000.", id="an amount"),
        pytest.param("里昂的人口", "法国国家统计局公布的里昂人口为52万。", id="zh amount"),
        pytest.param("director of Stretch", "It was filmed in Los Angeles.", id="another sentence"),
        pytest.param("director of Stretch", "", id="empty passage"),
        pytest.param("director of Stretch", "The director was an American.", id="a nationality"),
        pytest.param("?", FILM.text, id="no words"),
    ],
)
def test_where_there_is_no_bridge_none_is_made_up(requirement: str, text: str) -> None:
    """Requirements without a described name, or passages without one, give nothing."""
    assert bridge_values(need(requirement, covered=True), Passage(id="p", text=text), QUESTION) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("director Joe Carnahan " * 20_000, ("Joe Carnahan",), id="no punctuation"),
        pytest.param("(director “" * 4_000, (), id="open brackets"),
        pytest.param("\x00\u202edirector\x01" * 20_000, (), id="binary and right-to-left marks"),
        pytest.param("<p>director</p>", (), id="markup"),
        pytest.param("x", (), id="one character"),
    ],
)
def test_hostile_passages_are_read_too(text: str, expected: tuple[str, ...]) -> None:
    """Long texts without sentences are read in pieces; noise gives no name."""
    assert bridge_values(DIRECTOR, Passage(id="film", text=text), QUESTION) == expected


CARNAHAN = Bridge("director of Stretch", "Joe Carnahan")
ZHANG = Bridge("《红高粱》的导演", "张艺谋")
ZH_QUESTION = "《红高粱》的导演出生在哪里？"


@pytest.mark.parametrize(
    ("query", "bridge", "question", "expected"),
    [
        pytest.param(
            "birthplace of the director of Stretch", CARNAHAN, QUESTION, "birthplace of Joe Carnahan", id="of"
        ),
        pytest.param("the director's birthplace", CARNAHAN, QUESTION, "Joe Carnahan's birthplace", id="possessive"),
        pytest.param(
            "where was the director of the film Stretch born",
            CARNAHAN,
            QUESTION,
            "where was Joe Carnahan born",
            id="with the kind of work",
        ),
        pytest.param(
            "Stretch 2014 cast and director birthplace",
            CARNAHAN,
            QUESTION,
            "Joe Carnahan Stretch 2014 cast and director birthplace",
            id="other words between: in front",
        ),
        pytest.param("《红高粱》的导演的出生地", ZHANG, ZH_QUESTION, "张艺谋的出生地", id="zh"),
        pytest.param("导演的籍贯", ZHANG, ZH_QUESTION, "张艺谋的籍贯", id="zh without the work"),
        pytest.param("Stretch box office", CARNAHAN, QUESTION, None, id="nothing of the director"),
        pytest.param("director of Stretch", CARNAHAN, QUESTION, None, id="asks for the director alone"),
        pytest.param("birthplace of director Joe Carnahan", CARNAHAN, QUESTION, None, id="named already"),
        pytest.param("director Carnahan birthplace", CARNAHAN, QUESTION, None, id="named by the family name"),
        pytest.param("birthplace of director Ridley Scott", CARNAHAN, QUESTION, None, id="names another"),
        pytest.param("导演张艺谋的出生地", ZHANG, ZH_QUESTION, None, id="zh named already"),
    ],
)
def test_a_found_name_is_put_into_the_query(query: str, bridge: Bridge, question: str, expected: str | None) -> None:
    """Only where the query describes what was found, and asks for something further about it."""
    assert with_bridges(query, [bridge], question) == ((expected,) if expected else ())


def test_a_bridge_found_in_one_round_serves_the_next() -> None:
    """Round 1 finds the director, so that the gap is searched with the name; later, if need be, without."""
    birthplace = gap("birthplace of the director", "birthplace of the director of Stretch")
    ledger = opened(birthplace)
    ledger.learn([DIRECTOR, need("birthplace of the director", covered=False)], [FILM])
    ledger.learn([DIRECTOR], [FILM])  # a second reading adds nothing
    assert ledger.bridges[0] == Bridge("director of Stretch", "Joe Carnahan")
    assert len(ledger.bridges) == len(set(ledger.bridges))
    assert ledger.queries([birthplace], 1) == [(birthplace, "birthplace of Joe Carnahan")]


def test_only_covering_passages_are_read_for_bridges() -> None:
    """A missing requirement, or one whose passage is not at hand, brings no name."""
    ledger = GapLedger(QUESTION)
    ledger.learn([DIRECTOR.model_copy(update={"status": "missing"})], [FILM])
    ledger.learn([DIRECTOR], [FILM.model_copy(update={"id": "another"})])
    assert ledger.bridges == []
