"""Where the weights of a `local:` model are: a GGUF file on this machine, or one fetched once from the model hub.

    local:PATH.gguf                   a file; `~` is expanded
    local:OWNER/REPO/FILE.gguf        a file of a hub repository, kept in the hub library's own cache (`HF_HOME`)

A path that exists wins. A model split in parts is named by its first part (`…-00001-of-00003.gguf`); the others are
fetched with it. Without a connection the hub library tries for about 25 s; `HF_HUB_OFFLINE=1` makes it give up at once.
"""

import re
from pathlib import Path
from typing import NamedTuple

from reflective_rag.signatures.errors import ConfigError, DataError, message_of

PREFIX = "local:"
_HUB = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)/(?P<file>[\w.-][\w./-]*\.gguf)")
_FIRST_PART = re.compile(r"-00001-of-(\d{5})\.gguf$")


class HubFile(NamedTuple):
    """A file in a hub repository: `repo` is `OWNER/NAME`, `file` its path inside."""

    repo: str
    file: str


def model_name(spec: str) -> str:
    """What a `local:` model is called in caches, histories and reports: `local/` and the file name without `.gguf`."""
    return f"local/{Path(_address(spec)).name.removesuffix('.gguf')}"


def locate(spec: str) -> Path:
    """The file that a `local:` model string names; a hub file that is not here yet is downloaded, with a progress bar.

    Raises:
        ConfigError: the string is not of the form above.
        DataError: there is no such file, here or on the hub, or the hub cannot be reached.
    """
    address = _address(spec)
    path = Path(address).expanduser()
    if path.is_file():
        return path.resolve()
    if (hub := hub_file(spec)) is None:
        raise DataError(
            f"`{spec}`: there is no file {str(path)!r}. "
            "Check the path, or name a file of the model hub as local:OWNER/REPO/FILE.gguf."
        )
    paths = [_cached(hub.repo, part) or _download(hub.repo, part, spec) for part in _parts(hub.file)]
    return paths[0]


def hub_file(spec: str) -> HubFile | None:
    """The hub file that the string may name; None when it can only be a path."""
    address = _address(spec)
    match = None if address.startswith(("/", ".", "~")) else _HUB.fullmatch(address)
    return HubFile(match["repo"], match["file"]) if match else None


def _address(spec: str) -> str:
    address = spec.removeprefix(PREFIX)
    if not spec.startswith(PREFIX) or not address.endswith(".gguf"):
        raise ConfigError(
            f"a local model is named local:PATH.gguf or local:OWNER/REPO/FILE.gguf, got {spec!r}; "
            "only GGUF files can be run"
        )
    return address


def _parts(file: str) -> list[str]:
    """All files of a split model, given its first part; any other file is alone."""
    if not (match := _FIRST_PART.search(file)):
        return [file]
    stem, total = file[: match.start()], int(match[1])
    return [f"{stem}-{number:05d}-of-{total:05d}.gguf" for number in range(1, total + 1)]


def _cached(repo: str, file: str) -> Path | None:
    """The file in the hub cache. Asked first, since the downloader goes to the network even for a file that is here."""
    from huggingface_hub import try_to_load_from_cache

    try:
        found = try_to_load_from_cache(repo, file)
    except ValueError:  # not a name that a repository can have; the download says so in its own words
        return None
    return Path(found) if isinstance(found, str) else None


def _download(repo: str, file: str, spec: str) -> Path:
    from huggingface_hub import errors, hf_hub_download

    interrupted: type[Exception] = getattr(errors, "HTTPError", OSError)  # of its HTTP library, which changes
    try:
        return Path(hf_hub_download(repo, file))
    # OSError: offline, refused, disk full, and every HTTP status. ValueError: not a name that a repository can have.
    except (OSError, ValueError, errors.EntryNotFoundError, interrupted) as error:
        reason = (message_of(error).strip().splitlines() or [""])[0] or "no reason given"
        raise DataError(
            f"`{spec}`: there is no file {spec.removeprefix(PREFIX)!r} here, none in the hub cache, and {file!r} could "
            f"not be downloaded from {repo!r} ({type(error).__name__}: {reason}). With a connection, run "
            f"`hf download {repo} {file}`; without one, copy the file to this machine and use local:PATH.gguf."
        ) from error
