"""Comparisons against the same numbers by other ways: scipy's tests, Holm by hand, power by simulation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp, wilcoxon

from logs import LogReader, LogWriter
from logs.errors import NotInLog
from logs.rows import Ending, Episode, Item, Run, Score, content_hash
from simulator.commands.compare import comparison, detectable, mcnemar_or_permutation, permutation_p
from simulator.errors import InputError
from simulator.figures import Cell, Column, Table
from simulator.figures.tables import AtMost, cell_text
from simulator.stats import Interval

Values = Mapping[str, Sequence[float | None]]
"""The values of an item's repeats, by item."""


def put_run(
    path: Path, run: str, metrics: Mapping[str, Values], benchmark: str = "clarq", seed: int = 0
) -> None:
    with LogWriter(path, durable=False) as log:
        log.put(Run(id=run, benchmark=benchmark, setup="L2L", seed=0))
        for metric, values in metrics.items():
            for name, repeats in values.items():
                data = {"name": name, "seed": seed}
                item = Item(hash=content_hash(data), benchmark=benchmark, name=name, language="en", data=data)
                log.put(item)
                for repeat, value in enumerate(repeats):
                    episode = f"{run}/{name}/{repeat}"
                    if metric == next(iter(metrics)):
                        log.put(
                            Episode(
                                id=episode, run_id=run, item_hash=item.hash, language="en", repeat=repeat,
                                seats={"seeker": "script", "provider": "script"}, seed=0,
                            )
                        )  # fmt: skip
                        log.put(Ending(episode_id=episode, status="completed"))
                    log.put(Score(episode_id=episode, metric=metric, value=value, version="1"))


def once(values: Sequence[float | None]) -> Values:
    return {f"item-{place:02}": [value] for place, value in enumerate(values)}


def tables(path: Path, *runs: str, metrics: Sequence[str] = ()) -> dict[str, list[dict[str, Cell]]]:
    """The rows of a comparison by their metric, a row a pair of runs."""
    with LogReader(path) as reader:
        (section,) = comparison(reader, runs, metrics).sections
    means, differences = section.tables
    rows: dict[str, list[dict[str, Cell]]] = {}
    for row in rows_of(differences):
        rows.setdefault(str(row["metric"]), []).append(row)
    assert {*rows} <= {head.name for head in means.heads}
    return rows


def rows_of(table: Table) -> list[dict[str, Cell]]:
    names = [head.name for head in table.heads]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


