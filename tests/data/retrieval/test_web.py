"""A web search of the caller's as a source of passages: what each service sends, and what goes wrong."""

import asyncio
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from reflective_rag.data.retrieval import web_passages, web_search
from reflective_rag.data.retrieval.web import LONGEST
from reflective_rag.data.retrieval.web_text import plain, web_date
from reflective_rag.signatures.errors import ConfigError, ContractError, DataError

URL, TEXT, TITLE = "https://example.org/baikal", "Lake Baikal is 1642 m deep.", "Baikal"
TODAY = date(2026, 3, 10)

SERVICES: dict[str, Any] = {
    "tavily": {
        "query": "baikal",
        "results": [
            {
                "title": TITLE,
                "url": URL,
                "content": TEXT,
                "score": 0.9,
                "published_date": "Thu, 05 Mar 2026 08:00:00 GMT",
            }
        ],
    },
    "brave": {
        "type": "search",
        "query": {"original": "baikal"},
        "web": {
            "type": "search",
            "results": [
                {
                    "title": TITLE,
                    "url": URL,
                    "description": "Lake <strong>Baikal</strong> is 1642 m deep.",
                    "page_age": "2026-03-05T08:00:00",
                    "extra_snippets": ["Lake Baikal is 1642 m deep."],
                }
            ],
        },
    },
    "serpapi": {
        "search_metadata": {"status": "Success"},
        "organic_results": [{"position": 1, "title": TITLE, "link": URL, "snippet": TEXT, "date": "Mar 5, 2026"}],
    },
    "serper": {
        "searchParameters": {"q": "baikal"},
        "organic": [{"title": TITLE, "link": URL, "snippet": TEXT, "date": "5 days ago"}],
    },
    "duckduckgo": [{"title": TITLE, "href": URL, "body": TEXT, "date": "2026-03-05T00:00:00+00:00"}],
    "exa": SimpleNamespace(
        results=[SimpleNamespace(title=TITLE, url=URL, text=TEXT, published_date="2026-03-05", score=None)]
    ),
    "searxng": {
        "query": "baikal",
        "results": [{"title": TITLE, "url": URL, "content": TEXT, "publishedDate": "2026-03-05T01:02:03"}],
    },
    "bing": {
        "_type": "SearchResponse",
        "webPages": {
            "value": [{"name": TITLE, "url": URL, "snippet": TEXT, "datePublished": "2026-03-05T00:00:00.0000000"}]
        },
    },
    "google": {
        "kind": "customsearch#search",
        "items": [{"title": TITLE, "link": URL, "snippet": f"Mar 5, 2026 ... {TEXT}"}],
    },
}
"""What each service documents, cut down to the fields that are read."""


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_gives_text_title_link_and_date(service: str) -> None:
    """The usual field names of each are known; a date that only stands inside the text is left there."""
    (passage,) = web_passages(SERVICES[service], today=TODAY)
    assert passage.text.endswith(TEXT)
    assert (passage.title, passage.source) == (TITLE, URL)
    assert passage.published == (None if service == "google" else date(2026, 3, 5))


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param("<b>Bai</b>kal&#39;s depth &amp; age", "Baikal's depth & age", id="inline"),
        pytest.param("one<br>two<p>three</p>", "one two three", id="blocks-are-spaces"),
        pytest.param("<script>steal()</script>ok<style>b{}</style><!-- x -->", "ok", id="unseen-parts"),
        pytest.param("a < b and c > d, x<y", "a < b and c > d, x<y", id="comparisons-stay"),
        pytest.param("List&lt;String&gt; of &lt;b&gt;", "List<String> of <b>", id="escaped-marks-are-text"),
        pytest.param("<a href='javascript:x'>鲁迅</a>&nbsp;生于绍兴", "鲁迅 生于绍兴", id="chinese"),
        pytest.param("<script>never closed", "", id="unclosed"),
    ],
)
def test_marks_of_html_are_taken_out(raw: str, text: str) -> None:
    """What a reader of the page sees stays, and nothing else."""
    assert plain(raw) == text


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2026-03-05", date(2026, 3, 5)),
        ("Mar 5, 2026", date(2026, 3, 5)),
        ("5 March 2026", date(2026, 3, 5)),
        ("Sept. 2025", date(2025, 9, 1)),
        ("2026年3月5日", date(2026, 3, 5)),
        ("3 days ago", date(2026, 3, 7)),
        ("an hour ago", TODAY),
        ("2 weeks ago", date(2026, 2, 24)),
        ("5小时前", TODAY),
        ("3天前", date(2026, 3, 7)),
        ("2个月前", date(2026, 1, 9)),
        ("9999 years ago", None),
        ("Feb 31, 2025", None),
        ("yesterday or so", None),
        ("", None),
        (20260305, None),
        (None, None),
        ("2999-01-01", None),
    ],
    ids=repr,
)
def test_dates_are_read_or_left_out(value: Any, day: date | None) -> None:
    """Absolute, relative and Chinese dates; what is no date, or still to come, is none."""
    assert web_date(value, TODAY) == day


