"""Record every request that a model is asked with its reply, and replay it exactly, offline.

A recording is JSON Lines (gzip when the name ends in .gz): a header (model name, its settings without keys, adapter,
date), then one line per call: hash, readable request, reply. Continuing a recording answers what it holds and asks the
model only for the rest, so a run that was killed loses nothing that was paid for.

A request at temperature 0 has one reply, given as often as it is asked; at a higher temperature each asking has its own
reply, and they are given in recorded order.
"""

import asyncio
import difflib
import gzip
import hashlib
import json
import re
import threading
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Self, TextIO, cast

import dspy

from reflective_rag.signatures.errors import DataError, ReplayError

FORMAT = 1
_SECRET = re.compile(
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
        self._file: TextIO | None = None
        self.misses: list[str] = []
        """Messages of the requests that a replay did not know; an optimizer may have swallowed the error itself."""
        for call in calls:
            self._keep(call)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a recording. Raises `DataError` when it is missing, damaged or of another format."""
        target = Path(path)
        try:
            with _open(target, "r") as file:
                lines = [json.loads(line) for line in file if line.strip()]
        except FileNotFoundError:
            raise DataError(f"there is no recording at `{target}`; make one with `--record {target}`") from None
        except (OSError, EOFError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise DataError(f"the recording `{target}` is damaged: {error}") from None
        _check_lines(target, lines)
        return cls(target, lines[0], lines[1:])

    @classmethod
    def create(cls, path: str | Path, header: dict[str, Any]) -> Self:
        """Start a recording, or continue the one that is there; its header must name the same model and settings."""
        target = Path(path)
        header = {"kind": "header", "format": FORMAT, **_clean(header)}
        if target.exists() and target.stat().st_size:
            recording = cls.load(_repaired(target))
            different = [k for k in ("model", "kwargs", "adapter") if recording.header.get(k) != header.get(k)]
            if different:
                raise DataError(
                    f"`{target}` records another set-up ({', '.join(different)} differ); "
                    "choose another file for `--record`"
                )
            recording._file = _open(target, "a")
            return recording
        recording = cls(target, header, [])
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            recording._file = _open(target, "w")
        except OSError as error:
            raise DataError(f"the recording cannot be written to `{target}`: {error.strerror}") from None
        recording._write(header)
        return recording

    def __len__(self) -> int:
        return sum(len(replies) for replies in self._replies.values())

    def __bool__(self) -> bool:
        """A recording is there, also while it is empty."""
        return True

    def next_reply(self, key: str, *, sampled: bool) -> dict[str, Any] | None:
        """The recorded reply to this request (to a sampled one: the next), or None when there is none (left)."""
        with self._lock:
            replies = self._replies.get(key, ())
            if replies and not sampled:
                return replies[0]
            if self._served[key] >= len(replies):
                return None
            self._served[key] += 1
            return replies[self._served[key] - 1]

    def append(self, key: str, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """Keep a new call and write it out at once."""
        with self._lock:
            call = {"kind": "call", "key": key, "request": request, "reply": reply}
            self._keep(call)
            self._served[key] += 1
            self._write(call)

    def unknown(self, key: str, request: dict[str, Any]) -> ReplayError:
        """The error for a request that is not here, with the difference to the nearest one that is."""
        wanted = _lines(request)
        with self._lock:
            known = [_lines(other) for other in self._requests.values()]
        best = max(known, key=lambda lines: difflib.SequenceMatcher(None, wanted, lines).quick_ratio(), default=[])
        diff = list(difflib.unified_diff(best, wanted, "nearest recorded request", "this request", lineterm="", n=1))
        why = "was asked more often than it was recorded" if key in self._requests else "is not in it"
        message = f"replay of `{self.path}`: a request {why}.\n" + "\n".join(line[:300] for line in diff[:40])
        self.misses.append(message)
        return ReplayError(message)

    def check(self) -> None:
        """Raise the first miss of a replay, if there was one."""
        if self.misses:
            raise ReplayError(f"{self.misses[0]}\n({len(self.misses)} request(s) in all were not in the recording)")

    def close(self) -> None:
        """Close the file; safe to call twice."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _keep(self, call: dict[str, Any]) -> None:
        self._replies[call["key"]].append(call["reply"])
        self._requests.setdefault(call["key"], call["request"])

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()


class RecordingEngine:
    """A DSPy engine that answers from a recording, and from the model behind it (if any) what the recording lacks."""

    def __init__(self, recording: Recording, inner: dspy.LM | None) -> None:
        self.recording = recording
        self.inner = inner
        capabilities = recording.header["capabilities"]
        self.supports_response_schema = bool(capabilities["response_schema"])
        self.supported_params = frozenset(capabilities["params"])

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def complete(self, request: Any) -> Any:
        """One reply; raises `ReplayError` for an unknown request when there is no model."""
        key, readable, known = self._look_up(request)
        if known is not None:
            return known
        if self.inner is None:
            raise self.recording.unknown(key, readable)
        return self._keep(key, readable, self.inner(request))

    def stream(self, request: Any) -> Any:
        """The same as events; a recording holds whole replies."""
        from dspy.lm15 import response_to_events

        return response_to_events(self.complete(request))

    def close(self) -> None:
        """Engines are borrowed; the recording is closed by its owner."""

    def _look_up(self, request: Any) -> tuple[str, dict[str, Any], Any]:
        readable = _clean(_serde().request_to_dict(request))
        key = hashlib.sha256(json.dumps(readable, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:24]
        sampled = bool(readable.get("config", {}).get("temperature"))
        reply = self.recording.next_reply(key, sampled=sampled)
        return key, readable, None if reply is None else _serde().response_from_dict(reply)

    def _keep(self, key: str, readable: dict[str, Any], response: Any) -> Any:
        self.recording.append(key, readable, _clean(_serde().response_to_dict(response)))
        return response


class AsyncRecordingEngine:
    """`RecordingEngine` for `acall`."""

    def __init__(self, engine: RecordingEngine) -> None:
        self._engine = engine
        self.supports_response_schema = engine.supports_response_schema
        self.supported_params = engine.supported_params

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    async def complete(self, request: Any) -> Any:
        """One reply; see `RecordingEngine.complete`."""
        if self._engine.inner is None:
            return self._engine.complete(request)
        key, readable, known = self._engine._look_up(request)
        if known is not None:
            return known
        response = await self._engine.inner.acall(request)
        return await asyncio.to_thread(self._engine._keep, key, readable, response)

    async def stream(self, request: Any) -> Any:
        """The same as events."""
        from dspy.lm15 import response_to_events

        for event in response_to_events(await self.complete(request)):
            yield event

    async def aclose(self) -> None:
        """Nothing to close."""


def recorded_lm(recording: Recording, inner: dspy.LM | None = None) -> dspy.LM:
    """An LM that answers from the recording and asks `inner` for the rest, named and set up as the recorded one."""
    engine = RecordingEngine(recording, inner)
    header = recording.header
    # DSPy's cache stays out of it: its hits would be missing in a recording, and would differ between two replays.
    kwargs = {**header["kwargs"], "cache": False}
    return dspy.LM(header["model"], engine=engine, async_engine=AsyncRecordingEngine(engine), **kwargs)


def header_for(lm: dspy.LM, *, adapter: str, today: str) -> dict[str, Any]:
    """What a recording has to say about the model it is made with; keys and addresses are left out."""
    kwargs = {k: v for k, v in lm.kwargs.items() if v is not None and not _SECRET.search(k)}
    capabilities = {"response_schema": bool(lm.supports_response_schema), "params": sorted(lm.supported_params)}
    return {"model": lm.model, "kwargs": kwargs, "adapter": adapter, "today": today, "capabilities": capabilities}


def _clean(value: Any) -> Any:
    """A copy without anything that looks like a credential or a server's address."""
    if isinstance(value, dict):
        return {k: _clean(v) for k, v in value.items() if not _SECRET.search(str(k))}
    return [_clean(v) for v in value] if isinstance(value, list | tuple) else value


def _lines(request: dict[str, Any]) -> list[str]:
    return json.dumps(request, ensure_ascii=False, indent=1, sort_keys=True).replace("\\n", "\n").splitlines()


def _open(path: Path, mode: str) -> TextIO:
    if path.suffix == ".gz":
        return cast(TextIO, gzip.open(path, mode + "t", encoding="utf-8"))
    return cast(TextIO, path.open(mode, encoding="utf-8"))


def _check_lines(path: Path, lines: list[Any]) -> None:
    """Raise `DataError` unless the lines are those of a recording."""
    header = lines[0] if lines and isinstance(lines[0], dict) else {}
    if header.get("kind") != "header":
        raise DataError(f"`{path}` is not a recording: its first line is no header")
    if header.get("format") != FORMAT:
        raise DataError(f"`{path}`: `format` must be {FORMAT}, got {header.get('format')!r}")
    if missing := [k for k in ("model", "kwargs", "adapter", "today", "capabilities") if k not in header]:
        raise DataError(f"the recording `{path}` is damaged: its header lacks {', '.join(f'`{k}`' for k in missing)}")
    for number, call in enumerate(lines[1:], 2):
        if not (isinstance(call, dict) and {"key", "request", "reply"} <= call.keys()):
            raise DataError(
                f"the recording `{path}` is damaged: line {number} is not a call with `key`, `request`, `reply`"
            )


def _repaired(path: Path) -> Path:
    """Cut off a last line that a killed writer left unfinished (plain files; gzip is written for shipping only).

    Only in a recording: any other file that was named by mistake is left as it is.
    """
    if path.suffix != ".gz" and path.is_file():
        data = path.read_bytes()
        if not data.endswith(b"\n") and re.match(rb'\{"kind": "header"[^\n]*\n', data):
            path.write_bytes(data[: data.rfind(b"\n") + 1])
    return path


def _serde() -> Any:
    # DSPy's own reply cache uses these functions; there is no public door to them in 3.4.
    from dspy._vendor.lm15 import serde

    return serde
