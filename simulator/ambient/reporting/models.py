"""The results of models' tests, and of claims (spec 6 to 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from simulator.ambient.claims import THRESHOLD, claim_measures, flagged
from simulator.ambient.claims import rescored as rescored_claims
from simulator.ambient.continuations import chance_by_example, continuation_measures
from simulator.ambient.examples import named
from simulator.ambient.generation import (
    edit_f1_variants,
    generation_measures,
    gold_differences,
    item_edit_f1,
    item_scores,
    rescored,
)
from simulator.ambient.intervals import Count, Values, mean_interval
from simulator.ambient.records import ClaimRecord, ContinuationRecord, GenerationRecord, TrueFalseRecord
from simulator.ambient.reporting.measures import (
    Results,
    by_text,
    figures,
    half_up,
    is_published,
    paper,
    sizes,
)
from simulator.ambient.reporting.sources import Context
from simulator.ambient.score_command import table_6
from simulator.ambient.true_false import TEMPLATES, inconsistent_pairs, true_false_measures
from simulator.figures import Table

# Of flagged claims, so many are shown; files hold all.
_CLAIMS: Final = 20


def generation_results(answers: Results, context: Context) -> Results:
    """Return the results of one model's disambiguations."""
    records: Sequence[GenerationRecord] = answers.records
    parser = context.settings.parser
    measures, differences = generation_measures(records, parser), rescored(records)
    copied = [
        item_edit_f1(record.original, record.gold, dict.fromkeys(record.gold, record.original))
        for record in records
    ]
    same = dict.fromkeys(record.id for record, score in zip(records, copied, strict=True) if score)
    measures |= _stored_values(records, len(differences))
    measures["copy"] = mean_interval(copied, [(record.id, record.side) for record in records])
    if context.examples:
        other = gold_differences(records, context.examples)
        measures["gold_differences"] = Count(len(other), len(records))
    variants = {rule: 100 * value for rule, value in edit_f1_variants(records).items()}
    warned = ", ".join(f"{code} {count}" for code, count in measures["warnings"].items())
    changed = [f"{difference.id} ({difference.field})" for difference in differences]
    reordered = f"above 0 for a rewrite with the same words in another order: {', '.join(same)}"
    return answers.measured(
        measures,
        # The paper's rule is the reference's.
        paper=figures("generation", answers.name, len(records)) if parser == "reference" else {},
        notes={"copy": reordered if same else ""},
        parser=parser,
        remarks=[
            f"labelled rewrites per row: {sizes(measures['rewrites'])}",
            *([f"warnings of the {parser} parser: {warned}"] if warned else []),
            *([f"stored values that are not those recomputed: {named(changed)}"] if differences else []),
        ],
        tables={"variants": _variants_table(variants)} if context.settings.variants else {},
        data={
            "n_pred": by_text(measures["rewrites"]),
            "warnings": measures["warnings"],
            "differences": [difference._asdict() for difference in differences],
            "max_difference": _max_difference(records),
            "variants": variants,
        },
    )


def _stored_values(records: Sequence[GenerationRecord], differences: int) -> Values:
    """Return what a file says beside what was generated; nothing if it does not."""
    scores = [record.stored_edit_f1 for record in records if record.stored_edit_f1 is not None]
    rewrites = [record for record in records if record.stored_rewrites is not None]
    stored = [record.stored_edit_f1 is not None or record.stored_rewrites is not None for record in records]
    if not any(stored):
        return {}
    nulls = [text is None for record in rewrites for text in (record.stored_rewrites or {}).values()]
    return {
        "edit_f1_stored": mean_interval(scores),
        "edit_f1_recomputed": mean_interval(item_scores(rewrites, "stored")),
        "differences": Count(differences, sum(stored)),
        "null": Count(sum(nulls)),
    }


def _max_difference(records: Sequence[GenerationRecord]) -> float | None:
    scores = zip((record.stored_edit_f1 for record in records), item_scores(records), strict=True)
    return max((abs(stored - score) for stored, score in scores if stored is not None), default=None)


