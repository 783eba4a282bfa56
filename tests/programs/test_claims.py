"""Claims of an answer: how it is cut, what becomes of each claim in a run, and what the reader is told."""

from collections.abc import Callable
from datetime import date
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from reflective_rag.programs import ReflectiveRAG
from reflective_rag.programs.claims import MAX_CLAIMS, split_claims
from reflective_rag.signatures.types import Passage
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, field_of
from tests.programs.worlds import make_world

TELL, TELL_ZH = "What is known of the Orlen Bridge?", "介绍一下奥伦桥。"

SPLITS = [
    pytest.param("When was Giotto born?", "1267", ("1267",), id="number"),
    pytest.param("What is the capital?", "Paris, France", ("Paris, France",), id="one place with a comma"),
    pytest.param("Who designed it?", "Otto Brandt and Mara Quill", ("Otto Brandt and Mara Quill",), id="not asked for"),
    pytest.param("Which towns?", "Tornby, Vey and Meridale", ("Tornby", "Vey", "Meridale"), id="list asked for"),
    pytest.param("When and where was he born?", "1267, Florence", ("1267", "Florence"), id="two questions in one"),
    pytest.param("Which days?", "May 5, 1914 and June 6, 1915", ("May 5, 1914", "June 6, 1915"), id="commas in dates"),
    pytest.param("Which sums?", "1,234 and 5,678", ("1,234", "5,678"), id="commas in numbers"),
    pytest.param("Which towns?", "The line serves Vey and Lund.", ("The line serves Vey and Lund.",), id="sentence"),
    pytest.param("List them", "1. Tornby\n2. Vey", ("Tornby", "Vey"), id="bullets"),
    pytest.param(
        "When was he born?",
        "According to the passages, he was born in 1267.",
        ("According to the passages, he was born in 1267.",),
        id="framing of a lone claim stays",
    ),
    pytest.param(
        TELL,
        "Yes. According to the passages, it is open. I hope this helps. It was built in 1931.",
        ("it is open.", "It was built in 1931."),
        id="yes and framing are no claims",
    ),
    pytest.param(
        TELL,
        "It was designed by Otto, and it was built in 1889.",
        ("It was designed by Otto", "it was built in 1889."),
        id="and it was",
    ),
    pytest.param(
        TELL,
        "It was designed by Otto Brandt and Mara Quill and opened in 1931.",
        ("It was designed by Otto Brandt and Mara Quill and opened in 1931.",),
        id="and between names",
    ),
    pytest.param(
        TELL,
        'He wrote "It is old; it is long", and Mara Quill designed it.',
        ('He wrote "It is old; it is long"', "Mara Quill designed it."),
        id="not inside a quotation",
    ),
    pytest.param(
        TELL,
        "The ferry between Paris and London was late; the other was early.",
        ("The ferry between Paris and London was late", "the other was early."),
        id="between A and B",
    ),
    pytest.param("这座桥何时建成？", "1931年", ("1931年",), id="zh number"),
    pytest.param("谁创办了它？", "林德华和张明", ("林德华和张明",), id="zh not asked for"),
    pytest.param("有哪些城市？", "北京、上海和广州", ("北京", "上海", "广州"), id="zh list asked for"),
    pytest.param(
        "有哪些作品？", "《罪与罚、甲》和《和平》", ("《罪与罚、甲》", "《和平》"), id="zh not inside a title"
    ),
    pytest.param("有哪些国家？", "中华人民共和国和马里", ("中华人民共和国", "马里"), id="zh not inside a word"),
    pytest.param(
        TELL_ZH, "奥伦桥于1931年建成，由奥托设计。", ("奥伦桥于1931年建成", "由奥托设计。"), id="zh two statements"
    ),
    pytest.param(TELL_ZH, "桥长三百米；塔高八十米。", ("桥长三百米", "塔高八十米。"), id="zh semicolon"),
    pytest.param(
        TELL_ZH,
        "在奥托的领导下，大桥于1931年建成。",
        ("在奥托的领导下，大桥于1931年建成。",),
        id="zh clause that leans on the next",
    ),
    pytest.param(
        TELL_ZH,
        "是的。根据资料，该馆由林德华创办。该馆藏书十二万册，并于1998年对外开放。",
        ("该馆由林德华创办。", "该馆藏书十二万册", "于1998年对外开放。"),
        id="zh yes, framing, and",
    ),
    pytest.param(
        TELL_ZH,
        "他说：“桥建成了。它很长。”然后他离开了。",
        ("他说：“桥建成了。它很长。”", "然后他离开了。"),
        id="zh not inside a quotation",
    ),
    pytest.param(TELL, "  ", (), id="nothing"),
    pytest.param(TELL, "Yes.", ("Yes.",), id="yes alone is the answer"),
    pytest.param(TELL_ZH, "是的。", ("是的。",), id="zh yes alone is the answer"),
]


