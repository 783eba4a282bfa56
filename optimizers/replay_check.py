"""The proof of a replay: the chosen rule, run by the program itself on the recorded replies."""

from collections.abc import Callable, Sequence
from typing import Any

from reflective_rag.data.records import Record
from reflective_rag.optimizers.examples import to_examples
from reflective_rag.optimizers.replay import QuestionRecord, replay_question
from reflective_rag.optimizers.replay_rules import Stop
from reflective_rag.programs.ledger import Ledger
from reflective_rag.programs.module import prediction
from reflective_rag.programs.reflective import ReflectiveRAG
from reflective_rag.signatures.errors import ContractError


def check_on_replies(
    program: ReflectiveRAG,
    records: Sequence[Record],
    recorded: Sequence[QuestionRecord],
    stops: Sequence[Stop],
    score: Callable[[Any, Any], Any],
) -> dict[str, Any]:
    """Run `program` on the recorded replies and compare with what was read off; no model and no search is asked.

    Returns:
        `n` questions, on how many the score is the `same`, the mean `score` of the run, and the ids that `differ`:
        where a model call failed or a deadline ended the recorded pass, another order of steps may need another reply.
    """
    scores: list[float | None] = []
    for example, known in zip(to_examples(records), recorded, strict=True):
        try:
            result = replay_question(program, known, example.question)
        except ContractError:  # a step that the recorded pass did not take
            scores.append(None)
            continue
        scores.append(float(score(example, prediction(result, Ledger()))))
    same = [run is not None and run == stop.score for run, stop in zip(scores, stops, strict=True)]
    ran = [run for run in scores if run is not None]
    return {
        "n": len(scores),
        "same": sum(same),
        "score": sum(ran) / len(ran) if ran else None,
        "differ": [known.record_id for known, equal in zip(recorded, same, strict=True) if not equal],
    }
