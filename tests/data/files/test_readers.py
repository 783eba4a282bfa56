import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.data.chunking import ChunkSizes
from reflective_rag.data.files import Unreadable, document_passages, read_document
from reflective_rag.data.files.document import as_date
from reflective_rag.data.files.markup import front_matter
from reflective_rag.data.files.pdf import info_date, unwrapped
from reflective_rag.signatures.types import Passage
from tests.data.files.documents import PAGES, pdf_bytes, write_folder, write_pdf

MOST = 1 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One document of each kind."""
    return write_folder(tmp_path_factory.mktemp("documents") / "docs")


def passages(path: Path) -> list[Passage]:
    """The chunks of a file."""
    return list(document_passages(read_document(path, most_bytes=MOST), path.name, ChunkSizes()))


@pytest.mark.parametrize(
    ("name", "title", "published", "date_from", "text", "place"),
    [
        ("hr/leave.md", "Leave policy › Annual leave", date(2024, 3, 5), "front matter", "25 days", {}),
        ("报销制度.html", "差旅报销制度 › 报销期限", date(2023, 6, 1), "page", "三十天内", {}),
        ("报销制度.html", "差旅报销制度 › 报销期限", date(2023, 6, 1), "page", "| 经理", {}),
        ("garage.docx", "Garage rules › Parking › Fees", date(2022, 5, 7), "document", "30 euros \\| month", {}),
        ("季度.pptx", "季度总结 › 展望", None, "file", "四千万元", {"page": 2}),
        ("季度.pptx", "季度总结 › 展望", None, "file", "口头说明", {"page": 2}),
        ("manual.pdf", "Pump manual › Maintenance", date(2000, 1, 1), "document", "every 500 hours", {"page": 2}),
        ("manual.pdf", "Pump manual › 水泵安全规定", date(2000, 1, 1), "document", "80摄氏度", {"page": 3}),
        ("canteen.txt", "canteen", None, "file", "食堂在一楼", {}),
    ],
)
def test_every_kind_brings_its_place(
    folder: Path, name: str, title: str, published: date | None, date_from: str, text: str, place: dict[str, int]
) -> None:
    """Title with the headings, date and where it is from, page; offsets into what was read."""
    found = next(passage for passage in passages(folder / name) if text in passage.text)
    document = read_document(folder / name, most_bytes=MOST)
    assert found.title == title
    assert found.metadata["date_from"] == date_from
    assert published is None or found.published == published
    assert found.published is not None
    assert {key: value for key, value in found.metadata.items() if key == "page"} == place
    assert document.text[found.metadata["start"] : found.metadata["end"]] == found.text


def test_a_page_is_its_text_alone(folder: Path) -> None:
    """Neither menu, footer, script nor style; no marks of bold in a quotation."""
    text = read_document(folder / "报销制度.html", most_bytes=MOST).text
    assert "为每晚六百元，" in text
    assert not [part for part in ("首页", "版权", "alert", "{}", "**") if part in text]


def test_the_offsets_of_markdown_are_those_of_the_file(folder: Path) -> None:
    """Front matter included, so that an editor opens at the right place."""
    text = (folder / "hr" / "leave.md").read_text(encoding="utf-8")
    for passage in passages(folder / "hr" / "leave.md"):
        assert text[passage.metadata["start"] : passage.metadata["end"]] == passage.text


def test_the_date_of_the_file_is_the_last_resort(tmp_path: Path) -> None:
    """It is marked, since copying a file changes it."""
    path = tmp_path / "old.txt"
    path.write_text("Something old.")
    os.utime(path, (0, 86_400 * 365))
    document = read_document(path, most_bytes=MOST)
    assert (document.published, document.date_from) == (date(1971, 1, 1), "file")


def test_a_sentence_runs_over_the_end_of_a_page(tmp_path: Path) -> None:
    """It stays whole, and each part of the window knows its page."""
    pages = [
        ("", ["The valve of the pump is", "opened by hand, and"]),
        ("", ["closed by a spring. 弹簧每年"]),
        ("", ["更换一次。"]),
    ]
    (found,) = passages(write_pdf(tmp_path / "a.pdf", pages, bookmarks=False))
    assert found.text == "The valve of the pump is opened by hand, and closed by a spring. 弹簧每年更换一次。"
    assert [(found.text[start], page) for start, page in found.metadata["window"]["pages"]] == [
        ("T", 1),
        ("c", 2),
        ("更", 3),
    ]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("The quick brown fox jumps over\nthe lazy dog.", "The quick brown fox jumps over the lazy dog."),
        ("This line is hyphen-\nated at its end here.", "This line is hyphenated at its end here."),
        ("京张铁路是中国人自行设计\n和施工的铁路。", "京张铁路是中国人自行设计和施工的铁路。"),
        ("This paragraph ends in a rather long line of text\nhere.\nAnother one begins with this line.",
         "This paragraph ends in a rather long line of text here.\n\nAnother one begins with this line."),
        ("Title\nThe text begins under its title here.", "Title\n\nThe text begins under its title here."),
        ("We need the following things:\n- oil and grease\n- water",
         "We need the following things:\n\n- oil and grease\n\n- water"),
        ("", ""),
    ],
    ids=["words", "hyphen", "zh", "paragraph", "title", "list", "empty"],
)  # fmt: skip
def test_lines_of_a_page_become_paragraphs(lines: str, text: str) -> None:
    """A PDF knows lines alone."""
    assert unwrapped(lines) == text


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.pdf", pdf_bytes, "PDF without text"),
        ("a.pdf", lambda: b"%PDF-1.7 broken", "PDF that is damaged"),
        ("a.docx", lambda: b"PK", "no Office document"),
        ("a.docx", lambda: b"", "is empty"),
        ("a.txt", lambda: b" \n", "holds no text"),
        ("a.txt", lambda: b"x" * (MOST + 1), "has 1 MB, more than the 1"),
        ("a.html", lambda: b"<p></p>", "holds no text"),
        ("a.md", lambda: b"\x00\x01\x02", "is no text in any encoding"),
    ],
    ids=["scan", "pdf", "zip", "empty", "blank", "huge", "html", "binary"],
)
def test_what_cannot_be_read_is_left_out_with_a_reason(tmp_path: Path, name: str, data: object, reason: str) -> None:
    """Never a traceback of a converter."""
    assert callable(data)
    (tmp_path / name).write_bytes(data())
    with pytest.raises(Unreadable, match=reason):
        read_document(tmp_path / name, most_bytes=MOST)


def test_a_damaged_office_file_is_left_out(tmp_path: Path, folder: Path) -> None:
    """A whole archive without a document in it, and one cut in the middle."""
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("../../x", "y")
    (tmp_path / "b.pptx").write_bytes((folder / "季度.pptx").read_bytes()[:5000])
    for name in ("a.docx", "b.pptx", "gone.txt"):
        with pytest.raises(Unreadable, match=r"damaged|disappeared"):
            read_document(tmp_path / name, most_bytes=MOST)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("---\ntitle: A\n---\nx", {"title": "A"}),
        ("+++\ntitle = 'A'\ndate = 2024-01-02\n+++\nx", {"title": "A", "date": date(2024, 1, 2)}),
        ("---\n- a\n---\nx", {}),
        ("---\n: : [\n---\nx", {}),
        ("---\nno end", {}),
        ("text --- text", {}),
        ("---\na: !!python/object:os.system x\n---\n", {}),
    ],
    ids=["yaml", "toml", "list", "broken", "open", "none", "unsafe"],
)
def test_front_matter_is_a_mapping_at_the_top(text: str, fields: dict[str, object]) -> None:
    """Anything else is text."""
    found, start = front_matter(text)
    assert found == fields
    assert bool(start) == bool(fields)


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2024-03-05T10:00:00Z", date(2024, 3, 5)), ("2024/3/5", date(2024, 3, 5)), ("2024年3月5日", date(2024, 3, 5)),
        ("2024-03", date(2024, 3, 1)), ("2024-13-01", None), ("9999-01-01", None), ("soon", None), (None, None),
        (7, None),
    ],
)  # fmt: skip
def test_dates_are_read_or_left_out(value: object, day: date | None) -> None:
    """A day that does not exist, or is still to come, is no date."""
    assert as_date(value) == day


def test_dates_of_a_pdf() -> None:
    """As the format writes them."""
    assert info_date("D:20240305103000+01'00'") == date(2024, 3, 5)
    assert info_date("D:2024") == date(2024, 1, 1)
    assert info_date("x") is None


def test_pages_are_all_read(folder: Path) -> None:
    """Every line of every page is in the text."""
    text = read_document(folder / "manual.pdf", most_bytes=MOST).text
    assert all(line in text for _, lines in PAGES for line in lines)


def test_a_chunk_is_found_by_every_page_that_it_touches(tmp_path: Path) -> None:
    """Short pages share a chunk; a filter for any of them finds it, and one for another page does not."""
    from reflective_rag.data.retrieval import open_retriever

    pages = [("", (f"The pump {name} is built in Aarhus.",)) for name in ("one", "two", "three")]
    found = passages(write_pdf(tmp_path / "short.pdf", pages, bookmarks=False))
    assert [chunk.metadata["page"] for chunk in found] == [[1, 2, 3]]
    with open_retriever("memory:", embedder="none") as index:
        index.add(found)
        assert all(index.search("pump", 5, filters={"page": page}) for page in (1, 2, 3))
        assert not index.search("pump", 5, filters={"page": 4})


def test_the_date_of_a_template_is_no_date(tmp_path: Path) -> None:
    """A Word file that a program wrote carries the day on which the library's template was made."""
    import docx

    written = docx.Document()
    written.add_paragraph("The garage opens at six.")
    written.save(str(tmp_path / "a.docx"))
    document = read_document(tmp_path / "a.docx", most_bytes=MOST)
    assert (document.date_from, document.published) != ("document", date(2013, 12, 23))
    assert document.date_from == "file"