@pytest.mark.parametrize(("question", "answer", "claims"), SPLITS)
def test_an_answer_is_cut_into_its_claims(question: str, answer: str, claims: tuple[str, ...]) -> None:
    """Sentences, joined statements and asked-for items are claims; names, dates and quotations stay whole."""
    assert split_claims(question, answer) == claims


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_long_answer_has_at_most_so_many_claims(language: str) -> None:
    """The last claim holds all the rest, so nothing of the answer goes unchecked."""
    one = "Tower {} was tall. " if language == "en" else "第{}座塔很高。"
    answer = "".join(one.format(i) for i in range(30))
    claims = split_claims(TELL, answer)
    assert len(claims) == MAX_CLAIMS
    assert "29" in claims[-1]
    assert "11" in claims[-1]


@pytest.mark.parametrize(
    "text", ["《", "“甲，", "and ", '"', "(", "1. ", "Yes, ", "有。", "是，", "a, b and ", "\u202e甲；"]
)
def test_claims_are_pieces_of_the_answer_whatever_it_is(text: str) -> None:
    """Unclosed marks and endless repeats give few, verbatim, ordered pieces."""
    answer = text * 3000
    claims = split_claims("Which towns? 哪些？", answer)
    position = 0
    for claim in claims:
        position = answer.index(claim, position) + len(claim)
    assert 1 <= len(claims) <= MAX_CLAIMS


# --- in a run -------------------------------------------------------------------------------------------------------

BRIDGE = Passage(
    id="bridge",
    title="Orlen Bridge",
    text="The Orlen Bridge was completed in 1931. It is painted green. It was designed by Otto Brandt.",
)
OTHER = Passage(id="other", title="Vey Tunnel", text="The Vey Tunnel opened in 1960. Bananas are yellow.")
BRIDGE_ZH = Passage(id="bridge", title="奥伦桥", text="奥伦桥于1931年建成。奥伦桥由奥托设计。桥身为绿色。")
OTHER_ZH = Passage(id="other", title="维河隧道", text="维河隧道于1960年通车。香蕉是黄色的。")
MANY = {
    "en": (
        "When was the Orlen Bridge completed and who designed the Orlen Bridge?",
        "The Orlen Bridge was completed in 1950. The Orlen Bridge was designed by Otto Brandt.",
        "The Orlen Bridge was completed in 1931. The Orlen Bridge was designed by Otto Brandt.",
        [BRIDGE, OTHER],
    ),
    "zh": (
        "奥伦桥何时建成，由谁设计？",
        "奥伦桥于1950年建成。奥伦桥由奥托设计。",
        "奥伦桥于1931年建成。奥伦桥由奥托设计。",
        [BRIDGE_ZH, OTHER_ZH],
    ),
}


