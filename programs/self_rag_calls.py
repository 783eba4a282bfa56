"""How many model calls a question of SelfRAG takes, for the cost of a compile before it is paid."""

from reflective_rag.programs.claims import MAX_CLAIMS
from reflective_rag.programs.self_rag_settings import SelfRagSettings
from reflective_rag.signatures.types import SelfRagJudgement


def fewest_and_most_calls(settings: SelfRagSettings) -> tuple[int, int]:
    """One answer that is good at once, and every passage relevant in every round, each answer with all its claims."""
    writes = int(settings.mode == "lm")

    def asked(judgement: SelfRagJudgement) -> int:
        return int(judgement in settings.asked and settings.backend(judgement) == "lm")

    alone = writes + asked("usefulness")
    each = writes + asked("support") * MAX_CLAIMS + asked("usefulness")
    if settings.retrieval == "never":
        return alone, alone
    few = alone if settings.retrieval == "adaptive" else asked("relevance") + alone + asked("support")
    decided = asked("retrieve")
    if settings.long_form:
        read = max(settings.k, settings.max_segments)
        segment = settings.beam_width * (decided + settings.k * asked("relevance") + read * each)
        many = settings.max_segments * segment
    else:
        rounds = settings.max_rounds
        many = rounds * settings.k * (asked("relevance") + each) + (rounds - 1) * writes
    return decided + few, decided + many + 2 * alone
