"""An in-memory stand-in for the runner's sessions: one small task, a provider that gives nodes in order."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from logs import NotInLog
from logs.rows import Ending, Turn
from simulator import catalog
from simulator.benchmark import Due, Move
from simulator.blocks import message
from simulator.clarq.score import DialogueScores
from simulator.clarq.sessions import Choices, ClarqSessions
from simulator.clarq.show import KINDS, Replay, ReplayStep, result, seat_blocks
from simulator.errors import ConflictError, SeatError
from simulator.runner.lobby import Opponent, require_choice
from simulator.runner.machines import ItemChoice, ItemGroup, SeatPage
from simulator.seats import Line, Reply
from trees import OPENING, Background, Frontier, Node, Task, Tree
from ui.declared.actions import DeclaredActions

GREETING = {"en": "What can I do for you?", "zh": "有什么可以帮你？"}
SECRET = "Xyzzy-plum"
TREE = Tree(
    opening=f"{SECRET}-opening: take the lantern to the hill and light it when the time is right.",
    nodes=(
        Node(
            "1", f"{SECRET}-one: the lantern is the copper one from the boathouse.", "Which lantern is meant."
        ),
        Node(
            "1.1",
            f"{SECRET}-deep: its wick has to be soaked in <b>pine</b> oil first.",
            "What the wick needs.",
        ),
        Node("2", f"{SECRET}-two: the hill is the one with the broken mill.", "Which hill is meant."),
        Node("3", f"{SECRET}-three: the time is right when the second bell rings.", None),
    ),
)
BACKGROUND = Background(
    role="You keep the lamps of a small harbour town.",
    task="Light the signal lamp for the fishing boats. {{7*7}} ${7*7} <img src=x onerror=alert(1)>",
    items=("Copper lantern", "Brass lantern", "Pine oil"),
    skills=("Light a lamp", "Row a boat"),
    scenes=("Boathouse", "Mill hill", "Chapel hill"),
)


@dataclass
class _Episode:
    language: str
    seats: dict[str, str]
    options: dict
    lines: list[Line] = field(default_factory=list)
    gave: list[tuple[str, ...]] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    judged: dict[str, bool] = field(default_factory=dict)
    holders: dict[str, str] = field(default_factory=dict)
    ended: str | None = None
    frontiers: list[Frontier] = field(default_factory=list)


def front(signer, sessions=None):
    """The benchmark whose entry is the home page."""
    return {"clarq": DeclaredActions(sessions or FakeSessions(), signer, home=True)}


class _Episodes(dict[str, _Episode]):
    """Episodes by id; one that is not there is missed as in a log."""

    def __missing__(self, id: str) -> _Episode:
        raise NotInLog(f"there is no episode {id}")


class FakeSessions:
    benchmark = catalog.find("clarq")
    choices = Choices
    items = ()
    languages = ()
    outer_steps = ClarqSessions.outer_steps
    judges = ClarqSessions.judges

    def __init__(self) -> None:
        self.episodes = _Episodes()
        self._count = itertools.count(1)

    def studies(self):
        return ()

    def study(self, study_id):
        return None

    def item_menu(self, language):
        words = ("Lamp", "Bridge") if language == "en" else ("灯", "桥")
        kinds = ("Make a light", "Cross a river") if language == "en" else ("点灯", "过河")
        return [
            ItemGroup(
                kind,
                [
                    ItemChoice(place, message("item", title=f"{word} {place}", uncertainties=4))
                    for place in (1, 2)
                ],
            )
            for word, kind in zip(words, kinds, strict=True)
        ]

    def opponents(self, seat):
        name = "offline/experts" if seat == "provider" else "offline/seeker"
        return (
            Opponent(name, True),
            Opponent("person", True),
            Opponent("openai/gpt-4o", False, "OPENAI_API_KEY"),
        )

    def other_seats(self, seat):
        return ("provider" if seat == "seeker" else "seeker",)

    async def start(self, *, seat, others, rules=None, item=None, language="en"):
        require_choice("seat", seat, ("seeker", "provider"))
        episode_id = f"episode-{next(self._count)}"
        seats = {name: others.get(name, "person") for name in ("seeker", "provider")}
        episode = _Episode(language, seats, {name: value for name, value in (rules or {}).items() if value})
        episode.frontiers.append(Frontier(TREE))
        self._add(episode, "provider", GREETING[language], ())
        self.episodes[episode_id] = episode
        self._advance(episode)
        return episode_id

    def holders(self, episode_id):
        return self.episodes[episode_id].holders

    async def take_seat(self, episode_id, seat, holder):
        return self.episodes[episode_id].holders.setdefault(seat, holder) == holder

    async def view(self, episode_id, seat):
        episode = self.episodes[episode_id]
        due = self._due(episode)
        moves = tuple(Move(line.seat, KINDS[line.seat], line.text) for line in episode.lines)
        stage = "done" if episode.ended else "task"
        multi = bool(episode.options.get("multi"))
        task = Task("fake", 1, episode.language, BACKGROUND, TREE)
        shown = seat_blocks(task, episode.frontiers[-1], moves, seat, multi=multi, turn_limit=14)
        return SeatPage(
            episode_id=episode_id,
            seat=seat,
            people=tuple(who for who, name in episode.seats.items() if name == "person" and who != seat),
            language=episode.language,
            stage=stage,
            due=Due(seat, KINDS[seat], closing="farewell" if seat == "seeker" else ""),
            my_turn=due == seat,
            waits_for="" if due in (None, seat) else due,
            blocks=shown if stage == "task" else (),
            moves=moves,
            first=0,
            number=len(moves),
            ending=Ending(episode_id=episode_id, status=episode.ended) if episode.ended else None,
            warning=None,
        )

    async def submit(self, episode_id, seat, reply: Reply, *, number=None):
        episode = self.episodes[episode_id]
        if reply.key in episode.keys:
            return await self.view(episode_id, seat)
        if self._due(episode) != seat or number not in (None, len(episode.lines)):
            raise ConflictError("the dialogue has moved on")
        if seat == "provider":
            self._provide(episode, reply)
        else:
            if not reply.text.strip():
                raise SeatError("say something", "seeker")
            self._add(episode, seat, reply.text, ())
        episode.keys[reply.key] = len(episode.lines) - 1
        self._advance(episode)
        return await self.view(episode_id, seat)

    async def judge(self, episode_id, seat, success, key):
        self.episodes[episode_id].judged.setdefault(key, success)

    async def replay(self, episode_id, seat):
        episode = self.episodes[episode_id]
        if episode.ended is None:
            raise ConflictError("the dialogue is not over")
        given = episode.frontiers[-1].given
        missing = tuple(node.index for node in TREE.nodes if node.index not in given)
        answers = sum(line.seat == "provider" for line in episode.lines) - 1
        asked = [len(line.text.split()) - 1 for line in episode.lines if line.seat == "seeker"]
        shown = Replay(
            task=Task("fake", 1, episode.language, BACKGROUND, TREE),
            steps=tuple(self._step(episode, number) for number in range(len(episode.lines))),
            frontier=episode.frontiers[-1],
            scores=DialogueScores(
                success=not missing,
                needs_judge=bool(missing),
                obtained=given,
                judged=(),
                missing=missing,
                responses=answers,
                reached=None if missing else answers,
                aqd=answers - 5,
                aql=sum(asked) / max(1, len(asked)),
            ),
        )
        return result(shown, seat, judges=seat in self.judges)

    def _step(self, episode, number):
        line = episode.lines[number]
        provider = line.seat == "provider" and number > 0
        payload = {"type": 2, "reason": "It names the thing."} if provider else {}
        turn = Turn(episode_id="", number=number, seat=line.seat, text=line.text, payload=payload)
        return ReplayStep(turn, episode.gave[number], *episode.frontiers[number : number + 2])

    def _add(self, episode, seat, text, gave):
        frontier = episode.frontiers[-1]
        if gave == (OPENING,):
            frontier = frontier.open()
        elif gave:
            frontier = frontier.give(gave)
        episode.lines.append(Line(seat, text))
        episode.gave.append(gave)
        episode.frontiers.append(frontier)

    def _due(self, episode):
        if episode.ended:
            return None
        return "seeker" if episode.lines[-1].seat == "provider" else "provider"

    def _advance(self, episode):
        last = episode.lines[-1]
        spoken = sum(line.seat == "seeker" for line in episode.lines)
        bye = any(word in last.text.lower() for word in ("goodbye", "再见"))
        if last.seat == "seeker" and bye:
            episode.ended = "completed"
            return
        if last.seat == "provider" and spoken >= 14:
            episode.ended = "truncated"
            return
        due = self._due(episode)
        if episode.seats.get(due) == "person":
            return
        if due == "seeker":
            more = episode.frontiers[-1].available or not episode.frontiers[-1].opened
            self._add(episode, "seeker", "How is it done? Which one?" if more else "Thanks, goodbye!", ())
        else:
            self._give(episode)
        self._advance(episode)

    def _give(self, episode):
        frontier = episode.frontiers[-1]
        if not frontier.opened:
            self._add(episode, "provider", TREE.opening, (OPENING,))
        elif frontier.available:
            node = frontier.available[0]
            self._add(episode, "provider", f"Sure. {node.text}", (node.index,))
        else:
            self._add(episode, "provider", "You have collected enough.", ())

    def _provide(self, episode, reply):
        gave = tuple((reply.move or {}).get("give", ()))
        if not gave:
            if not reply.text.strip():
                raise SeatError("say something", "provider")
            self._add(episode, "provider", reply.text, ())
            return
        texts = {OPENING: TREE.opening} | {node.index: node.text for node in TREE.nodes}
        frontier = episode.frontiers[-1]
        allowed = {n.index for n in frontier.available} if frontier.opened else {OPENING}
        if not set(gave) <= allowed or (len(gave) > 1 and not episode.options.get("multi")):
            raise SeatError("not now", "provider", code="not_available", node=gave[0])
        middle = " ".join(texts[index] for index in gave)
        parts = (reply.move.get("before", ""), middle, reply.move.get("after", ""))
        self._add(episode, "provider", " ".join(part for part in parts if part), gave)
