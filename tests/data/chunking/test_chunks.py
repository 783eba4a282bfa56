import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from reflective_rag.data.chunking import Block, Chunk, ChunkSizes, chunked, markdown_blocks, plain_blocks, size
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.text import sentences

SMALL = ChunkSizes(chunk=24, overlap=8, window=72)

HANDBOOK = """\
# Handbook

Welcome to Northwind. This text is for all who work here. Keep it near.

## Leave

Every worker has 25 days of paid leave a year. After five years it is 28 days. Unused days expire in March.

| Years of service | Days of leave |
| --- | --- |
| 1 | 25 |
| 5 | 28 |

### 病假

员工生病时应当通知主管。超过三天需要医院证明。每年最多十天带薪病假，超出部分按事假处理。病假期间工资照发。

## Tools

```
make test
make demo
```

- one item
- another item

[home]: https://example.org/
Setext heading
--------------
The end.
"""


def random_text(seed: int) -> str:
    """Markdown, words and Chinese characters thrown together: paragraphs, headings, tables, fences, runs."""
    rng = random.Random(seed)
    words = [
        "alpha",
        "beta.",
        "Gamma",
        "3.14",
        "北京",
        "上海。",
        "，",
        "| a | b |",
        "# H",
        "## 二",
        "```",
        "- x",
        "\t",
        "é",
        "[a]: b",
    ]
    words += [
        "\n",
        "\n\n",
        " ",
        "x" * 300,
        "字" * 150,
        "\u3000",
        "a。b. C!",
        "> q",
        "<b>",
        "---",
        "\n\n|a|b|\n|-|-|\n|1|2|\n\n",
    ]
    return "".join(rng.choice(words) + rng.choice([" ", "", "\n"]) for _ in range(rng.randrange(1, 120)))


TEXTS = [
    HANDBOOK,
    HANDBOOK * 5,
    "",
    " \n ",
    "word " * 5000,
    "字" * 5000,
    "# only\n## headings",
    "a\rb\r\nc",
    "\ufeff# x\n\ny",
]
TEXTS += [random_text(seed) for seed in range(40)]


@pytest.mark.parametrize("blocks_of", [markdown_blocks, plain_blocks], ids=["markdown", "plain"])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_every_visible_character_is_in_a_chunk(text: str, blocks_of: Callable[[str], list[Block]]) -> None:
    """Nothing is lost; windows do not overlap and hold their chunks; all is in order, and the same each time."""
    chunks = chunked(text, blocks_of(text), SMALL)
    inside: set[int] = set()
    for chunk in chunks:
        inside.update(range(chunk.start, chunk.end))
        assert chunk.window_start <= chunk.start < chunk.end <= chunk.window_end <= len(text)
    assert not [(place, text[place]) for place in range(len(text)) if place not in inside and text[place].strip()]
    windows = sorted({(chunk.window_start, chunk.window_end) for chunk in chunks})
    assert all(first[1] <= second[0] for first, second in pairwise(windows))
    assert [chunk.start for chunk in chunks] == sorted({chunk.start for chunk in chunks})
    assert chunks == chunked(text, blocks_of(text), SMALL)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_chunk_keeps_its_limit_or_is_one_piece(text: str) -> None:
    """Plain text: a chunk over the limit lies within one sentence, and fits into a window."""
    blocks = plain_blocks(text)
    inside = [
        (block.start + sentence.start, block.start + sentence.end)
        for block in blocks
        for sentence in sentences(text[block.start : block.end])
    ]
    for chunk in chunked(text, blocks, SMALL):
        length = size(text[chunk.start : chunk.end])
        one = any(start <= chunk.start and chunk.end <= end for start, end in inside)
        assert length <= SMALL.chunk or (one and length <= SMALL.window)


def shown(text: str, sizes: ChunkSizes = SMALL) -> list[tuple[str, tuple[str, ...]]]:
    """Text and headings of each chunk."""
    return [(text[c.start : c.end], c.headings) for c in chunked(text, markdown_blocks(text), sizes)]


