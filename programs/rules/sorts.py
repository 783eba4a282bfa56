"""Sorts of one thing that exclude each other: annual leave is no maternity leave, 产假不是年假, a child's ticket no adult's."""

import re
from functools import lru_cache

from reflective_rag.programs.rules.clauses import clause
from reflective_rag.programs.rules.question import Question
from reflective_rag.signatures.patterns import late_pattern

_GROUPS = (
    (
        r"annual(?=\s+leave)|vacation|holidays?(?=\s+(?:leave|entitlement|days))", r"maternity", r"paternity", r"parental(?=\s+leave)",
        r"sick(?:ness)?(?=\s+(?:leave|days|pay))", r"bereavement|compassionate", r"study(?=\s+leave)", r"unpaid(?=\s+leave)",
    ),
    (r"adults?", r"child(?:ren)?", r"students?", r"seniors?|pensioners?", r"famil(?:y|ies)(?=\s+(?:ticket|card|pass))"),
    (r"single(?=\s+rooms?)", r"double(?=\s+rooms?)", r"twin(?=\s+rooms?)"),
    (r"one[- ]way", r"return(?=\s+(?:ticket|fare|trip))|round[- ]trips?"),
    ("年假|年休假", "产假", "陪产假", "病假", "婚假", "事假", "丧假", "育儿假", "探亲假"),
    ("成人票|成年人", "儿童票|儿童", "学生票|学生", "老人票|老年人|老人"),
    ("单人间|单人房", "双人间|双人房"),
    ("单程", "往返"),
)  # fmt: skip
_CLAUSE = late_pattern(r"[,;，；、。](?!\d)|\b(?:and|but|while|whereas)\b|[和而](?=[㐀-鿿])", re.IGNORECASE)


def of_another_sort(question: Question, text: str, start: int, end: int) -> bool:
    """Whether the clause around `text[start:end]` speaks of another sort than the one that is asked for, and not of it."""
    asked = _sorts(question.text)
    if not asked:
        return False
    first, last = clause(text, start, end, _CLAUSE)
    groups = {group for group, _ in asked}
    told = frozenset(sort for sort in _sorts(text[first:last]) if sort[0] in groups)
    return bool(told) and asked.isdisjoint(told)


@lru_cache(maxsize=4096)
def _sorts(text: str) -> frozenset[tuple[int, int]]:
    """The sorts that a text names, each as its group and its place there; 陪产假 is no 产假."""
    found = set()
    for i, group in enumerate(_GROUPS):
        chinese = "㐀" <= group[0][0] <= "鿿"
        for j, sort in enumerate(group):
            pattern = rf"(?<!陪)(?:{sort})" if chinese else rf"\b(?:{sort})\b"
            if re.search(pattern if not sort.startswith("陪") else sort, text, re.IGNORECASE):
                found.add((i, j))
    return frozenset(found)
