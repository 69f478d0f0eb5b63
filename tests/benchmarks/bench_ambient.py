"""Speed of AmbiEnt's scores: 4,692 statements judged true or false, and 506 generations, with bootstrap.

Run as a script: ``make bench``. Both are compared with plain Python that follows the same rules on the same
machine and resamples item by item, 1000 times for each measure; its estimates must be the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations
from random import Random

from rows import Row, best, main

from simulator.ambient.generation import generation_measures
from simulator.ambient.intervals import RESAMPLES
from simulator.ambient.labels import VERBALIZERS, Label
from simulator.ambient.records import GenerationRecord, TrueFalseRecord
from simulator.ambient.true_false import right_answer, true_false_measures

ROUNDS = 3
SENTENCES, STATEMENTS, GENERATIONS = 580, 4692, 506
# What share of the plain work's time each may take.
TRUE_FALSE_LIMIT = 0.2
GENERATION_LIMIT = 0.4
Values = Sequence[tuple[Hashable, float]]


def statements() -> list[TrueFalseRecord]:
    """Return as many statements as in the published files, with two or three rewrites per sentence."""
    random = Random(0)
    three = STATEMENTS // 4 - 2 * SENTENCES
    return [
        TrueFalseRecord(
            id=str(sentence),
            side="premise",
            disambiguation=f"rewrite {rewrite}",
            template=template,
            prediction=random.random() < 0.5,
            answer=right_answer(template),
            mass=random.random(),
        )
        for sentence in range(SENTENCES)
        for rewrite in range(3 if sentence < three else 2)
        for template in range(4)
    ]


def generations() -> list[GenerationRecord]:
    """Return as many continuations as in the published files, of sentences of twenty words."""
    random = Random(0)
    words = [f"w{number}" for number in range(60)]
    labels: tuple[Label, Label] = ("entailment", "neutral")

    def changed(text: str) -> str:
        parts = text.split(" ")
        parts[random.randrange(20)] = random.choice(words)
        return " ".join(parts)

    records = []
    for number in range(GENERATIONS):
        original = " ".join(random.choices(words, k=20))
        written = [f"{changed(original)} {VERBALIZERS[label]}" for label in labels]
        records.append(
            GenerationRecord(
                id=str(number),
                premise=original,
                hypothesis="h",
                premise_ambiguous=True,
                hypothesis_ambiguous=False,
                prompt="",
                generation="\n".join(f"{place}. {text}" for place, text in enumerate(written, start=1)),
                gold={label: changed(original) for label in labels},
            )
        )
    return records


def plain_interval(values: Values) -> tuple[float, float, float]:
    """Return the mean, and percentiles of means over resampled items."""
    groups: defaultdict[Hashable, list[float]] = defaultdict(list)
    for item, value in values:
        groups[item].append(value)
    random = Random(0)
    sums = [(sum(group), len(group)) for group in groups.values()]
    means = []
    for _ in range(RESAMPLES):
        drawn = random.choices(sums, k=len(sums))
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    whole = [value for _, value in values]
    return sum(whole) / len(whole), means[RESAMPLES // 40], means[-RESAMPLES // 40]


def plain_true_false(records: Sequence[TrueFalseRecord]) -> list[tuple[float, float, float]]:
    """Compute every share of spec 7 with loops."""
    right = [(record.id, float(record.prediction == record.answer)) for record in records]
    templates = [
        [value for value, record in zip(right, records, strict=True) if record.template == template]
        for template in range(4)
    ]
    four: defaultdict[tuple[str, str], dict[int, TrueFalseRecord]] = defaultdict(dict)
    for record in records:
        four[record.id, record.disambiguation][record.template] = record
    all_four = [
        (item, float(all(record.correct for record in by_template.values())))
        for (item, _), by_template in four.items()
    ]
    rewrites: defaultdict[str, list[str]] = defaultdict(list)
    for item, text in four:
        rewrites[item].append(text)
    pairs = [
        (item, float(all(four[item, text][template].prediction for text in two for template in (0, 3))))
        for item, texts in rewrites.items()
        for two in combinations(sorted(texts), 2)
    ]
    answered = [(record.id, 1.0) for record in records]
    mass = [(record.id, record.mass or 0.0) for record in records]
    return [plain_interval(values) for values in (right, *templates, right, all_four, pairs, answered, mass)]


def plain_f1(original: str, gold: str, predicted: str) -> float:
    """Compute EDIT-F1 by counting."""
    before = Counter(original.split(" "))
    made = []
    for text in (gold, predicted):
        after = Counter(text.split(" "))
        deleted = {("-", token): count for token, count in (before - after).items()}
        made.append(Counter(deleted | {("+", token): count for token, count in (after - before).items()}))
    shared = (made[0] & made[1]).total()
    return 2 * shared / (made[0].total() + made[1].total()) if shared else float(not made[0] and not made[1])


def plain_generation(records: Sequence[GenerationRecord]) -> list[tuple[float, float, float]]:
    """Compute every share of spec 6.4 with loops, once per parser, since both agree on these texts."""
    scores: list[tuple[Hashable, float]] = []
    copied: list[tuple[Hashable, float]] = []
    restated: list[tuple[Hashable, float]] = []
    for _ in range(2):
        scores, copied, restated = [], [], []
        for record in records:
            rewrites = {}
            for line in record.generation.split("\n"):
                for label, verdict in VERBALIZERS.items():
                    if verdict in line:
                        rewrites[label] = line[3:].replace(verdict, "").strip()
            overlaps = [
                plain_f1(record.original, gold, rewrites[label]) if label in rewrites else 0.0
                for label, gold in record.gold.items()
            ]
            scores.append((record.id, sum(overlaps) / len(overlaps)))
            copied += [(record.id, float(text == record.original)) for text in rewrites.values()]
            restated.append(
                (record.id, float(all(record.original[:-1] in text for text in rewrites.values())))
            )
    empty = [(record.id, 0.0) for record in records]
    return [plain_interval(values) for values in (scores, scores, empty, copied, restated, restated)]


def rows() -> Iterator[Row]:
    """Yield both measurements; fail if an estimate differs from the loops'."""
    judged, written = statements(), generations()
    accuracy, score = true_false_measures(judged)["accuracy"], generation_measures(written)["edit_f1"]
    assert abs(accuracy.value - plain_true_false(judged)[0][0]) < 1e-9
    assert abs(score.value - plain_generation(written)[0][0]) < 1e-9
    yield Row(
        work=f"AmbiEnt: {STATEMENTS:,} statements scored, with intervals",
        ours=best(lambda: true_false_measures(judged), ROUNDS),
        unit="s",
        peer="plain loops",
        theirs=best(lambda: plain_true_false(judged), 1),
        goal=TRUE_FALSE_LIMIT,
        goal_of="ratio",
    )
    yield Row(
        work=f"AmbiEnt: {GENERATIONS} generations scored, with intervals",
        ours=best(lambda: generation_measures(written), ROUNDS),
        unit="s",
        peer="plain loops",
        theirs=best(lambda: plain_generation(written), 1),
        goal=GENERATION_LIMIT,
        goal_of="ratio",
    )


if __name__ == "__main__":
    main(rows)
