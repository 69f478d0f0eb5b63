"""Downloads of runs: the report in every form, every episode, all that the log holds."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from logs import LogError, LogReader
from logs.export import export_log
from logs.guard import guard
from simulator import catalog, frames
from simulator.commands.compare import one_benchmark
from simulator.errors import AskbackError
from simulator.reporting import Report, json_text, report_csv, report_latex, write_report
from simulator.reporting.render import html_page
from ui.i18n import strings
from ui.research.address import DESK, RESEARCH, Address
from ui.research.asking_page import asking_file
from ui.research.declared import data_file, run_file
from ui.research.desk_page import desk_file
from ui.research.office import Office
from ui.research.run_page import kept_comparison, kept_report

Format = Literal["csv", "jsonl"]
Form = Literal["csv", "tex", "json", "html", "zip"]
ENGLISH: Final = strings("en")
"""Files are in the language of the command line."""
_ZIP: Final = "application/zip"
_CSV: Final = "text/csv; charset=utf-8"
_BYTES: Final = "application/octet-stream"
_TYPES: Final[Mapping[Form, str]] = {
    "csv": _CSV,
    "tex": "application/x-tex; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "zip": _ZIP,
}


def add_downloads(app: FastAPI, office: Office) -> None:
    """Add the addresses. They are no coroutines, so each runs in a thread: drawing takes seconds."""
    reader, kept = office.reader, office.kept

    @app.get(f"{RESEARCH}/download/run.zip")
    def export(run: str, format: Format = "csv") -> Response:
        return answer(lambda: export_zip(reader, run, format), _ZIP, f"{run}.{format}.zip")

    @app.get(f"{RESEARCH}/download/report.{{form}}")
    def report(form: Form, request: Request) -> Response:
        at = Address.read(RESEARCH, str(request.url.query))
        runs = tuple(dict.fromkeys(filter(None, (at.run, *at.runs))))

        def content() -> bytes:
            if at.tab == "asking":
                return report_file(asking_file(reader, at), form)
            benchmark = one_benchmark(reader, runs)
            if at.tab == "compare":
                made = kept_comparison(ENGLISH, kept, runs)
            else:
                made = kept_report(ENGLISH, kept, benchmark, runs, dict(at.settings))
            if made.nothing is not None:
                raise made.nothing
            return report_file(made.report, form)

        named = {"compare": "compared", "asking": "asking"}.get(at.tab, "report")
        return answer(content, _TYPES[form], f"{named}-{'-'.join(runs)[:80]}.{form}")

    @app.get(f"{RESEARCH}/download/desk/{{name}}")
    def of_desk(name: str, request: Request) -> Response:
        at = Address.read(DESK, str(request.url.query))
        return answer(lambda: safe(name, desk_file(reader, at, name)), _BYTES, name)

    @app.get(f"{RESEARCH}/download/episodes.csv")
    def episodes(run: str) -> Response:
        return answer(lambda: episodes_csv(reader, run).encode(), _CSV, f"{run}.episodes.csv")

    @app.get(f"{RESEARCH}/download/of-run/{{name}}")
    def of_run(name: str, run: str) -> Response:
        return answer(lambda: safe(name, run_file(reader, run, name)), _BYTES, f"{run}.{name}")

    @app.get(f"{RESEARCH}/download/of-data/{{name}}")
    def of_data(name: str, benchmark: str, data: str) -> Response:
        return answer(lambda: safe(name, data_file(catalog.find(benchmark), data, name)), _BYTES, name)


def answer(make: Callable[[], bytes], kind: str, name: str) -> Response:
    """Return what is made as a file; what cannot be, with why."""
    try:
        content = make()
    except (AskbackError, LogError) as error:
        return JSONResponse({"error": str(error)}, status_code=404)
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    return Response(
        content,
        media_type=kind,
        headers={"Content-Disposition": disposition, "Cache-Control": "no-store"},
    )


def report_file(report: Report, form: Form) -> bytes:
    """Return a report as a file; as a folder (``zip``) with every table and figure for print."""
    match form:
        case "csv":
            return disarmed(report_csv(report)).encode()
        case "tex":
            return report_latex(report).encode()
        case "json":
            return json_text(report).encode()
        case "html":
            return html_page(report).encode()
        case "zip":
            with TemporaryDirectory() as folder:
                return zipped(write_report(report, Path(folder)), Path(folder))


def zipped(paths: Iterable[Path], folder: Path) -> bytes:
    """Return the files of a folder as a zip file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            archive.write(path, path.relative_to(folder))
    return out.getvalue()


def to_csv(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Return a CSV text with a byte-order mark; what a spreadsheet would run as a formula is disarmed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([_safe(value) for value in line] for line in lines)
    return "\ufeff" + out.getvalue()


def disarmed(text: str) -> str:
    """Return tables as `to_csv` writes them, one below the other."""
    header, *lines = csv.reader(io.StringIO(text))
    return to_csv(header, lines)


def safe(name: str, content: bytes) -> bytes:
    """Return a file that a benchmark wrote; tables as `to_csv` writes them."""
    return disarmed(content.decode("utf-8-sig")).encode() if name.endswith(".csv") else content


def export_zip(reader: LogReader, run_id: str, format: Format) -> bytes:
    """Return everything the log holds of a run but outside identities, with a codebook, as a zip file.

    Raises:
        NotInLog: there is no such run.
    """
    reader.run(run_id)
    with TemporaryDirectory() as folder:
        written = export_log(reader, Path(folder), format=format, runs=[run_id], excel=format == "csv")
        return zipped(written, Path(folder))


def episodes_csv(reader: LogReader, run: str) -> str:
    """Return a row for each episode that counts, with its scores (`simulator.frames.episodes`)."""
    frame = frames.episodes(reader, [run])
    held = frame.astype(object).where(frame.notna(), None)
    return to_csv(list(map(str, frame)), held.itertuples(index=False, name=None))


def _safe(value: Any) -> Any:
    try:
        float(value)
    except ValueError:
        return guard(value)
    except TypeError:  # nothing stands there
        return value
    return value
