"""Generation of one episode: household, goal, plan, where it stops, meaning and utterance (spec 12.4).

A failed check rejects the household and names the cause; the caller may try another seed. An
episode depends only on its profile, seed, quest type and template.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Final, NamedTuple

from simulator.handmethat.actions import Action
from simulator.handmethat.env.scripts import demonstrate
from simulator.handmethat.files.split import Name, Style
from simulator.handmethat.goals.formula import to_formula
from simulator.handmethat.goals.model import UNIVERSAL, Goal, Subgoal, Targets, find_targets, goal_holds
from simulator.handmethat.goals.templates import instantiate
from simulator.handmethat.items import Level, Task
from simulator.handmethat.meanings.model import QUESTS, VERBS, Grounding, Meaning, Quest, matching
from simulator.handmethat.meanings.prior import prior
from simulator.handmethat.meanings.rsa import Rsa, choose_reading, draw
from simulator.handmethat.meanings.utterances import enumerate_utterances
from simulator.handmethat.planner.exact import SearchLimitError
from simulator.handmethat.planner.plan import Plan, plan_goal, plan_subgoal, plan_whole, states_along
from simulator.handmethat.planner.rewards import rewards, state_after_grounding
from simulator.handmethat.profiles import Profile, Truncation
from simulator.handmethat.scene import sample_scene, sample_stock
from simulator.handmethat.world import NOTHING, State, World, entities
from simulator.seeds import derive_seed, one_of

TOO_LARGE: Final = "goal too large for exact search"
# The templates with change_state episodes in the published data (spec 10.4).
CHANGE_STATE: Final = frozenset({1, 5, 6, 8, 10, 15, 21, 22, 29, 48, 50, 51, 67, 68})


@dataclass(frozen=True, slots=True)
class Rejection:
    """The reason why a household yields no episode."""

    cause: str


@dataclass(frozen=True, slots=True)
class Generated:
    """An episode without demonstration, of task index 0, with facts that cannot be read from its task."""

    task: Task
    pool: int
    strict: bool
    subgoals: int


@dataclass(frozen=True, slots=True)
class _Story:
    """The human's plan by subgoal, in the `order` they are solved in, and the number of actions done."""

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
    """Return True if episodes of a template may ask for help of this quest type."""
    return quest != "change_state" or template in CHANGE_STATE


def generate(profile: Profile, seed: int, quest: Quest, template: int) -> Generated | Rejection:
    """Return the episode for a seed, or why its household yields none.

    `quest`: the kind of help asked for; ignored if the profile weighs all quest types jointly.
    """
    random = Random(seed)
    story = _make_story(profile, random, template)
    if isinstance(story, Rejection):
        return story
    quests = QUESTS if profile.joint_quests else (quest,)
    return _make_request(profile, random, story, quests, seed)


def add_demo(task: Task) -> Task | Rejection:
    """Return the task with its expert demonstration and its published rendering (spec 9.6)."""
    return demonstrate(task, derive_seed(task.seed, "demo")) or Rejection("demonstration fails")


def _make_story(profile: Profile, random: Random, template: int) -> _Story | Rejection:
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


