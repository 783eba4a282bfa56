import pytest

from reflective_rag.data.files.decoding import declared_encoding, decoded
from reflective_rag.data.files.document import Unreadable

ZH = "京张铁路是中国人自行设计和施工的第一条铁路干线。詹天佑任总工程师。"
TW = "京張鐵路是中國人自行設計和施工的第一條鐵路幹線，詹天佑任總工程師。"
EN = "The café — naïve résumé costs €5. It’s fine, “really”."
MIXED = "Leave policy 请假制度: workers have 25 days 带薪年假。\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (ZH, "utf-8"), (ZH, "utf-8-sig"), (ZH, "gb18030"), ("请假制度", "gb18030"), (ZH * 40_000, "gb18030"),
        (MIXED, "gb18030"), (ZH, "utf-16"), (ZH, "utf-16-le"), (EN, "utf-16-be"), (EN, "utf-16-le"), (ZH, "utf-32"),
        (TW, "big5"), (EN, "cp1252"), ("東京は日本の首都です。人口が多い。", "shift_jis"), ("plain ASCII", "ascii"),
    ],
    ids=lambda value: value if len(value) < 12 else value[:8],
)  # fmt: skip
def test_the_encoding_is_found(text: str, encoding: str) -> None:
    """By the byte order mark, as UTF-8, or guessed, in Chinese also for a few words."""
    assert decoded(text.encode(encoding))[0] == text


def test_line_ends_are_one() -> None:
    """Offsets count the same, whoever wrote the file."""
    assert decoded(b"a\r\nb\rc\nd")[0] == "a\nb\nc\nd"


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 8, b"PK\x03\x04\x00\x00", b"\xff\xfea"], ids=["all", "zip", "cut"]
)
def test_what_is_no_text_is_said_to_be_none(data: bytes) -> None:
    """A picture named .txt is left out with a reason, not indexed as letters."""
    with pytest.raises(Unreadable, match="no text in any encoding"):
        decoded(data)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b'<meta charset="gbk">', "gb18030"),
        (b"<meta http-equiv=Content-Type content='text/html; charset=Big5'>", "big5"),
        (b'<?xml version="1.0" encoding="shift_jis"?>', "shift_jis"),
        (b"<p>charset=gbk</p>", ""),
    ],
    ids=["html5", "html4", "xml", "text"],
)
def test_a_page_may_declare_its_encoding(head: bytes, name: str) -> None:
    """In a meta tag or an XML declaration, not in its text; GBK is read as what contains it."""
    assert declared_encoding(head) == name
