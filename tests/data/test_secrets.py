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


KEYS = {
    "OpenAI": "sk-" + "proj-" + "AbCdEfGhIjKlMnOpQrStUvWx",
    "Anthropic": "sk-" + "ant-api03-" + "0123456789abcdefghij",
    "GitHub": "ghp" + "_" + "0123456789abcdefghijABCDEFGHIJ012345",
    "Hugging Face": "hf" + "_" + "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh",
    "AWS": "AKIA" + "0123456789ABCDEF",
    "Slack": "xoxb" + "-0123456789-abcdef",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_what_looks_like_a_key_is_taken_out_without_the_environment(key: str) -> None:
    """In messages and in recordings; the words around it stay."""
    for clean in (scrub, without_secrets):
        assert clean(f"the key {key}, refused. 密钥{key}。") == "the key [removed], refused. 密钥[removed]。"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        pytest.param("Bearer abcdef0123456789abcd.x", "Bearer [removed]", id="bearer"),
        pytest.param("postgres://me:0123456789abcdef@db/x", "postgres://[removed]@db/x", id="hexadecimal password"),
        pytest.param("https://me:aGVsbG8/d29ybGQ0Mg==@h/x", "https://[removed]@h/x", id="password with a slash"),
        pytest.param("https://0123456789abcdef0123@host/r.git", "https://[removed]@host/r.git", id="token as user"),
    ],
)
def test_a_credential_of_a_header_or_an_address_is_taken_out_of_recordings_too(text: str, clean: str) -> None:
    """Where it is long and random; documentation with `user:pass@` stays."""
    assert without_secrets(text) == scrub(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "The bearer of good news came at noon.",
        "Bearer authentication-by-token is a scheme.",
        "-".join(["sk", "learn-pipelines-with-many-steps and task-scheduling-implementation-notes"]),
        "hf_hub_download_with_progress_bar fetches it; ghp_ is a prefix",
        "AKIAHAMA is a town. 赤羽",
        "https://host:8080/path/to/@user",
        "mail a.person@example.org or see http://host/a@b",
        "the commit 0123456789abcdef0123456789abcdef01234567",
    ],
)
def test_plain_text_stays(text: str) -> None:
    """Words and addresses that begin like a credential are none."""
    assert without_secrets(text) == scrub(text) == text


@pytest.mark.parametrize("name", ["DB_PASSWORD", "PGPASSWORD", "MY_SECRET", "SIGNING_KEY", "APP_TOKEN", "SMTP_PASS"])
def test_variables_that_are_likely_credentials_count_where_the_value_looks_like_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`DB_PASSWORD=correct-h0rse` is one; words, flags, numbers and paths are no secrets of theirs."""
    monkeypatch.setenv(name, "correct-h0rse")
    assert scrub("login failed for me/correct-h0rse") == "login failed for me/[removed]"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DB_PASSWORD", "postgres"),
        ("DB_PASSWORD", "admin"),
        ("USE_KEY", "true"),
        ("SORT_KEY", "created_at"),
        ("SSH_KEY", "~/.ssh/id_ed25519"),
        ("MAIN_KEY", "1"),
        ("CACHE_KEY", "12345678"),
    ],
)
def test_plain_values_of_such_variables_stay(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be taken out of texts that are about something else."""
    monkeypatch.setenv(name, value)
    assert value not in environment_secrets()


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        pytest.param(f"api_key={KEY}", "api_key=[removed]", id="plain"),
        pytest.param(f"api_key=[{KEY}]", "api_key=[[removed]]", id="in brackets"),
        pytest.param("api_key: [abcdefgh1234], x", "api_key: [[removed]], x", id="no known shape"),
        pytest.param(f"(api_key={KEY})", "(api_key=[removed])", id="in parentheses"),
        pytest.param(f"{{'authorization': 'Bearer {KEY}'}}", "{'authorization': 'Bearer [removed]'}", id="header"),
        pytest.param(f"authorization: Bearer {KEY} x", "authorization: Bearer [removed] x", id="header in a line"),
        pytest.param(f"?api_key={KEY}&x=1", "?api_key=[removed]", id="query"),
        pytest.param(f"api_key={KEY}-tail", "api_key=[removed]", id="more behind it"),
        pytest.param("http://[::1]:8080/x?mail=me@h.example", "http://[::1]:8080/x?mail=me@h.example", id="IPv6"),
        pytest.param("redis://:pass1word@[::1]:80/x", "redis://[removed]@[::1]:80/x", id="password before IPv6"),
    ],
)
def test_nothing_is_left_over_where_a_key_stood(text: str, clean: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known by its value, its shape or what it is assigned to, and again when the text is cleaned again."""
    for secret in ("", KEY):
        monkeypatch.setenv("X_API_KEY", secret)
        assert scrub(text) == scrub(scrub(text)) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        pytest.param("db password=hunter2 down", "db password=[removed] down", id="password="),
        pytest.param("passwd = 'hunter2'", "passwd = '[removed]'", id="passwd, quoted"),
        pytest.param("user=me;Pwd=x1;host=h", "user=me;Pwd=[removed];host=h", id="connection string"),
        pytest.param('{"password": "hunter2"}', '{"password": "[removed]"}', id="JSON"),
        pytest.param("DB_PASSWORD=hunter", "DB_PASSWORD=[removed]", id="variable"),
        pytest.param("password: hunter2", "password: [removed]", id="colon"),
        pytest.param("login failed (password:S3cret!)", "login failed (password:[removed])", id="colon, no space"),
        pytest.param("密码：hunter2，错误", "密码：[removed]，错误", id="zh"),
        pytest.param("http://u:pw@h/x?password=ab&b=c", "http://[removed]@h/x?password=[removed]&b=c", id="address"),
        pytest.param("redis://:p@ss@h:6379/0", "redis://[removed]@h:6379/0", id="address, with an @"),
        pytest.param("password='two words' refused", "password='[removed]' refused", id="two words"),
    ],
)
def test_passwords_are_taken_out_of_messages(text: str, clean: str) -> None:
    """However short, where they are assigned; a second pass changes nothing."""
    assert scrub(text) == clean == scrub(clean)
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "the password policy requires 12 characters",
        "the password is too short; a passwd file is no pwd",
        "Password: a secret word used to gain entry.",
        "wrong password: try again",
        "passwords: see the manual",
        "mail to: someone@example.org, or a.b@example.org",
        "密码是用来验证身份的。密码：用于登录的文字",
        "needs a password",
    ],
)
def test_prose_about_passwords_stays(text: str) -> None:
    """A word after a colon is no password."""
    assert scrub(text) == text
