"""Self-RAG's critics without a model: [Retrieve] and [IsUSE] by rules, and the next sentence of a long answer.

[IsREL] and [IsSUP] by rules are those of every program (`rules`). English and Chinese.
"""

import re
from collections.abc import Sequence
from datetime import date

from reflective_rag.programs.beginnings import read_in_time
from reflective_rag.programs.judgements import is_refusal
from reflective_rag.programs.rules.deadline import GRACE, in_time
from reflective_rag.programs.rules.evidence import gather, merge
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.negation import negated
from reflective_rag.programs.rules.question import Question, analyse
from reflective_rag.programs.rules.relevance import grades
from reflective_rag.programs.rules.values import dates, numbers
from reflective_rag.programs.rules.words import NUMBER_WORDS
from reflective_rag.programs.rules.yes_no import yes_or_no
from reflective_rag.signatures.self_rag import Usefulness
from reflective_rag.signatures.text import Language, language_of, normalize
from reflective_rag.signatures.types import Draft, Passage

TELLS = 0.3
"""Share of the question's content that a sentence with its title must hold to be part of a long answer."""

RELEVANT = 0.2
"""Grade by rules from which a passage is relevant. Self-RAG drops what is not, where other programs only rank by it.

Chosen on the train parts of hotpotqa, rgb-zh (60 questions each), xquad-en and xquad-zh (48 each), k = 5, all by rules:
F1 .13 / .54 / .39 / .36 at .2, .13 / .49 / .39 / .36 at .3, .13 / .49 / .37 / .36 at .5.
"""

LONG_WORDS, LONG_CHARACTERS = 80, 160
"""Length from which an answer says too much (English words, Chinese characters)."""

_SMALL_TALK = re.compile(
    r"""(?:(?:hi|hello|hey|hiya|greetings|good\s(?:morning|afternoon|evening|night|day)|welcome)(?:\s(?:there|all|again|everyone))?
      | (?:many\s)?(?:thanks|thank\syou|thx|cheers)(?:\s(?:a\slot|so\smuch|very\smuch|again))?
      | (?:bye|goodbye|see\syou(?:\slater)?|take\scare|have\sa\s(?:nice|good)\s\w+)
      | (?:ok|okay|great|nice|cool|sure|fine|good\sjob|well\sdone|sorry|please|test)
      | how\sare\syou(?:\s(?:doing|today))* | how\sis\sit\sgoing | what\ss\sup | how\s(?:do\syou\sdo)
      | (?:who|what)\sare\syou | what\sis\syour\sname | what\scan\syou\sdo
      | (?:can|could)\syou\shelp(?:\sme)? | are\syou\s(?:a|an)\s\w+
      | nice\sto\smeet\syou | tell\sme\sa\sjoke
      | (?:你好|您好|嗨|哈喽|喂|早上好|上午好|中午好|下午好|晚上好|晚安|大家好)[啊呀吗]?
      | (?:非常|十分|多)?(?:谢谢|感谢|多谢)(?:你|您|了|啦|你的帮助|您的帮助)?
      | (?:再见|拜拜|回头见|明天见|辛苦了|不客气|没关系|对不起|抱歉|好的|好吧|收到|明白了|知道了|测试)
      | (?:你|您)(?:是谁|叫什么(?:名字)?|会(?:做)?什么|能(?:做)?什么|能帮(?:我|忙)吗?|最近?好吗|怎么样|在吗)
      | (?:给我)?(?:讲|说)个?笑话)(?:\s|吧|吗|啊|呀)*""",
    re.VERBOSE,
)
"""The whole of a question in normal form (`normalize`), several such pieces in a row too."""

