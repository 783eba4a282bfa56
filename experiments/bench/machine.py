"""What a benchmark ran on; without it a figure means nothing."""

import os
import platform
from importlib.metadata import version
from typing import Any


def facts() -> dict[str, Any]:
    """Cores, load at the end of the run, Python and the libraries that matter."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cores": os.cpu_count(),
        "load": None if load is None else round(load, 2),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "dspy": version("dspy"),
        "reflective-rag": version("reflective-rag") if _installed() else "checkout",
    }


def _installed() -> bool:
    from importlib.metadata import PackageNotFoundError

    try:
        return bool(version("reflective-rag"))
    except PackageNotFoundError:
        return False
