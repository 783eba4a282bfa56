"""Tiny data, recipes and models for tests of the command line."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dspy.lm15 import Request
from typer.testing import CliRunner, Result

from reflective_rag.experiments.cli import app
from reflective_rag.programs.lm.resolve import Model
from tests.fakes import FakeLM, chat_reply, fake_lm, fields_of, system_text

FACTS = (
    ("Ada Lovelace", "Ada Lovelace was born in London in 1815.", "Where was Ada Lovelace born?", "London"),
    ("Marie Curie", "Marie Curie was born in Warsaw in 1867.", "Where was Marie Curie born?", "Warsaw"),
    ("Niels Bohr", "Niels Bohr was born in Copenhagen in 1885.", "Where was Niels Bohr born?", "Copenhagen"),
    ("鲁迅", "鲁迅于1881年出生在绍兴。", "鲁迅出生在哪里？", "绍兴"),
    ("Max Planck", "Max Planck was born in Kiel in 1858.", "Where was Max Planck born?", "Kiel"),
    ("Emmy Noether", "Emmy Noether was born in Erlangen in 1882.", "Where was Emmy Noether born?", "Erlangen"),
)
"""Title, passage, question, answer."""

SECTIONS = ("data", "program_options", "strategy_options", "metric_options")


def run(*arguments: str | Path) -> Result:
    """Run `reflective-rag` with these arguments in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run_json(*arguments: str | Path) -> Any:
    """The JSON document that a command prints; it must end well and print nothing else on stdout."""
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def records(first: int = 0, count: int = len(FACTS)) -> list[dict[str, Any]]:
    """Records over `FACTS`, each with its own passage marked as supporting."""
    return [
        {
            "id": f"q{number}",
            "question": question,
            "answers": [answer],
            "passages": [{"id": f"p{number}", "title": title, "text": text, "supporting": True}],
        }
        for number, (title, text, question, answer) in enumerate(FACTS)
        if first <= number < first + count
    ]


def write_jsonl(path: Path, lines: Sequence[Any]) -> Path:
    """Objects as JSON, texts as they are, one a line."""
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def write_recipe(folder: Path, **changes: Any) -> Path:
    """A recipe over `FACTS` (controls on rules, tracking off); a value of None takes a key out."""
    write_jsonl(folder / "train.jsonl", records(0, 4))
    write_jsonl(folder / "dev.jsonl", records(4, 2))
    keys: dict[str, Any] = {
        "name": "tiny",
        "program": "reflective",
        "strategy": "controls",
        "tracking": "off",
        "embedder": "none",
        "data": {"train": "train.jsonl", "dev": "dev.jsonl"},
    } | changes
    if keys["strategy"] == "controls":
        keys.setdefault("strategy_options", {"max_rounds": 1})  # few rules to try: fast
    known = {key: value for key, value in keys.items() if value is not None}
    lines = [f"{key} = {json.dumps(value)}" for key, value in known.items() if key not in SECTIONS]
    for section in SECTIONS:
        if section in known:
            lines += [f"[{section}]", *(f"{key} = {_toml(value)}" for key, value in known[section].items())]
    path = folder / "recipe.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _toml(value: Any) -> str:
    """A value, or a table of values in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {json.dumps(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value)


def knowing(request: Request) -> str:
    """A model that knows `FACTS`, finds every evidence sufficient, and writes an instruction when it is asked to."""
    if "proposed_instruction" in system_text(request):
        return chat_reply(proposed_instruction="Answer in one word.")
    question = fields_of(request).get("question", "")
    answer = next((fact[3] for fact in FACTS if fact[2] == question), "unknown")
    judged = {"needs": [], "relevant": [1], "contradictions": [], "outdated": [], "gaps": [], "sufficient": "yes"}
    written = {"observations": "o", "summary": "s", "program_description": "p", "module_description": "m", "tip": "t"}
    return chat_reply(answer=answer, cited=[1], query="another query", **judged, **written)


def use_model(
    monkeypatch: Any, reply: Callable[[Request], str] = knowing, name: str = "fake/model", **options: Any
) -> FakeLM:
    """Let the command line find this model whatever is asked for."""
    lm = fake_lm(reply, model=name, **options)
    monkeypatch.setattr("reflective_rag.experiments.models.resolve_model", lambda *args, **kw: Model(name=name, lm=lm))
    return lm


def without(value: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """A copy without some keys."""
    return {key: item for key, item in value.items() if key not in keys}