def model(answer: str, repaired: str | None = None, support: Callable[[str], str] | None = None) -> FakeLM:
    """A model that finds the evidence perfect, drafts `answer`, and repairs it to `repaired`."""

    def reply(request: Request) -> str:
        if asks_for(request, "support"):
            assert support is not None
            verdict = support(field_of(request, "answer"))
            return chat_reply(
                problem="none" if verdict == "supported" else "another year stands there", support=verdict
            )
        if asks_for(request, "sufficient"):
            return chat_reply(
                needs=[{"need": "year", "passages": [1]}],
                relevant=[1],
                contradictions=[],
                outdated=[],
                gaps=[],
                sufficient="yes",
            )
        is_repair = "[[ ## draft ## ]]" in (request.messages[-1].text or "")
        return chat_reply(answer=repaired if is_repair and repaired is not None else answer, cited=[1])

    return fake_lm(reply)


def run(lm: FakeLM | None, question: str, corpus: list[Passage], **options: Any) -> dspy.Prediction:
    """One question over a corpus that is returned whole."""
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        return ReflectiveRAG(lambda query, k: corpus[:k], today=date(2026, 11, 30), **options)(question=question)


def message(result: dspy.Prediction, code: str) -> str:
    """The text of one warning; empty where it was not raised."""
    return next((w.message for w in result.warnings if w.code == code), "")


def repairs(lm: FakeLM) -> list[Request]:
    """The requests that asked for a repair."""
    return [r for r in lm.engine.requests if "[[ ## draft ## ]]" in (r.messages[-1].text or "")]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_one_false_claim_is_found_named_and_repaired(language: str) -> None:
    """The repair is told which claim fails and what stands instead; the new answer's claims are checked again."""
    question, false, true, corpus = MANY[language]
    lm = model(false, repaired=true)
    result = run(lm, question, corpus)
    (request,) = repairs(lm)
    problem = field_of(request, "problem")
    assert "1950" in problem
    assert "1931" in problem
    assert "Brandt" not in problem
    assert "奥托" not in problem
    assert result.answer == true
    assert [c.support for c in result.claims] == ["supported", "supported"]
    assert message(result, "unsupported_answer") == ""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_repair_that_helps_nothing_leaves_the_old_answer_and_its_warning(language: str) -> None:
    """One repair; if as many claims still fail the first answer stays, and the warning names the false claim."""
    question, false, _, corpus = MANY[language]
    lm = model(false, repaired=false.replace("1950", "1951"))
    result = run(lm, question, corpus)
    assert len(repairs(lm)) == 1
    assert result.answer == false
    assert [c.support for c in result.claims] == ["contradicted", "supported"]
    warned = message(result, "unsupported_answer")
    assert "1950" in warned
    assert "1931" in warned
    assert "Otto" not in warned
    assert "奥托" not in warned


def test_a_repair_with_fewer_false_claims_is_taken() -> None:
    """Better is better, even where it is not yet right."""
    question = "Which towns does the Orlen line serve?"
    corpus = [Passage(id="line", text="The Orlen line serves the towns Tornby, Vey and Meridale.")]
    result = run(model("Tornby, Halden and Lund", repaired="Tornby, Vey and Lund"), question, corpus)
    assert result.answer == "Tornby, Vey and Lund"
    assert [(c.claim, c.support) for c in result.claims] == [
        ("Tornby", "supported"),
        ("Vey", "supported"),
        ("Lund", "not_supported"),
    ]
    assert "Lund" in message(result, "unsupported_answer")
    assert "Tornby" not in message(result, "unsupported_answer")


def test_the_answer_is_as_sure_as_its_worst_claim() -> None:
    """One contradicted claim among true ones lowers confidence as a wholly contradicted answer does."""
    question, false, true, corpus = MANY["en"]
    mixed, right, wrong = (
        run(model(answer), question, corpus, repair=False).confidence
        for answer in (false, true, "The Orlen Bridge was completed in 1950.")
    )
    assert mixed == wrong < right


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_model_checks_the_claims_one_call_each_side_by_side(language: str) -> None:
    """With `lm` every claim gets its own verdict from a prompt that holds that claim alone."""
    question, false, _, corpus = MANY[language]
    lm = model(false, support=lambda claim: "contradicted" if "1950" in claim else "supported")
    result = run(lm, question, corpus, critics={"support": "lm"}, repair=False)
    asked = [field_of(r, "answer") for r in lm.engine.requests if asks_for(r, "support")]
    assert sorted(asked) == sorted(split_claims(question, false))
    assert len(asked) == 2
    assert [(c.support, c.problem) for c in result.claims] == [
        ("contradicted", "another year stands there"),
        ("supported", ""),
    ]
    assert result.usage["check"].calls == 2


