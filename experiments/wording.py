"""What `ask` prints for people, in the language of the question. The JSON has the same in codes, whatever the language.

Errors, notes about the set-up and `--help` are the command line's own words, and English.
"""

from typing import TYPE_CHECKING

from reflective_rag.signatures.text import Language
from reflective_rag.signatures.types import StopReason

if TYPE_CHECKING:
    from reflective_rag.programs.drivers import Event

Words = dict[Language, str]

STOPPED: dict[StopReason, Words] = {
    "sufficient": {"en": "the evidence was enough", "zh": "证据已经充分"},
    "single_pass": {
        "en": "at most one search, one answer; the evidence was not judged",
        "zh": "至多检索一次、回答一次，未评估证据",
    },
    "finished": {
        "en": "all planned steps were done; whether the evidence was enough was not judged",
        "zh": "已完成全部预定步骤，未评估证据是否充分",
    },
    "no_retrieval": {
        "en": "answered without searching: the question was judged to need no evidence",
        "zh": "判断该问题无需证据，未经检索直接回答",
    },
    "no_passages": {"en": "nothing was found", "zh": "没有检索到任何内容"},
    "no_relevant_passages": {"en": "nothing relevant was found", "zh": "没有检索到相关内容"},
    "no_gap": {
        "en": "the evidence was not enough, and no gap to search for was named",
        "zh": "证据不足，且没有指出可继续检索的缺口",
    },
    "no_new_query": {
        "en": "the evidence was not enough, and every further query would repeat an earlier one",
        "zh": "证据不足，而继续检索只会重复先前的查询",
    },
    "no_new_passages": {
        "en": "the evidence was not enough, and further searching brought nothing new",
        "zh": "证据不足，继续检索没有带来新内容",
    },
    "no_progress": {
        "en": "the evidence was not enough, and further rounds did not make it better",
        "zh": "证据不足，后续轮次也没有改善",
    },
    "max_rounds": {
        "en": "the evidence was not enough after the last round allowed",
        "zh": "已到允许的最后一轮，证据仍然不足",
    },
    "max_segments": {"en": "the answer reached its longest length", "zh": "回答已达到长度上限"},
    "budget_calls": {"en": "the budget of model calls was used up", "zh": "模型调用次数的预算已用尽"},
    "budget_tokens": {"en": "the budget of tokens was used up", "zh": "词元（token）预算已用尽"},
    "budget_seconds": {"en": "the time was up", "zh": "时间已用尽"},
    "budget_retrievals": {"en": "the budget of searches was used up", "zh": "检索次数的预算已用尽"},
    "model_error": {"en": "the model failed", "zh": "模型调用失败"},
    "retriever_error": {"en": "the retriever failed", "zh": "检索器出错"},
}
"""Stop reasons in words."""

_WORDS: dict[str, Words] = {
    "evidence": {"en": "evidence", "zh": "证据评分"},
    "relevance": {"en": "relevance", "zh": "相关性"},
    "consistency": {"en": "consistency", "zh": "一致性"},
    "coverage": {"en": "coverage", "zh": "覆盖度"},
    "freshness": {"en": "freshness", "zh": "时效性"},
    "n/a": {"en": "n/a", "zh": "不适用"},
    "confidence": {"en": "confidence", "zh": "置信度"},
    "calibrated": {"en": ", a calibrated probability", "zh": "，经校准的概率"},
    "stopped": {"en": "stopped", "zh": "停止原因"},
    "round": {"en": "round {}", "zh": "第 {} 轮"},
    "new": {"en": "{} → {} new passage(s)", "zh": "{} → 新增 {} 个段落"},
    "by": {"en": "by", "zh": "回答者"},
    "rules": {
        "en": "rules, without a language model: expect less than a model would give (name one with --lm)",
        "zh": "规则（未使用语言模型），效果不及语言模型（可用 --lm 指定模型）",
    },
    "model": {"en": "{}, {} call(s), {:,} tokens", "zh": "{}，{} 次调用，{:,} 个词元（token）"},
    "warning": {"en": "warning", "zh": "注意"},
    "list": {"en": "; ", "zh": "；"},
    "comma": {"en": ", ", "zh": "，"},
    "brackets": {"en": "{} ({})", "zh": "{}（{}）"},
    "colon": {"en": "{}: {}", "zh": "{}：{}"},
    "started": {"en": "{} started", "zh": "{}开始"},
    "finished": {"en": "{} finished", "zh": "{}完成"},
    "search": {"en": "search", "zh": "检索"},
    "generate": {"en": "write the answer", "zh": "写出回答"},
    "retrieve_more": {"en": "search for more", "zh": "继续检索"},
    "abstain": {"en": "give no answer", "zh": "不作回答"},
    "missing": {"en": "missing: {}", "zh": "缺少：{}"},
}


def word(name: str, language: Language, *values: object) -> str:
    """The word or pattern of that name, filled in; a name without an entry stands for itself."""
    words = _WORDS.get(name)
    return words[language].format(*values) if words else name


def stopped(reason: StopReason, language: Language) -> str:
    """Why the loop ended, in words, with the code in brackets."""
    return word("brackets", language, STOPPED[reason][language], reason)


def event_text(event: "Event", language: Language) -> str:
    """One line for a step that started or finished, or for a round and what was decided in it."""
    if event.kind != "round":
        head = word(event.kind, language, word(event.step, language))
        return word("colon", language, head, word("list", language).join(event.queries)) if event.queries else head
    if event.round is None:
        return ""
    head = word("round", language, event.round.number)
    decision = event.round.decision
    if decision is None:
        return head
    done = word("comma", language).join([word(decision.action, language), _reason(decision.reason, language)])
    return word("colon", language, head, done)


def _reason(reason: str, language: Language) -> str:
    """A decision's reason is a stop reason, or what is missing."""
    if reason in STOPPED:
        return stopped(reason, language)
    _, missing, need = reason.partition("missing: ")
    return word("missing", language, need) if missing else reason