def test_what_is_made_to_fill_memory_is_left_out(tmp_path: Path) -> None:
    """A part that packs to almost nothing, and many that unpack to too much together; neither is unpacked."""
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<w:p/>" * (4 << 20))
    with pytest.raises(Unreadable, match=r"a part that unpacks to 24 MB, more than 200 times"):
        read_document(tmp_path / "a.docx", most_bytes=MOST)
    with zipfile.ZipFile(tmp_path / "b.pptx", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20):
            archive.writestr(f"ppt/{number}.xml", b"<w:p/>" * (2450 << 10))
    with pytest.raises(Unreadable, match=r"unpacks to 287 MB, more than the 256 MB"):
        read_document(tmp_path / "b.pptx", most_bytes=MOST)


def test_the_styles_of_a_document_are_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many paragraphs there are; headings, lists and plain text are told apart all the same."""
    import docx
    from docx.styles.styles import Styles

    written = docx.Document()
    for number in range(200):
        written.add_heading(f"Part {number}", 1)
        written.add_paragraph(f"Text {number}.")
        written.add_paragraph(f"Item {number}", style="List Bullet")
    written.save(str(tmp_path / "a.docx"))
    looked: list[Any] = []
    get_by_id = Styles.get_by_id

    def watched(*args: Any) -> Any:
        looked.append(args)
        return get_by_id(*args)

    monkeypatch.setattr(Styles, "get_by_id", watched)
    document = read_document(tmp_path / "a.docx", most_bytes=MOST)
    assert len(looked) < 10
    assert document.text.startswith("Part 0\n\nText 0.\n\n- Item 0\n\nPart 1")
    assert [block.title for block in document.blocks if block.kind == "heading"] == [f"Part {n}" for n in range(200)]
