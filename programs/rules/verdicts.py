"""Verdicts on claims, with the problem in the question's language."""

from collections.abc import Sequence

from reflective_rag.programs.rules.question import Question
from reflective_rag.signatures.types import ClaimSupport, Support

_PROBLEMS = {
    "en": {
        "empty": "The claim is empty.",
        "none": "No passage says this.",
        "part": "Only part of this stands in the passages.",
        "apart": "The passages name this, but not in connection with what is asked.",
        "value": "A passage gives {value} instead.",
        "negation": "A passage says the opposite.",
        "reversed": "A passage says it the other way round.",
        "opposite": "A passage says the opposite ({value}).",
        "yes_no": "A yes/no answer that no single sentence decides.",
        "old": "Only an outdated passage says this.",
        "planned": "The passages give this only as a plan.",
        "hedged": "The passages give this only as a possibility or as hearsay.",
    },
    "zh": {
        "empty": "该论断为空。",
        "none": "没有段落提到这一点。",
        "part": "段落只支持其中一部分。",
        "apart": "段落提到了它，但与所问之事没有联系。",
        "value": "有段落给出的是{value}。",
        "negation": "有段落的说法相反。",
        "reversed": "有段落的说法方向正好相反。",
        "opposite": "有段落的说法相反（{value}）。",
        "yes_no": "是非回答，没有单独一句能够判定。",
        "old": "只有过时的段落这样说。",
        "planned": "段落只说这是计划。",
        "hedged": "段落只说这是一种可能或传闻。",
    },
}


def verdict(
    question: Question,
    claim: str,
    support: Support,
    ids: Sequence[str],
    problem: str = "",
    value: str = "",
) -> ClaimSupport:
    """A verdict; `problem` is a key of the messages, `value` what a passage says instead."""
    text = _PROBLEMS[question.language][problem].format(value=value) if problem else ""
    return ClaimSupport(claim=claim, support=support, passage_ids=tuple(dict.fromkeys(ids)), problem=text)
