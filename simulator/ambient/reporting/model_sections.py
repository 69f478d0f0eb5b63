"""Sections on the three tests of language models, and on claims (spec 6.4, 7, 8, 10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from simulator.ambient.claims import THRESHOLD, claim_measures, flagged
from simulator.ambient.claims import rescored as rescored_claims
from simulator.ambient.claims_command import table_6
from simulator.ambient.continuations import continuation_measures
from simulator.ambient.edit_f1 import item_edit_f1
from simulator.ambient.examples import Example
from simulator.ambient.generation import (
    Difference,
    edit_f1_variants,
    generation_measures,
    gold_differences,
    item_scores,
    rescored,
)
from simulator.ambient.intervals import mean_interval
from simulator.ambient.parsing import Parser
from simulator.ambient.records import ClaimRecord, ContinuationRecord, GenerationRecord, TrueFalseRecord
from simulator.ambient.reporting.measures import Measure, Section, half_up
from simulator.ambient.reporting.paper import figures, is_published, note, paper
from simulator.ambient.true_false import TEMPLATES, inconsistent_pairs, true_false_measures
from simulator.figures import Column, Table

_NAMED: Final = 5
# Of flagged claims, so many are shown; files hold all.
_CLAIMS: Final = 20
CHANCE: Final[Mapping[str, float]] = {"true_false": 0.5, "all_four": 1 / 16}


def generation_section(
    records: Sequence[GenerationRecord],
    *,
    name: str,
    file: str = "",
    left_out: int = 0,
    parser: Parser = "reference",
    examples: Sequence[Example] = (),
    variants: bool = False,
) -> Section:
    """Return what is told of one model's disambiguations.

    Args:
        records: of one model.
        name: the model's.
        file: where they are from; empty for a run.
        left_out: rows that could not be read.
        parser: of the headline.
        examples: the dataset, to compare gold rewrites with.
        variants: whether people are told EDIT-F1 by other rules, too.
    """
    found = generation_measures(records, parser)
    printed = figures("generation", name, len(records))
    pairs = found.patterns
    kept = [
        record
        for record in records
        if record.stored_edit_f1 is not None or record.stored_rewrites is not None
    ]
    differences = rescored(records)
    copied = [
        item_edit_f1(record.original, record.gold, dict.fromkeys(record.gold, record.original))
        for record in records
    ]
    baseline = mean_interval(copied, [(record.id, record.side) for record in records])
    same = dict.fromkeys(one.id for one, score in zip(records, copied, strict=True) if score)
    reordered = (
        f"above 0 for a rewrite with the same words in another order: {', '.join(same)}" if same else ""
    )
    # The paper's rule is the reference's.
    headline = printed.get("edit_f1") if parser == "reference" else None
    stored = _stored(kept, len(differences), found.null)
    measures = [
        Measure("edit_f1", f"EDIT-F1, {parser} parser", found.edit_f1, of="items", paper=headline),
        Measure("edit_f1_robust", "EDIT-F1, robust parser", found.robust, of="items"),
        *(stored if kept else ()),
        Measure("copy", "baseline: repeats the sentence", baseline, of="items", note=reordered),
        Measure("pattern_empty", "rows without a labelled rewrite", pairs.empty, of="items"),
        Measure("pattern_copied", "rewrites that copy the original", pairs.copied, of="rewrites"),
        Measure("pattern_restated", "all rewrites restate, none counts", pairs.restated, of="items"),
        Measure("pattern_restated_found", "all restate, there is one", pairs.restated_found, of="items"),
        Measure("empty", "nothing written", found.empty, "count", "items", found.items),
        Measure("unparsable", "written, but nothing read", found.unparsable, "count", "items", found.items),
    ]
    gold = gold_differences(records, examples) if examples else None
    if gold is not None:
        title = "rows with other gold or sentences"
        measures.append(
            Measure("gold_differences", title, len({one.id for one in gold}), "count", "items", found.items)
        )
    counts = ", ".join(f"{size}: {rows}" for size, rows in found.rewrites.items())
    warned = ", ".join(f"{code} {rows}" for code, rows in found.warnings.items())
    return Section(
        kind="generation",
        name=name,
        title=f"Generated disambiguations: {name}",
        files=(file,) if file else (),
        rows=len(records),
        left_out=left_out,
        measures=tuple(measures),
        remarks=(
            f"labelled rewrites per row: {counts}",
            *([f"warnings of the {parser} parser: {warned}"] if warned else []),
            *_differences(differences),
        ),
        tables={"variants": _variants(records)} if variants else {},
        data={
            "n_pred": {str(size): rows for size, rows in found.rewrites.items()},
            "warnings": dict(found.warnings),
            "differences": [_plain(difference) for difference in differences],
            "max_difference": _max_difference(records),
            "variants": _variant_values(records),
        },
    )


def true_false_section(
    records: Sequence[TrueFalseRecord], *, name: str, file: str = "", left_out: int = 0
) -> Section:
    """Return what is told of one model's, or some people's, judgments of statements."""
    found = true_false_measures(records)
    reference = true_false_measures(records, pairs="reference")
    printed = figures("true_false", name, len(records))
    templates = printed.get("templates", [None] * len(TEMPLATES))
    has_mass = found.mass is not None
    (paper_pairs, pairs), (reference_pairs, _) = (
        inconsistent_pairs(records, "paper"),
        inconsistent_pairs(records, "reference"),
    )
    may, only = found.self_contradictions
    rewrites = found.all_four.n if found.all_four else 0
    average = printed.get("true_false")
    measures = [
        *(
            Measure(
                f"template_{place + 1}",
                f"{place + 1}: {said}",
                value,
                of="statements",
                paper=templates[place],
            )
            for place, (said, value) in enumerate(zip(_phrases(), found.by_template, strict=True))
        ),
        Measure(
            "accuracy",
            "average",
            found.accuracy,
            of="statements",
            paper=average,
            note=note(printed, "accuracy"),
        ),
        Measure("answered_accuracy", "likewise, without nulls", found.answered_accuracy, of="answered"),
        Measure("null", "no answer (counts as wrong)", found.null, "count", "statements", found.statements),
        Measure("all_four", "all four right (chance 6.25)", found.all_four, of="rewrites"),
        Measure("inconsistent", "inconsistent pairs", found.inconsistent, of="pairs"),
        Measure("inconsistent_reference", "likewise, notebook's rule", reference.inconsistent, of="pairs"),
        Measure("may_and_cannot", "1 and 3 both true", may, "count", "rewrites", rewrites),
        Measure("not_necessarily_and_only", "2 and 4 both true", only, "count", "rewrites", rewrites),
        Measure("mass", "mass of the two words", found.mass, of="statements"),
        Measure(
            "answered",
            "answered True or False",
            found.answered,
            of="statements",
            paper=printed.get("answered"),
            note=note(printed, "answered"),
        ),
        Measure("incomplete", "rewrites without all four", found.incomplete, "count", "rewrites", rewrites),
        Measure("doubled", "statements told again", found.doubled, "count", "statements", found.statements),
    ]
    known = {place: value.value for place, value in enumerate(found.by_template, start=1) if value}
    best = [place for place, value in known.items() if value == max(known.values())]
    return Section(
        kind="true_false",
        name=name,
        title=f"Statements judged true or false: {name}",
        files=(file,) if file else (),
        rows=len(records),
        left_out=left_out,
        measures=tuple(measure for measure in measures if measure.key != "mass" or has_mass),
        remarks=(
            f"inconsistent pairs: {paper_pairs} of {pairs}; by the notebook's rule {reference_pairs}",
            f"best template: {', '.join(map(str, best)) or 'none'}",
            *([] if has_mass else ["the file has no probability mass: a chat model, or people"]),
        ),
        data={
            "inconsistent_pairs": {"paper": paper_pairs, "reference": reference_pairs, "of": pairs},
            "self_contradictions": [may, only],
            "best_template": best,
        },
    )


def continuation_section(
    records: Sequence[ContinuationRecord],
    *,
    name: str,
    file: str = "",
    left_out: int = 0,
    examples: Sequence[Example] = (),
    every: Sequence[Example] = (),
) -> Section:
    """Return what is told of one model's estimates.

    Args:
        records: of one model.
        name: the model's.
        file: where they are from; empty for a run.
        left_out: rows that could not be read.
        examples: those of the paper's baseline, the test split.
        every: the whole dataset.
    """
    found = continuation_measures(records, examples)
    printed = figures("continuation", name, len(records))
    chance = paper()["chance"]["ranking"] if printed else None
    missing = "" if examples else "no dataset to count examples in (name one with --data)"
    least, mean = found.num_conts or (None, None)
    measures = [
        Measure(
            "accuracy",
            "the distractor ranks first",
            found.accuracy,
            of="instances",
            paper=printed.get("ranking"),
        ),
        Measure("right", "likewise, as a count", found.right, "count", "instances", found.instances),
        Measure(
            "random_examples",
            "chance by example, as in the paper",
            found.random_examples,
            of="ambiguous examples",
            paper=chance,
            note=missing,
        ),
        Measure(
            "random_all",
            "chance by example, over all splits",
            continuation_measures((), every).random_examples,
            of="ambiguous examples",
            note="" if every else missing,
        ),
        Measure("random", "chance by instance", found.random, of="instances"),
        Measure(
            "missing",
            "an estimate is missing (wrong)",
            len(found.missing),
            "count",
            "instances",
            found.instances,
        ),
        Measure(
            "tied", "ties with a rewrite (wrong)", len(found.tied), "count", "instances", found.instances
        ),
        Measure("num_conts_min", "continuations per option, least", least, "count"),
        Measure("num_conts_mean", "continuations per option, mean", mean, ""),
    ]
    sizes = ", ".join(f"{size}: {count}" for size, count in found.options.items())
    return Section(
        kind="continuation",
        name=name,
        title=f"Continuations: {name}",
        files=(file,) if file else (),
        rows=len(records),
        left_out=left_out,
        measures=tuple(measures),
        remarks=(
            f"rewrites per instance: {sizes}; {len({record.id for record in records})} examples",
            "style and length of rewrites confound the likelihoods; a far-off distractor makes this easy",
        ),
        data={
            "options": {str(size): count for size, count in found.options.items()},
            "missing": list(found.missing),
            "tied": list(found.tied),
            "examples": len({record.id for record in records}),
        },
    )


def claims_section(
    records: Sequence[ClaimRecord],
    *,
    name: str,
    files: Sequence[str] = (),
    left_out: int = 0,
    remarks: Sequence[str] = (),
) -> Section:
    """Return what is told of claims that have been paraphrased and scored, and of their marks."""
    found = claim_measures(records)
    printed: Mapping[str, Any] = {}
    if is_published("claims", len(records)) and any(Path(file).name == "results.jsonl" for file in files):
        printed = paper()["claims"]
    differences = rescored_claims(records)
    measures = [
        Measure(
            "precision",
            "precision for ambiguity",
            found.precision,
            of="flagged claims",
            paper=printed.get("precision"),
        ),
        Measure(
            "recall",
            "recall of ambiguity",
            found.recall,
            of="ambiguous claims",
            paper=printed.get("recall"),
            note=note(printed, "recall"),
        ),
        Measure("flagged_of_all", "claims flagged", found.flagged_of_all, "count", "claims", len(records)),
        Measure(
            "flagged",
            "likewise, of those that are marked",
            found.flagged if found.n else None,
            "count",
            "marked claims",
            found.n,
            note="" if found.n else "nobody has marked a claim, so nothing can be right or wrong",
        ),
        Measure(
            "ambiguous", "claims marked as ambiguous", found.ambiguous, "count", "marked claims", found.n
        ),
        Measure("unmarked", "claims nobody has marked", found.unmarked, "count", "claims", len(records)),
        Measure("unscored", "claims without paraphrases", found.unscored, "count", "marked claims", found.n),
        Measure(
            "differences",
            "stored scores not as recomputed",
            len(differences),
            "count",
            "claims",
            len(records),
        ),
    ]
    return Section(
        kind="claims",
        name=name,
        title="Political claims",
        files=tuple(files),
        rows=len(records),
        left_out=left_out,
        measures=tuple(measures),
        remarks=(f"a claim is flagged above {THRESHOLD:.4f} = sigmoid(-1.97)", *remarks),
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


def _phrases() -> list[str]:
    """Return the templates without sentence and rewrite."""
    return [one.format(a="", d="").strip().rstrip(":") for one in TEMPLATES]


def _stored(records: Sequence[GenerationRecord], differences: int, null: int) -> tuple[Measure, ...]:
    """Return what a file says beside what was generated; `records` are the rows that do."""
    scores = [record.stored_edit_f1 for record in records if record.stored_edit_f1 is not None]
    rewrites = [record for record in records if record.stored_rewrites is not None]
    recomputed = mean_interval(item_scores(rewrites, "stored"))
    rows = len(records)
    return (
        Measure("edit_f1_stored", "EDIT-F1 as stored", mean_interval(scores), of="rows with a score"),
        Measure("edit_f1_recomputed", "EDIT-F1 of stored rewrites", recomputed, of="rows with some"),
        Measure("differences", "stored values not as recomputed", differences, "count", "rows", rows),
        Measure("null", "stored rewrites that are null", null, "count"),
    )


def _max_difference(records: Sequence[GenerationRecord]) -> float | None:
    scores = zip(records, item_scores(records), strict=True)
    return max(
        (abs(one.stored_edit_f1 - score) for one, score in scores if one.stored_edit_f1 is not None),
        default=None,
    )


def _variant_values(records: Sequence[GenerationRecord]) -> dict[str, float]:
    return {name: 100 * value for name, value in edit_f1_variants(records).items()}


def _variants(records: Sequence[GenerationRecord]) -> Table:
    rows = [[name, half_up(value, 2)] for name, value in _variant_values(records).items()]
    return Table([Column("rule"), Column("EDIT-F1, %")], rows, "EDIT-F1 by other rules (not the paper's)")


def _differences(differences: Sequence[Difference]) -> Iterable[str]:
    shown = ", ".join(f"{one.id} ({one.field})" for one in differences[:_NAMED])
    more = f" and {len(differences) - _NAMED} more" if len(differences) > _NAMED else ""
    return [f"stored values that are not those recomputed: {shown}{more}"] if differences else []


def _plain(difference: Difference) -> dict[str, Any]:
    return {
        "id": difference.id,
        "field": difference.field,
        "stored": difference.stored,
        "computed": difference.computed,
    }
