"""Quality, and what tokens and searches cost in points of it, for the strategies that tune by quality less cost."""

from reflective_rag.optimizers.metrics import LAM, MU, metric
from reflective_rag.optimizers.strategies.base import CompileTask, TaskMetric


def prices(task: CompileTask) -> tuple[float, float]:
    """λ and μ: the options `lam` and `mu`, else those of the metric `costed`, else its defaults."""
    priced = task.metric.name == "costed"
    own = [getattr(task.metric, name, default) if priced else default for name, default in (("lam", LAM), ("mu", MU))]
    asked = [task.options.get("lam"), task.options.get("mu")]
    lam, mu = (float(default if value is None else value) for value, default in zip(asked, own, strict=True))
    return lam, mu


def quality(task: CompileTask) -> TaskMetric:
    """The task's metric without a price: of `costed` the quality in it."""
    return metric(getattr(task.metric, "quality", "f1")) if task.metric.name == "costed" else task.metric
