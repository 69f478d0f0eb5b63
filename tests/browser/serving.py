"""The web app in a process of its own, for tests that drive it as people do."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PASSWORD = "for the tests"
# A server that lives is waited for: a machine may be busy with other things.
START_SECONDS = 300.0


@dataclass
class Server:
    """The web app in a process of its own, on a log and a data home of its own.

    Attributes:
        household: HandMeThat's episodes, as ``--items handmethat=`` takes them.
        studies: study files; none: those that come with Askback.
        packages: a folder in which further packages are installed.
    """

    home: Path
    port: int
    household: str = "builtin"
    studies: tuple[Path, ...] = ()
    packages: Path | None = None
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Its log."""
        return self.home / "log.sqlite"

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = ["--port", str(self.port), "--log", str(self.log), f"--items=handmethat={self.household}"]
        # All who come here come from one address, and faster than people do.
        options += ["--starts-per-minute", "0"]
        options += [part for file in self.studies for part in ("--study", str(file))]
        command = [sys.executable, "app.py", "app", *options]
        with (self.home / "server.txt").open("ab") as output:
            self.process = subprocess.Popen(
                command, cwd=REPOSITORY, env=self.environment, stdout=output, stderr=output
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}: {self.last_words()}")
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=10).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        self.kill()
        raise TimeoutError(f"the server did not answer within {START_SECONDS:.0f} s: {self.last_words()}")

    def last_words(self) -> str:
        """Return the end of what it printed."""
        return (self.home / "server.txt").read_text("utf-8", "replace")[-2000:]

    def askback(self, *arguments: str, wait: bool = True) -> subprocess.Popen[bytes]:
        """Run an ``askback`` command on the server's log, beside the server."""
        command = [sys.executable, "app.py", *arguments, "--log", str(self.log)]
        process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        if wait:
            _, output = process.communicate()
            assert process.returncode == 0, output.decode()
        return process

    def fill(self, script: Path) -> None:
        """Run a script that writes runs into the server's log."""
        # In a process of its own: while Playwright runs, no other event loop can.
        subprocess.run(
            [sys.executable, str(script), str(self.log)],
            env=self.environment | {"PYTHONPATH": str(REPOSITORY)},
            cwd=REPOSITORY,
            check=True,
        )

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its processes: a data home and a password of their own."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ASKBACK_")}
        path = {"PYTHONPATH": str(self.packages)} if self.packages else {}
        return (
            inherited
            | path
            | {
                "ASKBACK_HOME": str(self.home),
                "ASKBACK_RESEARCH_PASSWORD": PASSWORD,
                "OMP_NUM_THREADS": "1",
            }
        )

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


# Below the ports that connections are given: while a server is away, nothing else may come by its port.
_PORTS = itertools.cycle(range(12_000, 32_000))
for _ in range(os.getpid() * 37 % 20_000):
    next(_PORTS)


def free_port() -> int:
    """Return a port that nobody listens on."""
    for port in _PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError
