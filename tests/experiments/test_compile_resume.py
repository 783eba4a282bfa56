"""`compile --resume`: killed in the middle, gone on with in another process, and nothing paid for twice."""

import contextlib
import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from dspy.utils.exceptions import LMAuthError, LMTimeoutError

from reflective_rag.data.line_file import LineFile
from reflective_rag.experiments.compile_runs import find_run, runs_folder
from reflective_rag.programs import ReflectiveRAG
from reflective_rag.programs.artefacts import load_program, read_manifest, save_program
from reflective_rag.programs.lm import resolve
from reflective_rag.programs.lm.recording import Recording
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.experiments.helpers import FACTS, knowing, records, run, run_json, write_jsonl, write_recipe
from tests.fakes import FakeLM, chat_reply, fake_lm, prompt_text

ROOT = Path(__file__).resolve().parents[2]
NOTHING: dict[str, Any] = dict.fromkeys(("record", "replay", "temperature", "max_tokens", "max_cost")) | {
    "dry_run": False
}
MIPRO = {"num_trials": 2, "num_candidates": 3, "init_temperature": 1.0}
WORKER = """
import contextlib, hashlib, importlib, json, os, signal, sys
from pathlib import Path
from tests.experiments.helpers import knowing
from tests.fakes import fake_lm, prompt_text
from reflective_rag.experiments import cli, compiling
from reflective_rag.programs.lm import resolve

for name in ("numpy", "optuna", "dspy.teleprompt", "lance_namespace_urllib3_client"):  # slow, and start no threads
    with contextlib.suppress(ImportError):
        importlib.import_module(name)

def work(job):
    log = Path(job["log"])

    def answering(request):
        text = prompt_text(request)
        if "Reply with the single word" not in text:
            with log.open("a") as file:
                file.write(hashlib.sha256(text.encode()).hexdigest() + "\\n")
            if len(log.read_text().splitlines()) == job["kill_at"]:
                os.kill(os.getpid(), signal.SIGKILL)
        return knowing(request)

    os.chdir(job["folder"])
    os.environ.update(job["environment"])
    for stream in (1, 2):
        os.dup2(os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    resolve._live = lambda spec, options: (fake_lm(answering, model="fake/model", **options), "chat")
    sys.argv = ["reflective-rag", *job["arguments"]]
    cli.main()

for line in sys.stdin:
    child = os.fork()  # of a process that has imported everything and has no threads
    if child == 0:
        work(json.loads(line))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def forker() -> Iterator["subprocess.Popen[str]"]:
    """A process that has imported the command line, and forks one for each command: see `killed`."""
    own = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **own}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", WORKER], env=environment, **pipes) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def killed(forker: "subprocess.Popen[str]", log: Path, kill_at: int, *arguments: str | Path) -> tuple[int, str]:
    """A command in a process of its own, which its model kills at that call; `log` gets a line for each prompt.

    The exit code, and what the command printed.
    """
    output = log.with_suffix(".out")
    output.touch()
    names = ("RRAG_CACHE", "DSPY_CACHEDIR", "RRAG_EMBEDDER", "RRAG_TRACKING", "TQDM_DISABLE")
    job = {
        "log": str(log),
        "kill_at": kill_at,
        "folder": str(Path.cwd()),
        "output": str(output),
        "environment": {name: os.environ[name] for name in names},
        "arguments": [str(argument) for argument in arguments],
    }
    assert forker.stdin is not None
    assert forker.stdout is not None
    forker.stdin.write(json.dumps(job) + "\n")
    forker.stdin.flush()
    return int(forker.stdout.readline()), output.read_text()


def digest(prompt: str) -> str:
    """As the process that is killed writes it."""
    return hashlib.sha256(prompt.encode()).hexdigest()


def only_run() -> str:
    """The name of the one compile that can go on."""
    (folder,) = [path for path in runs_folder().iterdir() if (path / "run.json").is_file()]
    return folder.name


@pytest.fixture
def cache(tmp_path: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for this test alone, which processes that it starts use too; DSPy's own is off in them."""
    monkeypatch.setenv("RRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DSPY_CACHEDIR", str(tmp_path / "dspy"))
    return tmp_path / "cache"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeLM:
    """A model in this process that counts what it is asked."""
    lm = fake_lm(knowing, model="fake/model")
    monkeypatch.setattr(resolve, "_live", lambda spec, options: (lm, "chat"))
    return lm


