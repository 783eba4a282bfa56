"""ReflectiveRAG: retrieval-augmented answers that judge their evidence first."""

from pathlib import Path

__version__ = "0.1.0"

# In a checkout the sub-packages are symbolic links. Git on Windows writes them as text files unless it is told
# otherwise, and Python's own message ("No module named …") would not say why.
if Path(__file__).with_name("programs").is_file():
    raise ImportError(
        "this checkout of ReflectiveRAG holds text files where symbolic links should be, "
        "for example `src/reflective_rag/programs`. Run `git config core.symlinks true` and check out again "
        "(`git checkout -- src`), or install the wheel."
    )
