"""What people see of an episode (`views`), built out of the graph's state and the task.

Whoever sits in the robot's seat is shown what `env.sight` lets a robot see, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from itertools import pairwise
from typing import Any, Final, Literal

import yaml

from logs.rows import Ending, Turn
from simulator.errors import InputError
from simulator.handmethat import graph
from simulator.handmethat.actions import Action, domain
from simulator.handmethat.env.observe import visible
from simulator.handmethat.goals.formula import parse_goal
from simulator.handmethat.goals.templates import activity_title, describe_goal
from simulator.handmethat.hierarchy import TABLES
from simulator.handmethat.meanings.model import Meaning, matching
from simulator.handmethat.meanings.render import label, render_meaning, render_story, render_utterance
from simulator.handmethat.players.knows import questions_for
from simulator.handmethat.playing import HUMAN as HUMAN_SEAT
from simulator.handmethat.playing import ROBOT, Options, Play, Posed, Step
from simulator.handmethat.score import options_of, score_episode
from simulator.handmethat.task import Task
from simulator.handmethat.views import (
    CommandView,
    Deed,
    HumanView,
    LineView,
    Mode,
    PlaceView,
    QuestionView,
    Reading,
    Replay,
    RobotView,
    StoryStep,
    ThingView,
)
from simulator.handmethat.world import HUMAN, NOTHING, BitSet, State, entities, is_unlocked
from trees import Language

HOUSEHOLD: Final = "household"  # who answers to a command
_METRICS: Final = ("success", "score", "raw_sum", "moves", "questions", "question_cost", "invalid")
_PLAIN: Final = ("look", "stop")


@cache
def wording(language: Language) -> Mapping[str, Any]:
    """Read tables/play.<language>.yaml."""
    table: Mapping[str, Any] = yaml.safe_load((TABLES / f"play.{language}.yaml").read_text(encoding="utf-8"))
    return table


def robot_view(
    play: Play, episode_id: str, state: graph.State, ending: Ending | None = None, warning: str | None = None
) -> RobotView:
    """Return what the robot's seat may see after `state`; `ending` if the log holds one."""
    game, seat_due = play.after(state["commands"]), None if ending else graph.due(state)
    household, seen = game.state, _Sight(play, game.state)
    asked = sum(step.question for step in play.steps(state["commands"]))
    return RobotView(
        **_seen_by_both(play, state, ending),
        episode_id=episode_id,
        seat=ROBOT,
        my_turn=seat_due == ROBOT,
        waiting_for=seat_due if seat_due != ROBOT else None,
        mode=play.options.mode,
        protocol=play.options.protocol,
        places=tuple(seen.place(place) for place in play.task.world.locations),
        holding=None if household.holding == NOTHING else seen.thing(household.holding),
        human_holds=tuple(seen.thing(entity) for entity in entities(household.given)),
        beside_human=household.at == HUMAN,
        commands=command_views(play, play.valid(game)),
        questions=() if play.questions_left(asked) == 0 else question_views(play),
        warning=warning,
    )


def human_view(
    play: Play, episode_id: str, state: graph.State, ending: Ending | None = None, warning: str | None = None
) -> HumanView:
    """Return what the human's seat may see after `state`; `ending` if the log holds one."""
    task, language = play.task, play.language
    pending, seat_due = (None, None) if ending else (graph.pending(state), graph.due(state))
    return HumanView(
        **_seen_by_both(play, state, ending),
        episode_id=episode_id,
        seat=HUMAN_SEAT,
        my_turn=pending is not None,
        waiting_for=seat_due if pending is None else None,
        meaning=meaning_text(task, task.meaning, language),
        wanted=tuple(dict.fromkeys(label(task.world, thing, language) for thing, _ in task.in_meaning)),
        goal="\n".join(goal_lines(task, language)),
        pending=pending,
        warning=warning,
    )


def _seen_by_both(play: Play, state: graph.State, ending: Ending | None) -> dict[str, Any]:
    game = play.after(state["commands"])
    return {
        "language": play.language,
        "number": len(state["lines"]),
        "ended": ending is not None,
        "ending": ending,
        "success": game.success if ending else None,
        "story": story_steps(play.task, play.language),
        "instruction": instruction_text(play.task, play.language),
        "lines": line_views(state),
        "moves": game.moves,
        # What success won is no cost.
        "cost": (play.game.costs.success if game.success else 0) - game.score,
        "limit": play.options.limit,
    }


def watch(posed: Posed, turns: Sequence[Turn], step: int, *, mode: Mode | None = None) -> RobotView:
    """Return what there was to see after the first turns of a logged episode, for people who look on.

    Args:
        posed: what was played.
        turns: all turns of the episode, in order; at least the instruction.
        step: the turn after which to look, from 0 (the instruction).
        mode: ``full`` to see all of the house; None for what the robot saw.

    Raises:
        InputError: if the first turn does not say how the episode was played.
    """
    options = options_of(turns)
    play = Play(*posed, options.model_copy(update={"mode": mode or options.mode}))
    return robot_view(play, turns[0].episode_id, graph.rebuild(turns[: step + 1]))


