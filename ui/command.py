"""`askback app`: the sessions of every benchmark, and the server over them."""

from __future__ import annotations

import gc
import os
import socket
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
from logs.paths import HOME_VARIABLE, default_path, home
from simulator import catalog, studies
from simulator.catalog import attempt
from simulator.errors import InputError
from simulator.items import BUILTIN
from simulator.models import ModelOptions, Needs
from simulator.models.load import bare_name
from simulator.runner.build import Models
from simulator.runner.lobby import PERSON, menu
from simulator.runner.options import BaseUrlOption, ModelFlags, TimeoutOption
from simulator.runner.processes import RunProcesses
from simulator.studies.admission import erase_regularly
from simulator.studies.declared import PlaySessions, sessions_type
from simulator.studies.known import absent_opposite, merge_needs, missing_models, needs_opposite, why_absent
from simulator.studies.material import material_type
from ui.gradio_setup import import_gradio
from ui.limits import STARTS_PER_MINUTE, PatientProtocol, Starts
from ui.security import Access

if TYPE_CHECKING:
    from fastapi import FastAPI

_KEEP_ALIVE = 75
"""Seconds for which a connection waits for its next request: people think longer than uvicorn's 5."""


def app_command(
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="port to listen on")] = 7860,
    log: LogOption = None,
    items: Annotated[
        list[str] | None,
        typer.Option(
            help="what is played in free play, as BENCHMARK=DATA: registered data, a file or a folder, as "
            "`askback run BENCHMARK --data` takes it (several: give it again)"
        ),
    ] = None,
    study: Annotated[
        list[Path] | None,
        typer.Option(help="a study file (several: give it again); default: those that come with Askback"),
    ] = None,
    base_url: BaseUrlOption = None,
    opponent: Annotated[
        list[str] | None,
        typer.Option(
            help="a model that people may choose as their opposite, such as openai/llama or "
            "openai/llama@http://host:8000/v1 (several: give it again)"
        ),
    ] = None,
    timeout: TimeoutOption = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(help="a name that people reach this server by (several: give it again)"),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="address or network of a proxy whose X-Forwarded headers count (several: again)"),
    ] = None,
    sso_header: Annotated[
        str,
        typer.Option(
            help="header in which a --proxy names the researcher it has logged in, such as X-Forwarded-User; "
            "`askback users add` gives them their role"
        ),
    ] = "",
    starts_per_minute: Annotated[
        int, typer.Option(min=0, help="episodes that one address may begin per minute; 0: no limit")
    ] = STARTS_PER_MINUTE,
) -> None:
    """Start the web app: play in the browser, watch runs, review dialogues."""
    path = log or default_path()
    data = dict(map(_chosen_items, items or ()))
    access = Access.checked(host, host_name or (), proxy or (), sso_header)
    _refuse_busy(host, port)
    _require_writable(home())
    with LogWriter(path, durable=True) as writer, LogReader(path) as reader:
        options = replace(
            ModelFlags(base_url=base_url, timeout=timeout).options(path),
            recordings=None,
            recorder=writer.post,
        )
        models = Models(options=options)
        held = held_studies(study)
        _require_models(opponent or (), [each for studies in held.values() for each in studies], options)
        # Whoever has a server of their own is not offered other people's models there.
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
                studies=held.get(name),
                opponents=chosen,
            )
            # What this command names has to be there; what is merely installed has not.
            named = name in data or held.get(name)
            sessions = make() if named else attempt(f"{name} in the browser", make)
            if sessions is not None:
                declared.append(sessions)
            data.pop(name, None)
        if data:
            raise InputError(f"--items: {next(iter(data))} is no benchmark whose items can be chosen.")
        offered = (each.name for each in menu((), os.environ, chosen) if each.available)
        runs = RunProcesses(path, [f"--base-url={each}" for each in base_url or ()])
        ended = threading.Event()
        threading.Thread(target=erase_regularly, args=(path, ended), daemon=True).start()
        try:
            # Gradio takes seconds to import; neither this command's help nor its refusals should wait for it.
            import_gradio()
            from ui.research.mount import research_mount
            from ui.server import create_server

            link = f"http://{host}:{port}"
            Console().print(f"Askback is at [bold]{link}[/bold]  (Ctrl-C stops it)", highlight=False)
            research = research_mount(
                writer,
                reader,
                home=home(),
                # Printed as it is: a link that a console breaks over two lines cannot be clicked.
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


def _chosen_items(text: str) -> tuple[str, str]:
    """Read ``BENCHMARK=DATA``.

    Raises:
        InputError: if it is not of that form.
    """
    name, sign, data = text.partition("=")
    if not sign:
        raise InputError(f"--items {text!r}: write BENCHMARK=DATA, such as `--items NAME=FOLDER`.")
    return name, data


def _require_models(opponents: Sequence[str], held: Sequence[studies.Study], options: ModelOptions) -> None:
    """Make sure that every model that people may meet is there, before anybody meets it.

    Raises:
        InputError: if one does not answer; says who, and why.
    """
    unbound = [study for study in held if study.model_budget is None]
    needs = merge_needs([dict.fromkeys(opponents, Needs()), *map(needs_opposite, unbound)])
    missing = dict(missing_models(needs, options))
    for study in held:
        if study not in unbound:
            missing |= absent_opposite(study, options)
    for name, error in missing.items():
        raise InputError(
            f"{bare_name(name)} cannot sit opposite people: {why_absent(name, error)}"
        ) from error


def held_studies(files: list[Path] | None) -> dict[str, list[studies.Study]]:
    """Return the studies in `files` by benchmark, all of which are named; nothing if there are no files.

    Raises:
        InputError: if a file is wrong, or its benchmark holds no studies.
    """
    if not files:
        return {}
    held: dict[str, list[studies.Study]] = {
        benchmark.name: [] for benchmark in catalog.installed() if material_type(benchmark) is not None
    }
    for file in files:
        study = studies.read_study(file)
        if study.benchmark not in held:
            raise InputError(f"{file}: {study.benchmark} holds no studies; these do: {', '.join(held)}.")
        held[study.benchmark].append(study)
    return held


def _serve(server: FastAPI, host: str, port: int) -> None:
    import uvicorn

    # What has been imported stays: the collector need not look through it again and again.
    gc.collect()
    gc.freeze()
    uvicorn.run(
        server,
        host=host,
        port=port,
        log_level="warning",
        # `ui.security` reads what proxies say, of those that were named.
        proxy_headers=False,
        # A server whose start fails says so: the pages' queues begin with it.
        lifespan="on",
        http=PatientProtocol,
        timeout_keep_alive=_KEEP_ALIVE,
    )


def _require_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        raise InputError(
            f"The Askback folder {folder} cannot be written ({error.strerror}); make it writable, or name "
            f"another one in {HOME_VARIABLE}."
        ) from error


def _refuse_busy(host: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"Cannot listen on {host}:{port} ({error.strerror}); choose others with --host and --port."
            ) from error
