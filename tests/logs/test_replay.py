from __future__ import annotations

from logs import LogReader, LogWriter
from logs.replay import find_response
from logs.rows import ModelCall


def test_recorded_answers_are_found_by_request(dialogue: LogWriter, reader: LogReader) -> None:
    call = {"episode_id": "e1", "turn_number": 0, "purpose": "x", "model": "m"}
    dialogue.put(ModelCall(id="d1", request={"key": "k"}, error="Timeout", **call))
    dialogue.put(ModelCall(id="d2", request={"key": "k"}, response={"text": "first"}, **call))
    dialogue.put(ModelCall(id="d3", request={"key": "k"}, response={"text": "second"}, **call))
    dialogue.put(ModelCall(id="d4", request={}, response={"text": "no key"}, **call))
    dialogue.flush()
    found = find_response(reader, "run", "k")
    assert found is not None and found.id == "d2" and found.response == {"text": "first"}
    assert find_response(reader, "run", "nothing") is None
    assert find_response(reader, "another run", "k") is None
