"""The commands: one module each, which holds the function `command`. Adding a name here adds the command."""

COMMANDS: dict[str, tuple[str, ...]] = {
    "Ask": ("ask", "index"),
    "Measure": ("evaluate", "compare", "bench"),
    "Improve": ("compile", "calibrate"),
    "Set-up": ("doctor",),
}
"""Panel of `--help` → names, in the order they are shown."""
