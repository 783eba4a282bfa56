"""Which corpus a question is asked of, and whether the artefact was made for another one."""

from collections.abc import Iterable, Mapping, Sequence

from reflective_rag.experiments.recipes import OWN, is_sample, short_name
from reflective_rag.programs.artefact_manifest import Manifest

DEFAULT = ("sample",)
"""What `ask` searches without `--corpus`."""
_NAMED = 3
"""Corpora of an artefact that a note names."""


def corpora_of(manifest: Manifest) -> tuple[str, ...]:
    """The corpora that an artefact was compiled or, without a compile, calibrated on; empty where it does not say.

    `own`, the passages of the data, comes out as the names of the data files.
    """
    kept = manifest.calibration
    names = _texts(manifest.notes.get("corpus")) or (_texts(kept.corpus.get("names")) if kept else ())
    parts = [part for part in manifest.data.values() if isinstance(part, Mapping)]
    files = _texts([part.get("file") for part in parts]) or tuple(kept.data if kept else ())
    if not names and parts:
        names = (OWN,)  # artefacts of earlier versions do not tell; most recipes search their own passages
    found = (each for name in names for each in (files if name == OWN else (name,)))
    return tuple(dict.fromkeys(found))


def searched_note(given: Sequence[str] | None, manifest: Manifest | None) -> str:
    """What to say where no corpus is given: what is searched, and what the artefact was made for instead."""
    if given:
        return ""
    made_for = corpora_of(manifest) if manifest else ()
    text = "no `--corpus` is given: the bundled sample is searched"
    if all(is_sample(name) for name in made_for):
        return f"{text} (`--corpus` names another)"
    more = "" if len(made_for) <= _NAMED else f" and {len(made_for) - _NAMED} more"
    names = ", ".join(f"`{name}`" for name in made_for[:_NAMED])
    return (
        f"{text}, but the artefact was made for another corpus ({names}{more}): give that one with `--corpus`, as a "
        "file or as `local:PATH` of an index"
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str) and each) if isinstance(value, Iterable) else ()


def corpus_names(names: Iterable[str]) -> list[str]:
    """Corpora as an artefact names them: by their last part, which tells no place of the machine."""
    return [short_name(name) for name in names]
