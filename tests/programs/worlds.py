"""Small synthetic worlds: a corpus with repeats and noise, a retriever and a model that err in repeatable ways.

Everything follows from the seed, and each reply from the prompt alone, so that results cannot depend on threads.
"""

import hashlib
import json
import random
import re
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import dspy
from dspy.lm15 import Request

from reflective_rag.programs import Budget, ReflectiveRAG
from reflective_rag.signatures.text import tokenize
from reflective_rag.signatures.types import Passage
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, fields_of, json_reply, prompt_text

MODES = ("paired", "fused", "separate", "rules")
OUTPUTS = (
    "needs", "relevant", "contradictions", "outdated", "gaps", "sufficient", "answer", "cited", "relevance",
    "time_scope", "query", "support", "problem",
)  # fmt: skip
NAMES = {"en": ["Ada Lane", "Bruno Falk", "Cora Wind", "Dario Post"], "zh": ["林安", "周博", "陈可", "吴达"]}
TOWNS = {"en": ["Norburg", "Estwick", "Sundale", "Westmoor"], "zh": ["北堡", "东城", "南谷", "西原"]}
TODAY = date(2026, 11, 30)


@dataclass
class World:
    """One corpus, one question, one set of options, and a log of what was searched."""

    seed: int
    mode: str
    question: str
    corpus: list[Passage]
    options: dict[str, Any]
    broken_model: float
    malformed: float
    broken_search: float
    searched: list[str] = field(default_factory=list)
    found: list[list[Passage] | None] = field(default_factory=list)

    def search(self, query: str, k: int) -> list[Passage]:
        """The `k` passages with most words in common; fails for some queries."""
        self.searched.append(query)
        if chance(self.seed, "search", query).random() < self.broken_search:
            self.found.append(None)
            raise ConnectionError("the index is away")
        terms = set(tokenize(query))
        ranked = sorted(self.corpus, key=lambda p: -len(terms & set(tokenize(p.text))))
        result = [p for p in ranked if terms & set(tokenize(p.text))][:k]
        self.found.append(result)
        return result

    def reply(self, request: Request) -> str:
        """What the model writes: right, wrong, malformed, or nothing at all (it raises)."""
        dice = chance(self.seed, "reply", prompt_text(request))
        draw = dice.random()
        if draw < self.broken_model:
            raise RuntimeError("the model fell over")
        if draw < self.broken_model + self.malformed:
            return dice.choice(["I cannot tell.", "[[ ## answer ## ]] maybe", '{"sufficient": "yes"', "", "不知道。"])
        fields = {name: self._field(name, request, dice) for name in OUTPUTS if asks_for(request, name)}
        closing = request.messages[-1].text or ""
        return json_reply(**fields) if "JSON object" in closing else chat_reply(**fields)

    def _field(self, name: str, request: Request, dice: random.Random) -> Any:
        inputs = fields_of(request)
        count = len(re.findall(r"^\[\d+\] ", inputs.get("passages", ""), re.MULTILINE))
        some = sorted(dice.sample(range(1, count + 1), dice.randint(0, min(3, count)))) if count else []
        towns = TOWNS[self.options["language"]]
        kinds = ["missing_entity", "timeline", "conflict"]
        gap = {"kind": dice.choice(kinds), "need": "town", "query": self._query(dice), "importance": "high"}
        both = {"passage_a": 1, "quote_a": "in", "passage_b": 2, "quote_b": "born", "about": "town"}
        return {
            "needs": [{"need": f"fact {i}", "passages": some} for i in range(dice.randint(0, 3))],
            "relevant": dice.choice([some, some, [*some, 99]]),
            "contradictions": [both] if count > 1 and dice.random() < 0.15 else [],
            "outdated": some[:1] if dice.random() < 0.2 else [],
            "gaps": [gap] * dice.randint(0, 2),
            "sufficient": dice.choice(["yes", "no", "no"]),
            "answer": dice.choice([*towns, "unknown", "1850"]),
            "cited": dice.choice([some, [7]]),
            "relevance": dice.choice(["relevant", "partly", "irrelevant"]),
            "time_scope": dice.choice(["timeless", "now", "as_of"]),
            "query": self._query(dice),
            "support": dice.choice(["supported", "partially", "not_supported", "contradicted"]),
            "problem": "none",
        }[name]

    def _query(self, dice: random.Random) -> str:
        names = NAMES[self.options["language"]]
        return dice.choice([self.question, self.question.upper(), *(f"{name} {i}" for i, name in enumerate(names))])

    def program(self) -> ReflectiveRAG:
        """A fresh program over this world."""
        options = {k: v for k, v in self.options.items() if k != "language"}
        return ReflectiveRAG(self.search, mode=self.mode, today=TODAY, **options)

    def lm(self, **options: Any) -> FakeLM:
        """A fresh model with its own call log."""
        return fake_lm(self.reply, **options)

    @property
    def budget(self) -> Budget:
        """The hard limits of this world."""
        return Budget(**self.options.get("budget", {}))


