"""What kind of question it is, from its words alone: θ may depend on it, and no label is there when it is asked."""

from functools import lru_cache

from reflective_rag.programs.rules.question import analyse
from reflective_rag.programs.settings import QuestionKind
from reflective_rag.signatures.patterns import late_pattern

_SHARED = late_pattern(
    r"\b(?:both|same|in common|alike|compared? (?:to|with)|than)\b|相同|同一|共同|都(?!市|会|城|督|铎)|同样|相比|比较",
    2,
)
_CLAUSE = late_pattern(
    r"\w[\w’'-]*,?\s+(?:(?:in|of|to|for|from|by|on|at|with)\s+)?(?:that|which|who|whose|whom|where)\s", 2
)
_CHAIN = late_pattern(r"\b(?:of|by|for|to)\s+(?:the|a|an)\s+\w+(?:\s\w+)?\s+(?:of|by|for|in|from)\b", 2)
_RELATION = late_pattern(
    r"[’']s\s+(?:\w+\s+)?(?:father|mother|wife|husband|spouse|son|daughter|child|brother|sister|director"
    r"|performer|composer|author|creator|producer|founder|employer|birthplace|capital|mayor|country|city|state)\b"
    r"|\b(?:director|performer|composer|author|writer|creator|producer|founder|employer|president) of (?:the )?"
    r"(?:film|song|movie|album|book|series|company|organization|novel|game)\b",
    2,
)
_CHAIN_ZH = late_pattern(r"的[^的，。？?]{1,14}的(?!是|吗|？|\?|$)")


@lru_cache(maxsize=1024)
def question_kind(question: str) -> QuestionKind:
    """The kind of a question. Pure.

    `comparison`: which of two, or whether two are alike. `temporal`: it names or means a time for which the answer must
    hold. `bridge`: it describes something instead of naming it, so that one answer leads to the next. `single`: the
    rest. Where several would fit, the first of these.
    """
    asked = analyse(question)
    alike = len(asked.entities) > 1 and _SHARED.search(question)
    if asked.kind == "choice" or alike:
        return "comparison"
    if asked.time.scope != "timeless":
        return "temporal"
    bridges = (_CHAIN_ZH,) if asked.language == "zh" else (_CLAUSE, _CHAIN, _RELATION)
    return "bridge" if any(pattern.search(question) for pattern in bridges) else "single"