def prompts(lm: FakeLM) -> list[str]:
    """What a model was asked, without the word that tells whether it is there."""
    found = [prompt_text(request) for request in lm.engine.requests]
    return [text for text in found if "Reply with the single word" not in text]


@pytest.fixture
def recipe(workplace: Path) -> Path:
    """A compile that scores, bootstraps demos, and scores again."""
    return write_recipe(workplace, strategy="bootstrap", program_options={"mode": "fused"})


def compiled(recipe: Path, out: str) -> Any:
    """A compile that nothing disturbs."""
    return run_json("compile", recipe, "--out", out, "--lm", "fake/model")


def mipro_recipe(folder: Path, threads: int) -> Path:
    """A compile that bootstraps, writes instructions and searches."""
    return write_recipe(
        folder, strategy="mipro", strategy_options=MIPRO, num_threads=threads, program_options={"mode": "fused"}
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, "Counter[str]"]:
    """A compile that nothing disturbs: its artefact, its report, and how often each prompt was asked."""
    folder, lm = tmp_path_factory.mktemp("whole"), fake_lm(knowing, model="fake/model")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        names = {"RRAG_CACHE": "cache", "DSPY_CACHEDIR": "dspy"}
        for name, value in names.items():
            patched.setenv(name, str(folder / value))
        for name, value in {"RRAG_EMBEDDER": "none", "RRAG_TRACKING": "off", "TQDM_DISABLE": "1"}.items():
            patched.setenv(name, value)
        patched.setattr(resolve, "_live", lambda spec, options: (lm, "chat"))
        document = compiled(mipro_recipe(folder, 1), "whole")
    return folder / "whole", document, Counter(map(digest, prompts(lm)))


@pytest.mark.parametrize(
    ("threads", "place"),
    [
        pytest.param(1, 0.5, id="while it optimizes"),
        pytest.param(3, 0.9, id="late, with three threads"),
    ],
)
def test_a_killed_compile_goes_on_and_pays_for_nothing_twice(
    threads: int,
    place: float,
    forker: "subprocess.Popen[str]",
    whole: tuple[Path, Any, "Counter[str]"],
    workplace: Path,
    cache: Path,
    model: FakeLM,
) -> None:
    """Killed with -9: another process goes on, asks for the rest alone, and ends as an uninterrupted run does.

    Artefact, scores and tokens are the same, whatever the threads, and the folder is gone at the end. Only calls that
    were under way when it was killed, one a thread, are asked again.
    """
    recipe = mipro_recipe(workplace, threads)
    artefact, undisturbed, expected = whole
    log = workplace / "killed.log"
    kill_at = int(sum(expected.values()) * place)
    code, said = killed(forker, log, kill_at, "compile", recipe, "--out", "art", "--lm", "fake/model")
    assert code == -signal.SIGKILL, said
    name = only_run()
    assert f"--resume {name}" in said
    assert not Path("art").exists()
    again = run_json("compile", "--resume", name)
    asked = Counter(log.read_text().split()) + Counter(map(digest, prompts(model)))
    assert asked.keys() == expected.keys()
    assert sum((asked - expected).values()) <= threads
    assert Path("art/program.json").read_bytes() == (artefact / "program.json").read_bytes()
    same = ("before", "after", "chosen", "report", "plan")
    assert timeless({key: again[key] for key in same}) == timeless({key: undisturbed[key] for key in same})
    tokens = ("calls", "prompt_tokens", "completion_tokens")
    assert [again["spent"][key] for key in tokens] == [undisturbed["spent"][key] for key in tokens]
    assert again["spent"]["kept"] > 0
    assert list(runs_folder().iterdir()) == []


def timeless(value: Any) -> Any:
    """Without wall times."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key != "seconds"}
    return value


def failing_from(model: FakeLM, first: int, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the model fail from that call on."""

    def reply(request: Any) -> str:
        if len(model.engine.calls) >= first:
            raise error
        return knowing(request)

    monkeypatch.setattr(model.engine, "fn", reply)


