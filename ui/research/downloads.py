"""Downloads of runs, data, desks and studies: reports in every form, episodes, all that the log holds."""

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
from logs.codebook import guard
from logs.export import export_log
from simulator import catalog, frames
from simulator.commands.compare import one_benchmark
from simulator.errors import AskbackError, InputError
from simulator.reporting import Report, json_text, report_csv, report_latex, write_report
from simulator.reporting.render import html_page
from simulator.research import research_pages
from simulator.studies.files import Study
from simulator.studies.known import opened_studies
from simulator.studies.reconcile import payment_of
from simulator.studies.steering import desk_of, write_snapshot
from ui.accounts import NotAllowedError
from ui.i18n import DEFAULT, strings
from ui.research.address import DESK, RESEARCH, STUDIES, Address
from ui.research.asking_page import asking_file
from ui.research.blocks import Visit
from ui.research.desk_page import place_at
from ui.research.guard import action_event, require
from ui.research.office import Office
from ui.research.report_pages import kept_comparison, kept_report
from ui.research.runs import pages_of

Format = Literal["csv", "jsonl"]
Form = Literal["csv", "tex", "json", "html", "zip"]
_ZIP: Final = "application/zip"
_CSV: Final = "text/csv; charset=utf-8"
_BYTES: Final = "application/octet-stream"
_FORMS: Final[Mapping[Form, tuple[str, Callable[[Report], str | bytes]]]] = {
    "csv": (_CSV, lambda report: disarmed(report_csv(report))),
    "tex": ("application/x-tex; charset=utf-8", report_latex),
    "json": ("application/json; charset=utf-8", json_text),
    "html": ("text/html; charset=utf-8", html_page),
    "zip": (_ZIP, lambda report: zipped(lambda folder: write_report(report, folder))),
}
"""The forms of a report: the type of the file, and what makes it."""


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
            if at.tab == "compare":
                return report_file(kept_comparison(kept, runs), form)
            made = kept_report(kept, one_benchmark(reader, runs), runs, dict(at.settings))
            return report_file(made, form)

        named = {"compare": "compared", "asking": "asking"}.get(at.tab, "report")
        return answer(content, _FORMS[form][0], f"{named}-{'-'.join(runs)[:80]}.{form}")

    @app.get(f"{RESEARCH}/download/desk/{{name}}")
    def of_desk(name: str, request: Request) -> Response:
        at = Address.read(DESK, str(request.url.query))
        return answer(lambda: desk_file(reader, at, name), _BYTES, name)

    @app.get(f"{RESEARCH}/download/episodes.csv")
    def episodes(run: str) -> Response:
        return answer(lambda: episodes_csv(reader, run).encode(), _CSV, f"{run}.episodes.csv")

    @app.get(f"{RESEARCH}/download/of-run/{{name}}")
    def of_run(name: str, run: str) -> Response:
        return answer(lambda: run_file(reader, run, name), _BYTES, f"{run}.{name}")

    @app.get(f"{RESEARCH}/download/of-data/{{name}}")
    def of_data(name: str, benchmark: str, data: str) -> Response:
        def content() -> bytes:
            pages = research_pages(catalog.find(benchmark)).data
            write = _require_file(pages.files if pages is not None else {}, name)
            return written(lambda path: write(data, path), name)

        return answer(content, _BYTES, name)


