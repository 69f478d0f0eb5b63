import json
from dataclasses import replace

import pytest

from simulator.clarq.graph import ProviderAgent
from simulator.clarq.machine import MACHINE
from simulator.clarq.players.models import ModelSeeker
from simulator.errors import InputError
from simulator.models import ModelOptions, ScriptModel
from simulator.runner.build import Models, build_plan, build_seats, read_script
from simulator.seats import PersonSeat, ScriptSeat, View


def view(moves):
    return View(
        episode_id="e", seat="seeker", number=1, language="en", lines=(), task=None, seed=0, moves=moves
    )


def no_model(name):
    raise AssertionError(f"nobody needs {name}")


def script_model(name):
    return ScriptModel(str, name=name)


# Seats


@pytest.mark.parametrize(
    ("seeker", "provider", "kinds"),
    [
        ("person", "offline/experts", ("person", "offline")),
        ("offline/seeker", "person", ("offline", "person")),
        ("offline/seeker:hasty", "offline/experts", ("offline", "offline")),
    ],
)
def test_seats_that_need_no_model(seeker, provider, kinds):
    seats = build_seats(MACHINE, {"provider": provider, "seeker": seeker}, no_model, {})
    assert list(seats) == ["seeker", "provider"]
    assert (seats["seeker"].kind, seats["provider"].kind) == kinds
    assert (seats["seeker"].name, seats["provider"].name) == (seeker, provider)


def test_models_in_both_seats():
    seats = build_seats(
        MACHINE, {"seeker": "openai/a", "provider": "offline/script"}, script_model, {"mode": "chat"}
    )
    assert isinstance(seats["seeker"], ModelSeeker)
    assert isinstance(seats["provider"], ProviderAgent)
    assert seats["provider"].kind == "model"


def test_a_person_and_a_script(tmp_path):
    path = tmp_path / "lines.yaml"
    path.write_text("- How?\n- Goodbye", encoding="utf-8")
    seats = build_seats(MACHINE, {"seeker": f"script:{path}", "provider": "person"}, no_model, {})
    assert isinstance(seats["seeker"], ScriptSeat)
    assert isinstance(seats["provider"], PersonSeat)
    assert seats["seeker"].name == f"script:{path}"


@pytest.mark.each(
    ("names", "message"),
    [
        ({"seeker": "person"}, "seat 'provider'.*--provider"),
        ({"seeker": "", "provider": "person"}, "seat 'seeker'"),
        ({"seeker": "offline/experts", "provider": "person"}, "seeker's seat.*offline/seeker"),
        ({"seeker": "person", "provider": "offline/seeker"}, "provider's seat.*offline/experts"),
        ({"seeker": "offline/seeker:rude", "provider": "person"}, "careful"),
        ({"seeker": "script:/nowhere.yaml", "provider": "person"}, "/nowhere.yaml: cannot be read"),
    ],
)
def test_names_that_mean_nothing(names, message):
    with pytest.raises(InputError, match=message):
        build_seats(MACHINE, names, no_model, {})


def test_an_unknown_mode_is_refused_before_the_run():
    with pytest.raises(InputError, match="mode"):
        build_seats(MACHINE, {"seeker": "openai/a", "provider": "person"}, script_model, {"mode": "talk"})


# Scripts


def test_a_script_repeats_its_last_move(tmp_path):
    path = tmp_path / "moves.yaml"
    path.write_text('- Hello\n- {give: ["1.10"], before: "Well,"}\n- {text: Bye}\n', encoding="utf-8")
    move = read_script(path, "provider")
    assert move(view(0)).text == "Hello"
    assert move(view(1)).move == {"give": ["1.10"], "before": "Well,"}
    assert move(view(2)) == move(view(9))
    assert move(view(2)).text == "Bye"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one line", "expected a list of lines"),
        ("[]", "expected a list of lines"),
        ("- [1, 2]", "entry 1: expected a line"),
        ("- Hello\n- {text: 3}", "entry 2: expected a line"),
        ("- {give: 1.10}", "entry 1.*quotes"),
        ("- {give: [1.1]}", "entry 1.*quotes"),
        ("- [", "is not YAML"),
    ],
)
def test_a_faulty_script_is_named_with_its_entry(tmp_path, text, message):
    path = tmp_path / "moves.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        read_script(path, "seeker")
    assert str(path) in str(caught.value)


