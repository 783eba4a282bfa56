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
