import pytest

from simulator.errors import SeatError
from simulator.seats import Line, PersonSeat, Reply, ScriptSeat, View


def view(moves, seat="seeker", lines=()):
    return View(
        episode_id="e",
        seat=seat,
        number=len(lines),
        language="en",
        lines=lines,
        task=None,
        seed=0,
        moves=moves,
    )


async def test_a_script_says_its_lines_in_order_whenever_it_is_asked():
    seat = ScriptSeat(["one", Reply(text="two", move={"give": ["1"]})])
    assert (await seat.reply(view(0))).text == "one"
    assert (await seat.reply(view(1))).move == {"give": ["1"]}
    assert (await seat.reply(view(0))).text == "one"


async def test_a_script_does_not_count_what_was_said_for_it():
    greeting = (Line("provider", "Hello?"), Line("seeker", "How?"))
    assert (await ScriptSeat(["one"]).reply(view(0, "provider", greeting))).text == "one"


async def test_a_script_that_is_over_breaks_the_rules():
    with pytest.raises(SeatError, match="seeker's script ended before") as caught:
        await ScriptSeat(["one"]).reply(view(1))
    assert caught.value.cause == "seeker"


async def test_a_function_answers_the_view():
    seat = ScriptSeat(lambda view: f"{view.seat} {view.moves}", name="echo")
    assert (await seat.reply(view(3))).text == "seeker 3"
    assert (seat.name, seat.kind) == ("echo", "script")


async def test_a_person_is_never_asked_within_the_program():
    with pytest.raises(RuntimeError, match="person sits in the seat 'seeker'"):
        await PersonSeat().reply(view(0))
    assert (PersonSeat().name, PersonSeat().kind) == ("person", "person")
