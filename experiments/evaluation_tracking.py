"""An evaluation as one MLflow run: scores, rows, and why answers were wrong."""

from reflective_rag.data.records import record_fingerprint
from reflective_rag.experiments.evaluating import Asked, Evaluated
from reflective_rag.experiments.reporting import flat_metrics, log_diagnosis, rows_of
from reflective_rag.experiments.tracking import tracked


def log_evaluation(found: Evaluated, asked: Asked, *, uri: str, experiment: str) -> str | None:
    """Log a finished evaluation; the run's id, None with `uri` off.

    Raises:
        DataError: The store cannot be written.
    """
    document = found.document
    data = {"n": len(found.records), "fingerprint": record_fingerprint(found.records)}
    settings = {f"settings.{name}": value for name, value in found.program.settings.model_dump(mode="json").items()}
    params = {
        "program": document["program"],
        "lm": document["lm"],
        "data": document["data"],
        "corpus": ", ".join(document["corpus"]),
        "artifact": document["artifact"] or "",
        "metric": asked.metric or "",
        "seed": asked.seed,
        **data,
        **settings,
    }
    with tracked("evaluate", experiment=experiment, uri=uri, params=params, tags={"kind": "evaluate"}) as run:
        if run.run_id is None:
            return None
        run.inputs({"dev": {"file": document["data"], **data}})
        run.metrics(flat_metrics({name: value for name, value in document.items() if name != "diagnosis"}))
        run.table("rows", rows_of(found.evaluation))
        log_diagnosis(run, found.evaluation, asked.metric)
        return run.run_id
