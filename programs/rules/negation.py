"""Whether a sentence is a denial."""

from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.words import NEGATION_EN, NEGATION_ZH
from reflective_rag.signatures.patterns import late_pattern

_WORD = late_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def negated(text: str) -> bool:
    """Whether a sentence holds an odd number of negation words (two cancel out)."""
    folded = fold(text)
    count: int = sum(word in NEGATION_EN or word.endswith("n't") for word in _WORD.findall(folded))
    return (count + sum(folded.count(phrase) for phrase in NEGATION_ZH)) % 2 == 1
