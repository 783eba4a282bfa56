"""Noise: an exact share in every search, exact labels, the same in every process."""

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from reflective_rag.data.noise import NOISE_KINDS, NoisyQuestion, NoisySearch, noise_count, noisy_questions
from reflective_rag.data.records import LabelledPassage, Record
from reflective_rag.data.twins.evidence import stands
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage

NUMBERS = (412, 87, 1930, 56, 733, 298, 64, 1205, 930, 171, 545, 388)


def record(number: int) -> Record:
    """A question about a lake, with its gold passage, one on the same topic and one with the answer by chance."""
    depth = NUMBERS[number]
    return Record(
        id=f"q{number}",
        dataset="lakes",
        question=f"How many metres deep is lake Number{number}?",
        answers=(f"{depth} metres",),
        passages=(
            LabelledPassage(
                id=f"g{number}", text=f"Lake Number{number} is {depth} metres deep. It lies high.", supporting=True
            ),
            LabelledPassage(id=f"t{number}", text=f"Lake Number{number} is popular with painters of valley {number}."),
            LabelledPassage(id=f"c{number}", text=f"A tower of {depth} metres stands in town {number}."),
        ),
    )


RECORDS = [record(number) for number in range(len(NUMBERS))]
FOUND = [p.to_passage().model_copy(update={"score": 1 - i / 50}) for i, p in enumerate(RECORDS[0].passages)] + [
    Passage(id=f"x{number}", text=f"Another text, number {number}.", score=0.5 - number / 100) for number in range(40)
]
GOLD = FOUND[0].key


def search(query: str, k: int) -> list[Passage]:
    """Finds the same for every query, the gold passage first."""
    return FOUND[:k]


def question(kind: str = "unrelated", number: int = 0) -> NoisyQuestion:
    """One question with its noise."""
    return noisy_questions(RECORDS, kind).of[f"q{number}"]


def keys(passages: Sequence[Passage]) -> list[str]:
    """Identities, in order."""
    return [passage.key for passage in passages]


def noisy(rate: float, query: str, k: int, *, kind: str = "unrelated", seed: int = 0) -> list[Passage]:
    """One search of the first question."""
    found = NoisySearch(search, question(kind), rate, seed=seed)(query, k)
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("query", [RECORDS[0].question, "a later query", "后来的查询"], ids=["first", "later", "zh"])
@pytest.mark.parametrize(
    ("k", "rate", "count"),
    [(10, 0.2, 2), (5, 0.4, 2), (10, 0.6, 6), (15, 0.2, 3), (8, 0.3, 3), (10, 1, 10), (10, 0, 0)],
)
def test_every_search_returns_the_same_share(query: str, k: int, rate: float, count: int) -> None:
    """K · rate rounded up, without the dust of floating point, for the first query and for every other."""
    found = noisy(rate, query, k)
    assert len(found) == k
    assert sum(passage.id.startswith("n-") for passage in found) == count == noise_count(k, rate)


def test_without_noise_the_search_is_as_it_was() -> None:
    """Rate 0 changes nothing."""
    assert noisy(0, "anything", 7) == FOUND[:7]


def test_nothing_but_noise_holds_no_supporting_passage() -> None:
    """Rate 1 measures refusal, for every kind."""
    for kind in ("unrelated", "tangential", "counterfactual"):
        found = noisy(1, RECORDS[0].question, 10, kind=kind)
        assert len(found) == 10
        assert GOLD not in keys(found)


def test_what_was_found_keeps_its_order_and_the_last_places_go() -> None:
    """Noise takes the worst results' room, not the best ones'."""
    found = [key for key in keys(noisy(0.6, "anything", 10)) if key in keys(FOUND)]
    assert found == keys(FOUND[:4])


def test_scores_do_not_tell_noise_apart() -> None:
    """Each place has the score that it had without noise."""
    assert [p.score for p in noisy(0.5, "anything", 8)] == [p.score for p in FOUND[:8]]


def test_below_rate_one_a_place_stays_free() -> None:
    """K = 1 at rate .4 is what was found, not noise alone; an empty result stays a list."""
    assert noise_count(1, 0.4) == 0
    assert keys(noisy(0.99, "anything", 5)).count(GOLD) == 1
    empty = NoisySearch(lambda query, k: [], question(), 0.5)("anything", 4)
    assert isinstance(empty, list)
    assert len(empty) == 2


def test_the_list_gets_shorter_where_noise_is_scarce() -> None:
    """The share holds: three passages of noise at rate .5 leave room for three others."""
    scarce = NoisyQuestion(record=RECORDS[0], others=question().others[:3])
    found = NoisySearch(search, scarce, 0.5)("anything", 20)
    assert isinstance(found, list)
    assert [sum(p.id.startswith("n-") for p in found), len(found)] == [3, 6]


def test_another_query_draws_other_noise_and_the_same_query_the_same() -> None:
    """A second search is not spared noise because it was seen before."""
    first, again = noisy(0.4, RECORDS[0].question, 10), noisy(0.4, RECORDS[0].question, 10)
    later = [noisy(0.4, f"query {number}", 10) for number in range(5)]
    assert first == again
    assert any(set(keys(first)) != set(keys(found)) for found in later)


def test_noise_found_by_the_search_itself_is_not_returned_twice() -> None:
    """A passage that is drawn as noise leaves the other results."""
    drawn = question().draw("anything", 3)
    found = NoisySearch(lambda query, k: [*drawn, *FOUND][:k], question(), 0.3)("anything", 10)
    assert isinstance(found, list)
    assert len(set(keys(found))) == len(found) == 10


