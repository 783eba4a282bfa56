"""What a user of a calibrated artefact should know: where its confidence does not hold."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reflective_rag.data.records import Record, record_fingerprint
from reflective_rag.data.retrieval import Retriever
from reflective_rag.experiments.recipes import is_sample
from reflective_rag.optimizers.calibration.report import Report
from reflective_rag.programs.artefacts import read_manifest
from reflective_rag.programs.module import RagModule


def corpus_note(program: RagModule, search: Retriever) -> str:
    """What to say where a calibration in use does not hold for this program, model or corpus; empty where it does."""
    if program.calibrated is None:
        return ""
    if why := program.calibrated.misfit(program):
        return f"`confidence` is not calibrated here: {why}"
    fitted, here = program.calibrated.calibration.corpus, (search.count(), search.mode)
    if fitted and here != (fitted.get("passages"), fitted.get("search")):
        return (
            f"`confidence` was calibrated on {fitted.get('passages')} passages ({fitted.get('search')} search), and "
            f"this corpus has {here[0]} ({here[1]} search): {_at_stake(program)}calibrate again where it matters"
        )
    return ""


def _at_stake(program: RagModule) -> str:
    in_use = program.calibrated
    return "the risk of `abstain_at_risk` may not be kept, " if in_use is not None and in_use.threshold else ""


def use_note(risks: Sequence[Mapping[str, Any]]) -> str:
    """How to abstain by one of the thresholds that were found; empty where none was."""
    found = [each for each in risks if each["abstain_below"] is not None]
    if not found:
        return ""
    by = {each["rule"]: each["risk"] for each in reversed(found)}
    words = [
        f"`--option abstain_at_risk={risk:g}{'' if rule == 'selective' else f' --option abstain_rule={rule}'}`"
        for rule, risk in by.items()
    ]
    return f"to abstain by it, give {' or '.join(words)} to `ask` or `evaluate` beside `--artifact`"


def seen_note(artifact: Path | None, data: Mapping[str, Sequence[Record]]) -> str:
    """A warning where the artefact was compiled on these very questions: it would look surer than it is."""
    if artifact is None:
        return ""
    parts = [part for part in read_manifest(artifact).data.values() if isinstance(part, Mapping)]
    known = {part.get(key) for part in parts for key in ("file", "fingerprint")}  # a part may be half of its file
    seen = [name for name, records in data.items() if {_file(name), record_fingerprint(records)} & known]
    if not seen:
        return ""
    return (
        f"the artefact was compiled or scored on {', '.join(f'`{name}`' for name in seen)}: calibrate on questions "
        "that it has not seen, or it will be too sure of itself"
    )


def worse_note(report: Report) -> str:
    """A warning where the calibration tells right from wrong answers worse than the confidence that it replaces."""
    found = report.differences["auroc"]
    if found["high"] is None or found["high"] >= 0:
        return _no_better(report)
    return (
        f"the calibrated confidence ranks answers worse than the program's own (AUROC {found['mean']:+.3f} "
        f"[{found['low']:+.3f}, {found['high']:+.3f}], held out): use more labels, or `--method isotonic`"
    )


def _no_better(report: Report) -> str:
    """That nothing shows that it tells them apart better either, where nothing does."""
    found = report.differences["auroc"]
    if found["low"] is None or found["low"] > 0:
        return ""
    return (
        "nothing shows that the calibrated confidence tells right from wrong better than the program's own (AUROC "
        f"{found['mean']:+.3f} [{found['low']:+.3f}, {found['high']:+.3f}], held out)"
    )


def _file(name: str) -> str:
    """How an artefact names a file of data."""
    return name if is_sample(name) else Path(name).name
