"""Data sets by name: a card each, fetched once from the hub, converted to records, pinned when first seen."""

from reflective_rag.data.datasets.cards import Card, all_cards, card_named
from reflective_rag.data.datasets.fetching import fetch
from reflective_rag.data.datasets.names import is_data_set, load_named, named_passages
from reflective_rag.data.datasets.pins import check, facts_of

__all__ = [
    "Card",
    "all_cards",
    "card_named",
    "check",
    "facts_of",
    "fetch",
    "is_data_set",
    "load_named",
    "named_passages",
]
