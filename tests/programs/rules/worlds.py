"""Small invented worlds for the tests of the rules, English and Chinese side by side."""

from datetime import date

from reflective_rag.signatures.types import Passage


def passage(name: str, text: str, title: str = "", published: date | None = None) -> Passage:
    """A passage in few words."""
    return Passage(id=name, text=text, title=title, published=published)


LIBRARY_EN = (
    passage(
        "lib",
        "The Meridale Public Library was opened in 1936 by Helen Troost. It holds 240,000 volumes.",
        "Meridale Public Library",
    ),
    passage("tram", "The Meridale tram network has 42 stops and was designed by Otto Brandt.", "Meridale tram"),
    passage("bread", "Rye bread needs a long, slow bake. Salt keeps the crust firm."),
)

LIBRARY_ZH = (
    passage("lib", "青石图书馆于1936年由市长林德华创办，馆藏图书24万册，位于青石市东湖区。", "青石图书馆"),
    passage("tram", "青石电车共有42个车站，由工程师王立设计。", "青石电车"),
    passage("bread", "黑麦面包需要长时间低温烘烤，盐能让外皮保持坚实。"),
)

LIVES = (
    passage("lund", "Arvid Lund (3 March 1901 – 9 May 1980) was a Norwegian painter.", "Arvid Lund"),
    passage("ek", "Selma Ek (12 June 1899 – 1 May 1990) was a Swedish poet.", "Selma Ek"),
)

PEAKS = (
    passage("yun", "云顶山海拔2,310米，位于临川县。", "云顶山"),
    passage("wu", "雾灵峰海拔1,980米，位于青石市。", "雾灵峰"),
)

FILM = passage(
    "film", "The Silver Orchard is a 1954 film directed by Mara Quill and starring Joe Fenn.", "The Silver Orchard"
)
DIRECTOR = passage("quill", "Mara Quill (4 May 1911 – 2 June 1987) was an Irish film director.", "Mara Quill")

CENSUS = (
    passage("old", "In 2019 the population of Meridale was 81,200.", "Meridale", date(2019, 5, 1)),
    passage("new", "In 2024 the population of Meridale was 93,400.", "Meridale", date(2024, 5, 1)),
)
CENSUS_ZH = (
    passage("old", "2019年青石市的常住人口为812,000人。", "青石市", date(2019, 5, 1)),
    passage("new", "2024年青石市的常住人口为934,000人。", "青石市", date(2024, 5, 1)),
)

DISTRACTORS = tuple(
    passage(f"d{i}", text)
    for i, text in enumerate(
        (
            "Volcanic soil holds water well and suits vines.",
            "The committee met on Tuesday to approve the annual budget.",
            "Otters sleep while floating on their backs.",
            "Granite is cut with diamond wire.",
            "The second movement is marked andante.",
            "蜂鸟每秒拍翅数十次。",
            "铁路工人更换了枕木。",
            "A lighthouse keeper trims the wick at dusk.",
            "The recipe calls for two onions and some thyme.",
            "Snow leopards hunt at dawn.",
            "篮球比赛在雨中推迟。",
            "The printer ran out of paper before noon.",
        )
    )
)
