"""Warnings and the text of an abstention, in the question's language."""

from reflective_rag.signatures.text import Language, language_of
from reflective_rag.signatures.types import ResultWarning, WarningCode

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
        "en": "The language model failed; rules took its place for part of the work.",
        "zh": "语言模型调用失败，部分工作改由规则完成。",
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
}
_ABSTENTION: dict[Language, str] = {
    "en": "The evidence found does not answer this question.",
    "zh": "现有证据无法回答该问题。",
}


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
