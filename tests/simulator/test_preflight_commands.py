"""Commands that ask models without a run send one request to each before the work begins."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from typer.testing import CliRunner

from app import cli
from simulator.models import ModelError

MODEL = "openai/absent"
COMMANDS = {
    "pairs": ["generate", "ambient", "--no-ambiguity-filter", "--prompts", "3", "--out", "made"],
    "distractors": ["generate", "ambient-distractors", "--limit", "3", "--out", "made.jsonl"],
    "scenes": ["generate", "ambik", "--out", "made"],
    "audit": ["audit", "provider", "r"],
    "judge": ["score", "r"],
}
SEATS = {"audit": "--provider", "judge": "--judge"}


class _Absent(BaseHTTPRequestHandler):
    """A server that does not have the model."""

    def do_POST(self):
        self.server.asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        sent = json.dumps({"error": {"message": "no such model", "code": "model_not_found"}}).encode()
        self.send_response(404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), _Absent)
    made.asked = []
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def test_a_model_that_is_not_there_is_found_out_with_one_request(server, tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.chdir(tmp_path)
    log = ["--log", str(tmp_path / "log.sqlite")]
    played = CliRunner().invoke(cli, ["run", "clarq", "--limit", "2", "--run", "r", *log])
    assert played.exit_code == 0, played.output
    url = f"http://127.0.0.1:{server.server_port}/v1"
    wrong = []
    for name, command in COMMANDS.items():
        server.asked.clear()
        called = [*command, SEATS.get(name, "--model"), MODEL, "--base-url", url, *log]
        result = CliRunner().invoke(cli, called)
        if not isinstance(result.exception, ModelError) or "Nothing was played" not in str(result.exception):
            wrong.append(f"{name}: {result.exception!r} {result.output}")
        if len(server.asked) != 1 or "ready" not in server.asked[0]:
            wrong.append(f"{name}: {len(server.asked)} requests")
    assert wrong == []