def test_an_async_search_is_wrapped_too() -> None:
    """Calling gives an awaitable then."""

    async def later(query: str, k: int) -> list[Passage]:
        return FOUND[:k]

    found = NoisySearch(later, question(), 0.4)("anything", 10)
    assert not isinstance(found, list)

    async def wait() -> list[Passage]:
        return await found

    assert asyncio.run(wait()) == noisy(0.4, "anything", 10)


def test_unrelated_noise_is_of_other_questions_and_never_holds_an_answer() -> None:
    """The label is exact."""
    for asked in noisy_questions(RECORDS, "unrelated").of.values():
        own = {p.to_passage().key for p in asked.record.passages}
        assert asked.others
        assert not own & set(keys(asked.others))
        assert not any(stands(asked.record, [LabelledPassage(id="p", text=p.text)]) for p in asked.others)


def test_tangential_noise_is_the_nearest_that_does_not_support() -> None:
    """The passage about the same lake comes first; the tower as high as the lake is deep holds the answer by chance."""
    for number, asked in enumerate(noisy_questions(RECORDS, "tangential").of.values()):
        assert asked.others[0].text == RECORDS[number].passages[1].text
        assert RECORDS[number].passages[2].to_passage().key not in keys(asked.others)


def test_counterfactual_noise_states_other_values() -> None:
    """Copies of the gold passage, each with a depth of its own, drawn first by every query."""
    asked = question("counterfactual")
    assert len(set(keys(asked.twins))) == len(asked.twins) > 2
    for passage in asked.twins:
        assert "412 metres" not in passage.text
        assert passage.text.startswith("Lake Number0 is ")
    assert asked.draw("a later query", 2) == list(asked.twins[:2])


def test_planted_passages_of_the_data_are_counterfactual_noise() -> None:
    """RGB and RAMDocs label them; they are no noise of another kind."""
    lie = LabelledPassage.model_validate(
        {"id": "w", "text": "Lake Number0 is 9 metres deep.", "label": "counterfactual"}
    )
    planted = RECORDS[0].model_copy(update={"passages": (*RECORDS[0].passages, lie)})
    records = [planted, *RECORDS[1:]]
    assert noisy_questions(records, "counterfactual").of["q0"].twins[0].text == lie.text
    for kind in ("unrelated", "tangential"):
        found = [p.text for asked in noisy_questions(records, kind).of.values() for p in asked.others]
        assert lie.text not in found


def test_outdated_noise_is_older_than_the_gold_passage() -> None:
    """The question is asked of the present, and what is found gets its date."""
    asked = question("outdated")
    assert asked.record.question.startswith("Currently, how many metres")
    assert asked.today == date(2025, 6, 1)
    found = NoisySearch(search, asked, 0.2)(asked.record.question, 10)
    assert isinstance(found, list)
    gold = next(p for p in found if p.key == GOLD)
    olds = [p.published for p in found if p.id.startswith("n-")]
    assert gold.published is not None
    assert len(olds) == 2
    assert all(old is not None and old < gold.published for old in olds)


def test_questions_without_exact_noise_are_left_out_and_named() -> None:
    """A yes/no answer stands in no passage, so it cannot be swapped; unrelated passages there are all the same."""
    polar = RECORDS[0].model_copy(update={"id": "yes", "answers": ("yes",)})
    records = [polar, *RECORDS[1:]]
    for kind in ("outdated", "counterfactual"):
        noise = noisy_questions(records, kind)
        assert noise.left_out == ("yes",)
        assert len(noise.of) == len(RECORDS) - 1
        assert noise.twins_per_question
    assert noisy_questions(records, "unrelated").left_out == ()
    assert noisy_questions(records[:1], "unrelated").left_out == ("yes",)


def test_the_seed_changes_the_draw() -> None:
    """Another seed, another noise; and a limit on the questions changes nothing for those that stay."""
    assert keys(noisy_questions(RECORDS, "unrelated", seed=1).of["q0"].others) != keys(question().others)
    assert noisy_questions(RECORDS[:2], "unrelated", others=RECORDS).of["q0"] == question()


def digest() -> str:
    """Everything that is random, as one number."""
    found = [
        passage.id
        for kind in NOISE_KINDS
        for asked in noisy_questions(RECORDS, kind).of.values()
        for query in (asked.record.question, "another")
        for passage in NoisySearch(search, asked, 0.4)(query, 10)  # type: ignore[union-attr]  # a plain search
    ]
    return hashlib.sha256(" ".join(found).encode()).hexdigest()


def test_it_is_the_same_in_every_process() -> None:
    """Also where Python hashes texts differently."""
    code = "from tests.data.noise.test_noise import digest; print(digest())"
    root = Path(__file__).parents[3]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "12345",
        "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)]),
    }
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest()


@pytest.mark.parametrize("rate", [-0.1, 1.01, float("nan"), float("inf")])
def test_a_rate_is_a_share(rate: float) -> None:
    """One error that says what a rate is."""
    with pytest.raises(ConfigError, match=r"from 0 .* to 1"):
        NoisySearch(search, question(), rate)


def test_an_unknown_kind_is_told_with_those_that_exist() -> None:
    """By name."""
    with pytest.raises(ConfigError, match="unknown kind of noise 'loud'; known: 'unrelated', 'tangential'"):
        noisy_questions(RECORDS, "loud")
