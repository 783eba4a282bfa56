"""What may not be written: values under names of credentials, and values of the environment's credentials."""

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments.tracking_secrets import Scrubber, plain

KEY = "s" + "k-fake-0123456789abcdef"


@pytest.mark.parametrize(
    "name",
    """api_key API_KEY apiKey x-api-key OPENAI_API_KEY lm.api_key api_keys aws_secret_access_key aws_access_key_id
    password db_password passphrase secret client_secret credentials Authorization access_token accessToken auth_token
    HF_TOKEN GITHUB_TOKEN token lm.token private_key""".split(),
)
def test_values_under_names_of_credentials_are_removed(name: str) -> None:
    """However the name is written and however deep it stands."""
    assert Scrubber().value("abc", name) == "[removed]"
    assert Scrubber().value([{"lm": {name: ["abc"]}}]) == [{"lm": {name: "[removed]"}}]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("tokens", ["a", "b"], id="words"),
        pytest.param("max_tokens", 100, id="limit"),
        pytest.param("eos_token", "</s>", id="special token"),
        pytest.param("token", 7, id="count"),
        pytest.param("key", "title", id="key of a table"),
        pytest.param("secretary", "Ann", id="longer word"),
        pytest.param("api_key", None, id="no key"),
        pytest.param("api_key", "", id="empty key"),
        pytest.param("has_password", True, id="whether there is one"),
        pytest.param("tokens_per_question", 12.5, id="metric"),
    ],
)
def test_other_values_stay(name: str, value: Any) -> None:
    """Counts of tokens, special tokens and missing keys are no secrets."""
    assert Scrubber().value({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        pytest.param(f"key {KEY}.", "key [removed].", id="value of the environment"),
        pytest.param('{"api_key": "zzzzzzzzzz", "n": 1}', '{"api_key": "[removed]", "n": 1}', id="JSON"),
        pytest.param("api_key='zzzzzzzzzz'", "api_key='[removed]'", id="Python"),
        pytest.param("Authorization: Bearer zzzzzzzzzz", "Authorization: Bearer [removed]", id="header"),
        pytest.param("weaviate://me:pass@host/C", "weaviate://[removed]@host/C", id="address"),
        pytest.param('{"api_key": null}', '{"api_key": null}', id="no key"),
        pytest.param("The Secret: a novel. 密码：见附件", "The Secret: a novel. 密码：见附件", id="prose"),
        pytest.param("http://host:80/a@b", "http://host:80/a@b", id="port, not password"),
        pytest.param("lone \ud800", "lone \ufffd", id="lone surrogate"),
    ],
)
def test_texts_are_cleaned(text: str, clean: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is certainly a credential goes; prose stays word for word."""
    monkeypatch.setenv("FAKE_API_KEY", f"{KEY}\n")
    assert Scrubber().text(text) == clean


@pytest.mark.parametrize("name", ["X_API_KEY", "X_TOKEN", "X_SECRET", "x_api_key"])
def test_which_variables_hold_secrets(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the end of their names; values below 8 characters are too common to be taken out."""
    monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("SHORT_API_KEY", "abc")
    monkeypatch.setenv("OTHER", "ordinary value")
    assert Scrubber().text(f"{KEY} abc ordinary value") == "[removed] abc ordinary value"


def test_a_secret_that_begins_another_leaves_no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longer secret goes first, or its end would stay readable."""
    monkeypatch.setenv("A_TOKEN", KEY)
    monkeypatch.setenv("B_TOKEN", f"{KEY}-tail")
    assert Scrubber().text(f"{KEY}-tail") == "[removed]"


def test_files_are_cleaned_as_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Binary files too; a file without a secret is left as it is."""
    monkeypatch.setenv("FAKE_API_KEY", KEY)
    (tmp_path / "with").write_bytes(b"\xff\x00" + KEY.encode())
    (tmp_path / "without").write_bytes(b"\xff\x00")
    assert Scrubber().file(tmp_path / "with") == b"\xff\x00[removed]"
    assert Scrubber().file(tmp_path / "without") is None


def test_everything_becomes_json() -> None:
    """Models, dataclasses, enumerations, sets, arrays, paths and odd numbers become JSON types."""
    import numpy as np
    from pydantic import BaseModel

    class Model(BaseModel):
        name: str

    @dataclass
    class Point:
        x: float

    class Colour(StrEnum):
        RED = "red"

    value = {"m": Model(name="名"), "p": Point(float("nan")), "c": Colour.RED, "s": {2, 1}, 3: Path("a/b")}
    value |= {"n": np.int64(4), "a": np.array([1.5]), "big": 2**70, "t": (1, None), "f": np.float64(0.5)}
    expected = {"m": {"name": "名"}, "p": {"x": None}, "c": "red", "s": [1, 2], "3": "a/b"}
    expected |= {"n": 4, "a": [1.5], "big": str(2**70), "t": [1, None], "f": 0.5}
    assert json.loads(json.dumps(plain(value))) == expected
