"""The desk where validators consolidate linguists' annotations, and the resulting dataset (spec 4).

An example is ready once two linguists have annotated it, and dropped if either discarded it. One validator
sees both annotations and submits one form. To measure agreement, several validators may see the same
examples, blind to each other; where their outcomes differ (discard, labels, ambiguous sides), the example is
discussed, and a further form decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from logs import LogReader
from simulator.ambient.annotation.linguists import (
    AnnotatedExample,
    annotated_examples,
    linguist_measures,
    validator_measures,
)
from simulator.ambient.annotation.rules import (
    Annotation,
    check_annotation,
    consolidated_example,
    read_annotation,
)
from simulator.ambient.data import load_guidelines
from simulator.ambient.examples import Example, squeeze
from simulator.ambient.files.dataset import DATASET
from simulator.ambient.intervals import Values as Measures
from simulator.ambient.labels import LABELS, SHOWN, SIDES
from simulator.ambient.reporting.figures import FlowDiagram
from simulator.ambient.reporting.measures import paper
from simulator.ambient.show import field_problem, label_choices, reasons, rewrites
from simulator.ambient.trial_log import linguist_records, runs_with
from simulator.blocks import Block, Heading, Text, Translated, message
from simulator.desk_work import measures_section
from simulator.desks import Case, Desk, Offer, Values
from simulator.errors import InputError
from simulator.figures import Column, Table
from simulator.form_blocks import Choice, Field, When
from simulator.judging import DecidingForm, DeskFormError, JudgingForm, Opinions
from simulator.reporting import Section

State = Literal["open", "dropped", "due", "discuss", "discarded", "validated"]
"""Too few annotations; discarded by a linguist; waiting for a validator; validators differ and no decision
yet; discarded by validators; a row of the dataset."""
_KEEP: Final = "keep"


class Consolidated(Annotation, DecidingForm):
    """A validator's form: an annotation and the points of the guidelines' ``checklist`` that were ticked."""

    checklist: tuple[str, ...] = ()


CONSOLIDATION: Final = JudgingForm(kind="ambient.consolidation", model=Consolidated, verb="consolidates")


class Result(NamedTuple):
    """The progress of an example."""

    annotated: AnnotatedExample
    opinions: Opinions[Consolidated]

    @property
    def state(self) -> State:
        """The state of the example."""
        if self.annotated.dropped:
            return "dropped"
        if (settled := self.opinions.settled(outcome)) is not None:
            return "discarded" if settled.discard else "validated"
        if self.opinions.blind:
            return "discuss"
        return "due" if self.annotated.complete else "open"


def results(reader: LogReader, run_id: str) -> tuple[Result, ...]:
    """Return the progress of every example of a run, in the run's order.

    Raises:
        InputError: if the run has no linguists' annotations; so do all functions here that read a run.
    """
    opinions = CONSOLIDATION.read(reader, run_id)
    examples = annotated_examples(reader, run_id).values()
    return tuple(Result(example, opinions.get(example.key, Opinions())) for example in examples)


def flow(reader: LogReader, run_id: str) -> dict[str, int]:
    """Return the number of examples of a run at each stage of the paper's Fig. 2.

    ``annotated`` examples have enough annotations; ``dropped`` and the later `State`s are subsets of them.
    """
    states = Counter(result.state for result in results(reader, run_id))
    parts: tuple[State, ...] = ("dropped", "due", "discuss", "discarded", "validated")
    return {
        "generated": states.total(),
        "annotated": states.total() - states["open"],
        **{state: states[state] for state in parts},
    }


def agreement(reader: LogReader, run_id: str) -> Measures:
    """Return the agreement of validators on the examples seen by several of them (spec 4)."""
    forms = {result.annotated.key: result.opinions.blind for result in results(reader, run_id)}
    return validator_measures(
        {
            key: [None if form.discard else form.labels for form in by_validator.values()]
            for key, by_validator in forms.items()
            if len(by_validator) > 1
        }
    )


def consolidated_examples(reader: LogReader, run_id: str) -> tuple[Example, ...]:
    """Return the rows of the dataset consolidated from a run so far, in the run's order."""
    return tuple(
        consolidated_example(result.annotated.example, form)
        for result in results(reader, run_id)
        if result.state == "validated" and (form := result.opinions.settled(outcome))
    )


def export_dataset(reader: LogReader, run_id: str, path: str | Path) -> int:
    """Write the consolidated rows in the published format (spec 1.1) and return their number.

    Raises:
        InputError: if there are no rows or the file cannot be written.
    """
    examples = consolidated_examples(reader, run_id)
    if not examples:
        raise InputError(f"{run_id}: no example has been consolidated yet, so there is nothing to write.")
    DATASET.write(path, examples)
    return len(examples)


def outcome(annotation: Annotation) -> Hashable:
    """Return the part of a form that validators have to agree on.

    Wording of rewrites and reasons for discarding may differ. In a valid form the rewrites either all keep
    a side or contain at least two distinct readings of it.
    """
    ambiguous = tuple(
        len({squeeze(rewrite.sentence(side)) for rewrite in annotation.rewrites}) > 1 for side in SIDES
    )
    return annotation.discard is None, annotation.labels, ambiguous


# ---- the desk


def _form_values(form: Consolidated) -> dict[str, Any]:
    """Return a validator's form as field values of the desk, labels in display order."""
    values = form.model_dump(mode="json", exclude={"decides"})
    labels = [label for label in SHOWN if label in form.labels]
    return {**values, "labels": labels, "discard": form.discard or _KEEP}


