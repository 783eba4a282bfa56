"""What is written for machines and for looking up: e-mail addresses, telephone numbers, versions, file names, codes."""

import re
from functools import lru_cache
from typing import Literal

from reflective_rag.programs.rules.values import Span
from reflective_rag.signatures.patterns import late_pattern

Code = Literal["email", "web", "phone", "version", "file", "code"]

_I = re.IGNORECASE
_END = r"(?![A-Za-z0-9])"
_FILES = "csv|tsv|pdf|xlsx?|docx?|pptx?|txt|json|jsonl|xml|zip|gz|html?|png|jpe?g|svg|gif|md|ya?ml|toml|ini|cfg|conf|log|exe|msi|bat|py|js|sh|sql|db|env|key|pem"
_FORMS: tuple[tuple[Code, re.Pattern[str]], ...] = (
    ("email", late_pattern(r"[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")),
    ("web", late_pattern(r"(?:https?://|www\.)[A-Za-z0-9./_?=&%#~:+-]*[A-Za-z0-9/]", _I)),
    ("phone", late_pattern(r"(?<![A-Za-z0-9.-])(?:\+|00)?\(?\d{2,4}\)?(?:[ /-]?\(?\d{2,4}\)?){1,5}(?![A-Za-z0-9%])")),
    ("version", late_pattern(r"(?<![A-Za-z0-9.])v?\d+(?:\.\d+)+(?:[-+]?(?:alpha|beta|rc)[.\d]*)?(?![\d%])", _I)),
    ("file", late_pattern(rf"(?<![A-Za-z0-9_@/.])[A-Za-z0-9_][A-Za-z0-9_./-]*\.(?:{_FILES}){_END}", _I)),
    (
        "code",
        late_pattern(
            r"(?<![A-Za-z0-9@.-])(?=[A-Za-z0-9/_.-]*\d)(?=[A-Za-z0-9/_.-]*[A-Z])"
            rf"[A-Za-z0-9]+(?:[-_/.][A-Za-z0-9]+)*{_END}|(?<![A-Za-z0-9.,-])\d+(?:-\d+)*(?![A-Za-z0-9%年月日]|[.,]\d)"
        ),
    ),
)
_WHAT_EN = r"\b(?:what|which|under\s+what|at\s+what)\b[^?]*"
_WHAT_ZH = r"(?:是|为|叫|用|到|至|往|向)?(?:什么|多少|哪一?个|哪里|几|[？?]|$)"
_ASKED: tuple[tuple[Code, re.Pattern[str]], ...] = (
    (
        "email",
        late_pattern(
            rf"{_WHAT_EN}\be-?mail\b|邮箱(?:地址)?{_WHAT_ZH}|哪个(?:电子)?邮箱|电子邮件(?:地址)?{_WHAT_ZH}|什么邮箱|邮件[^，。]{{0,3}}(?:到|至|往|给)(?:哪|什么|谁)",
            _I,
        ),
    ),
    (
        "web",
        late_pattern(
            rf"{_WHAT_EN}\b(?:web\s?site|web\s+address|url|web\s+page)\b|网[址站](?:地址)?{_WHAT_ZH}|哪个网[站址]", _I
        ),
    ),
    (
        "phone",
        late_pattern(
            rf"{_WHAT_EN}\b(?:(?:tele)?phone|hotline|fax|mobile)\b[^?]*\??$|{_WHAT_EN}\bnumber\b[^?]*\b(?:call|dial|ring)\b"
            rf"|(?:电话|热线|手机|传真)(?:号码?)?{_WHAT_ZH}|(?:打|拨打)(?:什么|哪个)",
            _I,
        ),
    ),
    ("version", late_pattern(rf"{_WHAT_EN}\bversions?\b(?!\s+\d)|版本号?{_WHAT_ZH}|哪个版本|什么版本", _I)),
    ("file", late_pattern(r"\b(?:what|which)\s+file\b|\bfile\s?name\b|文件名|哪个文件|什么文件|保存为(?:什么|哪)", _I)),
    (
        "code",
        late_pattern(
            r"\bwhat(?:['’]s|\s+is|\s+are|\s+was)?\s+(?:the\s+|its\s+)?(?:[a-z-]+\s+){0,3}?(?:code|(?:serial|order|model|part|article|item|account|"
            r"room|invoice|customer|product|reference|registration|postal|contract|version)\s+(?:number|no\.?)|model|id|sku|password|pin)\b(?!\s+[A-Z]?\d)"
            rf"|(?:编号|代码|型号|货号|订货号|序列号|邮编|邮政编码|房间号|合同号|订单号|车牌号|账号|工号|学号|验证码|密码){_WHAT_ZH}",
            _I,
        ),
    ),
)
_CODE_NOUN = late_pattern(
    r"\b(?:passwords?|pin|sku|code|serial|order|model|article|invoice|customer|reference|registration|postal|contract|port)\b"
    r"|编号|代码|型号|订货号|货号|序列号|邮编|邮政编码|房间号|合同号|订单号|车牌号|账号|工号|学号|验证码|密码",
    _I,
)
_SENT = late_pattern(
    r"\bwhere\b.*\b(?:sent|send|submit\w*|go|goes|report\w*|apply|write|register|contact|e-?mail\w*|mailed|addressed)\b"
    r"|(?:发送?|提交|寄送?|投递?|邮件|申请|联系)[^，。]{0,6}(?:到|至|往|给)(?:哪|什么|何)",
    _I,
)
_MEANS = late_pattern(r"\bmeans?\b|表示什么|什么意思|代表什么", _I)
_PART = late_pattern(
    r"(?:(?<![A-Za-z])(?!RMB|EUR|USD|CNY|GBP|HKD|CHF|JPY)[A-Za-z]{1,8}|[\d@])-$|(?<![A-Z])(?!RMB|EUR|USD|CNY|GBP|HKD|CHF|JPY)[A-Z]{1,6}$"
)


def asked_code(question: str) -> Code | None:
    """The sort of code that a question asks for; None for any other question."""
    if _MEANS.search(question):
        return None
    return next((code for code, pattern in _ASKED if pattern.search(question)), None)


def asks_where_to_send(question: str) -> bool:
    """Whether an e-mail or web address answers where something is to be sent."""
    return _SENT.search(question) is not None


def names_code(question: str, text: str) -> bool:
    """Whether a sentence names the sort of code that is asked for (password, 编号): any number could be a code."""
    noun = _CODE_NOUN.search(question)
    return noun is None or noun.group().lower() in text.lower()


@lru_cache(maxsize=4096)
def codes(text: str, code: Code) -> tuple[Span, ...]:
    """The spans of one sort."""
    pattern = next(form for sort, form in _FORMS if sort == code)
    spans = [Span(found.group(), found.start(), found.end(), "code") for found in pattern.finditer(text)]
    if code == "phone":
        spans = [span for span in spans if 7 <= sum(map(str.isdigit, span.text)) <= 15]
    return tuple(spans)


def part_of_code(text: str, span: Span) -> bool:
    """Whether a number is a piece of an identifier or a telephone number: 450 of K-450, 0800 of 0800 555 0199."""
    if _PART.search(text, max(0, span.start - 10), span.start):
        return True
    whole = (*codes(text, "phone"), *codes(text, "email"), *codes(text, "file"), *codes(text, "web"))
    inside = any(
        each.start <= span.start and span.end <= each.end + 1 and len(each.text) > len(span.text) for each in whole
    )
    return inside or (span.text.count(".") > 1) or re.match(r"\.\d", text[span.end : span.end + 2]) is not None
