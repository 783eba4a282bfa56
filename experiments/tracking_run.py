"""One run of MLflow, as everything that is measured here writes to it."""

import re
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from reflective_rag.experiments.tracking_checks import first_line
from reflective_rag.experiments.tracking_extras import log_inputs, log_model, log_prompts
from reflective_rag.experiments.tracking_recorder import Recorder
from reflective_rag.experiments.tracking_secrets import Scrubber, copy_without_secrets
from reflective_rag.experiments.tracking_values import (
    PARAM_LENGTH,
    TAG_LENGTH,
    as_frame,
    field_texts,
    file_name,
    finite_metrics,
    shortened,
)

T = TypeVar("T")
_NO_WORD = re.compile(r"\W")


class TrackedRun:
    """One run. Its methods may be called from any thread and never raise for what the store does.

    No credential is written: see `tracking_secrets`. With tracking off every method does nothing.
    """

    def __init__(self, recorder: Recorder | None = None, run_id: str = "") -> None:
        self._recorder = recorder
        self._id = run_id
        self._params: dict[str, str] = {}
        self._tables: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def run_id(self) -> str | None:
        """MLflow's id; None when tracking is off."""
        return self._id or None

    @property
    def lost(self) -> int:
        """How many writes of this run and its children the store did not take."""
        return self._recorder.lost if self._recorder else 0

    def params(self, values: Mapping[str, Any]) -> None:
        """Log settings. A param never changes: a second value for one name is not taken.

        Anything but a string or a number is written as JSON. Beyond 6,000 characters the param is cut, and the whole
        text is the artifact `params/NAME.txt`.
        """
        if not self._recorder or not values:
            return
        fields = self._fields(values, "params", PARAM_LENGTH)
        with self._lock:
            for name in fields.keys() & self._params.keys():
                old, new = self._params[name], fields.pop(name)
                if old != new:
                    self._recorder.lose(f"the param `{name}` = {new[:50]!r}", f"it is {old[:50]!r} and never changes")
            if self._recorder.params(self._id, fields):
                self._params.update(fields)

    def tags(self, values: Mapping[str, Any]) -> None:
        """Log tags; a later value replaces an earlier one. Beyond 5,000 characters as for params, under `tags/`."""
        if self._recorder and values:
            self._recorder.tags(self._id, self._fields(values, "tags", TAG_LENGTH))

    def metrics(self, values: Mapping[str, Any], step: int | None = None) -> None:
        """Log numbers; those of a nested mapping, model or dataclass as `outer.inner`.

        What is None, not finite or no number is left out, never logged as 0.
        """
        if self._recorder and values:
            found = self._attempt("metrics", lambda _: list(finite_metrics(values)))
            self._recorder.metrics(self._id, found or [], step or 0)

    def table(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Log rows as the table `NAME.json`, which MLflow shows and `mlflow.load_table` reads.

        A second table of the same name becomes `NAME-2.json`.
        """

        def write(recorder: Recorder) -> None:
            scrub = Scrubber()
            frame, path = as_frame(rows, scrub), file_name(scrub.text(name), ".json")
            with self._lock:  # MLflow keeps the list of a run's tables in a tag that it reads, changes and writes
                self._tables[path] += 1
                if (number := self._tables[path]) > 1:
                    path = f"{path.removesuffix('.json')}-{number}.json"
                recorder.client.log_table(self._id, frame, path)

        self._attempt(f"the table {name!r}", write)

    def text(self, name: str, text: str) -> None:
        """Log a text as the artifact NAME (`.txt` unless it has a suffix), in UTF-8, replacing an earlier one."""

        def write(recorder: Recorder) -> None:
            scrub = Scrubber()
            recorder.client.log_text(self._id, scrub.text(text), file_name(scrub.text(name), ".txt"))

        self._attempt(f"the text {name!r}", write)

    def folder(self, path: str | Path, name: str) -> None:
        """Log the content of a folder (or one file) as the artifact folder NAME."""

        def write(recorder: Recorder) -> None:
            with tempfile.TemporaryDirectory() as temporary:
                source = copy_without_secrets(Path(path), Path(temporary))
                log = recorder.client.log_artifacts if source.is_dir() else recorder.client.log_artifact
                log(self._id, str(source), file_name(Scrubber().text(name)))

        self._attempt(f"the folder {name!r}", write)

    def inputs(self, data: Mapping[str, Mapping[str, Any]]) -> None:
        """Log data sets: part (`train`, `dev`, …) → `file`, `n`, `fingerprint`."""
        self._attempt("the data sets", lambda recorder: log_inputs(recorder, self._id, data))

    def prompts(
        self, family: str, before: Mapping[str, str], after: Mapping[str, str], tags: Mapping[str, str]
    ) -> None:
        """Register instructions (predictor → text) in the prompt registry, as `FAMILY.PREDICTOR`, tagged with the run.

        Args:
            before: As they were before any compile: the first version of a prompt that is new.
        """
        self._attempt("prompts", lambda recorder: log_prompts(recorder, self._id, family, before, after, tags))

    def model(self, artefact: str | Path, config: Mapping[str, Any]) -> None:
        """Log an artefact as a model that can be registered and served; `config` as `serving.save_model` takes it."""
        self._attempt("the model", lambda recorder: log_model(recorder.client, self._id, Path(artefact), config))

    def child(
        self,
        name: str,
        *,
        params: Mapping[str, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        tables: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
        texts: Mapping[str, str] | None = None,
    ) -> str | None:
        """Log a finished nested run and return its id; None when tracking is off or it could not be opened."""
        run_id = self._attempt(f"the run {name!r}", lambda recorder: recorder.create(name, self._id))
        if run_id is None or self._recorder is None:
            return None
        run = TrackedRun(self._recorder, run_id)
        with closing(run, self._recorder):
            run.params(params or {})
            run.metrics(metrics or {})
            for table, rows in (tables or {}).items():
                run.table(table, rows)
            for text, content in (texts or {}).items():
                run.text(text, content)
        return run_id

    def _attempt(self, what: str, write: Callable[[Recorder], T]) -> T | None:
        recorder = self._recorder
        return recorder.attempt(what, lambda: write(recorder)) if recorder else None

    def _fields(self, values: Mapping[str, Any], kind: str, limit: int) -> dict[str, str]:
        """Names and texts of params or tags as MLflow takes them; what is too long goes to an artifact too."""
        fields = self._attempt(kind, lambda _: field_texts(values, Scrubber())) or {}
        for name, text in fields.items():
            if len(text) > limit:
                path = f"{kind}/{file_name(_NO_WORD.sub('_', name), '.txt')}"
                self.text(path, text)
                fields[name] = shortened(text, limit, path)
        return fields


@contextmanager
def closing(run: TrackedRun, recorder: Recorder) -> Iterator[None]:
    """Close the run at the end of the block, as `tracking.tracked` says."""
    lost_before, status, last_words = run.lost, "KILLED", {}
    try:
        yield
        status = "FINISHED"
    except BaseException as error:
        if isinstance(error, Exception):
            status = "FAILED"
        last_words = {"error.type": type(error).__name__, "error.message": first_line(error)}
        raise
    finally:
        recorder.end(run.run_id or "", status)
        if lost := run.lost - lost_before:
            last_words["tracking.lost"] = str(lost)
        run.tags(last_words)
