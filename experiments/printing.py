"""Results for people."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from rich.cells import set_cell_size
from rich.table import Table

from reflective_rag.data.retrieval.windows import page_at
from reflective_rag.experiments.console import counts, interval, number, out
from reflective_rag.programs.messages import shortened
from reflective_rag.signatures.text import Language
from reflective_rag.signatures.types import Candidate, Passage, Result
from reflective_rag.signatures.wording import stopped, word

LABEL_CELLS = 11
"""Width of the labels, in terminal cells."""
SHOWN_QUOTE = 300
"""Characters of a quoted span that are printed."""
SHOWN_CANDIDATES, SHOWN_CANDIDATE = 5, 60
"""Candidates that are printed, and characters of each."""


EVIDENCE = (
    ("claims unsupported", "unsupported"),
    ("citation precision", "citation_precision"),
    ("citation recall", "citation_recall"),
)
"""Label, name: how far answers stand on their evidence."""


def claims_checked(summary: dict[str, Any]) -> str:
    """Who checked how many claims, `rules (41)`; `nobody` where nothing is checked."""
    if not (critic := summary.get("support_critic")):
        return "nobody"
    return f"{critic} ({sum(summary['claims'].values())})"


def print_answer(result: Result, lm: str, language: Language) -> None:
    """Answer, citations, judgement, how it went; in `language`, that of the question."""
    out.print(word("unsure", language, result.answer) if _unsure(result) else result.answer, style="bold", markup=False)
    titles = {passage.id: passage for passage in result.passages}
    for number_, citation in enumerate(result.citations, start=1):
        passage = titles[citation.passage_id]
        page = page_at(passage, citation.start)
        place = passage.source if page is None else word("page", language, passage.source, page)
        head = " · ".join(p for p in (passage.title, _day(passage, language), place) if p) or passage.id
        out.print(f"  [{number_}] {head}", markup=False)
        quote = citation.quote.replace("\n", " ")
        out.print(f"      “{quote[:SHOWN_QUOTE]}{'…' if len(quote) > SHOWN_QUOTE else ''}”", markup=False, style="dim")
    out.print()
    for label, text in _facts(result, lm, language):
        out.print(f"{_label(label)}{text}", markup=False)
    for warning in result.warnings:
        if warning.code != "rules_only" or lm != "rules":  # else the line `by` says it
            out.print(f"{_label(word('warning', language))}{warning.message}", markup=False, style="yellow")


def _unsure(result: Result) -> bool:
    """Whether an answer is given that its own warnings do not stand by: it must not look like any other."""
    doubts = {"unsupported_answer", "low_confidence_generation"}
    return not result.abstained and any(warning.code in doubts for warning in result.warnings)


def _day(passage: Passage, language: Language) -> str:
    """The date of a passage; that of its file, which every copy changes, says so."""
    day = str(passage.published or "")
    return word("file_date", language, day) if day and passage.metadata.get("date_from") == "file" else day


def _label(text: str) -> str:
    """In a column of its own; a Chinese character is two cells wide."""
    return set_cell_size(text, LABEL_CELLS)


def _facts(result: Result, lm: str, language: Language) -> list[tuple[str, str]]:
    say = partial(word, language=language)
    facts = []
    judged = [r.assessment for r in result.rounds if r.assessment is not None]
    if result.evidence_score is not None and judged:
        shown = {name: getattr(judged[-1], name) for name in ("relevance", "consistency", "coverage", "freshness")}
        parts = [f"{say(name)} {say('n/a') if value is None else f'{value:.2f}'}" for name, value in shown.items()]
        score = word("brackets", language, f"{result.evidence_score:.2f}", say("comma").join(parts))
        facts.append((say("evidence"), score))
    if result.confidence is not None and (result.calibrated or result.evidence_score is not None):
        facts.append((say("confidence"), f"{result.confidence:.2f}{_kind(result, language)}"))
    facts.append((say("stopped"), stopped(result.stop_reason, language)))
    for round_ in result.rounds:
        queries = say("list").join(f"“{query}”" for query in round_.queries)
        facts.append((word("round", language, round_.number), word("new", language, queries, round_.new)))
    facts += [(say("candidate"), _verdicts(c, language)) for c in _best(result.candidates)]
    facts.append((say("by"), _by(result, lm, language)))
    return facts


def _best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those to show, the chosen first; none where there was no choice."""
    ranked = sorted(candidates, key=lambda c: (not c.chosen, -c.score))
    return ranked[:SHOWN_CANDIDATES] if len(ranked) > 1 else []


