"""People: their sets beside models' on the same tasks, and annotators' agreement (spec 11; our addition)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from simulator.ambik.annotation.agreement import agreement_table, pair_agreement
from simulator.ambik.measuring.people_sets import PeopleSets, compare_sets, people_sets_table
from simulator.ambik.records import PairForm
from simulator.ambik.reporting.groups import Result
from simulator.ambik.reporting.tables import SHORT
from simulator.figures import Cell, Column, Table
from simulator.reporting import Section

_OVERLAP: Final = {
    "jaccard": "Jaccard",
    "people_in_model": "theirs in model's",
    "model_in_people": "model's in theirs",
}
_SIZES: Final = {
    "people_size": "size, people",
    "model_size": "size, model",
    "several_as_asked": "several = asks",
}


def people_section(results: Sequence[Result]) -> Section | None:
    """What people hold for possible, beside prediction sets; None if no task was decided on by both."""
    people = [
        decision
        for result in results
        if result.group.method == "person"
        for decision in result.group.decisions
    ]
    models = [one for one in results if one.group.method != "person"]
    if not people or not models:
        return None
    found = compare_sets(people, [each for model in models for each in model.outcomes], models[0].settings)
    if not found.pairs:
        return None
    told = [
        f"{count} decisions of {who} on tasks that the other side has not decided on are left out"
        for who, count in (("people", found.people_alone), ("models", found.models_alone))
        if count
    ]
    return Section(
        name="people_sets",
        title="People's sets beside prediction sets",
        tables=[_table(found.rows, _OVERLAP, "overlap"), _table(found.rows, _SIZES, "sizes")],
        exact=[replace(people_sets_table(found), name="all")],
        remarks=(
            "Actions are the same if they name the same objects of the scene. several = asks: a person marks "
            "several actions where the model asks, and one where it does not.",
            *told,
        ),
        data={
            "rows": found.rows,
            "people_alone": found.people_alone,
            "models_alone": found.models_alone,
            "not_people": found.not_people,
        },
    )


def _table(rows: Sequence[PeopleSets], heads: dict[str, str], name: str) -> Table:
    made: list[list[Cell]] = [
        [
            row.run,
            SHORT.get(row.type, row.type),
            *(row.measures[name] for name in heads),
            row.decisions,
        ]
        for row in rows
    ]
    return Table(["run", "type", *heads.values(), Column("decisions", 0)], made, name=name)


def agreement_section(forms: Sequence[PairForm]) -> Section | None:
    """Return how far annotators agree; None if no draft has two of them."""
    if not forms:
        return None
    found = pair_agreement(forms)
    kappa = "Cohen's" if found.kappa == "cohen" else "Fleiss'"
    told = [
        f"{found.drafts} drafts, {found.annotators} annotators, {found.forms} forms; {found.single} drafts "
        "with one annotator alone are left out",
        f"kappa is {kappa}; shortlists' alpha is Krippendorff's, with MASI as distance",
        f"{found.deleted} drafts were deleted by all, {found.split} by some",
    ]
    if found.replaced:
        told.append(f"{found.replaced} earlier forms of the same person on the same draft do not count")
    return Section(
        name="agreement",
        title="Annotators' agreement",
        tables=[agreement_table(found, "")],
        remarks=tuple(told),
        data={"agreement": found},
    )