def before(posed: Posed) -> RobotView:
    """Return the whole household as the robot finds it."""
    return robot_view(Play(*posed, Options(mode="full")), "", graph.rebuild(()))


def details(turn: Turn) -> Mapping[str, object]:
    """Return what the log says of a turn beside its words: its cost, why it failed, what its seat noted."""
    shown = ("error", "reason", "cost", "reward", "over", "heard", "question", "reveals", "trace")
    return {name: turn.payload[name] for name in shown if turn.payload.get(name) not in (None, "", [], {})}


def replay(task: Task, language: Language, turns: Sequence[Turn]) -> Replay:
    """Return an ended episode with everything that was hidden, out of its logged turns."""
    scores, state = asdict(score_episode(task, turns)), graph.rebuild(turns)
    play = Play(task, language, options_of(turns), text=False)
    steps = play.steps(state["commands"])
    carried = [step.command for step in steps if play.carried_out(step.outcome)]
    over = steps[-1].over if steps else ""
    return Replay(
        language=language,
        task_id=task.id,
        level=task.level,
        quest=task.meaning.quest,
        story=story_steps(task, language),
        instruction=instruction_text(task, language),
        meaning=meaning_text(task, task.meaning, language),
        goal=goal_lines(task, language),
        goal_title="" if task.goal_index is None else activity_title(task.goal_index, language),
        why=why(task, language),
        readings=readings(task, language),
        counts=counts(task),
        lines=line_views(state),
        deeds=deeds(play, steps, state["lines"]),
        # A robot that stops thinks it is done, or has given up.
        over="gave_up" if over == "stopped" and not carried else over,
        carried_out=_in_words(play, carried[-1]) if carried else "",
        demo=task.demo,
        scores={metric: float(scores[metric]) for metric in _METRICS},
    )


def deeds(play: Play, steps: Sequence[Step], lines: Sequence[Sequence[str]]) -> tuple[Deed, ...]:
    """Return what the robot did and asked, in words, with the human's answers."""
    answers = {
        number: answer[2] for number, (asked, answer) in enumerate(pairwise(lines)) if answer[1] == "answer"
    }
    moves = (number for number, line in enumerate(lines) if line[0] == ROBOT)
    views = []
    for number, step in zip(moves, steps, strict=False):
        if step.question:
            words = step.command.removeprefix("question:").strip().rstrip("?？")
            text = _sentence(wording(play.language)["question"].format(text=words))
            views.append(Deed(text=text, answer=answers.get(number, "")))
            continue
        failed = bool(step.refused or step.outcome.error)
        views.append(Deed(text=_in_words(play, step.command), failed=failed))
    return tuple(views)


def _in_words(play: Play, command: str) -> str:
    read = play.game.reader.read(command)
    if read.kind == "action":
        return _command_view(play, command).label
    plain: Mapping[str, str] = wording(play.language)["plain"]
    return _sentence(plain.get(read.kind, command))


def instruction_text(task: Task, language: Language) -> str:
    """Return the utterance in words; the same at every look."""
    return render_utterance(task.world, task.utterance, language, task.seed)


def meaning_text(task: Task, meaning: Meaning, language: Language) -> str:
    """Return a meaning in words."""
    return render_meaning(task.world, meaning, language)


def goal_lines(task: Task, language: Language) -> tuple[str, ...]:
    """Return the goal in words, one line per subgoal; a formula of no known form as it stands."""
    if not task.goal:
        return ()
    try:
        return describe_goal(parse_goal(task.goal), language)
    except InputError:
        return (task.goal,)


def story_steps(task: Task, language: Language) -> tuple[StoryStep, ...]:
    """Return what the human did before asking."""
    world, state = task.world, task.initial
    texts = render_story(world, task.actions, language, labels=True)
    steps = []
    for action, text in zip(task.actions, texts, strict=False):
        state = domain("human")[action.name].apply(state, action.args)
        things = tuple(
            world.names[entity] for entity in action.args if entity >= 0 and world.kinds[entity].movable
        )
        steps.append(StoryStep(text=text, verb=_verb(action), place=world.name(state.at), things=things))
    return tuple(steps)


def command_views(play: Play, commands: Sequence[str]) -> tuple[CommandView, ...]:
    """Return commands as buttons: those given, then looking around and stopping."""
    table = wording(play.language)
    plain = (CommandView(text=name, label=table["plain"][name], verb=name, things=()) for name in _PLAIN)
    return (*(_command_view(play, text) for text in commands), *plain)


