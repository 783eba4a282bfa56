"""Long answers of Self-RAG: sentence by sentence, each with its own retrieval decision, passage and critics, on a beam.

After the paper's section 3.3, with three differences. Beginnings of different length are compared by the geometric mean
of their sentences' scores, where the paper's product would make every further sentence a loss. A beginning ends when
*none* of its passages adds a sentence, not when one of them has no more to say. And a sentence that its passage does
not carry is never put behind others: where there is no better one, the answer ends before it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from reflective_rag.programs.judgements import is_refusal
from reflective_rag.programs.messages import ended, shortened
from reflective_rag.programs.reading import read_numbers
from reflective_rag.programs.self_rag_answers import candidate, from_memory, lost, sequence_of
from reflective_rag.programs.self_rag_candidates import Candidate, supported_enough, text_of, useless
from reflective_rag.programs.self_rag_critics import NOTHING_YET, decide, grade, soft_config
from reflective_rag.programs.self_rag_result import conclusion
from reflective_rag.programs.self_rag_rules import next_sentence
from reflective_rag.programs.self_rag_scoring import CriticWeights
from reflective_rag.programs.self_rag_state import SelfRagState, mean_share
from reflective_rag.programs.self_rag_support import criticise
from reflective_rag.programs.steps import Ask, AskOutcome, Report, Search, SearchOutcome, Steps, Substeps, answered
from reflective_rag.signatures.self_rag import Retrieve
from reflective_rag.signatures.text import language_of, normalize, without_markup
from reflective_rag.signatures.types import Decision, Draft, Passage, Round, StopReason

NO_PASSAGE = "(none is needed for this sentence: write it from the answer so far and what you know)"
QUERY_CHARS = 200
"""Characters of the last sentence that go into the next query."""

_END = re.compile(r"[\s\[(]*\bEND\b[\s\]).。]*$")


@dataclass(frozen=True)
class Beginning:
    """A long answer as far as it is written."""

    parts: tuple[Candidate, ...] = ()
    ended: Literal["", "finished", "stuck"] = ""
    """`finished`: no passage adds a sentence; `stuck`: none adds one that it carries."""

    @property
    def passages(self) -> list[Passage]:
        """What it was written from, the last one used first."""
        used = {part.passage.id: part.passage for part in reversed(self.parts) if part.passage}
        return list(used.values())

    def rank(self, weights: CriticWeights) -> tuple[bool, float, int]:
        """Better ones are greater: those that say anything, then by mean score, then by length."""
        return bool(self.parts), round(mean_share([p.share(weights) for p in self.parts]), 9), len(self.parts)


@dataclass
class Found:
    """What the searches of one answer brought: the passages by query, in normal form."""

    by_query: dict[str, list[Passage]] = field(default_factory=dict)
    last: SearchOutcome = field(default_factory=SearchOutcome)
    new: list[Passage] = field(default_factory=list)
    """Of the last search, the passages that were not seen before."""


def write_long(program: Any, state: SelfRagState) -> Steps:
    """At most `max_segments` turns of decide, search, filter, continue from each passage, criticise, keep the best."""
    settings, weights = state.settings, state.controls.weights
    beam, found = [Beginning()], Found()
    for number in range(1, settings.max_segments + 1):
        growing = [b for b in beam if not b.ended]
        texts = [(text_of(state.question, b.parts), bool(b.passages)) for b in growing]
        # The first decision was made before: to search.
        verdicts: list[Retrieve] = ["yes"]
        if number > 1:
            verdicts = yield from decide(program, state, texts)
        queries = [_query(state, b) if v == "yes" else "" for b, v in zip(growing, verdicts, strict=True)]
        yield from _search(state, queries, found)
        yield from grade(program, state, found.new)
        tries = [_material(state, b, v, q, found) for b, v, q in zip(growing, verdicts, queries, strict=True)]
        grown = yield from _grow(program, state, growing, tries)
        ranked = sorted([*(b for b in beam if b.ended), *grown], key=lambda b: b.rank(weights), reverse=True)
        beam = ranked[: settings.beam_width]
        over = bool(state.spent) or all(b.ended for b in beam) or number == settings.max_segments
        if over:
            state.stop = _stop(state, beam[0], found.last)
        yield [Report(round=_close(state, number, verdicts, found, beam[0], over=over))]
        if over:
            break
    parts: Sequence[Candidate] = beam[0].parts or (yield from from_memory(program, state))
    return conclusion(state, parts)


def _close(
    state: SelfRagState, number: int, verdicts: Sequence[Retrieve], found: Found, best: Beginning, *, over: bool
) -> Round:
    decided = f"[Retrieve] {', '.join(verdicts)}"
    decision = ended(state.stop, state.question) if over else Decision(action="retrieve_more", reason=decided)
    return state.close(number, found.last.ran, len(found.last.passages), found.new, decision, best.parts)


def _query(state: SelfRagState, beginning: Beginning) -> str:
    """The question, and the last sentence, whose names lead on."""
    if not beginning.parts:
        return state.question
    last = shortened(beginning.parts[-1].draft.answer, QUERY_CHARS)
    return f"{state.question}{'' if language_of(state.question) == 'zh' else ' '}{last}"


def _search(state: SelfRagState, queries: Sequence[str], found: Found) -> Substeps[None]:
    """Send the queries that were not sent before, all at once; the results of the others are known."""
    found.last, found.new = SearchOutcome(), []
    wanted = {normalize(q): q for q in queries if q and normalize(q) not in found.by_query}
    if not wanted:
        return
    (outcome,) = yield [Search(queries=tuple(wanted.values()), k=state.settings.k)]
    assert isinstance(outcome, SearchOutcome)
    found.last, found.new = outcome, state.take(outcome)
    entered = {p.key: p for p in state.seen.values()}
    for query, result in zip(outcome.ran, outcome.results, strict=True):
        known = {p.key: entered[p.key] for p in result if p.key in entered}
        found.by_query[normalize(query)] = list(known.values())


def _material(
    state: SelfRagState, beginning: Beginning, verdict: Retrieve, query: str, found: Found
) -> list[Passage | None]:
    """The passages that a beginning is continued from; None is "without one"."""
    if verdict == "no":
        return [None]
    if verdict == "continue":
        return [*beginning.passages[:1]]
    relevant = state.relevant(found.by_query.get(normalize(query), ()))
    return [*(relevant or beginning.passages)]


def _grow(
    program: Any, state: SelfRagState, growing: Sequence[Beginning], tries: Sequence[Sequence[Passage | None]]
) -> Substeps[list[Beginning]]:
    """Each beginning with each sentence that is carried; as ended where there is none."""
    pairs = [(i, passage) for i, passages in enumerate(tries) for passage in passages]
    fresh = yield from _continue_each(program, state, growing, pairs)
    judged = yield from criticise(program, state, [c for _, c in fresh])
    state.candidates += judged
    grown = []
    for i, beginning in enumerate(growing):
        grown += _grown(state, beginning, [c for (owner, _), c in zip(fresh, judged, strict=True) if owner == i])
    return grown


def _grown(state: SelfRagState, beginning: Beginning, sentences: Sequence[Candidate]) -> list[Beginning]:
    weights = state.controls.weights
    best: dict[str, Candidate] = {}
    for sentence in sorted(sentences, key=lambda c: c.rank(weights), reverse=True):
        best.setdefault(
            normalize(sentence.draft.answer), sentence
        )  # of the same sentence from two passages, the better
    carried = [c for c in best.values() if c.tier == 2]
    if carried:
        return [replace(beginning, parts=(*beginning.parts, c)) for c in carried]
    if beginning.parts or not best:
        return [replace(beginning, ended="stuck" if best else "finished")]
    return [Beginning((next(iter(best.values())),), "stuck")]


def _continue_each(
    program: Any, state: SelfRagState, growing: Sequence[Beginning], pairs: Sequence[tuple[int, Passage | None]]
) -> Substeps[list[tuple[int, Candidate]]]:
    """A next sentence for each pair of a beginning and a passage, side by side; those that add nothing are left out."""
    if not pairs:
        return []
    texts = [text_of(state.question, b.parts) for b in growing]
    drafts: list[tuple[Draft, float | None]] = []
    replies: list[AskOutcome] = []
    if state.answers:
        outcomes = yield [_ask(program, state, texts[i], passage) for i, passage in pairs]
        replies = [answered(outcome) for outcome in outcomes]
    if replies and (not lost(state, replies) or any(texts)):
        for (_, passage), reply in zip(pairs, replies, strict=True):
            draft = _draft(state, reply, passage)
            drafts.append((draft, sequence_of(state, reply, "sentence", draft)))
    else:
        state.extracts()
        drafts = [
            (next_sentence(state.question, texts[i], p, state.today) if p else Draft(answer=""), None) for i, p in pairs
        ]
    gap = "" if language_of(state.question) == "zh" else " "
    return [
        (i, candidate(state, draft, passage, before=f"{texts[i]}{gap}" if texts[i] else "", sequence=sequence))
        for (i, passage), (draft, sequence) in zip(pairs, drafts, strict=True)
        if draft.answer and normalize(draft.answer) not in normalize(texts[i])
    ]


def _ask(program: Any, state: SelfRagState, so_far: str, passage: Passage | None) -> Ask:
    reading = state.material(*([passage] if passage else []))
    inputs = {
        "question": without_markup(state.question),
        "so_far": without_markup(so_far) or NOTHING_YET,
        "passages": reading.numbered[0] if passage else NO_PASSAGE,
    }
    config = soft_config(program.proceed) if state.settings.sequence_score else {}
    demo = reading.demo if passage else {}
    return Ask(
        name="proceed", predictor=program.proceed, inputs=inputs, phase="answer", demo_inputs=demo, config=config
    )


def _draft(state: SelfRagState, reply: AskOutcome, passage: Passage | None) -> Draft:
    """The sentence in a reply; empty for END, for a refusal, and for what cannot be read, which is noted."""
    if reply.fields is None:
        return Draft(answer="")
    sentence = reply.fields.get("sentence")
    if not isinstance(sentence, str):
        state.unread_answer()
        return Draft(answer="")
    text = _END.sub("", " ".join(sentence.split())).strip()
    if normalize(text) in ("", "end", "结束") or is_refusal(text):
        return Draft(answer="")
    numbers, bad = read_numbers(reply.fields.get("cited"), 1) if passage else ((), 0)
    state.unread(bad)
    return Draft(answer=text, cited=(passage.id,) if passage and numbers else ())


def _stop(state: SelfRagState, best: Beginning, found: SearchOutcome) -> StopReason:
    """Why writing ended."""
    if state.spent and (best.parts or not state.found_nothing):
        return state.spent
    if not best.parts:
        if state.relevant_count:
            return "no_progress"
        if state.seen:
            return "no_relevant_passages"
        return "retriever_error" if found.error else "no_passages"
    if not best.ended:
        return "max_segments"
    carried = all(supported_enough(part.support, state.settings) for part in best.parts)
    good = carried and not useless(state.question, best.parts[-1], state.controls)
    return "sufficient" if best.ended == "finished" and good else "no_progress"
