"""The page itself: a template, everything in it escaped, and a file that is there whole or not at all."""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from reflective_rag import __version__
from reflective_rag.data.secrets import scrub
from reflective_rag.experiments.report.content import language_of_sources, sections
from reflective_rag.experiments.report.sources import Source
from reflective_rag.experiments.report.words import text
from reflective_rag.signatures.errors import DataError
from reflective_rag.signatures.text import Language
from reflective_rag.signatures.wording import stopped, word

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
"""Characters that HTML does not allow."""


def page(sources: Sequence[Source], *, language: Language | None = None, examples: int = 20) -> str:
    """The HTML of a report; the same sources give the same page.

    Args:
        language: Of its words; by default that of most questions.
        examples: Questions shown of each source.
    """
    from jinja2 import Environment, StrictUndefined

    chosen = language or language_of_sources(sources)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_clean, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(
        files("reflective_rag.experiments.report").joinpath("page.html.j2").read_text(encoding="utf-8")
    )

    def say(key: str, *values: object) -> str:
        return text(key, chosen, *values)

    def words(key: str, *values: object) -> str:
        return word(key, chosen, *values)

    return template.render(
        lang="zh-CN" if chosen == "zh" else "en",
        say=say,
        word=words,
        stopped=lambda reason: stopped(reason, chosen),
        sections=sections(sources, chosen, examples),
        made=say("by", __version__, ", ".join(source.name for source in sources)),
    )


def write_page(html: str, path: Path) -> Path:
    """Write the page beside `path` and rename it. Raises `DataError` where that cannot be done."""
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(html, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise DataError(f"`--out {path}` cannot be written: {error.strerror or error}; give another file") from None
    return path


def _clean(value: Any) -> Any:
    """What a browser can show, without credentials; markup of our own stays as it is."""
    if type(value) is str:
        return _CONTROL.sub("\ufffd", scrub(value))
    return value
