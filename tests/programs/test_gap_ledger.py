"""The gap ledger: which query is sent next, which is refused, and what becomes of every gap. English and Chinese."""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from reflective_rag.programs.bridges import Bridge, bridge_values, with_bridges
from reflective_rag.programs.gap_ledger import GapLedger
from reflective_rag.programs.repeats import NEAR_MEANING, SAME_MEANING, Meanings, is_repeat
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import GAP_KINDS, Gap, GapKind, Passage, Requirement

QUESTION = "Where was the director of Stretch born?"
DIRECTOR = Requirement(need="director of Stretch", status="covered", passage_ids=("film",))
FILM = Passage(
    id="film",
    title="Stretch (2014 film)",
    text="Stretch is a 2014 American film written and directed by Joe Carnahan and starring Patrick Wilson.",
)


def gap(need: str, query: str = "", *, importance: float = 0.5, kind: GapKind = "missing_attribute") -> Gap:
    """A gap; its query is its need unless another is given."""
    return Gap(kind=kind, need=need, query=query or need, importance=importance)


def need(text: str, *, covered: bool) -> Requirement:
    """A requirement that is covered or missing."""
    return Requirement(need=text, status="covered" if covered else "missing", passage_ids=("p",) if covered else ())


def opened(*gaps: Gap, question: str = QUESTION, **settings: Any) -> GapLedger:
    """A ledger in whose round 1 these gaps were named."""
    ledger = GapLedger(question, **settings)
    ledger.sent(None, question, 1)
    ledger.open(gaps, 1)
    return ledger


def statuses(ledger: GapLedger) -> list[tuple[str, str]]:
    """Need and status of each record."""
    return [(record.gap.need, record.status) for record in ledger.records()]


def on_circle(angles: dict[str, float]) -> Any:
    """An embedder that puts each text at an angle (the cosine of two texts is that of the difference)."""
    return lambda texts: [[math.cos(angles[text]), math.sin(angles[text])] for text in texts]


# What repeats a tried query


@pytest.mark.parametrize(
    ("query", "tried", "repeats"),
    [
        pytest.param("Giotto birth year", ["giotto: Birth year!"], True, id="case and punctuation"),
        pytest.param("birth year Giotto", ["Giotto birth year"], True, id="order"),
        pytest.param("Giotto birth year", ["Giotto", "birth year"], False, id="parts"),
        pytest.param("Giotto birth year", [], False, id="nothing tried"),
        pytest.param("Giotto death year", ["Giotto birth year"], False, id="another word"),
        pytest.param(
            "how many people lived in the old town of the city of Lyon in 2019",
            ["how many people lived in the old town of the city of Lyon in 2023"],
            False,
            id="another year among many words",
        ),
        pytest.param("乔托的出生年份", ["乔托的出生年份？"], True, id="zh punctuation"),
        pytest.param("２０１９年里昂人口", ["2019年里昂人口"], True, id="full-width digits"),
        pytest.param("2019年里昂人口", ["2023年里昂人口"], False, id="zh another year"),
        pytest.param("鲁迅的出生地", ["鲁迅的出生日期"], False, id="zh place and date"),
        pytest.param("", ["Giotto"], False, id="empty"),
    ],
)
def test_a_repeat_is_told_by_its_tokens(query: str, tried: list[str], repeats: bool) -> None:
    """Equal normal form or nearly the same tokens; other numbers always make another query."""
    assert is_repeat(query, tried) is repeats


