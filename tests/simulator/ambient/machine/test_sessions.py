"""Free play and studies on the log: entering, qualifying, several sets, leaving, visible texts."""

from __future__ import annotations

from collections import Counter

import pytest
from served import Server

from simulator import catalog
from simulator.ambient.assignment import ExampleStudy
from simulator.ambient.benchmark import BENCHMARK
from simulator.ambient.data import load_qualification
from simulator.ambient.items import item_from_row
from simulator.ambient.sessions import AmbientSessions
from simulator.errors import ConflictError, InputError
from simulator.runner.build import load_machine
from simulator.seats import Reply
from simulator.studies import Study
from simulator.studies.admission import erase_due
from simulator.studies.files import find_studies
from simulator.studies.known import builtin_studies, check_studies
from simulator.studies.quota import quota_of

SEAT = "annotator"
CODES = {"complete": "C", "screened_out": "S", "returned": "R"}


def study(task="crowd", **more):
    settings = {"task": task, "items": 3, **more.pop("settings", {})}
    given = {"id": "s", "title": "T", "benchmark": "ambient", "seat": SEAT, "settings": settings}
    return Study(
        **{**given, "judgments_per_item": 2, "sets_per_participant": 3, "completion_codes": CODES, **more}
    )


@pytest.fixture
def server(log_path):
    def make(writer, reader, studies):
        return AmbientSessions(BENCHMARK, writer, reader, lambda name: None, studies=studies)

    server = Server(log_path, make, item_from_row)
    yield server
    server.stop()


def filled_in(view, wrong=False):
    """Return a form for a person's current stage."""
    labels = {question.premise: question.label for question in load_qualification()}
    match view.due.kind if view.due else view.stage:
        case "consent":
            return Reply(text="yes")
        case "instructions":
            return Reply(text="ready")
        case "qualification":
            right = labels[view.shown.premise]
            return Reply(move={"label": right if not wrong else other(right)})
        case "label":
            return Reply(move={"label": "neutral"})
        case "plausible":
            return Reply(move={"plausible": [True] * len(view.shown.candidates)})
        case "relabel":
            return Reply(move={"labels": ["neutral"] * len(view.shown.pairs)})
        case "true_false":
            return Reply(move={"answer": True})
        case "annotate":
            return Reply(move={"labels": ["neutral"], "rewrites": []})
    raise AssertionError(view.stage)


def other(label):
    return "neutral" if label != "neutral" else "entailment"


async def play(server, episode, wrong=False, until="done"):
    view = await server.sessions.view(episode, SEAT)
    while view.stage != "done" and (view.due is None or view.due.kind != until):
        reply = filled_in(view, wrong)
        keyed = Reply(text=reply.text, move=reply.move, key=f"{view.number}.page", seconds=1.0)
        view = await server.sessions.submit(episode, SEAT, keyed, number=view.number)
    return view


@pytest.mark.parametrize(("task", "total"), [("crowd", 3), ("annotate", 1), ("true_false", None)])
async def test_free_play(server, task, total):
    episode = await server.sessions.start(seat=SEAT, others={}, rules={"task": task}, language="zh")
    view = await server.sessions.view(episode, SEAT)
    assert (view.stage, view.task, view.study) == ("instructions", task, False)
    assert server.item(episode).id not in episode
    view = await play(server, episode)
    assert view.ending.status == "completed"
    assert total in (None, view.total)
    assert (await server.sessions.replay(episode, SEAT)).blocks
    assert server.reader.episode(episode).options["language"] == "zh"
    assert server.sessions.completion(episode) is None
    with pytest.raises(InputError, match="not part of a study"):
        await server.sessions.withdraw(episode)


async def test_free_play_draws_items(server):
    drawn = Counter()
    for _ in range(8):
        episode = await server.sessions.start(seat=SEAT, others={}, rules={"task": "annotate"})
        drawn[server.item(episode).id] += 1
    assert len(drawn) > 2
    for wrong in ({"rules": {"task": "evaluate"}}, {"rules": {}, "language": "fr"}):
        with pytest.raises(InputError, match=r"task|must be one of"):
            await server.sessions.start(seat=SEAT, others={}, **wrong)


