"""The command line over a Weaviate collection (the stand-in)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments.corpora import open_search
from reflective_rag.experiments.recipes import is_address
from tests.experiments.helpers import records, run, run_json, write_jsonl

GONE = "weaviate://127.0.0.1:9/Facts?grpc=10"


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A stand-in on loopback."""
    from tests.data.retrieval.weaviate.standin import StandIn

    started = StandIn()
    yield started
    started.stop()


def test_a_collection_is_made_kept_up_and_asked(server: Any, workplace: Path) -> None:
    """`index --to`, `ask --corpus` and `doctor --corpus` take its address as they take an index on disk."""
    data, address = write_jsonl(workplace / "data.jsonl", records()), server.address("Facts")
    first = run_json("index", data, "--to", address)
    assert (first["added"], first["unchanged"], first["count"], first["mode"]) == (6, 0, 6, "keyword")
    again = run_json("index", data, "--to", address)
    assert (again["added"], again["unchanged"], again["count"]) == (0, 6, 6)
    assert run_json("ask", "Where was Marie Curie born?", "--corpus", address)["answer"] == "Warsaw"
    checks = {check["name"]: check for check in run_json("doctor", "--tracking", "off", "--corpus", address)["checks"]}
    assert checks[address]["status"] == "ok"
    assert checks[address]["detail"].startswith("6 passages, keyword search")
    assert checks["weaviate-client"]["status"] == "ok"


def test_it_is_searched_beside_files(server: Any, workplace: Path) -> None:
    """A collection and a file are fused into one retriever."""
    run_json("index", write_jsonl(workplace / "data.jsonl", records()), "--to", server.address("Beside"))
    more = write_jsonl(workplace / "more.jsonl", [{"id": "v", "text": "Lise Meitner was born in Vienna."}])
    with open_search([server.address("Beside"), str(more)], embedder="none") as search:
        assert search.count() == 7
        assert search("Lise Meitner Vienna", 1)[0].id == "v"
        assert search("Marie Curie", 1)[0].title == "Marie Curie"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("index", "data.jsonl", "--to", GONE), "Is Weaviate running at 127.0.0.1:9?"),
        (("ask", "q?", "--corpus", GONE), "Is Weaviate running at 127.0.0.1:9?"),
        (("index", "data.jsonl", "--to", "weaviate://h/facts"), "did you mean 'Facts'?"),
        (("index", "data.jsonl", "--to", "weaviate://me:secret99@h/Facts"), "set WEAVIATE_API_KEY"),
    ],
    ids=["index into nothing", "ask nothing", "small letter", "key in the address"],
)
def test_what_cannot_work_is_one_error(workplace: Path, arguments: tuple[str, ...], message: str) -> None:
    """Exit code 2, one message, no traceback, no key."""
    write_jsonl(workplace / "data.jsonl", records())
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "secret99" not in done.stderr + done.stdout


def test_doctor_tells_of_a_dead_server() -> None:
    """As a problem beside the other findings."""
    done = run("doctor", "--tracking", "off", "--corpus", GONE)
    assert done.exit_code == 1
    assert "Is Weaviate running" in done.stdout.replace("\n", " ")


def test_its_forms_are_addresses() -> None:
    """Those with a `+` in the scheme too."""
    assert all(is_address(f"{scheme}://x/C") for scheme in ("weaviate", "weaviate+cloud", "weaviate+embedded"))
