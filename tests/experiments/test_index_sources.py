"""`index` over several sources: one that cannot be used costs only itself, and a citation names its file."""

from pathlib import Path

from tests.experiments.helpers import records, run, run_json, write_jsonl


def test_a_bad_source_does_not_stop_the_others(workplace: Path) -> None:
    """The command fails and names each bad source, with what became of the others; the same again changes nothing."""
    good, other = write_jsonl(workplace / "a.jsonl", records(0, 2)), write_jsonl(workplace / "z.jsonl", records(2, 2))
    bad = write_jsonl(workplace / "bad.jsonl", ["{not json"])
    (workplace / "broken.parquet").write_bytes(b"PAR1 no parquet")
    done = run("index", good, bad, "broken.parquet", other, "--to", "local:idx")
    assert done.exit_code == 2
    assert "2 of 4 sources could not be indexed" in done.stderr
    assert all(name in done.stderr for name in ("bad.jsonl", "broken.parquet", "local:idx holds 4"))
    assert run_json("index", good, other, "--to", "local:idx")["unchanged"] == 4


def test_one_bad_source_is_its_own_error(workplace: Path) -> None:
    """Nothing is indexed, and no folder is left."""
    bad = write_jsonl(workplace / "bad.jsonl", ["{not json"])
    done = run("index", bad, "--to", "local:idx")
    assert done.exit_code == 2
    assert "sources could not be indexed" not in done.stderr
    assert not Path("idx").exists()


def test_passages_of_json_lines_name_their_file(workplace: Path) -> None:
    """As rows of CSV do; a source that a passage has of its own stays."""
    lines = [
        {"id": "1", "text": "Giotto was born in 1267."},
        {"id": "2", "text": "Dante was born in 1265.", "source": "me"},
    ]
    run("index", write_jsonl(workplace / "people.jsonl", lines), "--to", "local:idx")
    for question, source in (("When was Giotto born?", "people.jsonl"), ("When was Dante born?", "me")):
        found = run_json("ask", question, "--corpus", "local:idx", "--lm", "rules")["passages"]
        assert source in {passage["source"] for passage in found}
    narrowed = run_json("ask", "When was Giotto born?", "--corpus", "local:idx", "--filter", "source=people.jsonl")
    assert [passage["id"] for passage in narrowed["passages"]] == ["1"]
