"""The results of each kind of answers: people's votes, models' tests, claims (spec 3 to 10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from simulator.ambient.annotation.linguists import linguist_measures, single_annotations, worker_statistics
from simulator.ambient.claims import THRESHOLD, claim_measures, flagged
from simulator.ambient.claims import rescored as rescored_claims
from simulator.ambient.claims_command import table_6
from simulator.ambient.continuations import continuation_measures
from simulator.ambient.crowd import CrowdMeasures, crowd_measures, vote_table
from simulator.ambient.edit_f1 import item_edit_f1
from simulator.ambient.evaluation import EvaluationMeasures, evaluation_measures
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import CategoryRecord
from simulator.ambient.generation import (
    edit_f1_variants,
    generation_measures,
    gold_differences,
    item_scores,
    rescored,
)
from simulator.ambient.intervals import clustered_interval, mean_interval
from simulator.ambient.labels import LABELS, Category, letters
from simulator.ambient.records import (
    ClaimRecord,
    ContinuationRecord,
    CrowdRecord,
    GenerationRecord,
    LinguistRecord,
    TrueFalseRecord,
)
from simulator.ambient.reporting.measures import Count, Results, Value, half_up, worded
from simulator.ambient.reporting.paper import figures, is_published, paper
from simulator.ambient.reporting.settings import ReportSettings
from simulator.ambient.statistics import category_statistics
from simulator.ambient.true_false import TEMPLATES, inconsistent_pairs, true_false_measures
from simulator.figures import Cell, Column, Table
from simulator.stats import Interval

_NAMED: Final = 5
# Of flagged claims, so many are shown; files hold all.
_CLAIMS: Final = 20
_CROWD: Final = (
    *("kappa_original", "kappa_disambiguated", "kappa_with_distractor"),
    *("alpha_original", "alpha_disambiguated", "true_plausible"),
    *("distractor_plausible", "distractor_plausible_told_apart", "accepts_all", "agreement"),
)
_VOTES: Final = "crowdworker_annotations"
_NO_DATASET: Final = "no dataset to compare with (name one with --data)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The answers of a model, or of some people, in one file or run.

    Attributes:
        kind: of results.
        name: the model's, or the file's.
        rows: one record each.
        files: what they were read from: a file, or ``run NAME``.
        left_out: rows that could not be read.
        remarks: on what is not among them.
    """

    kind: str
    name: str
    rows: Sequence[Any]
    files: tuple[str, ...] = ()
    left_out: int = 0
    remarks: tuple[str, ...] = ()

    def results(self, values: Mapping[str, Value], **parts: Any) -> Results:
        """Return what they come to.

        Args:
            values: of the measures, by their keys.
            parts: of the `Results`; what else is given goes to `worded`.
        """
        own = {name: parts.pop(name) for name in ("tables", "exact", "data", "remarks") if name in parts}
        measures = parts.pop("measures", None) or worded(self.kind, values, **parts)
        return Results(
            kind=self.kind,
            name=self.name,
            measures=measures,
            files=self.files,
            rows=len(self.rows),
            left_out=self.left_out,
            **own | {"remarks": (*own.get("remarks", ()), *self.remarks)},
        )


@dataclass(frozen=True, kw_only=True)
class Context:
    """What answers are compared with.

    Attributes:
        settings: of the report.
        examples: the dataset; empty if there is none.
        categories: rows with kinds of ambiguity.
    """

    settings: ReportSettings = field(default_factory=ReportSettings)
    examples: tuple[Example, ...] = ()
    categories: Sequence[CategoryRecord] = ()

    @cached_property
    def by_id(self) -> Mapping[str, Example]:
        """The examples by id."""
        return {example.id: example for example in self.examples}

    @property
    def tested(self) -> tuple[Example, ...]:
        """The test split; all examples if they have no splits."""
        return tuple(example for example in self.examples if example.split == "test") or self.examples


# ---- people


