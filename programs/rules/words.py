"""Stop words and cue words of English and Chinese for the rules.

Origin: written by hand from general knowledge of both languages (closed word classes, question words, a few everyday
relations). No list
was extracted or counted from a data set; which words to add was also judged by reading wrong answers on the train
parts of public QA sets.
The lists are kept short on purpose: a word belongs here only if it is common in questions of every domain.
"""

STOP_EN = frozenset(
    """a an the of in on at to for from by with without as and or but nor than then so such into onto about over under between among during
    is are was were be been being am do does did done doing has have had having will would shall should can could may might must
    this that these those it its he she they them him his her hers their theirs there here who whom whose which what when where why how
    i you we me my your our us not no up down out off also only very own too other another some any each every all both
    more most many much few if because while s t ever yet name called known following according upon along within per""".split()
)
"""English words that carry no content of their own."""

STOP_ZH = frozenset(
    """的 了 是 在 和 与 及 以及 或 或者 有 被 把 对 从 到 于 以 为 由 向 中 上 下 里 内 个 这 那 这个 那个 其 其中 此 该 之 而 且 并 并且
    也 都 就 还 又 再 所 给 让 使 将 等 吗 呢 吧 啊 着 过 地 得 谁 哪 哪个 哪些 哪里 哪儿 哪位 哪年 哪一年 哪一 哪种 哪家 哪部 哪座 哪所 哪国 哪天
    什么 什么样 甚么 何时 何地 何处 何人 何 多少 几 几个 怎么 怎样 如何 为什么 为何 是否 是不是 请问 一个 一 种 名 位 部 座 家 所 次 时候
    什么时候 多久 多长 多大 多高 多远 多重 几点 几时 几次 几天 怎么办 叫 叫做 称 称为 我 你 他 她 它 我们 他们 是从 就是 还是 不是 没有 有没有 关于 根据 通过 由于 因为 所以 但是 可以 能 会 要 分别 都是 大概 具体 年 月 日 这些 那些 用 来 已 已经 曾 曾经""".split()
)
"""Chinese words (as a segmenter cuts them) that carry no content of their own."""

WEAK_ZH = frozenset("时间 日期 地点 地方 名字 名称 年份 数量 原因 内容 情况 哪次 东西 方面 期间 时期".split())
"""Chinese nouns that only say what kind of answer is asked ("…的时间"); texts seldom repeat them, so they weigh little."""

WEAK_EN = frozenset("year date day time place kind type city country number person people name thing part".split())
"""English nouns that only say what kind of answer is asked."""

NEGATION_EN = frozenset(
    "not no never none neither nor cannot without n't isn't wasn't aren't weren't didn't doesn't don't hasn't hadn't won't".split()
)
"""English words that flip a statement."""

NEGATION_ZH = (
    "没有",
    "并非",
    "并不",
    "不是",
    "从未",
    "未曾",
    "尚未",
    "不再",
    "不得",
    "不会",
    "不能",
    "不属于",
    "不位于",
    "不存在",
    "未能",
    "未获",
    "无法",
    "禁止",
    "严禁",
    "不准",
    "不许",
    "不可以",
    "不支持",
)
"""Chinese phrases that flip a statement. The lone 不 is left out: it is inside too many ordinary words (不同, 不仅, 不少)."""

MONTHS = "January February March April May June July August September October November December".split()
MONTH_WORDS = frozenset(month.lower() for month in MONTHS) | frozenset(month[:3].lower() for month in MONTHS) | {"sept"}
WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())