def _case(result: Result) -> Case[Consolidated]:
    example, key = result.annotated.example, result.annotated.key
    return Case(
        key=key,
        name=key,
        title=f"{example.premise} / {example.hypothesis}",
        show=partial(show_pair, example),
        opinions=result.opinions,
        ready=result.state not in ("open", "dropped"),
        thing=example,
        proposed={"discard": _KEEP},
        offers=tuple(_offers(result.annotated)),
        entries=lambda: {
            "rewrites": rewrites(example.premise, example.hypothesis, Translated("Changes:", "改动："))
        },
    )


def _offers(example: AnnotatedExample) -> Iterator[Offer]:
    """Yield each linguist's form anonymously, the oldest first, then any unattributed rewrites.

    Published rows do not attribute rewrites to linguists.
    """
    shared = [form for form in example.forms if form.merged and len(example.forms) > 1]
    for number, form in enumerate(example.forms, 1):
        payload = form.annotation.payload() | ({"rewrites": ()} if form in shared else {})
        values = _form_values(Consolidated(**payload))
        fields = {name: values[name] for name in ("labels", "rewrites", "discard")}
        yield Offer(fields, message("desks.consolidation.linguist", k=number), form.annotation.comment)
    if rewrites := [asdict(rewrite) for form in shared for rewrite in form.annotation.rewrites]:
        labels = [label for label in SHOWN if label in {rewrite["label"] for rewrite in rewrites}]
        fields = {"labels": labels, "rewrites": rewrites, "discard": _KEEP}
        yield Offer(fields, message("desks.consolidation.merged"))


def show_pair(example: Example) -> Iterator[Block]:
    """Yield the two sentences of an example."""
    for side in SIDES:
        yield Heading(message(f"desks.side.{side}"))
        yield Text(example.sentence(side))


def read_consolidation(case: Case[Consolidated], values: Values, deciding: bool) -> Consolidated:
    """Return a validator's form; labels and rewrites are dropped if it discards the example.

    Raises:
        DeskFormError: if it breaks rules.
        InputError: if a field has the wrong type or value.
    """
    discard = None if values.get("discard") == _KEEP else values.get("discard")
    empty = {"labels": (), "rewrites": ()} if discard else {}
    annotation = read_annotation({**values, "discard": discard, **empty})
    example: Example = case.thing
    problems = check_annotation(example.premise, example.hypothesis, annotation, consolidated=True)
    if problems:
        raise DeskFormError([field_problem(problem) for problem in problems])
    ticked = values.get("checklist") or ()
    points = tuple(point.value for point in _CHECKLIST if point.value in ticked)
    return Consolidated(**annotation.payload(), checklist=points, decides=deciding)


def _sections(reader: LogReader, run: str, rater: str) -> Iterator[Section]:
    """Yield the progress of the examples, and the agreement of validators and of linguists."""
    counts = flow(reader, run)
    titles = {
        "generated": "Given to linguists",
        "annotated": "Annotated by two",
        "dropped": "Discarded by a linguist",
        "due": "Waiting for a validator",
        "discuss": "In discussion",
        "discarded": "Discarded by validators",
        "validated": "In the dataset",
    }
    rows = [(title, counts[name]) for name, title in titles.items()]
    progress = Table(("Stage", Column("Examples", 0)), rows)
    diagram = FlowDiagram(counts, run, "flow")
    yield Section(name="progress", title="Progress", tables=(progress,), figures=(diagram,))
    agreed, published = agreement(reader, run), paper()["validators"]
    whole = "Fleiss’ κ, whole sets"
    kappas: dict[str, str] = {label: f"Fleiss’ κ, {label}" for label in LABELS}
    if agreed["raters"] is not None:
        names: Mapping[str, str] = {
            **kappas,
            "whole": whole,
            "identical": "Identical sets",
            "contains_all": "One set contains all others",
            "alpha": "Krippendorff’s α, MASI distance",
        }
        printed = ", ".join(f"{label} {published[label]:.2f}" for label in LABELS)
        remark = (
            "{rows} examples seen by {raters} validators and discarded by none; left out: {discarded} "
            "discarded, {other} seen by another number of validators. In the paper, κ of 50 examples and "
            "four validators: {printed}."
        ).format(**agreed, printed=printed)
        measures = [(title, agreed[name]) for name, title in names.items()]
        for section in measures_section("Between validators", measures):
            yield replace(section, remarks=(*section.remarks, remark))
    linguists = linguist_measures(linguist_records(reader, [run]))
    names = {
        **{f"kappa_{label}": title for label, title in kappas.items()},
        "kappa_sets": whole,
        "kappa_several": "Fleiss’ κ, several labels or one",
        "identical": "Identical sets",
        "several": "Annotations with several labels",
    }
    yield from measures_section(
        "Between linguists", [(title, linguists[name]) for name, title in names.items()]
    )


_CHECKLIST: Final = [
    Choice(name, Translated(en, zh))
    for (name, en), (_, zh) in zip(*(load_guidelines(each).checklist for each in ("en", "zh")), strict=True)
]
ANNOTATIONS: Final = Desk(
    name="consolidation",
    form=CONSOLIDATION,
    fields=(
        Field("labels", "choices", choices=label_choices()),
        Field("rewrites", "entries", when=When("labels", least=2)),
        Field("checklist", "choices", choices=_CHECKLIST),
        Field("comment"),
        Field("discard", "choice", choices=(Choice(_KEEP, message("desks.discard.keep")), *reasons())),
    ),
    sets=lambda reader: runs_with(reader, "annotate"),
    cases=lambda reader, run: [_case(result) for result in results(reader, run)],
    outcome=outcome,
    read=read_consolidation,
    values=_form_values,
    raters=1,
    most_raters=5,
    decides="discussion",
    describe_problem=lambda problem, language: problem.text,
    agreement=_sections,
    files={"consolidated.jsonl": export_dataset},
    command="askback run ambient --task annotate --model offline/gold",
)