@pytest.mark.parametrize(
    ("query", "tried", "cosine", "repeats"),
    [
        pytest.param("who wrote Emma", "Emma novel origin", SAME_MEANING + 0.001, True, id="same meaning, other words"),
        pytest.param("who wrote Emma", "who edited Emma", SAME_MEANING - 0.001, False, id="near, other words"),
        pytest.param("who wrote Emma", "author of Emma", NEAR_MEANING + 0.001, True, id="near, synonyms"),
        pytest.param("who wrote Emma", "author of Emma", NEAR_MEANING - 0.001, False, id="synonyms, not near"),
        pytest.param("birthplace of Giotto", "birth date of Giotto", 0.98, False, id="place and date"),
        pytest.param("里昂2019年有多少人口", "2019年里昂的人口", 0.98, True, id="zh near, same words"),
        pytest.param("电影的导演", "电影的编剧", 0.98, False, id="zh near, other words"),
        pytest.param("population of Lyon in 2019", "population of Lyon in 2023", 1.0, False, id="another year"),
    ],
)
def test_a_repeat_is_told_by_its_meaning(query: str, tried: str, cosine: float, repeats: bool) -> None:
    """A cosine counts from `SAME_MEANING`, with the same content words from `NEAR_MEANING`; never over a number."""
    meanings = Meanings(on_circle({query: 0.0, tried: math.acos(cosine)}))
    assert is_repeat(query, [tried], meanings) is repeats


def test_each_text_is_embedded_once() -> None:
    """The embedder sees no text twice, however often texts are compared."""
    seen: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[float(text[0] == first) for first in "age"] for text in texts]

    meanings = Meanings(embed)
    for _ in range(3):
        is_repeat("alpha beta", ["gamma delta", "epsilon"], meanings)
    assert sorted(seen) == ["alpha beta", "epsilon", "gamma delta"]


@pytest.mark.parametrize(
    "embed",
    [
        pytest.param(lambda texts: [[float("nan")] for _ in texts], id="not a number"),
        pytest.param(lambda texts: [[1.0]], id="a row too few"),
        pytest.param(lambda texts: None, id="nothing"),
    ],
)
def test_a_broken_embedder_costs_only_the_meanings(embed: Any) -> None:
    """The ledger goes on with tokens alone, and says why."""
    ledger = opened(gap("who wrote Emma"), gap("who edited Emma"), embed=embed)
    assert [query for _, query in ledger.queries(ledger.open_gaps(), 3)] == ["who wrote Emma", "who edited Emma"]
    assert ledger.embed_error


def test_a_failing_embedder_is_asked_once() -> None:
    """An embedder that is down is not asked again for this question."""
    calls: list[int] = []

    def embed(texts: list[str]) -> Any:
        calls.append(len(texts))
        raise ConfigError("the embedder is down")

    meanings = Meanings(embed)
    assert not is_repeat("alpha", ["beta", "gamma", "delta"], meanings)
    assert len(calls) == 1
    assert "down" in meanings.error


# Which queries come next


def test_the_most_important_gap_comes_first() -> None:
    """By importance, then by kind: without the missing relation nothing else can be found."""
    low, high = gap("a lesser thing", importance=0.3), gap("a great thing", importance=0.9)
    kinds = [gap(f"{kind} thing", kind=kind, importance=0.6) for kind in GAP_KINDS]
    ledger = opened(low, *kinds, high)
    chosen = [g for g, _ in ledger.queries([low, *kinds, high], 10)]
    assert chosen[0] == high
    assert chosen[-1] == low
    assert [g.kind for g in chosen[1:-1]] == [
        "missing_relation",
        "missing_attribute",
        "missing_entity",
        "timeline",
        "incomplete_answer",
        "conflict",
    ]


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (1, 1), (2, 2), (9, 3)])
def test_no_more_queries_than_asked_for(limit: int, count: int) -> None:
    """`limit` bounds the queries; a gap has one at a time."""
    gaps = [gap("alpha one"), gap("beta two"), gap("gamma three")]
    assert len(opened(*gaps).queries(gaps, limit)) == count


def test_what_was_tried_is_not_sent_again() -> None:
    """Neither the question, nor a query of an earlier round, nor two queries that are the same."""
    gaps = [
        gap("the question again", QUESTION.upper()),
        gap("birth year", "Giotto birth year", importance=0.9),
        gap("year of birth, as a query", "birth year Giotto"),
        gap("blank", "  "),
    ]
    ledger = opened(*gaps)
    assert [query for _, query in ledger.queries(gaps, 5)] == ["Giotto birth year"]
    ledger.ran(["Giotto birth year"], 2)
    assert ledger.queries(gaps, 5) == []
    assert not ledger.is_new("giotto birth year")
    assert ledger.is_new("Giotto's teacher")


