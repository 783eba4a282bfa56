"""The project's own files: nothing private in them, and metadata that agrees with itself."""

import ast
import gzip
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import reflective_rag

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("signatures", "data", "programs", "optimizers", "experiments")
PYPROJECT_TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads(PYPROJECT_TEXT)
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")

# Each pattern holds a bracket, so that this file does not contain what it looks for.
HOSTS = (r"pyp[i]\.org", r"python[h]osted\.org", r"registry\.[n]pmjs", r"deb\.[d]ebian\.org", r"conda\.[a]naconda")
PATHS = (r"/[r]oot/", r"/[w]ork/", r"/[f]arm/", r"/home/[a-z]", r"/Users/[A-Za-z]", r"/tmp/[a-z]")
KEYS = (
    r"\bsk-[A-Za-z0-9_-]{20,}",
    r"\bhf_[A-Za-z0-9]{30,}",
    r"\bgh[pousr]_[A-Za-z0-9]{30,}",
    r"\bAKIA[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_-]{35}",
    r"\bxox[abprs]-[0-9A-Za-z-]{10,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY",
)
PRIVATE = re.compile("|".join([*HOSTS, *PATHS, *KEYS]))
UNREAD = {
    "numpy": "DSPy needs it and does not declare it",
    "optuna": "DSPy's MIPROv2 needs it and does not declare it",
    "pyspark": "MLflow's spark_udf needs it, for those who have Spark",
}
"""Declared but imported nowhere here, with the reason."""
UNLOCKED = {
    "pyspark": "half a gigabyte that needs Java too; its one test skips without it",
    "sentence-transformers": "it brings PyTorch, more than a gigabyte; its one test skips without it",
}
"""Declared but not in requirements.lock, with the reason."""