_ARITHMETIC = re.compile(
    r"""(?:what(?:\s+is|['’]s)|calculate|compute|solve|how\s+much\s+is|请?计算(?:一下)?|算(?:一下|一算)?|求)?[\s:：]*
    (?=[^\d]*\d[^\d]*[\d])
    (?:[\d\s.,+\-*/×÷^%()（）=－＋−]|plus|minus|times|divided\s+by|multiplied\s+by|squared|cubed|加上?|减去?|乘以?|除以|的?平方)+
    (?:=|等于|是)?\s*(?:多少|几|什么|what)?\s*[?？。.!！]*""",
    re.IGNORECASE | re.VERBOSE,
)
_OPERATOR = re.compile(
    r"\d\s*[+*/×÷^＋−－-]\s*\d|plus|minus|times|divided|multiplied|squared|cubed|[加减乘除]|平方", re.IGNORECASE
)
_OPINION = re.compile(
    r"""\b(?:(?:what|how)\s+do\s+you\s+(?:think|feel)|do\s+you\s+(?:think|like|love|prefer|enjoy|believe|agree|have\s+a\s+favou?rite)
      |(?:what\s+is|what['’]s|in)\s+your\s+(?:opinion|favou?rite|view|advice)|should\s+i\b|would\s+you\s+rather
      |(?:write|compose|make\s+up)\s+(?:me\s+)?an?\s+(?:short\s+|funny\s+)?(?:poem|story|song|haiku|joke|limerick))
    |(?:你|您)(?:觉得|认为|喜欢|最喜欢|怎么看|的看法|的意见|的建议)|我(?:应该|该不该|要不要)|(?:写|作|编)(?:一)?(?:首|个|篇|段)(?:诗|故事|歌|笑话|作文)""",
    re.IGNORECASE | re.VERBOSE,
)

_TIME = re.compile(
    r"\b(?:centur(?:y|ies)|decade|ago|today|yesterday|spring|summer|autumn|winter|dynasty|age|era)\b"
    r"|世纪|年代|朝|代|今天|昨天|春|夏|秋|冬",
    re.IGNORECASE,
)
"""A time without a number."""

_PROBLEMS: dict[str, dict[Language, str]] = {
    "none": {"en": "it gives no answer", "zh": "没有给出回答"},
    "echo": {"en": "it only repeats the question", "zh": "只是重复问题"},
    "time": {"en": "it names no time", "zh": "没有给出时间"},
    "number": {"en": "it names no number", "zh": "没有给出数字"},
    "person": {"en": "it names no person", "zh": "没有给出人名"},
    "place": {"en": "it names no place", "zh": "没有给出地点"},
    "choice": {"en": "it takes neither option", "zh": "没有选择任何一项"},
    "yes_no": {"en": "it says neither yes nor no", "zh": "没有回答是或否"},
    "reason": {"en": "it explains too little", "zh": "解释过于简略"},
    "long": {"en": "it says much more than was asked", "zh": "内容远超所问"},
}


def needs_retrieval(question: str) -> bool:
    """Whether a question asks for facts: everything but small talk, arithmetic, and opinions about nothing by name.

    When in doubt it does: a needless search costs less than an answer from memory.
    """
    text = normalize(question)
    parts = _pieces(question)
    if _SMALL_TALK.fullmatch(text) or (parts and all(map(_SMALL_TALK.fullmatch, parts))):
        return False
    if _ARITHMETIC.fullmatch(question.strip()) and _OPERATOR.search(question):
        return False
    return not (_OPINION.search(question) and not _names_something(question))


def _pieces(question: str) -> list[str]:
    pieces = (normalize(piece) for piece in re.split(r"[,.!?;，。！？；~～]", question))
    return [piece for piece in pieces if piece]


def _names_something(question: str) -> bool:
    """Whether the question speaks of a name, a quotation, a date or a number beside its first word."""
    start = normalize(question)
    named = [entity for entity in analyse(question).entities if not start.startswith(normalize(entity))]
    return bool(named) or any(c.isdigit() for c in question)


