"""The pages of an episode (`simulator.blocks`), built from the graph's state and the task.

A person in the robot's seat sees only what is `env.observe.visible` to the robot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from logs.rows import Ending, Turn
from simulator.benchmark import Due, Move
from simulator.blocks import Block, Card, Chips, Detail, Facts, Meter, Points, Talk, Text, Words, message
from simulator.errors import InputError
from simulator.handmethat import graph
from simulator.handmethat.actions import domain
from simulator.handmethat.env.observe import Mode
from simulator.handmethat.env.questions import price_rule
from simulator.handmethat.goals.formula import parse_goal
from simulator.handmethat.goals.templates import describe_goal
from simulator.handmethat.house import House, offer, sentence, wording
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.render import label, render_meaning, render_story, render_utterance
from simulator.handmethat.players.knows import questions_for
from simulator.handmethat.playing import ROBOT, Options, Play, Posed, bare_question
from simulator.handmethat.score import options_of
from simulator.handmethat.world import HUMAN
from simulator.plan_blocks import Caller, Menu, Offer, Story, StoryStep, Suggestions
from simulator.runner.machines import SeatPage
from trees import Language

_EXTRA_COMMANDS: Final = ("look", "stop")


def seat_page(
    context: graph.Context,
    state: graph.State,
    seat: str,
    ending: Ending | None = None,
    warning: str | None = None,
    *,
    first: int = 0,
    stage: str = "",
) -> SeatPage:
    """Return the page for a person in `seat`; `ending`: the episode's ending in the log, if it has one."""
    play, next_seat = context.play, None if ending else graph.due(state)
    my_turn = (
        next_seat == ROBOT if seat == ROBOT else next_seat is not None and graph.pending(state) is not None
    )
    moves, stage = lines(state), "done" if ending else stage or "task"
    asked = sum(step.question for step in play.steps(state["commands"]))
    typed = "command_only" if play.questions_left(asked) == 0 else "command"
    blocks: tuple[Block, ...] = ()
    if stage == "task":
        blocks = (
            Talk(moves),
            *(robot_blocks(play, state, my_turn) if seat == ROBOT else human_blocks(play, state)),
        )
    elif stage == "instructions":
        blocks = (instructions("paper" if play.options.protocol == "paper" else seat),)
    return SeatPage(
        episode_id=context.live.episode.id,
        seat=seat,
        people=tuple(
            other for other, player in context.live.seats.items() if player.kind == "person" and other != seat
        ),
        language=play.language,
        stage=stage,
        due=Due(seat, typed, closing="stop") if seat == ROBOT else Due(seat, "answer"),
        my_turn=my_turn,
        waits_for="" if my_turn or next_seat in (None, seat) else str(next_seat),
        blocks=blocks,
        moves=tuple(move for move in moves if move.seat) if stage in ("task", "done") else (),
        first=first,
        number=len(state["lines"]),
        ending=ending,
        warning=warning,
    )


def instructions(part: str) -> Points:
    """Return the instructions for ``robot``, ``human`` or ``paper`` (the robot under that protocol)."""
    return Points([("", message(f"instructions.{part}_{number}")) for number in range(1, 5)])


def robot_blocks(play: Play, state: graph.State, my_turn: bool) -> tuple[Block, ...]:
    """Return the blocks for the robot: the house and, if it is its turn, the commands and questions."""
    game = play.after(state["commands"])
    commands = play.valid(game) if my_turn else ()
    labels: Mapping[str, str] = wording(play.language)["plain"]
    offers = [
        *(offer(play, text) for text in commands),
        *(Offer(name, labels[name]) for name in _EXTRA_COMMANDS if my_turn),
    ]
    asked = sum(step.question for step in play.steps(state["commands"]))
    questions = () if play.questions_left(asked) == 0 else question_offers(play)
    rule = price_rule()._asdict()
    menu = Menu(message("ask"), message("ask_text", **rule), questions, message("ask_own"))
    return (
        *scene(play, state, commands),
        *([menu] if questions else []),
        Suggestions([*offers, *(questions if my_turn else ())]),
    )


def scene(play: Play, state: graph.State, commands: Sequence[str] = ()) -> tuple[Block, ...]:
    """Return the scene: the moves so far, the human's instruction and actions, and the house."""
    household = play.after(state["commands"]).state
    house = House(play, household, commands)
    notes = [message(f"rule.mode.{play.options.mode}")]
    if play.options.protocol == "paper":
        notes.append(message("paper"))
    quote = Caller(
        text=instruction_text(play.task, play.language),
        label=message("instruction"),
        go=house.to_human,
        visitor="robot" if household.at == HUMAN else None,
        holds=(message("human_holds"), house.given),
        blocks=[story(play.task, play.language)],
    )
    return (meter(play, state), quote, house.plan(notes))


