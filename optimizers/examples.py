"""Records as DSPy examples."""

from collections.abc import Iterable

import dspy

from reflective_rag.data.records import Record


def to_examples(records: Iterable[Record]) -> list[dspy.Example]:
    """One example a record, in order, with the input `question`.

    Labels: `answers`, `answer` (the first of them, for stock metrics and labelled demos; empty where there is none),
    `record_id`, `lang`, `supporting` (`Passage.key` of the supporting passages, in the record's order), `answerable`,
    `wrong_answers`, `answer_groups`. They hold tuples and texts only, so demos made of them can be saved as JSON.
    """
    return [
        dspy.Example(
            question=record.question,
            answer=record.answers[0] if record.answers else "",
            answers=record.answers,
            record_id=record.id,
            lang=record.lang,
            supporting=tuple(dict.fromkeys(p.to_passage().key for p in record.passages if p.supporting)),
            answerable=record.answerable,
            wrong_answers=record.wrong_answers,
            answer_groups=record.answer_groups,
        ).with_inputs("question")
        for record in records
    ]
