"""Verbs that have a direction, English and Chinese, in groups of one meaning, and every form of each."""

import re
from functools import cache

_VERBS_EN = (
    "acquire buy:bought:bought purchase",
    "beat:beat:beaten defeat outplay",
    "succeed",
    "replace",
    "teach:taught:taught mentor",
    "kill murder assassinate shoot:shot:shot",
    "employ hire",
    "sue",
    "invade conquer",
    "influence inspire",
    "invent",
    "write:wrote:written",
    "found",
    "discover",
    "compose",
    "arrest",
    "capture",
    "rescue",
    "adopt",
    "appoint",
    "nominate",
    "criticise criticize",
    "betray",
    "own",
)
"""Groups of verbs of one meaning: base form, and past and participle where they are irregular."""
_VERBS_ZH = (
    "收购 并购 买下",
    "击败 打败 战胜 力克",
    "取代 替代 顶替 接替",
    "杀害 杀死 刺杀 谋杀 枪杀 暗杀",
    "雇用 雇佣 聘用 聘请",
    "教导 教过",
    "起诉 控告",
    "入侵 侵略 吞并 征服",
    "影响 启发",
    "发明",
    "创办 创立 创建",
    "逮捕 抓获",
    "收养",
    "任命",
    "提名",
    "批评",
)
_TURNED = {"lost to": 1, "loses to": 1, "lose to": 1, "studied under": 4, "learned from": 4}
_TURNED_ZH = {"输给": 1, "败给": 1, "不敌": 1, "负于": 1, "师从": 5}
"""Words that say it from the other side, and the group (of the language) that they turn round."""
REPEATED = frozenset((1, 7, 8, 9, 15, 16, 17, 20, 21))
"""English groups of what the two sides may do to each other at another time: to beat, to sue, to criticise, …"""
REPEATED_ZH = frozenset((1, 6, 7, 8, 14, 15))


@cache
def forms_en() -> tuple[re.Pattern[str], dict[str, tuple[int, str]]]:
    """All forms, each with its group and what it can be: base, s, past, part, ing."""
    table: dict[str, tuple[int, str]] = {}
    for group, words in enumerate(_VERBS_EN):
        for word in words.split():
            base, _, irregular = word.partition(":")
            cut = base.removesuffix("e")
            past, _, part = irregular.partition(":")
            table |= {
                f"{cut}ing": (group, "ing"),
                base + ("es" if base.endswith(("ch", "sh", "s")) else "s"): (group, "s"),
                base: (group, "base"),
            }
            table |= {past or f"{cut}ed": (group, "past"), part or f"{cut}ed": (group, "part")}
            if not irregular or past == part:
                table[past or f"{cut}ed"] = (group, "both")
    table |= {words: (group, "turned") for words, group in _TURNED.items()}
    table["beat"] = (1, "past")
    every = "|".join(sorted((re.escape(form) for form in table), key=len, reverse=True))
    return re.compile(rf"\b(?:{every})\b", re.IGNORECASE), table


@cache
def forms_zh() -> tuple[re.Pattern[str], dict[str, tuple[int, str]]]:
    """All verbs, each with its group and whether it says it from the other side."""
    table = {word: (group, "both") for group, words in enumerate(_VERBS_ZH) for word in words.split()}
    table |= {word: (group, "turned") for word, group in _TURNED_ZH.items()}
    return re.compile("|".join(sorted(table, key=len, reverse=True))), table
