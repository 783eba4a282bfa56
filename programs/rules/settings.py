"""The thresholds of the rules in one place: frozen, validated, tunable."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0.0, le=1.0)]
"""A share or a coverage, 0..1."""

Years = Annotated[int, Field(ge=0, le=200)]


class RuleSettings(BaseModel):
    """What the rules take for enough, on topic, alike and old.

    A *coverage* is the weighted share of a text's content terms that are found (names weigh double, rare terms more
    than
    common ones). The defaults were chosen by reading errors on the train parts of public data sets; the support
    thresholds .3 and .8 are those of the design.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    enough: Share = 0.5
    """Sufficiency: least grade of the best passage."""
    covered: Share = 0.6
    """Coverage: least coverage of a need by one passage (of the asked attribute: by one sentence and its
    surroundings)."""

    line_share: Share = 0.3
    """Relevance: part of a grade that the best single sentence decides; the rest is the whole passage."""
    no_entity: Share = 0.5
    """Relevance: factor for a passage that names none of the question's names, quotations or numbers."""
    hop: Share = 0.5
    """Relevance: worth of a term that only a passage naming this one's title has."""

    named: Share = 0.3
    """Relevance: share of what a grade lacks to 1 that is added when the question names the passage's title."""
    bridge: Share = 0.35
    """Relevance: the same, times the grade of the best other passage that names this one's title."""

    on_topic: Share = 0.6
    """Consistency, freshness: least coverage of the question by a sentence that counts as a statement of the fact."""
    alike: Share = 0.35
    """Consistency: least overlap (Jaccard over content words) of two sentences whose numbers or dates are compared."""
    swapped: Share = 0.4
    """Consistency: least such overlap of two sentences that differ in one name."""
    nearly_same: Share = 0.6
    """Consistency: least such overlap of two sentences that a negation or an antonym sets against each other."""
    rival: Share = 0.75
    """Consistency: least coverage of the question by a sentence whose answer is compared with that of a sentence in other
    words."""
    same_attribute: Share = 0.6
    """Consistency: least share of the asked words that both sentences must hold, the same ones."""
    same_amount: Share = 0.02
    """Consistency: relative difference up to which two amounts agree (3.03 million, 3,031,000)."""

    stale_fast_years: Years = 2
    """Freshness: age at which a price, rate, ranking, record or version no longer counts as current."""
    stale_years: Years = 5
    """Freshness: the same for the holder of an office (a term) and for every other fact about now."""
    stale_slow_years: Years = 11
    """Freshness: the same for a population or an area (a census decade and a year to publish it)."""

    min_sentence: Share = 0.3
    """Extraction: least coverage of the question by a sentence (with surroundings) that is quoted from."""
    min_own: Share = 0.1
    """Extraction: least coverage by the sentence itself."""
    min_key: Share = 0.35
    """Extraction: least weighted share of the question's terms that must occur at all around the answer."""
    min_statement: Share = 0.6
    """Yes/no: least coverage of the question by the sentence that decides it."""
    min_property: Share = 0.5
    """Yes/no about two things: least coverage of the asked property by the passage about each."""

    full_support: Share = 0.8
    """Support: coverage of a statement from which a sentence supports it; also, of a yes/no question that it
    decides."""
    contradicts: Share = 0.7
    """Support: coverage from which a differing number, date, negation or antonym contradicts."""
    part_support: Share = 0.5
    """Support: coverage from which a sentence partly supports a statement, or holds part of a short answer."""
    about: Share = 0.5
    """Support: least coverage of the question by a sentence that supports a short answer it holds."""
    loosely_about: Share = 0.3
    """Support: least coverage of the question by a sentence that supports a short answer partly."""


DEFAULTS = RuleSettings()
