from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import openai
import pytest

from simulator.ambibench.train_command import TrainConfig, submit
from simulator.errors import InputError


class FakeService:
    """A fake of the openai package's client that accepts files and jobs."""

    def __init__(self, error: Exception | None = None) -> None:
        self.sent: dict[str, Any] = {}
        self.uploaded = b""
        self._error = error
        self.files = SimpleNamespace(create=self._upload)
        self.fine_tuning = SimpleNamespace(jobs=SimpleNamespace(create=self._begin))

    def _upload(self, file: Any, purpose: str) -> Any:
        assert purpose == "fine-tune"
        self.uploaded = file.read()
        return SimpleNamespace(id="file-1")

    def _begin(self, **fields: Any) -> Any:
        if self._error:
            raise self._error
        self.sent = fields
        return SimpleNamespace(id="job-1")


def test_the_file_is_uploaded_and_the_job_begun(tmp_path):
    file = tmp_path / "train.jsonl"
    file.write_text(json.dumps({"prompt": "…\n>", "completion": "X"}) + "\n", encoding="utf-8")
    service = FakeService()
    assert submit("davinci-002", file, TrainConfig(epochs=3, seed=5), service) == "job-1"
    assert service.uploaded == file.read_bytes()
    assert service.sent["model"] == "davinci-002" and service.sent["training_file"] == "file-1"
    given = service.sent["method"]["supervised"]["hyperparameters"]
    assert given == {"batch_size": 1, "learning_rate_multiplier": 0.1, "n_epochs": 3}


def test_what_the_service_says_is_told(tmp_path):
    file = tmp_path / "train.jsonl"
    file.write_text("{}\n", encoding="utf-8")
    service = FakeService(openai.OpenAIError("no such base model"))
    with pytest.raises(InputError, match="davinci-9 could not be finetuned: no such base model"):
        submit("davinci-9", file, TrainConfig(), service)


def test_without_a_key_nothing_is_sent(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        submit("davinci-002", tmp_path / "train.jsonl", TrainConfig())
