"""Whole participations in every built-in study: steps, views and rows, as `participations.json` has them.

Written anew by ``python tests/simulator/studies/test_participations.py`` — only where what participants see,
or what is logged of them, is meant to change.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest

from logs import LogReader, LogWriter, erase_participant
from simulator import frames
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.ambient.sessions import AmbientSessions
from simulator.ambik.sessions import AmbikSessions
from simulator.seats import Reply
from simulator.studies.material import builtin_studies
from simulator.studies.questions import Question
from simulator.studies.sessions import StudySessions

RECORDED = Path(__file__).with_name("participations.json")
BENCHMARKS: dict[str, Any] = {
    "ambibench": AmbiBenchSessions,
    "ambient": AmbientSessions,
    "ambik": AmbikSessions,
}
STUDIES = {
    "ambibench-informative": "ambibench",
    "ambibench-multiple": "ambibench",
    "ambibench-uninformative": "ambibench",
    "ambient-crowd": "ambient",
    "ambient-linguists": "ambient",
    "ambik-annotate": "ambik",
    "ambik-robot": "ambik",
    "ambik-user": "ambik",
}
WAYS = ("through", "declined", "withdrawn")
# One study has a test that may be failed.
CASES = [*((study, way) for study in STUDIES for way in WAYS), ("ambient-crowd", "screened out")]
MEASURED = {"shown_at": "2026-01-02T03:04:05+00:00", "keys_used": True}
# Ours alone, and no two runs have the same.
UNSTABLE = ("created_at", "seconds", "id", "participant_id")


def answer(view: Any, right: list[str]) -> Reply:
    """What a willing participant sends from the page that they are at."""
    forms: dict[str, Callable[[], dict[str, Any]]] = {
        "consent": lambda: {"text": "yes"},
        "instructions": lambda: {"text": "ready"},
        "tell": lambda: {"text": "ready"},
        "trial": lambda: {"text": "x"},
        "comment": lambda: {"text": "  Rather odd. "},
        "qualification": lambda: {"move": {"label": right[view.done]}},
        "label": lambda: {"move": {"label": "neutral"}},
        "plausible": lambda: {"move": {"plausible": [True] * len(view.candidates)}},
        "relabel": lambda: {"move": {"labels": ["neutral"] * len(view.pairs), "comment": "Hm."}},
        "annotate": lambda: {
            "move": {"delete": "It is absurd."}
            if view.__class__.__module__.startswith("simulator.ambik")
            else {"discard": "not_fluent", "labels": [], "rewrites": [], "comment": ""}
        },
        "decide": lambda: {
            "move": {"marked": list(view.options[:2]), "ask": "Which of them?"}
            if view.may_ask
            else {"marked": [], "act": view.options[0]}
        },
        "answer": lambda: {"text": "The one on the left."},
        "instructions_again": lambda: {"text": "ready"},
        "debriefing": lambda: {"text": "read"},
        "questions_before": lambda: {"move": {"answers": {"age": "31"}}},
        "questions_after": lambda: {"move": {"answers": {"hard": ["2"]}}},
    }
    form = forms[view.stage]()
    move = {**form.get("move", {}), **MEASURED}
    return Reply(text=form.get("text", ""), move=move, key=f"{view.episode_id} {view.number}", seconds=1.5)


def brief(record: Any) -> str:
    """A record's first letters of its hash; what differs from run to run is left out."""
    plain = json.dumps(record, default=str, sort_keys=True, ensure_ascii=False)
    return sha256(plain.encode()).hexdigest()[:12]


