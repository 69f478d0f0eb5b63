"""Whole participations in every built-in study: to the end, declined, withdrawn, screened out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest
from kitchen_pages import seen

from logs import LogReader, LogWriter, erase_participant
from simulator import frames
from simulator.ambibench.benchmark import BENCHMARK
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.ambient.benchmark import BENCHMARK as AMBIENT
from simulator.ambient.sessions import AmbientSessions
from simulator.ambik.benchmark import BENCHMARK as AMBIK
from simulator.ambik.sessions import AmbikSessions
from simulator.seats import Reply
from simulator.studies.known import builtin_studies
from simulator.studies.parts import Codes
from simulator.studies.questions import Question
from simulator.studies.sessions import StudySessions

BENCHMARKS: dict[str, Any] = {
    "ambibench": partial(AmbiBenchSessions, BENCHMARK),
    "ambient": partial(AmbientSessions, AMBIENT),
    "ambik": partial(AmbikSessions, AMBIK),
}
QUALIFICATION, CROWD = ["qualification"] * 5, ["label", "plausible", "relabel"]
# Study -> its benchmark, and the pages of a first and of a further set; none: there is one set.
STUDIES: dict[str, tuple[str, list[str], list[str]]] = {
    "ambibench-informative": ("ambibench", ["task", "comment"], []),
    "ambibench-multiple": ("ambibench", [*["task"] * 20, "comment"], []),
    "ambibench-uninformative": ("ambibench", ["task", "comment"], []),
    "ambient-crowd": ("ambient", [*QUALIFICATION, *CROWD], CROWD),
    "ambient-linguists": ("ambient", ["annotate"], ["annotate"]),
    "ambik-annotate": ("ambik", ["annotate"], ["annotate"]),
    "ambik-robot": ("ambik", ["decide", "decide"], ["decide", "decide"]),
    "ambik-user": ("ambik", ["answer"], ["tell", "answer"]),
}
# Way -> how the episode ends, what becomes of the place, and with which code the participant leaves.
WAYS = {
    "through": ("completed", "completed", "complete"),
    "declined": ("aborted", "withdrawn", "returned"),
    "withdrawn": ("aborted", "withdrawn", "returned"),
    "screened out": ("aborted", "screened_out", "screened_out"),
}
MEASURED = {"shown_at": "2026-01-02T03:04:05+00:00", "keys_used": True}


def page_of(view: Any) -> str:
    """The page that somebody is at: of a task that is made of several steps, the step."""
    due = getattr(view, "due", None)
    steps = (*QUALIFICATION, *CROWD, "annotate", "decide", "answer")
    task = view.stage in ("task", "qualification")
    return due.kind if task and due is not None and due.kind in steps else view.stage


def answer(view: Any, right: list[str]) -> Reply:
    """Return the reply of a cooperative participant to their current page."""
    forms: dict[str, Callable[[], dict[str, Any]]] = {
        "consent": lambda: {"text": "yes"},
        "instructions": lambda: {"text": "ready"},
        "tell": lambda: {"text": "ready"},
        "task": lambda: {"text": "x"},
        "comment": lambda: {"text": "  Rather odd. "},
        "qualification": lambda: {"move": {"label": right[view.done]}},
        "label": lambda: {"move": {"label": "neutral"}},
        "plausible": lambda: {"move": {"plausible": [True] * len(view.shown.candidates)}},
        "relabel": lambda: {"move": {"labels": ["neutral"] * len(view.shown.pairs), "comment": "Hm."}},
        "annotate": lambda: {
            "move": {"delete": "It is absurd."}
            if "delete" in seen(view).fields
            else {"discard": "not_fluent", "labels": [], "rewrites": [], "comment": ""}
        },
        "decide": lambda: {
            "move": {"marked": list(seen(view).options[:2]), "ask": "Which of them?"}
            if seen(view).may_ask
            else {"marked": [], "act": seen(view).options[0]}
        },
        "answer": lambda: {"text": "The one on the left."},
        "instructions_again": lambda: {"text": "ready"},
        "debriefing": lambda: {"text": "read"},
        "questions_before": lambda: {"move": {"answers": {"age": "31"}}},
        "questions_after": lambda: {"move": {"answers": {"hard": ["2"]}}},
    }
    form = forms[page_of(view)]()
    move = {**form.get("move", {}), **MEASURED}
    return Reply(text=form.get("text", ""), move=move, key=f"{view.episode_id} {view.number}", seconds=1.5)


class Participation:
    """One person in one study, on a log of their own."""

    def __init__(self, study: str, path: Path, questions: Sequence[Question] = (), **own: object) -> None:
        self.study = study
        self.questions = tuple(questions)
        self.own = own
        self.log = LogWriter(path, durable=False, group_seconds=0.0)
        self.reader = LogReader(path)
        self.steps: list[str] = []
        self.instructions: list[Any] = []
        self.again()

    def again(self) -> None:
        def nobody(name: str) -> Any:
            raise AssertionError(name)

        builtin = builtin_studies(STUDIES[self.study][0])
        own = {"questions": self.questions, "texts": {"debriefing": "It was about asking."}, **self.own}
        studies = [study.model_copy(update=own) for study in builtin]
        self.sessions: StudySessions = BENCHMARKS[STUDIES[self.study][0]](
            self.log, self.reader, nobody, studies=studies if self.questions else None
        )
        self.seat = next(
            desk for desk in self.sessions._desks.values() if desk.study.id == self.study
        ).study.seat

    def close(self) -> None:
        self.reader.close()
        self.log.close()

    async def enter(self) -> str:
        identity = {"PROLIFIC_PID": "ann"}
        entry = await self.sessions.enter(self.study, identity=identity, participant_key="k", language="en")
        assert entry.episode_id is not None
        return entry.episode_id

    async def play(self, episode: str, way: str) -> None:
        test = self.reader.episode(episode).options.get("qualification")
        right = [question["label"] for question in test["questions"]] if test else []
        wrong = ["neutral" if label != "neutral" else "entailment" for label in right]
        for number in count():
            self.again()  # every page is made from the log alone
            view = await self.sessions.view(episode, self.seat)
            self.steps.append(page_of(view))
            if view.stage.startswith("instructions"):
                self.instructions.append(view.blocks)
            if view.stage == "done":
                return
            if way == "withdrawn" and number == 2:
                await self.sessions.withdraw(episode)
                continue
            if view.stage == "comprehension":
                tried = "instructions_again" in self.steps
                goal = {"answers": {"goal": ["b" if tried and way == "through" else "a"]}}
                reply = Reply(move={**goal, **MEASURED}, key=str(number))
            else:
                reply = answer(view, wrong if way == "screened out" else right)
            if way == "declined" and view.stage == "consent":
                reply = Reply(text="no", key="no")
            await self.sessions.submit(episode, self.seat, reply, number=view.number)


@pytest.mark.parametrize(
    ("study", "way"), [*product(STUDIES, [*WAYS][:3]), ("ambient-crowd", "screened out")]
)
async def test_every_built_in_study_can_be_left_in_every_way(study: str, way: str, tmp_path: Path) -> None:
    _, first, further = STUDIES[study]
    pages = {
        "through": ["consent", "instructions", *first, "done", *further, *["done"][: len(further)]],
        "declined": ["consent", "done"],
        "withdrawn": ["consent", "instructions", first[0], "done"],
        "screened out": ["consent", "instructions", *QUALIFICATION, "done"],
    }
    person = Participation(study, tmp_path / "log.sqlite")
    episodes = [await person.enter()]
    await person.play(episodes[0], way)
    if way == "through" and further:
        episodes.append((await person.sessions.next_set(episodes[0])).episode_id)
        await person.play(episodes[1], way)
    assert person.steps == pages[way]
    for episode in episodes:
        ending, left = person.reader.ending(episode), person.sessions.completion(episode)
        assert ending is not None and left is not None
        assert left.code
        places = {row.state for row in person.reader.assignments()}
        assert (ending.status, places, left.outcome) == (WAYS[way][0], {WAYS[way][1]}, WAYS[way][2])
    person.close()


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
            first, again = person.instructions
            assert first == again != ()
            participant = person.reader.episode(episode).participant_id
            assert participant is not None
            erase_participant(tmp_path / "with.sqlite", participant)
            assert not [turn for turn in person.reader.turns(episode) if turn.payload.get("answers")]
    assert ends["with"] == ends["without"]


@pytest.mark.parametrize(("right", "outcome"), [("2", "complete"), ("7", "failed_check")])
async def test_a_missed_attention_check_has_a_code_of_its_own(
    right: str, outcome: str, tmp_path: Path
) -> None:
    check = Question(id="hard", text="How hard was it?", kind="scale", right=right)
    codes = Codes(complete="C-DONE", failed_check="C-CHECK")
    person = Participation(
        "ambibench-multiple", tmp_path / "log.sqlite", [*QUESTIONS[:2], check], completion_codes=codes
    )
    episode = await person.enter()
    await person.play(episode, "through")
    left = person.sessions.completion(episode)
    assert left is not None and left.is_done
    assert (left.outcome, left.code) == (outcome, {"complete": "C-DONE"}.get(outcome, "C-CHECK"))
    # They have done their part all the same: the place is theirs.
    assert [row.state for row in person.reader.assignments()][-1] == "completed"
    assert person.sessions._desks[person.study].progress().failed_checks == (outcome == "failed_check")


async def test_who_does_not_understand_the_instructions_is_screened_out(tmp_path: Path) -> None:
    person = Participation("ambibench-multiple", tmp_path / "log.sqlite", QUESTIONS)
    episode = await person.enter()
    await person.play(episode, "screened out")
    ending = person.reader.ending(episode)
    assert ending is not None
    assert (ending.status, ending.cause) == ("aborted", "participant")
    assert [row.state for row in person.reader.assignments()] == ["screened_out"]
    kinds = [turn.payload["kind"] for turn in person.reader.turns(episode)]
    assert kinds[-3:] == ["comprehension_1", "ready_2", "comprehension_2"]
