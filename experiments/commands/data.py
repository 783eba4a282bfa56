"""`reflective-rag data`: data sets by name."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from reflective_rag.experiments import options

Pins = Annotated[
    Path | None,
    typer.Option(
        "--pins", metavar="FILE", help="`check`: read and write pins here. Default: those that ship, and the cache."
    ),
]


def command(
    what: Annotated[
        Literal["list", "show", "fetch", "check"],
        typer.Argument(
            metavar="WHAT",
            help="`list` all; `show` a card; `fetch` from the hub; `check` against what was seen first, or pin it.",
        ),
    ],
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME[:SPLIT]...]", show_default=False)] = None,
    pins: Pins = None,
    json: options.Json = False,
) -> None:
    """Data sets by name, from their hub, with a card each.

        reflective-rag data show hotpotqa

        reflective-rag data fetch hotpotqa:validation && reflective-rag data check hotpotqa:validation

    Afterwards `--data hotpotqa:validation` means it. A split that was never checked is `unverified`.
    """
    from reflective_rag.experiments.data_sets import checked, fetched, listed, shown
    from reflective_rag.signatures.errors import ConfigError

    if what != "list" and not names:
        raise ConfigError(f"`data {what}` needs the name of a data set; `reflective-rag data list` has them")
    if pins is not None and what != "check":
        raise ConfigError(f"`--pins` means nothing to `data {what}`")
    chosen = list(dict.fromkeys(names or []))
    if what == "list":
        document = listed(chosen)
    elif what == "show":
        document = shown(chosen)
    else:
        document = fetched(chosen) if what == "fetch" else checked(chosen, pins)
    _print(what, document, json=json)


def _print(what: str, document: list[dict[str, Any]], *, json: bool) -> None:
    from reflective_rag.experiments.console import print_json
    from reflective_rag.experiments.data_sets import print_cards, print_list, print_splits

    if json:
        print_json(document)
        return
    {"list": print_list, "show": print_cards}.get(what, print_splits)(document)