def _verdicts(candidate: Candidate, language: Language) -> str:
    """An answer in short, its passage, and the critics' verdicts by their names in the paper."""
    relevance = None if candidate.relevance is None else f"{candidate.relevance:.2f}"
    useful = None if candidate.usefulness is None else f"{candidate.usefulness:.3g}"
    critics = {"[IsREL]": relevance, "[IsSUP]": candidate.support, "[IsUSE]": useful}
    parts = [candidate.passage_id, *(f"{name} {verdict}" for name, verdict in critics.items() if verdict)]
    answer = shortened(candidate.answer, SHOWN_CANDIDATE)
    told = word(
        "brackets", language, f"“{answer}” {candidate.score:.2f}", word("comma", language).join(filter(None, parts))
    )
    return word("chosen", language, told) if candidate.chosen else told


def _kind(result: Result, language: Language) -> str:
    """Says where the confidence is a probability."""
    return word("calibrated", language) if result.calibrated and not result.abstained else ""


def _by(result: Result, lm: str, language: Language) -> str:
    if lm == "rules":
        return word("rules", language)
    calls = sum(usage.calls for usage in result.usage.values())
    tokens = sum(usage.prompt_tokens + usage.completion_tokens for usage in result.usage.values())
    return word("model", language, lm, calls, tokens)


def summary_table(rows: list[tuple[str, dict[str, Any]]], title: str = "", *, recorded: bool = False) -> Table:
    """One column a system: scores with their intervals, cost, how it ended.

    Args:
        recorded: The replies came from a recording, so the seconds are not those of the model and are not shown.
    """
    table = Table(title=title or None, title_justify="left")
    table.add_column("")
    for name, _ in rows:
        table.add_column(name, overflow="fold")
    summaries = [summary for _, summary in rows]
    for label, name in (("F1", "f1"), ("EM", "em"), ("containment", "containment"), ("recall", "recall")):
        table.add_row(label, *(interval(summary[name]) for summary in summaries))
    for label, name in EVIDENCE:
        if any(summary[name]["n"] for summary in summaries):
            table.add_row(label, *(interval(summary[name]) for summary in summaries))
    if any(summary.get("support_critic") for summary in summaries):
        table.add_row("claims checked by", *(claims_checked(summary) for summary in summaries))
    if any("score" in summary for summary in summaries):
        metric = next(summary["score"]["metric"] for summary in summaries if "score" in summary)
        table.add_row(metric, *(interval(summary.get("score")) for summary in summaries))
    table.add_row("n", *(str(summary["n"]) for summary in summaries))
    for label, name in (("failed", "failed"), ("unparsed", "unparsed"), ("abstained", "abstained")):
        table.add_row(label, *(str(summary[name]) for summary in summaries))
    for label in ("tokens", "lm_calls", "retrievals"):
        name = f"{label}_per_question"
        table.add_row(f"{label.replace('lm_', '')} / question", *(number(summary[name]) for summary in summaries))
    table.add_row("seconds in all", *("recorded" if recorded else number(s["seconds"]) for s in summaries))
    table.add_row("stopped", *(counts(summary["stop_reasons"]) for summary in summaries))
    return table


def leaderboard_table(rows: list[tuple[str, str, dict[str, Any]]], title: str) -> Table:
    """One row a system: what it is, what answered, F1 with its interval, cost, and what went wrong."""
    table = Table(title=title, title_justify="left", padding=(0, 0), pad_edge=False)
    table.add_column("program", overflow="fold", ratio=1)
    for header in ("model", "n", "F1", "tokens", "retrievals", "failed", "unparsed"):
        table.add_column(header, no_wrap=True)
    for name, model, summary in rows:
        table.add_row(
            name,
            model,
            str(summary["n"]),
            interval(summary["f1"]),
            number(summary["tokens_per_question"], 0),
            number(summary["retrievals_per_question"]),
            str(summary["failed"]),
            str(summary["unparsed"]),
        )
    return table


def difference_table(systems: list[dict[str, Any]], baseline: str) -> Table:
    """Paired differences to the baseline; an interval that holds 0 shows no difference."""
    table = Table(title=f"difference to {baseline}, on the same questions", title_justify="left")
    table.add_column("")
    others = [system for system in systems if system["differences"]]
    for system in others:
        table.add_column(system["system"], overflow="fold")
    for column in dict.fromkeys(name for system in others for name in system["differences"]):
        table.add_row(column, *(interval(system["differences"].get(column)) for system in others))
    return table
