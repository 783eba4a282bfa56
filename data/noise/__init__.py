"""Noise for measuring robustness: any `search` made to return a set share of passages that do not help.

    questions = noisy_questions(records, "tangential")
    search = NoisySearch(my_search, questions.of["q1"], rate=0.4)      # for the question `q1`, every query of it

Everything depends on the records and the seed alone, so it is the same in every process. Every passage of noise has an
exact label: its kind, and that no accepted answer stands in it (a twin states another value instead).
"""

from reflective_rag.data.noise.kinds import NOISE_KINDS, Noise, NoiseKind, NoisyQuestion, noisy_questions
from reflective_rag.data.noise.mixing import NoisySearch, check_rate, noise_count

__all__ = [
    "NOISE_KINDS",
    "Noise",
    "NoiseKind",
    "NoisyQuestion",
    "NoisySearch",
    "check_rate",
    "noise_count",
    "noisy_questions",
]