def chance(*parts: Any) -> random.Random:
    """Dice that fall the same way for the same parts, in every process."""
    return random.Random(hashlib.sha256(repr(parts).encode()).hexdigest())


def make_world(seed: int, mode: str | None = None) -> World:
    """World number `seed`; without a mode the four take turns."""
    dice = chance("world", seed)
    language = dice.choice(["en", "zh"])
    corpus = _corpus(dice, language)
    name = dice.choice(NAMES[language])
    question = f"In which town was {name} born?" if language == "en" else f"{name}出生在哪个城市？"
    options: dict[str, Any] = {
        "language": language,
        "max_rounds": dice.randint(1, 4),
        "patience": dice.randint(1, 3),
        "theta": dice.choice([0.3, 0.6, 0.9]),
        "k": dice.randint(1, 4),
        "k_gap": dice.randint(1, 3),
        "max_passages": dice.randint(2, 6),
        "abstain": dice.random() < 0.3,
        "critics": {"support": dice.choice(["rules", "rules", "lm", "off"])},
        "budget": _budget(dice),
    }
    return World(
        seed=seed,
        mode=mode or MODES[seed % len(MODES)],
        question=question,
        corpus=corpus,
        options=options,
        broken_model=dice.choice([0, 0, 0, 0.1]),
        malformed=dice.choice([0, 0.1, 0.5]),
        broken_search=dice.choice([0, 0, 0.2]),
    )


def _corpus(dice: random.Random, language: str) -> list[Passage]:
    names, towns = NAMES[language], TOWNS[language]
    corpus = []
    for number, (name, town) in enumerate([(n, dice.choice(towns)) for n in names for _ in range(2)]):
        year = 1800 + dice.randint(0, 99)
        text = f"{name} was born in {town} in {year}." if language == "en" else f"{name}于{year}年出生在{town}。"
        published = date(2000 + dice.randint(0, 25), 1, 1) if dice.random() < 0.5 else None
        # Some ids clash, and some texts stand twice with other punctuation: indexes do that.
        corpus.append(Passage(id=f"p{number % 5}", text=text, published=published))
        if dice.random() < 0.4:
            corpus.append(Passage(id=f"copy{number}", text=text.upper().replace(".", " !")))
    dice.shuffle(corpus)
    return [] if dice.random() < 0.05 else corpus


def _budget(dice: random.Random) -> dict[str, Any]:
    return dice.choice(
        [
            {}, {}, {}, {},
            {"lm_calls": dice.randint(0, 6)},
            {"tokens": dice.choice([0, 300, 1500, 4000])},
            {"retrievals": dice.randint(0, 4)},
            {"seconds": 0.0},
            {"lm_calls": 5, "tokens": 3000, "retrievals": 3},
        ]
    )  # fmt: skip


def plain(prediction: dspy.Prediction) -> dict[str, Any]:
    """A prediction as JSON values, without the seconds, which no two runs share."""
    from reflective_rag.programs import result_of

    value: dict[str, Any] = json.loads(result_of(prediction).model_dump_json())
    for phase in value["usage"].values():
        del phase["seconds"]
    value["usage"] = {k: v for k, v in value["usage"].items() if v["calls"]}
    return value


__all__ = ["MODES", "TODAY", "World", "chance", "make_world", "plain"]