def crowd_results(answers: Answers, context: Context) -> Results:
    """Return the results of crowdworkers' votes on the dataset's examples."""
    records: Sequence[CrowdRecord] = answers.rows
    tie = context.settings.tie
    votes = crowd_measures(records, tie)
    part = answers.name.startswith(_VOTES)
    whole = part and tie == "first" and is_published("crowd", len(records))
    printed = paper()["crowd"] if whole else {}
    held = {record.id for record in records}
    shown = [id for id in context.settings.votes if id == "all" or id in held]
    return answers.results(
        {key: getattr(votes, key) for key in _CROWD},
        paper=printed,
        notes={**printed.get("notes", {}), **votes.undefined},
        tie=tie,
        remarks=_crowd_remarks(votes, whole=whole or not part),
        tables={"table_1": table_1(records, shown, context)} if shown else {},
        data={
            "tie": votes.tie,
            "workers": _by_text(votes.workers),
            "readings": votes.readings,
            "three_readings": votes.three_readings,
            "repeated_distractors": votes.repeated_distractors,
            "ties": {"two": votes.two_way_ties, "three": votes.three_way_ties},
            "without_votes": votes.left_out,
            "raters": {"original": votes.raters_original, "disambiguated": votes.raters_disambiguated},
            "other_raters": {"original": votes.other_original, "disambiguated": votes.other_disambiguated},
        },
    )


def _crowd_remarks(votes: CrowdMeasures, *, whole: bool) -> list[str]:
    workers = ", ".join(f"{size} on {count} rows" for size, count in votes.workers.items())
    remarks = [
        f"votes are tied between two labels on {votes.two_way_ties} readings, between all three on "
        f"{votes.three_way_ties}",
        f"workers: {workers or 'none'}; {votes.three_readings} rows have three readings, no distractor",
    ]
    if votes.repeated_distractors:
        remarks.append(
            f"{votes.repeated_distractors} distractors are the ambiguous sentence itself or a reading "
            "that is shown: the share is told with them, as the paper does, and without"
        )
    if votes.left_out:
        remarks.append(f"{votes.left_out} rows have no votes or no reading and are counted nowhere")
    if votes.raters_original and (votes.other_original or votes.other_disambiguated):
        remarks.append(
            f"kappas are of rows with {votes.raters_original} votes, as most have; {votes.other_original} "
            f"rows and {votes.other_disambiguated} readings have another number (alpha counts them)"
        )
    return remarks if whole else [*remarks, "the paper's figures are of the whole file, so none stand here"]


def table_1(records: Sequence[CrowdRecord], ids: Sequence[str], context: Context) -> Table:
    """Return the votes on some examples: a row for the original pair, then one for each candidate.

    Args:
        records: rows of votes; an id may occur again, then all its rows are told.
        ids: of examples; ``all`` for every row.
        context: has label sets and kinds of ambiguity.
    """
    kinds = category_statistics(context.categories).shares if context.categories else {}
    chosen = (
        records if "all" in ids else [row for id in dict.fromkeys(ids) for row in records if row.id == id]
    )
    rows = [row for record in chosen for row in _vote_rows(record, context.by_id.get(record.id), kinds)]
    counts = [Column(label[0].upper(), 0) for label in LABELS]
    columns: list[Column | str] = ["id", "sentence", "gold", *counts, "possible", "kinds"]
    return Table(columns, rows, "Table 1: votes on the original pair, and on it with each candidate in place")


def _vote_rows(
    record: CrowdRecord, example: Example | None, kinds: Mapping[Category, Interval | None]
) -> list[list[Cell]]:
    votes = vote_table(record)
    if example and (example.premise, example.hypothesis) != (votes.premise, votes.hypothesis):
        example = None
    gold = letters(example.labels if example else [slot.label for slot in votes.readings if slot.label])
    # Nothing stands where nobody was asked.
    asked = any(votes.original.values())
    counts: list[Cell] = [votes.original[label] if asked else None for label in LABELS]
    names = ((kind, kinds.get(kind)) for kind in (example.categories if example else ()))
    told = [kind if share is None else f"{kind} ({100 * share.value:.1f} %)" for kind, share in names]
    text = f"P: {votes.premise}\nH: {votes.hypothesis}"
    rows: list[list[Cell]] = [[record.id, text, gold, *counts, None, ", ".join(told) or None]]
    for slot in votes.slots:
        sentence = f"{record.side[0].upper()}: {slot.sentence}"
        label = letters([slot.label]) if slot.label else "distractor"
        counts = [slot.votes[label] if any(slot.votes.values()) else None for label in LABELS]
        rows.append([record.id, sentence, label, *counts, f"{slot.plausible}/{slot.workers}", None])
    return rows


