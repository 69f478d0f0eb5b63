"""Downloads of runs, data, desks and studies: reports in every format, episodes, and exports of the log."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from logs import LogError, LogReader
from logs.codebook import guard_cell
from logs.export import export_log
from simulator import catalog, frames
from simulator.commands.compare import one_benchmark
from simulator.errors import AskbackError, InputError
from simulator.reporting import Report, json_text, report_csv, report_latex, write_report
from simulator.reporting.render import html_page
from simulator.research import research_pages
from simulator.runner.spreading import in_own_process
from simulator.studies.files import Study
from simulator.studies.known import opened_studies
from simulator.studies.reconcile import payment_of
from simulator.studies.steering import desk_of, write_snapshot
from ui.accounts import NotAllowedError
from ui.i18n import DEFAULT, problem_text, strings
from ui.research.address import DESK, RESEARCH, STUDIES, Address
from ui.research.asking_page import asking_report
from ui.research.desk_page import find_desk_page
from ui.research.guard import action_event, require_permission
from ui.research.office import Office
from ui.research.report_pages import cached_comparison, cached_report
from ui.research.runs import pages_of
from ui.security import page_language

Format = Literal["csv", "jsonl"]
Form = Literal["csv", "tex", "json", "html", "zip"]
_ZIP: Final = "application/zip"
_CSV: Final = "text/csv; charset=utf-8"
_BYTES: Final = "application/octet-stream"
_FORMS: Final[Mapping[Form, tuple[str, Callable[[Report], str | bytes]]]] = {
    "csv": (_CSV, lambda report: "\ufeff" + report_csv(report)),
    "tex": ("application/x-tex; charset=utf-8", report_latex),
    "json": ("application/json; charset=utf-8", json_text),
    "html": ("text/html; charset=utf-8", lambda report: in_own_process(html_page, report)),
    "zip": (_ZIP, lambda report: zip_folder(partial(_draw, report))),
}
"""Format of a report -> media type, and the function that writes it. Turns must not wait for drawing."""


def add_downloads(app: FastAPI, office: Office) -> None:
    """Add the download routes. They are not coroutines, so each runs in a thread: drawing takes seconds."""
    reader, cache = office.reader, office.cache
    for error, status in ((NotAllowedError, 403), (AskbackError, 404), (LogError, 404)):
        app.add_exception_handler(error, partial(_answer_error, status=status))

    @app.get(f"{RESEARCH}/download/run.zip")
    def export(run: str, format: Format = "csv") -> Response:
        return file_response(export_zip(reader, run, format), _ZIP, f"{run}.{format}.zip")

    @app.get(f"{RESEARCH}/download/report.{{form}}")
    def report(form: Form, request: Request) -> Response:
        at = Address.read(RESEARCH, str(request.url.query))
        runs = tuple(dict.fromkeys(filter(None, (at.run, *at.runs))))
        if at.tab == "asking":
            kind, made = "asking", asking_report(reader, at)
        elif at.tab == "compare":
            kind, made = "compared", cached_comparison(cache, runs)
        else:
            kind = "report"
            made = cached_report(cache, one_benchmark(reader, runs), runs, dict(at.settings))
        name = f"{kind}-{'-'.join(runs)[:80]}.{form}"
        return file_response(report_file(made, form), _FORMS[form][0], name)

    @app.get(f"{RESEARCH}/download/desk/{{name}}")
    def desk_download(name: str, request: Request) -> Response:
        at = Address.read(DESK, str(request.url.query))
        return file_response(desk_file(reader, at, name), _BYTES, name)

    @app.get(f"{RESEARCH}/download/episodes.csv")
    def episodes(run: str) -> Response:
        return file_response(episodes_csv(reader, run).encode(), _CSV, f"{run}.episodes.csv")

    @app.get(f"{RESEARCH}/download/of-run/{{name}}")
    def run_download(name: str, run: str) -> Response:
        return file_response(run_file(reader, run, name), _BYTES, f"{run}.{name}")

    @app.get(f"{RESEARCH}/download/of-data/{{name}}")
    def data_download(name: str, benchmark: str, data: str) -> Response:
        pages = research_pages(catalog.find(benchmark)).data
        write = _require_file(pages.files if pages is not None else {}, name)
        return file_response(write_to_bytes(lambda path: write(data, path), name), _BYTES, name)

    # The files of a study: those for the platform, and the snapshot to archive and cite.

    @app.get(f"{STUDIES}/payment.zip")
    def payment(study: str, metric: str = "", amount: float = 0.0) -> Response:
        # It reveals who took part, so it needs a permission of its own, and the log says who downloaded it.
        user = require_permission("payment")
        office.writer.put(action_event(user, "payment", study=study[:100])).result()
        desk = desk_of(_require_study(reader, study), office.writer, reader)
        if bool(metric) != bool(amount):
            raise InputError("metric and amount belong together.")
        owed = payment_of(desk, reader, metric=metric or None, amount=amount)

        def write(folder: Path) -> None:
            if not owed.write(folder):
                (folder / "nobody.txt").write_text("Nobody is owed anything yet.\n", encoding="utf-8")

        return file_response(zip_folder(write), _ZIP, f"{study}.payment.zip")

    @app.get(f"{STUDIES}/snapshot.zip")
    def snapshot(study: str) -> Response:
        chosen = _require_study(reader, study)
        content = zip_folder(lambda folder: write_snapshot(reader, chosen, folder))
        return file_response(content, _ZIP, f"{study}.zip")


def _answer_error(request: Request, error: Exception, *, status: int) -> Response:
    if not request.url.path.startswith(RESEARCH):  # the handlers are the whole app's
        raise error
    if "text/html" in request.headers.get("accept", ""):
        # `Shell` replaces a 404 by its page for unknown addresses.
        status = 400 if status == 404 else status
        return PlainTextResponse(problem_text(strings(page_language(request.scope)), error), status)
    return JSONResponse({"error": str(error)}, status_code=status)


def _require_study(reader: LogReader, name: str) -> Study:
    if (study := opened_studies(reader).get(name)) is None:
        raise InputError(f"There is no open study {name!r}.", code="no_study", study=name)
    return study


def file_response(content: bytes, kind: str, name: str) -> Response:
    """Return content as a download; no copy stays on the server."""
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    return Response(
        content, media_type=kind, headers={"Content-Disposition": disposition, "Cache-Control": "no-store"}
    )


def report_file(report: Report, form: Form) -> bytes:
    """Return a report in a format; ``zip`` is a folder with all tables and figures for print."""
    content = _FORMS[form][1](report)
    return content.encode() if isinstance(content, str) else content


def _draw(report: Report, folder: Path) -> None:
    in_own_process(partial(write_report, folder=folder), report)


def zip_folder(write: Callable[[Path], object]) -> bytes:
    """Return the files that `write` puts into a folder as a zip archive."""
    out = io.BytesIO()
    with TemporaryDirectory() as name, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        folder = Path(name)
        write(folder)
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            archive.write(file, file.relative_to(folder))
    return out.getvalue()


def to_csv(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Return CSV with a byte-order mark; values that a spreadsheet would run as formulas are escaped."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([guard_cell(value) for value in line] for line in lines)
    return "\ufeff" + out.getvalue()


def run_file(reader: LogReader, run: str, name: str) -> bytes:
    """Return a file that a benchmark declares for its runs, or raise `InputError` or `NotInLog`."""
    row = reader.run(run)
    files = {file.name: file for file in pages_of(row.benchmark).files if file.where(reader, row)}
    return write_to_bytes(lambda path: _require_file(files, name).write(reader, run, path), name)


def desk_file(reader: LogReader, at: Address, name: str) -> bytes:
    """Return a file of the desk and set in an address, or raise `InputError`."""
    write = _require_file(find_desk_page(strings(DEFAULT), at).desk.files, name)
    return write_to_bytes(lambda path: write(reader, at.data, path), name)


def write_to_bytes(write: Callable[[Path], object], name: str) -> bytes:
    """Return the content of a file that `write` writes; CSV is rewritten by `to_csv`."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        content = path.read_bytes()
    if not name.endswith(".csv"):
        return content
    header, *lines = csv.reader(io.StringIO(content.decode("utf-8-sig")))
    return to_csv(header, lines).encode()


def _require_file(files: Mapping[str, Any], name: str) -> Any:
    if name not in files:
        raise InputError(f"There is no file {name!r} here. Available files: {', '.join(files) or 'none'}.")
    return files[name]


def export_zip(reader: LogReader, run_id: str, format: Format) -> bytes:
    """Return an export of a run with a codebook, without platform identities, as a zip file.

    Raises:
        NotInLog: if there is no such run.
    """
    excel = format == "csv"
    return zip_folder(lambda folder: export_log(reader, folder, format=format, runs=[run_id], excel=excel))


def episodes_csv(reader: LogReader, run: str) -> str:
    """Return a CSV row for each episode that counts, with its scores (`simulator.frames.episodes`)."""
    frame = frames.episodes(reader, [run])
    values = frame.astype(object).where(frame.notna(), None)
    return to_csv(list(map(str, frame)), values.itertuples(index=False, name=None))
