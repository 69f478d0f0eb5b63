from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

import logs.cli
from logs import LogReader, LogWriter, NotInLog
from logs.cli import tail
from logs.rows import Turn


def test_tail_begins_with_the_last_turns_and_goes_on_with_new_ones(
    dialogue: LogWriter, reader: LogReader, turn: Callable[..., Turn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs.cli, "POLL_SECONDS", 0)
    looks = count()

    def follow() -> bool:
        look = next(looks)
        if look in (0, 2):
            dialogue.put(turn(look // 2, f"new {look}", episode_id="e1")).result()
        return look < 5

    assert [line.text for line in tail(reader, "run", 2, follow=follow)] == [
        "Which wood?\nOak?",
        "Oak.",
        "new 0",
        "new 2",
    ]
    assert [line.text for line in tail(reader, "run", 1)] == ["new 2"]
    assert list(tail(reader, "run", 0)) == []
    with pytest.raises(NotInLog):
        next(tail(reader, "another", 1))
