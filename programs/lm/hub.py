"""Where the weights of a `local:` model string are: a GGUF file on this machine, or one fetched once from the model hub.

    local:PATH.gguf                   a file; `~` is expanded
    local:OWNER/REPO/FILE.gguf        a file of a hub repository, kept in the hub library's own cache (`HF_HOME`)

A path that exists wins. A model split in parts is named by its first part (`…-00001-of-00003.gguf`); the others are fetched with it.
"""

import re
from pathlib import Path
from typing import NamedTuple

from reflective_rag.signatures.errors import ConfigError, DataError

PREFIX = "local:"
_HUB = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)/(?P<file>[\w.-][\w./-]*\.gguf)")
_FIRST_PART = re.compile(r"-00001-of-(\d{5})\.gguf$")


class HubFile(NamedTuple):
    """A file in a hub repository: `repo` is `OWNER/NAME`, `file` its path inside."""

    repo: str
    file: str


def model_name(spec: str) -> str:
    """The name a `local:` model goes by in caches, histories and reports: `local/` and the file name without `.gguf`."""
    return f"local/{Path(_address(spec)).name.removesuffix('.gguf')}"


def locate(spec: str) -> Path:
    """The file a `local:` model string names, downloaded if it is a hub file that is not here yet (with a progress bar).

    Raises:
        ConfigError: the string is not of the form above.
        DataError: there is no such file, here or on the hub, or the hub cannot be reached.
    """
    address = _address(spec)
    path = Path(address).expanduser()
    if path.is_file():
        return path.resolve()
    hub = None if address.startswith(("/", ".", "~")) else _HUB.fullmatch(address)
    if hub is None:
        raise DataError(
            f"`{spec}`: there is no file {str(path)!r}. Check the path, or name a hub file as local:OWNER/REPO/FILE.gguf."
        )
    return _from_hub(HubFile(hub["repo"], hub["file"]), spec)


def _address(spec: str) -> str:
    address = spec.removeprefix(PREFIX)
    if not spec.startswith(PREFIX) or not address.endswith(".gguf"):
        raise ConfigError(
            f"a local model is named local:PATH.gguf or local:OWNER/REPO/FILE.gguf, got {spec!r}. Only GGUF files can be run."
        )
    return address


def _from_hub(wanted: HubFile, spec: str) -> Path:
    parts = _parts(wanted.file)
    paths = [_cached(wanted.repo, part) or _download(wanted.repo, part, spec) for part in parts]
    return paths[0]


def _parts(file: str) -> list[str]:
    """All files of a split model, given its first part; any other file is alone."""
    if not (match := _FIRST_PART.search(file)):
        return [file]
    stem, total = file[: match.start()], int(match[1])
    return [f"{stem}-{n:05d}-of-{total:05d}.gguf" for n in range(1, total + 1)]


def _cached(repo: str, file: str) -> Path | None:
    """The hub cache is asked first: its downloader would go to the network even for a file that is here."""
    from huggingface_hub import try_to_load_from_cache

    try:
        found = try_to_load_from_cache(repo, file)
    except ValueError:  # not a name the hub could have; the download says so in its own words
        return None
    return Path(found) if isinstance(found, str) else None


def _download(repo: str, file: str, spec: str) -> Path:
    import httpx
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    try:
        return Path(hf_hub_download(repo, file))
    # OSError: offline, refused, disk full, and every HTTP status; ValueError: not a repository name.
    except (OSError, ValueError, EntryNotFoundError, httpx.HTTPError) as error:
        reason = (str(error).strip().splitlines() or [""])[0] or "no reason given"
        raise DataError(
            f"`{spec}`: no file {spec.removeprefix(PREFIX)!r} on this machine, not in the hub cache, and the download of {file!r} "
            f"from {repo!r} failed ({type(error).__name__}: {reason}). With a connection, run `hf download {repo} {file}`; "
            f"without one, copy the file here and use local:PATH.gguf."
        ) from error