FIRST = [1.0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
SECOND = [1.0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0]


def test_items_that_share_their_names_alone_are_told(path):
    put_run(path, "a", {"success": once([1, 0, 1])})
    put_run(path, "b", {"success": once([1, 1])})
    put_run(path, "c", {"success": once([1, 1, 1])}, seed=1)
    with LogReader(path) as reader:
        (section,) = comparison(reader, ["a", "b", "c"]).sections
    pairs = [remark.partition(" of one name")[0] for remark in section.remarks if "other contents" in remark]
    assert pairs == ["a and c: 3 of 3 items", "b and c: 2 of 2 items"]


def test_outcomes_that_wait_for_a_judge_are_told(path):
    for run in ("a", "b"):
        put_run(path, run, {"success": once([1, 0, 0])})
    decisions = [("a/item-01/0", True), ("a/item-01/0", False), ("b/item-02/0", True)]
    with LogWriter(path, durable=False) as log:
        for episode, waits in decisions:
            details = {"needs_judge": waits}
            log.put(Score(episode_id=episode, metric="success", value=0, version="1", details=details))
    with LogReader(path) as reader:
        (section,) = comparison(reader, ["a", "b"]).sections
    assert [remark for remark in section.remarks if "judge" in remark] == [
        "b: 1 of 3 episodes wait for a judge; until it decides, S is a lower bound."
    ]


def test_shares_are_tested_by_mcnemar_s_exact_test(path):
    put_run(path, "a", {"success": once(FIRST)})
    put_run(path, "b", {"success": once(SECOND)})
    (row,) = tables(path, "a", "b")["S"]
    assert (row["first"], row["second"], row["items"]) == ("a", "b", 12)
    assert row["mean of first"] == pytest.approx(np.mean(FIRST))
    assert row["mean of second"] == pytest.approx(np.mean(SECOND))
    # One item changes to 0 and six to 1.
    assert row["p"] == row["Holm"] == pytest.approx(binomtest(1, 7).pvalue)
    difference = row["difference"]
    assert isinstance(difference, Interval)
    assert difference.value == pytest.approx(np.mean(SECOND) - np.mean(FIRST))
    assert difference.low is not None and difference.high is not None
    assert difference.low <= difference.value <= difference.high and difference.n == 12


def test_pairs_are_items_that_both_runs_have_repeats_averaged_first(path):
    put_run(path, "a", {"aqd": {"x": [1.0, 3.0], "y": [4.0], "z": [None], "only-a": [50.0]}})
    put_run(path, "b", {"aqd": {"x": [5.0], "y": [4.0, 6.0], "z": [2.0], "only-b": [90.0]}})
    (row,) = tables(path, "a", "b")["D"]
    assert (row["items"], row["mean of first"], row["mean of second"]) == (2, 3.0, 5.0)
    assert isinstance(row["difference"], Interval) and row["difference"].value == 2.0


def test_a_count_may_differ_by_any_amount(path):
    """Differences of counts have no bounds: all alike, they have a point, not Wilson's width of a share."""
    put_run(path, "a", {"aqd": once([0.0, 0, 0])})
    put_run(path, "b", {"aqd": once([1.0, 1, 1])})
    (row,) = tables(path, "a", "b")["D"]
    assert row["difference"] == Interval(1.0, 1.0, 1.0, 3)
    assert row["detectable"] is None


def test_p_values_are_holm_s_over_the_pairs_of_a_metric(path):
    generator = np.random.default_rng(1)
    for number, name in enumerate("abc"):
        values = once((generator.normal(5 + number, 1, 12)).tolist())
        put_run(path, name, {"aqd": values, "success": {key: [1.0] for key in values}})
    rows = tables(path, "a", "b", "c")["D"]
    assert [(row["first"], row["second"]) for row in rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    least, middle, most = sorted(range(3), key=lambda at: float(str(rows[at]["p"])))
    p = [float(str(row["p"])) for row in rows]
    by_hand = {least: min(1, 3 * p[least])}
    by_hand[middle] = max(by_hand[least], min(1, 2 * p[middle]))
    by_hand[most] = max(by_hand[middle], p[most])
    assert [row["Holm"] for row in rows] == pytest.approx([by_hand[at] for at in range(3)])
    assert any(row["Holm"] != row["p"] for row in rows)


def test_the_members_of_a_pair_are_drawn_together(path):
    # Each pair has both members right, or none: six pairs tell as much as six items, not as twelve.
    pairs = {f"{pair}.{member}": pair for pair in range(6) for member in ("clear", "ambiguous")}
    for benchmark, metric in (("ambik", "right_after"), ("clarq", "success")):
        put_run(
            path,
            f"{benchmark}-a",
            {metric: {name: [float(pair < 1)] for name, pair in pairs.items()}},
            benchmark,
        )
        put_run(
            path,
            f"{benchmark}-b",
            {metric: {name: [float(pair < 5)] for name, pair in pairs.items()}},
            benchmark,
        )
    together, apart = (
        next(iter(tables(path, f"{benchmark}-a", f"{benchmark}-b").values()))[0]
        for benchmark in ("ambik", "clarq")
    )
    assert together["items"] == apart["items"] == 12
    assert together["difference"].value == apart["difference"].value == pytest.approx(8 / 12)
    assert together["difference"].reach[0] < apart["difference"].reach[0]
    assert together["p"] > apart["p"]


def test_clusters_may_differ_in_size(path):
    """Both sentences of an example of AmbiEnt are exchanged together, and the test is of their sum."""
    names = ("1_c.premise", "1_c.hypothesis", "2.premise", "3.hypothesis", "4.premise")
    put_run(path, "a", {"accuracy": {name: [0.5] for name in names}}, "ambient")
    changed = zip(names, (0.75, 0.75, 0.25, 0.25, 0.25), strict=True)
    put_run(path, "b", {"accuracy": {name: [value] for name, value in changed}}, "ambient")
    (row,) = tables(path, "a", "b")["accuracy"]
    # Sums of 0.5, -0.25, -0.25 and -0.25 with any signs are never nearer to 0 than theirs.
    assert (row["items"], row["p"]) == (5, 1.0)


def test_every_metric_is_compared_or_those_that_are_named(path):
    for name in ("a", "b"):
        put_run(path, name, {"success": once([1.0, 0.0]), "aqd": once([2.0, 3.0])})
    assert set(tables(path, "a", "b")) == {"S", "D"}
    assert set(tables(path, "a", "b", metrics=["aqd"])) == {"D"}


def test_what_the_items_decide_is_told_but_not_tested(path):
    for name in ("a", "b"):
        metrics = {"right_after": once([1.0, 0.0]), "needed": once([1.0, 0.0])}
        put_run(path, name, metrics, benchmark="ambik")
    for chosen, tested in (([], {"right after"}), (["needed"], set())):
        assert set(tables(path, "a", "b", metrics=chosen)) == tested
        with LogReader(path) as reader:
            (section,) = comparison(reader, ["a", "b"], chosen).sections
        assert "needed" in [head.name for head in section.tables[0].heads]
        assert section.remarks[-1].endswith("and not the runs: needed.")


def test_what_cannot_be_compared_is_refused(path):
    put_run(path, "a", {"success": {"x": [1.0]}})
    put_run(path, "b", {"success": {"y": [1.0]}})
    put_run(path, "kitchen", {"success": {"x": [1.0]}}, benchmark="ambik")
    with LogReader(path) as reader:
        for runs, message in (
            (["a"], "two or more runs"),
            (["a", "a"], "two or more runs"),
            (["a", "b"], "No item is scored in two"),
            (["a", "kitchen"], "kitchen is of ambik"),
        ):
            with pytest.raises(InputError, match=message):
                comparison(reader, runs)
        with pytest.raises(InputError, match="--metric speed"):
            comparison(reader, ["a", "b"], ["speed"])
        with pytest.raises(NotInLog):
            comparison(reader, ["a", "gone"])


def test_exchanges_of_signs_are_exact_where_there_are_few():
    """With ranks for differences, exchanging signs is Wilcoxon's signed-rank test."""
    ranks = np.array([1.0, 2, -3, 4, 5, -6, 7, 8])
    assert permutation_p(ranks) == pytest.approx(wilcoxon(ranks, method="exact").pvalue)
    assert permutation_p(np.array([0.0, 0, *ranks])) == permutation_p(ranks)
    assert permutation_p(np.zeros(5)) == 1.0
    assert permutation_p(np.array([0.0, 2.0])) == 1.0
    assert permutation_p(np.ones(4)) == pytest.approx(2 / 2**4)


def test_many_exchanges_are_drawn_the_same_way_each_time():
    differences = np.random.default_rng(0).normal(0.4, 1, 40)
    drawn = permutation_p(differences)
    assert drawn == permutation_p(differences)
    assert drawn == pytest.approx(ttest_1samp(differences, 0).pvalue, abs=0.01)


def test_the_least_p_of_draws_is_an_upper_bound(path):
    for start, run in enumerate("abc"):
        put_run(path, run, {"aqd": once([start + place / 100 for place in range(20)])})
    for row in tables(path, "a", "b", "c")["D"]:
        assert (row["p"], row["Holm"]) == (0.0002, pytest.approx(0.0006))
        assert [cell_text(row[name], Column(name, 4)) for name in ("p", "Holm")] == ["<0.0002", "<0.0006"]
        assert json.dumps(row["p"]) == "0.0002"
    assert not isinstance(permutation_p(np.ones(13)), AtMost)


def test_only_yes_and_no_go_to_mcnemar():
    first, second, items = [0.0, 0, 1], [1.0, 1, 1], ["x", "y", "z"]
    assert mcnemar_or_permutation(first, second, items, np.array([1.0, 1, 0])) == binomtest(0, 2).pvalue
    halves = [0.5, 0.5, 1.0]
    assert mcnemar_or_permutation(halves, second, items, np.array([0.5, 0.5, 0])) == permutation_p(
        np.array([0.5, 0.5, 0])
    )


def test_the_detectable_difference_is_found_in_four_of_five_samples():
    generator, n, trials = np.random.default_rng(3), 30, 4000
    differences = generator.normal(0, 2, n)
    effect = detectable(differences)
    assert effect is not None
    spread = np.std(differences, ddof=1)
    samples = generator.normal(effect, spread, (trials, n))
    power = (ttest_1samp(samples, 0, axis=1).pvalue < 0.05).mean()
    assert power == pytest.approx(0.8, abs=0.025)  # four standard errors of 4,000 trials
    assert detectable(np.array([1.0, 1.0, 1.0])) is None
    assert detectable(np.array([1.0])) is None
