"""What counts as yes and as no."""

from reflective_rag.programs.rules.matching import fold

_YES_NO = {
    "yes": True,
    "no": False,
    "true": True,
    "false": False,
    "是": True,
    "是的": True,
    "否": False,
    "不是": False,
    "不": False,
    "没有": False,
}


def yes_or_no(text: str) -> bool | None:
    """True for yes and 是, False for no and 否, None for any other text."""
    return _YES_NO.get(fold(text).strip(" .。!！"))
