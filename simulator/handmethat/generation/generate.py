"""How one episode comes about: household, goal, plan, where it stops, what is meant and said (spec 12.4).

Each check that fails rejects the household and names its cause; whoever asks may try another seed. An
episode descends from its profile, seed, quest type and template alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from simulator.handmethat.actions import Action
from simulator.handmethat.env.game import Game
from simulator.handmethat.env.scripts import expert_demo
from simulator.handmethat.files.split import Name, Style
from simulator.handmethat.goals.formula import to_formula
from simulator.handmethat.goals.model import Goal, goal_holds
from simulator.handmethat.goals.templates import instantiate
from simulator.handmethat.meanings.levels import groundings_of, level_of
from simulator.handmethat.meanings.model import QUESTS, Quest
from simulator.handmethat.meanings.prior import prior
from simulator.handmethat.meanings.rsa import Rsa, choose_reading, draw
from simulator.handmethat.meanings.utterances import enumerate_utterances
from simulator.handmethat.planner.exact import SearchLimitError
from simulator.handmethat.planner.plan import Plan, plan_goal, plan_whole, states_along
from simulator.handmethat.planner.relevance import Targets, find_targets
from simulator.handmethat.planner.rewards import rewards
from simulator.handmethat.planner.truncate import choose_stop, served_subgoal
from simulator.handmethat.profiles import Profile
from simulator.handmethat.scene import sample_scene, sample_stock
from simulator.handmethat.task import Task
from simulator.handmethat.world import State, World
from simulator.seeds import derive_seed

TOO_LARGE: Final = "goal too large for exact search"
# The templates of which the published data have change_state episodes (spec 10.4).
CHANGE_STATE: Final = frozenset({1, 5, 6, 8, 10, 15, 21, 22, 29, 48, 50, 51, 67, 68})


@dataclass(frozen=True, slots=True)
class Rejection:
    """The reason why a household gives no episode."""

    cause: str


@dataclass(frozen=True, slots=True)
class Generated:
    """An episode, and what only its making tells.

    Attributes:
        task: without demonstration, its number 0.
        strict: whether the paper defines its level for it.
    """

    task: Task
    pool: int
    strict: bool
    subgoals: int


@dataclass(frozen=True, slots=True)
class _Story:
    """The human's plan and its part that is done.

    Attributes:
        parts: the plan, an action sequence for each subgoal in the order in which they are solved.
        order: the subgoals' places in the goal, in that order.
    """

    world: World
    goal: Goal
    targets: Targets
    initial: State
    current: State
    parts: tuple[Plan, ...]
    order: tuple[int, ...]
    shown: int

    @property
    def plan(self) -> tuple[Action, ...]:
        return tuple(action for part in self.parts for action in part)

    @property
    def rest(self) -> int:
        return len(self.plan) - self.shown


def serves(template: int, quest: Quest) -> bool:
    """Return True if episodes of a template may ask for help of a quest type."""
    return quest != "change_state" or template in CHANGE_STATE


def generate(profile: Profile, seed: int, quest: Quest, template: int) -> Generated | Rejection:
    """Return the episode of a seed, if its household gives one.

    `quest`: what kind of help is asked for; without effect where the profile weighs all together.
    """
    random = Random(seed)
    story = _tell(profile, random, template)
    if isinstance(story, Rejection):
        return story
    quests = QUESTS if profile.joint_quests else (quest,)
    return _ask(profile, random, story, quests, seed)


def add_demo(task: Task) -> Task | Rejection:
    """Return the task with its expert demonstration and its published rendering (spec 9.6)."""
    demo = expert_demo(task, derive_seed(task.seed, "demo"))
    if demo is None:
        return Rejection("demonstration fails")
    game = Game(task, mode="partial", style="reference")
    return replace(
        task,
        demo=demo.commands,
        demo_full=demo.full,
        demo_partial=demo.partial,
        description=game.description,
    )


def _tell(profile: Profile, random: Random, template: int) -> _Story | Rejection:
    stock = sample_stock(random, profile.scene)
    goal = instantiate(template, stock, random)
    if goal is None:
        return Rejection("goal has no candidates")
    world, initial = sample_scene(random, profile.scene, stock)
    targets = find_targets(world, initial, goal, profile.distractors)
    planned = _plan(profile, random, world, initial, goal, targets)
    if planned is None:
        return Rejection("no plan")
    order, parts = planned
    plan = [action for part in parts for action in part]
    if not plan:
        return Rejection("goal holds already")
    states = states_along(initial, plan)
    if not profile.broken_plans and not goal_holds(world, states[-1], goal):
        return Rejection("plan breaks the goal")
    subgoals = [goal.subgoals[i] for i in order]
    shown = choose_stop(parts, subgoals, states, profile.truncation, random, profile.least_shown)
    if shown is None:
        return Rejection("no place to stop")
    current = states[shown]._replace(waiting=True)
    return _Story(world, goal, targets, initial, current, parts, order, shown)


def _ask(
    profile: Profile, random: Random, story: _Story, quests: Sequence[Quest], seed: int
) -> Generated | Rejection:
    world, current = story.world, story.current
    try:
        worth = {
            quest: rewards(world, current, story.goal, story.targets, quest, story.rest, profile, seed)
            for quest in quests
        }
    except SearchLimitError:
        return Rejection(TOO_LARGE)
    pool = prior(world, current, worth, story.targets, story.rest, profile)
    if pool is None:
        return Rejection("no help is useful")
    chosen = draw(pool.probabilities, random.random())
    meaning = pool.meanings[chosen]
    meant = groundings_of(world, current, meaning, story.targets)
    served = served_subgoal(
        world, current, story.goal, story.targets, story.parts, story.order, story.shown, meant
    )
    if served is None:
        return Rejection("help serves no subgoal")
    utterances = enumerate_utterances(pool, profile)
    rsa = Rsa(pool, utterances, profile)
    spoken = draw(rsa.speaker(chosen), random.random())
    sample = random.random() if profile.sampled_reading else None
    heard = pool.meanings[choose_reading(rsa.listener(spoken), sample)]
    fitting = groundings_of(world, current, utterances[spoken], story.targets)
    read = groundings_of(world, current, heard, story.targets)
    useful = worth[meaning.quest].useful
    hardness = level_of(meant, fitting, read, useful, profile)
    if hardness is None:
        return Rejection("no level")
    style: Style = profile.style
    assert story.goal.template is not None
    task = Task(
        id=str(Name(style, hardness.level, meaning.quest, story.goal.template, 0)),
        level=hardness.level,
        goal_index=story.goal.template,
        task_index=0,
        world=world,
        initial=story.initial,
        current=current,
        goal=to_formula(story.goal, world),
        subgoal=to_formula(story.goal.subgoals[served], world),
        actions=story.plan[: story.shown],
        solution=story.plan,
        meaning=meaning,
        utterance=utterances[spoken],
        heard=heard,
        in_meaning=meant,
        in_utterance=fitting,
        useful=useful,
        in_heard=read,
        seed=seed,
        profile=profile.name,
        listener=tuple((pool.meanings[i], chance) for i, chance in rsa.readings(spoken)),
    )
    return Generated(task, len(pool), hardness.strict, len(story.goal.subgoals))


def _plan(
    profile: Profile, random: Random, world: World, state: State, goal: Goal, targets: Targets
) -> tuple[tuple[int, ...], tuple[Plan, ...]] | None:
    if profile.whole_plan:
        return plan_whole(world, state, goal, targets, random)
    order = _shuffle(random, len(goal.subgoals))
    parts = plan_goal(world, state, goal, order, targets, random)
    return None if parts is None else (order, parts)


def _shuffle(random: Random, count: int) -> tuple[int, ...]:
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = int(random.random() * (i + 1))
        order[i], order[j] = order[j], order[i]
    return tuple(order)
