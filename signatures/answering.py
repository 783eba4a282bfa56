"""Answering from passages, with citations, and repairing an answer that its passages do not carry."""

import dspy

from reflective_rag.signatures.evidence import PASSAGES, AssessEvidence
from reflective_rag.signatures.types import Support

ANSWER = (
    "the answer alone, in as few words as possible and in the language of the question; 'unknown' if no passage tells"
)
CITED = "numbers of the passages that state the answer"


class AnswerQuestion(dspy.Signature):
    """Answer the question using only the passages."""

    question: str = dspy.InputField()
    passages: str = dspy.InputField(desc=PASSAGES)
    answer: str = dspy.OutputField(desc=ANSWER)
    cited: list[int] = dspy.OutputField(desc=CITED)


class RepairAnswer(dspy.Signature):
    """Correct the draft answer: it was checked against the passages and found wanting. Use only the passages."""

    question: str = dspy.InputField()
    passages: str = dspy.InputField(desc=PASSAGES)
    draft: str = dspy.InputField(desc="the answer that failed the check")
    problem: str = dspy.InputField(desc="what the check found")
    answer: str = dspy.OutputField(desc=ANSWER)
    cited: list[int] = dspy.OutputField(desc=CITED)


class JudgeSupport(dspy.Signature):
    """Decide how far the passages carry the answer to the question, using only what the passages state."""

    # Self-RAG's [IsSUP] (Asai et al., 2023, arXiv 2310.11511), with "no support" and "contradicted" apart.

    question: str = dspy.InputField()
    answer: str = dspy.InputField(desc="the answer under review")
    passages: str = dspy.InputField(desc=PASSAGES)
    problem: str = dspy.OutputField(
        desc="what is not stated or is contradicted, in a few words; 'none' if all is stated"
    )
    support: Support = dspy.OutputField(
        desc="'supported' if the passages state the answer, 'contradicted' if they deny it"
    )


class AssessAndAnswer(AssessEvidence):
    """Judge whether the passages are enough to answer the question, then answer it using only the passages.

    List the facts that the question needs and which passages state each. Name the relevant passages, the passages that
    contradict each other about the same thing at the same time, and the passages that are out of date for the question.
    If a needed fact is missing, give a search query for it that uses names found in the passages.
    """

    answer: str = dspy.OutputField(desc=ANSWER)
    cited: list[int] = dspy.OutputField(desc=CITED)


__all__ = ["AnswerQuestion", "AssessAndAnswer", "JudgeSupport", "RepairAnswer"]
