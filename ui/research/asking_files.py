"""Tables of who asks back, to be taken home."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Final

from fastapi import FastAPI, Query
from fastapi.responses import Response

from logs import LogReader
from simulator.asking import askings
from simulator.commands.asking import build_report, plain, whole_table
from ui.research.address import RESEARCH
from ui.research.downloads import answer

_JSON: Final = "application/json; charset=utf-8"
_CSV: Final = "text/csv; charset=utf-8"
_TEX: Final = "application/x-tex; charset=utf-8"


def add_asking_files(app: FastAPI, reader: LogReader) -> None:
    """Add them. They are no coroutines, so each runs in a thread."""
    for name, (kind, make) in _ASKING.items():
        app.get(f"{RESEARCH}/download/{name}")(_asking(reader, name, kind, make))


Make = Callable[[LogReader, Sequence[str], bool], str]


def _asking(reader: LogReader, name: str, kind: str, make: Make) -> Callable[..., Response]:
    def download(runs: Annotated[list[str], Query()], by: str = "") -> Response:
        return answer(lambda: make(reader, runs, by in ("user", "both")).encode(), kind, name)

    return download


def _table(name: str, *, by_kind: bool = False) -> Make:
    def make(reader: LogReader, runs: Sequence[str], users: bool) -> str:
        made = build_report(askings(reader, runs), users=users)
        table = whole_table("Asking back", made.by_kind if by_kind else made.rows)
        return table.to_csv() if name == "csv" else table.to_latex()

    return make


def _json(reader: LogReader, runs: Sequence[str], users: bool) -> str:
    return json.dumps(plain(build_report(askings(reader, runs), users=users)), ensure_ascii=False, indent=1)


_ASKING: Final[dict[str, tuple[str, Make]]] = {
    "asking.csv": (_CSV, _table("csv")),
    "asking-by-kind.csv": (_CSV, _table("csv", by_kind=True)),
    "asking.tex": (_TEX, _table("tex")),
    "asking.json": (_JSON, _json),
}
