"""Every wording that people read beside an answer, English and Chinese, in one table a kind.

Whoever needs words for a code looks here: warnings and their details, why a loop ended, what a judgement says, why a
passage or a gap was given up. Codes (`WarningCode`, `StopReason`) are for machines and the same in both languages.
"""

from typing import TYPE_CHECKING, Literal

from reflective_rag.signatures.text import Language, language_of

if TYPE_CHECKING:
    from reflective_rag.signatures.types import StopReason, WarningCode

Words = dict[Language, str]

WARNINGS: "dict[WarningCode, Words]" = {
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
    "ambiguous_question": {
        "en": "The question may mean more than one bearer of the name, and they have different answers.",
        "zh": "问题中的名称可能指不同的对象，而答案各不相同。",
    },
    "no_evidence": {"en": "No usable evidence was found.", "zh": "没有找到可用的证据。"},
    "budget_exhausted": {
        "en": "A budget was used up, and part of the work was not done.",
        "zh": "预算已用尽，部分工作未能完成。",
    },
    "model_degraded": {
        "en": "A model failed for part of the work.",
        "zh": "部分工作中模型调用失败。",
    },
    "retriever_degraded": {"en": "The retriever failed for part of the search.", "zh": "检索器在部分检索中失败。"},
    "unreadable_verdict": {"en": "Part of what the model replied could not be read.", "zh": "模型的部分回复无法读取。"},
    "unreadable_answer": {
        "en": "The model replied, but no answer could be read in its reply.",
        "zh": "模型有回复，但其中无法读出回答。",
    },
    "unverified_citation": {
        "en": "A passage was named as a source, but in it rules found no sentence that carries the answer; it is not "
        "cited.",
        "zh": "某个段落被指为来源，但规则核对未在其中找到支持该回答的句子，未予引用。",
    },
    "unsupported_answer": {
        "en": "The passages do not fully support the answer.",
        "zh": "检索到的段落未能完全支持该回答。",
    },
    "no_answer": {"en": "No answer was found in the evidence.", "zh": "未能从证据中得出答案。"},
    "rules_only": {
        "en": "Answered by rules, without a language model: expect less than a model would give.",
        "zh": "本回答由规则（未使用语言模型）抽取，效果不及语言模型。",
    },
    "rules_judged": {
        "en": "The evidence was judged by rules, without a language model.",
        "zh": "证据由规则（未使用语言模型）判断。",
    },
    "from_memory": {
        "en": "The answer comes from the model's own memory, without evidence.",
        "zh": "该回答来自模型自身的记忆，没有证据支持。",
    },
    "answer_cut": {
        "en": "The answer was ended by its limit on length; there may be more to say.",
        "zh": "回答因长度上限而结束，可能还有未尽的内容。",
    },
    "plan_cut": {
        "en": "The question was broken into more sub-questions than are worked on; the last ones were left out.",
        "zh": "问题分解出的子问题超过可处理的数量，末尾的子问题未被处理。",
    },
    "answer_withheld": {
        "en": "An answer was found and is withheld: it is less likely to be right than was asked for.",
        "zh": "已得出回答但不予给出：其正确的可能性低于所要求的水平。",
    },
}
"""Warnings."""

STOPPED: "dict[StopReason, Words]" = {
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
    "max_parts": {
        "en": "all sub-questions that were kept have an answer, and others were left out",
        "zh": "保留的子问题均有回答，其余子问题被略去",
    },
    "budget_calls": {"en": "the budget of model calls was used up", "zh": "模型调用次数的预算已用尽"},
    "budget_tokens": {"en": "the budget of tokens was used up", "zh": "词元（token）预算已用尽"},
    "budget_seconds": {"en": "the time was up", "zh": "时间已用尽"},
    "budget_retrievals": {"en": "the budget of searches was used up", "zh": "检索次数的预算已用尽"},
    "model_error": {"en": "the model failed", "zh": "模型调用失败"},
    "retriever_error": {"en": "the retriever failed", "zh": "检索器出错"},
}
"""Stop reasons in words."""

ABSTENTION: Words = {
    "en": "The evidence found does not answer this question.",
    "zh": "现有证据无法回答该问题。",
}
"""What an abstaining program answers."""