def rate(question: str, answer: str, *, long: bool = False) -> tuple[Usefulness, str]:
    """Usefulness of an answer by its form, 1..5, and what is wrong with it ("" when nothing is).

    5 the kind of thing asked for (a date for "when", an option of "A or B", …); 4 nothing speaks against it; 3 it says
    too much, or a yes/no question gets neither word; 2 not the kind asked for, or it repeats the question; 1 no answer.
    Whether it is true is not asked.

    Args:
        question: The question.
        answer: The answer.
        long: Whether a long answer is wanted, which is not blamed for its length.
    """
    language = language_of(question)
    grade, problem = _rated(analyse(question), answer)
    size = len(answer) if language == "zh" else len(answer.split())
    if not long and int(grade) > 3 and size > (LONG_CHARACTERS if language == "zh" else LONG_WORDS):
        grade, problem = "3", "long"
    return grade, _PROBLEMS[problem][language] if problem else ""


def _rated(asked: Question, answer: str) -> tuple[Usefulness, str]:
    text = normalize(answer)
    if not text or is_refusal(answer):
        return "1", "none"
    if asked.kind == "choice":
        taken = [option for option in asked.options if normalize(option) in text or text in normalize(option)]
        return ("5", "") if taken else ("2", "choice")
    if asked.kind == "yes_no":
        says = yes_or_no(answer.split(",")[0].split("，")[0]) is not None or negated(answer)
        return ("5", "") if says else ("3", "yes_no")
    if f" {text} " in f" {normalize(asked.text)} " or (asked.language == "zh" and text in normalize(asked.text)):
        return "2", "echo"
    if asked.kind == "reason":
        size = len(text) if asked.language == "zh" else len(text.split())
        return ("4", "") if size >= 4 else ("3", "reason")
    return _of_kind(asked, answer)


def _of_kind(asked: Question, answer: str) -> tuple[Usefulness, str]:
    """Whether the answer holds the kind of thing that is asked for."""
    if asked.kind == "thing":
        return "4", ""
    if asked.kind in ("time", "number"):
        words = normalize(answer).split()
        held = bool(dates(answer) or numbers(answer)) or any(word in NUMBER_WORDS for word in words)
        held = held or (asked.kind == "time" and _TIME.search(answer) is not None)
    else:
        held = bool(names(answer)) or len(answer.split()) <= 3  # a lone word may be a name that is not known as one
    return ("5", "") if held else ("2", asked.kind)


def relevance_grades(question: str, passages: Sequence[Passage], today: date | None) -> dict[str, float]:
    """Passage id → how much it has to do with the question, on the scale of a probability: .5 is at `RELEVANT`."""
    asked = analyse(question, today)
    found = read_in_time(lambda read: grades(gather(asked, read)), passages)
    return {id_: round(_as_probability(grade), 4) for id_, grade in found.items()}


def _as_probability(grade: float) -> float:
    """0 → 0, `RELEVANT` → .5, 1 → 1, straight between."""
    return 0.5 * grade / RELEVANT if grade < RELEVANT else 0.5 + 0.5 * (grade - RELEVANT) / (1 - RELEVANT)


def next_sentence(question: str, so_far: str, passage: Passage, today: date | None) -> Draft:
    """The sentence of a passage that tells most of what is asked and does not stand in the answer yet; else empty."""
    return in_time("answer", lambda: _next_sentence(question, so_far, passage, today), Draft(answer=""), GRACE)


def _next_sentence(question: str, so_far: str, passage: Passage, today: date | None) -> Draft:
    evidence = gather(analyse(question, today), [passage])
    written = normalize(so_far)
    told = [
        (evidence.coverage(merge(line.own, page.title)), evidence.coverage(line.context), line)
        for page in evidence.pages
        for line in page.lines
        if normalize(line.text) not in written
    ]
    telling = [(context, line) for own, context, line in told if own >= TELLS]
    best = max(telling, key=lambda each: (each[0], -each[1].start), default=None)
    return Draft(answer=best[1].text, cited=(passage.id,)) if best else Draft(answer="")
