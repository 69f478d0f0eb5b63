"""``offline/asker[:K]``: takes the instruction literally, asks the K most telling questions, then fetches.

What it goes by. It reads the symbolic utterance and the answers to its questions, and believes every thing
that fits them equally likely. A question is worth the entropy of its answer under that belief, in bits per
point; it asks the best one, reads the answer, and chooses anew. Then it takes one of the things that fit,
one that the human has not handled itself if there is one, carries the instruction out, and stops.
``offline/partner`` is the same for people to play with: of up to two questions it always asks one, whether
or not its answer tells anything, so that whoever gives the instruction is asked back.

What it sees. In full mode, everything. In partial mode, what it has seen: it looks through the places until
something fits. What it has not seen it imagines: sampled households of its own stand for the real one when
it weighs questions and decides where to look first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Final, NamedTuple

from simulator.handmethat.env.observe import visible
from simulator.handmethat.env.scripts import script_for
from simulator.handmethat.players.knows import InsiderKnows, questions_for
from simulator.handmethat.players.robots import (
    STOP,
    Belief,
    believe,
    best_question,
    candidates,
    destinations,
    one_of,
    tools_for,
)
from simulator.handmethat.playing import Play
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import BitSet, State, World, bit_set, entities, location_of, shows
from simulator.seats import Kind, Reply, View
from simulator.seeds import derive_seed

# Households that it imagines, and how many it draws at most to find such as hold what is asked for.
_DREAMS: Final = 5
_DRAWN: Final = 30


class AskingRobot:
    """See the module.

    Args:
        questions: how many it asks at most; None: as many as the episode's options allow, at least one.
        always: one question is asked even where it tells nothing.
        name: what it is called; by default after `questions`.
    """

    kind: Kind = "offline"
    insider = True

    def __init__(
        self, questions: int | None = None, *, always: bool = False, name: str | None = None
    ) -> None:
        self._questions, self._always = questions, always
        self.name = name or ("offline/asker" if questions is None else f"offline/asker:{questions}")

    async def reply(self, view: View) -> Reply:
        """Return the next question or command."""
        knows: InsiderKnows = view.task
        allowed = knows.play.options.questions
        many = self._questions
        if many is None:
            many = 1 if allowed is None else allowed
        many = many if allowed is None else min(many, allowed)
        return Reply(text=next_move(knows, many, always=self._always))


def next_move(knows: InsiderKnows, many: int, *, always: bool = False) -> str:
    """Return a question while there are telling ones and fewer than `many` were asked; else the next command.

    `always`: the first question is asked even if it tells nothing.
    """
    play = knows.play
    belief = believe(play.task, knows.answers)
    asked = [command for command in knows.commands if command.startswith("question:")]
    acting = len(asked) < len(knows.commands)
    if len(asked) < many and not acting:
        households = _imagine_households(play, belief, knows.seed)
        left = [question for question in questions_for(play) if f"question: {question.text}" not in asked]
        weighed = belief if play.options.mode == "full" else belief.somewhere()
        best = best_question(households, weighed, left)
        if best is None and always and not asked:
            best = min(left, key=lambda question: question.cost, default=None)
        if best is not None:
            return f"question: {best.text}"
    return _act(knows, belief, len(asked))


class _Moment(NamedTuple):
    """The household after some of the commands, and what had been seen by then."""

    state: State
    seen: BitSet


def _act(knows: InsiderKnows, belief: Belief, asked: int) -> str:
    """Look until something fits, then play the script for it; what was found when follows from the steps."""
    play, done = knows.play, len(knows.commands) - asked
    moments = list(_moments(play, knows.commands))[asked:]
    for number, moment in enumerate(moments):
        target = _target(play, belief, moment, knows.seed)
        if target is None:
            continue
        entity, argument = target
        world, quest = play.task.world, play.task.utterance.quest
        script = script_for(world, moment.state, quest, entity, argument) or ()
        here = world.labels[moment.state.at] if moment.state.at >= 0 else ""
        if script and script[0] == f"move to {here}":
            script = script[1:]
        return script[done - number] if done - number < len(script) else STOP
    return _look(play, belief, moments, knows.seed)


def _moments(play: Play, commands: Sequence[str]) -> Iterator[_Moment]:
    world, mode = play.task.world, play.options.mode
    state = play.game.start().state
    handled = bit_set(entity for action in play.task.actions for entity in action.args if entity >= 0)
    seen = handled | visible(world, state, mode)
    yield _Moment(state, seen)
    for step in play.steps(commands):
        seen |= visible(world, step.game.state, mode)
        yield _Moment(step.game.state, seen)


def _target(play: Play, belief: Belief, moment: _Moment, seed: int) -> tuple[int, str | None] | None:
    """Return one thing that fits and what to do with it, if it and what that takes have been seen."""
    world, utterance = play.task.world, play.task.utterance
    fitting = candidates(world, moment.state, belief) & moment.seen
    handled = bit_set(action.args[0] for action in play.task.actions if "pick-up" in action.name)
    random = Random(derive_seed(seed, "target"))
    options = list(entities(fitting & ~handled or fitting))
    if not options:
        return None
    entity = one_of(random, options)
    argument = utterance.argument
    if utterance.quest == "move_to" and argument is None:
        put = [action.args[1] for action in play.task.actions if "-put-" in action.name]
        places = list(entities(destinations(world, belief) & moment.seen)) or list(world.locations)
        argument = world.names[one_of(random, [place for place in put if place in places] or places)]
    tools = tools_for(world, entity, utterance)
    return None if tools & ~moment.seen else (entity, argument)


def _look(play: Play, belief: Belief, moments: Sequence[_Moment], seed: int) -> str:
    """Open what is shut here, else go to the likeliest place not seen; in the end open what lies about."""
    world, state = play.task.world, moments[-1].state
    labels = world.labels
    if state.at >= 0 and not shows(world, state, state.at):
        return f"open {labels[state.at]}"
    looked = {moment.state.at for moment in moments}
    for place in _places(play, belief, seed):
        if place not in looked:
            return f"move to {labels[place]}"
    for entity in entities(moments[-1].seen & world.of("openable") & world.of("movable") & ~state.open):
        place = location_of(world, state, entity)
        if place >= 0:
            return f"open {labels[entity]}" if state.at == place else f"move to {labels[place]}"
    return STOP


def _places(play: Play, belief: Belief, seed: int) -> list[int]:
    """Return all locations, those first where most of what fits would lie in the imagined household."""
    world = play.task.world
    named = belief.place & bit_set(world.locations)
    counts: dict[str, int] = {}
    for dream, state in _imagine_households(play, belief, seed):
        for entity in entities(candidates(dream, state, belief.somewhere())):
            place = dream.names[location_of(dream, state, entity)]
            counts[place] = counts.get(place, 0) + 1
    held = {location_of(world, play.game.start().state, entity) for entity in entities(belief.place & ~named)}
    first = {*entities(named), *held}
    return sorted(
        world.locations,
        key=lambda location: (location not in first, -counts.get(world.names[location], 0), location),
    )


def _imagine_households(play: Play, belief: Belief, seed: int) -> list[tuple[World, State]]:
    """Return the household itself where everything is seen, else some of the robot's own making.

    They are such as the instruction lets expect: they hold what it is about.
    """
    if play.options.mode == "full":
        return [(play.task.world, play.game.start().state)]
    somewhere = belief.somewhere()
    drawn = (_sample_household(derive_seed(seed, "imagined", number)) for number in range(_DRAWN))
    return list(islice((dream for dream in drawn if candidates(*dream, somewhere)), _DREAMS))


@lru_cache(maxsize=128)
def _sample_household(seed: int) -> tuple[World, State]:
    return sample_scene(Random(seed))
