"""`none`: change nothing; the baseline that a compile is compared with."""

from collections.abc import Mapping
from typing import Any

from reflective_rag.optimizers.strategies.base import Compiled, CompileTask, Plan


class NoCompile:
    """Return the program as it is."""

    name = "none"
    changes = "nothing"
    asks_model = False
    defaults: Mapping[str, Any] = {}

    def plan(self, task: CompileTask) -> Plan:
        """No calls."""
        return Plan(program_runs=0, calls_low=0, calls_high=0)

    def compile(self, task: CompileTask) -> Compiled:
        """A deep copy, so that a caller may change it."""
        return Compiled(program=task.program.deepcopy())