def test_headings_and_tables_stay_whole() -> None:
    """A section's headings are its path, in words; a table is one piece; a lone heading goes with the next section."""
    found = shown(HANDBOOK)
    table = next(text for text, _ in found if "| 1 | 25 |" in text)
    assert "| Years of service |" in table
    assert "| 5 | 28 |" in table
    assert {path for _, path in found} == {
        ("Handbook",), ("Handbook", "Leave"), ("Handbook", "Leave", "病假"), ("Handbook", "Tools"),
        ("Handbook", "Setext heading"),
    }  # fmt: skip
    assert shown("# A\n\n## B **bold** `c`\n\ntext")[0] == ("# A\n\n## B **bold** `c`\n\ntext", ("A", "B bold c"))


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("One is here now. Two is here now. Three is here now. Four is here now. Five is here. " * 3, "is here"),
        ("今天天气很好。明天下雨。后天刮风下雪。大后天又是晴天。" * 4, "。"),
    ],
    ids=["en", "zh"],
)
def test_neighbours_share_whole_sentences(text: str, shared: str) -> None:
    """Within a window two chunks overlap by sentences of at most `overlap`; each begins and ends with a sentence."""
    chunks = chunked(text, plain_blocks(text), SMALL)
    overlaps = [
        text[second.start : first.end]
        for first, second in pairwise(chunks)
        if first.window_start == second.window_start
    ]
    assert overlaps
    assert all(shared in overlap and size(overlap) <= SMALL.overlap for overlap in overlaps)
    assert all(text[chunk.end - 1] in ".。" for chunk in chunks)


def test_a_long_table_is_cut_between_rows() -> None:
    """Beyond a window a table goes on in the next one, row by row."""
    text = "| n | square |\n|---|---|\n" + "".join(f"| {n} | {n * n} |\n" for n in range(200))
    found = shown(text)
    assert len(found) > 3
    assert all(line.startswith("|") and line.endswith("|") for chunk, _ in found for line in chunk.split("\n"))


def test_what_has_no_end_is_cut_all_the_same() -> None:
    """A megabyte without a single space or stop becomes chunks within a window."""
    text = "x" * 1_000_000
    chunks = chunked(text, plain_blocks(text))
    assert max(size(text[chunk.start : chunk.end]) for chunk in chunks) <= ChunkSizes().window
    assert sum(chunk.end - chunk.start for chunk in chunks) == len(text)


@pytest.mark.parametrize("sizes", [(10, 10, 20), (10, -1, 20), (30, 5, 20)], ids=str)
def test_limits_that_cannot_work_are_refused(sizes: tuple[int, int, int]) -> None:
    """The overlap is less than a chunk, a chunk at most a window."""
    with pytest.raises(ConfigError, match="0 ≤ overlap < chunk ≤ window"):
        chunked("a", plain_blocks("a"), ChunkSizes(*sizes))


def test_nothing_gives_nothing() -> None:
    """No blocks, no chunks; a heading alone is one."""
    assert chunked("", []) == []
    assert chunked("# a", markdown_blocks("# a")) == [Chunk(0, 3, 0, 3, ("a",))]


@pytest.mark.parametrize("text", ["", "Text. "], ids=["headings alone", "a text each"])
def test_headings_are_looked_at_once_each(text: str) -> None:
    """The work grows with their number, not with its square, also where a thousand follow one another."""
    looked = []

    class Watched(Block):
        @property
        def kind(self) -> str:  # type: ignore[override]  # a property, to see each look
            looked.append(self)
            return self[0]

    whole, blocks = "", []
    for number in range(1000):
        parts: tuple[tuple[Any, str], ...] = (("heading", f"Part {number}"), ("text", text))
        for kind, part in parts:
            if part:
                blocks.append(Watched(kind, len(whole), len(whole) + len(part.rstrip()), 2, part))
                whole += part + "\n\n"
    assert chunked(whole, blocks)
    assert len(looked) < 10 * len(blocks)
