import pytest

from simulator.errors import InputError
from simulator.models import Budget
from simulator.runner import executors
from simulator.runner.executors import workers_for

OFFLINE = {"seeker": "offline/seeker:hasty", "provider": "offline/experts"}
SCRIPT = {"seeker": "script:lines.yaml", "provider": "offline/experts"}
MODEL = {"seeker": "openai/m", "provider": "offline/experts"}


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch):
    monkeypatch.setattr(executors, "_cores", lambda: 8)


@pytest.mark.each(
    ("seats", "episodes", "workers"),
    [
        (OFFLINE, 62, 1),
        (OFFLINE, 310, 1),
        (OFFLINE, 620, 3),
        (SCRIPT, 620, 3),
        (OFFLINE, 100_000, 8),
        (MODEL, 100_000, 1),
    ],
)
def test_a_long_offline_run_takes_more_processes(seats, episodes, workers):
    assert workers_for(None, seats, episodes, None) == workers


@pytest.mark.parametrize("asked", [1, 3, 20])
def test_what_is_asked_for_is_done(asked):
    assert workers_for(asked, MODEL, 5, None) == asked


def test_a_budget_is_kept_by_one_process():
    assert workers_for(1, MODEL, 5, Budget(2.0)) == workers_for(None, MODEL, 5, Budget(2.0)) == 1
    with pytest.raises(InputError, match="--workers"):
        workers_for(2, MODEL, 5, Budget(2.0))
