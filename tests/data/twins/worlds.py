"""Small records for the tests of twins."""

from typing import Any

from reflective_rag.data.records import Record


def passage(number: int, text: str, supporting: bool = False, **keys: Any) -> dict[str, Any]:
    """A passage `p<number>`."""
    return {"id": f"p{number}", "text": text, "supporting": supporting, **keys}


def record(question: str, answers: list[str], *passages: dict[str, Any], **keys: Any) -> Record:
    """A record of the data set `world`."""
    known = {"id": keys.pop("id", question), "dataset": "world", "question": question, "answers": answers}
    return Record.model_validate({**known, "passages": list(passages), **keys})


FILLER = [
    passage(10 + i, text)
    for i, text in enumerate(
        (
            "The village lies on a river and has a small school for boys and girls.",
            "Its church was rebuilt after a fire and has two towers of red brick stone.",
            "The market takes place in spring and draws visitors from far away towns.",
            "A railway line once crossed the valley and was closed when the mine shut.",
        )
    )
]

POPULATION = record(
    "How many people live in Oberdorf?",
    ["4,812"],
    passage(1, "Oberdorf is a village. It has 4,812 inhabitants and lies beside a lake of the north.", True),
    *FILLER,
)
BORN = record(
    "When was Ada Miller born?",
    ["12 May 1871"],
    passage(1, "Ada Miller was born on 12 May 1871 in Leeds. She wrote 14 books.", True),
    *FILLER,
)
MAYOR = record(
    "Who is the mayor of Oberdorf?",
    ["Anna Berg"],
    passage(1, "Anna Berg is the mayor of Oberdorf. Anna Berg took office after 23 years as a teacher.", True),
    *FILLER,
)
MAYOR_TOO = record(
    "Who is the mayor of Niederdorf?", ["Karl Thal"], passage(1, "Karl Thal is the mayor.", True), *FILLER
)
MAYOR_ZH = record(
    "上村的村长是谁？",
    ["李明"],
    passage(1, "上村位于湖边。李明是上村的村长，村里有3200人。", True),
    passage(2, "这条河流经三个省份，沿岸风景优美，每年都有许多游客。"),
    passage(3, "这座教堂在一场大火之后重建，有两座红砖塔楼，十分壮观。"),
)
MAYOR_ZH_TOO = record(
    "下村的村长是谁？", ["王芳"], passage(1, "王芳是下村的村长。", True), passage(2, "下村有一所学校，学生很多。")
)
