"""The front door: the commands of `askback`, and what the benchmarks bring to those that serve all of them.

A command is named by the place of its function, which is imported when the command is asked for.
"""

from __future__ import annotations

import sys
from typing import Final

import typer
from rich.console import Console
from rich.text import Text

from logs import LogError
from personas.errors import TemplateError
from simulator.deferred import deferred, later
from simulator.errors import AskbackError
from simulator.registry import CHECKERS, CHECKS, OPPOSITE, REGISTER, ROOMS, StudyRoom
from simulator.runner.scoring import score_app
from trees.faults import TaskError


def _group(help: str) -> typer.Typer:
    return typer.Typer(no_args_is_help=True, help=help)


GROUPS: Final = {
    "run": _group("Play many episodes and score them."),
    "score": score_app,
    "report": _group("Tables of runs, side by side."),
    "study": deferred(
        "simulator.studies.command:study_app", "Studies with people: how they stand, who took part."
    ),
    "data": deferred("simulator.commands:data_app", "Published data you have registered."),
    "log": deferred(
        "logs.cli:log_app", "Look into the log: runs, episodes as transcripts, what is happening now."
    ),
    "import": _group("Bring published results into the log."),
    "audit": _group("Compare a provider's decisions with logged ones."),
    "train": _group("Train robots, and what ships with coefficients."),
    "generate": _group("Make episodes of a benchmark."),
    "stats": _group("Statistics of a benchmark's episodes."),
    "pack": _group("Put a benchmark's episodes into one file."),
}

# Where each command is, and the first line of its help, so that a list of commands imports none of them.
COMMANDS: Final = {
    "check": (
        "simulator.commands:check",
        "Name file, line and task of every fault. The exit code is 1 if there is an error.",
    ),
    "export": (
        "logs.cli:export_command",
        "Export the log as JSON lines or CSV, with a codebook. People stay pseudonyms.",
    ),
    "app": (
        "ui.command:app_command",
        "Start the web app: play in the browser, watch runs, review dialogues.",
    ),
    "run clarq": (
        "simulator.clarq.run_command:run_clarq",
        "Play ClarQ-LLM dialogues and score them. The same command again continues where it stopped.",
    ),
    "run handmethat": (
        "simulator.handmethat.run_command:run_handmethat",
        "Play HandMeThat episodes and score them. The same command again continues where it stopped.",
    ),
    "run ambibench": (
        "simulator.ambibench.run_command:run_ambibench",
        "Put models and built-in learners on AmbiBench's trials. Each setting of each of them is a run.",
    ),
    "run ambient": (
        "simulator.ambient.run_command:run_ambient",
        (
            "Put models, built-in players and models of inference on AmbiEnt's tasks. "
            "Each task of each is a run."
        ),
    ),
    "run ambik": (
        "simulator.ambik.run_command:run_ambik",
        "Put models and built-in robots in AmbiK's kitchen: to act or to ask. Each method of each is a run.",
    ),
    "score ambient": (
        "simulator.ambient.score_command:score_ambient",
        "Score files by AmbiEnt's rules, with the paper's figures beside those of published files.",
    ),
    "score ambient-nli": (
        "simulator.ambient.score_nli_command:score_ambient_nli",
        "Exact match, macro F1 and group exact match of label sets; the exit code is 1 if nothing is scored.",
    ),
    "score ambient-claims": (
        "simulator.ambient.claims_command:score_ambient_claims",
        "Flag claims by their most ambiguous paraphrase; precision and recall where claims are marked.",
    ),
    "score ambik": (
        "simulator.ambik.score_command:score_ambik",
        "Score files by AmbiK's rules.",
    ),
    "report handmethat": (
        "simulator.handmethat.report_command:report_handmethat",
        "Tables of several runs side by side: by level, by questions asked, and the gain per question.",
    ),
    "report ambibench": (
        "simulator.ambibench.report_command:report_ambibench",
        "Accuracy, validity and curves of people, models and the oracle: tables, and the paper's figures.",
    ),
    "report ambient": (
        "simulator.ambient.report_command:report_ambient",
        (
            "Tables 1, 4, 5, 9, 10 and 11, crowdworkers' votes, and the paper's figures, "
            "people and models together."
        ),
    ),
    "report ambik": (
        "simulator.ambik.report_command:report_ambik",
        (
            "Tables 3 and 6 to 9, coverage, what a question brought, "
            "and the paper's figures; people among models."
        ),
    ),
    "report asking": (
        "simulator.asking_command:report_asking",
        "Who asked when it was needed and when it was not, and whether the end was right with and without.",
    ),
    "import clarq-results": (
        "simulator.clarq.import_command:import_clarq",
        "Bring published results files into the log, and score them.",
    ),
    "import ambient-results": (
        "simulator.ambient.import_command:import_ambient",
        "Bring published files into the log, a run each; the same file again adds nothing.",
    ),
    "import ambik-results": (
        "simulator.ambik.import_command:import_ambik",
        "Bring results into the log, a run for each robot, method and configuration; again it adds nothing.",
    ),
    "audit provider": (
        "simulator.clarq.audit_command:audit_provider",
        "Compare a provider's decisions with those in published results or in a run.",
    ),
    "train clarq-ranker": (
        "simulator.clarq.train_command:train_clarq_ranker",
        "Train the coefficients of offline/experts on published ClarQ-LLM dialogues.",
    ),
    "train handmethat": (
        "simulator.handmethat.train_command:train_handmethat",
        "Train a robot for HandMeThat; then `askback run handmethat --robot seq2seq:robot.pt`.",
    ),
    "train ambibench": (
        "simulator.ambibench.train_command:train_ambibench",
        "Finetune on ambiguous tasks (or the control) and say what it does for the pair that was held out.",
    ),
    "train ambient-nli": (
        "simulator.ambient.train_nli_command:train_ambient_nli",
        "Train multilabel inference over several seeds and print the row of Table 5.",
    ),
    "pack handmethat": (
        "simulator.handmethat.pack_command:pack_handmethat",
        "Put episodes into one file from which each is read at once: for training in environments.",
    ),
    "generate handmethat": (
        "simulator.handmethat.generate_command:generate_command",
        "Generate HandMeThat episodes. The same command again continues where it stopped.",
    ),
    "generate ambibench": (
        "simulator.ambibench.generate_command:generate_command",
        "Generate AmbiBench items. The same command writes the same bytes.",
    ),
    "generate ambient": (
        "simulator.ambient.generate_command:generate_ambient",
        "Make new examples for linguists. The same command again continues where it stopped.",
    ),
    "generate ambient-distractors": (
        "simulator.ambient.distractors_command:generate_distractors",
        "Translate ambiguous sentences there and back. The same command again continues where it stopped.",
    ),
    "generate ambik": (
        "simulator.ambik.generate_command:generate_ambik",
        "Make drafts of new pairs for annotators. The same command again continues where it stopped.",
    ),
    "stats handmethat": (
        "simulator.handmethat.stats_command:stats_command",
        "Statistics of HandMeThat episodes: levels, lengths, objects, meanings, utterances, rejections.",
    ),
    "stats ambibench": (
        "simulator.ambibench.stats_command:stats_command",
        "Are AmbiBench prompts what they should be? Words, coins, repetitions; the exit code is 1 if not.",
    ),
    "stats ambient": (
        "simulator.ambient.stats_command:stats_command",
        "Statistics of AmbiEnt examples: ambiguity, label sets, rewrites, kinds of ambiguity.",
    ),
    "stats ambik": (
        "simulator.ambik.stats_command:stats_command",
        "Statistics of AmbiK pairs: types, words, plans, intents, shortlists, each by its counting rule.",
    ),
}

