"""Small real documents, written when a test needs them."""

import io
from collections.abc import Sequence
from pathlib import Path

LEAVE = """\
---
title: Leave policy
date: 2024-03-05
---
# Leave policy

This document says how leave works at Northwind.

## Annual leave

Every worker of Northwind has 25 days of paid leave a year. After five years of service it is 28 days.

## Sick leave

A worker who is ill tells the manager before ten in the morning. A note of a doctor is needed from the fourth day on.
"""

TRAVEL = """\
<!doctype html><html><head><meta charset="gbk"><title>差旅报销制度</title>
<meta property="article:published_time" content="2023-06-01T08:00:00+08:00"><style>p {}</style></head>
<body><nav><a href="/">首页</a></nav><main><h1>差旅报销制度</h1>
<h2>住宿标准</h2><p>北京和上海的住宿标准为<b>每晚六百元</b>，其他城市为每晚四百元。</p>
<h2>报销期限</h2><p>员工应当在出差结束后三十天内提交报销单。逾期不予受理。</p>
<table><tr><th>级别</th><th>标准</th></tr><tr><td>经理</td><td>八百元</td></tr></table></main>
<footer>版权所有</footer><script>alert("x")</script></body></html>
"""

PAGES = (
    ("Overview", ("The pump P-200 weighs 41 kilograms.", "It was built in Aarhus.")),
    ("Maintenance", ("The oil of the pump P-200 is changed every 500 hours.", "Use oil of grade 46 only.")),
    ("水泵安全规定", ("水泵P-200的最高工作温度为80摄氏度。", "超过该温度时水泵自动停机。")),
)


def write_pdf(
    path: Path,
    pages: Sequence[tuple[str, Sequence[str]]] = PAGES,
    *,
    title: str = "Pump manual",
    bookmarks: bool = True,
) -> Path:
    """A page for each (heading, lines), in a Chinese font that is not embedded, as many office programs write them."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfgen import canvas

    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    pdf = canvas.Canvas(str(path), invariant=1)
    pdf.setTitle(title)
    for number, (heading, lines) in enumerate(pages):
        pdf.setFont("STSong-Light", 12)
        if bookmarks and heading:
            pdf.bookmarkPage(str(number))
            pdf.addOutlineEntry(heading, str(number))
        for place, line in enumerate(filter(None, [heading, *lines])):
            pdf.drawString(72, 750 - 20 * place, line)
        pdf.showPage()
    pdf.save()
    return path


def write_docx(path: Path) -> Path:
    """Headings, paragraphs, a table; written on 7 May 2022."""
    from datetime import datetime

    import docx

    document = docx.Document()
    document.core_properties.title = "Garage rules"
    document.core_properties.modified = datetime(2022, 5, 7)  # noqa: DTZ001 - as Word keeps it
    document.add_heading("Parking", 1)
    document.add_paragraph("The garage of Northwind has 120 places. It opens at six in the morning.")
    document.add_heading("Fees", 2)
    table = document.add_table(2, 2)
    for row, texts in zip(table.rows, (("Car", "Fee"), ("Electric", "30 euros | month")), strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    document.save(str(path))
    return path


def write_pptx(path: Path) -> Path:
    """Two slides in Chinese, one with notes."""
    import pptx

    slides = pptx.Presentation()
    for title, body, notes in (
        ("季度总结", "本季度的销售额为三千万元。", ""),
        ("展望", "下季度的目标是四千万元。", "口头说明市场。"),
    ):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    slides.save(str(path))
    return path


def write_folder(folder: Path) -> Path:
    """All of them, in two levels."""
    (folder / "hr").mkdir(parents=True)
    (folder / "hr" / "leave.md").write_text(LEAVE, encoding="utf-8")
    (folder / "报销制度.html").write_bytes(TRAVEL.encode("gb18030"))
    (folder / "canteen.txt").write_bytes("The canteen of Northwind opens at noon.\r\n\r\n食堂在一楼。".encode("utf-16"))
    write_pdf(folder / "manual.pdf")
    write_docx(folder / "garage.docx")
    write_pptx(folder / "季度.pptx")
    return folder


def pdf_bytes() -> bytes:
    """A PDF with a picture and no text."""
    from reportlab.pdfgen import canvas

    kept = io.BytesIO()
    pdf = canvas.Canvas(kept, invariant=1)
    pdf.rect(10, 10, 100, 100)
    pdf.showPage()
    pdf.save()
    return kept.getvalue()
