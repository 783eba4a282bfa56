"""Record every request that a model is asked with its reply, and replay it exactly, offline.

A recording is JSON Lines (gzip when the name ends in .gz): a header (model name, its settings without keys, adapter,
date), then one line per call: hash, readable request, reply. Continuing a recording answers what it holds and asks the
model only for the rest, so a run that was killed loses nothing that was paid for.

A request at temperature 0 has one reply, given as often as it is asked; at a higher temperature each asking has its own
reply, and they are given in recorded order.
"""

import asyncio
import difflib
import hashlib
import json
import re
import threading
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import dspy

from reflective_rag.data.line_file import LineFile, numbered, unpacked
from reflective_rag.data.secrets import scrub, without_secrets
from reflective_rag.programs.lm.recorded_lines import FORMAT, checked
from reflective_rag.signatures.errors import DataError, ReplayError

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
        header = {"kind": "header", "format": FORMAT, **_map_texts(_clean(header), without_secrets)}
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
        text = json.dumps(readable, sort_keys=True, ensure_ascii=False)
        key = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:24]
        sampled = bool(readable.get("config", {}).get("temperature"))
        reply = self.recording.next_reply(key, sampled=sampled)
        return key, readable, None if reply is None else self._response(key, reply)

    def _response(self, key: str, reply: dict[str, Any]) -> Any:
        try:
            return _serde().response_from_dict(reply)
        except Exception as error:
            raise DataError(
                f"the recording `{self.recording.path}` is damaged: the `reply` of the call with the key {key!r} "
                f"cannot be read ({type(error).__name__}: {error})"
            ) from error

    def _keep(self, key: str, readable: dict[str, Any], response: Any) -> Any:
        """Write the call without secrets. The program gets the reply as written, or a replay would differ."""
        whole = _clean(_serde().response_to_dict(response))
        reply = _map_texts(whole, without_secrets)
        self.recording.append(key, _map_texts(readable, scrub), reply)
        return response if reply == whole else _serde().response_from_dict(reply)


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


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {k: _map_texts(v, change) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_map_texts(v, change) for v in value]
    return change(value) if isinstance(value, str) else value


def _check_same(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    if different := [k for k in ("model", "kwargs", "adapter") if found[k] != wanted[k]]:
        raise DataError(
            f"`{path}` records another set-up ({', '.join(different)} differ); choose another file for `--record`"
        )


def _serde() -> Any:
    # DSPy's own reply cache uses these functions; there is no public door to them in 3.4.
    from dspy._vendor.lm15 import serde

    return serde
