"""Which page is about a subject."""

from reflective_rag.programs.rules.evidence import Evidence, Page, core_title
from reflective_rag.programs.rules.matching import fold


def page_about(evidence: Evidence, subject: str) -> Page | None:
    """The page whose title is the subject, else the one that names it earliest in its text."""
    name = fold(core_title(subject)).removeprefix("the ")
    best: tuple[int, int, Page] | None = None
    for page in evidence.pages:
        title = fold(core_title(page.name)).removeprefix("the ")
        at = fold(page.text).find(name)
        rank = 0 if title == name else 1 if title and (name in title or title in name) else 2
        if rank < 2 or at >= 0:
            key = (rank, at if at >= 0 else 10**6, page)
            if best is None or key[:2] < best[:2]:
                best = key
    return best[2] if best else None
