"""The report on logged runs and files, human and model (spec 12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from simulator.ambik.annotation.agreement import agreement_table, pair_agreement
from simulator.ambik.items import PairItem
from simulator.ambik.people_sets import compare_sets, sets_section
from simulator.ambik.records import Outcome, PairForm
from simulator.ambik.reporting.exporting import export_runs, write_run_lines
from simulator.ambik.reporting.figures import figures
from simulator.ambik.reporting.file_sections import rules_section, score_files
from simulator.ambik.reporting.groups import (
    Material,
    added_statement,
    baseline_groups,
    from_runs,
    split_by_kind,
)
from simulator.ambik.reporting.results import ReportSettings, Result, results_of, settings_statement
from simulator.ambik.reporting.tables import TABLES, Columns, result_table
from simulator.ambik.terms import MEMBERS, remark
from simulator.errors import InputError
from simulator.figures import Column
from simulator.frames import Frames
from simulator.output_files import write_atomically
from simulator.reporting import Section

ALL: Final = "all"


def read_contents(source: Frames) -> tuple[list[Section], Material, tuple[Result, ...]]:
    """Return sections for files other than decision logs, the material of runs and files, and the results.

    Faults of files are added to `Frames.problems`.
    """
    settings: ReportSettings = source.settings or ReportSettings()
    material, sections = Material(), list[Section]()
    if source.runs:
        material = from_runs(source.reader, source.runs, exclude_aborted=source.exclude_aborted)
    if source.files or settings.calibration:
        file_sections, added = score_files(source.files, source.problems, settings)
        sections += file_sections
        material.groups += added.groups
        material.remarks += added.remarks
    groups = split_by_kind(material.groups, settings.part)
    if settings.part != "all" and not groups and material.groups:
        raise InputError(
            f"--part {settings.part}: none of these decisions is on {settings.part} pairs; omit the option"
        )
    material.groups = [*groups]
    return sections, material, results_of(groups, settings.switches)


def report_sections(source: Frames) -> Iterator[Section]:
    """Yield sections for files, the paper's tables, our additions, people next to models, and figures."""
    sections, material, results = source.once(read_contents)
    switches = source.settings.switches if source.settings is not None else None
    yield from sections
    if wrong := sum(section.data.get("unexpected", 0) for section in sections):
        source.problems.unexpected.append(f"metric cases that do not have the paper's value: {wrong}")
    for run, decisions in material.published.items():
        yield rules_section(decisions, run, switches=switches)
    yield from _overview(material, results)
    if results:
        with_baselines = (*results, *results_of(baseline_groups(material.groups), switches))
        reported = (*(make(with_baselines) for make in TABLES), people_section(results))
        yield from (section for section in reported if section is not None)
    if material.forms:
        yield agreement_section(material.forms)
    if results and source.draws:
        yield Section(name="figures", title="Figures", figures=figures(results))
    if source.settings is not None and source.settings.task:
        text = task_sheets(results, source.settings.task)
        yield Section(name="tasks", title="Prediction sets by task (App. K)", text=text)


def write_files(source: Frames) -> Iterable[object]:
    """Write all sets next to the report, and optionally decisions and results; yield the files written.

    Raises:
        InputError: if decisions or results are requested without a run, or a file cannot be written.
    """
    settings: ReportSettings = source.settings
    _, _, results = source.once(read_contents)
    if (settings.lines or settings.export) and not source.runs:
        raise InputError("--lines and --export need a run: name one (see askback log list).")
    if source.out is not None and results:
        yield write_atomically(source.out / "sets.txt", task_sheets(results))
    if settings.lines is not None:
        count = write_run_lines(settings.lines, source.reader, source.runs)
        yield f"{settings.lines}: {count} lines"
    if settings.export is not None:
        yield from export_runs(settings.export, source.reader, source.runs, results)


def _overview(material: Material, results: Sequence[Result]) -> Iterator[Section]:
    """Yield the overview of robots, data and settings."""
    used = [result.settings for result in results]
    remarks = [
        *settings_statement(results),
        *_remark_if(
            any(each.help == "original" and each.tokens == "raw_top5" for each in used),
            remark("tables", "counts_tokens"),
        ),
        *_remark_if(any(each.metrics == "reference" for each in used), remark("tables", "reference_metrics")),
        *material.remarks,
        *filter(None, map(added_statement, material.groups)),
        *(remark for result in results for remark in result.remarks),
    ]
    if not results and not remarks:
        return
    columns: Columns = {
        "run or file": lambda result: result.source,
        "data": lambda result: result.version or result.dataset,
        Column("tasks", 0): lambda result: len(result.outcomes),
        Column("people", 0): lambda result: result.people or None,
    }
    yield Section(
        name="overview",
        title="Results",
        tables=[result_table(results, columns)] if results else [],
        remarks=tuple(dict.fromkeys(remarks)),
        data={
            result.label: {
                "source": result.source,
                "dataset": result.dataset,
                "version": result.version,
                "context": result.context,
                "dialogue": result.dialogue,
                "tasks": len(result.outcomes),
                "people": result.people,
                "settings": result.settings,
            }
            for result in results
        },
    )


