"""Record every request that a model is asked with its reply, and replay it exactly, offline.

A recording is JSON Lines (gzip when the name ends in .gz): a header (model name, its settings without keys, adapter,
date), then one line per call: hash, readable request, reply. Continuing a recording answers what it holds and asks the
model only for the rest, so a run that was killed loses nothing that was paid for.

A request at temperature 0 has one reply, given as often as it is asked; at a higher temperature each asking has its own
reply, and they are given in recorded order.
"""

import difflib
import hashlib
import json
import re
import threading
import zlib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Self

from reflective_rag.data.line_file import LineFile, numbered, unpacked
from reflective_rag.data.secrets import map_texts, scrub, without_secrets
from reflective_rag.programs.lm.recorded_lines import FORMAT, checked
from reflective_rag.signatures.errors import DataError, ReplayError

CONNECTION = frozenset(("extra_headers", "headers", "default_headers", "extra_query", "extra_body"))
"""Settings of a model's connection, which may hold keys under any name: a recording needs none of them."""
SECRET = re.compile(
    r"api[_-]?key|authorization|password|secret|(?:access|auth|bearer)[_-]?token|api[_-]?base|base_url", re.IGNORECASE
)


class Recording:
    """The calls of one recording file, in memory and, while recording, appended to the file as they come."""

    def __init__(self, path: str | Path, header: dict[str, Any], calls: list[dict[str, Any]]) -> None:
        self.path = Path(path)
        self.header = header
        self._lock = threading.Lock()
        self._replies: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._requests: dict[str, dict[str, Any]] = {}
        self._served: Counter[str] = Counter()
        self._file: LineFile | None = None
        self._failure: DataError | None = None
        self.misses: list[str] = []
        """Messages of the requests that a replay did not know; an optimizer may have swallowed the error itself."""
        for call in calls:
            self._keep(call)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a recording. Raises `DataError` when it is missing, damaged or of another format."""
        target = Path(path)
        try:
            lines = numbered(unpacked(target.read_bytes(), target))
        except FileNotFoundError:
            raise DataError(f"there is no recording at `{target}`; make one with `--record {target}`") from None
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"the recording `{target}` is damaged: {error}") from None
        header, *calls = checked(target, lines)
        return cls(target, header, calls)

    @classmethod
    def create(cls, path: str | Path, header: dict[str, Any]) -> Self:
        """Start a recording, or continue the one that is there; its header must name the same model and settings.

        Raises:
            DataError: The file is something else (it is left untouched) or the recording of another set-up, another
                process is writing it, or it cannot be written.
        """
        target = Path(path)
        header = {"kind": "header", "format": FORMAT, **map_texts(cleaned(header), without_secrets)}
        file = LineFile(target, f"the recording `{target}`")
        try:
            if file.empty:
                file.append(header)
                recording = cls(target, header, [])
            else:
                found, *calls = checked(target, file.lines())
                _check_same(target, found, header)
                file.mend()
                recording = cls(target, found, calls)
        except BaseException:
            file.abandon()
            raise
        recording._file = file
        return recording

    def __len__(self) -> int:
        return sum(len(replies) for replies in self._replies.values())

    def __bool__(self) -> bool:
        """A recording is there, also while it is empty."""
        return True

    def next_reply(self, key: str, *, sampled: bool) -> dict[str, Any] | None:
        """The recorded reply to this request (to a sampled one: the next), or None when there is none (left).

        Raises:
            DataError: A call could not be written before: what is asked from now on would be paid for and lost.
        """
        with self._lock:
            self._raise_failure()
            replies = self._replies.get(key, ())
            if replies and not sampled:
                return replies[0]
            if self._served[key] >= len(replies):
                return None
            self._served[key] += 1
            return replies[self._served[key] - 1]

    def append(self, key: str, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """Write a new call out at once, and keep it. Raises `DataError` when it cannot be written, now and later on."""
        with self._lock:
            self._append(key, request, reply)

    def first(self, key: str, request: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
        """`append`, unless another thread has had a reply to this request meanwhile: then that one, which is returned.

        So every asking of one request sees one reply, now and when the file is read again.
        """
        with self._lock:
            if key not in self._replies:
                self._append(key, request, reply)
            return self._replies[key][0]

    def replies(self) -> list[dict[str, Any]]:
        """All replies that are there."""
        with self._lock:
            return [reply for replies in self._replies.values() for reply in replies]

    def _append(self, key: str, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """The lock is held."""
        self._raise_failure()
        call = {"kind": "call", "key": key, "request": request, "reply": reply}
        if self._file is not None:
            try:
                self._file.append(call)
            except DataError as error:
                self._failure = error
                raise
        self._keep(call)
        self._served[key] += 1

    def unknown(self, key: str, request: dict[str, Any]) -> ReplayError:
        """The error for a request that is not here, with the difference to the nearest one that is."""
        wanted = _lines(request)
        with self._lock:
            known = [_lines(other) for other in self._requests.values()]
        best = max(known, key=lambda lines: difflib.SequenceMatcher(None, wanted, lines).quick_ratio(), default=[])
        diff = list(difflib.unified_diff(best, wanted, "nearest recorded request", "this request", lineterm="", n=1))
        why = "was asked more often than it was recorded" if key in self._requests else "is not in it"
        message = f"replay of `{self.path}`: a request {why}.\n" + "\n".join(line[:300] for line in diff[:40])
        message = scrub(message)
        self.misses.append(message)
        return ReplayError(message)

    def check(self) -> None:
        """Raise what something may have swallowed: that a call could not be written, or the first miss of a replay."""
        self._raise_failure()
        if self.misses:
            raise ReplayError(f"{self.misses[0]}\n({len(self.misses)} request(s) in all were not in the recording)")

    def close(self) -> None:
        """Close the file; safe to call twice."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                file.close()

    def _keep(self, call: dict[str, Any]) -> None:
        self._replies[call["key"]].append(call["reply"])
        self._requests.setdefault(call["key"], call["request"])

    def _raise_failure(self) -> None:
        if self._failure is not None:
            # A new one for each: threads that raise the same object would mix their tracebacks.
            raise DataError(str(self._failure))


def key_of(value: Any) -> str:
    """24 hex digits over a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:24]


def cleaned(value: Any) -> Any:
    """A copy without anything that looks like a credential or a server's address."""
    if isinstance(value, dict):
        return {k: cleaned(v) for k, v in value.items() if not SECRET.search(str(k))}
    return [cleaned(v) for v in value] if isinstance(value, list | tuple) else value


def _lines(request: dict[str, Any]) -> list[str]:
    return json.dumps(request, ensure_ascii=False, indent=1, sort_keys=True).replace("\\n", "\n").splitlines()


def _check_same(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    if different := [k for k in ("model", "kwargs", "adapter") if found[k] != wanted[k]]:
        raise DataError(
            f"`{path}` records another set-up ({', '.join(different)} differ); choose another file for `--record`"
        )