def test_of_equal_gaps_the_less_tried_comes_first() -> None:
    """A gap that had its query waits behind one that had none."""
    first, second = gap("alpha", "alpha one"), gap("beta", "beta one")
    ledger = opened(first, second)
    ledger.sent(first, "alpha one", 2)
    again = gap("alpha", "alpha two")
    assert [query for _, query in ledger.queries([again, second], 2)] == ["beta one", "alpha two"]


def test_queries_are_booked_on_their_gaps() -> None:
    """`ran` knows which gap a chosen query was for; one that nobody chose belongs to none."""
    a, b = gap("alpha", "alpha one", importance=0.9), gap("beta", "beta one")
    ledger = opened(a, b)
    ledger.queries([a, b], 2)
    ledger.ran(["alpha one", "something rewritten"], 2)
    assert [record.queries for record in ledger.records()] == [("alpha one",), ()]
    assert ledger.tried == [QUESTION, "alpha one", "something rewritten"]


# Bridges


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


# What becomes of a gap


def test_a_gap_named_again_is_the_same_gap() -> None:
    """In other case and order it is one record, with the newest wording; another number makes another gap."""
    ledger = opened(gap("birth year of Giotto", importance=0.4))
    ledger.open([gap("Giotto, birth year of", "Giotto born when", importance=0.8), gap("birth year of Giotto II")], 2)
    first, second = ledger.records()
    assert (first.opened, first.gap.query, first.gap.importance) == (1, "Giotto born when", 0.8)
    assert second.opened == 2


@pytest.mark.parametrize(
    ("missing", "requirements", "closed"),
    [
        pytest.param("birth year of Giotto", [need("Birth year of Giotto.", covered=True)], True, id="same need"),
        pytest.param("birth year of Giotto", [need("Birth year of Giotto.", covered=False)], False, id="still missing"),
        pytest.param(
            "birth date of Ada Lovelace", [need("Ada Lovelace: born (date)", covered=True)], True, id="its own terms"
        ),
        pytest.param(
            "birth date of Ada Lovelace", [need("Ada Lovelace", covered=True)], False, id="the name alone is not enough"
        ),
        pytest.param(
            "birthplace of Ada Lovelace", [need("birth date of Ada Lovelace", covered=True)], False, id="place and date"
        ),
        pytest.param(
            "birthplace of the director of Stretch", [DIRECTOR], False, id="the bridge does not close what follows"
        ),
        pytest.param(
            "population of Lyon in 2019", [need("population of Lyon in 2023", covered=True)], False, id="another year"
        ),
        pytest.param(
            "birth date of Ada Lovelace",
            [need("Ada Lovelace: born (date)", covered=True), need("birth date of Ada Lovelace", covered=False)],
            False,
            id="listed as missing in the same words",
        ),
        pytest.param("鲁迅的出生日期", [need("鲁迅的出生日期", covered=True)], True, id="zh same need"),
        pytest.param("鲁迅出生时间", [need("鲁迅：出生（时间）", covered=True)], True, id="zh its own terms"),
        pytest.param("鲁迅的出生地点", [need("鲁迅的出生日期", covered=True)], False, id="zh place and date"),
        pytest.param("里昂的人口", [need("里昂", covered=True)], False, id="zh the name alone is not enough"),
        pytest.param("anything", [], False, id="no requirements"),
    ],
)
def test_a_gap_closes_when_its_need_is_covered(missing: str, requirements: list[Requirement], closed: bool) -> None:
    """By the same need, or by a covered requirement that holds the gap's names and its other words."""
    ledger = opened(gap(missing))
    ledger.sent(ledger.open_gaps()[0], "a query", 2)
    assert bool(ledger.close_covered(requirements, 2)) is closed
    (record,) = ledger.records()
    assert record.status == ("closed" if closed else "open")
    assert (record.ended, bool(record.reason)) == ((2, True) if closed else (None, False))


