"""Documents made of passages, asked on rules: what a citation names is where its words stand."""

import json
from pathlib import Path

import pytest

from reflective_rag.data.records import sample_path
from reflective_rag.experiments.bench.documents import run
from reflective_rag.signatures.errors import DataError


def test_citations_open_at_their_page_or_heading(tmp_path: Path) -> None:
    """English and Chinese, PDF, HTML and Markdown, of the bundled sample: the quotation stands where it says."""
    pytest.importorskip("reportlab", reason="it writes the PDFs")
    lines = [line for line in sample_path("dev").read_text(encoding="utf-8").splitlines() if line.strip()]
    for lang in ("en", "zh"):
        mine = [line for line in lines if json.loads(line)["lang"] == lang]
        (tmp_path / f"{lang}.dev.jsonl").write_text("\n".join(mine), encoding="utf-8")
    report = run(tmp_path, tmp_path / "made", sets={"en": 3, "zh": 3})
    assert report["documents"] == {"pdf": 2, "html": 2, "md": 2}
    cited = [row for row in report["rows"] if "cited" in row]
    assert {row["lang"] for row in cited} == {"en", "zh"}
    assert {row["cited"].rpartition(".")[2] for row in cited} == {"pdf", "html", "md"}
    assert all(row["opens"] for row in cited), [row for row in cited if not row["opens"]]


def test_without_the_data_it_says_what_is_missing(tmp_path: Path) -> None:
    """The name of the file, and the option."""
    with pytest.raises(DataError, match="--shared DIR"):
        run(tmp_path, tmp_path / "made")
