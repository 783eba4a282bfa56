"""`reflective-rag ask`: one question, one answer with its evidence."""

import os
import sys
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reflective_rag.experiments import options
from reflective_rag.signatures.errors import ConfigError

if TYPE_CHECKING:
    from reflective_rag.programs.drivers import Event
    from reflective_rag.programs.lm.resolve import Model
    from reflective_rag.programs.module import RagModule
    from reflective_rag.signatures.text import Language
    from reflective_rag.signatures.types import Result

Preset = Annotated[
    str | None,
    typer.Option(
        "--preset", metavar="NAME", help="θ, rounds and k together: `critical`, `general`, `research`, `exhaustive`."
    ),
]


def _day(text: str | None) -> date | None:
    """A date of the command line."""
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"`--today` expects a date such as 2026-11-30, got {text!r}") from None


Today = Annotated[str | None, typer.Option("--today", metavar="DATE", help="The date that “now” means.")]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="KEY=VALUE",
        help="Search only passages with this metadata, such as `page=3`, `published>=2024-01-01`. Repeatable.",
    ),
]
Stream = Annotated[bool, typer.Option("--stream", help="Tell every step while it happens; JSON Lines with --json.")]


def command(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="In English or Chinese.")],
    program: options.Program = None,
    artifact: options.Artifact = None,
    corpus: options.Corpus = None,
    filters: Filters = None,
    embedder: options.Embedder = "auto",
    k: options.K = None,
    preset: Preset = None,
    mode: options.Mode = None,
    option: options.Option = None,
    today: Today = None,
    lm: options.Lm = None,
    record: options.Record = None,
    replay: options.Replay = None,
    temperature: options.Temperature = None,
    max_tokens: options.MaxTokens = None,
    stream: Stream = False,
    json: options.Json = False,
) -> None:
    """Answer one question, with citations and judged evidence.

    Without --corpus the bundled sample is asked:

        reflective-rag ask "Which lake is deeper, Lake Baikal or Lake Tanganyika?"

        reflective-rag ask "京张铁路的总工程师毕业于哪所大学？" --json

        reflective-rag ask "…" --corpus my.jsonl --lm openai/gpt-4o-mini
    """
    from reflective_rag.experiments.calibration_notes import corpus_note
    from reflective_rag.experiments.console import only_results, progress_bar, speak
    from reflective_rag.experiments.corpora import open_search, search_note
    from reflective_rag.experiments.corpus_notes import DEFAULT, searched_note
    from reflective_rag.experiments.filtering import FilteredRetriever, parse_filter_words
    from reflective_rag.experiments.models import asking, model_named, open_model
    from reflective_rag.experiments.systems import parse_options, pick_system
    from reflective_rag.programs.module import check_question

    speak(_spoken(question))
    check_question(question)
    chosen = parse_options(option, k=k, preset=preset, mode=mode)
    wanted, names = parse_filter_words(filters), corpus or list(DEFAULT)
    stdout = sys.stdout
    with only_results():
        model = open_model(lm, record=record, replay=replay, temperature=temperature, max_tokens=max_tokens)
        system = pick_system(program, artifact, model, options=chosen, today=_day(today))
        with progress_bar(short=True) as bar:
            indexing = partial(bar, "indexing passages")
            search = open_search(names, embedder=embedder, progress=indexing, need_all=False)
        with search, asking(model):
            search = FilteredRetriever(search, wanted) if wanted else search
            system.searching(search)
            asked = model_named(system.program, model)
            calibrated = corpus_note(system.program, search)
            result = _answer(system.program, question, stdout if json else sys.stderr, stream=stream, json=json)
    _refuse_silent_failure(result, model)
    searched = searched_note(corpus, system.manifest) if system.program.needs_search else ""
    notes = [*system.notes, *filter(None, [searched, search_note(search, embedder), calibrated])]
    about = {"question": question, "program": system.program.name, "lm": asked, "corpus": names}
    document = {**about, **result.model_dump(mode="json"), "notes": notes}
    _show(document, result, notes, json=json, stream=stream)


def _answer(program: "RagModule", question: str, events_to: Any, *, stream: bool, json: bool) -> "Result":
    from reflective_rag.programs.module import result_of

    if not stream:
        return result_of(program(question=question))
    result = None
    for event in program.stream(question):
        if event.kind == "result":
            result = result_of(event.result)
        else:
            _tell(event, events_to, question, json=json)
    assert result is not None, "a stream ends with the result"
    return result


def _tell(event: "Event", to: Any, question: str, *, json: bool) -> None:
    from reflective_rag.experiments.console import json_text
    from reflective_rag.experiments.wording import event_text
    from reflective_rag.signatures.text import language_of

    if json:
        line: dict[str, Any] = {"event": event.kind}
        line |= {"step": event.step} if event.step else {}
        line |= {"queries": list(event.queries)} if event.queries else {}
        line |= {"round": event.round.model_dump(mode="json")} if event.round else {}
        text = json_text(line)
    else:
        text = f"· {event_text(event, language_of(question))}"
    to.write(text + "\n")
    to.flush()


def _refuse_silent_failure(result: "Result", model: "Model") -> None:
    """Not one call of the model that was named succeeded, or no search did: such an answer was not asked for."""
    from reflective_rag.experiments.measuring import no_search
    from reflective_rag.experiments.models import unreachable

    if result.stop_reason == "retriever_error" and not result.retrieved_count:
        raise no_search(_detail(result, "retriever_degraded") or "the retriever failed")
    if model.lm is None or result.stop_reason != "model_error":
        return
    if any(usage.prompt_tokens or usage.completion_tokens for usage in result.usage.values()):
        return
    raise unreachable(model.name, _detail(result, "model_degraded") or "every call failed")


def _detail(result: "Result", code: str) -> str:
    """What stands in brackets after a warning: the error itself."""
    message = next((warning.message for warning in result.warnings if warning.code == code), "")
    for opening, closing in ("（）", "()"):
        if message.endswith(closing) and opening in message:
            return message.partition(opening)[2].removesuffix(closing)
    return ""


def _spoken(question: str) -> "Language":
    """The language of the question; of the terminal where there is none."""
    from reflective_rag.signatures.text import language_of

    if question.strip():
        return language_of(question)
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "zh" if locale.startswith("zh") else "en"


def _show(document: dict[str, Any], result: "Result", notes: list[str], *, json: bool, stream: bool) -> None:
    from reflective_rag.experiments.console import note, print_json
    from reflective_rag.experiments.printing import print_answer
    from reflective_rag.signatures.text import language_of

    if json:
        print_json({"event": "result", **document} if stream else document, indent=None if stream else 2)
        return
    print_answer(result, document["lm"], language_of(document["question"]))
    for text in notes:
        note(text)
