"""Sentences that give orders to whoever reads the passage. They carry no evidence."""

import re
import unicodedata

from reflective_rag.signatures.patterns import late_pattern

_INVISIBLE = late_pattern(r"[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_TITLES_ZH = late_pattern(r"《[^》]{0,60}》")
_MAX = 2_000
"""Longest stretch that is looked at, in characters: an order is short."""

_READER = r"(?:you|(?:the|this|any|every|all|dear)\s+(?:language\s+|ai\s+)?(?:models?|assistants?|ai|llms?|reader|chatbots?|judges?|critics?|system))"
_MODAL = r"(?:must|should|shall|have\s+to|has\s+to|need\s+to|are\s+to|will|is\s+to|can\s+only)"
_SAY = r"(?:answer|respond|reply|say|output|print|return|repeat|write|state|mark|judge|rate|grade|report|conclude|treat|consider|declare|claim|ignore|disregard|forget)"
_START = r"(?:^|[.!?:;,\"“”'‘(\[<>*#|{}\n-]\s*|\b(?:please|now|just|and|then|kindly|simply|instead|always|must|should|immediately)\s+)"
_STRICT = r"(?:^\W*|[.!?:\"“\n]\s*|\b(?:please|now|just|simply|instead|must|should|immediately)\s+)"
_ROLE = r"(?:system|assistant|user|human|instructions?|prompt|admin|important\s+instructions?)"

_ORDERS_EN = late_pattern(
    rf"{_START}(?:ignore|disregard|forget|override|bypass|overlook|skip|discard)\s+(?:(?:all|any|the|your|my|these|those|every|everything|of|other|what)\s+){{0,3}}"
    r"(?:previous|above|prior|preceding|earlier|foregoing|other|existing|following|instructions?|context|passages?|evidence|prompts?|rules|documents?|sources?|question|is\s+above|said|before)\b"
    rf"|^\W*(?:\[|<\|?|#+\s*)?{_ROLE}(?:\s+(?:prompt|message|note|override))?\s*(?:\|?>|\])?\s*[:：]"
    rf"|<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|\[/?INST\]|<</?SYS>>|^\W*#+\s*{_ROLE}\b"
    rf"|\b{_READER}\s+{_MODAL}\s+(?:(?:now|only|always|not|never|please|therefore|just|instead)\s+)*{_SAY}\b"
    rf"|{_STRICT}(?:answer|respond|reply|output|print|return|repeat|say|write)\s+(?:(?:only|exactly|simply|always|just)\s+)*(?:with\b|that\b|[\"“‘':]|only\b|exactly\b|the\s+(?:question|following|word|phrase|user)|this\s+question|to\s+the\s+(?:question|user)|(?:yes|no|true|false)\b)"
    rf"|{_START}(?:say|claim|state|report|conclude|declare|mark|judge|rate|grade|treat|consider)\s+(?:that\s+)?(?:the|this|these|all|every)\s+(?:evidence|context|passages?|documents?|sources?|answer)"
    r"\s+(?:\w+\s+){0,2}(?:is|are|as|to\s+be|sufficient|relevant|enough|complete)\b"
    rf"|{_STRICT}(?:do\s+not|don['’]t|never)\s+(?:answer|use|trust|read|cite|rely|search|retrieve|mention|follow)\s+(?:on\s+)?(?:the|any|other|these|those|this|your|more|further)\b"
    r"|\byour\s+(?:new\s+|real\s+|only\s+)?(?:task|instructions?|role|system\s+prompt|goal)\s+(?:is|are)\b|\bnew\s+instructions?\s*[:：]"
    r"|\byou\s+are\s+(?:now\s+)?(?:an?|the)\s+(?:\w+\s+){0,2}(?:assistant|ai|language\s+model|chatbot|dan)\b"
    rf"|{_STRICT}(?:act\s+as|pretend\s+(?:that\s+you|you|to\s+be\s+an?\s+(?:ai|assistant|\w+\s+model)))\b|\bas\s+an\s+ai\s+(?:language\s+)?model\b",
    re.IGNORECASE,
)
_ANSWER_LINE = late_pattern(
    r"^\W*(?:(?:the\s+)?(?:correct|final|right|true|only|best)\s+answer\s*(?:is\b|[:：=])|answer\s*[:：=]|(?:the\s+)?answer\s+(?:is|to\s+(?:the|this|every|any|your)\s+question)\b"
    r"|(?:正确|标准|最终|参考|唯一)?(?:答案|回答)\s*(?:是|为|应为|应该是|[:：]))",
    re.IGNORECASE,
)
_SAY_ZH = r"(?:回答|回复|输出|答复|作答|打印|返回|重复|声称|判定|判断为|标记为|说)"
_ORDERS_ZH = late_pattern(
    r"(?:^|[，。！？；：、,!?;:“”\"'‘（(\s]|请|你|您|并|必须|务必|应|要)(?:请|先|现在|立即|完全)?(?:忽略|无视|忽视|忘记|忘掉|不要理会|不要管|不用管|不必理会|抛开|跳过|丢弃|放弃)(?:掉|了)?.{0,12}?"
    r"(?:以上|上面|上述|之前|前面|先前|此前|前述|其他|其它|原有|以下|指令|指示|提示|提示词|段落|规则|命令)"
    r"|(?:请|务必|必须|只需|(?:你|您)(?:必须|应该|应当|只能|要|务必|需要|只需))(?:你|您|务必|必须|只需|只能|只|仅|直接|一律|应该|应当|都|要|现在|立即|立刻|始终|总是|这样){0,4}"
    rf"{_SAY_ZH}(?=[:：，,“”\"'‘「『\s]|是|为|道|以下|下面|问题|[A-Za-z0-9]|证据|内容|$)"
    r"|^\W*(?:系统|助手|用户|指令|系统提示|系统消息|系统指令|提示词|管理员|新指令|重要指令)\s*[:：]"
    rf"|(?:请|你|并|且|就)(?:直接|必须|应)?{_SAY_ZH}.{{0,6}}(?:证据|上下文|段落|资料)(?:已经|已|是|都|均)?(?:非常|完全|足够|很)?(?:充分|足够|充足|相关)"
    r"|你(?:现在|从现在起)?是(?:一[个名位款])?.{0,6}(?:助手|助理|语言模型|大模型|机器人|人工智能)"
    r"|从现在(?:开始|起)[，,]?\s*(?:你(?!们)|请)|(?:不要|请勿|不得)(?:使用|引用|相信|参考|检索|搜索)(?:其他|其它|别的|以上|任何)(?:段落|资料|来源|证据|内容|信息)"
)

_CUES = (
    *"ignore disregard forget override bypass overlook skip discard system assistant user human instruction prompt admin <| inst] <<sys".split(),
    *"you model judge answer respond reply output print return repeat say claim state report conclude declare mark".split(),
    *"rate grade treat consider write never don act pretend".split(),
    "do not",
    *"忽略 无视 忽视 忘记 忘掉 不要 不用 不必 抛开 跳过 丢弃 放弃 请 务必 必须 只需 你 您 系统 助手 用户 指令 提示 管理员 回答 回复 输出 并 且 就 从现在 不得 答案".split(),
)
"""Of these every instruction holds one; looking for them first spares most sentences the patterns."""
_ANY_CUE = late_pattern("|".join(map(re.escape, _CUES)))


def is_instruction(sentence: str, before: str = "") -> bool:
    """Whether a sentence addresses its reader with an order: "ignore the above", "you must answer …", 请回答….

    Only the form decides. A bare "Answer: …" counts too, unless the sentence before it (`before`) is a question, as
    on a
    page of questions and answers. Words in 《》 are titles and give no orders. Linear in the length of the sentence.
    """
    text = _TITLES_ZH.sub("《》", _INVISIBLE.sub("", unicodedata.normalize("NFKC", sentence[:_MAX]))).strip()
    low = text.casefold()
    if _ANY_CUE.search(low) is None:
        return False
    if _ORDERS_EN.search(text) or _ORDERS_ZH.search(text):
        return True
    return _ANSWER_LINE.match(text) is not None and not before.rstrip().endswith(("?", "？"))
