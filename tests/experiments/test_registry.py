"""Promoted models: from a compile's run to an app, a command, and a served model in another process."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from reflective_rag.experiments.registry import load_registered, local_artefact, tracking_uri
from reflective_rag.experiments.serving import COLUMNS, RagModel, answered, questions_in
from reflective_rag.programs import ReflectiveRAG, load_program, save_program
from reflective_rag.programs.artefacts import read_manifest, set_calibration
from reflective_rag.programs.fingerprints import program_digest
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.experiments.helpers import FACTS, knowing, records, run, run_json, use_model, write_jsonl, write_recipe
from tests.fakes import chat_reply, prompt_text
from tests.programs.test_calibration import flat

if TYPE_CHECKING:
    from mlflow import MlflowClient

ROOT = Path(__file__).resolve().parents[2]
KEY = "s" + "k-registry-0123456789abcdef"


def search(query: str, k: int) -> list[str]:
    """Everything that is known."""
    return [text for _, text, _, _ in FACTS][:k]


@pytest.fixture(scope="module")
def compiled_once(store: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder and the document of a compile on rules that is in the store."""
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setenv("RRAG_EMBEDDER", "none")
        recipe = write_recipe(folder, name="once", strategy_options={"max_rounds": 2}, tracking=f"sqlite:///{store}")
        return folder, run_json("compile", recipe, "--out", "art", "--tracking", f"sqlite:///{store}")


