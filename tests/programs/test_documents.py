"""Documents as folders hold them: a title that is the name of a file, editions of several years."""

from typing import Any

import pytest

from reflective_rag.programs import ReflectiveRAG


def result(texts: list[dict[str, Any]], question: str) -> Any:
    """The result on rules over these passages."""
    found = [{"id": str(i), **text} for i, text in enumerate(texts)]
    return ReflectiveRAG(lambda query, k: found, mode="rules")(question=question)


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (("项目经费为300万元。", "项目经费为500万元。"), "项目经费是多少？"),
        (
            ("The project budget is 3 million euros.", "The project budget is 5 million euros."),
            "What is the project budget?",
        ),
    ],
)
@pytest.mark.parametrize("titles", [("", ""), ("notes", "minutes"), ("c", "d")])
def test_the_names_of_files_hide_no_contradiction(
    texts: tuple[str, str], question: str, titles: tuple[str, str]
) -> None:
    """A question that names no thing of its own, answered in two ways: the documents contradict each other."""
    told = result([{"text": text, "title": title} for text, title in zip(texts, titles, strict=True)], question)
    assert told.degraded
    assert "conflicting_evidence" in {warning.code for warning in told.warnings}


@pytest.mark.parametrize(
    "titles", [("", ""), ("Leave policy 2019", "Leave policy 2024"), ("员工手册2019", "员工手册2024")]
)
@pytest.mark.parametrize(
    ("old", "new", "question", "answer"),
    [
        (
            "A full-time employee has 24 days of annual leave.",
            "A full-time employee has 28 days of annual leave.",
            "How many days of annual leave does a full-time employee have?",
            "28",
        ),
        ("员工每年享有12天年假。", "员工每年享有15天年假。", "员工每年有多少天年假？", "15天"),
    ],
)
@pytest.mark.parametrize("newest_first", [True, False])
def test_the_newer_edition_answers(
    titles: tuple[str, str], old: str, new: str, question: str, answer: str, newest_first: bool
) -> None:
    """An amount that is measured or set anew is that of the newer document, whichever is found first."""
    texts = [
        {"text": old, "title": titles[0], "published": "2019-01-10"},
        {"text": new, "title": titles[1], "published": "2024-03-15"},
    ]
    assert result(texts[::-1] if newest_first else texts, question).answer == answer