def _variants_table(variants: Mapping[str, float]) -> Table:
    rows = [[rule, half_up(value, 2)] for rule, value in variants.items()]
    return Table(["rule", "EDIT-F1, %"], rows, "EDIT-F1 by other rules (not the paper's)")


def true_false_results(answers: Results, context: Context) -> Results:
    """Return the results of one model's, or some people's, judgments of statements."""
    records: Sequence[TrueFalseRecord] = answers.records
    measures = true_false_measures(records)
    printed = figures("true_false", answers.name, len(records))
    inconsistent, pairs = inconsistent_pairs(records, "paper")
    by_notebook, _ = inconsistent_pairs(records, "reference")
    numbers = range(1, len(TEMPLATES) + 1)
    known = {place: share.value for place in numbers if (share := measures[f"template_{place}"])}
    best = [place for place, value in known.items() if value == max(known.values())]
    templates = printed.get("templates", ())
    remarks = [
        f"inconsistent pairs: {inconsistent} of {pairs}; by the notebook's rule {by_notebook}",
        f"best template: {', '.join(map(str, best)) or 'none'}",
    ]
    if measures["mass"] is None:
        del measures["mass"]
        remarks.append("the file has no probability mass: a chat model, or people")
    return answers.measured(
        measures,
        paper={
            **{f"template_{place}": value for place, value in enumerate(templates, start=1)},
            "accuracy": printed.get("true_false"),
            "answered": printed.get("answered"),
        },
        notes=printed.get("notes"),
        **{f"phrase_{place}": phrase for place, phrase in enumerate(template_phrases(), start=1)},
        remarks=remarks,
        data={
            "inconsistent_pairs": {"paper": inconsistent, "reference": by_notebook, "of": pairs},
            "self_contradictions": [
                measures[key].value for key in ("may_and_cannot", "not_necessarily_and_only")
            ],
            "best_template": best,
        },
    )


def template_phrases() -> list[str]:
    """Return the templates of statements without sentence and rewrite."""
    return [template.format(a="", d="").strip().rstrip(":") for template in TEMPLATES]


def continuation_results(answers: Results, context: Context) -> Results:
    """Return the results of one model's estimates."""
    records: Sequence[ContinuationRecord] = answers.records
    measures = continuation_measures(records, context.tested)
    printed = figures("continuation", answers.name, len(records))
    examples = len({record.id for record in records})
    missing = "" if context.examples else "no dataset to count examples in (name one with --data)"
    return answers.measured(
        {**measures, "random_all": chance_by_example(context.examples)},
        paper={
            "accuracy": printed.get("ranking"),
            "random_examples": paper()["chance"]["ranking"] if printed else None,
        },
        notes=dict.fromkeys(("random_examples", "random_all"), missing),
        remarks=[
            f"rewrites per instance: {sizes(measures['options'])}; {examples} examples",
            "style and length of rewrites confound the likelihoods; a far-off distractor makes this easy",
        ],
        data={"options": by_text(measures["options"]), **measures["ids"], "examples": examples},
    )


def claims_results(answers: Results, context: Context) -> Results:
    """Return the results of claims that have been paraphrased and scored, and of their marks."""
    records: Sequence[ClaimRecord] = answers.records
    measures, differences = claim_measures(records), rescored_claims(records)
    published = any(Path(file).name == "results.jsonl" for file in answers.files)
    printed = paper()["claims"] if published and is_published("claims", len(records)) else {}
    unmarked = "" if measures["n"] else "nobody has marked a claim, so nothing can be right or wrong"
    return answers.measured(
        {**measures, "differences": Count(len(differences), len(records))},
        paper=printed,
        notes={**printed.get("notes", {}), "flagged": unmarked},
        remarks=[f"a claim is flagged above {THRESHOLD:.4f} = sigmoid(-1.97)"],
        tables={"table_6": table_6(records, THRESHOLD, most=_CLAIMS)} if any(map(flagged, records)) else {},
        exact={"table_6": table_6(records, THRESHOLD)},
        data={
            "threshold": THRESHOLD,
            "differences": [
                {"id": record.id, "stored": record.stored_score, "computed": now}
                for record, now in differences
            ],
        },
    )
