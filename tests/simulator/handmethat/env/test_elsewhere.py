"""The full view, mostly cached between commands, equals a fresh one."""

from __future__ import annotations

from random import Random

from simulator.handmethat.data import load_tasks
from simulator.handmethat.env.game import Game
from simulator.handmethat.env.observe import Observer


def test_cached_views_equal_fresh_ones() -> None:
    tasks = load_tasks()
    for task in tasks[::17]:
        game, random = Game(task, mode="full", limit=60), Random(task.id)
        state = game.start()
        seen = [state]
        while not state.done:
            # States are also looked at out of order: back to one before, now and then.
            visited = random.choice(seen) if random.random() < 0.2 else state
            fresh = Observer(task.world)
            for quirk in (False, True):
                assert game.observer.view(visited.state, "full", quirk=quirk) == fresh.view(
                    visited.state, "full", quirk=quirk
                )
            commands = game.valid(state, "strict")
            hands = [text for text in commands if not text.startswith("move")]
            state = game.act(
                state, random.choice(hands if hands and random.random() < 0.6 else commands)
            ).game
            seen.append(state)
