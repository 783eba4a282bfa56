"""A step or a round in one line, in the language of the question; the JSON has the same in codes.

Errors, notes about the set-up and `--help` are the command line's own words, and English.
"""

from typing import TYPE_CHECKING

from reflective_rag.signatures.text import Language
from reflective_rag.signatures.wording import word

if TYPE_CHECKING:
    from reflective_rag.programs.drivers import Event


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
    reason = word("brackets", language, decision.reason, decision.stop) if decision.stop else decision.reason
    done = word("comma", language).join([word(decision.action, language), reason])
    return word("colon", language, head, done)
