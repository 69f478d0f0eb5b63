"""Many episodes: attempts in several processes, taken in their order until every level has its share.

Whether an episode is kept depends on the attempts before it alone, so the same plan gives the same files
whatever the number of processes and however often it was interrupted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from simulator.errors import InputError
from simulator.handmethat.files.episode import read_file
from simulator.handmethat.files.split import (
    FOLDER,
    PARTS,
    SPLIT_FILE,
    Name,
    Part,
    Style,
    make_split,
    write_split,
)
from simulator.handmethat.generation.attempts import Attempt, Job, Plan, make_attempt
from simulator.handmethat.generation.journal import Journal, Tally
from simulator.handmethat.items import task_to_row
from simulator.handmethat.meanings.model import Quest
from simulator.handmethat.profiles import load_profile
from simulator.handmethat.statistics import Facts
from simulator.handmethat.task import Level
from simulator.runner.engine import HERE, Engine
from simulator.runner.spreading import in_order
from simulator.seeds import derive_seed

# Attempts for which the journal gets one line.
_GROUP: Final = 32
# So many attempts in a row of which nothing is kept mean that nothing more will come.
_PATIENCE: Final = 5_000
_GIVEN_UP: Final = 20
# Shares of train, validate and test (spec 10.4).
_SHARES: Final[Mapping[Style, tuple[float, float, float]]] = {"v1": (0.8, 0.1, 0.1), "v2": (0.9, 0.05, 0.05)}

Report = Callable[[Tally], None]
Note = Callable[[dict[str, Any]], None]


class KeptEpisode(NamedTuple):
    """An episode that is kept.

    Attributes:
        row: as `task_to_row` makes it; None if no rows are wanted.
    """

    name: str
    file: bytes
    row: dict[str, Any] | None


Keep = Callable[[KeptEpisode], None]


@dataclass
class _Gate:
    """The gate of a batch: episodes in the order of their attempts, while their level is open.

    Attributes:
        numbers: running number within goal and quest type.
    """

    plan: Plan
    style: Style
    kept: Counter[Level] = field(default_factory=Counter)
    numbers: Counter[tuple[int | None, Quest]] = field(default_factory=Counter)

    @property
    def closed(self) -> frozenset[Level]:
        """The levels of which no more are wanted."""
        quotas = self.plan.quotas
        if quotas is None:
            return frozenset()
        return frozenset(level for level in (1, 2, 3, 4) if self.kept[level] >= quotas.get(level, 0))

    @property
    def full(self) -> bool:
        """Return True if nothing more is wanted."""
        return sum(self.kept.values()) >= self.plan.episodes

    def take(self, facts: Facts) -> tuple[str, int]:
        """Let an episode in; its name and its task index."""
        kind = (facts.goal, facts.quest)
        index = self.numbers[kind]
        number = index if self.style == "v2" else self.kept[facts.level]
        self.numbers[kind] += 1
        self.kept[facts.level] += 1
        assert facts.goal is not None
        return str(Name(self.style, facts.level, facts.quest, facts.goal, number)), index


def run_batch(
    plan: Plan,
    *,
    engine: Engine = HERE,
    keep: Keep | None = None,
    tell: Report | None = None,
    after: Tally | None = None,
    files: bool = True,
    rows: bool = False,
) -> Iterator[Tally]:
    """Generate what a plan wants; yields what came of each group of attempts.

    Args:
        plan: what is wanted.
        engine: whose processes make attempts.
        keep: gets each episode that is kept.
        tell: gets each attempt's own tally at once, for a progress bar.
        after: what has been done before; the batch goes on from there.
        files: whether attempts make the content of files.
        rows: whether attempts make rows for the log.

    Raises:
        InputError: if nothing comes of a plan any more.
    """
    gate = _Gate(plan, style_of(plan.profile))
    first = 0
    if after is not None:
        first = after.attempts
        for _, facts in after.kept:
            gate.take(facts)

    def jobs() -> Iterator[Job]:
        number = first
        while not gate.full:
            yield Job(plan, number, gate.closed, row=rows, file=files)
            number += 1

    group, idle = Tally(), Tally()
    if gate.full:
        return
    for attempt in in_order(make_attempt, jobs(), engine):
        counted, kept = _count(attempt, gate)
        if kept is not None:
            idle = Tally()
            if keep is not None:
                keep(kept)
        idle.add(counted)
        _check_patience(plan, idle, gate)
        group.add(counted)
        if tell is not None:
            tell(counted)
        if group.attempts == _GROUP or gate.full:
            yield group
            group = Tally()
        if gate.full:
            return


def generate_folder(
    plan: Plan,
    folder: Path,
    *,
    engine: Engine = HERE,
    tell: Report | None = None,
    log: Note | None = None,
) -> Tally:
    """Generate episodes into a folder, as published: a folder of files and the split file beside it.

    The same call again goes on where it was interrupted.

    `tell`: gets what was done before, then each attempt's own tally.

    Raises:
        InputError: if the folder holds something else, or nothing comes of the plan any more.
    """
    journal = Journal(folder, plan)
    home = folder / FOLDER
    home.mkdir(exist_ok=True)
    if tell is not None:
        tell(journal.tally)
    if log is not None:
        # Whoever was killed may have written files whose rows were still on their way.
        for name, _ in journal.tally.kept:
            log(task_to_row(read_file(home / f"{name}.json")))

    def keep(kept: KeptEpisode) -> None:
        (home / f"{kept.name}.json").write_bytes(kept.file)
        if log is not None and kept.row is not None:
            log(kept.row)

    if not journal.done:
        for group in run_batch(
            plan, engine=engine, keep=keep, tell=tell, after=journal.tally, rows=log is not None
        ):
            journal.append(group)
        names = [f"{name}.json" for name, _ in journal.tally.kept]
        write_split(make_split(names, _parts(plan, names)), folder / SPLIT_FILE, style_of(plan.profile))
        journal.finish()
    return journal.tally


def style_of(profile: str) -> Style:
    """Return how files of a profile are named."""
    return load_profile(profile).style


def _count(attempt: Attempt, gate: _Gate) -> tuple[Tally, KeptEpisode | None]:
    tally = Tally(attempts=1, redrawn=attempt.redrawn, cpu=attempt.cpu)
    tally.rejections.update(attempt.rejections)
    if attempt.level is None:
        tally.given_up = 1
    elif attempt.level in gate.closed:
        tally.surplus[attempt.level] = 1
    elif attempt.facts is None:
        tally.rejections[attempt.failure] += 1
    else:
        name, index = gate.take(attempt.facts)
        tally.kept = [(name, attempt.facts)]
        return tally, _number_episode(attempt, name, index)
    return tally, None


def _number_episode(attempt: Attempt, name: str, index: int) -> KeptEpisode:
    """Return the episode with its name and number, which no attempt can know."""
    file = attempt.file.replace(b'"task_idx": 0', b'"task_idx": %d' % index, 1)
    row = None if attempt.row is None else {**attempt.row, "id": name, "task_index": index}
    return KeptEpisode(name, file, row)


def _check_patience(plan: Plan, idle: Tally, gate: _Gate) -> None:
    if idle.given_up >= _GIVEN_UP and idle.given_up == idle.attempts - len(idle.kept):
        causes = ", ".join(f"{cause} {count}" for cause, count in idle.rejections.most_common(3))
        raise InputError(
            f"nothing came of {sum(idle.rejections.values())} households ({causes}); the templates "
            f"{list(plan.templates)} do not go with {', '.join(plan.mix)} in profile {plan.profile}"
        )
    if idle.attempts > _PATIENCE:
        open_levels = [level for level in (1, 2, 3, 4) if level not in gate.closed]
        raise InputError(
            f"{_PATIENCE} attempts in a row gave no episode of level {', '.join(map(str, open_levels))}; "
            "ask for other --levels, --templates or another --quest-mix"
        )


def _parts(plan: Plan, names: list[str]) -> dict[str, Part]:
    shares = _SHARES[style_of(plan.profile)]
    return {name: _part(derive_seed(plan.seed, "split", name) / 2**31, shares) for name in names}


def _part(point: float, shares: tuple[float, float, float]) -> Part:
    if point < shares[0]:
        return PARTS[0]
    return PARTS[1] if point < shares[0] + shares[1] else PARTS[2]
