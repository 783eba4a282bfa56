"""Everyday synonyms of English and Chinese; of the same origin, and kept short for the same reason, as `words`."""

SYNONYMS_EN = tuple(
    tuple(group.split())
    for group in (
        "born birth birthplace birthday",
        "die died death dead dies deceased",
        "write wrote written writer author authored writes",
        "screenwriter screenplay written writer wrote",
        "direct directed director directs",
        "win won winner winning wins victory",
        "found founded founder founding establish established establishment",
        "begin began begun start started beginning",
        "buy bought acquire acquired purchased",
        "build built constructed construction",
        "lead led leader leads",
        "sing sang sung singer performer performed",
        "compose composed composer music score",
        "produce produced producer",
        "locate located location situated",
        "marry married wife husband spouse",
        "king queen monarch",
        "make made maker created creator create",
        "film movie",
        "speak spoke spoken language",
        "nationality citizen citizenship country",
        "birthday birth",
        "genre style",
        "husband wife spouse",
        "child son daughter children",
        "father mother parent",
        "population inhabitants residents",
        "job profession occupation",
        "teach taught teacher",
        "study studied attend attended educated graduate graduated",
        "grow grew grown growth",
        "choose chose chosen selected",
        "biggest largest",
        "heavy weigh weighs weighed weight",
        "tall height",
        "deep depth",
        "wide width",
        "wear wore worn",
        "keep kept",
        "send sent",
        "pay paid",
        "sell sold",
        "bring brought",
        "break broke broken",
    )
)
"""Groups of English words of which any one stands for the others (irregular forms and everyday relations)."""

SYNONYMS_ZH = tuple(
    tuple(group.split())
    for group in (
        "去世 逝世 病逝 卒于 辞世 死亡 卒 死于 身亡",
        "出生 生于 诞生 出生于 出生地",
        "成立 创立 创办 建立 创建 始建",
        "位于 地处 坐落 所在",
        "作者 著 所著 撰写 编著",
        "导演 执导",
        "主演 出演 领衔主演 饰演 扮演 演",
        "现任 担任 出任 就任",
        "获得 夺得 荣获 赢得 获",
        "冠军 夺冠 折桂 金牌",
        "上映 公映 首映",
        "发布 推出 公布",
        "票房 票房收入",
        "妻子 丈夫 配偶 结婚",
        "毕业 毕业于 就读",
        "死亡 遇难 丧生",
        "举办 举行 召开",
        "职业 职务",
    )
)
"""Groups of Chinese words of which any one stands for the others."""
