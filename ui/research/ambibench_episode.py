"""One episode of AmbiBench: its prompt, its trials one by one, and what the best learner thought."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from logs import LogReader
from simulator.ambibench.benchmark import BENCHMARK
from simulator.ambibench.features import PAIRS
from simulator.ambibench.items import item_from_row
from simulator.ambibench.oracle import best_guess
from simulator.ambibench.reporting.pages import posterior_figure
from simulator.ambibench.show import hypothesis, rule
from simulator.ambibench.views import Replay, ReplayTrial, TextReplay, replay
from ui.declared.pages import link_to
from ui.i18n import Strings
from ui.research.figures import plot
from ui.research.view import Episode, Visit

PLOT: Final = "research.ambibench.plot"
WORDS: Final = link_to(BENCHMARK).name


@dataclass(frozen=True, slots=True)
class Guess:
    """A hypothesis in words, with its probability."""

    text: str
    share: float
    true: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A trial as the page shows it.

    Attributes:
        mark: ``right``, ``wrong`` or ``half``; ``given`` where nothing was asked, ``open`` if nothing was
            answered.
        guesses: the four hypotheses before the label.
        best: what the Bayes-optimal learner says; None if it guesses.
    """

    trial: ReplayTrial
    mark: str
    guesses: tuple[Guess, ...]
    best: str | None


def letters_episode(visit: Visit, reader: LogReader, id: str) -> Episode:
    """Return an episode and its plot."""
    t, episode, turns = visit.t, reader.episode(id), reader.turns(id)
    item, ending = item_from_row(reader.item(episode.item_hash)), reader.ending(id)
    actor = next(iter(episode.seats.values()))
    about: dict[str, Any] = {
        "name": reader.item(episode.item_hash).name,
        "status": ending.status if ending else "open",
        "actor": actor,
        "comment": next((turn.text for turn in turns if turn.payload.get("kind") == "comment"), ""),
        "calls": reader.model_calls(episode_id=id),
        "item": item,
        "texts": None,
    }
    ended = replay(item, turns, reader.judgments(episode_id=id))
    if isinstance(ended, TextReplay):
        return Episode("ambibench_episodes", {"shown": {**about, "texts": ended}})
    posterior = posterior_figure(ended.trials, actor)
    drawn = plot(t, posterior, t(f"{PLOT}.posterior"), t(f"{PLOT}.posterior_note"))
    shown = {
        **about,
        "trials": [_shown(t, ended, trial) for trial in ended.trials],
        "asked": len(ended.scores),
        "correct": ended.correct,
        "oracle": ended.oracle,
        "known": ended.known,
        "rule": t.say(WORDS, rule(ended.item.hypothesis)),
        "pair": PAIRS[ended.item.pair],
        "steps": json.dumps([trial.k for trial in ended.trials]),
        "first": ended.scores[0].k - 1 if ended.scores else len(ended.trials) - 1,
    }
    return Episode("ambibench_episodes", {"shown": shown}, (drawn,))


def _shown(t: Strings, episode: Replay, trial: ReplayTrial) -> Shown:
    guesses = tuple(
        Guess(
            t.say(WORDS, hypothesis(each)),
            share,
            each == episode.item.hypothesis,
        )
        for each, share in trial.belief.posterior.items()
    )
    return Shown(trial, _mark(trial), guesses, best_guess(trial.belief.p_x))


def _mark(trial: ReplayTrial) -> str:
    if trial.score is None:
        return "open" if trial.shown else "given"
    return {1.0: "right", 0.0: "wrong"}.get(trial.score.correct, "half")
