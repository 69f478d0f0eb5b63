"""`askback generate handmethat` and `askback stats handmethat`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from logs import LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from logs.rows import Event
from simulator.errors import InputError
from simulator.handmethat.data import draw_tasks
from simulator.handmethat.generation.attempts import Plan, Quotas
from simulator.handmethat.generation.batch import Note, Report, Tally, generate_folder, run_batch
from simulator.handmethat.goals.templates import template_set
from simulator.handmethat.items import LEVELS, Level, Sample, item_row
from simulator.handmethat.meanings.model import QUESTS, Quest
from simulator.handmethat.profiles import FORMER, load_profile
from simulator.handmethat.statistics import facts_of, statistics, statistics_report, to_csv
from simulator.output_files import write_atomically
from simulator.reporting import print_report
from simulator.runner.command import read_ranges
from simulator.runner.options import LOCAL, ExecutorOption, JsonOption, RootSeedOption
from simulator.runner.spreading import engine_of

BALANCED: Final = "balanced"
FREE: Final = "free"
WORTH_WORKERS: Final = 100
"""Episodes from which on several processes are used by default: starting one takes about a second."""

ProfileOption = Annotated[str, typer.Option(help="v1, v2, paper, or v2,strict=true,costs=planner")]
MixOption = Annotated[
    str | None,
    typer.Option(help="weights such as bring_me:47,move_to:48,change_state:5; default: the profile's"),
]
TemplatesOption = Annotated[
    str | None, typer.Option(help="all, v2, or numbers such as 1-5,8,67; default: the profile's")
]
LevelsOption = Annotated[
    str, typer.Option(help="balanced, free (whatever is drawn), or shares such as 1:2,2:1")
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="processes, which affect only the time; default: one per core")
]


def generate_command(
    out: Annotated[Path, typer.Option(help="folder for the episodes; created if needed")],
    episodes: Annotated[int, typer.Option(min=1, help="number of episodes")] = 100,
    profile: ProfileOption = "v2",
    levels: LevelsOption = BALANCED,
    quest_mix: MixOption = None,
    templates: TemplatesOption = None,
    seed: RootSeedOption = 0,
    workers: WorkersOption = None,
    executor: ExecutorOption = LOCAL,
    demos: Annotated[bool, typer.Option(help="add expert demonstrations")] = True,
    into_log: Annotated[
        bool, typer.Option("--into-log", help="also write the episodes to the log, as items")
    ] = False,
    log: LogOption = None,
) -> None:
    """Generate HandMeThat episodes. The same command again continues where it stopped."""
    console = Console()
    plan = make_plan(profile, episodes, levels, quest_mix, templates, seed, demos=demos)
    engine = engine_of(executor, workers, worth=episodes >= WORTH_WORKERS)
    start = time.monotonic()
    path = (log or default_path()) if into_log else None
    try:
        with _log_items(path, plan, out) as note, progress(console, plan) as report:
            tally = generate_folder(plan, out, engine=engine, report=report, log=note)
    except KeyboardInterrupt:
        console.print("Interrupted. Run the same command again to continue.")
        raise typer.Exit(130) from None
    counts = statistics([facts for _, facts in tally.kept], tally.rejections)
    print_report(console, statistics_report(counts))
    _print_costs(console, tally, time.monotonic() - start)
    console.print(f"The episodes are in {out}.", soft_wrap=True)


def make_plan(
    profile: str,
    episodes: int,
    levels: str,
    quest_mix: str | None,
    templates: str | None,
    seed: int,
    *,
    demos: bool,
) -> Plan:
    """Return the generation plan for the options of a command line.

    Raises:
        InputError: if an option is wrong.
    """
    if former := {part.strip() for part in profile.split(",")}.intersection(FORMER):
        raise InputError(f"--profile {profile!r}: {min(former)} is no longer a choice; leave it out")
    rules = load_profile(profile)
    sets = {"all": template_set("all"), "v2": template_set("v2")}
    if templates is not None:
        numbers = parse_templates(templates, sets)
    else:
        numbers = sets[rules.templates] if isinstance(rules.templates, str) else rules.templates
    return Plan(
        profile=profile,
        episodes=episodes,
        quotas=parse_levels(levels, episodes),
        mix=(
            {quest: rules.mix[quest] for quest in QUESTS if rules.mix.get(quest)}
            if quest_mix is None
            else parse_mix(quest_mix)
        ),
        templates=numbers,
        seed=seed,
        demos=demos,
    )


def parse_levels(text: str, episodes: int) -> Quotas | None:
    """Return the number of episodes per level for ``balanced``, ``free`` (None), or shares like ``1:2,2:1``.

    Raises:
        InputError: if `text` has another form.
    """
    if text == FREE:
        return None
    if text == BALANCED:
        return share_out(episodes, dict.fromkeys(LEVELS, 1.0))
    shares = _pairs("--levels", text, tuple(map(str, LEVELS)))
    return share_out(episodes, {level: shares[str(level)] for level in LEVELS if shares.get(str(level))})


def parse_mix(text: str) -> dict[Quest, float]:
    """Return the weight of each quest type; `text`: like ``bring_me:47,move_to:48,change_state:5``.

    Raises:
        InputError: if `text` has another form.
    """
    shares = _pairs("--quest-mix", text, QUESTS)
    return {quest: shares[quest] for quest in QUESTS if shares.get(quest)}


def parse_templates(text: str, sets: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return numbers of goal templates; `text`: the name of a set, or like ``1-5,8,67``.

    Raises:
        InputError: if `text` has another form, or there is no such template.
    """
    if text in sets:
        return sets[text]
    numbers = sorted(set(read_ranges("--templates", text, f"1-5,8,67, or {' or '.join(sets)}")))
    if unknown := sorted(set(numbers).difference(sets["all"])):
        top = max(sets["all"])
        raise InputError(f"--templates {text!r}: unknown {unknown}; templates are numbered 0 to {top}")
    return tuple(numbers)


