"""Signs that somebody did not take care, each with somebody who shows it and many who don't."""

from __future__ import annotations

from typing import Any

import pytest

from logs.rows import Ending, Turn
from simulator.studies.files import Study
from simulator.studies.graph import MISSED
from simulator.studies.quality import carelessness_signs
from simulator.studies.questions import ASKED_AFTER, Question

LONG = "Could you tell me what the wood is needed for, and how much of it?"
SCALES = tuple(Question(id=name, text=name, kind="scale") for name in ("a", "b", "c"))


class Person:
    """The replies of a person, one per line; by default those of a careful participant."""

    def __init__(self, name: str, **changed: Any) -> None:
        self.name = name
        self.lines: list[tuple[str, float]] = changed.get(
            "lines", [(f"{LONG} ({number})", 20.0) for number in range(6)]
        )
        self.points = changed.get("points", [1, 5, 3])
        self.missed = changed.get("missed", [])
        self.pasted = changed.get("pasted", 0)


async def play(office: Any, study: Study, desk: Any, person: Person) -> str:
    admission = await desk.admit({"PROLIFIC_PID": person.name})
    episode = office.play(study, admission, status=None, turns=0)

    def turn(number: int, text: str, seconds: float, payload: dict[str, Any]) -> None:
        row = Turn(
            episode_id=episode, number=number, seat=study.seat, text=text, seconds=seconds, payload=payload
        )
        office.log.put(row)

    # Consent and questions take a second, whoever answers them.
    turn(0, "yes", 1.0, {"kind": "consent"})
    for number, (text, seconds) in enumerate(person.lines, start=1):
        trace = {"trace": {"pasted": person.pasted}} if person.pasted else {}
        turn(number, text, seconds, {"kind": "seeker", **trace})
    asked = {"kind": ASKED_AFTER, "answers": dict(zip("abc", person.points, strict=True))}
    turn(len(person.lines) + 1, ASKED_AFTER, 1.0, asked | ({MISSED: person.missed} if person.missed else {}))
    office.log.put(Ending(episode_id=episode, status="completed"))
    office.log.flush()
    return str(admission.participant)


CARELESS = {
    "fast": Person("fast", lines=[("What colour does it have?" + str(number), 4.0) for number in range(6)]),
    "typed": Person("typed", lines=[(f"{LONG} {number}", 20.0) for number in range(5)] + [(LONG, 1.5)]),
    "pasted": Person("pasted", pasted=50),
    "same": Person("same", lines=[("What is it like?", 20.0)] * 6),
    "straight": Person("straight", points=[4, 4, 4]),
    "checks": Person("checks", missed=["hard"]),
}


@pytest.mark.parametrize("sign", CARELESS)
async def test_each_sign_is_seen_in_whom_it_is_meant_for(office: Any, sign: str) -> None:
    study = office.study(questions=SCALES, exclude=())
    desk = office.desk(questions=SCALES, exclude=())
    for number in range(3):
        await play(office, study, desk, Person(f"careful {number}"))
    careless = await play(office, study, desk, CARELESS[sign])
    table = carelessness_signs(office.reader, study)
    assert dict(zip(table["participant"], table["signs"], strict=True)).pop(careless) == (sign,)
    assert table["participant"][0] == careless
    assert [signs for signs in table["signs"][1:] if signs] == []
    assert set(table["sets"]) == {1}


async def test_a_label_given_again_and_again_is_no_sign(office: Any) -> None:
    study, desk = office.study(), office.desk()
    await play(office, study, desk, Person("labels", lines=[("neutral", 3.0)] * 10))
    table = carelessness_signs(office.reader, study)
    assert list(table["signs"]) == [()]
    assert table["turn_seconds"][0] == 3.0


async def test_nobody_has_played(office: Any) -> None:
    await office.desk().open()
    assert carelessness_signs(office.reader, office.study()).empty
