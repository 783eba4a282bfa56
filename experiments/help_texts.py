"""The layout of every `--help`: examples that can be copied, texts that Rich does not take for markup."""

import re
from inspect import cleandoc
from typing import Any

from rich.cells import cell_len
from rich.markup import escape

from reflective_rag.signatures.installing import install_hint

PROGRAM = "reflective-rag "
EXAMPLE_CELLS = 74
"""A longer example goes on in a second line, behind a backslash, so that it is whole in a terminal of 80 columns."""

_EXTRA = re.compile(r"\(extra `(\w+)`\)")


def laid_out(text: str) -> str:
    """A command's docstring for Rich: a paragraph a line, the examples below one another, all set in alike."""
    text = _EXTRA.sub(lambda found: f"(extra `{found[1]}`: `{install_hint(found[1])}`)", cleandoc(text))
    blocks: list[str] = []
    examples = False
    for paragraph in text.split("\n\n"):
        if paragraph.strip().startswith(PROGRAM):
            lines = "\n".join(_example(each.strip()) for each in paragraph.splitlines())
            blocks[-1:] = [f"{blocks[-1]}\n{lines}"] if examples else [*blocks[-1:], lines]
            examples = True
        else:
            blocks.append(escape(" ".join(paragraph.split())))
            examples = False
    return "\n\n".join(blocks)


def _example(line: str) -> str:
    parts, rest = [], line
    while cell_len(rest) > EXAMPLE_CELLS and (at := _break(rest)) > 0:
        parts.append(rest[:at] + " \\\\")  # two: before a tag, Rich takes one for an escape
        rest = "    " + rest[at + 1 :]
    return "\n".join(f"[bold]    {escape(part) if part is rest else part}[/bold]" for part in [*parts, rest])


def _break(line: str) -> int:
    """Where to break: before the last option or `&&` that fits."""
    return max(line.rfind(mark, 8, EXAMPLE_CELLS - 1) for mark in (" --", " &&"))


def usage(piece: str) -> str:
    """`DIR` for `{DIR}`, `[RECIPE]` for `[[RECIPE]]`, `SOURCE...` for `{SOURCE...}...`."""
    if piece.startswith("{"):
        inner = piece[1:].removesuffix("...").removesuffix("}")
        return inner if inner.endswith("...") or not piece.endswith("...") else f"{inner}..."
    if piece.startswith("[["):
        return piece[1:].removesuffix("...").removesuffix("]")
    if piece.startswith("[") and piece.endswith("...]..."):
        return piece.removesuffix("...")
    return piece


class PlainHelp:
    """Mixed into Typer's commands: help as described here, and flags that stand alone.

    Typer shows `--json <bool>`, as if a value had to follow, and reads `[files]` in a text as markup.
    """

    params: list[Any]
    help: str | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for param in self.params:
            if getattr(param, "help", None):
                param.help = escape(param.help)

    def get_params(self, ctx: Any) -> Any:
        """The parameters, `--help` included."""
        params = super().get_params(ctx)  # type: ignore[misc]  # of the command that this is mixed into
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """As Typer, without its braces."""
        return [usage(piece) for piece in super().collect_usage_pieces(ctx)]  # type: ignore[misc]  # as above