UNREAD: Words = {
    "en": "No answer: the model's reply could not be read.",
    "zh": "没有回答：模型的回复无法读取。",
}
"""What it answers where the model may have had an answer, and nobody can tell."""

Phrase = Literal[
    "too_long", "unstated", "apart", "unchecked", "claim", "conflict", "other", "outdated", "more", "unreadable",
    "irrelevant", "unanswered", "not_supported", "contradicted", "disagreeing", "usefulness", "from_memory",
    "explain_score", "missing", "explain_conflict", "explain_gap", "explain_fallback", "nobody", "explain_unread",
    "search_of", "crag", "crag_ungraded", "exact_duplicate", "near_duplicate", "inside_it", "tangential",
    "judged_irrelevant", "beyond_max", "no_model", "no_model_for", "no_strip", "not_named", "gap_covered",
    "gap_tried", "evidence_enough", "evidence_short", "evidence_unjudged", "done_by_rules", "not_done",
    "rules_judged_too", "left_out", "bearer",
]  # fmt: skip
PHRASES: dict[Phrase, Words] = {
    "too_long": {"en": "longer than {limit} characters", "zh": "长度超过{limit}个字符"},
    "unstated": {"en": "not stated in the passages", "zh": "段落中没有说明"},
    "disagreeing": {"en": "the passages say otherwise", "zh": "段落中的说法与此相反"},
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
    "bearer": {"en": "{name}: {value}", "zh": "{name}：{value}"},
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
    "explain_score": {"en": "evidence score {score} ({parts})", "zh": "证据评分 {score}（{parts}）"},
    "missing": {"en": "missing: {need}", "zh": "缺少：{need}"},
    "explain_conflict": {"en": "conflict about {about}: “{a}” / “{b}”", "zh": "关于{about}的矛盾：“{a}” / “{b}”"},
    "explain_gap": {"en": "gap ({kind}): {need} → {query}", "zh": "缺口（{kind}）：{need} → {query}"},
    "explain_fallback": {
        "en": "{judgement}: {backend} failed ({reason}), {to} judged",
        "zh": "{judgement}：{backend} 失败（{reason}），改由 {to} 判断",
    },
    "nobody": {"en": "nobody", "zh": "无人"},
    "explain_unread": {"en": "{count} verdict(s) could not be read", "zh": "有{count}项判断无法读取"},
    "search_of": {"en": "search {number} of {total}", "zh": "第 {number} 次检索，共 {total} 次"},
    "crag": {
        "en": "{action}: best grade {best}, thresholds {lower} and {upper}",
        "zh": "{action}：最高评分 {best}，阈值 {lower} 和 {upper}",
    },
    "crag_ungraded": {"en": "{action}: nothing was graded", "zh": "{action}：没有任何评分"},
    "exact_duplicate": {"en": "exact duplicate of {kept}", "zh": "与 {kept} 完全重复"},
    "near_duplicate": {"en": "near-duplicate of {kept}", "zh": "与 {kept} 近似重复"},
    "inside_it": {"en": "near-duplicate of {kept} (inside it)", "zh": "与 {kept} 近似重复（包含于其中）"},
    "tangential": {"en": "tangential", "zh": "偏离主题"},
    "judged_irrelevant": {"en": "judged irrelevant", "zh": "被判定为不相关"},
    "beyond_max": {"en": "beyond max_passages", "zh": "超出 max_passages 的数量"},
    "no_model": {"en": "no language model is configured", "zh": "未配置语言模型"},
    "no_model_for": {
        "en": "Part of the work was given to a model, and no language model is configured ({where}).",
        "zh": "部分工作指定由模型完成，但未配置语言模型（{where}）。",
    },
    "no_strip": {"en": "none of its strips was kept", "zh": "其片段均未保留"},
    "not_named": {"en": "no longer named", "zh": "不再被指出"},
    "evidence_enough": {"en": "the evidence found by then was enough", "zh": "当时已找到的证据是充分的"},
    "evidence_short": {"en": "the evidence found by then was not enough", "zh": "当时已找到的证据尚不充分"},
    "evidence_unjudged": {"en": "the evidence was not judged", "zh": "证据未经评估"},
    "done_by_rules": {"en": "done by rules instead: {names}", "zh": "改由规则完成：{names}"},
    "left_out": {"en": "{count} of {total}", "zh": "{total}个中的{count}个"},
    "not_done": {"en": "not done: {names}", "zh": "未完成：{names}"},
    "rules_judged_too": {"en": "rules judged the evidence too", "zh": "证据也由规则判断"},
    "gap_covered": {"en": "covered: {need}", "zh": "已覆盖：{need}"},
    "gap_tried": {"en": "tried {count} queries, nothing new", "zh": "已尝试 {count} 个查询，没有新内容"},
}
"""Sentences and parts of sentences with gaps to fill in. What a server or a model wrote stays as it came."""

