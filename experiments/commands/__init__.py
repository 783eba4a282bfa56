"""The commands: one module each, which holds the function `command`. Adding a name here adds the command."""

COMMANDS: dict[str, tuple[str, ...]] = {
    "Ask": ("ask", "index"),
    "Measure": ("data", "evaluate", "diagnose", "compare", "sweep", "report", "bench"),
    "Improve": ("compile", "calibrate"),
    "Artefacts": ("inspect", "diff", "promote"),
    "Set-up": ("doctor",),
}
"""Panel of `--help` → names, in the order they are shown."""
