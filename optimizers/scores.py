"""Scores of one answer as pure functions: exact match, F1, containment, answer groups, retrieval recall, cost.

All are higher-is-better. `answers` are alternatives of which the best match counts. An empty `answers` means that
silence is right: 1 for a blank prediction, else 0. A blank prediction never matches a gold answer that is not blank.

Sources: English normal form, EM and F1 as in the SQuAD v1.1 script (Rajpurkar et al. 2016, evaluate-v1.1.py); the rule
for yes and no as in HotpotQA (Yang et al. 2018, hotpot_evaluate_v1.py); Chinese F1 as in CMRC 2018 (Cui et al. 2019,
cmrc2018_evaluate.py): the longest common run of tokens, where a token is a character, or a Latin word or number.
Where we differ from the scripts, the function says so.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher

from reflective_rag.signatures.errors import ConfigError, ContractError
from reflective_rag.signatures.text import Language, content_hash, language_of
from reflective_rag.signatures.types import Passage

_ARTICLES = {"a", "an", "the"}
_POLAR = {"yes": "yes", "no": "no", "noanswer": "none", "是": "yes", "是的": "yes", "否": "no", "不是": "no"}
_CJK = "㐀-䶿一-鿿豈-﫿"
_STRAY = re.compile(f"[{_CJK}]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_JOINING = re.compile(r"[-‐'’·]|(?<!\d)\.|\.(?!\d)")  # taken out without a gap, as the script does: covid-19, J·K
_CHINESE_TOKEN = re.compile(rf"[{_CJK}]|\d+(?:\.\d+)+|(?:(?![{_CJK}_])\w)+")


def normalize_answer(text: str, lang: Language | None = None) -> str:
    """The form in which answers are compared; `lang` defaults to the language of the text.

    English: lower case, punctuation and the articles a, an, the taken out, white space collapsed. Chinese: lower case,
    punctuation (full-width too) and all white space taken out; decimal points stay.
    Differs from the scripts: Unicode's compatibility form (NFKC) comes first, typographic punctuation goes as ASCII's
    does, and a text of articles or punctuation alone keeps them (the script makes "The The", "A" and "+" empty).
    """
    if (lang or language_of(text)) == "zh":
        return "".join(_chinese_tokens(text))
    return " ".join(_english_tokens(text))


def exact_match(prediction: str, answers: Sequence[str]) -> float:
    """1.0 if the normal forms of the prediction and an accepted answer are equal, else 0.0."""
    return _best(_equal, prediction, answers)


def f1(prediction: str, answers: Sequence[str]) -> float:
    """Harmonic mean of token precision and recall, 0..1: bags of words in English, longest common run in Chinese.

    A yes or no (also 是, 否) that meets anything but its like scores 0. Two blanks score 1 (SQuAD 2.0; v1.1 has 0).
    Differs from CMRC 2018: white space and any punctuation separate no tokens that count, and 1,000 equals 1000.
    """
    return _best(_f1, prediction, answers)


def containment(prediction: str, answers: Sequence[str]) -> float:
    """1.0 if an accepted answer stands in the prediction, else 0.0: whole words in English, a substring in Chinese.

    In Chinese a number or Latin word must not go on at the edges either: 21人 is not in 121人 (RGB's script finds it).
    It does not punish length or hedging, and a short gold ("no") is easily found by chance: report it beside F1.
    """
    return _best(_contains, prediction, answers)


def answer_groups(prediction: str, groups: Sequence[Sequence[str]], wrong_answers: Sequence[str] = ()) -> float:
    """Share of the groups of which an alias stands in the prediction, 0..1; 1 means the answer is complete.

    It is 0 when a wrong answer stands there too, unless that text is a part of an accepted alias, where the two cannot
    be told apart. No groups means silence is right. Source: RGB (Chen et al. 2024), RAMDocs (Wang et al. 2025).
    """
    if not groups:
        return float(not prediction.strip())
    aliases = [alias for group in groups for alias in group]
    planted = [wrong for wrong in wrong_answers if not any(containment(alias, [wrong]) for alias in aliases)]
    if planted and containment(prediction, planted):
        return 0.0
    return sum(containment(prediction, group) for group in groups) / len(groups)


def retrieval_recall(passages: Iterable[Passage | str], supporting_keys: Iterable[str]) -> float | None:
    """Share of the supporting passages (by `Passage.key`) among `passages`, 0..1; None where none is supporting."""
    wanted = set(supporting_keys)
    if not wanted:
        return None
    found = {passage.key if isinstance(passage, Passage) else content_hash(passage) for passage in passages}
    return len(wanted & found) / len(wanted)


def costed(quality: float, tokens: float, retrievals: float, lam: float, mu: float) -> float:
    """The score quality − λ·tokens/1000 − μ·retrievals. At most `quality`; not bounded below.

    Args:
        quality: A score 0..1.
        tokens: Prompt and completion tokens of the question.
        retrievals: Calls of the retriever.
        lam: Price of 1000 tokens in quality points, at least 0.
        mu: Price of one retrieval in quality points, at least 0.
    """
    for name, price in (("lam", lam), ("mu", mu)):
        if not 0 <= price < float("inf"):
            raise ConfigError(f"`{name}` must be a number of at least 0, got {price!r}.")
    return quality - lam * tokens / 1000 - mu * retrievals


def abstention_aware(quality: float, penalty: float, *, silent: bool) -> float:
    """The score of an answer that may be withheld: quality − penalty · (1 − quality), and of silence its quality alone.

    Silence is worth 0 where there is an answer and 1 where there is none, so with a penalty p an answer pays from a
    chance of p / (1 + p) to be right (Kalai et al. 2025). At most 1, at least −penalty.

    Args:
        quality: A score 0..1 that knows of abstention, see `metrics.grade`.
        penalty: Price of a wrong answer in quality points, at least 0.
        silent: Whether no answer was given.
    """
    if not 0 <= penalty < float("inf"):
        raise ConfigError(f"`penalty` must be a number of at least 0, got {penalty!r}.")
    return quality if silent else quality - penalty * (1 - quality)


def _best(score: Callable[[str, str, Language], float], prediction: str, answers: Sequence[str]) -> float:
    if not isinstance(prediction, str):
        raise ContractError(f"`prediction` must be a text, got {prediction!r}.")
    if isinstance(answers, str) or not all(isinstance(answer, str) for answer in answers):
        raise ContractError(f"`answers` must be a list of texts, got {answers!r}.")
    best = 0.0
    for answer in answers or [""]:
        if prediction.strip() and answer.strip():
            # One side decides for both: 2022 (no letters) against 2022年 is a Chinese pair.
            lang: Language = "zh" if "zh" in (language_of(answer), language_of(prediction)) else "en"
            best = max(best, score(prediction, answer, lang))
        else:
            best = max(best, float(prediction.strip() == answer.strip()))
    return best


def _equal(prediction: str, answer: str, lang: Language) -> float:
    return float(normalize_answer(prediction, lang) == normalize_answer(answer, lang))


def _f1(prediction: str, answer: str, lang: Language) -> float:
    said, meant = (_POLAR.get(normalize_answer(text, lang)) for text in (prediction, answer))
    if said != meant:
        return 0.0
    tokenize = _chinese_tokens if lang == "zh" else _english_tokens
    predicted, gold = tokenize(prediction), tokenize(answer)
    if lang == "zh":
        common = SequenceMatcher(None, gold, predicted, autojunk=False).find_longest_match().size
    else:
        common = (Counter(predicted) & Counter(gold)).total()
    return 2 * common / (len(predicted) + len(gold))


def _contains(prediction: str, answer: str, lang: Language) -> float:
    if lang == "zh":
        return float(re.search(_chinese_pattern(answer), " ".join(_chinese_tokens(prediction))) is not None)
    gold = _words(answer)
    core = [word for word in gold if word not in _ARTICLES]
    # Gold answers made of articles alone ("The The") are looked for with the articles in place.
    found = [word for word in _words(prediction) if not core or word not in _ARTICLES]
    return float(f" {' '.join(core or gold)} " in f" {' '.join(found)} ")


def _chinese_pattern(answer: str) -> str:
    gold = normalize_answer(answer, "zh")
    pattern = r" ?".join(map(re.escape, gold))
    for edge, before, after in (
        (r"\d", r"(?<!\d)(?<!\d\.)", r"(?!\d)(?!\.\d)"),
        (r"[a-z]", r"(?<![a-z])", r"(?![a-z])"),
    ):
        pattern = (before if re.match(edge, gold[0]) else "") + pattern + (after if re.match(edge, gold[-1]) else "")
    return pattern


def _words(text: str) -> list[str]:
    """Lower-case words without punctuation; a long dash parts words, a stray Chinese character is one itself."""
    lowered = _STRAY.sub(r" \g<0> ", unicodedata.normalize("NFKC", text).lower()).replace("—", " ")
    kept = [c for c in lowered if c not in string.punctuation and not unicodedata.category(c).startswith("P")]
    return "".join(kept).split() or lowered.split()


def _english_tokens(text: str) -> list[str]:
    words = _words(text)
    return [word for word in words if word not in _ARTICLES] or words


def _chinese_tokens(text: str) -> list[str]:
    lowered = unicodedata.normalize("NFKC", text).lower()
    return _CHINESE_TOKEN.findall(_JOINING.sub("", _THOUSANDS.sub("", lowered))) or lowered.split()
