"""Words that exclude each other, and words that narrow what a statement is about. English and Chinese."""

from collections.abc import Iterator
from functools import lru_cache

from reflective_rag.programs.rules.matching import fold
from reflective_rag.signatures.patterns import late_pattern

_PAIRS_EN = (
    (
        r"increas\w*|rose|rises?|risen|grew|grows?|growth|gain(?:s|ed)?|climb(?:s|ed)?|surg(?:e|es|ed)",
        r"decreas\w*|fell|falls?|fallen|declin\w*|drop(?:s|ped)?|shr(?:ank|ink|inks|unk)|plung(?:e|es|ed)|los(?:t|es|s)",
    ),
    (r"born|birth", r"died|dies|death|deceased"),
    (r"before|prior\s+to", r"after|following"),
    (r"largest|biggest|greatest", r"smallest|least\s+populous"),
    (r"highest|tallest", r"lowest|shortest"),
    (r"longest", r"shortest"),
    (r"oldest|earliest", r"youngest|newest|latest"),
    (r"first", r"last|final"),
    (r"most", r"least|fewest"),
    (r"larger|bigger|greater", r"smaller"),
    (r"higher|taller", r"lower|shorter"),
    (r"older|earlier", r"younger|newer|later"),
    (r"more", r"fewer|less"),
    (r"open(?:s|ed|ing)?", r"clos(?:e|es|ed|ing|ure)|shut"),
    (r"began|begins?|begun|start(?:s|ed)?", r"end(?:s|ed)|finish(?:es|ed)?|ceas(?:e|es|ed)"),
    (r"won|wins?|winner", r"lost|loses?|loser|defeated\s+by"),
    (r"allow(?:s|ed)?|permit(?:s|ted)?|legal", r"forbid(?:s|den)?|ban(?:s|ned)|prohibit(?:s|ed)?|illegal"),
    (r"accept(?:s|ed)?|approv(?:e|es|ed)", r"reject(?:s|ed)?|refus(?:e|es|ed)"),
    (r"joined|joins?|entered", r"left|leaves?|quit"),
    (r"bought|buys?|acquir\w+|purchas\w+", r"sold|sells?"),
    (r"import(?:s|ed)?", r"export(?:s|ed)?"),
    (r"north(?:ern)?", r"south(?:ern)?"),
    (r"east(?:ern)?", r"west(?:ern)?"),
    (r"upper", r"lower"),
    (r"maximum", r"minimum"),
    (r"profits?", r"loss(?:es)?"),
    (r"married", r"divorced|unmarried"),
    (r"alive|living", r"dead"),
    (r"success(?:ful|fully)?|succeeded", r"fail(?:s|ed|ure)?|unsuccessful(?:ly)?"),
    (r"true", r"false"),
    (r"safe(?:ly)?", r"unsafe(?:ly)?|dangerous"),
    (r"healthy", r"unhealthy"),
    (r"known", r"unknown"),
    (r"likely", r"unlikely"),
    (r"available", r"unavailable"),
    (r"possible", r"impossible"),
    (r"stable", r"unstable"),
    (r"able", r"unable"),
    (r"lawful", r"unlawful"),
)
_PAIRS_ZH = (
    ("增加|增长|上升|上涨|提高|增至|增多|攀升", "减少|下降|下跌|降低|减至|下滑|回落|萎缩"),
    ("出生|生于|诞生", "去世|逝世|死于|病逝|卒于|死亡"),
    ("之前|以前", "之后|以后"),
    ("最大", "最小"),
    ("最高", "最低|最矮"),
    ("最长", "最短"),
    ("最早|首个|第一个|最老", "最晚|最新|最后一个|最年轻"),
    ("最多", "最少"),
    ("大于|高于|多于|超过", "小于|低于|少于|不足"),
    ("开放|开业|开通|启用", "关闭|停业|停用"),
    ("开始|启动", "结束|终止|停止"),
    ("获胜|胜利|赢得|击败", "失败|落败|输给|败给|不敌"),
    ("允许|合法", "禁止|不准|非法|违法"),
    ("同意|接受|批准", "拒绝|否决|反对"),
    ("加入", "退出|离开"),
    ("买入|收购|购买", "卖出|出售|抛售"),
    ("进口", "出口"),
    ("北部|北方", "南部|南方"),
    ("东部", "西部"),
    ("上游", "下游"),
    ("盈利|盈余", "亏损|赤字"),
    ("结婚", "离婚"),
    ("成功", "失败"),
    ("(?<!不)安全", "不安全|危险"),
)
_CLASSES = (
    *((late_pattern(rf"\b(?:{a})\b"), late_pattern(rf"\b(?:{b})\b")) for a, b in _PAIRS_EN),
    *((late_pattern(a), late_pattern(b)) for a, b in _PAIRS_ZH),
)

