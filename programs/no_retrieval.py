"""NoRetrieval: the model alone, from its memory. What retrieval adds is measured against this."""

from datetime import date
from typing import Any

import dspy

from reflective_rag.programs.judgements import is_refusal
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.nearest import show_nearest
from reflective_rag.programs.plain import plain_result
from reflective_rag.programs.searching import SearchFunction
from reflective_rag.programs.settings import build
from reflective_rag.programs.steps import Ask, Steps, ask
from reflective_rag.programs.system_settings import NoRetrievalSettings
from reflective_rag.programs.system_state import SystemState
from reflective_rag.signatures.self_rag import AnswerAlone
from reflective_rag.signatures.text import without_markup
from reflective_rag.signatures.types import Draft


class NoRetrieval(RagModule):
    """Answer from the model's memory; every answer is marked `from_memory`. It needs a model, and no search.

    Args:
        search: Taken like everywhere, and not used.
        options: Any field of `NoRetrievalSettings`.
    """

    name = "none"
    needs_model = True
    needs_search = False

    def __init__(self, search: SearchFunction | None = None, *, today: date | None = None, **options: Any) -> None:
        super().__init__(search, today=today)
        self.settings = build(NoRetrievalSettings, options)
        self.answer = dspy.Predict(AnswerAlone)
        show_nearest(self, self.settings.nearest_demos)

    def calls_per_question(self) -> tuple[int, int]:
        """One."""
        return 1, 1

    def steps(self, question: str) -> Steps:
        """One call."""
        state = SystemState(question=question, settings=self.settings, today=self.today or date.today())
        inputs = {"question": without_markup(question)}
        outcome = yield from ask(Ask(name="answer", predictor=self.answer, inputs=inputs, phase="answer"))
        written = (outcome.fields or {}).get("answer")
        if state.took(outcome):
            state.unread(int(not isinstance(written, str)))
        text = written.strip() if isinstance(written, str) else ""
        draft = Draft(answer="" if is_refusal(text) else text)
        if draft.answer:
            state.warn("from_memory")
        return plain_result(state, draft, need_retrieval=False)
