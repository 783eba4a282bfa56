"""Try the installed wheel, away from the checkout: `python -I wheel_smoke.py CHECKOUT` (see try_wheel.sh).

Checks that nothing comes from the checkout, every module imports, every tracked file is installed as a real file,
the bundled sample is there, and the console script answers `--help` and `ask`, with run-time dependencies alone.
"""

import importlib
import importlib.resources
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

FOLDERS = ("signatures", "programs", "optimizers", "data", "experiments")


def main(checkout: Path) -> None:
    """Run every check; the first failure ends the run with its reason."""
    package = check_origin(checkout)
    check_modules()
    check_files(checkout, package)
    check_sample()
    check_console_script()
    print("the wheel works on its own")


def check_origin(checkout: Path) -> Path:
    """The package comes from the environment's site-packages; no path leads into the checkout."""
    import reflective_rag

    package = Path(reflective_rag.__file__).resolve().parent
    inside = [entry for entry in sys.path if Path(entry or os.curdir).resolve().is_relative_to(checkout)]
    expect(not inside, f"the checkout is on the path: {inside}")
    expect(package.parent.name == "site-packages", f"reflective_rag comes from {package}, not from site-packages")
    expect(package.joinpath("py.typed").is_file(), "py.typed is missing, so type checkers ignore the package")
    return package


def check_modules() -> None:
    """Every module of the package imports."""
    import reflective_rag

    names = [module.name for module in pkgutil.walk_packages(reflective_rag.__path__, "reflective_rag.")]
    for folder in FOLDERS:
        expect(f"reflective_rag.{folder}" in names, f"the package reflective_rag.{folder} is missing")
    for name in names:
        if not name.endswith(".__main__"):
            importlib.import_module(name)
    print(f"{len(names)} modules import")


def check_files(checkout: Path, package: Path) -> None:
    """Every tracked file of the five folders is installed, as a file of its own and with the same bytes."""
    listed = subprocess.run(
        ["git", "-C", str(checkout), "ls-files", "-z", *FOLDERS], check=True, capture_output=True, text=True
    )
    tracked = [name for name in listed.stdout.split("\0") if name and (checkout / name).is_file()]
    expect(bool(tracked), "git lists no files")
    for name in tracked:
        installed = package / name
        expect(installed.is_file() and not installed.is_symlink(), f"{name} is not in the wheel: see package-data")
        expect(installed.read_bytes() == (checkout / name).read_bytes(), f"{name} differs in the wheel")
    print(f"{len(tracked)} tracked files are installed")


def check_sample() -> None:
    """The bundled sample can be read through the package."""
    sample = importlib.resources.files("reflective_rag.data").joinpath("sample")
    files = [entry for entry in sample.iterdir() if entry.is_file()] if sample.is_dir() else []
    expect(bool(files), "the bundled sample is not in the wheel")
    for entry in files:
        expect(len(entry.read_bytes()) > 0, f"{entry.name} of the bundled sample is empty")
    print(f"the bundled sample has {len(files)} files")


def check_console_script() -> None:
    """`reflective-rag --help` lists its commands; `ask` answers from the bundled sample without model and network."""
    usage = run("--help")
    for command in ("ask", "compile", "evaluate"):
        expect(command in usage, f"`reflective-rag --help` does not name `{command}`:\n{usage}")
    sample = importlib.resources.files("reflective_rag.data").joinpath("sample", "dev.jsonl")
    records = [json.loads(line) for line in sample.read_text(encoding="utf-8").splitlines()]
    for language in ("en", "zh"):
        question = next(record["question"] for record in records if record["lang"] == language)
        answer = run("ask", "--lm", "rules", question)
        expect(bool(answer.strip()), f"`reflective-rag ask` printed nothing for {question!r}")
    print("the console script answers --help and ask, in English and Chinese")


def run(*arguments: str) -> str:
    """What the console script prints; its exit code must be 0."""
    script = Path(sys.executable).parent / "reflective-rag"
    offline = {"MLFLOW_DISABLE_TELEMETRY": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HF_HUB_OFFLINE": "1"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | offline
    command = [str(script), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=300)
    expect(done.returncode == 0, f"reflective-rag {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def expect(condition: bool, problem: str) -> None:
    """End the run with `problem` unless the condition holds (`assert` could be switched off)."""
    if not condition:
        sys.exit(f"wheel smoke test: {problem}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve())