_SCOPES = late_pattern(
    r"\b(?:metropolitan|metro|urban|rural|suburban|greater|county|district|province|provincial|statewide|nationwide|national|domestic|worldwide|international|global|overseas|downtown"
    r"|estimated|estimates?|projected|projection|forecast|preliminary|provisional|revised|census|unofficial"
    r"|northern|southern|eastern|western|northeastern|northwestern|southeastern|southwestern|north|south|east|west|upper|lower|central|inner|outer"
    r"|q[1-4]|(?:first|second|third|fourth)[- ](?:quarter|half)|quarterly|monthly|weekly|daily|annual|yearly|cumulative|average|per capita|total|gross|net|original|opening"
    r"|men|women|men's|women's|male|female|boys|girls|junior|senior|doubles|singles|indoor|outdoor|home|away|direct|electric|hybrid|adults?|children|registered|employed"
    r"|planned|proposed|former|formerly|acting|interim|deputy|vice|honorary|co-founder|assistant|main|branch"
    r"|without|excluding|including|inclusive|exclusive|not counting|apart from)\b"
    r"|不含|不包括|不计|除外|连同|包括"
    r"|市区|城区|主城区|全市|市域|都会区|都市圈|郊区|农村|城镇|县域|全省|全国|全球|海外|国内|国际|估计|预计|预估|约计|普查|初步|修订"
    r"|北部|南部|东部|西部|中部|北段|南段|东段|西段|上游|下游|[一二三四1-4]季度|\d{1,2}月份|[上下]半年|第[一二三四]季|月均|年均|日均|人均|平均|累计|合计|总计|净|毛|同比|环比"
    r"|男子|女子|男性|女性|青年|少年|双打|单打|户籍|常住|流动|代理|副|名誉|前任|曾任|时任|规划|拟建|一期|二期|三期|主线|支线|首日|首周|单日|全年",
)


_RESTRICTION = late_pattern(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?|(?:public\s+|bank\s+)?holidays?|christmas|easter"
    r"|winter|summer|spring|autumn|night|nights|morning|afternoon|evening|midday|noon|except|unless|if|when|during|temporarily)\b"
    r"|(?:周|星期|礼拜)[一二三四五六日天末]|周末|节假日|工作日|冬季|夏季|春季|秋季|夜间|晚上|上午|下午|早上|中午|除非|如果|期间|暂时",
)


def restricted(a: str, b: str) -> bool:
    """Whether one of two texts holds only at a time or under a condition that the other does not name (on Mondays)."""
    ours, theirs = (frozenset(found.group() for found in _RESTRICTION.finditer(fold(text))) for text in (a, b))
    return ours != theirs


def opposed(a: str, b: str) -> str:
    """The first pair of antonyms that sets two texts against each other, as "x / y"; "" when there is none.

    Each text must hold one side only, so that "rose in May and fell in June" opposes nothing.
    """
    ours, theirs = _sides(fold(a)), _sides(fold(b))
    for index, (side, word) in ours.items():
        other = theirs.get(index)
        if other and other[0] != side:
            return f"{word} / {other[1]}"
    return ""


@lru_cache(maxsize=4096)
def _sides(folded: str) -> dict[int, tuple[int, str]]:
    return dict(_held(folded))


def _held(folded: str) -> Iterator[tuple[int, tuple[int, str]]]:
    for index, (left, right) in enumerate(_CLASSES):
        found = left.search(folded), right.search(folded)
        if found[0] and not found[1]:
            yield index, (0, found[0].group())
        elif found[1] and not found[0]:
            yield index, (1, found[1].group())


@lru_cache(maxsize=4096)
def scopes(text: str) -> frozenset[str]:
    """The words of a text that narrow what it is about: metropolitan, estimated, northern, second quarter, 市区, 普查."""
    return frozenset(found.group().replace("-", " ") for found in _SCOPES.finditer(fold(text)))
