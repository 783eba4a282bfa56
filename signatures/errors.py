"""The errors of this library, one small tree.

    ReflectiveRAGError
    ├── ConfigError       a setting, recipe, model string or strategy that cannot work
    ├── DataError         a file, record, corpus, index or artefact that cannot be used
    ├── ContractError     a caller's retriever or metric returned something outside its contract
    ├── ReplayError       a replay was asked for a request that the recording does not hold
    └── BudgetExceeded    a hard limit on money or calls ended a compile

A message says what was expected, what came, and what to do. The command line prints the message alone and exits with 2.
"""


class ReflectiveRAGError(Exception):
    """Base class; catch it to handle every error this library raises on purpose."""


class ConfigError(ReflectiveRAGError, ValueError):
    """A setting cannot work. Raised before anything is spent."""


class DataError(ReflectiveRAGError, ValueError):
    """A file, record, index or artefact is missing, damaged or of another kind."""


class ContractError(ReflectiveRAGError, TypeError):
    """A callable handed in by the caller returned something outside its contract."""


class ReplayError(ReflectiveRAGError, LookupError):
    """A replay met a request that is not in its recording; the message shows the nearest recorded one."""


class BudgetExceeded(ReflectiveRAGError, RuntimeError):
    """A hard limit was reached; `limit` names it."""

    def __init__(self, message: str, *, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


def message_of(error: BaseException) -> str:
    """`str(error)`, also of a caller's exception whose `__str__` raises or gives no string."""
    try:
        return str(error)
    except Exception as failure:  # noqa: BLE001 - whatever it raises, the first error is what has to be told
        return f"its message cannot be had ({type(failure).__name__})"


def described(error: BaseException) -> str:
    """Class and message of any exception, `ValueError: no such field`; never raises."""
    return f"{type(error).__name__}: {message_of(error)}"