def _remark_if(applies: bool, text: str) -> list[str]:
    return [text] if applies else []


# ---- people's sets and models' on the same tasks, and annotators' agreement (spec 11; our addition)


def people_section(results: Sequence[Result]) -> Section | None:
    """Return people's sets next to prediction sets; None if they have no task in common."""
    people = [result for result in results if result.method == "person"]
    models = [result for result in results if result.method != "person"]
    if not people or not models:
        return None
    decisions = (decision for result in people for decision in result.decisions)
    outcomes = (outcome for result in models for outcome in result.outcomes)
    compared = compare_sets(decisions, outcomes, models[0].settings)
    return sets_section(compared) if compared.pairs else None


def agreement_section(forms: Sequence[PairForm]) -> Section:
    """Return the section on annotators' agreement."""
    agreement = pair_agreement(forms)
    kappa = "Cohen's" if agreement["kappa"] == "cohen" else "Fleiss'"
    remarks = [
        f"{agreement['drafts']} drafts, {agreement['annotators']} annotators, {agreement['forms']} forms; "
        f"{agreement['single']} drafts with only one annotator are left out",
        f"kappa is {kappa}; shortlists' alpha is Krippendorff's, with MASI as distance",
        f"{agreement['deleted']} drafts were deleted by all, {agreement['split']} by some",
    ]
    if agreement["replaced"]:
        remarks.append(
            f"{agreement['replaced']} earlier forms of the same person on the same draft are not counted"
        )
    return Section(
        name="agreement",
        title="Annotators' agreement",
        tables=[agreement_table(agreement, "")],
        remarks=remarks,
        data={"agreement": agreement},
    )


# ---- App. K: for each pair the scene, plans, and all methods' prediction sets for both members


def task_sheets(results: Sequence[Result], ids: Sequence[str] = (ALL,)) -> str:
    """Return one sheet for each pair or scenario, in order of occurrence.

    Raises:
        InputError: if no result has a requested pair or scenario.
    """
    sheets: dict[str, dict[str, list[tuple[Result, Outcome]]]] = {}
    for result in results:
        for outcome in result.outcomes:
            item = outcome.decision.item
            place = (item.pair.id, item.member) if isinstance(item, PairItem) else (item.scenario.id, "")
            id, member = place
            sheets.setdefault(id, {}).setdefault(member, []).append((result, outcome))
    if missing := [id for id in ids if id != ALL and id not in sheets]:
        raise InputError(f"--task {missing[0]}: no run or file here has such a pair or scenario")
    shown = sheets if ALL in ids else {id: sheets[id] for id in dict.fromkeys(ids)}
    return "\n".join("\n".join(_sheet(id, members)) + "\n" for id, members in shown.items())


def _sheet(id: str, members: Mapping[str, Sequence[tuple[Result, Outcome]]]) -> Iterator[str]:
    first = next(iter(members.values()))[0][1].decision.item
    yield f"== {id} ({first.pair.type if isinstance(first, PairItem) else first.type})"
    yield f"scene: {', '.join(first.about.objects)}"
    if isinstance(first, PairItem):
        if first.pair.shortlist:
            yield f"shortlist: {', '.join(first.pair.shortlist)}"
        if first.pair.intent is not None:
            yield f"intent: {' '.join(first.pair.intent.text.split())}"
        if first.pair.question:
            yield f"question: {first.pair.question}  answer: {first.pair.answer}"
    for member in (*MEMBERS, ""):
        if member in members:
            yield from _member(member, members[member])


def _member(member: str, rows: Sequence[tuple[Result, Outcome]]) -> Iterator[str]:
    item = rows[0][1].decision.item
    yield f"-- {member or 'task'}: {item.instruction}"
    if isinstance(item, PairItem):
        due = item.pair.step if item.step else None
        for place, step in enumerate(item.pair.plan(item.member)):
            yield f"   {place + 1}. {step}{'   <- here' if place == due else ''}"
    for result, outcome in rows:
        right = {True: ", right option in it", False: ", right option not in it", None: ""}[outcome.covered]
        asks = "asks" if outcome.help else "acts"
        yield f"   {result.label}: {asks}; {len(outcome.predicted)} in the set{right}"
        yield from (f"     - {text}" for text in outcome.predicted)
