"""Warnings, what they say in detail, and the text of an abstention, in the question's language."""

from collections.abc import Sequence
from typing import Literal

from reflective_rag.signatures.text import Language, language_of
from reflective_rag.signatures.types import ClaimSupport, Contradiction, ResultWarning, StopReason, WarningCode

_TEXTS: dict[WarningCode, dict[Language, str]] = {
    "low_confidence_generation": {"en": "The answer has low confidence.", "zh": "该回答的置信度较低。"},
    "insufficient_evidence": {
        "en": "The evidence found was not enough to be sure of the answer.",
        "zh": "检索到的证据不足以确认该回答。",
    },
    "potential_noise": {"en": "Most of the retrieved passages were off topic.", "zh": "检索到的大部分段落与问题无关。"},
    "outdated_info": {
        "en": "The evidence may be out of date for this question.",
        "zh": "对该问题而言，证据可能已经过时。",
    },
    "conflicting_evidence": {"en": "The sources contradict each other.", "zh": "资料来源之间存在矛盾。"},
    "no_evidence": {"en": "No usable evidence was found.", "zh": "没有找到可用的证据。"},
    "budget_exhausted": {
        "en": "A budget ended the search before the evidence was enough.",
        "zh": "预算已用尽，检索在证据充分之前结束。",
    },
    "model_degraded": {
        "en": "A model failed for part of the work.",
        "zh": "部分工作中模型调用失败。",
    },
    "retriever_degraded": {"en": "The retriever failed for part of the search.", "zh": "检索器在部分检索中失败。"},
    "unreadable_verdict": {"en": "Part of the model's judgement could not be read.", "zh": "模型的部分判断无法读取。"},
    "unverified_citation": {
        "en": "A passage that the model cited does not carry the answer and was not cited.",
        "zh": "模型引用的某个段落并不支持该回答，未予引用。",
    },
    "unsupported_answer": {
        "en": "The passages do not fully support the answer.",
        "zh": "检索到的段落未能完全支持该回答。",
    },
    "no_answer": {"en": "No answer was found in the evidence.", "zh": "未能从证据中得出答案。"},
    "rules_only": {
        "en": "Judged and answered by rules, without a language model: expect less than a model would give.",
        "zh": "本回答由规则（未使用语言模型）判断并抽取，效果不及语言模型。",
    },
    "from_memory": {
        "en": "The answer comes from the model's own memory, without evidence.",
        "zh": "该回答来自模型自身的记忆，没有证据支持。",
    },
    "answer_cut": {
        "en": "The answer was ended by its limit on length; there may be more to say.",
        "zh": "回答因长度上限而结束，可能还有未尽的内容。",
    },
    "answer_withheld": {
        "en": "An answer was found and is withheld: it is less likely to be right than was asked for.",
        "zh": "已得出回答但不予给出：其正确的可能性低于所要求的水平。",
    },
}
WARNING_OF_STOP: dict[StopReason, WarningCode] = {
    "no_passages": "no_evidence",
    "no_relevant_passages": "no_evidence",
    "no_gap": "insufficient_evidence",
    "no_new_query": "insufficient_evidence",
    "no_new_passages": "insufficient_evidence",
    "no_progress": "insufficient_evidence",
    "max_rounds": "insufficient_evidence",
    "max_segments": "answer_cut",
    "budget_calls": "budget_exhausted",
    "budget_tokens": "budget_exhausted",
    "budget_seconds": "budget_exhausted",
    "budget_retrievals": "budget_exhausted",
    "model_error": "model_degraded",
    "retriever_error": "retriever_degraded",
}
"""Every stop but `sufficient`, `single_pass` and `finished` is degraded and carries at least this warning."""

_ABSTENTION: dict[Language, str] = {
    "en": "The evidence found does not answer this question.",
    "zh": "现有证据无法回答该问题。",
}

