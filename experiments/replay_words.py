"""What replay tuning found, in a few lines for a person."""

from collections.abc import Mapping
from typing import Any

from reflective_rag.experiments.console import interval


def replay_lines(report: Mapping[str, Any]) -> list[str]:
    """The lines on the report of a compile; none where its strategy was not `controls`."""
    if "frontier" not in report:
        return []
    replayed, held = report["replayed"], report["held_out_gain"]
    points = f"{len(report['frontier'])} on the frontier of quality against cost"
    lines = [
        f"replayed {report['rules']:,} stopping rules on {report['n']} questions, {points}",
        f"costed score {interval(report['costed'])}, gain {interval(report['gain'])} on the questions it was chosen on",
    ]
    if held is not None:
        lines.append(f"on questions left out of the choice, choosing this way gains {interval(held)}")
    if report["gain"]["mean"] and (held is None or held["mean"] <= 0):
        lines.append("more questions are needed to say that the chosen rule is better than the one before")
    same = (
        f"the chosen rule, run on the recorded replies: {replayed['same']} of {replayed['n']} questions score the same"
    )
    lines.append(same + (f" (not {', '.join(replayed['differ'][:5])})" if replayed["differ"] else ""))
    if "by_kind" in report:
        lines.append(report["by_kind"]["note"])
    return lines
