"""AmbiK's decisions item by item: both members of a pair side by side, with all that led to each set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from logs import LogReader
from logs.rows import ModelCall
from simulator.ambik.items import DecideItem, PairItem
from simulator.ambik.measuring.outcome_rows import asked_well, cluster_of
from simulator.ambik.playing import (
    appliances_of,
    exchange_of,
    needs_question,
    objects_of,
    previous_of,
    step_of,
    task_of,
)
from simulator.ambik.records import Affordance, Decision, Outcome
from simulator.ambik.score import is_right
from simulator.ambik.sets.predicting import Prepared
from simulator.ambik.terms import CONFORMAL
from simulator.ambik.trial_log import Played, decisions_of
from simulator.errors import InputError
from simulator.word_diff import Piece, word_diff
from ui.research.ambik_read import Laid, RunRead, kept_run, laid
from ui.research.desk import RunCard
from ui.research.kept import CachedReports
from ui.research.view import Page, Visit

SHOWN: Final = 500
OUTCOMES: Final = ("right", "wrong", "covered", "missed", "empty")
"""Asked or acted as it should; did not; a right action is in the set; none is; nothing is in it."""
ASKED: Final = ("yes", "no")


@dataclass(frozen=True, slots=True)
class Entry:
    """A decision in the list.

    Attributes:
        cluster: its pair.
        judged: whether it asked or acted as it should; None where nothing says.
        done: whether what it would do is right; None likewise.
    """

    ready: Prepared
    outcome: Outcome | None
    cluster: str
    judged: bool | None
    done: bool | None

    @property
    def decision(self) -> Decision:
        """What it is of."""
        return self.ready.decision

    @property
    def item(self) -> DecideItem:
        """What was to be decided."""
        return self.decision.item

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which of `OUTCOMES` it is."""
        outcome = self.outcome
        facts = {
            "right": self.judged is True,
            "wrong": self.judged is False,
            "covered": outcome is not None and outcome.covered is True,
            "missed": outcome is not None and outcome.covered is False,
            "empty": outcome is not None and outcome.decision.was_made and not outcome.predicted,
        }
        return tuple(name for name, holds in facts.items() if holds)


