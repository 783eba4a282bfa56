"""The defects of the documents that this project grew from (ANCHORS 10): each put right, each shown here.

One test a row. Where a defect was about the loop, the loop runs.
"""

import math
from datetime import date
from typing import Any

import pytest

from reflective_rag.programs import EvidenceAssessor, ReflectiveRAG
from reflective_rag.programs.gap_ledger import GapLedger
from reflective_rag.programs.pool import EvidencePool
from reflective_rag.programs.repeats import is_repeat
from reflective_rag.programs.rules import assess
from reflective_rag.programs.scoring import weighted_mean
from reflective_rag.programs.settings import Weights
from reflective_rag.signatures.types import Assessment, Gap, Passage, Result

TODAY = date(2024, 6, 1)
BORN = {"en": "In which town was Anna Berg born?", "zh": "陈可出生在哪个城市？"}
PAGES = {
    "en": ["Anna Berg is a painter.", "Anna Berg was born in Ostend.", "Ostend is a port."],
    "zh": ["陈可是一位画家。", "陈可出生在东城。", "东城是一座港口城市。"],
}
both = pytest.mark.parametrize("language", ["en", "zh"])


def judged(question: str, *texts: str | Passage, today: date = TODAY) -> Assessment:
    """What the rules make of some passages."""
    result: Assessment = EvidenceAssessor("rules")(question=question, passages=texts, today=today)
    return result


def asked(question: str, pages: list[str], **options: Any) -> Result:
    """One question over pages that the search brings one at a time, in their order."""
    left = list(pages)

    def search(query: str, k: int) -> list[str]:
        return [left.pop(0)] if left else []

    result: Result = ReflectiveRAG(search, mode="rules", today=TODAY, **options)(question=question)
    return result


@both
def test_a_higher_theta_means_more_retrieval(language: str) -> None:
    """The documents' table had it the other way round."""
    searches = [asked(BORN[language], PAGES[language], theta=theta).retrievals for theta in (0.0, 0.5, 1.0)]
    assert searches == sorted(searches)


@both
def test_the_round_limit_is_told(language: str) -> None:
    """An answer after the last round carries a typed stop reason and a warning."""
    result = asked(BORN[language], PAGES[language][:1] * 1 + PAGES[language][2:], max_rounds=1)
    assert result.stop_reason == "max_rounds"
    assert result.degraded
    assert "insufficient_evidence" in {warning.code for warning in result.warnings}


def test_a_passage_that_comes_again_is_not_read_again() -> None:
    """Repeats are removed by their text, not by their id, and are accounted for."""
    pool = EvidencePool(0.85)
    pool.add([Passage(id="a", text="Giotto was born in 1267.")])
    again = [Passage(id="b", text="giotto was born in 1267"), Passage(id="a", text="Giotto was born in 1267.")]
    assert pool.add(again) == []
    assert [dropped.reason for dropped in pool.dropped] == ["exact duplicate of a"]


def test_gaps_are_ordered_by_an_importance_that_they_have() -> None:
    """The most important gap is searched first, whatever the order in which the critic named them."""
    gaps = [
        Gap(kind="missing_attribute", need=need, query=f"query {need}", importance=importance)
        for need, importance in (("height", 0.3), ("birth year", 0.9), ("teacher", 0.6))
    ]
    chosen = GapLedger("question").queries(gaps, 2)
    assert [gap.need for gap, _ in chosen] == ["birth year", "teacher"]


@pytest.mark.parametrize(
    ("question", "scope"),
    [
        pytest.param("Who was mayor of Ostend in 1999?", "as_of", id="English"),
        pytest.param("1999年东城的市长是谁？", "as_of", id="Chinese"),
        pytest.param("Where is Ostend?", "timeless", id="no time"),
    ],
)
def test_freshness_reads_the_time_of_the_question(question: str, scope: str) -> None:
    """The year stands in the question, so the question is what is read for it."""
    assert judged(question, "Ostend is a port.", "东城是一座港口城市。").time_scope == scope


def test_an_unknown_date_is_not_fresh() -> None:
    """A dimension that cannot be judged is left out, and the other weights are renormalised."""
    assessment = judged("Who is the current mayor of Ostend?", "The mayor of Ostend is Jan Vos.")
    assert assessment.freshness is None
    known = {"relevance": 1.0, "consistency": None, "coverage": 0.0, "freshness": None}
    assert weighted_mean(known, Weights()) == pytest.approx(0.40 / 0.65)


def test_one_passage_is_not_consistent_with_itself() -> None:
    """Consistency needs two; for one it does not apply."""
    assert judged(BORN["en"], PAGES["en"][1]).consistency is None


def test_similarity_is_jaccard_and_not_containment() -> None:
    """A short query inside a long one is no repeat of it; the same words in another order are."""
    assert not is_repeat("Giotto", ["Giotto's teacher and his teacher's birthplace"])
    assert is_repeat("birthplace of Giotto", ["Giotto of birthplace"])


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        pytest.param("How tall is the tower?", ("The tower is 300 m tall.", "The tower is 324 m tall."), id="number"),
        pytest.param(
            "When did the tower open?", ("The tower opened in 1889.", "The tower opened in 1899."), id="year, English"
        ),
        pytest.param("这座塔有多高？", ("这座塔高300米。", "这座塔高324米。"), id="number, Chinese"),
    ],
)
def test_a_contradiction_is_seen_though_the_characters_overlap(question: str, texts: tuple[str, str]) -> None:
    """Two texts that differ in one value are nearly the same characters, and cannot both be right."""
    (found,) = judged(question, *texts).contradictions
    assert found.span_a in texts[0]
    assert found.span_b in texts[1]


@both
def test_extra_distractors_do_not_lower_relevance(language: str) -> None:
    """Relevance is over what is relevant."""
    noise = {"en": ["Bananas are yellow.", "Rain fell all day."], "zh": ["香蕉是黄色的。", "整天都在下雨。"]}
    alone = judged(BORN[language], PAGES[language][1]).relevance
    assert alone is not None
    assert (judged(BORN[language], PAGES[language][1], *noise[language]).relevance or 0) >= alone - 1e-9


@both
def test_a_long_document_is_read_where_it_matters(language: str) -> None:
    """The answer stands 20,000 characters in; it is found, and cited at its place in the original."""
    filler = {"en": "The harbour was quiet that year. ", "zh": "那一年港口十分安静。"}[language]
    page = filler * math.ceil(20_000 / len(filler)) + PAGES[language][1]
    result = asked(BORN[language], [page])
    assert result.answer in PAGES[language][1]
    (citation,) = result.citations
    assert page[citation.start : citation.end] == citation.quote
    assert citation.start >= 20_000


@both
def test_words_are_compared_and_not_characters(language: str) -> None:
    """A passage that shares letters or characters with the question, but no word, is not relevant."""
    texts = {"en": "A tin hen bore a bean wreath.", "zh": "可可的出品与生产。"}
    scrambled, right = judged(BORN[language], texts[language], PAGES[language][1]).passage_relevance.values()
    assert scrambled < 0.5 <= right


def test_a_judgement_without_requirements_is_pure() -> None:
    """The same question and passages give the same judgement, whatever was judged before."""
    passages = [Passage(id=str(i), text=text) for i, text in enumerate(PAGES["en"])]
    first = assess(BORN["en"], passages, today=TODAY)
    assess(BORN["zh"], [Passage(id="x", text=PAGES["zh"][1])], today=TODAY)
    assert assess(BORN["en"], passages, today=TODAY) == first