def question_views(play: Play) -> tuple[QuestionView, ...]:
    """Return the questions that may be asked, as they are sent."""
    pattern = wording(play.language)["question"]
    return tuple(
        QuestionView(
            text=f"question: {question.text}",
            label=_sentence(pattern.format(text=question.text)),
            cost=question.cost,
        )
        for question in questions_for(play)
    )


def line_views(state: graph.State) -> tuple[LineView, ...]:
    """Return the turns so far, and what the household answered to each command."""
    lines = []
    for seat, kind, text, outcome in state["lines"]:
        lines.append(LineView(seat=seat, text=text, kind=kind))
        if outcome:
            lines.append(LineView(seat=HOUSEHOLD, text=outcome, kind="outcome"))
    return tuple(lines)


def counts(task: Task) -> dict[str, int]:
    """Return how many objects are meant, said, useful and heard, and how many of those said are useful."""
    useful = set(task.useful)
    return {
        "meaning": len(task.in_meaning),
        "utterance": len(task.in_utterance),
        "goal": len(task.useful),
        "heard": len(task.in_heard),
        "useful_in_utterance": sum(pair in useful for pair in dict.fromkeys(task.in_utterance)),
    }


def why(task: Task, language: Language) -> str:
    """Return why the task is of its level, in a sentence."""
    sizes = counts(task)
    sentence: str = wording(language)["why"][task.level]
    return sentence.format(
        meant=sizes["meaning"],
        said=sizes["utterance"],
        useful=sizes["useful_in_utterance"],
        heard=sizes["heard"],
    )


def readings(task: Task, language: Language) -> tuple[Reading, ...]:
    """Return the meanings that the utterance left open, likeliest first; m and r at least."""
    listed: dict[Meaning, float | None] = dict(task.listener)
    for meaning in (task.meaning, task.heard):
        listed.setdefault(meaning, None)
    return tuple(
        Reading(
            text=meaning_text(task, meaning, language),
            probability=probability,
            meant=meaning == task.meaning,
            heard=meaning == task.heard,
            objects=matching(task.world, task.current, meaning.description).bit_count(),
        )
        for meaning, probability in listed.items()
    )


class _Sight:
    """The household as the robot sees it now."""

    def __init__(self, play: Play, state: State) -> None:
        self._play, self._state = play, state
        self._world = play.task.world
        self._seen: BitSet = visible(self._world, state, play.options.mode)

    def place(self, place: int) -> PlaceView:
        world, state = self._world, self._state
        here = state.at == place
        known = here or self._play.options.mode == "full"
        return PlaceView(
            name=world.names[place],
            label=label(world, place, self._play.language),
            relation=world.relation(place),
            here=here,
            states=self._words(place) if known else (),
            lid=self._lid(place) if known else None,
            contents=self._contents(place) if known else None,
        )

    def thing(self, entity: int) -> ThingView:
        kind = self._world.kinds[entity]
        return ThingView(
            name=self._world.names[entity],
            label=label(self._world, entity, self._play.language),
            kind=kind.name,
            states=self._words(entity),
            lid=self._lid(entity),
            contents=self._contents(entity) if kind.receptacle else (),
        )

    def _words(self, entity: int) -> tuple[str, ...]:
        return self._play.game.observer.state_words(self._state, entity)

    def _lid(self, entity: int) -> Literal["open", "closed"] | None:
        if not self._world.of("openable") >> entity & 1:
            return None
        return "open" if is_unlocked(self._world, self._state, entity) else "closed"

    def _contents(self, container: int) -> tuple[ThingView, ...] | None:
        hidden = self._play.options.mode == "partial" and self._lid(container) == "closed"
        if hidden:
            return None
        return tuple(
            self.thing(content) for content in self._state.contents(container) if self._shows(content)
        )

    def _shows(self, entity: int) -> bool:
        # What is in the robot's hand or with the human is in its sight wherever it is.
        return bool(self._seen >> entity & 1) or self._in_hands(entity)

    def _in_hands(self, entity: int) -> bool:
        held = self._state.given | (1 << self._state.holding if self._state.holding >= 0 else 0)
        container = self._state.container(entity)
        return container >= 0 and bool(held >> container & 1)


def _command_view(play: Play, text: str) -> CommandView:
    world, command = play.task.world, play.game.reader.read(text)
    names = [label(world, entity, play.language) for entity in command.args]
    key = "move-human" if command.verb == "move" and command.args[0] == HUMAN else command.verb
    return CommandView(
        text=text,
        label=_sentence(wording(play.language)["commands"][key].format(*names)),
        verb=command.verb,
        things=tuple(world.names[entity] for entity in command.args if entity >= 0),
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _verb(action: Action) -> str:
    """Return the verb of ``human-pick-up-at-location``: of one word, or ``pick-up``."""
    words = action.name.split("-")
    return "pick-up" if words[1] == "pick" else words[1]