@dataclass(frozen=True, slots=True)
class OptionRow:
    """A candidate on the page.

    Attributes:
        share: its score, 1 - nonconformity, in percent of a bar; None where nobody scored it.
        value: its nonconformity; None likewise.
        chosen: it is in the prediction set.
        right: whether it is acceptable; None where that is unknown.
        filled: it stands for an option that the model did not write.
        drawn: how often it was sampled.
    """

    letter: str
    text: str
    share: float | None
    value: float | None
    chosen: bool
    right: bool | None
    filled: bool = False
    drawn: int | None = None
    affordance: Affordance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One member of a pair with what was decided on it.

    Attributes:
        task: the instruction, with what differs from the other member's.
        threshold: place of 1 - q-hat on the bars, percent; None if it lies on none.
        exchanges: questions with their answers, the data's first.
        final: what was done in the end, if something was asked before.
        prompts: by role; `raw` what was written, likewise.
    """

    entry: Entry
    task: Sequence[Piece]
    previous: Sequence[str]
    step: str
    needed: bool | None
    rows: tuple[OptionRow, ...]
    threshold: float | None
    exchanges: tuple[tuple[str, str], ...]
    final: str
    prompts: tuple[tuple[str, str], ...]
    raw: tuple[tuple[str, str], ...]
    calls: Sequence[ModelCall]


def decisions_page(visit: Visit, card: RunCard, kept: CachedReports) -> Page:
    """Return the list, and the pair that the address names."""
    reader, read = kept.reader, kept_run(kept, card.run.id)
    under = laid(read, dict(visit.at.settings).get("target_success", ""))
    every = entries(read, under)
    listed = [entry for entry in every if _fits(visit, entry)]
    shown = next((entry for entry in every if entry.decision.episode_id == visit.at.episode), None)
    if visit.at.episode and shown is None:
        raise InputError(visit.t("research.ambik.decision.unknown", episode=visit.at.episode))
    ids = [entry.decision.episode_id for entry in listed]
    place = ids.index(visit.at.episode) if visit.at.episode in ids else None
    return visit.page(
        "ambik_decisions",
        live=card.live and shown is None,
        card=card,
        tab="dialogues",
        read=read,
        under=under,
        entries=listed[:SHOWN],
        found=len(listed),
        total=len(every),
        types=list(dict.fromkeys(ready.item.type for ready in every)),
        outcomes=OUTCOMES,
        asked=ASKED,
        task_of=task_of,
        shown=shown,
        pair=shown.item.pair if shown and isinstance(shown.item, PairItem) else None,
        things=objects_of(shown.item) if shown else (),
        appliances=appliances_of(shown.item) if shown else (),
        columns=columns(reader, every, shown, under) if shown else (),
        previous=ids[place - 1] if place else None,
        next=ids[place + 1] if place is not None and place + 1 < len(ids) else None,
    )


def entries(read: RunRead, under: Laid) -> tuple[Entry, ...]:
    """Return the decisions of a run under a target, in the order in which they were made."""
    outcomes: Sequence[Outcome | None] = under.outcomes or [None] * len(read.ready)
    return tuple(_entry(ready, outcome, under) for ready, outcome in zip(read.ready, outcomes, strict=True))


def columns(reader: LogReader, every: Sequence[Entry], shown: Entry, under: Laid) -> tuple[Column, ...]:
    """Return the decision and that on the other member of its pair, by the same person if people decide."""
    other = _other(every, shown)
    both = [shown] if other is None else sorted((shown, other), key=lambda entry: entry.item.id)
    texts = {id(entry): task_of(entry.item) for entry in both}
    base = texts[id(both[-1])]
    return tuple(
        _column(reader, entry, under, word_diff(base, texts[id(entry)]) if other else word_diff(base, base))
        for entry in both
    )


def _entry(ready: Prepared, outcome: Outcome | None, under: Laid) -> Entry:
    item = ready.decision.item
    judged = None if outcome is None else asked_well(outcome, under.settings)
    done = is_right(item, outcome.action if outcome else ready.best)
    return Entry(ready, outcome, cluster_of(item), None if judged is None else bool(judged), done)


def _other(every: Sequence[Entry], shown: Entry) -> Entry | None:
    there = [entry for entry in every if entry.cluster == shown.cluster and entry.item.id != shown.item.id]
    same = [entry for entry in there if entry.decision.generator == shown.decision.generator]
    return next(iter(same or there), None)


def _fits(visit: Visit, entry: Entry) -> bool:
    at = visit.at
    text = at.text.lower().strip()
    asks = entry.outcome is not None and entry.outcome.help
    return (
        at.type in ("", entry.item.type)
        and (not at.asked or (entry.outcome is not None and asks == (at.asked == "yes")))
        and (not at.outcome or at.outcome in entry.kinds)
        and (not text or text in f"{task_of(entry.item)} {entry.item.id}".lower())
    )


def _column(reader: LogReader, entry: Entry, under: Laid, task: Sequence[Piece]) -> Column:
    id = entry.decision.episode_id
    made = _decided(reader, id, entry.item)
    first, last = (made[0], made[-1]) if made else (entry.decision, entry.decision)
    asked = tuple((each.question, each.answer) for each in made if each.asked)
    return Column(
        entry=entry,
        task=task,
        previous=previous_of(entry.item),
        step=step_of(entry.item),
        needed=needs_question(entry.item, entry.decision.dialogue),
        rows=option_rows(entry),
        threshold=_threshold(entry, under),
        exchanges=(*exchange_of(entry.item, entry.decision.dialogue), *asked),
        final="" if len(made) < 2 else last.action,
        prompts=first.prompts,
        raw=first.raw,
        calls=reader.model_calls(episode_id=id),
    )


def _decided(reader: LogReader, id: str, item: DecideItem) -> tuple[Decision, ...]:
    ending = reader.ending(id)
    if ending is None:
        return ()
    return decisions_of(Played(reader.episode(id), item, tuple(reader.turns(id)), ending))


def option_rows(entry: Entry) -> tuple[OptionRow, ...]:
    """Return what could be chosen, with its scores; of people and built-in robots what they were offered."""
    decision, predicted = entry.decision, entry.outcome.predicted if entry.outcome else ()
    scored = {each.letter or each.text: each for each in entry.ready.scored}
    if decision.method not in CONFORMAL:
        right = {key: each.acceptable for key, each in scored.items()}
        offered = dict.fromkeys([*entry.item.options, *scored]) if decision.chosen is not None else scored
        return tuple(OptionRow("", text, None, None, text in predicted, right.get(text)) for text in offered)
    return tuple(
        OptionRow(
            each.letter,
            each.text,
            _percent(1 - each.nonconformity),
            each.nonconformity,
            each.text in predicted,
            each.acceptable,
            each.letter in decision.filled,
            decision.samples.get(each.text),
            decision.affordance.get(each.letter),
        )
        for each in sorted(entry.ready.scored, key=lambda each: each.nonconformity)
    )


def _threshold(entry: Entry, under: Laid) -> float | None:
    """Return the threshold in per cent; None where the rule, as of the published code, has another scale."""
    if entry.outcome is None or under.calibrated is None or under.settings.cp_rule != "split":
        return None
    place = 1 - under.calibrated.q_hat
    return _percent(place) if math.isfinite(place) else None


def _percent(share: float) -> float:
    return round(100 * min(max(share, 0.0), 1.0), 2)