def share_out(total: int, shares: Mapping[Level, float]) -> dict[Level, int]:
    """Divide `total` by `shares` into integers, by largest remainders; ties go to lower levels."""
    weight = sum(shares.values())
    exact = {level: total * share / weight for level, share in shares.items()}
    counts = {level: int(value) for level, value in exact.items()}
    order = sorted(shares, key=lambda level: (counts[level] - exact[level], level))
    for level in order[: total - sum(counts.values())]:
        counts[level] += 1
    return counts


def _pairs(option: str, text: str, allowed: tuple[str, ...]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, weight = (piece.strip() for piece in part.partition(":"))
        try:
            value = float(weight)
        except ValueError:
            value = -1.0
        if name not in allowed or not 0 <= value < float("inf") or name in shares:
            example = ",".join(f"{name}:1" for name in allowed)
            raise InputError(
                f"{option} {text!r}: give a weight for each of {', '.join(allowed)} at most once: {example}"
            )
        shares[name] = value
    if not any(shares.values()):
        raise InputError(f"{option} {text!r}: at least one weight must be above 0")
    return shares


@contextmanager
def progress(console: Console, plan: Plan) -> Iterator[Report]:
    """Show a progress bar with counts per level; yield the function to call with each tally."""
    columns = (
        TextColumn("episodes"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[levels]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    counts = dict.fromkeys(LEVELS, 0)
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("episodes", total=plan.episodes, levels="")

        def report(tally: Tally) -> None:
            for _, facts in tally.kept:
                counts[facts.level] += 1
            quotas = plan.quotas
            quota = {level: f"/{quotas.get(level, 0)}" if quotas else "" for level in LEVELS}
            words = " ".join(f"L{level} {count}{quota[level]}" for level, count in counts.items())
            bar.update(task, completed=sum(counts.values()), levels=words)

        yield report


@contextmanager
def _log_items(path: Path | None, plan: Plan, out: Path) -> Iterator[Note | None]:
    """Log the generation at `path`; yield the function that logs rows of episodes. None without `path`."""
    if path is None:
        yield None
        return
    with LogWriter(path, durable=False) as log:
        log.put(Event(kind="handmethat.generation", details={"plan": plan.to_json(), "folder": str(out)}))

        def note(row: dict[str, Any]) -> None:
            log.put(item_row(row))

        yield note


def _print_costs(console: Console, tally: Tally, wall: float) -> None:
    kept, attempts = len(tally.kept), tally.attempts
    if not attempts or not tally.cpu:
        console.print("All episodes existed already; nothing was generated.")
        return
    surplus = sum(tally.surplus.values())
    console.print(
        f"{kept} episodes from {attempts} attempts ({surplus} more at levels that were full); "
        f"CPU {1000 * tally.cpu / kept:.1f} ms per episode, {1000 * tally.cpu / attempts:.1f} ms per attempt;"
        f" this command took {wall:.1f} s.",
        soft_wrap=True,
    )


def stats_command(
    profile: Annotated[
        str | None, typer.Option(help="generate episodes with this profile; default: v2")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="use these data instead: builtin, the name of added data, or a path")
    ] = None,
    episodes: Annotated[
        int, typer.Option(min=1, help="number of episodes; with --data, size of the sample")
    ] = 2000,
    levels: LevelsOption = FREE,
    quest_mix: MixOption = None,
    templates: TemplatesOption = None,
    seed: RootSeedOption = 0,
    workers: WorkersOption = None,
    executor: ExecutorOption = LOCAL,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print CSV")] = False,
    out: Annotated[Path | None, typer.Option(help="write the JSON or CSV to this file")] = None,
) -> None:
    """Show levels, lengths, objects, meanings, utterances and rejections of HandMeThat episodes."""
    if data is not None and profile is not None:
        raise InputError("--data and --profile cannot be used together; drop one of them")
    if as_json and as_csv:
        raise InputError("--json and --csv cannot be used together; drop one of them")
    if out is not None and not (as_json or as_csv):
        raise InputError("--out needs a format; add --json or --csv")
    if data is not None:
        sample = Sample(limit=episodes, shares="proportional", seed=seed)
        numbers = statistics([facts_of(task) for task in draw_tasks(data, sample)])
    else:
        plan = make_plan(profile or "v2", episodes, levels, quest_mix, templates, seed, demos=False)
        engine = engine_of(executor, workers, worth=episodes >= WORTH_WORKERS)
        tally = Tally()
        with progress(Console(stderr=True), plan) as report:
            for group in run_batch(plan, engine=engine, report=report, files=False):
                tally.add(group)
        numbers = statistics([facts for _, facts in tally.kept], tally.rejections)
    if not (as_json or as_csv):
        print_report(Console(), statistics_report(numbers))
        return
    text = json.dumps(numbers, indent=1) + "\n" if as_json else to_csv(numbers)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_atomically(out, text)
