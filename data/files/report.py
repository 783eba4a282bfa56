"""What an indexing run did, and what it left out and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MOST_NAMED = 1000
"""Places named for one reason; more are only counted, so that a report fits into memory."""


@dataclass
class Skipped:
    """Places that were left out for one reason."""

    count: int = 0
    places: list[str] = field(default_factory=list)


@dataclass
class IndexReport:
    """Counts of files and of passages. A file is also a data set, or the bundled sample."""

    files_read: int = 0
    files_unchanged: int = 0
    files_removed: int = 0
    passages: int = 0
    """That the sources hold, those of unchanged files included."""
    added: int = 0
    """Written: new, or with another content."""
    removed: int = 0
    """No longer in their file, or their file is gone."""
    duplicates: int = 0
    """Rows whose text the same file has before."""
    renamed: int = 0
    """Whose id stands for another text; theirs is `id~key`."""
    gone: list[str] = field(default_factory=list)
    """Files that were in their folder the last time, and whose passages are removed; some thousand at most."""
    failures: dict[str, str] = field(default_factory=dict)
    """The server's reason by passage id."""
    skipped: dict[str, Skipped] = field(default_factory=dict)

    def skip(self, place: str, reason: str) -> None:
        """Note what is left out."""
        group = self.skipped.setdefault(reason, Skipped())
        group.count += 1
        if len(group.places) < MOST_NAMED:
            group.places.append(place)

    def remove(self, place: str, passages: int) -> None:
        """Note a file that is gone."""
        self.removed += passages
        self.files_removed += 1
        if len(self.gone) < MOST_NAMED:
            self.gone.append(place)

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "files": {"read": self.files_read, "unchanged": self.files_unchanged, "removed": self.files_removed},
            "passages": self.passages,
            "added": self.added,
            "unchanged": self.passages - self.added - len(self.failures),
            "removed": self.removed,
            "duplicates": self.duplicates,
            "renamed": self.renamed,
            "failed": len(self.failures),
            "gone": self.gone,
            "skipped": [
                {"reason": reason, "count": group.count, "places": group.places}
                for reason, group in self.skipped.items()
            ],
        }

    def lines(self, most: int = 5) -> list[str]:
        """What is gone, renamed and skipped, for people: a line a reason, with the first places."""
        found = []
        if self.gone:
            shown = ", ".join(self.gone[:most]) + (", …" if self.files_removed > most else "")
            found.append(f"removed {self.files_removed} file(s) that are gone: {shown}")
        if self.renamed:
            found.append(f"renamed {self.renamed}: an id that stands for another text already; theirs is `id~key`")
        for reason, group in sorted(self.skipped.items(), key=lambda item: -item[1].count):
            shown = ", ".join(group.places[:most]) + (", …" if group.count > most else "")
            found.append(f"skipped {group.count}: {reason}: {shown}")
        return found
