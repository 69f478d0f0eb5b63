"""Ten servers behind one name, over HTTP: two die, one is slow, one lies; every dialogue is played."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from fake_fleet import HEALTHY, TROUBLED, fleet_file, serving

import askback
from logs import LogReader


def patient(view):
    return "There is no need to worry about that; look at the task once more."


@pytest.mark.slow
def test_no_episode_fails_and_the_healthy_ones_are_busy(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path))
    fleet, log = tmp_path / "gpus.yaml", tmp_path / "log.sqlite"
    with serving(*TROUBLED) as urls:
        fleet.write_text(fleet_file(urls))
        begin = time.monotonic()
        options = {"limit": 50, "repeat": 3, "rules": {"turn_limit": 4}, "concurrency": 60, "log": log}
        run = askback.run("clarq", seeker="openai/llama", provider=patient, base_url=str(fleet), **options)
        assert time.monotonic() - begin < 100, "nobody waits for a time-out of 120 s"
    with LogReader(log) as reader:
        endings = reader.endings(run).values()
        calls = reader.model_calls(run_id=run)
    assert not [ending.message for ending in endings if ending.status == "failed"]
    assert Counter(ending.status for ending in endings) == {"truncated": 150}
    assert len(calls) == 600 and not any(call.error for call in calls)
    served = Counter(call.response["server"] for call in calls)
    healthy = sum(served[url] for url in urls[-HEALTHY:])
    assert healthy >= 0.8 * 600 and served[urls[0]] < 0.1 * healthy
