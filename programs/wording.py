"""Whether two texts say the same in nearly the same words: which differences matter and which do not."""

import unicodedata
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

from reflective_rag.programs.rules.matching import has_cjk, stem
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.words import NEGATION_EN, NUMBER_WORDS
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.text import sentences

# A Chinese character, a word, a number with its sign, or a sign that makes another value of a number.
_WORD = late_pattern(
    r"[㐀-䶿一-鿿豈-﫿]|(?<![\w.,)])[-−](?=\d)|\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?|[%‰°$£€¥≥≤≠=<>±+#&²³½¼¾]"
)
_END = "\x1f"
_SIGNS = frozenset("-−%‰°$£€¥≥≤≠=<>±+#&²³½¼¾")

FILLERS = frozenset("a an the that which also 的 了 之".split())
"""Words whose presence changes nothing."""
DENYING = frozenset(
    """alleged allegedly reportedly supposedly claimed if unless may might could would false myth hoax rumor rumour
    denied denies untrue""".split()
)
"""English words that put into doubt what the rest of the sentence says."""
DENYING_ZH = frozenset("不没未非无否谣假误")
"""Chinese characters that deny or doubt. Some also stand in harmless words (非常); then both texts are kept."""
LIMITING = DENYING | frozenset(
    """only just almost nearly about former formerly ex late acting deputy hardly barely rarely except should planned
    expected proposed least most more less fewer before after until since over under up down
    partially partly vice twin stopped halted suspended again re un non pre post semi quasi pseudo anti""".split()
)
"""English words that make a sentence say something else."""
LIMITING_ZH = DENYING_ZH | frozenset("前原仅只曾将拟预或约副代近零〇一二两三四五六七八九十百千万亿第")
"""Chinese characters that make a sentence say something else: limits and numbers."""
LIMITING_WORDS_ZH = ("停止", "计划", "部分", "重新", "据称", "暂停", "取消")
"""Chinese words that do, whose characters by themselves do not."""
LONGEST_DIFFERENCE = 2000
"""Words of one difference, and a fifth as many sentences of a text, that are compared; beyond it texts count as
different."""
FEWEST = 3
"""Words of a text that can be called part of another one; "1889" stands in many."""


@dataclass(frozen=True)
class Wording:
    """A text as words, sentence by sentence."""

    sentences: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, text: str) -> "Wording":
        """The words of a text in their own case, fillers left out."""
        return _kept_wording(text) if len(text) <= 20_000 else _wording(text)

    @cached_property
    def folded(self) -> tuple[tuple[str, ...], ...]:
        """The same in lower case."""
        return tuple(tuple(word.casefold() for word in words) for words in self.sentences)

    @cached_property
    def line(self) -> str:
        """All words in lower case in one string, a mark between sentences, a space at both ends."""
        return f" {f' {_END} '.join(' '.join(words) for words in self.folded)} "

    @cached_property
    def cased(self) -> tuple[str, ...]:
        """All words as they are written, with the mark between sentences."""
        marked = [word for words in self.sentences for word in (*words, _END)]
        return tuple(marked[:-1])

    @property
    def size(self) -> int:
        """Number of words."""
        return sum(map(len, self.sentences))


def _wording(text: str) -> Wording:
    text = unicodedata.normalize("NFKC", text)
    found = ([w for w in _WORD.findall(s.text) if w.casefold() not in FILLERS] for s in sentences(text))
    return Wording(tuple(tuple(words) for words in found if words))


_kept_wording = lru_cache(maxsize=512)(_wording)


def is_inside(part: Wording, whole: Wording) -> bool:
    """Whether all of `part` stands in `whole`, word for word and in one piece.

    Not when it is half a sentence there whose other half denies it ("it is a myth that …"), nor when it cuts a name or
    an amount in two ("300" of "300 million", "York" of "New York").
    """
    at = whole.line.find(part.line) if part.sentences and len(part.line) <= len(whole.line) else -1
    if at < 0 or (part.size < FEWEST and part.line != whole.line):
        return False
    before = whole.line[whole.line.rfind(_END, 0, at + 1) + 1 : at].split()
    after = whole.line[at + len(part.line) :].split(_END, 1)[0].split()
    if any(_denies(word) for word in (*before, *after)) or "".join(before[-2:]) in LIMITING_WORDS_ZH:
        return False
    first = len(whole.line[:at].split())
    cased = whole.cased
    edges = [(part.sentences[0][0], cased[first - 1])] if before else []
    edges += [(part.sentences[-1][-1], cased[first + len(part.cased)])] if after else []
    return not any(_matters(next_.casefold()) or (own[0].isupper() and next_[0].isupper()) for own, next_ in edges)


def difference(a: Wording, b: Wording) -> tuple[bool, bool] | None:
    """Whether `a`, and whether `b`, has whole sentences of weight that the other lacks; None where they say two things.

    They do when a word stands for another one, or when a sentence of one has a number, name, negation or limiting word
    that it lacks in the other.
    """
    more = [False, False]
    edits = _edits(a.folded, b.folded, LONGEST_DIFFERENCE // 5)
    if edits is None:
        return None
    for kind, a1, a2, b1, b2 in edits:
        sides = a.sentences[a1:a2], b.sentences[b1:b2]
        if kind == "replace":
            if not _same_words(*([w for words in side for w in words] for side in sides)):
                return None
        else:
            more[0] |= any(_weighs(words) for words in sides[0])
            more[1] |= any(_weighs(words) for words in sides[1])
    return more[0], more[1]


def _same_words(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether two stretches of text differ in inflection and light additions only."""
    left, right = ([word.casefold() for word in words] for words in (a, b))
    edits = _edits(left, right, LONGEST_DIFFERENCE)
    return edits is not None and all(_light(a[a1:a2], b[b1:b2]) for _, a1, a2, b1, b2 in edits)


def _edits(a: Sequence[Hashable], b: Sequence[Hashable], most: int) -> list[tuple[str, int, int, int, int]] | None:
    """What turns `a` into `b`, in difflib's terms; None if more than `most` items are left between equal ends.

    difflib takes quadratic time, so that equal ends are cut off first.
    """
    shorter = min(len(a), len(b))
    head = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    tail = next((i for i in range(shorter - head) if a[-1 - i] != b[-1 - i]), shorter - head)
    left, right = a[head : len(a) - tail], b[head : len(b) - tail]
    if max(len(left), len(right)) > most:
        return None
    codes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return [(kind, a1 + head, a2 + head, b1 + head, b2 + head) for kind, a1, a2, b1, b2 in codes if kind != "equal"]


def _light(left: Sequence[str], right: Sequence[str]) -> bool:
    if left and right:
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(x.islower() and y.islower() and stem(x) == stem(y) for x, y in pairs)
    added = left or right
    return not _weighs(added, inside=True)


def _weighs(words: Sequence[str], *, inside: bool = False) -> bool:
    """Whether words carry a number, a name, a negation or a limit.

    A capital at the start of a whole sentence says nothing; `inside` one it does.
    """
    if any(_matters(word.casefold()) for word in words):
        return True
    if any(word[0].isupper() for word in words[0 if inside else 1 :]):
        return True
    text = "".join(words)
    if any(word in text for word in LIMITING_WORDS_ZH):
        return True
    return has_cjk(text) and bool(names(text))


def _matters(word: str) -> bool:
    if word[0].isdigit() or word in LIMITING or word in NUMBER_WORDS or word in LIMITING_ZH or word in _SIGNS:
        return True
    return _denies(word)


def _denies(word: str) -> bool:
    return word in NEGATION_EN or word.endswith(("n't", "n’t")) or word in DENYING or word in DENYING_ZH