def evaluation_results(answers: Answers, context: Context) -> Results:
    """Return the results of people's votes on models' rewrites; `CrowdRecord.origin` names the model."""
    tie = context.settings.tie
    models = evaluation_measures(answers.rows, tie)
    printed = {row["file"]: row.get("correct") for row in paper()["models"]}
    measures = [
        worded(
            "evaluation",
            {"correct": votes.correct},
            paper={"correct": printed.get(model) if is_published("evaluation", votes.rows) else None},
            notes={"correct": _few(votes)},
            key=f"correct.{model}",
            model=model or "no model named",
            tie=tie,
        )
        for model, votes in models.items()
    ]
    return answers.results(
        {},
        measures=tuple(measure for of_model in measures for measure in of_model),
        remarks=["the votes behind the paper's figures are not published, so they cannot be had again"],
        data={
            "tie": tie,
            "models": {
                model: {
                    "rows": votes.rows,
                    "few_rewrites": votes.few,
                    "without_votes": votes.without_votes,
                    "workers": _by_text(votes.workers),
                }
                for model, votes in models.items()
            },
        },
    )


def _few(votes: EvaluationMeasures) -> str:
    notes = [f"{votes.few} rows have too few rewrites, so are wrong"] if votes.few else []
    notes += [f"{votes.without_votes} rows have no votes yet"] if votes.without_votes else []
    return "; ".join(notes)


def linguists_results(answers: Answers, context: Context) -> Results:
    """Return the results of linguists' annotations, against each other and the dataset."""
    records: Sequence[LinguistRecord] = answers.rows
    known = {example.id: example.labels for example in context.examples if example.labels}
    found = linguist_measures(records, known)
    two, final = found.two, found.final
    against = {
        **{f"final_{key}": getattr(final, key, None) for key in ("union", "either", "contained", "exact")},
        "final_rewrites": kept_rewrites(records, context.by_id),
    }
    sizes = ", ".join(f"{size}: {count}" for size, count in found.annotations.items())
    twice = f"{len(found.twice)} rows name one annotator twice: {', '.join(found.twice)}"
    return answers.results(
        {
            **{f"kappa_{label}": two.label[label] for label in LABELS},
            "kappa_sets": two.whole,
            "kappa_several": two.several,
            "alpha": found.alpha,
            "identical": two.identical,
            "several": found.ambiguous,
            **against,
            "workers": Count(found.workers),
            "discarded": Count(found.discarded, found.rows),
        },
        notes=dict.fromkeys(against, _NO_DATASET) if final is None else {},
        remarks=[f"annotations per row: {sizes}", *([twice] if found.twice else [])],
        tables={"annotators": annotators_table(records)},
        data={
            "annotations": _by_text(found.annotations),
            "twice": list(found.twice),
            "rows_with_final": 0 if final is None else final.rows,
        },
    )


def kept_rewrites(records: Iterable[LinguistRecord], examples: Mapping[str, Example]) -> Interval | None:
    """Return how much of the gold is made of what linguists wrote, word for word; rows are resampled."""
    pairs = [
        (record.id, disambiguation in record.rewrites)
        for record in records
        if (example := examples.get(record.id)) is not None
        for disambiguation in example.disambiguations
    ]
    return clustered_interval([kept for _, kept in pairs], [id for id, _ in pairs])


def annotators_table(records: Sequence[LinguistRecord]) -> Table:
    """Return what an organiser is told of each annotator; files do not tell how long anybody took."""
    rows: list[list[Cell]] = [
        [worker.worker, worker.examples, 100 * worker.ambiguous, 100 * worker.discarded]
        for worker in worker_statistics(single_annotations(records))
    ]
    shares = (Column("several labels, %", 1), Column("discarded, %", 1))
    return Table(["annotator", Column("examples", 0), *shares], rows, "Annotators")


# ---- models