def test_a_lone_claim_is_checked_as_it_was_written() -> None:
    """An answer of one claim goes to the model unchanged, framing included."""
    answer = "According to the passages, the Orlen Bridge was completed in 1931."
    lm = model(answer, support=lambda claim: "supported")
    result = run(lm, "When was the Orlen Bridge completed?", [BRIDGE], critics={"support": "lm"})
    assert [field_of(r, "answer") for r in lm.engine.requests if asks_for(r, "support")] == [answer]
    assert [c.claim for c in result.claims] == [answer]


def test_an_unreadable_verdict_is_no_no() -> None:
    """It is counted and said, asks for no repair, and the other claims keep theirs. Rules judge it where they may."""
    question, _, true, corpus = MANY["en"]
    lm = model(true, support=lambda claim: "perhaps" if "1931" in claim else "supported")
    assert [c.support for c in run(lm, question, corpus, critics={"support": "lm"}).claims] == ["supported"] * 2
    result = run(lm, question, corpus, critics={"support": "lm"}, fallback=())
    assert [c.support for c in result.claims] == [None, "supported"]
    assert repairs(lm) == []
    assert result.unparsed >= 1
    assert "could not be read" in message(result, "unsupported_answer")


def test_a_refused_check_falls_to_the_rules() -> None:
    """Where the budget ends between two claims, the rules judge the one that is left."""
    question, false, _, corpus = MANY["en"]
    lm = model(false, support=lambda claim: "supported")
    result = run(lm, question, corpus, critics={"support": "lm"}, repair=False, budget={"lm_calls": 3})
    assert len(lm.engine.calls) == 3
    assert [c.support for c in result.claims] == ["supported", "supported"]


def test_a_claim_that_lost_its_subject_needs_a_sentence_about_what_is_asked() -> None:
    """A tunnel opened in 1960; "it was opened in 1960" in an answer about a bridge is not fully supported by that."""
    answer = "The Orlen Bridge was completed in 1931, and it was opened in 1960."
    corpus = [BRIDGE, Passage(id="tunnel", text="The tunnel was opened in 1960.")]
    result = run(model(answer), "When was the Orlen Bridge completed?", corpus, repair=False)
    assert [c.support for c in result.claims] == ["supported", "partially"]
    assert result.claims[1].citations == ()


def test_without_a_check_there_are_no_claims() -> None:
    """Switched off, nothing is judged; the citations are there all the same."""
    question, _, true, corpus = MANY["en"]
    result = run(model(true), question, corpus, critics={"support": "off"})
    assert result.claims == ()
    assert len(result.citations) == 2


def test_an_abstention_claims_nothing() -> None:
    """An abstaining result has no claims and no citations."""
    result = run(model("unknown"), TELL, [BRIDGE])
    assert (result.abstained, result.claims, result.citations) == (True, (), ())


def test_every_claim_cites_verbatim_and_the_result_cites_their_union() -> None:
    """Over the worlds: each claim's spans stand in passages that were read; failing claims have none."""
    cited = 0
    for seed in range(0, 160, 3):
        world = make_world(seed)
        with dspy.context(lm=world.lm(), adapter=dspy.ChatAdapter()):
            result = world.program()(question=world.question)
        texts = {p.id: p.text for p in result.passages}
        spans = [citation for claim in result.claims for citation in claim.citations]
        for span in spans:
            assert texts[span.passage_id][span.start : span.end] == span.quote != "", seed
        for claim in result.claims:
            assert claim.support not in ("not_supported", "contradicted") or claim.citations == (), seed
        if result.claims:
            assert list(result.citations) == list(dict.fromkeys(spans)), seed
        cited += len(spans)
    assert cited > 5