def human_blocks(play: Play, state: graph.State) -> tuple[Block, ...]:
    """Return the blocks for the human: actions, instruction, meaning and goal."""
    task, language = play.task, play.language
    things = tuple(dict.fromkeys(label(task.world, thing, language) for thing, _ in task.in_meaning))
    goal = "\n\n".join(goal_lines(task, language))
    before: list[Block] = [
        Detail(message("said"), Text(instruction_text(task, language))),
        story(task, language),
    ]
    secret: list[Block] = [
        Detail(message("meaning"), Text(render_meaning(task.world, task.meaning, language)), lead=True),
        Detail(message("wanted"), Chips(things)),
        *([Detail(message("goal"), Text(goal))] if goal else []),
    ]
    return (meter(play, state), Card(message("before"), before), Card(message("secret"), secret))


def meter(play: Play, state: graph.State) -> Meter:
    """Return the moves so far, with the points spent."""
    game = play.after(state["commands"])
    # The reward for success does not reduce the cost.
    cost = (play.game.costs.success if game.success else 0) - game.score
    return Meter("moves", game.moves, play.options.limit, message("cost", cost=cost))


def story(task: Task, language: Language) -> Story:
    """Return the block with the human's actions before asking."""
    return Story(message("story"), story_steps(task, language), message("story_none"))


def question_offers(play: Play) -> tuple[Offer, ...]:
    """Return the offers of questions, with their prices in points."""
    pattern = wording(play.language)["question"]
    return tuple(
        Offer(
            f"question: {question.text}",
            sentence(pattern.format(text=question.text)),
            message("price", cost=question.cost),
        )
        for question in questions_for(play)
    )


def lines(state: graph.State) -> tuple[Move, ...]:
    """Return the turns so far for display, with the observation after each command."""
    moves = []
    for seat, kind, text, outcome in state["lines"]:
        moves.append(Move(seat, kind, bare_question(text) if kind == "question" else text))
        if outcome:
            moves.append(Move("", "outcome", outcome))
    return tuple(moves)


def watch(posed: Posed, turns: Sequence[Turn], step: int, *, mode: Mode | None = None) -> tuple[Block, ...]:
    """Return the scene of a logged episode after one of its turns, for researchers.

    `turns`: all turns of the episode, in order. `step`: index of the turn, from 0 (the instruction). `mode`:
    ``full`` to show the complete house; None for the robot's view.

    Raises:
        InputError: if the first turn is not the instruction with the episode's options.
    """
    options = options_of(turns)
    play = Play(*posed, options.model_copy(update={"mode": mode or options.mode}))
    return scene(play, graph.rebuild(turns[: step + 1]))


def before(posed: Posed) -> House:
    """Return the complete household as the robot finds it."""
    play = Play(*posed, Options(mode="full"))
    return House(play, play.game.start().state)


def details(turn: Turn) -> Mapping[str, object]:
    """Return the details of a turn for display: cost, errors, the reading of a question and the trace."""
    names = ("error", "reason", "cost", "reward", "over", "heard", "question", "reveals", "trace")
    return {name: turn.payload[name] for name in names if turn.payload.get(name) not in (None, "", [], {})}


def instruction_text(task: Task, language: Language) -> str:
    """Return the utterance in words; always the same for a task."""
    return render_utterance(task.world, task.utterance, language, task.seed)


def goal_lines(task: Task, language: Language) -> tuple[str, ...]:
    """Return the goal in words, one line per subgoal; the formula if its form is unknown."""
    if not task.goal:
        return ()
    try:
        return describe_goal(parse_goal(task.goal), language)
    except InputError:
        return (task.goal,)


def story_steps(task: Task, language: Language) -> tuple[StoryStep, ...]:
    """Return the human's actions before asking, each with its location and things."""
    world, state = task.world, task.initial
    texts = render_story(world, task.actions, language, labels=True)
    steps = []
    for action, text in zip(task.actions, texts, strict=False):
        state = domain("human")[action.name].apply(state, action.args)
        things = tuple(
            world.names[entity] for entity in action.args if entity >= 0 and world.kinds[entity].movable
        )
        steps.append(StoryStep(text, world.name(state.at), things))
    return tuple(steps)


def level_explanation(task: Task, language: Language) -> str:
    """Return a sentence that explains the level of the task."""
    useful = set(task.useful)
    pattern: str = wording(language)["why"][task.level]
    return pattern.format(
        meant=len(task.in_meaning),
        said=len(task.in_utterance),
        useful=sum(pair in useful for pair in dict.fromkeys(task.in_utterance)),
        heard=len(task.in_heard),
    )


def meaning_card(task: Task, language: Language) -> Card:
    """Return the card with instruction, meaning and level."""
    facts: list[tuple[Words, Words]] = [
        (message("result.said"), instruction_text(task, language)),
        (message("result.meant"), render_meaning(task.world, task.meaning, language)),
        (message("result.level", level=task.level), level_explanation(task, language)),
    ]
    return Card(message("result.said_meant"), [Facts(facts)])


def picture() -> Sequence[Block]:
    """Return the picture for the entry page: a human with a vague instruction, and a robot."""
    return (Caller(text=message("entry.said"), label=message("instruction"), visitor="robot"),)
