"""Work in several processes: results in the order of the jobs, nothing hangs, nobody stays behind."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from operator import neg
from pathlib import Path

import pytest

from simulator.errors import WorkerFailed
from simulator.runner.options import HERE, Engine
from simulator.runner.spreading import in_order

TWO = Engine(workers=2)


def test_results_come_in_the_order_of_the_jobs() -> None:
    assert list(in_order(neg, iter(range(50)), HERE)) == [-i for i in range(50)]
    assert list(in_order(neg, iter(range(50)), TWO)) == [-i for i in range(50)]
    assert list(in_order(neg, iter(()), TWO)) == []


def test_jobs_are_made_only_when_somebody_is_free_for_them() -> None:
    made: list[int] = []

    def jobs() -> Iterator[int]:
        for i in itertools.count():
            made.append(i)
            yield i

    results = in_order(neg, jobs(), TWO)
    assert list(itertools.islice(results, 40)) == [-i for i in range(40)]
    results.close()  # type: ignore[attr-defined]
    assert len(made) < 60


def test_who_wants_no_more_waits_for_no_job() -> None:
    results = in_order(time.sleep, iter([0.0, 600.0, 600.0, 600.0]), TWO)
    assert next(results) is None
    results.close()  # type: ignore[attr-defined]


def test_what_a_worker_raises_is_told() -> None:
    with pytest.raises(ValueError, match="invalid literal for int"):
        list(in_order(int, iter(["1", "no"]), TWO))


def test_a_worker_that_is_killed_is_told() -> None:
    with pytest.raises(WorkerFailed, match=r"was killed by SIGKILL; the same command continues"):
        list(in_order(signal.raise_signal, iter([signal.SIGKILL]), TWO))


def test_a_worker_that_ends_by_itself_is_told_apart() -> None:
    with pytest.raises(WorkerFailed, match="exited with status 3"):
        list(in_order(os._exit, iter([3]), TWO))


def test_a_worker_ends_when_its_parent_is_killed() -> None:
    code = (
        "import itertools\n"
        "from simulator.runner.options import Engine\n"
        "from simulator.runner.spreading import in_order\n"
        "for answer in in_order(eval, itertools.repeat('__import__(\"os\").getpid()'), Engine(workers=2)):\n"
        "    print(answer, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert is_alive(worker)
        parent.kill()
    while is_alive(worker):
        time.sleep(0.05)


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_a_cluster_gives_the_same_in_the_same_order() -> None:
    pytest.importorskip("ray", reason="pip install 'askback[ray]'")
    assert list(in_order(neg, iter(range(500)), Engine(executor="ray"))) == [-i for i in range(500)]
    with pytest.raises(ValueError, match="invalid literal for int"):
        list(in_order(int, iter(["1", "no"]), Engine(executor="ray")))