Phrase = Literal[
    "too_long", "unstated", "apart", "unchecked", "claim", "conflict", "other", "outdated", "more", "unreadable",
    "irrelevant", "unanswered", "not_supported", "contradicted", "usefulness", "from_memory",
]  # fmt: skip
_PHRASES: dict[Phrase, dict[Language, str]] = {
    "too_long": {"en": "longer than {limit} characters", "zh": "长度超过{limit}个字符"},
    "unstated": {"en": "not stated in the passages", "zh": "段落中没有说明"},
    "apart": {
        "en": "The passages say this, but not in connection with what is asked.",
        "zh": "段落中有这一说法，但与所问之事没有联系。",
    },
    "unchecked": {"en": "could not be checked, or the verdict could not be read", "zh": "未能核对，或判断无法读取"},
    "claim": {"en": "“{claim}”: {problem}", "zh": "“{claim}”：{problem}"},
    "conflict": {
        "en": "{about}: source {a} says “{span_a}”, source {b} says “{span_b}”",
        "zh": "{about}：来源{a}称“{span_a}”，来源{b}称“{span_b}”",
    },
    "other": {"en": ", so “{value}” is possible too", "zh": "，因此“{value}”也有可能"},
    "outdated": {
        "en": "the answer stands only in the older source: {a} says “{span_a}”, the newer {b} says “{span_b}”",
        "zh": "该回答只见于较早的来源：来源{a}称“{span_a}”，较新的来源{b}称“{span_b}”",
    },
    "more": {"en": "{count} more", "zh": "另有{count}项"},
    "unreadable": {"en": "its reply could not be read", "zh": "其回复无法读取"},
    "irrelevant": {"en": "no passage that was found is relevant", "zh": "检索到的段落均不相关"},
    "unanswered": {"en": "no relevant passage gives an answer", "zh": "相关段落都没有给出答案"},
    "not_supported": {"en": "not supported: {claims}", "zh": "缺乏支持：{claims}"},
    "contradicted": {"en": "contradicted by “{source}”: {claims}", "zh": "与“{source}”矛盾：{claims}"},
    "usefulness": {"en": "usefulness {grade} of 5: {problem}", "zh": "有用性 {grade}/5：{problem}"},
    "from_memory": {"en": "from the model alone, not from a passage", "zh": "仅来自模型自身，而非段落"},
}
"""Details in our own words. What a server, a retriever or a model wrote stays as it came."""

MOST_NAMED = 3
"""Claims or conflicts that a warning names; the rest it counts."""
LONGEST_CLAIM, LONGEST_SPAN = 80, 160
"""Characters of a claim and of a source's span in a warning."""


def phrase(key: Phrase, question: str, **values: object) -> str:
    """One of our own phrases in the question's language."""
    return _PHRASES[key][language_of(question)].format(**values)


def claims_detail(question: str, claims: Sequence[ClaimSupport]) -> str:
    """Claims (shortened), each with what is wrong with it."""
    named = [
        phrase(
            "claim", question, claim=shortened(c.claim, LONGEST_CLAIM), problem=problem_of(question, c).rstrip(".。")
        )
        for c in claims
    ]
    return _listed(question, named)


def problem_of(question: str, claim: ClaimSupport) -> str:
    """What is wrong with a claim, never empty."""
    return claim.problem or phrase("unstated", question)


def conflict_detail(question: str, conflicts: Sequence[Contradiction], others: Sequence[str]) -> str:
    """Both sides of each conflict, with the value that the answer leaves out (empty where it is not known)."""
    named = [
        phrase("conflict", question, about=c.about, **_sides(c)) + (phrase("other", question, value=o) if o else "")
        for c, o in zip(conflicts, others, strict=True)
    ]
    return _listed(question, named)


def outdated_detail(question: str, conflict: Contradiction) -> str:
    """The older side, which the answer follows, and the newer one."""
    if conflict.newer == conflict.passage_a:
        older = {"passage_a": conflict.passage_b, "span_a": conflict.span_b}
        conflict = conflict.model_copy(update={**older, "passage_b": conflict.passage_a, "span_b": conflict.span_a})
    return phrase("outdated", question, **_sides(conflict))


def _sides(conflict: Contradiction) -> dict[str, str]:
    spans = (shortened(span, LONGEST_SPAN) for span in (conflict.span_a, conflict.span_b))
    return {"a": conflict.passage_a, "b": conflict.passage_b, **dict(zip(("span_a", "span_b"), spans, strict=True))}


def _listed(question: str, named: Sequence[str]) -> str:
    shown = [*named[:MOST_NAMED]]
    if len(named) > MOST_NAMED:
        shown.append(phrase("more", question, count=len(named) - MOST_NAMED))
    return ("；" if language_of(question) == "zh" else "; ").join(shown)


def shortened(text: str, limit: int) -> str:
    """The text on one line, cut to `limit` characters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def warning(code: WarningCode, question: str, detail: str = "") -> ResultWarning:
    """The warning in the question's language; `detail` (an error message, say) follows in brackets."""
    language = language_of(question)
    text = _TEXTS[code][language]
    if not detail:
        return ResultWarning(code=code, message=text)
    return ResultWarning(code=code, message=f"{text}（{detail}）" if language == "zh" else f"{text} ({detail})")


def abstention(question: str) -> str:
    """What an abstaining program answers."""
    return _ABSTENTION[language_of(question)]