def generation_results(answers: Answers, context: Context) -> Results:
    """Return the results of one model's disambiguations."""
    records: Sequence[GenerationRecord] = answers.rows
    parser = context.settings.parser
    found = generation_measures(records, parser)
    rows, pairs, differences = found.items, found.patterns, rescored(records)
    copied = [
        item_edit_f1(record.original, record.gold, dict.fromkeys(record.gold, record.original))
        for record in records
    ]
    same = dict.fromkeys(record.id for record, score in zip(records, copied, strict=True) if score)
    values: dict[str, Value] = {"edit_f1": found.edit_f1, "edit_f1_robust": found.robust}
    values |= _stored(records, len(differences), found.null)
    values |= {
        "copy": mean_interval(copied, [(record.id, record.side) for record in records]),
        "pattern_empty": pairs.empty,
        "pattern_copied": pairs.copied,
        "pattern_restated": pairs.restated,
        "pattern_restated_found": pairs.restated_found,
        "empty": Count(found.empty, rows),
        "unparsable": Count(found.unparsable, rows),
    }
    if context.examples:
        other = {record.id for record in gold_differences(records, context.examples)}
        values["gold_differences"] = Count(len(other), rows)
    variants = {rule: 100 * value for rule, value in edit_f1_variants(records).items()}
    warned = ", ".join(f"{code} {count}" for code, count in found.warnings.items())
    named = ", ".join(f"{one.id} ({one.field})" for one in differences[:_NAMED])
    more = f" and {len(differences) - _NAMED} more" if len(differences) > _NAMED else ""
    return answers.results(
        values,
        # The paper's rule is the reference's.
        paper=figures("generation", answers.name, len(records)) if parser == "reference" else {},
        notes={
            "copy": f"above 0 for a rewrite with the same words in another order: {', '.join(same)}"
            if same
            else ""
        },
        parser=parser,
        remarks=[
            f"labelled rewrites per row: {', '.join(f'{n}: {count}' for n, count in found.rewrites.items())}",
            *([f"warnings of the {parser} parser: {warned}"] if warned else []),
            *([f"stored values that are not those recomputed: {named}{more}"] if differences else []),
        ],
        tables={"variants": _variants_table(variants)} if context.settings.variants else {},
        data={
            "n_pred": _by_text(found.rewrites),
            "warnings": dict(found.warnings),
            "differences": [difference._asdict() for difference in differences],
            "max_difference": _max_difference(records),
            "variants": variants,
        },
    )


def _stored(records: Sequence[GenerationRecord], differences: int, null: int) -> dict[str, Value]:
    """Return what a file says beside what was generated; nothing if it does not."""
    scores = [record.stored_edit_f1 for record in records if record.stored_edit_f1 is not None]
    rewrites = [record for record in records if record.stored_rewrites is not None]
    stored = [record.stored_edit_f1 is not None or record.stored_rewrites is not None for record in records]
    if not any(stored):
        return {}
    return {
        "edit_f1_stored": mean_interval(scores),
        "edit_f1_recomputed": mean_interval(item_scores(rewrites, "stored")),
        "differences": Count(differences, sum(stored)),
        "null": Count(null),
    }


def _max_difference(records: Sequence[GenerationRecord]) -> float | None:
    scores = zip((record.stored_edit_f1 for record in records), item_scores(records), strict=True)
    return max((abs(stored - score) for stored, score in scores if stored is not None), default=None)


def _variants_table(variants: Mapping[str, float]) -> Table:
    rows = [[rule, half_up(value, 2)] for rule, value in variants.items()]
    return Table(["rule", "EDIT-F1, %"], rows, "EDIT-F1 by other rules (not the paper's)")


def true_false_results(answers: Answers, context: Context) -> Results:
    """Return the results of one model's, or some people's, judgments of statements."""
    records: Sequence[TrueFalseRecord] = answers.rows
    found = true_false_measures(records)
    printed = figures("true_false", answers.name, len(records))
    may, only = found.self_contradictions
    rewrites = found.all_four.n if found.all_four else 0
    inconsistent, pairs = inconsistent_pairs(records, "paper")
    by_notebook, _ = inconsistent_pairs(records, "reference")
    templates = {f"template_{place}": value for place, value in enumerate(found.by_template, start=1)}
    known = {place: value.value for place, value in enumerate(found.by_template, start=1) if value}
    best = [place for place, value in known.items() if value == max(known.values())]
    return answers.results(
        {
            **templates,
            "accuracy": found.accuracy,
            "answered_accuracy": found.answered_accuracy,
            "null": Count(found.null, found.statements),
            "all_four": found.all_four,
            "inconsistent": found.inconsistent,
            "inconsistent_reference": true_false_measures(records, pairs="reference").inconsistent,
            "may_and_cannot": Count(may, rewrites),
            "not_necessarily_and_only": Count(only, rewrites),
            **({} if found.mass is None else {"mass": found.mass}),
            "answered": found.answered,
            "incomplete": Count(found.incomplete, rewrites),
            "doubled": Count(found.doubled, found.statements),
        },
        paper={
            **dict(zip(templates, printed.get("templates", ()), strict=False)),
            "accuracy": printed.get("true_false"),
            "answered": printed.get("answered"),
        },
        notes=printed.get("notes"),
        **{f"phrase_{place}": phrase for place, phrase in enumerate(template_phrases(), start=1)},
        remarks=[
            f"inconsistent pairs: {inconsistent} of {pairs}; by the notebook's rule {by_notebook}",
            f"best template: {', '.join(map(str, best)) or 'none'}",
            *(["the file has no probability mass: a chat model, or people"] if found.mass is None else []),
        ],
        data={
            "inconsistent_pairs": {"paper": inconsistent, "reference": by_notebook, "of": pairs},
            "self_contradictions": [may, only],
            "best_template": best,
        },
    )


