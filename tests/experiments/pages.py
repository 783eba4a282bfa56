"""Reading a page as a browser would: with an HTML parser, and in a real one where there is one."""

import html
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

VOID = {"meta", "br", "link", "img", "hr", "input"}
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


class Page(HTMLParser):
    """Elements and texts of a page; raises `AssertionError` where the elements are not nested as they should be."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, f"</{tag}> at line {self.getpos()[0]} closes something else"

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] != "style":
            self.text += data

    def values(self, name: str) -> list[str]:
        """All values of an attribute."""
        return [value for _, attribute, value in self.attributes if attribute == name]


def browser() -> str:
    """The command of a browser; skips the test without one."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    pytest.skip("needs Chromium (Debian: `apt-get install chromium-headless-shell`)")


def opened(path: Path, folder: Path, *, width: int = 400, dark: bool = False) -> str:
    """The page's DOM after it was opened in a browser with a window of that width."""
    command = [
        browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
        "--disable-background-networking", "--no-first-run", f"--user-data-dir={folder / 'profile'}",
        f"--window-size={width},900", f"--blink-settings=preferredColorScheme={int(not dark)}", "--dump-dom",
        "--virtual-time-budget=3000", path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def title_of(dom: str) -> str:
    """The title in a DOM."""
    found = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)
    assert found, "the page has no title"
    return html.unescape(found[1])
