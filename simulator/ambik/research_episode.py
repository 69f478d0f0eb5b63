"""A decision as researchers see it: both members of its pair, with all that led to each prediction set.

A run is scored once, so that another target is laid on it in no time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from logs import LogReader
from simulator.ambik.items import DecideItem, Pair, PairItem
from simulator.ambik.metrics import asks_as_needed
from simulator.ambik.playing import Options, exchange_of, is_calibrated, needs_question
from simulator.ambik.predicting import (
    ScoredDecision,
    calibrate,
    outcome_prepared,
    prepared,
    recalibrated,
)
from simulator.ambik.records import Calibrated, Decision, Outcome
from simulator.ambik.terms import CONFORMAL, Settings
from simulator.ambik.trial_log import calibration_of, decisions, decisions_of, options_of
from simulator.ambik.truth import is_right
from simulator.blocks import (
    Block,
    Card,
    Cell,
    Chips,
    Facts,
    Passage,
    Plan,
    Revision,
    Span,
    Table,
    Tag,
    Text,
    Words,
    message,
)
from simulator.form_blocks import Part
from simulator.research import Look
from simulator.runner.logged import PlayedItem
from simulator.word_diff import word_diff

LEAST: Final = 0.05
MOST: Final = 0.99
"""Between what a target can be moved; in hundredths."""


TARGET: Final = "target_success"
_NOTHING: Final = "–"


class RunRead(NamedTuple):
    """The decisions of a run, before any threshold.

    Attributes:
        ready: its first decisions, scored; what was prompted and written is left out.
        calibrated: the calibration it was played with, or that it gives; None if there is none.
    """

    options: Options
    ready: tuple[ScoredDecision, ...]
    calibrated: Calibrated | None

    @property
    def movable(self) -> bool:
        """Return True if the threshold can be taken again, at another target."""
        return self.calibrated is not None and 0 < len(self.calibrated.nonconformities) == self.calibrated.n


class Entry(NamedTuple):
    """A decision of a run under a target.

    Attributes:
        outcome: its set and what came of it; None in a calibration, where nothing has a set.
        judged: True if it asked or acted as it should; None where nothing says.
    """

    ready: ScoredDecision
    outcome: Outcome | None = None
    judged: bool | None = None

    @property
    def decision(self) -> Decision:
        """The decision."""
        return self.ready.decision

    @property
    def item(self) -> DecideItem:
        """The task that was decided on."""
        return self.decision.item


class Laid(NamedTuple):
    """A target laid on a run: `own` if it is the run's; its threshold, and the decisions in their order."""

    own: bool
    settings: Settings
    calibrated: Calibrated | None
    entries: tuple[Entry, ...]

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Sets and decisions; none in a calibration run."""
        return tuple(entry.outcome for entry in self.entries if entry.outcome is not None)


def read_run(reader: LogReader, run: str) -> RunRead:
    """Read and score a run."""
    options = options_of(reader, run)
    calibrates = is_calibrated(options)
    logged = decisions(reader, [run], aborted=not calibrates)
    ready = tuple(prepared(replace(each, prompts=(), raw=()), options.settings) for each in logged)
    own = calibrate(ready, options.settings, run) if calibrates and ready else None
    return RunRead(options, ready, own or calibration_of(reader, run))


def matched_run(read: RunRead, target: str = "") -> Laid:
    """Return the run under a target; its own if `target` is none or cannot be laid on it."""
    own = read.options.settings.target_success
    wished = share(target) if read.movable else None
    settings = replace(read.options.settings, target_success=own if wished is None else wished)
    calibrated = read.calibrated
    if calibrated is not None and wished is not None:
        calibrated = recalibrated(calibrated, settings)
    q_hat = math.inf if calibrated is None else calibrated.q_hat

    def entry(ready: ScoredDecision) -> Entry:
        if is_calibrated(read.options):
            return Entry(ready)
        outcome = outcome_prepared(ready, q_hat, settings)
        judged = asks_as_needed(outcome, settings)
        return Entry(ready, outcome, None if judged is None else bool(judged))

    return Laid(settings.target_success == own, settings, calibrated, tuple(map(entry, read.ready)))


def share(text: str) -> float | None:
    """Return a target that is written; None if that is no number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return min(max(round(value, 2), LEAST), MOST) if math.isfinite(value) else None


