"""`askback study bots`: a load test of a study with simulated participants, and its results.

At the end every acknowledged turn must be in the log exactly once, and the study's books must balance. A
stand-in server can replace the study's models: its answers are meaningless and take a given time, so load can
be measured with models of known speed, without a key or cost.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import httpx
import typer
import uvicorn
from rich.console import Console
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from logs import LogReader, LogWriter
from logs.cli import LogOption
from simulator.errors import InputError
from simulator.runner.lobby import PERSON
from simulator.studies.bots.visiting import Habits, Tally, play
from simulator.studies.command import StudyArgument, with_desk
from simulator.studies.known import find_study, needs_opposite
from simulator.studies.reconcile import reconcile

_STARTS: Final = 180.0
"""Seconds that a server may take to start on a busy machine."""


@contextmanager
def serve_study(study: str, log: Path, models: str = "") -> Iterator[tuple[str, int]]:
    """Serve a study on a free port; yield the server's address and process id.

    `study`: a study file, or the id of a study. `models`: the base URL of its models; default: the usual one.

    Raises:
        InputError: if it does not start.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["app", "--port", str(port), "--log", str(log), "--starts-per-minute", "0", "--study", study]
    environment = None
    if models:
        words += ["--base-url", models]
        environment = {**os.environ, "OPENAI_API_KEY": "none"}
    with tempfile.TemporaryFile() as messages:
        server = subprocess.Popen(
            [sys.executable, "-c", "from app import main; main()", *words],
            stdout=subprocess.DEVNULL,
            stderr=messages,
            env=environment,
        )
        try:
            address, until = f"http://127.0.0.1:{port}", time.monotonic() + _STARTS
            while not _is_up(address):
                if server.poll() is not None or time.monotonic() > until:
                    messages.seek(0)
                    output = messages.read().decode(errors="replace").strip()
                    raise InputError(f"the server did not start: {output or 'no answer'}")
                time.sleep(0.3)
            yield address, server.pid
        finally:
            server.terminate()
            server.wait()


def _is_up(address: str) -> bool:
    try:
        return httpx.get(f"{address}/health", timeout=5.0).status_code == 200
    except httpx.TransportError:
        return False


