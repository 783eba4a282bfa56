"""New queries: by the model, told what was tried and why it failed, or of the content words of a question."""

from collections.abc import Sequence
from typing import Any

from reflective_rag.programs.rules.gaps import attribute_words
from reflective_rag.programs.rules.question import analyse
from reflective_rag.programs.run_state import RunState
from reflective_rag.programs.steps import Ask, AskOutcome
from reflective_rag.signatures.text import without_markup


def rewrite_ask(predictor: Any, question: str, tried: Sequence[str], problem: str, missing: str = "") -> Ask:
    """The call of a `RewriteQuery` predictor; without `missing` it is the question itself that wants an answer."""
    inputs = {
        "question": without_markup(question),
        "missing": without_markup(missing or question),
        "tried": without_markup("; ".join(tried)),
        "problem": problem,
    }
    return Ask(name="rewrite", predictor=predictor, inputs=inputs, phase="rewrite")


def rewritten(state: RunState, outcome: AskOutcome) -> str:
    """The query in a reply; empty where there is none, which counts as unreadable if there was a reply."""
    query = (outcome.fields or {}).get("query")
    text = query.strip() if isinstance(query, str) else ""
    state.unread(int(outcome.fields is not None and not text))
    return text


def keywords(question: str) -> str:
    """The names and content words of a question, as a query; the question itself where it has none."""
    asked = analyse(question)
    words = attribute_words(asked, asked.attribute)
    return " ".join(part for part in (*asked.entities, words) if part.strip()) or question