async def test_a_first_set_has_a_qualification_and_further_ones_have_not(server):
    server.again(study(settings={"qualification": {"pass": 4}}))
    first = (await server.enter("a")).episode_id
    assert (await server.sessions.view(first, SEAT)).stage == "consent"
    await play(server, first)
    kinds = [turn.payload["kind"] for turn in server.reader.turns(first)]
    assert kinds == ["consent", "ready", *["qualification"] * 5, "label", "plausible", "relabel"]
    assert server.sessions.sets(first)[:2] == (1, 3)
    second = (await server.sessions.next_set(first)).episode_id
    assert (await server.sessions.view(second, SEAT)).due.kind == "label"
    await play(server, second)
    assert [turn.payload["kind"] for turn in server.reader.turns(second)] == ["label", "plausible", "relabel"]
    third = (await server.sessions.next_set(second)).episode_id
    await play(server, third)
    assert len({server.item(entry).id for entry in (first, second, third)}) == 3
    assert (await server.sessions.next_set(third)).refusal == "done"
    assert server.sessions.completion(third).code == "C"


async def test_failing_the_qualification_ends_the_episode(server):
    server.again(study(settings={"qualification": {"pass": 4}}))
    episode = (await server.enter("a")).episode_id
    view = await play(server, episode, wrong=True)
    assert (view.stage, view.ending.status) == ("done", "aborted")
    assert server.sessions.completion(episode).code == "S"
    assert (await server.enter("a")).episode_id is None
    assert server.sessions.studies()[0].places_left == 6


async def test_a_killed_server_loses_nothing(server):
    made = study("annotate", settings={"languages": ["en", "zh"]})
    server.again(made)
    episode = (await server.enter("a", language="zh")).episode_id
    view = await play(server, episode, until="annotate")
    sessions = server.again(made)
    again = await sessions.view(episode, SEAT)
    assert (again.shown.premise, again.number) == (view.shown.premise, 2)
    assert (await server.enter("a", language="zh")).episode_id == episode
    await play(server, episode)
    with pytest.raises(ConflictError, match="does not show"):
        await sessions.replay(episode, SEAT)


async def test_withdrawing_erases_every_set(server):
    server.again(study(settings={"show_result": True}))
    first = (await server.enter("a")).episode_id
    await play(server, first)
    assert (await server.sessions.replay(first, SEAT)).blocks
    second = (await server.sessions.next_set(first)).episode_id
    await play(server, second, until="relabel")
    await server.sessions.withdraw(second)
    erase_due(server.reader.path)
    for episode in (first, second):
        for turn in server.reader.turns(episode):
            assert turn.text == "[erased]"
            assert not {"answer", "answers", "comment"} & turn.payload.keys()
    assert server.reader.ending(second).status == "aborted"
    assert server.sessions.studies()[0].places_left == 6


def items_of(study):
    return ExampleStudy(study).items


def test_items_of_a_study():
    made = study()
    by_cell = items_of(made)
    assert (len(by_cell), by_cell) == (3, items_of(made))
    assert by_cell.keys() != items_of(study(seed=9)).keys()
    (cell, item), *_ = by_cell.items()
    only = items_of(study(conditions=["/".join(cell)]))
    assert only == {cell: item}
    with pytest.raises(InputError, match=r"no condition 'b999'.*such as"):
        items_of(study(conditions=["b999"]))
    with pytest.raises(InputError, match="ambient has no seat 'seeker'"):
        items_of(study(seat="seeker"))
    with pytest.raises(InputError, match="study 's'"):
        items_of(study(settings={"data": "/no/such/folder"}))


@pytest.mark.each(
    ("settings", "problem"),
    [
        ({"task": None}, "task is missing"),
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"items": 0}, "items is 0"),
        ({"split": "train"}, 'split is "train"'),
        ({"qualification": {"pass": 6}}, "N from 1 to 5"),
        ({"qualification": 4}, "must be false"),
        ({"results": "file"}, "task evaluate"),
        ({"task": "evaluate"}, "task evaluate"),
        ({"languages": ["fr"]}, r'languages\[0\] is "fr", not one of en, zh'),
    ],
)
def test_settings_that_are_wrong(settings, problem):
    with pytest.raises(InputError, match=problem):
        quota_of(study(settings=settings), ExampleStudy(study(settings=settings)).cells)
    with pytest.raises(InputError, match="task is missing"):
        _ = ExampleStudy(study().model_copy(update={"settings": {}})).settings


def test_the_built_in_studies():
    crowd, linguists = builtin_studies("ambient")
    assert (crowd.judgments_per_item, linguists.judgments_per_item) == (9, 2)
    assert (crowd.pay.amount, crowd.sets_per_participant) == (0.4, 20)
    for name in (crowd, linguists):
        quota_of(name, ExampleStudy(name).cells)
        assert len(ExampleStudy(name).items) > 20
    assert not check_studies(find_studies(catalog.find("ambient").folder))
    assert load_machine("ambient").seats == (SEAT,)