def add_study_downloads(app: FastAPI, office: Office) -> None:
    """Add the files of a study: for its platform, and the snapshot that is kept and cited."""

    @app.get(f"{STUDIES}/payment.zip")
    def payment(study: str, metric: str = "", amount: float = 0.0) -> Response:
        # It says who took part: not everybody who may read gets it, and the log says who did.
        try:
            user = require("payment")
        except NotAllowedError as error:
            return JSONResponse({"error": str(error)}, status_code=403)

        def write(folder: Path, chosen: Study) -> None:
            if bool(metric) != bool(amount):
                raise InputError("metric and amount belong together.")
            desk = desk_of(chosen, office.writer, office.reader)
            owed = payment_of(desk, office.reader, metric=metric or None, amount=amount)
            if not owed.write(folder):
                (folder / "nobody.txt").write_text("Nobody is owed anything yet.\n", encoding="utf-8")

        office.writer.put(action_event(user, "payment", study=study[:100])).result()
        return _folder(office, study, write, f"{study}.payment.zip")

    @app.get(f"{STUDIES}/snapshot.zip")
    def snapshot(study: str) -> Response:
        return _folder(
            office,
            study,
            lambda folder, chosen: write_snapshot(office.reader, chosen, folder),
            f"{study}.zip",
        )


def _folder(office: Office, name: str, write: Callable[[Path, Study], object], file: str) -> Response:
    """Return a folder as one file; nothing of it stays on this machine."""

    def content() -> bytes:
        known = opened_studies(office.reader)
        if name not in known:
            raise InputError(f"There is no open study {name!r}.", code="no_study", study=name)
        return zipped(lambda folder: write(folder, known[name]))

    return answer(content, _ZIP, file)


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
    content = _FORMS[form][1](report)
    return content.encode() if isinstance(content, str) else content


def zipped(write: Callable[[Path], object]) -> bytes:
    """Return what is written into a folder as a zip file."""
    out = io.BytesIO()
    with TemporaryDirectory() as name, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        folder = Path(name)
        write(folder)
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            archive.write(file, file.relative_to(folder))
    return out.getvalue()


def to_csv(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Return a CSV text with a byte-order mark; what a spreadsheet would run as a formula is disarmed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([_guard_cell(value) for value in line] for line in lines)
    return "\ufeff" + out.getvalue()


def disarmed(text: str) -> str:
    """Return tables as `to_csv` writes them, one below the other."""
    header, *lines = csv.reader(io.StringIO(text))
    return to_csv(header, lines)


def run_file(reader: LogReader, run: str, name: str) -> bytes:
    """Return a file of a run.

    Raises:
        InputError: if the run has no such file.
        NotInLog: if there is no such run.
    """
    row = reader.run(run)
    files = {file.name: file for file in pages_of(row.benchmark).files if file.where(reader, row)}
    return written(lambda path: _require_file(files, name).write(reader, run, path), name)


def desk_file(reader: LogReader, at: Address, name: str) -> bytes:
    """Return a file that can be taken home of the set that an address names.

    Raises:
        InputError: if there is no such desk or file, or nothing to be written.
    """
    write = _require_file(place_at(Visit(strings(DEFAULT), at)).desk.files, name)
    return written(lambda path: write(reader, at.data, path), name)


def written(write: Callable[[Path], object], name: str) -> bytes:
    """Return a file that a benchmark writes to a path; tables as `to_csv` writes them."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        content = path.read_bytes()
    return disarmed(content.decode("utf-8-sig")).encode() if name.endswith(".csv") else content


def _require_file(files: Mapping[str, Any], name: str) -> Any:
    if name not in files:
        raise InputError(f"There is no file {name!r} here; there are: {', '.join(files) or 'none'}.")
    return files[name]


def export_zip(reader: LogReader, run_id: str, format: Format) -> bytes:
    """Return everything the log holds of a run but outside identities, with a codebook, as a zip file.

    Raises:
        NotInLog: there is no such run.
    """
    excel = format == "csv"
    return zipped(lambda folder: export_log(reader, folder, format=format, runs=[run_id], excel=excel))


def episodes_csv(reader: LogReader, run: str) -> str:
    """Return a row for each episode that counts, with its scores (`simulator.frames.episodes`)."""
    frame = frames.episodes(reader, [run])
    held = frame.astype(object).where(frame.notna(), None)
    return to_csv(list(map(str, frame)), held.itertuples(index=False, name=None))


def _guard_cell(value: Any) -> Any:
    try:
        float(value)
    except ValueError:
        return guard(value)
    except TypeError:  # nothing stands there
        return value
    return value