@pytest.mark.parametrize(
    ("named", "status"),
    [
        pytest.param([], "closed", id="no longer named"),
        pytest.param([gap("two heights", kind="conflict")], "open", id="another conflict"),
        pytest.param(None, "open", id="the critic's gaps could not be read"),
    ],
)
def test_a_conflict_ends_when_it_is_no_longer_named(named: Sequence[Gap] | None, status: str) -> None:
    """No requirement covers a disagreement of sources; what the critic names decides."""
    ledger = opened(gap("height of the tower", kind="conflict"))
    ledger.close_covered([need("height of the tower", covered=True)], 2, named=named)
    assert [record.status for record in ledger.records()] == [status]


def test_a_closed_gap_may_open_again() -> None:
    """Evidence that turned out wrong: the gap is named again, is open again, and keeps its queries."""
    it = gap("birth year of Giotto", "Giotto birth year")
    ledger = opened(it)
    ledger.queries([it], 1)
    ledger.ran(["Giotto birth year"], 2)
    ledger.close_covered([need("birth year of Giotto", covered=True)], 2)
    assert ledger.queries([gap("birth year of Giotto", "Giotto born when")], 1) == []
    ledger.open([it], 3)
    (record,) = ledger.records()
    assert (record.status, record.ended, record.reason, record.queries) == ("open", None, "", ("Giotto birth year",))


def test_two_queries_without_success_are_enough() -> None:
    """The gap is given up with the reason; named again it stays so, and no further query is sent for it."""
    it, other = gap("alpha", "alpha one", importance=0.9), gap("beta", "beta one")
    ledger = opened(it, other)
    ledger.sent(it, "alpha one", 2)
    ledger.give_up_exhausted(2)
    assert statuses(ledger) == [("alpha", "open"), ("beta", "open")]
    ledger.sent(it, "alpha two", 3)
    ledger.give_up_exhausted(3)
    ledger.open([it], 4)
    assert statuses(ledger) == [("alpha", "given_up"), ("beta", "open")]
    assert ledger.records()[0].reason == "tried 2 queries, nothing new"
    assert ledger.records()[0].ended == 3
    assert [g.need for g, _ in ledger.queries([gap("alpha", "alpha three"), other], 3)] == ["beta"]
    assert [g.need for g in ledger.open_gaps()] == ["beta"]


def test_at_the_end_nothing_stays_open() -> None:
    """What is open when the loop ends is given up with its reason; what was closed before stays closed."""
    ledger = opened(gap("alpha"), gap("beta"))
    ledger.close_covered([need("alpha", covered=True)], 2)
    ledger.give_up(3, "max_rounds")
    assert statuses(ledger) == [("alpha", "closed"), ("beta", "given_up")]
    assert (ledger.records()[1].reason, ledger.records()[1].ended) == ("max_rounds", 3)


def test_rounds_without_a_gap_closing_are_counted() -> None:
    """One closed gap sets the count back; a round in which none was waiting does not count."""
    ledger = opened()
    ledger.close_covered([], 1)
    assert ledger.rounds_without_closing == 0  # nothing was waiting
    ledger.open([gap("alpha"), gap("beta")], 1)
    counts = []
    for number, covered in ((2, False), (3, False), (4, True), (5, False)):
        ledger.close_covered([need("alpha", covered=covered)], number)
        counts.append(ledger.rounds_without_closing)
    assert counts == [1, 2, 0, 1]


def test_gaps_named_in_a_round_do_not_count_as_waiting_in_it() -> None:
    """A gap has to be searched for before it can be missed."""
    ledger = GapLedger(QUESTION)
    ledger.open([gap("alpha")], 2)
    ledger.close_covered([], 2)
    assert ledger.rounds_without_closing == 0


def test_a_copy_goes_its_own_way() -> None:
    """A rehearsed ending must not disturb the run."""
    ledger = opened(gap("alpha"))
    ledger.learn([DIRECTOR], [FILM])
    before = (ledger.records(), list(ledger.tried), list(ledger.bridges), ledger.rounds_without_closing)
    other = ledger.copy()
    other.sent(other.open_gaps()[0], "alpha one", 2)
    other.close_covered([], 2)
    other.open([gap("beta")], 2)
    other.bridges.clear()
    other.give_up(2, "max_rounds")
    assert (ledger.records(), ledger.tried, ledger.bridges, ledger.rounds_without_closing) == before
    assert statuses(other) == [("alpha", "given_up"), ("beta", "given_up")]