def template_phrases() -> list[str]:
    """Return the templates of statements without sentence and rewrite."""
    return [template.format(a="", d="").strip().rstrip(":") for template in TEMPLATES]


def continuation_results(answers: Answers, context: Context) -> Results:
    """Return the results of one model's estimates."""
    records: Sequence[ContinuationRecord] = answers.rows
    found = continuation_measures(records, context.tested)
    printed = figures("continuation", answers.name, len(records))
    least, mean = found.num_conts or (None, None)
    sizes = ", ".join(f"{size}: {count}" for size, count in found.options.items())
    examples = len({record.id for record in records})
    by_example = ("random_examples", "random_all")
    missing = "" if context.examples else "no dataset to count examples in (name one with --data)"
    return answers.results(
        {
            "accuracy": found.accuracy,
            "right": Count(found.right, found.instances),
            "random_examples": found.random_examples,
            "random_all": continuation_measures((), context.examples).random_examples,
            "random": found.random,
            "missing": Count(len(found.missing), found.instances),
            "tied": Count(len(found.tied), found.instances),
            "num_conts_min": Count(least),
            "num_conts_mean": Count(mean),
        },
        paper={
            "accuracy": printed.get("ranking"),
            "random_examples": paper()["chance"]["ranking"] if printed else None,
        },
        notes=dict.fromkeys(by_example, missing),
        remarks=[
            f"rewrites per instance: {sizes}; {examples} examples",
            "style and length of rewrites confound the likelihoods; a far-off distractor makes this easy",
        ],
        data={
            "options": _by_text(found.options),
            "missing": list(found.missing),
            "tied": list(found.tied),
            "examples": examples,
        },
    )


def claims_results(answers: Answers, context: Context) -> Results:
    """Return the results of claims that have been paraphrased and scored, and of their marks."""
    records: Sequence[ClaimRecord] = answers.rows
    found = claim_measures(records)
    differences = rescored_claims(records)
    published = any(Path(file).name == "results.jsonl" for file in answers.files)
    printed = paper()["claims"] if published and is_published("claims", len(records)) else {}
    unmarked = "" if found.n else "nobody has marked a claim, so nothing can be right or wrong"
    return answers.results(
        {
            "precision": found.precision,
            "recall": found.recall,
            "flagged_of_all": Count(found.flagged_of_all, len(records)),
            "flagged": Count(found.flagged if found.n else None, found.n),
            "ambiguous": Count(found.ambiguous, found.n),
            "unmarked": Count(found.unmarked, len(records)),
            "unscored": Count(found.unscored, found.n),
            "differences": Count(len(differences), len(records)),
        },
        paper=printed,
        notes={**printed.get("notes", {}), "flagged": unmarked},
        remarks=[f"a claim is flagged above {THRESHOLD:.4f} = sigmoid(-1.97)"],
        tables={"table_6": table_6(records, THRESHOLD, most=_CLAIMS)} if any(map(flagged, records)) else {},
        exact={"table_6": table_6(records, THRESHOLD)},
        data={
            "threshold": found.threshold,
            "differences": [
                {"id": record.id, "stored": record.stored_score, "computed": now}
                for record, now in differences
            ],
        },
    )


def _by_text(counts: Mapping[int, int]) -> dict[str, int]:
    return {str(size): count for size, count in counts.items()}


RESULTS: Final[Mapping[str, Callable[[Answers, Context], Results]]] = {
    "linguists": linguists_results,
    "crowd": crowd_results,
    "evaluation": evaluation_results,
    "generation": generation_results,
    "true_false": true_false_results,
    "continuation": continuation_results,
    "claims": claims_results,
}
"""In the order of the paper; label sets are told in tables of all models (`nli_results`)."""
