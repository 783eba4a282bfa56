"""Whether a sentence names a span only to deny it: "was not founded by John Smith", 不是由张伟创立的, "a myth that …"."""

import re

from reflective_rag.programs.rules.asked_side import wrong_side
from reflective_rag.programs.rules.clauses import clause
from reflective_rag.programs.rules.matching import fold, hits
from reflective_rag.programs.rules.negation import negated
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.tenure import held_once
from reflective_rag.programs.rules.unsettled import Unsettled, unsettled
from reflective_rag.signatures.patterns import late_pattern

_CLAUSE = late_pattern(
    r"[，。；！？;!?\n]|而是|,(?!\d{3}\b)|(?<=[a-z\d)])[.:](?=\s|$)|\b(?:but|and|instead|rather|although|though|while|whereas)\b",
    re.IGNORECASE,
)
_MYTH = late_pattern(
    r"\b(?:myth|misconception|false|untrue|incorrect|wrong|a\s+lie)\s+(?:that|to)\b"
    r"|\b(?:false|wrong|mistaken|incorrect|erroneous)ly\s+(?:believed|thought|said|credited|attributed|claimed|reported|assumed)\b"
    r"|误传|误以为|误认为|讹传|谣传",
    re.IGNORECASE,
)
_NO_LONGER = late_pattern(r"\bno\s+longer\b|不再", re.IGNORECASE)
_NO_DENIAL = late_pattern(
    r"\b(?:until|till|unless|if|whether|before|only|just|merely|simply|necessarily|all|every|first|last|more|less|fewer|later|earlier|other\s+than"
    r"|including|knows?|known|yet|clear|uncommon|unlike)\b|\bno\s+(?:one|other|longer\s+than)\b"
    r"|直到|直至|才|如果|若|除非|是否|不仅|不但|不只|不光|不过|不得不|未必|不一定|并非所有|之前|以前|不久|不同|不断|不少|不足|不超过|不低于|不得|不含|不包括|不到|不满|不详",
    re.IGNORECASE,
)


def refuted(question: Question, sentence: str, start: int, end: int) -> bool:
    """Whether the clause around `sentence[start:end]` denies what is asked of it; False where the question does too."""
    first, last = clause(sentence, start, end, _CLAUSE)
    around = sentence[first:last]
    if _MYTH.search(around):
        return not negated(question.text)
    denies = _NO_LONGER.search(around) is not None or (negated(around) and not _NO_DENIAL.search(around))
    # The sort that is asked for is no more than a name of the thing: "Room 6 has no balcony but a bathtub".
    told = [term for term in question.terms if fold(term.text) != fold(question.expected)] or question.terms
    return denies and any(hits(told, around)) and not negated(question.text)


def reverses(question: Question, sentence: str, claim: str) -> bool:
    """Whether a sentence holds the claim only on the other side of what is asked: it acquired, and was not acquired."""
    places = _places(sentence, claim)
    return bool(places) and all(wrong_side(question, sentence, start, end) for start, end in places)


def refutes(question: Question, sentence: str, claim: str) -> bool:
    """Whether a sentence that holds the claim as it stands denies it wherever it does."""
    places = _places(sentence, claim)
    return bool(places) and all(
        refuted(question, sentence, start, end) or held_once(question, sentence, start, end) for start, end in places
    )


def left_open(question: Question, sentence: str, claim: str) -> Unsettled:
    """How a sentence that holds the claim as it stands leaves it open wherever it does: a plan, hearsay, or ""."""
    found = [unsettled(question, sentence, start, end) for start, end in _places(sentence, claim)]
    return found[0] if found and all(found) else ""


def _places(sentence: str, claim: str) -> list[tuple[int, int]]:
    wanted, folded = fold(claim).strip(" .。"), fold(sentence)
    if not wanted or len(folded) != len(sentence):
        return []
    return [m.span() for m in re.finditer(re.escape(wanted), folded)]
