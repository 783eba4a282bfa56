"""From verdicts to the figures of the report: AUROC, accuracy at the tuned threshold, precision and recall, cost."""

from collections.abc import Mapping, Sequence
from typing import Any

from reflective_rag.data.twins import Case, Judged
from reflective_rag.experiments.bench.critics_verdicts import Verdict
from reflective_rag.optimizers.ranking_metrics import (
    accuracy_interval,
    auroc_interval,
    best_threshold,
    precision_interval,
    precision_recall,
)

ALL = "all"
SAID = 0.5
"""At or above it a verdict of yes/no critics is a yes."""


def rows_of(
    judgement: Judged,
    by: str,
    train: Sequence[Case],
    dev: Sequence[Case],
    verdicts: Mapping[str, Verdict],
    *,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """A row a language over all data sets, then one a data set.

    One threshold serves both languages and every data set, as one setting does; it is tuned on all train cases.
    """
    read = [case for case in train if _score(case, verdicts) is not None]
    tuned = best_threshold([verdicts[c.id].score or 0.0 for c in read], [c.label for c in read])
    threshold = None if tuned is None else tuned.value
    rows = []
    for lang in sorted({case.lang for case in dev}):
        own = [case for case in dev if case.lang == lang]
        sets = sorted({case.dataset for case in own})
        for name in (ALL, *sets) if len(sets) > 1 else sets:
            part = [case for case in own if name in (ALL, case.dataset)]
            head = {"judgement": judgement, "by": by, "lang": lang, "dataset": name, "threshold": threshold}
            rows.append(head | {"train": len(read)} | _figures(part, verdicts, threshold, seed))
    return rows


def _score(case: Case, verdicts: Mapping[str, Verdict]) -> float | None:
    verdict = verdicts.get(case.id)
    return None if verdict is None else verdict.score


def _figures(
    cases: Sequence[Case], verdicts: Mapping[str, Verdict], threshold: float | None, seed: int
) -> dict[str, Any]:
    read = [case for case in cases if _score(case, verdicts) is not None]
    scores = [verdicts[case.id].score or 0.0 for case in read]
    labels, clusters = [case.label for case in read], [f"{case.dataset}/{case.record}" for case in read]
    row: dict[str, Any] = {"n": len(read), "true": sum(labels), "unread": len(cases) - len(read)}
    row["auroc"] = auroc_interval(scores, labels, clusters, seed=seed).to_dict()
    if threshold is not None:
        row["accuracy"] = accuracy_interval(scores, labels, clusters, threshold, seed=seed).to_dict()
        found = precision_recall(scores, labels, threshold)
        row |= {"precision": found.precision, "recall": found.recall}
    return row | {"cost": _cost([verdicts[case.id] for case in cases if case.id in verdicts])}


def _cost(verdicts: Sequence[Verdict]) -> dict[str, float | None]:
    """Means a judgement; seconds only over those that did not come from a cache."""
    fresh = [verdict.seconds for verdict in verdicts if not verdict.cached]
    count = max(1, len(verdicts))
    return {
        "seconds": sum(fresh) / len(fresh) if fresh else None,
        "calls": sum(verdict.calls for verdict in verdicts) / count,
        "prompt_tokens": sum(verdict.prompt_tokens for verdict in verdicts) / count,
        "completion_tokens": sum(verdict.completion_tokens for verdict in verdicts) / count,
    }


def contradiction_rows(by: str, cases: Sequence[Case], verdicts: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    """Contradictions by what was swapped: precision of what was called a contradiction, and recall.

    For each kind as many untouched sets as twins, so a critic that calls everything a contradiction has precision .5.
    `number` and `date` together count the answer's own values and those beside it (`swapped values`).
    """
    groups = {kind: [kind] for kind in sorted({case.kind for case in cases})}
    groups["swapped values"] = [kind for kind in groups if kind.startswith(("number", "date"))]
    rows = []
    for lang in [*sorted({case.lang for case in cases}), ALL]:
        for name, kinds in groups.items():
            part = [c for c in cases if c.kind in kinds and lang in (ALL, c.lang) and _score(c, verdicts) is not None]
            if not part:
                continue
            scores, labels = [verdicts[c.id].score or 0.0 for c in part], [c.label for c in part]
            clusters = [f"{c.dataset}/{c.record}" for c in part]
            found = precision_recall(scores, labels, SAID)
            row = {"by": by, "lang": lang, "kind": name, "n": len(part), "true": found.true, "called": found.called}
            row["precision"] = precision_interval(scores, labels, clusters, SAID).to_dict()
            rows.append(row | {"recall": found.recall})
    return rows
