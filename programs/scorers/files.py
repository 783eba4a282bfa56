"""Where the files of an ONNX model are: a local folder or file, or a repository of the model hub, fetched once.

    FOLDER                      holds `model.onnx` (or one of `ONNX_FILES`), `tokenizer.json` and `config.json`
    PATH.onnx                   that file; the others are looked for beside it and in the folder above
    OWNER/NAME                  a hub repository with the same layout, kept in the hub library's own cache (`HF_HOME`)
    OWNER/NAME/PATH.onnx        one file of it, such as `onnx/model_quantized.onnx`

A path that exists wins. `HF_HUB_OFFLINE=1` keeps to what is in the cache already.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reflective_rag.data.retrieval.cache import cache_folder
from reflective_rag.signatures.errors import DataError, message_of

ONNX_FILES = tuple(
    f"{folder}{stem}.onnx"
    for stem in ("model", "model_quantized", "model_int8", "model_fp16", "model_uint8")
    for folder in ("", "onnx/")
)
"""Names under which models are published, the most exact first."""
SIDE_FILES = ("tokenizer.json", "config.json", "tokenizer_config.json")
KNOWN_EXPORTS = {
    "BAAI/bge-reranker-v2-m3": "onnx-community/bge-reranker-v2-m3-ONNX",
    "MoritzLaurer/mDeBERTa-v3-base-xnli-multilingual-nli-2mil7": (
        "Xenova/mDeBERTa-v3-base-xnli-multilingual-nli-2mil7"
    ),
}
"""Repositories that hold the ONNX files of a model whose own repository may hold none; asked second."""

_HUB = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(?:/(?P<file>[\w.-][\w./-]*\.onnx))?")


class HubModel(NamedTuple):
    """A hub repository, and the file in it where one is named."""

    repo: str
    file: str | None


class ModelFiles(NamedTuple):
    """The parts of a model on this machine; `tokenizer_config` may be missing, the other two may not."""

    onnx: Path
    tokenizer: Path
    config: Path
    tokenizer_config: Path | None


def hub_model(spec: str) -> HubModel | None:
    """The hub model that a string may name; None when it can only be a path."""
    match = None if spec.startswith(("/", ".", "~")) else _HUB.fullmatch(spec)
    if match is None or (match["file"] is None and spec.endswith(".onnx")):
        return None
    return HubModel(match["repo"], match["file"])


def locate(spec: str) -> ModelFiles:
    """The files of the model that a string names; a hub model that is not here yet is downloaded.

    Raises `DataError` where a file is missing or the hub cannot be reached; the message says what to do.
    """
    path = Path(spec).expanduser()
    if path.exists():
        return _on_disk(path, spec)
    if (hub := hub_model(spec)) is None:
        raise DataError(f"{spec!r}: there is no such folder or file. {_wanted(spec)}")
    repos = [hub.repo] if hub.file else [hub.repo, *filter(None, [KNOWN_EXPORTS.get(hub.repo)])]
    for repo in repos:
        if folder := _cached(repo, hub.file):
            return _on_disk(folder, spec, hub.file)
    return _on_disk(_download(repos, hub.file, spec), spec, hub.file)


def _wanted(spec: str) -> str:
    return (
        "Expected a folder with `model.onnx`, `tokenizer.json` and `config.json`; "
        f"`optimum-cli export onnx --model {hub.repo if (hub := hub_model(spec)) else 'NAME'} FOLDER` makes one"
    )


def _on_disk(path: Path, spec: str, file: str | None = None) -> ModelFiles:
    """The parts in a folder, or beside a file and above it (`onnx/model.onnx` lies below its tokenizer)."""
    if path.is_file():
        onnx, folders = path, [path.parent, path.parent.parent]
    else:
        names = [file] if file else list(ONNX_FILES)
        found = next((path / name for name in names if (path / name).is_file()), None)
        if found is None:
            here = ", ".join(sorted(entry.name for entry in path.iterdir())[:8]) or "nothing"
            raise DataError(f"{spec!r}: no ONNX file in this folder, which holds {here}. {_wanted(spec)}")
        onnx, folders = found, [path, found.parent]
    sides = [next((folder / name for folder in folders if (folder / name).is_file()), None) for name in SIDE_FILES]
    tokenizer, config, tokenizer_config = sides
    if tokenizer is None or config is None:
        missing = "tokenizer.json" if tokenizer is None else "config.json"
        raise DataError(f"{spec!r}: there is no `{missing}` beside {onnx.name!r}. {_wanted(spec)}")
    return ModelFiles(_with_weights(onnx), tokenizer, config, tokenizer_config)


def _with_weights(onnx: Path) -> Path:
    """The file itself; where its weights lie beside it and both are links, a copy of real files.

    The hub's cache is made of links into a folder of blobs, and some releases of onnxruntime refuse weights that lie
    outside the folder of the model ("External data path escapes model directory"; 1.32 takes them, 1.30 did not).
    """
    weights = [path for path in sorted(onnx.parent.glob(f"{onnx.name}*")) if path != onnx]
    if not weights or not any(path.is_symlink() for path in weights):
        return onnx
    folder = cache_folder() / "onnx" / hashlib.sha256(str(onnx.resolve()).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*weights, onnx):
        _link(path.resolve(), folder / path.name)
    return folder / onnx.name


def _link(source: Path, target: Path) -> None:
    """A second name for a file, which takes no room; a copy where the file system cannot."""
    if target.is_file() and target.stat().st_size == source.stat().st_size:
        return
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        os.link(source, partial)
    except OSError:
        shutil.copyfile(source, partial)
    partial.replace(target)


def _cached(repo: str, file: str | None) -> Path | None:
    """The repository's folder in the hub cache, if it holds an ONNX file there. Never asks the network."""
    from huggingface_hub import errors, snapshot_download

    try:
        folder = Path(snapshot_download(repo, local_files_only=True))
    except (OSError, ValueError, errors.LocalEntryNotFoundError):  # not here, or not a name a repository can have
        return None
    return folder if any((folder / name).is_file() for name in ([file] if file else ONNX_FILES)) else None


def _download(repos: Sequence[str], file: str | None, spec: str) -> Path:
    """Fetch the first repository that holds an ONNX file; the model file last, as a sign that the rest is there."""
    from huggingface_hub import errors, hf_hub_download, list_repo_files

    interrupted: type[Exception] = getattr(errors, "HTTPError", OSError)  # of its HTTP library, which changes
    repo = repos[0]
    try:
        for repo in repos:
            there = set(list_repo_files(repo))
            onnx = next((name for name in ([file] if file else ONNX_FILES) if name in there), None)
            if onnx is None:
                continue
            weights = sorted(name for name in there if name.startswith(onnx) and name != onnx)
            paths = [hf_hub_download(repo, name) for name in (*weights, *(there & set(SIDE_FILES)), onnx)]
            return Path(paths[-1]).parents[onnx.count("/")]
    except (OSError, ValueError, errors.EntryNotFoundError, interrupted) as error:
        reason = (message_of(error).strip().splitlines() or [""])[0] or "no reason given"
        raise DataError(
            f"{spec!r} is neither a folder here nor in the hub cache, and could not be fetched from {repo!r} "
            f"({type(error).__name__}: {reason}). With a connection, run `hf download {repos[-1]}`; without one, copy "
            "a folder with `model.onnx`, `tokenizer.json` and `config.json` to this machine and name it instead"
        ) from error
    tried = " and ".join(repr(name) for name in repos)
    raise DataError(f"{spec!r}: no {file or 'ONNX file'} in the hub repository {tried}. {_wanted(spec)}")