cli = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Simulate, play and score conversations in which somebody has to ask back.",
)
for _name, (_place, _help) in COMMANDS.items():
    _parent, _, _called = _name.rpartition(" ")
    (GROUPS[_parent] if _parent else cli).add_typer(deferred(_place, _help), name=_called)
for _name, _commands in GROUPS.items():
    cli.add_typer(_commands, name=_name)

CHECKERS.extend(
    later(f"{_module}:checker")
    for _module in (
        "simulator.studies.checking",  # before ClarQ's, which takes every YAML file for tasks
        "simulator.clarq.data_command",
        "simulator.handmethat.data_command",
        "simulator.ambient.data_command",  # before AmbiBench's, which takes every file with prompts
        "simulator.ambik.data_command",
        "simulator.ambibench.data_command",
    )
)
for _name in ("clarq", "handmethat", "ambibench", "ambient", "ambik"):
    REGISTER[_name] = later(f"simulator.{_name}.data_command:add_{_name}")
for _name in ("ambibench", "ambient", "ambik"):
    _assignment = f"simulator.{_name}.assignment"
    ROOMS[_name] = StudyRoom(later(f"{_assignment}:builtin_studies"), later(f"{_assignment}:cells"))
    CHECKS[_name] = later(f"{_assignment}:check_study")


OPPOSITE["ambik"] = later("simulator.ambik.assignment:needs_opposite")


def main() -> None:
    """The `askback` command: a known error is one sentence on stderr and exit status 1."""
    try:
        cli()
    except (AskbackError, LogError, TaskError, TemplateError) as error:
        Console(stderr=True).print(Text.assemble(("askback: ", "red"), str(error)))
        sys.exit(1)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.argv.append("app")
    main()
