"""Who does something where no proper name stands: by the shift leader, the IT department provides, 由值班班长清洗."""

import re

from reflective_rag.programs.rules.matching import fold, has_cjk, segmenter, stem
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.values import Span
from reflective_rag.signatures.patterns import late_pattern

_STOP = (
    r"and|or|but|of|in|on|at|to|from|by|for|with|until|is|are|was|were|will|can|may|must|shall|should|before|after|during|which|that|who|within|has|have|had"
    r"|every|each|once|twice|when|if|as|at"
)
_NOUN = rf"(?:(?!(?:{_STOP})\b)[\w'’-]+\s+){{0,3}}(?!(?:{_STOP})\b)[\w'’-]+"
_ROLE = rf"(?P<role>{_NOUN}(?:\s+of\s+(?:the\s+)?{_NOUN})?)"
_BY = late_pattern(
    rf"\b(?:by|approval\s+of|permission\s+of|signature\s+of|consent\s+of|responsibility\s+of|contact|ask|inform|call)\s+(?:the|an?|your|our|their)\s+{_ROLE}"
)
_DOER = late_pattern(rf"(?:^|[;:,.]\s+)(?:[Tt]he|[Aa]n?|[Oo]ur|[Yy]our)\s+{_ROLE}(?=\s)")
_BY_ZH = late_pattern(r"(?:由|经由?|(?<!同)被|[交发报]给|提交给|向)(?=[^，。；：！？由])")
_END_ZH = late_pattern(r"于|在|每|按|负责|统一|共同|亲自|[，。；、：！？（(]|\d|$")
_BODY_ASKED = late_pattern(
    r"谁|哪一?[家个](?:公司|工厂|厂家?|部门|单位|机构|团队|组织|供应商|工作室|银行|小组|科室|人)|什么(?:公司|部门|单位|机构|人)"
)


def asks_agent(question: Question) -> bool:
    """Whether a role or a body may answer: who, 谁, 哪个部门."""
    if question.language == "zh":
        return _BODY_ASKED.search(question.text) is not None
    return (
        question.kind == "person"
        or re.search(r"\bwhich\s+(?:department|office|company|team|body|unit)\b", question.text, re.IGNORECASE)
        is not None
    )


def agents(question: Question, text: str) -> list[Span]:
    """Roles and bodies that a sentence gives as the doer of what the question asks about."""
    return _agents_zh(question, text) if has_cjk(text) else _agents_en(question, text)


def _agents_en(question: Question, text: str) -> list[Span]:
    asked = {form for term in question.attribute for form in term.forms}
    found = list(_BY.finditer(text))
    for doer in _DOER.finditer(text):
        words = doer["role"].split()
        for n in range(
            1, len(words)
        ):  # the doer ends where a verb of the question stands: The IT department | provides
            if stem(fold(words[n])) in asked and stem(fold(words[n])) in question.right:
                end = doer.start("role") + len(" ".join(words[:n]))
                return [Span(text[doer.start("role") : end], doer.start("role"), end, "role")]
    spans = [Span(m["role"], m.start("role"), m.end("role"), "role") for m in found]
    return [span for span in spans if not re.match(r"[A-Z]\w+ing\b|\w+ing\b", span.text)]


def _agents_zh(question: Question, text: str) -> list[Span]:
    spans = []
    verbs = [form for t in question.attribute if t.text not in question.expected for form in t.forms if len(form) > 1]
    for found in _BY_ZH.finditer(text):
        start = found.end()
        stop = _END_ZH.search(text, start)
        limit = stop.start() if stop else len(text)
        ends = [at for verb in verbs if (at := text.find(verb, start + 2, limit)) > 0]
        end = start + _nominal(text[start : min([limit, *ends])])
        if 2 <= end - start <= 14:
            spans.append(Span(text[start:end], start, end, "role"))
    return spans


def _nominal(text: str) -> int:
    """Length of the nominal words that a text begins with; 0 when a person's name ends them (the name answers)."""
    length, person = 0, False
    for word, tag in segmenter().tag(text):
        if tag[0] in "vdprcu" and length:
            break
        person = tag in ("nr", "nrt", "nrfg")
        length += len(word)
    return 0 if person else length