@pytest.fixture
def compiled(compiled_once: tuple[Path, Any], workplace: Path, uri: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """That compile's document, with a copy of its folder to work in, and its store as the one that is meant."""
    monkeypatch.setenv("RRAG_TRACKING", uri)
    shutil.copytree(compiled_once[0], workplace, dirs_exist_ok=True)
    return compiled_once[1]


def in_new_process(script: str, *arguments: str) -> Any:
    """The last line that a script prints, as JSON."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_promoted_loaded_and_asked(compiled: Any, workplace: Path) -> None:
    """By run id; the alias leads an app and a command to the same program; promoting again makes no new version."""
    done = run_json("promote", compiled["run_id"], "--as", "champion")
    assert done == {
        "name": "once",
        "version": "1",
        "alias": "champion",
        "run_id": compiled["run_id"],
        "uri": "models:/once@champion",
        "before": None,
    }
    rag: Any = load_registered(done["uri"], search=search, budget={"seconds": 30})
    assert program_digest(rag) == program_digest(load_program("art", budget={"seconds": 30}))
    assert rag(question=FACTS[1][2]).answer == "Warsaw"
    asked = run_json("ask", FACTS[3][2], "--artifact", done["uri"], "--corpus", "train.jsonl")
    assert asked["answer"] == "绍兴"
    assert run_json("promote", compiled["run_id"], "--as", "champion")["version"] == "1"
    assert run_json("inspect", "models:/once/1")["program"] == "reflective"
    assert run_json("diff", "art", done["uri"])["same"]


def test_a_calibrated_artefact_is_promoted_as_it_is_now(compiled: Any, name: str) -> None:
    """What changed in the folder since the compile is in the new version, which takes the alias from the old one."""
    run_json("promote", compiled["run_id"], "--as", "champion", "--name", name)
    set_calibration("art", flat(0.7, program=program_digest(load_program("art"))))
    done = run_json("promote", "art", "--as", "champion", "--name", name)
    assert (done["version"], done["before"]) == ("2", "1")
    with local_artefact(f"models:/{name}@champion") as folder:
        assert read_manifest(folder).calibration is not None
    with local_artefact(f"models:/{name}/1") as folder:
        assert read_manifest(folder).calibration is None
    assert not folder.exists()
    assert run_json("promote", "art", "--as", "champion", "--name", name)["version"] == "2"


PREDICT = """
import json, sys, mlflow.pyfunc, pandas
model = mlflow.pyfunc.load_model(sys.argv[1])
answers = model.predict(pandas.DataFrame({"question": json.loads(sys.argv[2])}))
print(json.dumps([list(answers.columns), answers.to_dict("records")], default=str))
"""


def test_another_process_serves_the_logged_model(compiled: Any, uri: str, workplace: Path, tmp_path: Path) -> None:
    """Models from code: nothing is unpickled, the corpus is reopened from its files, rows come back in order.

    A question that cannot be asked is a row with an error, and Chinese comes through.
    """
    from mlflow.artifacts import download_artifacts

    questions = [FACTS[1][2], "", FACTS[3][2]]
    source = f"runs:/{compiled['run_id']}/model"
    folder = Path(download_artifacts(artifact_uri=source, dst_path=str(tmp_path / "model"), tracking_uri=uri))
    assert {path.suffix for path in folder.rglob("*") if path.is_file()} <= {".py", ".json", ".txt", ".yaml", ""}
    columns, rows = in_new_process(PREDICT, str(folder), json.dumps(questions))
    assert columns == list(COLUMNS)
    assert [row["answer"] for row in rows] == ["Warsaw", "", "绍兴"]
    assert [bool(row["error"]) for row in rows] == [False, True, False]
    assert json.loads(rows[0]["citations"])[0]["quote"] in FACTS[1][1]


def test_a_served_model_searches_where_its_environment_says(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`RRAG_CORPUS` wins over what the compile used."""
    import pandas as pd

    save_program(ReflectiveRAG(mode="rules"), "art")
    passage = {"id": "x", "text": "Marie Curie was born in Oz in 1867.", "title": "Marie Curie"}
    write_jsonl(workplace / "other.jsonl", [passage])
    monkeypatch.setenv("RRAG_CORPUS", "other.jsonl")
    model = RagModel()
    config = {"lm": "rules", "corpus": ["sample"], "embedder": "none"}
    model.load_context(SimpleNamespace(artifacts={"artefact": "art"}, model_config=config))
    answers = model.predict(None, pd.DataFrame({"question": [FACTS[1][2]]}))
    assert list(answers["answer"]) == ["Oz"]


def test_spark_answers_a_table(compiled: Any, uri: str, workplace: Path) -> None:
    """`mlflow.pyfunc.spark_udf` in local mode. Skips without the extra `spark` or without Java."""
    pytest.importorskip("pyspark", reason="needs the extra `spark`")
    if shutil.which("java") is None:
        pytest.skip("needs Java, which Spark runs on")
    script = """
import json, os, sys, mlflow
from pyspark.sql import SparkSession
os.environ["PYSPARK_PYTHON"] = sys.executable
mlflow.set_tracking_uri(sys.argv[2])
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
kind = "answer string, stop_reason string"
answer = mlflow.pyfunc.spark_udf(spark, sys.argv[1], result_type=kind, env_manager="local")
table = spark.createDataFrame([(text,) for text in json.loads(sys.argv[3])], ["question"]).repartition(1)
rows = table.withColumn("said", answer("question")).collect()
print(json.dumps({row["question"]: row["said"]["answer"] for row in rows}))
"""
    questions = [FACTS[1][2], FACTS[3][2]]
    got = in_new_process(script, f"runs:/{compiled['run_id']}/model", uri, json.dumps(questions))
    assert got == {FACTS[1][2]: "Warsaw", FACTS[3][2]: "绍兴"}


def test_a_run_names_its_data(compiled: Any, client: "MlflowClient") -> None:
    """Data sets are inputs of the run, with the fingerprints that the artefact has."""
    inputs = client.get_run(compiled["run_id"]).inputs
    assert inputs is not None
    found = {each.tags[0].value: each.dataset.digest for each in inputs.dataset_inputs}
    data = read_manifest("art").data
    assert found["training"] == data["train"]["fingerprint"]
    assert found["evaluation"] == data["dev"]["fingerprint"]


def test_instructions_are_in_the_prompt_registry(
    workplace: Path, uri: str, name: str, client: "MlflowClient", monkeypatch: pytest.MonkeyPatch
) -> None:
    """One prompt a predictor: first as it was, then a version a compile, tagged with the run."""
    use_model(monkeypatch)
    recipe = write_recipe(
        workplace,
        name=name,
        strategy="mipro",
        strategy_options={"num_trials": 2},
        program_options={"mode": "rules", "repair": False},
        tracking=uri,
    )
    document = run_json("compile", recipe, "--out", "art", "--lm", "fake/model", "--tracking", uri)
    prompt = f"{name}.answer"
    texts = [client.get_prompt_version(prompt, number) for number in (1, 2)]
    assert texts[0].template == ReflectiveRAG(mode="rules").answer.signature.instructions
    program: Any = load_program("art")
    assert texts[1].template == program.answer.signature.instructions
    assert texts[1].tags["run_id"] == document["run_id"]
    assert texts[1].tags["strategy"] == "mipro"


def test_no_key_reaches_the_store_of_a_compile(
    workplace: Path, store: Path, uri: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key in the environment, on the model, in a reply and in the data is in no file of the store."""
    monkeypatch.setenv("FAKE_API_KEY", KEY)

    def leaking(request: Any) -> str:
        if "proposed_instruction" in prompt_text(request):
            return chat_reply(proposed_instruction=f"Say {KEY}.")
        return knowing(request).replace("[[ ## answer ## ]]\n", f"[[ ## answer ## ]]\n{KEY} ", 1)

    use_model(monkeypatch, leaking)
    recipe = write_recipe(
        workplace,
        name=name,
        strategy="mipro",
        metric="containment",
        strategy_options={"num_trials": 2},
        program_options={"mode": "rules", "repair": False},
    )
    train = records(0, 4)
    train[0]["passages"][0]["text"] += f" Her key was {KEY}."
    write_jsonl(workplace / "train.jsonl", train)
    document = run_json("compile", recipe, "--out", "art", "--lm", "fake/model", "--tracking", uri)
    run_json("promote", document["run_id"], "--as", "champion", "--tracking", uri)
    files = [path for path in store.parent.rglob("*") if path.is_file()]
    assert any("model" in path.parts for path in files)
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("promote", "0" * 32, "--as", "champion"), "there is no run", id="no run"),
        pytest.param(("promote", "x", "--as", "latest"), "an alias is a word", id="reserved alias"),
        pytest.param(("promote", "x", "--as", "a b"), "an alias is a word", id="alias with a space"),
        pytest.param(("promote", "x", "--as", "a", "--name", "a/b"), "has none of / :", id="name with a slash"),
        pytest.param(
            ("ask", "q?", "--artifact", "models:/nobody@champion"), "no registered model 'nobody'", id="model"
        ),
        pytest.param(("ask", "q?", "--artifact", "models:/x"), "is `models:/NAME@ALIAS`", id="no alias"),
        pytest.param(("inspect", "models:/x@"), "is `models:/NAME@ALIAS`", id="empty alias"),
        pytest.param(("diff", "nowhere", "models:/x@y"), "no registered model 'x'", id="diff"),
        pytest.param(
            ("calibrate", "--artifact", "models:/x@y", "--data", "sample:dev"), "copy in the registry", id="calibrate"
        ),
    ],
)
def test_what_cannot_be_meant_is_one_error(
    arguments: tuple[str, ...], said: str, workplace: Path, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2 and what to do."""
    monkeypatch.setenv("RRAG_TRACKING", uri)
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_run_without_a_model_cannot_be_promoted(workplace: Path, uri: str, name: str) -> None:
    """A comparison, say."""
    from reflective_rag.experiments.tracking import tracked

    with tracked("run", experiment=name, uri=uri, params={}) as made:
        pass
    done = run("promote", str(made.run_id), "--as", "champion", "--tracking", uri)
    assert "has no model" in done.stderr


def test_an_artefact_made_without_a_store_cannot_be_promoted(workplace: Path, uri: str) -> None:
    """It knows no run."""
    run_json("compile", write_recipe(workplace), "--out", "art")
    done = run("promote", "art", "--as", "champion", "--tracking", uri)
    assert done.exit_code == 2
    assert "made without MLflow" in done.stderr


def test_an_alias_that_is_not_there_lists_those_that_are(compiled: Any, name: str) -> None:
    """In Python as on the command line."""
    run_json("promote", compiled["run_id"], "--as", "champion", "--name", name)
    with pytest.raises(DataError, match=r"no alias 'challenger'; its aliases: `champion`"):
        load_registered(f"models:/{name}@challenger", search=search)
    with pytest.raises(ConfigError, match="a registered model is"):
        load_registered("champion", search=search)


def test_which_store_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument, the commands' variable (unless it is `off`), MLflow's, the commands' default."""
    monkeypatch.delenv("RRAG_TRACKING", raising=False)
    assert tracking_uri() == "sqlite:///mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://b")
    assert tracking_uri() == "http://b"
    monkeypatch.setenv("RRAG_TRACKING", "sqlite:///a.db")
    assert tracking_uri() == "sqlite:///a.db"
    assert tracking_uri("http://c") == "http://c"
    monkeypatch.setenv("RRAG_TRACKING", "off")
    assert tracking_uri() == "http://b"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("q?", ["q?"], id="text"),
        pytest.param(["a", "b"], ["a", "b"], id="list"),
        pytest.param([{"question": "a"}], ["a"], id="records"),
        pytest.param({"question": ["a", "b"]}, ["a", "b"], id="columns"),
        pytest.param({"question": "a"}, ["a"], id="one"),
        pytest.param({}, [], id="nothing"),
    ],
)
def test_questions_come_in_every_form_that_mlflow_has(given: Any, expected: list[str]) -> None:
    """As text, list, records or columns."""
    assert questions_in(given) == expected


def test_a_table_without_questions_is_refused() -> None:
    """Its columns are named."""
    import pandas as pd

    with pytest.raises(ConfigError, match="column `question`, got 'a', 'b'"):
        questions_in(pd.DataFrame({"a": [1], "b": [2]}))
    assert questions_in(pd.DataFrame({"frage": ["q?"]})) == ["q?"]


def test_a_program_that_raises_is_a_row() -> None:
    """With the class and message of the error, without keys."""

    def broken(question: str) -> Any:
        raise RuntimeError("no")

    row = answered(broken, "q?")  # type: ignore[arg-type]  # called like one
    assert (row["answer"], row["error"]) == ("", "RuntimeError: no")
    assert set(row) == set(COLUMNS)