def git(*arguments: str) -> str:
    """What git prints; skips outside a git checkout."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs a git checkout and git")
    return done.stdout


def declared(*, groups: bool) -> dict[str, Requirement]:
    """Requirements by canonical name: those of the package and its extras, with `groups` also those of developers."""
    project: dict[str, Any] = PYPROJECT["project"]
    lines = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        lines += extra
    if groups:
        lines += PYPROJECT["dependency-groups"]["dev"]
    found = [Requirement(line) for line in lines]
    return {canonicalize_name(requirement.name): requirement for requirement in found}


def entries(section: str, key: str) -> list[str]:
    """The lines of the list `key` in a section of pyproject.toml, as written, without pure comments."""
    body = PYPROJECT_TEXT.split(f"\n[{section}]\n", 1)[1].split("\n[", 1)[0]
    listed = re.search(rf'^"?{re.escape(key)}"? = \[\n(.*?)^\]', body, re.MULTILINE | re.DOTALL)
    assert listed, f"no list `{key}` in [{section}]"
    return [line.strip() for line in listed[1].splitlines() if not line.strip().startswith("#")]


def test_no_file_holds_anything_private() -> None:
    """No tracked or new file names a package registry's host, a path of a developer's machine, or a key."""
    found = []
    for name in filter(None, git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")):
        path = ROOT / name
        if not path.is_file() or path.is_symlink():
            continue
        content = path.read_bytes()
        content = gzip.decompress(content) if name.endswith(".gz") else content
        if b"\0" in content[:4096]:
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            found += [f"{name}:{number}: {match[0]}" for match in PRIVATE.finditer(line)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("https://" + "pyp" + "i.org/simple", id="registry"),
        pytest.param("see /ro" + "ot/.cache", id="home of root"),
        pytest.param("/ho" + "me/ada/x", id="home"),
        pytest.param("key = 's" + "k-" + "a" * 24 + "'", id="model key"),
        pytest.param("h" + "f_" + "A1" * 17, id="hub token"),
        pytest.param("-----BEGIN RSA PRIV" + "ATE KEY-----", id="private key"),
    ],
)
def test_private_things_are_recognised(text: str) -> None:
    """The pattern above finds what it is for; a plain sentence with 'risk-' in it is no key."""
    assert PRIVATE.search(text)
    assert not PRIVATE.search("the risk-coverage-curve-of-a-selective-predictor at sk-test")


def test_every_locked_package_is_pinned_by_hash() -> None:
    """Each entry of requirements.lock is `name==version` with at least one sha256."""
    blocks = re.split(r"\n(?=\S)", LOCK.strip())
    wrong = [
        block.splitlines()[0]
        for block in blocks
        if not re.match(r"[a-z0-9._-]+==\S+.*--hash=sha256:[0-9a-f]{64}", block, re.DOTALL)
    ]
    assert not wrong, "\n".join(wrong)
    assert len(blocks) > 50


def test_the_lock_names_no_place() -> None:
    """requirements.lock holds no address, path or index option, so that it works with any mirror."""
    assert not re.search(r"://|\bfile:|^--|^-[a-z]|\s@\s|\.whl", LOCK, re.MULTILINE)


def test_the_lock_satisfies_the_declared_bounds() -> None:
    """Every declared dependency is locked at a version inside its bounds; otherwise run `make lock`."""
    locked: dict[str, str] = {
        canonicalize_name(name): version
        for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", LOCK, re.MULTILINE)
    }
    wrong = [
        f"{requirement} is locked at {locked.get(name)}"
        for name, requirement in declared(groups=True).items()
        if name not in UNLOCKED and (name not in locked or locked[name] not in requirement.specifier)
    ]
    assert not wrong, "\n".join(wrong)


def test_dependencies_are_what_the_code_imports() -> None:
    """Every third-party module the five folders import is declared; every declared one is imported or explained."""
    distributions = importlib.metadata.packages_distributions()
    known = set(declared(groups=False))
    used: set[str] = set()
    undeclared: dict[str, str] = {}
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for name in {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"reflective_rag"}:
                # Several distributions may share a module, as mlflow, mlflow-skinny and mlflow-tracing do.
                sources = {str(canonicalize_name(distribution)) for distribution in distributions.get(name, [name])}
                used |= sources
                if not sources & known:
                    undeclared.setdefault(name, str(path.relative_to(ROOT)))
    assert not undeclared, f"imported but not declared: {undeclared}"
    unread = sorted(known - used - set(UNREAD))
    assert not unread, f"declared but not imported: {', '.join(unread)}"


def test_dspy_is_never_asked_for_with_its_weaviate_extra() -> None:
    """`dspy[weaviate]` caps weaviate-client, and resolvers then walk DSPy back to 0.1.4; its bound stops that too."""
    dspy = declared(groups=True)["dspy"]
    assert dspy.extras == set()
    assert "0.1.4" not in dspy.specifier


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_package_is_made_of_links(folder: str) -> None:
    """`src/reflective_rag/X` is a relative link to the top-level folder X, and git stores it as a link."""
    link = ROOT / "src" / "reflective_rag" / folder
    assert link.is_symlink()
    assert link.readlink() == Path("..", "..", folder)
    assert git("ls-files", "--stage", str(link.relative_to(ROOT))).startswith("120000 ")


def test_a_checkout_without_links_says_what_to_do(tmp_path: Path) -> None:
    """Where git wrote text files instead of links, the import names the git setting and the wheel as ways out."""
    package = tmp_path / "reflective_rag"
    package.mkdir()
    package.joinpath("__init__.py").write_bytes(Path(reflective_rag.__file__).read_bytes())
    package.joinpath("programs").write_text("../../programs")
    done = subprocess.run(
        [sys.executable, "-c", "import reflective_rag.programs"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "git config core.symlinks true" in done.stderr
    assert "install the wheel" in done.stderr


def test_the_version_is_the_same_everywhere() -> None:
    """pyproject.toml, `reflective_rag.__version__` and the newest heading of the changelog agree."""
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest
    assert PYPROJECT["project"]["version"] == reflective_rag.__version__ == newest[1]


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("tool.ruff.lint", "ignore"),
        *(
            ("tool.ruff.lint.per-file-ignores", files)
            for files in PYPROJECT["tool"]["ruff"]["lint"]["per-file-ignores"]
        ),
        ("[tool.mypy.overrides]", "module"),
        ("project", "dependencies"),
        ("project.optional-dependencies", "local"),
        ("project.optional-dependencies", "models"),
        ("project.optional-dependencies", "serve"),
        ("dependency-groups", "dev"),
        ("dependency-groups", "frameworks"),
    ],
)
def test_every_exception_in_pyproject_has_its_reason(section: str, key: str) -> None:
    """Ignored lint rules, untyped third parties and bounds on versions each carry a reason on their own line."""
    assert [line for line in entries(section, key) if not re.search(r"# \S", line)] == []


def test_every_tolerated_warning_has_its_reason() -> None:
    """Warnings are errors in the tests; each one that is let through says which library is at fault."""
    listed = entries("tool.pytest.ini_options", "filterwarnings")
    assert listed[0].startswith('"error"')
    assert [line for line in listed[1:] if not re.search(r"# \S", line)] == []


def test_every_suppression_in_code_has_its_reason() -> None:
    """`noqa` and `type: ignore` name their rule and are followed by a reason."""
    marker = re.compile(r"# (?:noqa|type: ignore)\b(.*)$")
    fine = re.compile(r"(?::? ?[A-Z]+\d+(?:, ?[A-Z]+\d+)*|\[[a-z, -]+\])(?: - | +# ?)\S")
    wrong = []
    for path in (path for folder in (*FOLDERS, "tests") for path in sorted((ROOT / folder).rglob("*.py"))):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = marker.search(line)
            if found and path != Path(__file__) and not fine.match(found[1]):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not wrong, "\n".join(wrong)
