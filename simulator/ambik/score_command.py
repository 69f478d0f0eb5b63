"""`askback score ambik`: files of any kind, by the paper's rules or the published code's (spec 10)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from simulator.ambik.reporting.file_sections import cases_apart
from simulator.ambik.reporting.report import report
from simulator.ambik.reporting.switches import (
    CpRuleOption,
    EntropyOption,
    HelpRuleOption,
    IcrOption,
    MetricsOption,
    QuantileOption,
    RenormaliseOption,
    SimilarityOption,
    Switches,
    TargetOption,
    TemperatureOption,
    TokensOption,
    TruthOption,
)
from simulator.ambik.reporting.terminal import json_text, print_section, sections_json, write_out
from simulator.runner.options import ExactJsonOption
from simulator.runner.telling import fault_text, tell_problems


def score_ambik(
    paths: Annotated[list[Path], typer.Argument(help="files, and folders of them", metavar="PATH…")],
    calibration: Annotated[
        list[Path] | None,
        typer.Option(help="a file of decisions on calibration items; may be repeated"),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="the pairs that decisions are of, where they do not say: a name or a path"),
    ] = None,
    target_success: TargetOption = None,
    temperature: TemperatureOption = None,
    tokens: TokensOption = None,
    quantile: QuantileOption = None,
    cp_rule: CpRuleOption = None,
    help_rule: HelpRuleOption = None,
    calibration_truth: TruthOption = None,
    renormalise: RenormaliseOption = None,
    entropy_weight: EntropyOption = None,
    similarity_weight: SimilarityOption = None,
    icr: IcrOption = None,
    metrics: MetricsOption = None,
    as_json: ExactJsonOption = False,
    out: Annotated[
        Path | None, typer.Option(help="write everything into this folder, with CSV and LaTeX")
    ] = None,
) -> None:
    """Score files by AmbiK's rules.

    What a file is, its content tells: pairs, KnowNo's scenarios, log-probabilities of a KnowNo run, cases of
    metrics, logs of decisions, tables of results. Faulty rows are left out and told at the end; the exit code
    is 1 if a file could not be read, or if a case of a metric has another value by the paper's rule.
    """
    switches = Switches.of(
        target_success=target_success,
        temperature=temperature,
        tokens=tokens,
        quantile=quantile,
        cp_rule=cp_rule,
        help=help_rule,
        calibration_truth=calibration_truth,
        renormalise=renormalise,
        entropy_weight=entropy_weight,
        similarity_weight=similarity_weight,
        icr=icr,
        metrics=metrics,
    )
    found = report(None, (), paths, calibration=calibration or (), data=data, switches=switches)
    scored = found.scored
    written = [] if out is None else write_out(out, found.sections)
    if as_json:
        typer.echo(
            json_text(
                {
                    **sections_json(found.sections),
                    "faults": [fault_text(one) for one in scored.faults],
                    "unreadable": scored.unreadable,
                }
            )
        )
    else:
        console = Console()
        for section in found.sections:
            print_section(console, section)
    tell_problems("AmbiK", scored.faults, scored.unreadable, scored.passed_over, written)
    apart = cases_apart(found.sections)
    if apart:
        typer.echo(f"cases of metrics that do not have the paper's value: {apart}", err=True)
    if scored.unreadable or scored.empty or apart:
        raise typer.Exit(1)
