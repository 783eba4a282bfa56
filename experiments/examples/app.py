"""A small web app around one artefact: FastAPI, loaded once, answers as JSON or as a stream of events.

    RRAG_ARTIFACT=artifacts/mine RRAG_CORPUS=local:index python -m reflective_rag.experiments.examples.app

`RRAG_ARTIFACT` is an artefact's folder or a program's name (`reflective`); `RRAG_CORPUS` (`sample`), `RRAG_EMBEDDER`
(`auto`) and `RRAG_LM` (`rules`) are what they are on the command line. At most `RRAG_CONCURRENCY` (4) questions are
answered at a time; one more gets 503 with `Retry-After`. A question is given `RRAG_SECONDS` (60), unless the artefact
has a limit of its own; then it is answered from what was found. The place of a client that goes away is free again at
once; a call that blocks a thread runs out behind it. It listens on this machine alone, on `PORT` (8000).
"""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.requests import ClientDisconnect

from reflective_rag.experiments.corpora import open_search
from reflective_rag.experiments.models import open_model
from reflective_rag.experiments.systems import any_system, why_not_available
from reflective_rag.programs import RagModule, result_of
from reflective_rag.programs.module import check_question
from reflective_rag.signatures.errors import ConfigError

MAX_BODY = 65_536  # bytes of a request; the longest question that programs take fits in
FAILED = {"detail": "the question could not be answered; the server's log says why"}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Load model, artefact and corpus once; what is wrong with them ends the start."""
    setting = os.environ.get
    model = open_model(setting("RRAG_LM"))
    system = any_system(setting("RRAG_ARTIFACT", "reflective"), model)
    if reason := why_not_available(system, model):
        raise ConfigError(f"{reason.replace('--lm', 'RRAG_LM')} (or another program with `RRAG_ARTIFACT`)")
    places, seconds = _whole("RRAG_CONCURRENCY", "4"), _number("RRAG_SECONDS", "60")
    with open_search([setting("RRAG_CORPUS", "sample")], embedder=setting("RRAG_EMBEDDER", "auto")) as search:
        app.state.program, app.state.model = _limited(system.searching(search).program, seconds), model
        app.state.free = places
        yield


def _number(variable: str, default: str) -> float:
    """A number above 0 from the environment; `ConfigError` for anything else."""
    text = os.environ.get(variable, default)
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ConfigError(f"`{variable}` must be a number above 0, got {text!r}")
    return number


def _whole(variable: str, default: str) -> int:
    """The same for a count: half a place is none."""
    number = _number(variable, default)
    if number != int(number):
        raise ConfigError(f"`{variable}` must be a whole number above 0, got {os.environ.get(variable)!r}")
    return int(number)


def _limited(program: RagModule, seconds: float) -> RagModule:
    """The program, with a limit of seconds for a question where it has none."""
    budget = program.settings.budget
    if budget.seconds is None:
        budget = budget.model_copy(update={"seconds": seconds})
        program.settings = program.settings.model_copy(update={"budget": budget})
    return program


async def read_question(request: Request) -> str:
    """The text of `?question=` or `{"question": …}`; 413 or 422 for what cannot be asked."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise HTTPException(413, f"the request is longer than {MAX_BODY:,} bytes")
    try:
        question = request.query_params["question"] if request.method == "GET" else json.loads(body)["question"]
        check_question(question)
    except ConfigError as error:
        raise HTTPException(422, str(error)) from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise HTTPException(422, "give a text as `question`, in a JSON object or in the address") from None
    return str(question)


async def take_program(request: Request) -> AsyncIterator[RagModule]:
    """The program, for one of the free places; it is held until the response has been sent or the client is gone."""
    state = request.app.state
    if state.free <= 0:
        raise HTTPException(503, "too many questions at once; ask again in a moment", {"Retry-After": "2"})
    state.free -= 1
    try:
        with state.model.use():
            yield state.program
    finally:
        state.free += 1


async def events(program: RagModule, question: str) -> AsyncIterator[str]:
    """Server-sent events; the last is `result` or `error`. The work of a client that goes away ends."""
    try:
        async for event in program.astream(question=question):
            data = json.dumps({"step": event.step, "queries": event.queries}, ensure_ascii=False)
            if (whole := result_of(event.result) if event.kind == "result" else event.round) is not None:
                data = whole.model_dump_json()
            yield f"event: {event.kind}\ndata: {data}\n\n"
    except Exception:
        logging.getLogger(__name__).exception("a stream failed")
        yield f"event: error\ndata: {json.dumps(FAILED)}\n\n"


async def while_connected(request: Request, work: Awaitable[Any]) -> Any:
    """What `work` gives; None, with the work cancelled, where the client goes away before."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait([working, leaving])


Question = Annotated[str, Depends(read_question)]
Program = Annotated[RagModule, Depends(take_program)]
app = FastAPI(title="ReflectiveRAG", lifespan=lifespan)


@app.exception_handler(ClientDisconnect)
async def gone(request: Request, error: Exception) -> Response:
    """A client that goes away in the middle of its own question is no fault; nobody reads this."""
    return Response(status_code=499)


@app.exception_handler(Exception)
async def failed(request: Request, error: Exception) -> Response:
    """No word of the error, which may hold an address or a key; the server logs it."""
    return JSONResponse(FAILED, 500)


@app.get("/health")
async def health(request: Request) -> dict[str, str | int]:
    """What is served, and how many more questions may come now."""
    state = request.app.state
    return {"status": "ok", "program": state.program.name, "lm": state.model.name, "free": state.free}


@app.post("/ask")
async def ask(request: Request, question: Question, program: Program) -> Response:
    """The whole result. The work of a client that goes away ends; nobody reads that response."""
    answered = await while_connected(request, program.acall(question=question))
    if answered is None:
        return Response(status_code=499)
    return Response(result_of(answered).model_dump_json(), media_type="application/json")


@app.api_route("/stream", methods=["GET", "POST"])
async def stream(question: Question, program: Program) -> StreamingResponse:
    """Every step while it happens."""
    return StreamingResponse(events(program, question), media_type="text/event-stream")


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