def memory(process: int) -> float | None:
    """Return the resident memory of a process in megabytes; None if the system does not report it."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), None)


def lost_and_doubled(reader: LogReader, acknowledged: Sequence[tuple[str, str]]) -> tuple[int, int]:
    """Return the number of acknowledged turns missing in the log, and of surplus human turns in it.

    `acknowledged`: episode id and key of each turn that the server acknowledged.
    """
    expected = set(acknowledged)
    logged = {
        (episode.id, turn.key, turn.number)
        for episode in map(reader.episode, {episode for episode, _ in expected})
        for turn in reader.turns(episode.id)
        if episode.seats[turn.seat] == PERSON and turn.key
    }
    sent = {(episode, key) for episode, key, _ in logged}
    return len(expected - sent), len(logged) - len(expected & sent)


def broken_by(reader: LogReader, acknowledged: Sequence[tuple[str, str]]) -> Counter[str]:
    """Return the seat and the message of each aborted episode with an acknowledged turn, with counts."""
    endings = map(reader.ending, {episode for episode, _ in acknowledged})
    return Counter(f"{end.cause}: {end.message}" for end in endings if end and end.status == "aborted")


def bots_command(
    study: StudyArgument,
    n: Annotated[int, typer.Option("--n", min=1, help="number of concurrent bots")] = 20,
    think: Annotated[float, typer.Option(min=0, help="mean seconds before each turn")] = 5.0,
    leave: Annotated[
        float, typer.Option(min=0, max=1, help="chance per turn that a bot leaves for good")
    ] = 0.002,
    reload: Annotated[float, typer.Option(min=0, max=1, help="chance per turn to reload the page")] = 0.05,
    twice: Annotated[float, typer.Option(min=0, max=1, help="chance to send a turn twice at once")] = 0.05,
    site: Annotated[
        str | None,
        typer.Option(
            help="URL of a running server that writes --log, with --starts-per-minute 0; default: a new one"
        ),
    ] = None,
    model_seconds: Annotated[
        float | None,
        typer.Option(min=0, help="seconds per answer of a stand-in that replaces the study's models"),
    ] = None,
    seed: Annotated[int, typer.Option(help="seed of the bots' random choices")] = 0,
    log: LogOption = None,
) -> None:
    """Let bots take part in a study over HTTP; the exit code is 1 if anything was lost."""
    if site is not None and log is None:
        raise InputError("--site needs --log, the log that the server writes.")
    if site is not None and model_seconds is not None:
        raise InputError("--model-seconds starts its own server: leave out --site.")
    path = log or Path(tempfile.mkdtemp(prefix="askback-bots-")) / "log.sqlite"
    habits = Habits(think=think, leave=leave, reload=reload, twice=twice)
    with LogWriter(path, durable=True):
        chosen = find_study(study, path)
    if model_seconds is not None and not needs_opposite(chosen):
        raise InputError(f"--model-seconds: no remote model plays with people in {chosen.id}.")
    megabytes, asked = None, 0
    if site is not None:
        tally = asyncio.run(play(site, chosen, path, n, habits, seed))
    else:
        with ExitStack() as stack:
            model = None if model_seconds is None else stack.enter_context(serve_stand_in(model_seconds))
            server = serve_study(study, path, model.address if model else "")
            address, process = stack.enter_context(server)
            tally = asyncio.run(play(address, chosen, path, n, habits, seed))
            megabytes, asked = memory(process), model.asked if model else 0
    console = Console()
    _print_tally(console, tally, n, think)
    if model_seconds is not None:
        console.print(f"the model was asked {asked} times, {model_seconds:g} s each")
    if megabytes is not None:
        console.print(f"the server uses {megabytes:.0f} MB")
    balance, (lost, doubled), broken = with_desk(
        chosen,
        path,
        lambda desk, reader: (
            reconcile(desk, reader),
            lost_and_doubled(reader, tally.acknowledged),
            broken_by(reader, tally.acknowledged),
        ),
    )
    for reason, count in broken.most_common(5):
        console.print(f"{count} aborted: {reason}", highlight=False, markup=False)
    if broken and model_seconds is not None:
        console.print(f"The stand-in says only {_SAID!r}; {_OTHER_PLAYER}", highlight=False)
    books = "the books balance" if balance.balanced else "the books do not balance"
    console.print(f"{lost} acknowledged turns lost, {doubled} doubled; {books}", highlight=False)
    for finding in balance.findings:
        if not finding.explained:
            console.print(f"  {finding.sentence}", highlight=False)
    print(f"log: {path}")
    if lost or doubled or not balance.balanced or tally.errors or not tally.acknowledged:
        raise typer.Exit(1)


def _print_tally(console: Console, tally: Tally, n: int, think: float) -> None:
    turns = len(tally.acknowledged)
    rate = f"{turns} turns in {tally.elapsed:.0f} s, {turns / tally.elapsed:.1f} per second"
    console.print(f"{n} bots, {think:g} s per thought: {rate}", highlight=False)
    if len(tally.seconds) > 1:
        cuts = statistics.quantiles(tally.seconds, n=100, method="inclusive")
        parts = ", ".join(f"p{part} {1000 * cuts[part - 1]:.0f} ms" for part in (50, 95, 99))
        console.print(f"a turn takes {parts}", highlight=False)
    console.print("bots " + ", ".join(f"{end} {count}" for end, count in tally.ends.most_common()))
    for error, count in tally.errors.most_common(5):
        console.print(f"[red]{count}[/red] {error}", highlight=False)


_SAID: Final = "Could you tell me more about that?"
_OTHER_PLAYER: Final = "give a seat that needs another text, such as a form, a built-in player in `settings`."
_LOGPROB: Final = {"token": _SAID, "logprob": -0.1}


class StandIn:
    """A server that stands in for a study's models.

    Attributes:
        address: the value for ``--base-url``.
    """

    def __init__(self, seconds: float, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}/v1"
        self.asked = 0
        self._seconds = seconds

    async def answer(self, request: Request) -> JSONResponse:
        """Answer a chat completion, or a completion, after the given time."""
        body = await request.json()
        await asyncio.sleep(self._seconds)
        self.asked += 1
        return JSONResponse(completion(body))


def completion(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer to a request for a text, or for an object with a schema."""
    form = body.get("response_format")
    text = json.dumps(example_of(form["json_schema"]["schema"])) if form else _SAID
    said: dict[str, Any] = {"text": text}
    if "messages" in body:
        said = {"message": {"role": "assistant", "content": text}}
        if body.get("logprobs"):
            said["logprobs"] = {"content": [{**_LOGPROB, "top_logprobs": [_LOGPROB]}]}
    return {
        "id": "stand-in",
        "object": "chat.completion" if "messages" in body else "text_completion",
        "created": 0,
        "model": body["model"],
        "choices": [
            {"index": number, "finish_reason": "stop", **said} for number in range(body.get("n") or 1)
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def example_of(schema: Mapping[str, Any], known: Mapping[str, Any] | None = None) -> Any:
    """Return a small value that fits a JSON schema."""
    known = schema.get("$defs", {}) if known is None else known
    if "$ref" in schema:
        return example_of(known[schema["$ref"].rpartition("/")[2]], known)
    if several := schema.get("anyOf") or schema.get("allOf"):
        return example_of(several[0], known)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: example_of(part, known) for name, part in schema.get("properties", {}).items()}
        case "array":
            return [example_of(schema["items"], known)] * schema.get("minItems", 0)
        case "boolean":
            return False
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "null":
            return None
    return _SAID


@contextmanager
def serve_stand_in(seconds: float) -> Iterator[StandIn]:
    """Serve a stand-in on a free port."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1024)
        model = StandIn(seconds, listening.getsockname()[1])
        app = Starlette(routes=[Route("/{path:path}", model.answer, methods=["POST"])])
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield model
        finally:
            server.should_exit = True
            thread.join()
