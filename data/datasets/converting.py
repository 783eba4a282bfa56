"""From a row as the hub has it to a record, one function a layout; and from the lines of RGB's files.

`hotpot` (HotpotQA; 2WikiMultiHopQA the same), shortened:

    {"id": "5a7a…", "question": "…", "answer": "Delhi", "type": "bridge", "level": "medium",
     "supporting_facts": {"title": ["Oberoi family", "The Oberoi Group"], "sent_id": [0, 0]},
     "context": {"title": ["Ritz-Carlton Jakarta", …], "sentences": [["The Ritz-Carlton …", …], …]}}

A field that is missing or of another form is a `LineError`: the hub's layout has changed.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reflective_rag.data.datasets.cards import Card, Layout
from reflective_rag.data.jsonl import LineError, brief
from reflective_rag.data.records import Record
from reflective_rag.signatures.text import content_hash

Row = Mapping[str, Any]


def to_record(card: Card, row: Row, number: int) -> Record:
    """The record of a row.

    Args:
        number: Of the row, from 0; for data sets whose rows have no id.

    Raises:
        LineError, ValidationError: The row is not of the layout.
    """
    values = _LAYOUTS[card.layout](row, number)
    about = {"dataset": card.name, "lang": card.languages[0], "license": card.licence}
    return Record.model_validate(values | about)


def rgb_record(row: Row, stem: str) -> Record:
    """The record of a line of RGB's data files (`en.json`, `zh_int.json`, `en_fact.json`, …).

    An answer is a text or a list of its parts, each a text or a list of aliases; all parts are needed, as in RGB's own
    `checkanswer`. Positives are texts or, in `…_int`, lists of texts; `…_fact` files add `positive_wrong`, where the
    answer was replaced by `fakeanswer`.

    Args:
        stem: The file's name without `.json`; the kind of task follows from it.
    """
    groups = _groups(_field(row, "answer"))
    name = f"rgb-{stem}"
    id_ = f"{name}-{_field(row, 'id')}"
    kinds = (
        ("positive", True, "positive"),
        ("positive_wrong", False, "counterfactual"),
        ("negative", False, "negative"),
    )
    passages = [
        {"text": text, "supporting": supporting, "label": label}
        for key, supporting, label in kinds
        for text in _flat(row.get(key) or [])
    ]
    planted = row.get("fakeanswer")
    return Record.model_validate(
        {
            "id": id_,
            "dataset": name,
            "question": _field(row, "query"),
            "answers": groups[0] if len(groups) == 1 else [" ".join(group[0] for group in groups)],
            "answer_groups": groups,
            "wrong_answers": [] if planted is None else _flat([planted]),
            "type": next((kind for end, kind in _RGB_KINDS.items() if stem.endswith(end)), "noise_robustness"),
            "passages": _numbered(passages, id_),
            "license": "CC BY-NC-SA 4.0",
        }
    )


_RGB_KINDS = {"_int": "information_integration", "_fact": "counterfactual_robustness"}


def _hotpot(row: Row, number: int) -> dict[str, Any]:
    context = _pairs(_field(row, "context"), "context", "title", "sentences")
    facts = _pairs(_field(row, "supporting_facts"), "supporting_facts", "title", "sent_id")
    needed = {title for title, _ in facts}
    id_ = str(row.get("id") or _field(row, "_id"))
    passages = [
        {"title": title, "text": _joined(sentences), "supporting": title in needed} for title, sentences in context
    ]
    extra = {key: row[key] for key in ("level", "evidences") if row.get(key)}
    return {
        "id": id_,
        "question": _field(row, "question"),
        "answers": [_field(row, "answer")],
        "type": row.get("type") or "",
        "passages": _numbered(passages, id_),
        "supporting_facts": [{"title": title, "sent_id": sentence} for title, sentence in facts],
        **extra,
    }


def _musique(row: Row, number: int) -> dict[str, Any]:
    id_ = _field(row, "id")
    paragraphs = _objects(_field(row, "paragraphs"), "paragraphs")
    passages = [
        {
            "title": each.get("title") or "",
            "text": _field(each, "paragraph_text"),
            "supporting": bool(_field(each, "is_supporting")),
        }
        for each in paragraphs
    ]
    answerable = bool(row.get("answerable", True))
    answers = dict.fromkeys([_field(row, "answer"), *(row.get("answer_aliases") or ())])
    return {
        "id": id_,
        "question": _field(row, "question"),
        "answerable": answerable,
        "answers": list(answers) if answerable else [],
        "type": id_.partition("__")[0],
        "passages": _numbered(passages, id_),
        "decomposition": list(row.get("question_decomposition") or ()),
    }


def _popqa(row: Row, number: int) -> dict[str, Any]:
    kept = ("prop", "subj", "obj", "s_pop", "o_pop", "s_wiki_title")
    return {
        "id": f"popqa-{_field(row, 'id')}",
        "question": _field(row, "question"),
        "answers": _listed(_field(row, "possible_answers"), "possible_answers"),
        "type": row.get("prop") or "",
        "passages": [],
        **{key: row[key] for key in kept if key in row},
    }


def _ramdocs(row: Row, number: int) -> dict[str, Any]:
    id_ = f"ramdocs-{number}"
    answers = _listed(_field(row, "gold_answers"), "gold_answers")
    documents = _objects(_listed(_field(row, "documents"), "documents"), "documents")
    passages = [
        {
            "text": _field(each, "text"),
            "supporting": _field(each, "type") == "correct",
            "label": each["type"],
            "doc_answer": each.get("answer"),
        }
        for each in documents
    ]
    return {
        "id": id_,
        "question": _field(row, "question"),
        "answers": answers,
        "answer_groups": [[answer] for answer in answers],
        "wrong_answers": _listed(row.get("wrong_answers") or [], "wrong_answers"),
        "type": "ambiguous" if len(answers) > 1 else "single",
        "passages": _numbered(passages, id_),
        "disambig_entity": _listed(row.get("disambig_entity") or [], "disambig_entity"),
    }


def _squad(row: Row, number: int) -> dict[str, Any]:
    answers = _field(row, "answers")
    if not isinstance(answers, Mapping) or "text" not in answers:
        raise LineError("answers", f"expected an object with `text`, got {brief(answers)}")
    context = _field(row, "context")
    # The paragraph's id comes from its text: many questions share one.
    passage = {"id": f"p-{content_hash(context)}", "title": row.get("title") or "", "text": context, "supporting": True}
    return {
        "id": _field(row, "id"),
        "question": _field(row, "question"),
        "answers": list(dict.fromkeys(answers["text"])),
        "type": "single_hop",
        "passages": [passage],
    }


_LAYOUTS: dict[Layout, Callable[[Row, int], dict[str, Any]]] = {
    "hotpot": _hotpot,
    "musique": _musique,
    "popqa": _popqa,
    "ramdocs": _ramdocs,
    "squad": _squad,
}


def _field(row: Row, name: str) -> Any:
    if row.get(name) is None:
        has = ", ".join(map(repr, row))
        raise LineError(name, f"expected a value, but the row has {has or 'nothing'}")
    return row[name]


def _objects(value: Any, field: str) -> Sequence[Row]:
    if not isinstance(value, Sequence) or not all(isinstance(each, Mapping) for each in value):
        raise LineError(field, f"expected a list of objects, got {brief(value)}")
    return value


def _pairs(value: Any, field: str, first: str, second: str) -> list[tuple[str, Any]]:
    """Columns `{"title": […], "sentences": […]}` as the hub has them, or the pairs of the original files."""
    if isinstance(value, Mapping) and {first, second} <= set(value):
        return list(zip(value[first], value[second], strict=True))
    if isinstance(value, Sequence) and not isinstance(value, str) and all(len(pair) == 2 for pair in value):
        return [(title, other) for title, other in value]
    raise LineError(field, f"expected `{first}` and `{second}`, got {brief(value)}")


def _listed(value: Any, field: str) -> list[Any]:
    """A list, also where the hub keeps it as JSON in a text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise LineError(field, f"expected a list, or one in JSON, got {brief(value)}") from None
    if not isinstance(value, list | tuple):
        raise LineError(field, f"expected a list, got {brief(value)}")
    return list(value)


def _groups(answer: Any) -> list[list[str]]:
    """Aliases of each part of an answer."""
    if isinstance(answer, str):
        return [[answer]]
    if not isinstance(answer, list) or not answer:
        raise LineError("answer", f"expected a text or a list that is not empty, got {brief(answer)}")
    return [[each] if isinstance(each, str) else [str(alias) for alias in each] for each in answer]


def _flat(values: Iterable[Any]) -> list[str]:
    return [text for value in values for text in ([value] if isinstance(value, str) else _flat(value))]


def _joined(sentences: Any) -> str:
    if isinstance(sentences, str):
        return sentences.strip()
    return " ".join(sentence.strip() for sentence in sentences if sentence.strip())


def _numbered(passages: Sequence[dict[str, Any]], record: str) -> list[dict[str, Any]]:
    """With ids; those without a text are left out."""
    return [
        {"id": f"{record}-p{number}", **passage} for number, passage in enumerate(passages) if passage["text"].strip()
    ]
