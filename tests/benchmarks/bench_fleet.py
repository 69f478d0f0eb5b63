"""Answers a second of ten servers behind one name, of which two die, one is slow, and one lies.

Run as a script: ``python tests/benchmarks/bench_fleet.py``. The floor is what the six healthy servers can
give in the same time. Servers and run share the machine, so it is to be calm.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from rows import Row, main

import askback
from logs import LogReader
from logs.rows import ModelCall
from simulator.models.preflight import PURPOSE

sys.path.insert(0, str(Path(__file__).parents[1] / "shared"))

from fake_fleet import HEALTHY, PLACES, SECONDS, TROUBLED, fleet_file, serving

CAN = HEALTHY * PLACES / SECONDS
"""Answers a second."""


def play(folder: Path) -> tuple[list[ModelCall], Counter[str]]:
    """Play 200 dialogues of ten turns, 60 at a time; the calls, and how the episodes ended."""
    log = folder / "log.sqlite"
    with serving(*TROUBLED) as urls:
        (folder / "gpus.yaml").write_text(fleet_file(urls))
        run = askback.run(
            "clarq",
            seeker="openai/llama",
            provider=lambda view: "There is no need to worry about that; look at the task once more.",
            base_url=str(folder / "gpus.yaml"),
            limit=50,
            repeat=4,
            rules={"turn_limit": 10},
            concurrency=60,
            log=log,
        )
    with LogReader(log) as reader:
        calls = [call for call in reader.model_calls(run_id=run) if call.purpose != PURPOSE]
        return calls, Counter(ending.status for ending in reader.endings(run).values())


def rows() -> Iterator[Row]:
    """Yield what the fleet gave beside what its healthy servers can give."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ASKBACK_HOME"] = folder
        calls, endings = play(Path(folder))
    times = sorted(datetime.fromisoformat(call.created_at).timestamp() for call in calls)
    # The first answers come at the end of the first `SECONDS`; in the last ones no server has enough to do.
    shares = {"": len(times), ", first nine in ten": len(times) * 9 // 10}
    for share, count in shares.items():
        yield Row(
            work=f"answers of ten servers, two of which die, one slow, one lying{share}",
            ours=count / (times[count - 1] - times[0] + SECONDS),
            unit="/s",
            peer="six healthy servers",
            theirs=CAN,
            goal=0.9,
            goal_of="ratio",
            more=True,
            remark=f"{endings['failed']} of {endings.total()} episodes failed",
        )


if __name__ == "__main__":
    main(rows)
