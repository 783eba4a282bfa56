"""A compiled program as an MLflow model made of code: its artefact and where to search, nothing pickled, no key.

    model = mlflow.pyfunc.load_model("models:/mine@champion")
    model.predict(pandas.DataFrame({"question": ["Who influenced Lorenzo Monaco?"]}))

The corpus is opened anew from its address, the model by its name with the keys of the environment it is served in.
`RRAG_LM`, `RRAG_CORPUS` (several with spaces) and `RRAG_EMBEDDER` win over what the compile used; `RRAG_CONCURRENCY`
(4) questions are answered side by side. A question that fails is a row with `error`; the others are answered.
"""

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

from reflective_rag.data.secrets import scrub
from reflective_rag.experiments.corpora import open_search
from reflective_rag.experiments.models import open_model
from reflective_rag.experiments.systems import loaded_system
from reflective_rag.programs.module import RagModule, result_of
from reflective_rag.signatures.errors import ConfigError, described

COLUMNS = {
    "answer": "string",
    "abstained": "boolean",
    "degraded": "boolean",
    "confidence": "double",
    "evidence_score": "double",
    "stop_reason": "string",
    "citations": "string",
    "warnings": "string",
    "tokens": "long",
    "error": "string",
}
"""Column of the answer → MLflow's type. Citations and warnings are JSON; `evidence_score` may be missing."""


CODE = """from mlflow.models import set_model

from reflective_rag.experiments.serving import made

set_model(made())
"""
"""What MLflow copies into a logged model and runs to load it."""


class RagModel:
    """The two methods of MLflow's `PythonModel`."""

    def load_context(self, context: Any) -> None:
        """Load the artefact, open the corpus, find the model. Raises as the commands do."""
        config = {**context.model_config, **_environment()}
        self._model = open_model(config["lm"] or None)
        system = loaded_system(context.artifacts["artefact"], self._model)
        search = open_search(config["corpus"], embedder=config["embedder"], need_all=False)
        self._program = system.searching(search).program

    def predict(self, context: Any, model_input: Any, params: Any = None) -> Any:
        """One row a question, in order."""
        import pandas as pd

        questions = questions_in(model_input)
        workers = max(1, min(int(os.environ.get("RRAG_CONCURRENCY", "4")), len(questions)))
        with self._model.use(), ThreadPoolExecutor(workers) as pool:
            waiting = [pool.submit(copy_context().run, answered, self._program, question) for question in questions]
            rows = [each.result() for each in waiting]
        return pd.DataFrame(rows, columns=list(COLUMNS), index=getattr(model_input, "index", None))


def made() -> Any:
    """What `mlflow models serve` and `mlflow.pyfunc.spark_udf` load."""
    from mlflow.pyfunc.model import PythonModel
    from pandas import DataFrame

    class Served(RagModel, PythonModel):
        """MLflow takes hints for a schema of its own, but leaves data frames alone: the signature is given."""

        def predict(self, context: Any, model_input: DataFrame, params: dict[str, Any] | None = None) -> DataFrame:
            return super().predict(context, model_input, params)

    return Served()


def _environment() -> dict[str, Any]:
    named = {"lm": os.environ.get("RRAG_LM"), "embedder": os.environ.get("RRAG_EMBEDDER")}
    if corpus := os.environ.get("RRAG_CORPUS"):
        named["corpus"] = corpus.split()  # type: ignore[assignment]  # a list beside texts
    return {name: value for name, value in named.items() if value}


def questions_in(model_input: Any) -> list[Any]:
    """The questions of a data frame with the column `question` (or one column), a list, a mapping or a text.

    Raises:
        ConfigError: There is no such column.
    """
    if hasattr(model_input, "columns"):
        names = list(model_input.columns)
        if "question" not in names and len(names) != 1:
            raise ConfigError(f"the input must have a column `question`, got {', '.join(map(repr, names))}")
        return list(model_input["question" if "question" in names else names[0]])
    if isinstance(model_input, Mapping):
        value = model_input.get("question")
        return [value] if isinstance(value, str) else list(value or ())
    if isinstance(model_input, str):
        return [model_input]
    return [_question(item) for item in _iterable(model_input)]


def _iterable(model_input: Any) -> Iterable[Any]:
    if not isinstance(model_input, Iterable):
        raise ConfigError(f"the input must hold questions, got {type(model_input).__name__}")
    return model_input


def _question(item: Any) -> Any:
    return item.get("question") if isinstance(item, Mapping) else item


def answered(program: RagModule, question: Any) -> dict[str, Any]:
    """The row of one question. What a program raises is that row's `error`: a batch goes on."""
    try:
        result = result_of(program(question=question))
    except Exception as error:  # noqa: BLE001 - one bad question must not lose the others of a batch
        empty = {"string": "", "boolean": False, "double": None, "long": 0}
        return {name: empty[kind] for name, kind in COLUMNS.items()} | {"error": scrub(described(error))}
    plain = result.model_dump(mode="json")
    tokens = sum(usage.prompt_tokens + usage.completion_tokens for usage in result.usage.values())
    row = {name: plain[name] for name in COLUMNS if name in plain} | {"tokens": tokens, "error": ""}
    return row | {name: json.dumps(plain[name], ensure_ascii=False) for name in ("citations", "warnings")}


def save_model(artefact: Path, target: Path, *, lm: str, corpus: list[str], embedder: str) -> Path:
    """Write the model's folder: this library's code by name, the artefact, the configuration.

    It is loaded where the library is installed. An address is written as it is: give one without a password.
    """
    import mlflow
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema

    from reflective_rag import __version__

    inputs = Schema([ColSpec(DataType.string, "question")])
    outputs = Schema(
        [ColSpec(DataType[kind], name, required=name != "evidence_score") for name, kind in COLUMNS.items()]
    )
    code = target.with_name("served.py")
    code.write_text(CODE, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice about type hints and input examples: the signature is given
        mlflow.pyfunc.save_model(
            target,
            python_model=str(code),
            artifacts={"artefact": str(artefact)},
            model_config={"lm": lm, "corpus": corpus, "embedder": embedder},
            signature=ModelSignature(inputs=inputs, outputs=outputs),
            pip_requirements=[f"reflective-rag=={__version__}"],  # else MLflow looks for a quarter of a minute
        )
    return target