def test_a_text_comes_once_and_without_a_text_a_result_is_nothing() -> None:
    """The first of two equal texts stays; other texts of one page each have an id of their own, the same every time."""
    results = [
        {"url": URL, "snippet": TEXT},
        {"url": "https://copy.example", "snippet": f"<b>{TEXT}</b>"},
        {"url": URL, "snippet": "It is in Siberia."},
        {"url": URL, "title": "no text"},
        {"url": URL, "snippet": "   "},
    ]
    found = web_passages(results)
    assert [(p.text, p.source) for p in found] == [(TEXT, URL), ("It is in Siberia.", URL)]
    assert len({p.id for p in found}) == 2
    assert [p.id for p in web_passages(results)] == [p.id for p in found]


def test_at_most_k_come_and_a_whole_page_is_cut() -> None:
    """Duplicates do not count towards k; a text that was cut is marked."""
    results = [{"url": URL, "content": "x" * (LONGEST + 1)}] * 2 + [{"content": "two"}, {"content": "three"}]
    found = web_passages(results, 2)
    assert [len(passage.text) for passage in found] == [LONGEST, 3]
    assert [passage.metadata for passage in found] == [{"cut": True}, {}]


@pytest.mark.parametrize("link", ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "", None, 7])
def test_only_links_of_the_web_become_sources(link: Any) -> None:
    """A page that shows sources as links must not be given another kind."""
    (passage,) = web_passages([{"url": link, "content": TEXT}])
    assert passage.source == ""


@pytest.mark.parametrize(
    "reply",
    [
        [],
        {"results": []},
        {"type": "search", "query": {"original": "x"}},
        {"search_metadata": {}, "error": "Google hasn't returned any results for this query."},
        {"kind": "customsearch#search", "searchInformation": {"totalResults": "0"}},
    ],
    ids=["list", "tavily", "brave", "serpapi", "google"],
)
def test_nothing_found_is_no_error(reply: Any) -> None:
    """Each service's way to say that there is nothing."""
    assert web_passages(reply) == []


@pytest.mark.parametrize(
    ("reply", "error", "message"),
    [
        pytest.param(None, ContractError, "got NoneType", id="none"),
        pytest.param("<html>", ContractError, "got str", id="text"),
        pytest.param({"answer": "42"}, ContractError, r"keys \['answer'\]", id="other-dict"),
        pytest.param(["text"], ContractError, "got str", id="texts"),
        pytest.param([None], ContractError, "got NoneType", id="none-inside"),
        pytest.param({"error": "Invalid API key: abc"}, DataError, "sent an error: Invalid", id="error"),
        pytest.param({"detail": {"error": "Too many requests"}}, DataError, "Too many requests", id="429-as-a-dict"),
    ],
)
def test_what_is_no_result_is_refused(reply: Any, error: type[Exception], message: str) -> None:
    """One clear error: what was expected, what came."""
    with pytest.raises(error, match=message):
        web_passages(reply)


def test_a_key_in_an_error_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service may echo the key that it was sent."""
    monkeypatch.setenv("SERP_API_KEY", "secret-value-123")
    with pytest.raises(DataError) as caught:
        web_passages({"error": "bad key secret-value-123"})
    assert "secret-value-123" not in str(caught.value)


def with_k(query: str, k: int) -> Any:
    """Asked with k."""
    return [{"content": f"{query} {n}"} for n in range(k)]


def without_k(query: str, region: str = "us") -> Any:
    """Asked with the query alone."""
    assert region == "us"
    return [{"content": f"{query} {n}"} for n in range(9)]


def with_default(query: str, max_results: int = 10) -> Any:
    """Its second argument is k by another name."""
    return with_k(query, max_results)


async def later(query: str, k: int) -> Any:
    """Asynchronous."""
    return with_k(query, k)


@pytest.mark.parametrize("function", [with_k, without_k, with_default])
def test_a_function_of_a_query_or_of_a_query_and_k(function: Any) -> None:
    """Both are called as they are written, and k results come."""
    found: Any = web_search(function)("deep", 2)
    assert [passage.text for passage in found] == ["deep 0", "deep 1"]


def test_an_async_function_gives_an_async_search() -> None:
    """It can be awaited by a program."""
    search: Any = web_search(later)
    assert [passage.text for passage in asyncio.run(search("deep", 1))] == ["deep 0"]


@pytest.mark.parametrize("function", [None, 7, str, lambda a, b, c: []], ids=["none", "number", "class", "three"])
def test_what_cannot_be_asked_is_refused_at_once(function: Any) -> None:
    """Before any question is asked."""
    with pytest.raises(ConfigError, match=r"function\(query"):
        web_search(function)
