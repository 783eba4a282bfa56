"""Plain text, Markdown and HTML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reflective_rag.data.chunking import Block, markdown_blocks, plain_blocks
from reflective_rag.data.files.decoding import declared_encoding, decoded
from reflective_rag.data.files.document import Document, Unreadable, as_date

_FRONT = {"---": re.compile(r"---[^\S\n]*\n(.*?)^(?:---|\.\.\.)[^\S\n]*$", re.DOTALL | re.MULTILINE)}
_FRONT["+++"] = re.compile(r"\+\+\+[^\S\n]*\n(.*?)^\+\+\+[^\S\n]*$", re.DOTALL | re.MULTILINE)
_DATES = ("updated", "lastmod", "last_modified", "date", "published", "created", "日期")
"""Keys of front matter, the latest state of the text first."""
_META_DATES = (
    "article-modified_time", "og-updated_time", "dateModified", "last-modified", "article-published_time",
    "datePublished", "date", "dc.date", "dcterms.modified", "dcterms.date", "pubdate", "publishdate",
)  # fmt: skip
# Whatever surrounds the text of a page, and marks inside a line, which would stand in every quotation.
_AROUND = ["nav", "aside", "footer", "[role=navigation]", "[role=banner]", "[role=contentinfo]"]
_INLINE = ["a", "b", "strong", "i", "em", "u", "s", "del", "ins", "span", "mark", "code", "small", "font", "sub", "sup"]
_HARD_BREAK = re.compile(r"\\\n")


def read_text(path: Path) -> Document:
    """A text file: its paragraphs."""
    text, _ = decoded(path.read_bytes())
    return Document(text, plain_blocks(text))


def read_markdown(path: Path) -> Document:
    """A Markdown file; title and date from its front matter (YAML or TOML), else the title from its first heading."""
    text, _ = decoded(path.read_bytes())
    fields, start = front_matter(text)
    blocks = markdown_blocks(text, start)
    published = next((day for key in _DATES if (day := as_date(fields.get(key)))), None)
    title = str(fields.get("title") or "").strip() or first_heading(blocks)
    return Document(text, blocks, title, published, "front matter" if published else None)


def front_matter(text: str) -> tuple[Mapping[str, Any], int]:
    """The fields at the top of a Markdown file, and where the body begins. What is no mapping is part of the body."""
    match = _FRONT[text[:3]].match(text) if text[:3] in _FRONT else None
    if match is None:
        return {}, 0
    try:
        fields = tomllib.loads(match[1]) if text.startswith("+++") else _yaml(match[1])
    except (ValueError, RecursionError):
        return {}, 0
    return ({str(key).lower(): value for key, value in fields.items()}, match.end()) if fields else ({}, 0)


def _yaml(text: str) -> Mapping[Any, Any]:
    import yaml

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    return found if isinstance(found, dict) else {}


def first_heading(blocks: list[Block]) -> str:
    """The title of the first heading, if it is one of the highest level there is."""
    headings = [block for block in blocks if block.kind == "heading"]
    return headings[0].title if headings and headings[0].level == min(b.level for b in headings) else ""


def read_html(path: Path) -> Document:
    """An HTML page as Markdown without what surrounds its text; title and date from its head.

    Library: html-to-markdown (an HTML5 parser in Rust).
    """
    import html_to_markdown

    data = path.read_bytes()
    page, _ = decoded(data, declared=declared_encoding(data))
    options = html_to_markdown.ConversionOptions(
        strip_tags=_INLINE, skip_images=True, exclude_selectors=_AROUND, newline_style="backslash"
    )
    try:
        found = html_to_markdown.convert(page, options)
    except html_to_markdown.ConversionError as error:
        raise Unreadable(f"is no HTML that can be read: {error}") from error
    content = _HARD_BREAK.sub("\n", found.content or "")
    text = content[front_matter(content)[1] :].lstrip("\n")
    blocks = markdown_blocks(text)
    about = found.metadata.document
    meta = {str(key).lower(): value for key, value in about.meta_tags.items()}
    published = next((day for key in _META_DATES if (day := as_date(meta.get(key.lower())))), None)
    title = " ".join((about.title or "").split())
    return Document(text, blocks, title or first_heading(blocks), published, "page" if published else None)
