"""The command `askback app`: sets up the sessions of every benchmark and starts the server."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from logs import LogReader, LogWriter
from logs.cli import LogOption
from logs.connect import check_writable
from logs.paths import HOME_VARIABLE, default_path, home
from simulator import catalog, studies
from simulator.catalog import attempt
from simulator.errors import InputError
from simulator.items import BUILTIN
from simulator.models import ModelOptions, Needs
from simulator.models.load import bare_name
from simulator.runner.build import Models
from simulator.runner.lobby import PERSON, player_menu
from simulator.runner.options import BaseUrlOption, ModelFlags, TimeoutOption, tune_collector
from simulator.runner.processes import RunProcesses
from simulator.studies.admission import erase_regularly
from simulator.studies.declared import PlaySessions, sessions_type
from simulator.studies.known import (
    absent_opposite,
    find_study,
    merge_needs,
    missing_models,
    needs_opposite,
    require_unchanged,
    why_absent,
)
from simulator.studies.material import material_type
from ui.gradio_setup import import_gradio
from ui.limits import STARTS_PER_MINUTE, PatientProtocol, Starts
from ui.security import Access

if TYPE_CHECKING:
    from fastapi import FastAPI

_KEEP_ALIVE = 75
"""Seconds a connection waits for its next request: people think longer than uvicorn's default of 5."""


def app_command(
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="port to listen on")] = 7860,
    log: LogOption = None,
    items: Annotated[
        list[str] | None,
        typer.Option(
            help="items for free play, as BENCHMARK=DATA: registered data, a file or a folder, as for "
            "`askback run BENCHMARK --data` (repeatable)"
        ),
    ] = None,
    study: Annotated[
        list[Path] | None,
        typer.Option(help="a study file, or id of a study (repeatable); default: the built-in studies"),
    ] = None,
    base_url: BaseUrlOption = None,
    opponent: Annotated[
        list[str] | None,
        typer.Option(
            help="a model that people may choose to play with, such as openai/llama or "
            "openai/llama@http://host:8000/v1 (repeatable)"
        ),
    ] = None,
    timeout: TimeoutOption = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(help="a host name of this server, such as lab.example (repeatable)"),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="address or network of a proxy whose X-Forwarded headers are trusted (repeatable)"),
    ] = None,
    sso_header: Annotated[
        str,
        typer.Option(
            help="header in which a --proxy names the researcher it has authenticated, such as "
            "X-Forwarded-User; roles come from `askback users add`"
        ),
    ] = "",
    starts_per_minute: Annotated[
        int, typer.Option(min=0, help="episodes that one address may start per minute; 0: no limit")
    ] = STARTS_PER_MINUTE,
) -> None:
    """Start the web app: play in the browser, watch runs, review dialogues."""
    path = log or default_path()
    data = dict(map(_parse_items, items or ()))
    access = Access.build(host, host_name or (), proxy or (), sso_header)
    _refuse_busy(host, port)
    _require_writable(home())
    with LogWriter(path, durable=True) as writer, LogReader(path) as reader:
        check_writable(path)
        options = replace(
            ModelFlags(base_url=base_url, timeout=timeout).options(path),
            recordings=None,
            recorder=writer.post,
        )
        models = Models(options=options)
        by_benchmark = read_studies(study, path)
        own = [file for files in by_benchmark.values() for file in files]
        for file in own:
            require_unchanged(file, reader)
        _require_models(opponent or (), own, options)
        # With a server of one's own, the models of public providers are not offered.
        chosen = [models.addressed(name) for name in opponent or ()] if opponent or base_url else None
        declared: list[PlaySessions] = []
        for benchmark in catalog.installed():
            if (serving := sessions_type(benchmark)) is None:
                continue
            name = benchmark.name
            make = partial(
                serving,
                benchmark,
                writer,
                reader,
                models,
                data=data.get(name, BUILTIN),
                studies=by_benchmark.get(name),
                opponents=chosen,
            )
            # A benchmark named in this command must load; one that is merely installed may fail.
            named = name in data or by_benchmark.get(name)
            sessions = make() if named else attempt(f"{name} in the browser", make)
            if sessions is not None:
                declared.append(sessions)
                if data.pop(name, None):
                    sessions.require_items()  # report faults now, not to people who play
        if data:
            raise InputError(f"--items: {next(iter(data))} is not a benchmark whose items can be chosen.")
        offered = tuple(each.name for each in player_menu((), os.environ, chosen) if each.available)
        runs = RunProcesses(path, [f"--base-url={each}" for each in base_url or ()])
        ended = threading.Event()
        threading.Thread(target=erase_regularly, args=(path, ended), daemon=True).start()
        try:
            # Gradio takes seconds to import; neither this command's help nor its errors should wait for it.
            import_gradio()
            from ui.research.mount import research_mount
            from ui.server import create_server

            link = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            Console().print(f"Askback is at [bold]{link}[/bold]  (Ctrl-C stops it)", highlight=False)
            research = research_mount(
                writer,
                reader,
                home=home(),
                # Not by rich, which would wrap it: a link broken over two lines cannot be clicked.
                announce=lambda token: print(
                    f"For researchers, one browser: {link}/research?token={token}", flush=True
                ),
                sso_header=access.sso_header,
                models=options,
                offered=tuple(name for name in offered if name != PERSON),
                processes=runs,
            )
            starts = Starts(starts_per_minute)
            _serve(
                create_server(
                    declared, home=home(), log=path, mounts=[research], access=access, starts=starts
                ),
                host,
                port,
            )
        finally:
            ended.set()
            runs.close()


