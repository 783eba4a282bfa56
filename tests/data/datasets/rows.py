"""Rows as each hub has them, written by hand from the documented layouts."""

from typing import Any

HOTPOT: dict[str, Any] = {
    "id": "5a8b57f25542995d1e6f1371",
    "question": "Were Scott Derrickson and Ed Wood of the same nationality?",
    "answer": "yes",
    "type": "comparison",
    "level": "hard",
    "supporting_facts": {"title": ["Scott Derrickson", "Ed Wood"], "sent_id": [0, 9]},
    "context": {
        "title": ["Ed Wood (film)", "Scott Derrickson", "Ed Wood", "Empty"],
        "sentences": [
            ["Ed Wood is a 1994 film.", " It was made by Tim Burton."],
            ["Scott Derrickson is an American director."],
            ["Edward Davis Wood Jr. was an American filmmaker."],
            [""],
        ],
    },
}
HOTPOT_ORIGINAL: dict[str, Any] = {
    "_id": "8813f87c0bdd11eba7f7acde48001122",
    "type": "compositional",
    "question": "Who is the mother of the director of the film?",
    "answer": "Ann",
    "supporting_facts": [["The film", 0], ["Bob", 1]],
    "context": [
        ["The film", ["The film is by Bob.", "It is short."]],
        ["Other", ["Not this."]],
        ["Bob", ["Bob.", "His mother is Ann."]],
    ],
    "evidences": [["The film", "director", "Bob"], ["Bob", "mother", "Ann"]],
}
MUSIQUE: dict[str, Any] = {
    "id": "2hop__482757_12019",
    "paragraphs": [
        {"idx": 0, "title": "A", "paragraph_text": "A is in B.", "is_supporting": True},
        {"idx": 1, "title": "C", "paragraph_text": "C is far.", "is_supporting": False},
        {"idx": 2, "title": "B", "paragraph_text": "B lies in 1970's land.", "is_supporting": True},
    ],
    "question": "Where does the place that A is in lie?",
    "question_decomposition": [
        {"id": 1, "question": "A >> in", "answer": "B", "paragraph_support_idx": 0},
        {"id": 2, "question": "where is #1", "answer": "the land", "paragraph_support_idx": 2},
    ],
    "answer": "the land",
    "answer_aliases": ["land", "the land"],
    "answerable": True,
}
POPQA: dict[str, Any] = {
    "id": 4222362,
    "subj": "George Rankin",
    "prop": "occupation",
    "obj": "politician",
    "subj_id": 1850297,
    "prop_id": 22,
    "obj_id": 2834605,
    "s_aliases": '["George James Rankin"]',
    "o_aliases": '["political leader"]',
    "s_uri": "",
    "o_uri": "",
    "s_wiki_title": "George Rankin",
    "o_wiki_title": "Politician",
    "s_pop": 142,
    "o_pop": 25692,
    "question": "What is George Rankin's occupation?",
    "possible_answers": '["politician", "political leader"]',
}
RAMDOCS: dict[str, Any] = {
    "question": "When was the University of Georgia founded?",
    "documents": [
        {"text": "The University of Georgia was chartered in 1785.", "type": "correct", "answer": "1785"},
        {"text": "The University of Georgia opened in 1801.", "type": "correct", "answer": "1801"},
        {"text": "The University of Georgia was founded in 1950.", "type": "misinfo", "answer": "1950"},
        {"text": "Georgia is known for peaches.", "type": "noise", "answer": "unknown"},
    ],
    "disambig_entity": ["University of Georgia (chartered)", "University of Georgia (opened)"],
    "gold_answers": ["1785", "1801"],
    "wrong_answers": ["1950"],
}
SQUAD: dict[str, Any] = {
    "id": "DEV_0_QUERY_0",
    "context": "《战国无双3》是由光荣和ω-force开发的战国无双系列的正统第三续作。",
    "question": "《战国无双3》是由哪两个公司合作开发的？",
    "answers": {"text": ["光荣和ω-force", "光荣和ω-force", "光荣"], "answer_start": [9, 9, 9]},
}
ROWS = {
    "hotpotqa": HOTPOT,
    "2wikimultihopqa": HOTPOT
    | {"id": "w1", "level": None, "evidences": [{"fact": "a", "relation": "b", "entity": "c"}]},
    "musique": MUSIQUE,
    "popqa": POPQA,
    "ramdocs": RAMDOCS,
    "cmrc2018": SQUAD,
    "xquad-en": SQUAD
    | {
        "context": "ABC is an Australian song.",
        "question": "What is it?",
        "answers": {"text": ["song"], "answer_start": [1]},
    },
    "xquad-zh": SQUAD,
}
"""Data set → a row."""

RGB_LINES: dict[str, dict[str, Any]] = {
    "zh": {
        "id": 0,
        "query": "2022年足球世界杯在哪里举行？",
        "answer": [["卡塔尔", "卡塔尔国"]],
        "positive": ["世界杯在卡塔尔举行。"],
        "negative": ["东京奥运会。", "北京。"],
    },
    "en_int": {
        "id": 7,
        "query": "Who wrote A and when?",
        "answer": [["Ann", "Ann B."], ["1999"]],
        "positive": [["Ann wrote A."], ["A is of 1999."]],
        "negative": ["No."],
    },
    "en_fact": {
        "id": 3,
        "query": "Who won?",
        "answer": "Ann",
        "fakeanswer": "Bob",
        "positive": ["Ann won."],
        "positive_wrong": ["Bob won."],
        "negative": ["Rain."],
    },
}
"""File of RGB → a line."""
