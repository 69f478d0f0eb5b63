"""The front door: the `askback` command and the web app."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from logs import LogError, LogReader, LogWriter
from logs.cli import LogOption, export_command, log_app
from logs.paths import default_path
from personas.templates import TemplateError
from simulator import studies
from simulator.ambibench import data_command as ambibench_data
from simulator.ambibench.assignment import builtin_studies, cells, check_study
from simulator.ambibench.generate_command import generate_command as generate_ambibench
from simulator.ambibench.report_command import report_ambibench
from simulator.ambibench.run_command import run_ambibench
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.ambibench.stats_command import stats_command as stats_ambibench
from simulator.ambibench.train_command import train_ambibench
from simulator.ambient import assignment as ambient_studies
from simulator.ambient import data_command as ambient_data
from simulator.ambient.claims_command import score_ambient_claims
from simulator.ambient.distractors_command import generate_distractors
from simulator.ambient.generate_command import generate_ambient
from simulator.ambient.import_command import import_ambient
from simulator.ambient.report_command import report_ambient
from simulator.ambient.run_command import run_ambient
from simulator.ambient.score_command import score_ambient
from simulator.ambient.score_nli_command import score_ambient_nli
from simulator.ambient.sessions import AmbientSessions
from simulator.ambient.stats_command import stats_command as stats_ambient
from simulator.ambient.train_nli_command import train_ambient_nli
from simulator.ambik import assignment as ambik_studies
from simulator.ambik import data_command as ambik_data
from simulator.ambik.generate_command import generate_ambik
from simulator.ambik.import_command import import_ambik
from simulator.ambik.report_command import report_ambik
from simulator.ambik.run_command import run_ambik
from simulator.ambik.score_command import score_ambik
from simulator.ambik.sessions import AmbikSessions
from simulator.ambik.stats_command import stats_command as stats_ambik
from simulator.asking_command import report_asking
from simulator.clarq import data_command as clarq_data
from simulator.clarq.audit import audit_provider
from simulator.clarq.import_command import import_clarq
from simulator.clarq.run_command import run_clarq
from simulator.clarq.sessions import ClarqSessions
from simulator.clarq.train_command import train_clarq_ranker
from simulator.commands import CHECKERS, REGISTER, Checker, check, data_app
from simulator.errors import AskbackError, InputError
from simulator.handmethat import data_command as handmethat_data
from simulator.handmethat.generate_command import generate_command as generate_handmethat
from simulator.handmethat.report_command import report_handmethat
from simulator.handmethat.run_command import run_handmethat
from simulator.handmethat.sessions import HandMeThatSessions
from simulator.handmethat.stats_command import stats_command as stats_handmethat
from simulator.handmethat.train_command import train_handmethat
from simulator.home import home
from simulator.models import ModelOptions
from simulator.runner.build import Models
from simulator.runner.scoring import score_app
from simulator.studies.command import ROOMS, StudyRoom, study_app
from trees.faults import TaskError

cli = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Simulate, play and score conversations in which somebody has to ask back.",
)
_run = typer.Typer(no_args_is_help=True, help="Play many episodes and score them.")
_report = typer.Typer(no_args_is_help=True, help="Tables of runs, side by side.")
_import = typer.Typer(no_args_is_help=True, help="Bring published results into the log.")
_audit = typer.Typer(no_args_is_help=True, help="Compare a provider's decisions with logged ones.")
_generate = typer.Typer(no_args_is_help=True, help="Make episodes of a benchmark.")
_stats = typer.Typer(no_args_is_help=True, help="Statistics of a benchmark's episodes.")
_train = typer.Typer(no_args_is_help=True, help="Train robots, and what ships with coefficients.")

_run.command("clarq")(run_clarq)
_run.command("handmethat")(run_handmethat)
_run.command("ambibench")(run_ambibench)
_run.command("ambient")(run_ambient)
_run.command("ambik")(run_ambik)
_report.command("handmethat")(report_handmethat)
_report.command("ambibench")(report_ambibench)
_report.command("ambient")(report_ambient)
_report.command("ambik")(report_ambik)
_report.command("asking")(report_asking)
_import.command("clarq-results")(import_clarq)
_import.command("ambient-results")(import_ambient)
_import.command("ambik-results")(import_ambik)
_audit.command("provider")(audit_provider)
_train.command("clarq-ranker")(train_clarq_ranker)
_train.command("handmethat")(train_handmethat)
_train.command("ambibench")(train_ambibench)
_train.command("ambient-nli")(train_ambient_nli)
_generate.command("handmethat")(generate_handmethat)
_generate.command("ambibench")(generate_ambibench)
_generate.command("ambient")(generate_ambient)
_generate.command("ambient-distractors")(generate_distractors)
_generate.command("ambik")(generate_ambik)
_stats.command("handmethat")(stats_handmethat)
_stats.command("ambibench")(stats_ambibench)
_stats.command("ambient")(stats_ambient)
_stats.command("ambik")(stats_ambik)
cli.add_typer(_run, name="run")
score_app.command("ambient")(score_ambient)
score_app.command("ambient-nli")(score_ambient_nli)
score_app.command("ambient-claims")(score_ambient_claims)
score_app.command("ambik")(score_ambik)
cli.add_typer(score_app, name="score")
cli.add_typer(_report, name="report")
cli.add_typer(study_app, name="study")
cli.command("check")(check)
cli.add_typer(data_app, name="data")
cli.add_typer(log_app, name="log")
cli.command("export")(export_command)
cli.add_typer(_import, name="import")
cli.add_typer(_audit, name="audit")
cli.add_typer(_train, name="train")
cli.add_typer(_generate, name="generate")
cli.add_typer(_stats, name="stats")

CHECKERS += [
    # Before ClarQ's, which takes every YAML file for tasks.
    Checker(studies.KIND, studies.find_studies, studies.check_studies),
    Checker(clarq_data.KIND, clarq_data.find_tasks, clarq_data.check_tasks),
    Checker(handmethat_data.KIND, handmethat_data.find_episodes, handmethat_data.check_episodes),
    # Before AmbiBench's, which takes every file with prompts for its items.
    Checker(ambient_data.KIND, ambient_data.find_files, ambient_data.check_files),
    Checker(ambik_data.KIND, ambik_data.find_files, ambik_data.check_files),
    Checker(ambibench_data.KIND, ambibench_data.find_items, ambibench_data.check_items),
]
studies.CHECKS[ambibench_data.BENCHMARK] = check_study
studies.CHECKS[ambient_data.BENCHMARK] = ambient_studies.check_study
studies.CHECKS[ambik_data.BENCHMARK] = ambik_studies.check_study
ROOMS[ambibench_data.BENCHMARK] = StudyRoom(builtin_studies, cells)
ROOMS[ambient_data.BENCHMARK] = StudyRoom(ambient_studies.builtin_studies, ambient_studies.cells)
ROOMS[ambik_data.BENCHMARK] = StudyRoom(ambik_studies.builtin_studies, ambik_studies.cells)
REGISTER |= {
    clarq_data.BENCHMARK: clarq_data.add_clarq,
    handmethat_data.BENCHMARK: handmethat_data.add_handmethat,
    ambibench_data.BENCHMARK: ambibench_data.add_ambibench,
    ambient_data.BENCHMARK: ambient_data.add_ambient,
    ambik_data.BENCHMARK: ambik_data.add_ambik,
}


@_run.callback()
@_report.callback()
@_import.callback()
@_audit.callback()
@_train.callback()
@_generate.callback()
@_stats.callback()
def _group() -> None:
    """Keep a group of one command a group, so that the benchmark is always named."""


@cli.command("app")
def app_command(
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="port to listen on")] = 7860,
    log: LogOption = None,
    handmethat: Annotated[
        str, typer.Option(help="HandMeThat's episodes: builtin, registered data, or a folder")
    ] = "builtin",
    study: Annotated[
        list[Path] | None,
        typer.Option(help="a study file (several: give it again); default: those that come with Askback"),
    ] = None,
) -> None:
    """Start the web app: play in the browser, watch runs, review dialogues."""
    path = log or default_path()
    _refuse_busy(host, port)
    with LogWriter(path, durable=True) as writer, LogReader(path) as reader:
        models = Models(options=ModelOptions(cache_path=home() / "cache.sqlite", recorder=writer.put))
        dialogues = ClarqSessions(writer, reader, models)
        household = HandMeThatSessions(writer, reader, models, data=handmethat)
        held = held_studies(study)
        letters = AmbiBenchSessions(writer, reader, models, studies=held.get(ambibench_data.BENCHMARK))
        readings = AmbientSessions(writer, reader, models, studies=held.get(ambient_data.BENCHMARK))
        kitchen = AmbikSessions(writer, reader, models, studies=held.get(ambik_data.BENCHMARK))
        _serve(dialogues, household, letters, readings, kitchen, writer, reader, host, port)


def held_studies(files: list[Path] | None) -> dict[str, list[studies.Study]]:
    """The studies in `files` by benchmark, all of which are named; nothing if there are no files.

    Raises:
        InputError: if a file is wrong, or its benchmark holds no studies.
    """
    if not files:
        return {}
    held: dict[str, list[studies.Study]] = {benchmark: [] for benchmark in ROOMS}
    for file in files:
        study = studies.read_study(file)
        if study.benchmark not in held:
            raise InputError(f"{file}: {study.benchmark} holds no studies; {' and '.join(held)} do.")
        held[study.benchmark].append(study)
    return held


def _serve(
    dialogues: ClarqSessions,
    household: HandMeThatSessions,
    letters: AmbiBenchSessions,
    readings: AmbientSessions,
    kitchen: AmbikSessions,
    writer: LogWriter,
    reader: LogReader,
    host: str,
    port: int,
) -> None:
    # Gradio takes seconds to import; no other command should wait for it.
    import uvicorn

    from ui.research import research_mount
    from ui.server import create_server

    research = research_mount(writer, reader, home=home())
    server = create_server(
        dialogues,
        home=home(),
        household=household,
        ambibench=letters,
        ambient=readings,
        ambik=kitchen,
        mounts=[research],
    )
    Console().print(f"Askback is at [bold]http://{host}:{port}[/bold]  (Ctrl-C stops it)", highlight=False)
    uvicorn.run(server, host=host, port=port, log_level="warning")


def _refuse_busy(host: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"Cannot listen on {host}:{port} ({error.strerror}); choose others with --host and --port."
            ) from error


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