def _parse_items(text: str) -> tuple[str, str]:
    """Return benchmark and data of ``BENCHMARK=DATA``."""
    name, sign, data = text.partition("=")
    if not sign:
        raise InputError(f"--items {text!r}: write BENCHMARK=DATA, such as `--items NAME=FOLDER`.")
    return name, data


def _require_models(opponents: Sequence[str], chosen: Sequence[studies.Study], options: ModelOptions) -> None:
    """Check before the server starts that every model that people may play with answers."""
    unbound = [study for study in chosen if study.model_budget is None]
    needs = merge_needs([dict.fromkeys(opponents, Needs()), *map(needs_opposite, unbound)])
    missing = dict(missing_models(needs, options))
    for study in chosen:
        if study not in unbound:
            missing |= absent_opposite(study, options)
    for name, error in missing.items():
        needing = [f"study {study.id}: " for study in chosen if name in needs_opposite(study)][:1]
        message = f"{bare_name(name)} cannot play with people: {why_absent(name, error)}"
        raise InputError("".join([*needing, message])) from error


def read_studies(files: list[Path] | None, log: Path | None = None) -> dict[str, list[studies.Study]]:
    """Return studies named by file or id, with a key for every benchmark; empty if none are named.

    Raises:
        InputError: if a file is faulty, or its benchmark does not support studies.
    """
    if not files:
        return {}
    chosen: dict[str, list[studies.Study]] = {
        benchmark.name: [] for benchmark in catalog.installed() if material_type(benchmark) is not None
    }
    for file in files:
        study = find_study(str(file), log)
        chosen[study.benchmark].append(study)
    return chosen


def _serve(server: FastAPI, host: str, port: int) -> None:
    import uvicorn

    tune_collector()
    # Uvicorn raises it again once it has stopped: close the log and stop the runs, as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    uvicorn.run(
        server,
        host=host,
        port=port,
        log_level="warning",
        # `ui.security` reads the headers of named proxies.
        proxy_headers=False,
        # Report a failing start: Gradio's queues start with the lifespan.
        lifespan="on",
        http=PatientProtocol,
        ws="none",
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=10,  # an answer of a model may take minutes
    )


def _require_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder, buffering=0) as file:
            file.write(b"x")
    except OSError as error:
        raise InputError(
            f"The Askback folder {folder} is not writable ({error.strerror}). Make it writable, or name "
            f"another one in {HOME_VARIABLE}."
        ) from error


def _refuse_busy(host: str, port: int) -> None:
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        raise InputError(
            f"Cannot listen on {host}:{port} ({error.strerror}). Choose others with --host and --port."
        ) from error