def read_once(look: Look, run: str) -> RunRead:
    """Return a run as it was read, once for each number of its episodes that have ended."""
    ended = len(look.reader.endings(run))
    read: RunRead = look.keep(f"read {run} {ended}", lambda: read_run(look.reader, run))
    return read


def episode(look: Look, id: str) -> Sequence[Block]:
    """Return what was decided in an episode, beside the other member of its pair; nothing before it was."""
    read = read_once(look, look.run.id)
    under = matched_run(read, look.chosen.get(TARGET, ""))
    shown = next((entry for entry in under.entries if entry.decision.episode_id == id), None)
    if shown is None:
        return ()
    other = _other_member(under.entries, shown)
    both = [shown] if other is None else sorted((shown, other), key=lambda entry: entry.item.id)
    members = [_member(look.reader, entry, both[-1], under, shown) for entry in both]
    own = f"{read.options.settings.target_success:.2f}"
    notice = message("research.other_target", target=f"{under.settings.target_success:.2f}", own=own)
    return (
        *([] if under.own else [Text(notice, "strong")]),
        *_scene(shown.item),
        Part("", members, beside=True),
    )


def type_name(item: DecideItem) -> Words:
    """Return what a task's type is called."""
    return message(f"research.field.type.{item.type}")


def _other_member(every: Sequence[Entry], shown: Entry) -> Entry | None:
    """Return the decision on the other member of a pair, by the same person if people decide."""
    cluster = shown.item.cluster
    there = [entry for entry in every if entry.item.cluster == cluster and entry.item.id != shown.item.id]
    same = [entry for entry in there if entry.decision.generator == shown.decision.generator]
    return next(iter(same or there), None)


def _scene(item: DecideItem) -> Iterator[Card]:
    pair = item.pair if isinstance(item, PairItem) else None
    listed = pair.shortlist if pair else ()
    yield Card(
        message("scene.heading"),
        [Chips([Tag(thing, "gold") if thing in listed else thing for thing in item.about.objects])],
    )
    if pair is not None:
        yield Card(message("research.gold"), [Facts(_gold(pair, item.about.appliances))], folded=True)


def _gold(pair: Pair, appliances: Sequence[str]) -> list[tuple[Words, Words]]:
    texts = {
        "field.intent": pair.intent.text if pair.intent else "",
        "field.variants": "; ".join(variant.text for variant in pair.variants),
        "field.shortlist": ", ".join(pair.shortlist),
        "result.would_ask": pair.question,
        "result.would_answer": pair.answer,
        "scene.appliances": ", ".join(appliances),
    }
    return [(message(name), text or _NOTHING) for name, text in texts.items()]


def _member(reader: LogReader, entry: Entry, base: Entry, under: Laid, shown: Entry) -> Card:
    """Return one member of a pair with what was decided on it; its task told apart from that of `base`."""
    item, made = entry.item, _decisions_with_prompts(reader, entry)
    steps, needed = [*item.previous, item.step], needs_question(item, entry.decision.dialogue)
    blocks: list[Block] = [
        Chips(list(_chips(entry, entry is shown))),
        Revision("", word_diff(base.item.instruction, item.instruction)),
        *([Plan(steps, len(steps) - 1)] if steps[-1] else []),
    ]
    if needed is not None:
        blocks.append(Text(message(f"research.should_{'ask' if needed else 'act'}"), "muted"))
    blocks += _options(entry, under)
    blocks.append(Facts(list(_facts(entry, made))))
    if passages := list(_prompts(made[0])):
        heading = message("research.prompts", item=item.id)
        blocks.append(Part(heading, passages, folded=True))
    return Card(type_name(item), blocks)


def _chips(entry: Entry, is_shown: bool) -> Iterator[Words | Tag]:
    yield entry.item.id
    if is_shown:
        yield Tag(message("research.this"), "gold")
    if (outcome := entry.outcome) is not None:
        yield Tag(message(f"research.{'asks' if outcome.help else 'acts'}"), right=entry.judged)
        yield message("research.set_size", n=len(outcome.predicted))
        if outcome.covered is not None:
            yield Tag(
                message(f"research.{'covered' if outcome.covered else 'missed'}"), right=outcome.covered
            )


