"""`bench critics`: how often each critic is right, on labels that come free, per back end and language."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from reflective_rag.data.twins import Case, Judged
from reflective_rag.experiments.bench.critics_backends import CriticBackend, Embedder, Rules
from reflective_rag.experiments.bench.critics_data import Labelled, sampled
from reflective_rag.experiments.bench.critics_report import contradiction_rows, rows_of
from reflective_rag.experiments.bench.critics_verdicts import Verdict, VerdictFile, open_verdicts
from reflective_rag.programs.lm.resolve import Model

JUDGEMENTS: tuple[Judged, ...] = ("relevance", "sufficiency", "consistency", "freshness", "support")

LIMITS: Mapping[str, int] = {"rules": 400, "embedder": 200, "lm": 22}
"""Dev cases a judgement and language where no `--limit` is given; train has half as many. For `lm` these are at most
320 calls over five judgements and two languages, about 40 minutes of a 1.5B model on two cores."""

Progress = Callable[[str, int, int], None]


def run(
    data: Labelled,
    backends: Sequence[str],
    *,
    judgements: Sequence[Judged] = JUDGEMENTS,
    model: Model | None = None,
    limit: int | None = None,
    seed: int = 0,
    rows: Path | None = None,
    progress: Progress = lambda what, done, total: None,
) -> dict[str, Any]:
    """Judge the cases, tune one threshold a judgement and column on train, report dev.

    Args:
        data: Units by split and judgement.
        backends: Of `rules`, `embedder`, `lm`.
        model: For `lm`; it must be in use already.
        limit: Dev cases a judgement and language, instead of `LIMITS`.
        seed: Of the sample and of the intervals.
        rows: File of verdicts, continued if it exists.
        progress: Told what is judged, and how far that is.

    Raises:
        ReflectiveRAGError: The model or embedder cannot be used, or the file cannot.
    """
    report: list[dict[str, Any]] = []
    conflicts: list[dict[str, Any]] = []
    with open_verdicts(rows) as file:
        for name in backends:
            backend = _backend(name, model)
            for judgement in judgements:
                if not backend.columns(judgement):
                    report.append({"judgement": judgement, "by": name, "n": 0, "none": True})
                    continue
                size = limit or LIMITS[name]
                train = sampled(data.train[judgement], max(2, size // 2), seed=seed)
                dev = sampled(data.dev[judgement], size, seed=seed)
                found = _judged([*train, *dev], backend, judgement, file, progress)
                for column in backend.columns(judgement):
                    verdicts = {verdict.case: verdict for verdict in found if verdict.by == column}
                    report += rows_of(judgement, column, train, dev, verdicts, seed=seed)
                    if judgement == "consistency":
                        conflicts += contradiction_rows(column, dev, verdicts)
    return {"rows": report, "contradictions": conflicts}


def planned_calls(data: Labelled, judgements: Iterable[Judged], *, limit: int | None = None, seed: int = 0) -> int:
    """Most calls that `lm` will make."""
    size, calls = limit or LIMITS["lm"], 0
    for judgement in judgements:
        train = sampled(data.train[judgement], max(2, size // 2), seed=seed)
        cases = [*train, *sampled(data.dev[judgement], size, seed=seed)]
        calls += len(cases) if judgement == "relevance" else len({case.asked for case in cases})
    return calls


def _backend(name: str, model: Model | None) -> CriticBackend:
    if name == "rules":
        return Rules()
    if name == "embedder":
        return Embedder()
    from reflective_rag.experiments.bench.critics_lm import LanguageModel

    assert model is not None  # the command has seen to it
    return LanguageModel(model.name)


def _judged(
    cases: Sequence[Case], backend: CriticBackend, judgement: Judged, file: VerdictFile, progress: Progress
) -> list[Verdict]:
    """Verdicts on all cases: those of the file, and new ones, which are written to it at once."""
    columns = backend.columns(judgement)
    what = f"{judgement} by {columns[0].split()[0]}"
    found: list[Verdict] = []
    done = 0
    for _, group in groupby(sorted(cases, key=lambda case: case.asked), key=lambda case: case.asked):
        same = list({case.id: case for case in group}.values())
        known = {case.id: [file.done.get((case.id, column, backend.model)) for column in columns] for case in same}
        open_ = [case for case in same if not all(known[case.id])]
        found += [verdict for case in same if all(known[case.id]) for verdict in known[case.id] if verdict]
        for verdict in backend.judge(open_) if open_ else ():
            file.add(verdict)
            found.append(verdict)
        done += len(same)
        progress(what, done, len(cases))
    return found
