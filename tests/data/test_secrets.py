"""Secrets of the environment in texts."""

import pytest

from reflective_rag.data.secrets import environment_secrets, scrub, without_secrets

KEY = "s" + "k-fake-0123456789abcdef"


@pytest.mark.parametrize(
    "name", ["X_API_KEY", "API_KEY", "X_APIKEY", "HF_TOKEN", "TOKEN", "AWS_ACCESS_KEY_ID", "x_secret"]
)
def test_a_key_is_taken_out_wherever_it_stands(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server's error and a reply: the value alone tells."""
    monkeypatch.setenv(name, KEY)
    assert scrub(f"401: Incorrect API key provided: {KEY}.") == "401: Incorrect API key provided: [removed]."
    assert without_secrets(f"钥匙是{KEY}。") == "钥匙是[removed]。"


def test_other_values_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other variables, short values and empty ones are no secrets; the longest comes first."""
    for name, value in {"A_API_KEY": "", "B_TOKEN": "abc", "PATH_TO": KEY, "MAX_TOKENS": "10000000"}.items():
        monkeypatch.setenv(name, value)
    assert {"", "abc", KEY, "10000000"}.isdisjoint(environment_secrets())
    monkeypatch.setenv("C_TOKEN", KEY)
    monkeypatch.setenv("D_TOKEN", f"{KEY}-tail")
    found = environment_secrets()
    assert found.index(f"{KEY}-tail") < found.index(KEY)


def test_a_text_about_keys_stays_word_for_word_in_replies() -> None:
    """Only messages lose what is assigned as a key: a model may be asked about documentation."""
    text = "Set api_key='your-own-key-here' and call http://me:pass@host."
    assert without_secrets(text) == text
    assert scrub(text) == "Set api_key='[removed]' and call http://[removed]@host."