def test_a_model_that_stops_answering_ends_it_and_it_goes_on(
    recipe: Path, cache: Path, model: FakeLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused from the middle on (a key that was withdrawn): no artefact from half a model, and nothing is lost."""
    whole = compiled(recipe, "whole")
    calls = len(prompts(model))
    failing_from(model, len(model.engine.calls) + calls // 2, LMAuthError("401: no"), monkeypatch)
    done = run("compile", recipe, "--out", "art", "--lm", "fake/model")
    assert done.exit_code == 2
    assert "stopped answering while the compile was under way" in done.stderr
    name = only_run()
    assert done.stderr.count(f"--resume {name}") == 2
    assert not Path("art").exists()
    before = len(prompts(model))
    monkeypatch.setattr(model.engine, "fn", knowing)
    again = run_json("compile", "--resume", name)
    assert 0 < len(prompts(model)) - before <= calls - calls // 2 + 1
    assert timeless(again["after"]) == timeless(whole["after"])


@pytest.mark.parametrize("strategy", ["bootstrap", "mipro", "gepa", "none"])
def test_one_question_that_always_fails_never_ends_a_run(
    strategy: str, workplace: Path, cache: Path, model: FakeLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question whose calls time out is a bad row; the others are compiled and scored, and the report counts it."""

    def reply(request: Any) -> str:
        if any(FACTS[bad][2] in prompt_text(request) for bad in (1, 5)) and "proposed" not in prompt_text(request):
            raise LMTimeoutError("timed out")
        return knowing(request)

    monkeypatch.setattr(model.engine, "fn", reply)
    options = {"mipro": {"num_trials": 1}, "gepa": {"max_metric_calls": 12}}.get(strategy, {})
    bad = write_recipe(workplace, strategy=strategy, strategy_options=options, program_options={"mode": "fused"})
    document = run_json("compile", bad, "--out", "art", "--lm", "fake/model")
    assert document["spent"]["failed"] > 0
    assert (document["after"]["dev"]["n"], document["after"]["dev"]["degraded"]) == (2, 1)
    assert read_manifest("art").notes["strategy"] == strategy


@pytest.mark.parametrize("at", [1, 4])
def test_a_full_disk_ends_it_and_it_goes_on(
    at: int, recipe: Path, cache: Path, model: FakeLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply that cannot be written ends it at once: further ones would be paid for and lost. With room it goes on."""
    whole = compiled(recipe, "whole")
    real, written = LineFile._write, 0

    def write(file: LineFile, data: bytes) -> None:
        nonlocal written
        written += 1
        if written > at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(file, data)

    with monkeypatch.context() as full:
        full.setattr(LineFile, "_write", write)
        done = run("compile", recipe, "--out", "art", "--lm", "fake/model")
    assert done.exit_code == 2
    assert "No space left on device" in done.stderr
    assert not Path("art").exists()
    before = len(prompts(model))
    again = run_json("compile", "--resume", only_run())
    assert len(prompts(model)) - before <= whole["spent"]["calls"] - (at - 1)
    assert timeless(again["after"]) == timeless(whole["after"])


def test_an_artefact_that_cannot_be_written_costs_nothing(
    recipe: Path, cache: Path, model: FakeLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the very end: one error, and going on pays for nothing."""

    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("reflective_rag.programs.artefacts.write_folder", full)
        done = run("compile", recipe, "--out", "deep/art", "--lm", "fake/model")
    assert done.exit_code == 2
    assert "the artefact cannot be written to" in done.stderr
    calls = len(prompts(model))
    again = run_json("compile", "--resume", only_run())
    assert len(prompts(model)) == calls
    assert again["spent"]["kept"] == again["spent"]["calls"]
    assert read_manifest("deep/art").model == "fake/model"


def test_replies_that_cannot_be_kept_are_told_before_anything_is_spent(
    recipe: Path, cache: Path, model: FakeLM
) -> None:
    """A cache folder that cannot be written: one error that names it, and the model is asked nothing of the compile."""
    cache.write_text("a file")
    done = run("compile", recipe, "--out", "art", "--lm", "fake/model")
    assert done.exit_code == 2
    assert "RRAG_CACHE" in done.stderr
    assert prompts(model) == []


@pytest.fixture
def stopped(recipe: Path, cache: Path, model: FakeLM, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a compile that ended early."""
    with monkeypatch.context() as patched:
        failing_from(model, 4, LMAuthError("401: no"), patched)
        assert run("compile", recipe, "--out", "art", "--lm", "fake/model").exit_code == 2
    monkeypatch.setattr(model.engine, "fn", knowing)
    return only_run()


def test_two_processes_do_not_go_on_with_one_compile(stopped: str) -> None:
    """The second is refused while the first is at work."""
    (calls,) = (runs_folder() / stopped).glob("calls-*.jsonl")
    with contextlib.closing(LineFile(calls, "held")):
        done = run("compile", "--resume", stopped)
    assert done.exit_code == 2
    assert "is being written by another run" in done.stderr
    assert run("compile", "--resume", stopped).exit_code == 0


def test_two_compiles_at_once_are_both_whole(recipe: Path, cache: Path) -> None:
    """Into one folder, each with replies of its own: both end well, and the artefact is that of one of them."""
    from reflective_rag.experiments.compile_begin import begun
    from reflective_rag.experiments.compiling import run_compile
    from reflective_rag.experiments.recipes import load_recipe

    orders = [begun(str(recipe), {}, lm="fake/model", out=Path("art"), **NOTHING) for _ in range(2)]
    models = [Model(name="fake/model", lm=fake_lm(knowing, delay=0.005)) for _ in orders]

    def work(number: int) -> Any:
        return run_compile(load_recipe(recipe), model=models[number], out=Path("art"), run=orders[number].run)

    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(work, range(2)))
    assert [report.after["dev"].summary()["em"]["mean"] for report in reports] == [1.0, 1.0]
    assert load_program("art", lambda query, k: []).name == "reflective"
    assert sorted(path.name for path in Path().iterdir() if "art" in path.name) == ["art"]


def test_changed_data_is_refused(stopped: str, workplace: Path, model: FakeLM) -> None:
    """Other questions would be paid for anew under an old name: the part that changed is named."""
    write_jsonl(workplace / "dev.jsonl", records(4, 1))
    before = len(prompts(model))
    done = run("compile", "--resume", stopped)
    assert done.exit_code == 2
    assert "the data `dev` has changed since it began" in done.stderr
    assert len(prompts(model)) == before


def test_a_limit_holds_over_all_attempts(
    workplace: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, recipe: Path
) -> None:
    """What earlier attempts paid counts; a higher limit may be given when it goes on."""
    lm = fake_lm(knowing, model="openai/gpt-4o-mini")
    monkeypatch.setattr(resolve, "_live", lambda spec, options: (lm, "chat"))
    total = run_json("compile", recipe, "--out", "whole", "--lm", "openai/gpt-4o-mini", "--max-cost", "1")["dollars"]
    limit = ("--max-cost", str(total * 0.6))
    assert run("compile", recipe, "--out", "art", "--lm", "openai/gpt-4o-mini", *limit).exit_code == 2
    name, before = only_run(), len(prompts(lm))
    done = run("compile", "--resume", name)
    assert done.exit_code == 2
    assert "the cost limit of $" in done.stderr
    assert len(prompts(lm)) - before <= 1
    assert run_json("compile", "--resume", name, "--max-cost", "1")["dollars"] == pytest.approx(total)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--resume", "nothing"), "no compile 'nothing' that could go on; there is none", id="none"),
        pytest.param(("--resume", ""), "no compile ''", id="empty"),
        pytest.param((), "give a recipe", id="neither"),
        pytest.param(("sample-mipro", "--resume", "x"), "leave out RECIPE", id="both"),
        pytest.param(("--resume", "x", "--lm", "a/b"), "leave out `--lm`", id="another model"),
    ],
)
def test_a_run_that_cannot_be_meant_is_one_error(
    arguments: tuple[str, ...], said: str, workplace: Path, cache: Path
) -> None:
    """Exit code 2, and what to do."""
    done = run("compile", *arguments)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_run_is_found_by_name_folder_and_mlflow_run(stopped: str) -> None:
    """A misspelt name says what was probably meant."""
    found = find_run(stopped)
    found.update(mlflow_runs=("0123abcd",))
    assert [find_run(name).name for name in (stopped, str(found.folder), "0123abcd")] == [stopped] * 3
    done = run("compile", "--resume", stopped[:-1] + "z")
    assert f"did you mean `{stopped}`" in done.stderr


def test_runs_of_another_folder_say_where_they_belong(
    stopped: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache is that of the whole machine; a run of the current folder is named alone."""
    out = find_run(stopped).order.out
    with pytest.raises(ConfigError) as here:
        find_run("nothing")
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    with pytest.raises(ConfigError) as there:
        find_run("nothing")
    assert f"(for `{out}`)" not in str(here.value)
    assert f"`{stopped}` (for `{out}`)" in str(there.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param("{", "`the whole`", id="cut off"),
        pytest.param('{"format": 1}', "`recipe`", id="a part is missing"),
        pytest.param(None, "`format` must be 1, got 2", id="newer"),
    ],
)
def test_a_damaged_run_names_the_field(stopped: str, content: str | None, said: str) -> None:
    """One error, with the file and the field."""
    path = runs_folder() / stopped / "run.json"
    path.write_text(content or json.dumps(json.loads(path.read_text()) | {"format": 2}))
    with pytest.raises(DataError, match=said):
        find_run(stopped)


def test_no_key_is_kept(recipe: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the model the folder holds name and settings, and a key that a reply repeats is removed."""
    key = "s" + "k-resume-0123456789abcdef"
    monkeypatch.setenv("FAKE_API_KEY", key)
    lm = fake_lm(lambda request: chat_reply(answer=f"my key is {key}", cited=[1]), model="fake/model")
    monkeypatch.setattr(resolve, "_live", lambda spec, options: (lm, "chat"))
    monkeypatch.setattr("reflective_rag.programs.artefacts.write_folder", lambda *args: 1 / 0)
    assert run("compile", recipe, "--out", "art", "--lm", "fake/model").exit_code == 1
    files = [path for path in cache.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if key.encode() in path.read_bytes()] == []


def test_a_compile_that_records_goes_on_from_its_recording(
    recipe: Path, cache: Path, model: FakeLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--record` the replies are in the user's own file, and `--resume` uses that."""
    with monkeypatch.context() as patched:
        patched.setattr("reflective_rag.programs.artefacts.write_folder", lambda *args: 1 / 0)
        assert run("compile", recipe, "--out", "art", "--lm", "fake/model", "--record", "my.jsonl").exit_code == 1
    calls = len(prompts(model))
    run_json("compile", "--resume", only_run())
    assert len(prompts(model)) == calls
    assert len(Recording.load("my.jsonl")) > 0


@pytest.mark.parametrize("changed", ["corpus", "artifact"])
def test_what_a_compile_reads_beside_its_questions_may_not_change(workplace: Path, cache: Path, changed: str) -> None:
    """Other passages, or another program to go on from, change every prompt: all of it would be paid for anew."""
    from reflective_rag.experiments.compile_begin import begun
    from reflective_rag.experiments.compile_runs import sources

    save_program(ReflectiveRAG(theta=0.5), workplace / "first")
    corpus = write_jsonl(workplace / "corpus.jsonl", records())
    own = {"corpus": [str(corpus)], "artifact": str(workplace / "first")}
    recipe = write_recipe(workplace, strategy="bootstrap", program_options=None, **own)
    order = begun(str(recipe), {}, lm="fake/model", out=Path("art"), **NOTHING)
    assert order.run is not None
    order.run.begin(sources(order.recipe))
    order.run.begin(sources(order.recipe))  # nothing has changed
    if changed == "corpus":
        write_jsonl(corpus, records(0, 2))
    else:
        save_program(ReflectiveRAG(theta=0.9), workplace / "first")
    with pytest.raises(DataError, match=f"the data `{changed}` has changed since it began"):
        order.run.begin(sources(order.recipe))


def test_a_recording_that_is_gone_ends_the_resume(workplace: Path, recipe: Path, cache: Path) -> None:
    """The replies that were paid for are in it: a new file would pay for them again."""
    from reflective_rag.experiments.compile_begin import begun

    order = begun(str(recipe), {}, lm="fake/model", out=Path("art"), **NOTHING)
    assert order.run is not None
    order.run.update(record="gone.jsonl")
    done = run("compile", "--resume", order.run.name)
    assert done.exit_code == 2
    assert "the recording `gone.jsonl` of the compile" in done.stderr
    assert not Path("gone.jsonl").exists()
