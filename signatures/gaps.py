"""Gaps and queries: what is missing, and how to search for it."""

import dspy

from reflective_rag.signatures.evidence import PASSAGES, GapVerdict


class FindGaps(dspy.Signature):
    """Name the facts that the passages lack for answering the question, each with a search query that would find it.

    Use names found in the passages: search for the unknown fact about the known name. Do not repeat a tried query.
    """

    question: str = dspy.InputField()
    passages: str = dspy.InputField(desc=PASSAGES)
    missing: str = dspy.InputField(desc="needed facts that no passage states, as far as known")
    tried: str = dspy.InputField(desc="queries that were searched already")
    gaps: list[GapVerdict] = dspy.OutputField(desc="most important first, at most 3")


class RewriteQuery(dspy.Signature):
    """Write one search query that differs from every tried query and would find what is missing."""

    question: str = dspy.InputField()
    missing: str = dspy.InputField(desc="the fact to find")
    tried: str = dspy.InputField(desc="queries that were searched already")
    problem: str = dspy.InputField(desc="why the tried queries failed")
    query: str = dspy.OutputField(desc="a short search query, in the language of the question")
