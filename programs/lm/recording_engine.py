"""The engine that answers from a recording, and the client around it."""

import asyncio
from typing import Any, Self

import dspy

from reflective_rag.data.secrets import map_texts, scrub, without_secrets
from reflective_rag.programs.lm.recording import CONNECTION, SECRET, Recording, cleaned, key_of
from reflective_rag.signatures.errors import DataError, described


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
        return self._keep(key, readable, self._ask(request))

    def stream(self, request: Any) -> Any:
        """The same as events; a recording holds whole replies."""
        from dspy.lm15 import response_to_events

        return response_to_events(self.complete(request))

    def close(self) -> None:
        """Engines are borrowed; the recording is closed by its owner."""

    @staticmethod
    def readable(request: Any) -> dict[str, Any]:
        """The request as JSON, without what looks like a credential or an address."""
        readable: dict[str, Any] = cleaned(_serde().request_to_dict(request))
        return readable

    def _ask(self, request: Any) -> Any:
        assert self.inner is not None
        return self.inner(request)

    async def _aask(self, request: Any) -> Any:
        assert self.inner is not None
        return await self.inner.acall(request)

    def _look_up(self, request: Any) -> tuple[str, dict[str, Any], Any]:
        readable = self.readable(request)
        sampled = bool(readable.get("config", {}).get("temperature"))
        key = key_of(readable)
        reply = self.recording.next_reply(key, sampled=sampled)
        return key, readable, None if reply is None else self._response(key, reply)

    def _response(self, key: str, reply: dict[str, Any]) -> Any:
        try:
            return _serde().response_from_dict(reply)
        except Exception as error:
            raise DataError(
                f"the recording `{self.recording.path}` is damaged: the `reply` of the call with the key {key!r} "
                f"cannot be read ({described(error)})"
            ) from error

    def _keep(self, key: str, readable: dict[str, Any], response: Any) -> Any:
        """Write the call without secrets. The program gets the reply as written, or a replay would differ."""
        whole = cleaned(_serde().response_to_dict(response))
        reply = map_texts(whole, without_secrets)
        written = self._write(key, map_texts(readable, scrub), reply)
        return response if written == whole else _serde().response_from_dict(written)

    def _write(self, key: str, readable: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
        self.recording.append(key, readable, reply)
        return reply


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
        response = await self._engine._aask(request)
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
    try:
        return dspy.LM(header["model"], engine=engine, async_engine=AsyncRecordingEngine(engine), **kwargs)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"the recording `{recording.path}` is damaged: the settings of the model in its first line cannot be used "
            f"({error}). Record it again"
        ) from None


def header_for(lm: dspy.LM, *, adapter: str, today: str) -> dict[str, Any]:
    """What a recording has to say about the model it is made with; keys and addresses are left out."""
    kwargs = {k: v for k, v in lm.kwargs.items() if v is not None and k not in CONNECTION and not SECRET.search(k)}
    capabilities = {"response_schema": bool(lm.supports_response_schema), "params": sorted(lm.supported_params)}
    return {"model": lm.model, "kwargs": kwargs, "adapter": adapter, "today": today, "capabilities": capabilities}


def _serde() -> Any:
    # DSPy's own reply cache uses these functions; there is no public door to them in 3.4.
    from dspy._vendor.lm15 import serde

    return serde
