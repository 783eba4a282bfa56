"""What tuning by replay or by running found, in a few lines for a person."""

from collections.abc import Mapping
from typing import Any

from reflective_rag.experiments.console import interval


def tuning_lines(report: Mapping[str, Any]) -> list[str]:
    """The lines on the report of a compile; none where its strategy was neither `controls` nor `settings`."""
    if "trials" in report:
        return _trial_lines(report)
    return _replay_lines(report) if "frontier" in report else []


def _trial_lines(report: Mapping[str, Any]) -> list[str]:
    chosen = ", ".join(f"{name} {value}" for name, value in report["chosen"].items()) or "as they were"
    lines = [
        f"ran {_count(report['trials'])} on {report['n']} questions; settings: {chosen}",
        f"costed score {interval(report['costed'])}, gain {interval(report['gain'])} on the questions of the choice",
    ]
    if report["chosen"] and report["gain"]["low"] <= 0:
        lines.append("more questions are needed to say that they are better than those before")
    why = {
        "fell_back": "could not be chosen: another back end did the work",
        "not_run": "could not be run",
    }
    for kind, left_out in report.get("left_out", {}).items():
        lines.append(f"{_count(left_out['n'])} {why[kind]}; the first: {left_out['first']}")
    return lines


def _count(combinations: int) -> str:
    return f"{combinations} combination{'' if combinations == 1 else 's'}"


def _replay_lines(report: Mapping[str, Any]) -> list[str]:
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