def _decisions_with_prompts(reader: LogReader, entry: Entry) -> tuple[Decision, ...]:
    """Return the decisions of an episode with their prompts; the light one where it broke off before any."""
    id = entry.decision.episode_id
    ending = reader.ending(id)
    if ending is None:
        return (entry.decision,)
    played = PlayedItem(reader.episode(id), entry.item, tuple(reader.turns(id)), ending)
    return decisions_of(played) or (entry.decision,)


def _options(entry: Entry, under: Laid) -> Iterator[Block]:
    """Yield what could be chosen, with its scores; of people and built-in robots what they were offered."""
    decision, predicted = entry.decision, entry.outcome.predicted if entry.outcome else ()
    if decision.method not in CONFORMAL:
        right = {each.letter or each.text: each.acceptable for each in entry.ready.scored}
        offered = dict.fromkeys([*entry.item.options, *right]) if decision.chosen is not None else right
        rows = [(text, *_marks(text in predicted, right.get(text))) for text in offered]
        yield _table(rows, "option", "set", "good")
        return
    sampled = "samples" if decision.samples else "option"
    by_score = sorted(entry.ready.scored, key=lambda each: each.nonconformity)
    scores: list[Sequence[object]] = []
    for each in by_score:
        times = decision.samples.get(each.text)
        text = f"{each.letter}) {each.text}" if each.letter else each.text
        text = text if times is None else f"{text} × {times}"
        afford = decision.affordance.get(each.letter)
        scores.append(
            (
                Cell(text, "muted") if each.letter in decision.filled else text,
                f"{1 - each.nonconformity:.3f}",
                *_marks(each.text in predicted, each.acceptable),
                *([] if not decision.affordance else [_NOTHING if afford is None else f"{afford.score:.2f}"]),
            )
        )
    yield _table(scores, sampled, "score", "set", "good", *(["affordance"] if decision.affordance else []))
    if entry.outcome is not None and under.calibrated is not None and under.settings.cp_rule == "split":
        least = 1 - under.calibrated.q_hat
        if math.isfinite(least):
            yield Text(message("research.threshold", score=f"{least:.3f}"), "muted")


def _marks(is_in: bool, right: bool | None) -> tuple[object, object]:
    return (
        Cell(message("research.in_set"), "strong") if is_in else "",
        Cell(message("research.acceptable"), "right") if right else "",
    )


def _table(rows: Sequence[Sequence[object]], *names: str) -> Block:
    if not rows:
        return Text(message("research.no_options"), "muted")
    return Table(rows, [message(f"research.{name}") for name in names])


def _facts(entry: Entry, made: Sequence[Decision]) -> Iterator[tuple[Words, Words | Sequence[Words | Tag]]]:
    decision, outcome = entry.decision, entry.outcome
    action = outcome.action if outcome else ""
    if action:
        yield message("research.action"), action
        if (done := is_right(entry.item, action)) is not None:
            yield (
                message("result.was"),
                [Tag(message(f"result.{'right' if done else 'wrong'}"), right=done)],
            )
    if decision.certainty:
        yield message("research.certainty"), message(f"research.certainty_{decision.certainty}")
    asked = [(each.question, each.answer) for each in made if each.asked]
    for question, answer in (*exchange_of(entry.item, decision.dialogue), *asked):
        yield message("research.question"), question or message("research.wordless")
        if answer:
            yield message("research.answer"), answer
    if len(made) > 1:
        yield message("research.final"), made[-1].action
    if decision.flags:
        yield message("research.flags"), ", ".join(decision.flags)
    yield (
        message("research.who"),
        " + ".join(filter(None, (decision.generator or decision.method, decision.chooser))),
    )
    if decision.seconds is not None:
        yield message("research.time"), message("research.seconds", seconds=f"{decision.seconds:.1f}")


def _prompts(decision: Decision) -> Iterator[Block]:
    for name, texts in (("prompt_of", decision.prompts), ("output_of", decision.raw)):
        for role, text in texts:
            yield Text(message(f"research.{name}", role=role), "muted")
            yield Passage([Span(text)])
    if decision.tokens:
        yield Text(message("research.tokens"), "muted")
        yield Passage([Span("\n".join(f"{token}  {logprob:.3f}" for token, logprob in decision.tokens))])
