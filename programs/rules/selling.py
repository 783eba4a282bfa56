"""Who sold and who bought: sold by A to B, B bought it from A, A把它卖给了B."""

import re
from functools import lru_cache
from typing import Literal

from reflective_rag.programs.rules.matching import has_cjk
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.values import Span
from reflective_rag.signatures.patterns import late_pattern

RIGHT, WRONG = 0.3, -1.2
"""Bonus of a name on the asked side of a sale; penalty of one on the other side."""

Party = Literal["seller", "buyer"]

_BUYER_ASKED = late_pattern(
    r"^\W*(?:who|which\s+\w+)\s+(?:bought|purchased|acquired)\b|\bwho(?:m)?\b.*\bsold\s+to\b|\bto\s+whom\b.*\bsold\b|谁[^卖]{0,6}买|卖给(?:了)?(?:谁|哪)",
    re.IGNORECASE,
)
_SELLER_ASKED = late_pattern(
    r"^\W*(?:who|which\s+\w+)\s+sold\b|\bfrom\s+whom\b|\bwho\b.*\bbought\b.*\bfrom\b|谁[^买]{0,8}卖|(?:从|向)谁[^，。]{0,6}买",
    re.IGNORECASE,
)
_SALES_EN = (
    late_pattern(r"\bsold\s+by\s+(?P<seller>[^,;.]+?)\s+to\s+(?P<buyer>[^,;.]+)"),
    late_pattern(r"\bsold\s+to\s+(?P<buyer>[^,;.]+?)\s+by\s+(?P<seller>[^,;.]+)"),
    late_pattern(r"\b(?:was|were|been|is)\s+sold\s+to\s+(?P<buyer>[^,;.]+)"),
    late_pattern(r"(?P<seller>[^,;.]+?)\s+(?:has\s+|had\s+)?sold\s+(?!by\b|to\b)[^,;.]+?\s+to\s+(?P<buyer>[^,;.]+)"),
    late_pattern(
        r"(?P<buyer>[^,;.]+?)\s+(?:has\s+|had\s+)?(?:bought|purchased)\s+[^,;.]+?\s+from\s+(?P<seller>[^,;.]+)"
    ),
)
_SALES_ZH = (
    late_pattern(r"由(?P<seller>[^，。；由]+?)(?:出售|转卖|卖)给了?(?P<buyer>[^，。；]+)"),
    late_pattern(r"(?P<seller>[^，。；由]+?)[把将][^，。；]+?(?:出售|转卖|卖)给了?(?P<buyer>[^，。；]+)"),
    late_pattern(r"(?P<buyer>[^，。；]+?)[从向](?P<seller>[^，。；]+?)(?:手[里中上])?(?:那里)?(?:处)?(?:购买|收购|买)"),
)


def asked_party(question: str) -> Party | None:
    """The party of a sale that is asked for; None where no sale is asked about."""
    if _BUYER_ASKED.search(question):
        return "buyer"
    return "seller" if _SELLER_ASKED.search(question) else None


def sale(question: Question, text: str, span: Span) -> float:
    """Bonus of a name on the asked side of a sale that a sentence tells, penalty on the other; 0 without a sale."""
    asked = asked_party(question.text)
    parties = _parties(text) if asked else {}
    for party, (start, end) in parties.items():
        if start <= span.start < end:
            return RIGHT if party == asked else WRONG
    return 0.0


@lru_cache(maxsize=1024)
def _parties(text: str) -> dict[str, tuple[int, int]]:
    found = next((m for form in (_SALES_ZH if has_cjk(text) else _SALES_EN) if (m := form.search(text))), None)
    return {name: found.span(name) for name in _named(found)} if found else {}


def _named(found: re.Match[str]) -> list[str]:
    return [name for name, value in found.groupdict().items() if value]