NUMBER_WORDS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty
    thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion dozen half third quarter twice once""".split()
)

VERBS_EN = frozenset(
    """built won wrote made led sang began held took became plays ran gave got left met saw came went grew taught sold bought lost hosts
    wins writes makes contains includes lies covers holds owns owned found fought rose fell drew wore""".split()
)
"""English verb forms without -ed that often follow "which NOUN"."""

PLACE_NOUNS_EN = frozenset(
    """city country state town village county province region district continent place location nation island river mountain area capital
    borough municipality territory street neighborhood suburb birthplace""".split()
)
"""English nouns after "which" or "what" that ask for a place."""

PLACE_ENDINGS_ZH = "省市县区国州镇乡村岛湖河江山港洲郡路街府道"
"""Last characters of many Chinese place names."""

NUMBER_NOUNS_EN = frozenset(
    """population number percentage height length area price revenue age size distance capacity cost budget salary score amount proportion
    depth width weight temperature elevation altitude speed rate""".split()
)
"""English nouns after "which" or "what" that ask for a number."""

PERSON_NOUNS_EN = frozenset(
    """person man woman actor actress singer author writer director player president king queen artist musician rapper scientist architect
    politician general emperor composer producer""".split()
)
"""English nouns after "which" or "what" that ask for a person."""

OFFICES_EN = "president|prime minister|chancellor|ceo|chief executive|mayor|governor|chairman|chairwoman|chairperson|head coach|king|queen|pope|monarch"
OFFICES_ZH = "总统|总理|首相|主席|市长|省长|州长|国王|女王|教皇|首席执行官|CEO|董事长|校长|主教练|部长|书记|行长"
"""Offices whose holder changes: a present-tense question about one asks about now."""

BODIES_EN = frozenset(
    """university college school institute academy records pictures studios award awards prize library museum company corporation inc ltd
    county city river lake street church party island festival theatre theater press times magazine""".split()
)
"""English words in names of bodies, places and prizes: a name that holds one is no person."""

SMALLER_EN = frozenset(
    "older earlier earliest oldest first before smaller smallest fewer fewest less least lower lowest shorter shortest lighter cheaper cheapest".split()
)
LARGER_EN = frozenset(
    """younger later latest youngest last after recent recently larger largest bigger biggest more most higher highest longer longest taller tallest
    greater heavier deeper wider""".split()
)
AGE_EN = frozenset(
    "older oldest younger youngest earlier earliest later latest first before after last recent recently".split()
)
"""Comparatives that compare dates (or spans of time) rather than amounts."""

YOUNGER_ZH = ("年龄更小", "年纪更小", "岁数更小", "更年轻", "年轻")
SMALLER_ZH = (
    "更早",
    "较早",
    "先",
    "最早",
    "更老",
    "年长",
    "年龄更大",
    "年纪更大",
    "更小",
    "较小",
    "更少",
    "较少",
    "更低",
    "较低",
    "更短",
    "较短",
    "更矮",
    "更轻",
    "便宜",
)
LARGER_ZH = (
    "更晚",
    "较晚",
    "最晚",
    "后",
    "更年轻",
    "年轻",
    "更大",
    "较大",
    "更多",
    "较多",
    "更高",
    "较高",
    "更长",
    "较长",
    "更久",
    "更重",
    "更深",
    "更远",
)
AGE_ZH = ("早", "晚", "先", "后", "老", "年长", "年轻", "年龄", "年纪")

DEMONYM = r"[A-Z][a-z]+(?:an|ish|ese|ench|utch|eek|wiss|aeli|aqi|ani|elsh)"
"""Shape of most English adjectives of nationality (American, Spanish, Chinese, French); as a pattern, not a list of
nations."""

COMMON_NOUNS_EN = frozenset(
    "nationality occupation profession job genre sport religion position type kind cause medium style language color colour role".split()
)
"""Nouns asked for whose answer is a common noun or an adjective rather than a name."""

SURNAMES_ZH = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛"
    "闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤柯"
)
"""The hundred or so commonest Chinese family names of one character."""

TRANSLITERATION_ZH = (
    "阿埃艾爱安昂奥巴白班邦保贝本比彼别宾波伯博勃布查达大戴丹道德登邓狄迪蒂丁东杜敦多厄恩尔法范菲费芬丰冯佛弗福夫盖戈格葛贡古瓜哈海汉豪赫黑亨洪胡华怀惠霍基吉"
    "加贾简杰金京卡凯坎康考科克肯孔库夸拉莱兰朗劳勒雷里利丽莉莲林琳龙隆卢鲁路吕伦罗洛马玛迈麦曼芒毛梅门蒙米密明莫默墨姆穆纳娜南内尼妮宁纽农努诺欧帕派潘庞佩彭"
    "皮平泼普奇齐乔钦琼丘让热日荣瑞若萨塞桑瑟森沙莎山尚舍圣施什史士舒朔斯丝司松苏孙索塔泰坦汤特滕提廷图托脱瓦万旺威韦维魏温文翁沃乌吾西希锡夏香肖谢辛欣休雪"
    "逊雅亚延扬杨耶叶伊英尤于约泽曾扎詹张珍朱兹宗祖佐"
    "奎顿赛茨捷涅甘果雨柴缪黎蕾娅薇黛茜翰嘉裴坚蓬赖郎隋腓仁岑崔颇诗帖"
)
"""Characters that Chinese writes foreign names with, enough to find where a dotted name (玛丽·麦特琳) begins and ends."""
