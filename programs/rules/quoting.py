"""Which sentence of a passage to quote for an answer."""

from reflective_rag.programs.rules.deciding import yes_or_no
from reflective_rag.programs.rules.evidence import Evidence, Line, gather
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.question import analyse
from reflective_rag.signatures.text import well_formed
from reflective_rag.signatures.types import Passage


def locate_quote(question: str, answer: str, passage: Passage) -> tuple[str, int, int] | None:
    """The sentence of the passage that carries the answer best.

    As (quote, start, end) with `passage.text[start:end] == quote`.

    None when no sentence shares content with the answer (yes and no have none of their own: the question's terms
    decide there).
    """
    asked, answer = analyse(well_formed(question)), well_formed(answer)
    evidence = gather(asked, (passage,))
    bare = yes_or_no(answer) is not None
    own = evidence if bare else gather(analyse(answer), (passage,))
    literal = fold(answer).strip(" .。")
    best: tuple[float, Line] | None = None
    for line, answer_line in zip(evidence.pages[0].lines, own.pages[0].lines, strict=True):
        share = _answer_share(own, literal, bare, answer_line)
        score = 2 * share + evidence.coverage(line.context)
        if share > 0 and (best is None or score > best[0]):
            best = (score, line)
    return (best[1].text, best[1].start, best[1].end) if best else None


def _answer_share(own: Evidence, literal: str, bare: bool, line: Line) -> float:
    if not bare and literal and literal in fold(line.text):
        return 1.0
    return own.coverage(line.own)
