"""How an optional part is installed here: errors and notes name a command that works as it stands."""

from pathlib import Path


def install_hint(extra: str) -> str:
    """`pip install '.[local]'` in a checkout (its folders are links), with the package's name for the dot elsewhere."""
    import reflective_rag

    checkout = (Path(reflective_rag.__file__).parent / "programs").is_symlink()
    return f"pip install '{'.' if checkout else 'reflective-rag'}[{extra}]'"