def test_a_script_that_is_no_text(tmp_path):
    (tmp_path / "moves.yaml").write_bytes(b"- \xff\xfe")
    with pytest.raises(InputError, match="is not YAML"):
        read_script(tmp_path / "moves.yaml", "seeker")


# Models


async def test_a_model_is_loaded_once_and_closed():
    closed = []

    class Model(ScriptModel):
        async def close(self):
            closed.append(self.name)

    models = Models(options=ModelOptions(script=lambda request: "Hm."))
    assert models("offline/a") is models("offline/a")
    assert models("offline/a") is not models("offline/b")
    models.loaded["offline/c"] = Model(str, name="c")
    await models.close()
    assert closed == ["offline/c"]


# Plans


def plan(task, *more, **changes):
    seats = build_seats(MACHINE, {"seeker": "offline/seeker", "provider": "offline/experts"}, no_model, {})
    given = {
        "machine": MACHINE,
        "items": [task, *more],
        "seats": seats,
        "config": {"data": "builtin"},
        "seed": 7,
    }
    return build_plan(**{**given, **changes})


def test_every_item_is_planned_once_per_repeat(lamp, lamp_zh):
    made = plan(lamp, lamp_zh, repeats=2, options={"multi": True}, name="mine")
    episodes = [episode for episode, _, _ in made.episodes()]
    assert [episode.id for episode in episodes] == [
        "mine/lamp.en/0",
        "mine/lamp.zh/0",
        "mine/lamp.en/1",
        "mine/lamp.zh/1",
    ]
    assert len({episode.seed for episode in episodes}) == 4
    assert [episode.repeat for episode in episodes] == [0, 0, 1, 1]
    assert episodes[0].options == {"multi": True}
    assert episodes[0].seats == {"seeker": "offline/seeker", "provider": "offline/experts"}
    assert made.run.config["planned"] == 4
    assert (made.run.setup, made.run.seed, made.run.benchmark) == ("L2L", 7, "clarq")


def test_an_episodes_seed_depends_on_run_item_and_repeat_alone(lamp, lamp_zh):
    both = {episode.id: episode.seed for episode, _, _ in plan(lamp, lamp_zh, name="a").episodes()}
    alone = {
        episode.id: episode.seed for episode, _, _ in plan(lamp_zh, name="a", options={"x": 1}).episodes()
    }
    assert both["a/lamp.zh/0"] == alone["a/lamp.zh/0"]
    (other,) = [episode.seed for episode, _, _ in plan(lamp_zh, seed=8).episodes()]
    assert other != both["a/lamp.zh/0"]


def test_the_same_command_names_the_same_run(lamp, lamp_zh):
    name = plan(lamp).run.id
    assert name == plan(lamp).run.id
    assert name.startswith("clarq-seeker-vs-experts-")
    others = [
        plan(lamp_zh),
        plan(lamp, lamp_zh),
        plan(lamp, seed=8),
        plan(lamp, repeats=2),
        plan(lamp, options={"multi": True}),
        plan(lamp, config={"data": "clarq"}),
        plan(replace(lamp, type=2)),
    ]
    assert len({name, *(other.run.id for other in others)}) == 8


def test_a_configuration_can_be_stored(lamp):
    assert json.loads(json.dumps(plan(lamp).run.config)) == plan(lamp).run.config


@pytest.mark.parametrize(
    ("seeker", "provider", "setup"),
    [("person", "person", "H2H"), ("person", "offline/experts", "H2L"), ("offline/seeker", "person", "L2H")],
)
def test_the_setup_tells_who_sat_where(lamp, seeker, provider, setup):
    seats = build_seats(MACHINE, {"seeker": seeker, "provider": provider}, no_model, {})
    assert plan(lamp, seats=seats).run.setup == setup