WORDS: dict[str, Words] = {
    "unsure": {"en": "not sure: {}", "zh": "不确定：{}"},
    "evidence": {"en": "evidence", "zh": "证据评分"},
    "relevance": {"en": "relevance", "zh": "相关性"},
    "consistency": {"en": "consistency", "zh": "一致性"},
    "coverage": {"en": "coverage", "zh": "覆盖度"},
    "freshness": {"en": "freshness", "zh": "时效性"},
    "sufficiency": {"en": "sufficiency", "zh": "充分性"},
    "gaps": {"en": "gaps", "zh": "缺口"},
    "support": {"en": "support of the claims", "zh": "论断的支持"},
    "usefulness": {"en": "usefulness", "zh": "有用性"},
    "answer": {"en": "the answer", "zh": "回答"},
    "repair": {"en": "the correction of the answer", "zh": "回答的修正"},
    "citations": {"en": "citations", "zh": "引用"},
    "redundancy": {"en": "comparing the passages for repeats", "zh": "段落的重复比较"},
    "beginnings": {"en": "reading long passages beyond their beginning", "zh": "长段落开头以外内容的阅读"},
    "n/a": {"en": "n/a", "zh": "不适用"},
    "confidence": {"en": "confidence", "zh": "置信度"},
    "calibrated": {"en": ", a calibrated probability", "zh": "，经校准的概率"},
    "stopped": {"en": "stopped", "zh": "停止原因"},
    "round": {"en": "round {}", "zh": "第 {} 轮"},
    "new": {"en": "{} → {} new passage(s)", "zh": "{} → 新增 {} 个段落"},
    "candidate": {"en": "candidate", "zh": "候选"},
    "chosen": {"en": "{} (chosen)", "zh": "{}（选用）"},
    "by": {"en": "by", "zh": "回答者"},
    "rules": {
        "en": "rules, without a language model: expect less than a model would give (name one with --lm)",
        "zh": "规则（未使用语言模型），效果不及语言模型（可用 --lm 指定模型）",
    },
    "model": {"en": "{}, {} call(s), {:,} tokens", "zh": "{}，{} 次调用，{:,} 个词元（token）"},
    "warning": {"en": "warning", "zh": "注意"},
    "list": {"en": "; ", "zh": "；"},
    "comma": {"en": ", ", "zh": "，"},
    "page": {"en": "{}, page {}", "zh": "{}，第 {} 页"},
    "file_date": {"en": "{} (file date)", "zh": "{}（文件日期）"},
    "brackets": {"en": "{} ({})", "zh": "{}（{}）"},
    "colon": {"en": "{}: {}", "zh": "{}：{}"},
    "started": {"en": "{} started", "zh": "{}开始"},
    "finished": {"en": "{} finished", "zh": "{}完成"},
    "search": {"en": "search", "zh": "检索"},
    "generate": {"en": "write the answer", "zh": "写出回答"},
    "retrieve_more": {"en": "search for more", "zh": "继续检索"},
    "abstain": {"en": "give no answer", "zh": "不作回答"},
}
"""Labels of what the command line prints."""


def phrase(key: Phrase, question: str, **values: object) -> str:
    """One of the phrases in the question's language."""
    return say(key, language_of(question), **values)


def say(key: Phrase, language: Language, **values: object) -> str:
    """One of the phrases in a language."""
    return PHRASES[key][language].format(**values)


def word(name: str, language: Language, *values: object) -> str:
    """The label or pattern of that name, filled in; a name without an entry stands for itself."""
    words = WORDS.get(name)
    return words[language].format(*values) if words else name


def stopped(reason: "StopReason", language: Language) -> str:
    """Why the loop ended, in words, with the code in brackets."""
    return word("brackets", language, STOPPED[reason][language], reason)
