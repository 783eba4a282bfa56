"""Names that were nearly right are recognised."""

import pytest

from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.spelling import check_name, check_names, did_you_mean, nearest

KNOWN = ("naive", "reflective")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("reflectiv", "reflective"),
        ("relfective", "reflective"),
        ("NAIVE", "naive"),
        ("Naïve", "naive"),
        ("ReflectiveRAG", "reflective"),
        ("", None),
        ("x", None),
        ("检索", None),
    ],
)
def test_what_is_near(name: str, meant: str | None) -> None:
    """Letters lacking, swapped or in another case; nothing far-fetched."""
    assert nearest(name, KNOWN) == meant


def test_the_hint_ends_a_message() -> None:
    """And is empty when nothing is near, so that it can always be added."""
    assert did_you_mean("naiv", KNOWN) == "; did you mean 'naive'?"
    assert did_you_mean("naiv", KNOWN, "`") == "; did you mean `naive`?"
    assert did_you_mean("foo", KNOWN) == ""


def test_known_names_are_listed_with_the_hint() -> None:
    """A known one passes."""
    check_name("program", "naive", KNOWN)
    with pytest.raises(ConfigError, match=r"^unknown program 'naiv'; did you mean 'naive'\? known: 'naive', 'refl"):
        check_name("program", "naiv", KNOWN)
    with pytest.raises(ConfigError, match=r"^unknown program 'foo'; known: 'naive', 'reflective'$"):
        check_name("program", "foo", KNOWN)


def test_of_several_names_the_first_unknown_one_is_told() -> None:
    """All known passes, none at all too."""
    check_names("option", [], KNOWN)
    check_names("option", KNOWN, KNOWN)
    with pytest.raises(ConfigError, match="unknown option 'naiv'; did you mean 'naive'"):
        check_names("option", ["reflective", "naiv", "x"], KNOWN)