def _make_request(
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


# ---- A(.) of meanings and utterances, and how hard an instruction is (spec 6.3, 8)


class Hardness(NamedTuple):
    """The level of an instruction; not `strict` if it is 4 because no level of the paper applies."""

    level: Level
    strict: bool


def groundings_of(world: World, state: State, meaning: Meaning, targets: Targets) -> tuple[Grounding, ...]:
    """Return A(.): the movable things that match, each with the argument, in the order of creation.

    For move_to without a destination, each is paired with every POSITION target.

    `targets`: the goal's targets; used only for an utterance that leaves the destination open.
    """
    arguments: tuple[str | None, ...] = (meaning.argument,)
    if meaning.quest == "move_to" and meaning.argument is None:
        arguments = tuple(world.names[where] for where in targets.position)
    matches = entities(matching(world, state, meaning.description))
    return tuple((match, argument) for match in matches for argument in arguments)


def level_of(
    in_meaning: Iterable[Grounding],
    in_utterance: Iterable[Grounding],
    in_reading: Iterable[Grounding],
    useful: Iterable[Grounding],
    profile: Profile,
) -> Hardness | None:
    """Return the lowest level whose condition is met; None if the profile drops such instructions.

    `profile`: `useful_reading` and `strict_level4` are used.
    """
    meant, uttered, heard, helps = map(frozenset, (in_meaning, in_utterance, in_reading, useful))
    if meant == uttered:
        return Hardness(1, True)
    if meant == uttered & helps:
        return Hardness(2, True)
    if meant == (heard & helps if profile.useful_reading else heard):
        return Hardness(3, True)
    strict = meant < heard
    return Hardness(4, strict) if strict or not profile.strict_level4 else None


# ---- when the human stops and asks, and which subgoal the request serves (spec 5.3, 5.4)


# Fewest actions that must be left.
_LEAST_LEFT: Final = 2


def choose_stop(
    plans: Sequence[Plan],
    subgoals: Sequence[Subgoal],
    states: Sequence[State],
    truncation: Truncation,
    random: Random,
    least_shown: int,
) -> int | None:
    """Return the number of actions before the stop, with a free hand; None if too few are left or shown.

    `subgoals`: in the order of their `plans`. `states`: before each action, and after the last. `truncation`:
    the rule: v1's, v2's, or ``uniform`` (every moment with a free hand is equally likely). `least_shown`:
    fewest actions before the stop.
    """
    free = [t for t, state in enumerate(states) if state.holding == NOTHING]
    length = len(states) - 1
    if truncation == "uniform":
        free = [t for t in free if least_shown <= t <= length - _LEAST_LEFT]
        return one_of(random, free) if free else None
    earliest = _earliest(length, random)
    beginnings = _universal_beginnings(plans, subgoals) if truncation == "v2" else frozenset()
    stop = next((t for t in free if t >= earliest and t not in beginnings), length)
    return stop if least_shown <= stop <= length - _LEAST_LEFT else None


def _earliest(length: int, random: Random) -> int:
    """Return a random index in the second half of a plan, at least four actions before its end."""
    if length < 5:
        return 0
    low, high = (length - 4) // 2, length - 5
    return low + int(random.random() * (high - low + 1))


def _universal_beginnings(plans: Sequence[Plan], subgoals: Sequence[Subgoal]) -> frozenset[int]:
    """Return where plans of universal subgoals begin: v2 shows part of such a plan before the human asks."""
    starts = accumulate(map(len, plans), initial=0)
    return frozenset(
        start
        for start, plan, subgoal in zip(starts, plans, subgoals, strict=False)
        if plan and subgoal.form in UNIVERSAL
    )


def served_subgoal(
    world: World,
    state: State,
    goal: Goal,
    targets: Targets,
    plans: Sequence[Plan],
    order: Sequence[int],
    stop: int,
    meant: Sequence[Grounding],
) -> int | None:
    """Return the index of the subgoal that gains most from the requested help; None if none gains.

    The gain is the number of actions left in a subgoal's plan, less the length of a new plan made after the
    help. Ties go to the first in the order of the plans.

    `order`: indices of the subgoals, in the order of their `plans`. `stop`: number of actions done. `meant`:
    the groundings of the meaning, A(m); only the first is tried.
    """
    concerns_goal = meant and _is_target(world, meant[0], targets)
    after = state_after_grounding(world, state, meant[0]) if concerns_goal else None
    if after is None:
        return None
    served, best = None, 0
    for number, left in zip(order, remaining(plans, stop), strict=True):
        if left <= best:
            continue
        plan = plan_subgoal(world, after, goal.subgoals[number], targets)
        if plan is not None and left - len(plan) > best:
            served, best = number, left - len(plan)
    return served


def remaining(plans: Sequence[Plan], stop: int) -> tuple[int, ...]:
    """Return the number of actions left in each plan after `stop` actions of their concatenation."""
    ends = accumulate(map(len, plans))
    return tuple(min(len(plan), max(0, end - stop)) for plan, end in zip(plans, ends, strict=True))


def _is_target(world: World, grounding: Grounding, targets: Targets) -> bool:
    entity, argument = grounding
    if argument is not None and argument not in VERBS and world.index[argument] not in targets.position:
        return False
    return bool(targets.movable >> entity & 1)
