"""What tokens and searches cost in points of quality, for the strategies that tune by quality less cost."""

from reflective_rag.optimizers.metrics import LAM, MU
from reflective_rag.optimizers.strategies.base import CompileTask


def prices(task: CompileTask) -> tuple[float, float]:
    """λ and μ: the options `lam` and `mu`, else those of the metric `costed`, else its defaults."""
    priced = task.metric.name == "costed"
    own = [getattr(task.metric, name, default) if priced else default for name, default in (("lam", LAM), ("mu", MU))]
    asked = [task.options.get("lam"), task.options.get("mu")]
    lam, mu = (float(default if value is None else value) for value, default in zip(asked, own, strict=True))
    return lam, mu
