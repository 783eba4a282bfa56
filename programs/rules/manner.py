"""Questions that a whole sentence answers: how do I …, what must I do if …, 如何…, …怎么办."""

import re

from reflective_rag.programs.rules.values import Span
from reflective_rag.signatures.patterns import late_pattern

_ASKED = late_pattern(
    r"^\W*how\s+(?:do|can|should|must|may|could|would)\s+(?:i|we|you|one|users?|employees|customers|members|staff)\b|^\W*how\s+to\b"
    r"|^\W*how\s+(?:is|are|can)\s+[^?]+\b(?:reset|restarted|started|returned|cleaned|opened|installed|cancelled|requested|changed|replaced|removed|submitted)\b"
    r"|\bwhat\s+(?:must|should|do|does|can|has|have|needs?|is|are)\s+(?:(?:i|we|you|one|to|be|staff|employees|users?|people)\s+){1,3}(?:have\s+to\s+)?(?:do|done)\b"
    r"|\bwhat\s+(?:happens|to\s+do)\b"
    r"|^(?:请问)?(?:我们?|你们?|您|员工|用户|客户|顾客|学生|会员|住户)?(?:应该?|要|可以|能|需要)?(?:如何|怎么|怎样)(?!样|会|了|死|来的|得名|评价|看待|称呼)"
    r"|(?:应该?|该|要|须|需要?)(?:如何|怎么|怎样|做什么|做些什么)|怎么办|步骤(?:是|有)",
    re.IGNORECASE,
)
STEP = late_pattern(
    r"(?:^|[,;:]\s+|\bthen\s+|\bto\s+)(?:please\s+)?(?:press|switch|open|close|click|choose|select|fill|stick|turn|hold|remove|insert|enter|drain|call|contact|ask"
    r"|send|write|go|put|use|take|check|wait|push|pull|connect|unplug|plug|log|sign|download|install|restart|run|set|tap|apply|submit|report|leave|keep|stop|inform"
    r"|wash|clean|rinse|lift|place|attach|scan|dial|bring|show|hand|give|pay|book|print|save|type|start|make|follow|read|replace|release|move|lock|empty)\b"
    r"|\b(?:must|should|needs?\s+to|have\s+to|has\s+to)\b"
    r"|(?<![申邀聘])请(?![假求帖])|须|应当|应该|必须|(?:^|[，,：])先(?![生后进前])|按住|按下|打开|关闭|点击|选择|填写|拨打|联系|拔下|插入|输入|长按|切断|即可",
    re.IGNORECASE,
)


def asks_manner(question: str) -> bool:
    """Whether a step, not a name or a value, is asked for."""
    return _ASKED.search(question) is not None


def steps(text: str) -> list[Span]:
    """The sentence itself where it tells somebody what to do, without its full stop."""
    if not STEP.search(text):
        return []
    piece = text.strip().rstrip(".。!！;；")
    start = text.find(piece)
    return [Span(piece, start, start + len(piece), "step")]
