"""Downloads of a study: the files for its platform, and the snapshot that is kept and cited."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response

from simulator.errors import InputError
from simulator.studies.files import Study
from simulator.studies.known import opened
from simulator.studies.payment import payment_of
from simulator.studies.snapshot import write_snapshot
from simulator.studies.steering import desk_of
from ui.accounts import NotAllowedError
from ui.research.address import STUDIES
from ui.research.downloads import answer, zipped
from ui.research.guard import action_event, require
from ui.research.office import Office

_ZIP: Final = "application/zip"


def add_study_downloads(app: FastAPI, office: Office) -> None:
    """Add the addresses. They are no coroutines, so each runs in a thread."""

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
        def write(folder: Path, chosen: Study) -> None:
            write_snapshot(office.reader, chosen, folder)

        return _folder(office, study, write, f"{study}.zip")


def _folder(office: Office, name: str, write: Callable[[Path, Study], None], file: str) -> Response:
    """Return a folder as one file; nothing of it stays on this machine."""

    def content() -> bytes:
        known = opened(office.reader)
        if name not in known:
            raise InputError(f"There is no open study {name!r}.", code="no_study", study=name)
        with TemporaryDirectory() as folder:
            write(Path(folder), known[name])
            return zipped(sorted(file for file in Path(folder).rglob("*") if file.is_file()), Path(folder))

    return answer(content, _ZIP, file)
