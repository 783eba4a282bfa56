"""The thresholds are validated, and the rules follow them."""

import pytest
from pydantic import ValidationError

from reflective_rag.programs.rules import RuleSettings, answer, assess, check_support
from tests.programs.rules.worlds import LIBRARY_EN, passage

QUESTION = "When was the Meridale Public Library opened?"


@pytest.mark.parametrize(
    "values",
    [{"enough": 1.1}, {"enough": -0.1}, {"enough": float("nan")}, {"stale_years": -1}, {"unknown": 0.5}],
    ids=str,
)
def test_bad_values_are_refused(values):
    """A share outside 0..1, a negative age and an unknown name are errors."""
    with pytest.raises(ValidationError):
        RuleSettings(**values)


def test_settings_are_frozen():
    """A setting cannot be changed after it was made."""
    with pytest.raises(ValidationError):
        RuleSettings().enough = 0.1


def test_every_threshold_has_its_default_in_range():
    """All shares lie in 0..1; the support thresholds are those of the design."""
    values = RuleSettings().model_dump()
    assert all(0 <= value <= 1 for name, value in values.items() if not name.startswith("stale"))
    assert (values["loosely_about"], values["full_support"]) == (0.3, 0.8)


def test_defaults_are_what_is_used_without_settings():
    """No settings and the default settings give the same."""
    same = RuleSettings()
    assert assess(QUESTION, LIBRARY_EN) == assess(QUESTION, LIBRARY_EN, settings=same)
    assert answer(QUESTION, LIBRARY_EN) == answer(QUESTION, LIBRARY_EN, settings=same)
    assert check_support(QUESTION, "1936", LIBRARY_EN) == check_support(QUESTION, "1936", LIBRARY_EN, settings=same)


def test_the_rules_follow_the_settings():
    """Stricter thresholds turn sufficient into not, an answer into none, and support into less."""
    part = (passage("a", "The Library was opened in 1936."),)
    assert assess(QUESTION, part, settings=RuleSettings(covered=0, enough=0)).sufficient is True
    assert assess(QUESTION, part, settings=RuleSettings(enough=1)).sufficient is False
    assert answer(QUESTION, part).answer == "1936"
    assert answer(QUESTION, part, settings=RuleSettings(min_sentence=0.95)).answer == ""
    strict = RuleSettings(about=1, loosely_about=1)
    assert check_support(QUESTION, "1936", LIBRARY_EN).support == "supported"
    assert check_support(QUESTION, "1936", part, settings=strict).support == "not_supported"