class Participation:
    """One person in one study, on a log of their own."""

    def __init__(self, study: str, path: Path, questions: Sequence[Question] = ()) -> None:
        self.study = study
        self.questions = tuple(questions)
        self.log = LogWriter(path, durable=False, group_seconds=0.0)
        self.reader = LogReader(path)
        self.steps: list[str] = []
        self.again()

    def again(self) -> None:
        def nobody(name: str) -> Any:
            raise AssertionError(name)

        builtin = builtin_studies(STUDIES[self.study])
        own = {"questions": self.questions, "texts": {"debriefing": "It was about asking."}}
        studies = [study.model_copy(update=own) for study in builtin]
        self.sessions: StudySessions = BENCHMARKS[STUDIES[self.study]](
            self.log, self.reader, nobody, studies=studies if self.questions else None
        )
        self.seat = next(
            one for one in self.sessions._desks.values() if one.study.id == self.study
        ).study.seat

    async def enter(self) -> str:
        identity = {"PROLIFIC_PID": "ann"}
        entry = await self.sessions.enter(self.study, identity=identity, participant_key="k", language="en")
        assert entry.episode_id is not None
        return entry.episode_id

    async def play(self, episode: str, way: str) -> None:
        test = self.reader.episode(episode).options.get("qualification")
        right = [one["label"] for one in test["questions"]] if test else []
        wrong = ["neutral" if label != "neutral" else "entailment" for label in right]
        for number in count():
            self.again()  # every page is made from the log alone
            view = await self.sessions.view(episode, self.seat)
            shown = {key: value for key, value in asdict(view).items() if key not in ("episode_id", "ending")}
            self.steps.append(f"{view.number} {view.stage} {brief(shown)}")
            if view.stage == "done":
                return
            if way == "withdrawn" and number == 3:
                await self.sessions.withdraw(episode)
                continue
            if view.stage == "comprehension":
                tried = any("instructions_again" in step for step in self.steps)
                goal = {"answers": {"goal": ["b" if tried and way == "through" else "a"]}}
                reply = Reply(move={**goal, **MEASURED}, key=str(number))
            else:
                reply = answer(view, wrong if way == "screened out" else right)
            if way == "declined" and view.stage == "consent":
                reply = Reply(text="no", key="no")
            await self.sessions.submit(episode, self.seat, reply, number=view.number)

    def rows(self) -> dict[str, Any]:
        episodes = sorted(self.reader.episodes(), key=lambda one: one.created_at)
        return {
            "steps": self.steps,
            "turns": [self.turn(turn) for one in episodes for turn in self.reader.turns(one.id)],
            "endings": [
                f"{end.status} {end.cause} {end.message}"
                for one in episodes
                if (end := self.reader.ending(one.id))
            ],
            "scores": sorted(f"{one.metric} {one.value}" for one in self.reader.scores()),
            "places": [row.state for row in self.reader.assignments()],
            "codes": [
                f"{left.outcome} {left.code}"
                for one in episodes
                if (left := self.sessions.completion(one.id)) is not None
            ],
        }

    def turn(self, turn: Any) -> str:
        kind = turn.payload["kind"]
        said = {
            key: value for key, value in asdict(turn).items() if key not in (*UNSTABLE, "key", "episode_id")
        }
        if kind in ("consent", "ready", "comment"):
            return json.dumps(said, sort_keys=True)
        return f"{turn.number} {turn.seat} {kind} {brief(said)}"


async def participate(study: str, way: str, path: Path) -> dict[str, Any]:
    """Everything that is seen and logged of a participation, the first two sets of it."""
    unique = (UUID(int=number << 96) for number in count(7))
    with patch("simulator.runner.sessions.uuid4", lambda: next(unique)):
        person = Participation(study, path)
        first = await person.enter()
        await person.play(first, way)
        if way == "through" and person.sessions.sets_done(first)[1] > 1:
            following = (await person.sessions.next_set(first)).episode_id
            assert following is not None
            await person.play(following, way)
        rows = person.rows()
        person.reader.close()
        person.log.close()
    return rows


@pytest.mark.parametrize(("study", "way"), CASES)
async def test_participations_are_as_recorded(study: str, way: str, tmp_path: Path) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert await participate(study, way, tmp_path / "log.sqlite") == recorded[f"{study}, {way}"]


QUESTIONS = [
    Question(
        id="goal", text="What?", kind="choice", choices={"a": "A", "b": "B"}, when="comprehension", right="b"
    ),
    Question(id="age", text="How old are you?", kind="number", when="before"),
    Question(id="hard", text="How hard was it?", kind="scale"),
]


@pytest.mark.parametrize("study", STUDIES)
async def test_a_studys_own_questions_change_nothing_else(study: str, tmp_path: Path) -> None:
    people = {
        "without": Participation(study, tmp_path / "without.sqlite"),
        "with": Participation(study, tmp_path / "with.sqlite", QUESTIONS),
    }
    ends = {}
    for name, person in people.items():
        episode = await person.enter()
        await person.play(episode, "through")
        run = person.reader.episode(episode).run_id
        frame = frames.episodes(person.reader, [run])
        ends[name] = (
            person.reader.ending(episode).status,
            # Which items somebody gets is drawn by who they are; how many scores there are, is not.
            sorted({score.metric for score in person.reader.scores()}),
            sorted(column for column in frame if not column.startswith("answer.")),
        )
        if name == "with":
            assert frame[["answer.goal", "answer.age", "answer.hard"]].to_numpy().tolist() == [["b", 31, 2]]
            kinds = [turn.payload["kind"] for turn in person.reader.turns(episode)]
            own = ["comprehension_1", "ready_2", "comprehension_2", "questions_before", "questions_after"]
            assert [kind for kind in kinds if kind in own] == own
            assert kinds[-1] == "debriefing"
            participant = person.reader.episode(episode).participant_id
            assert participant is not None
            erase_participant(tmp_path / "with.sqlite", participant)
            assert not [turn for turn in person.reader.turns(episode) if turn.payload.get("answers")]
    assert ends["with"] == ends["without"]


async def test_who_does_not_understand_the_instructions_is_screened_out(tmp_path: Path) -> None:
    person = Participation("ambibench-multiple", tmp_path / "log.sqlite", QUESTIONS)
    episode = await person.enter()
    await person.play(episode, "screened out")
    ending = person.reader.ending(episode)
    assert ending is not None
    assert (ending.status, ending.cause) == ("aborted", "participant")
    assert person.rows()["places"][-1] == "screened_out"
    kinds = [turn.payload["kind"] for turn in person.reader.turns(episode)]
    assert kinds[-3:] == ["comprehension_1", "ready_2", "comprehension_2"]


def main() -> None:
    """Write what is recorded."""
    recorded = {}
    for study, way in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.sqlite"
            recorded[f"{study}, {way}"] = asyncio.run(participate(study, way, path))
    RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
