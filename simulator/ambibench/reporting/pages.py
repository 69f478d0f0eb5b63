"""The figure of one episode: what it may have been about, trial by trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simulator.ambibench.reporting.figures import EXAMPLE
from simulator.ambibench.views import ReplayTrial
from simulator.figures import Figure, Line, Panel, Stacked

ORACLE: Final = "oracle"


def posterior_figure(trials: Sequence[ReplayTrial], actor: str) -> Figure:
    """Return the four hypotheses before each label, and what the right one was worth.

    Args:
        trials: every position of a prompt.
        actor: who answered; without probabilities it is drawn at 1 where it was right and at 0 where not.
    """
    ks = [trial.k for trial in trials]
    names = [str(k) for k in ks]
    parts = [
        Stacked(f"{task.value} is X", names, [trial.belief.posterior[task] for trial in trials])
        for task in trials[0].belief.posterior
    ]
    lines = [Line(ORACLE, ks, [trial.belief.p_gold for trial in trials], style="dashed", colour="ink")]
    known = [(trial.k, trial.p_gold) for trial in trials if trial.p_gold is not None]
    right = [(trial.k, trial.score.correct) for trial in trials if trial.score is not None]
    if known or right:
        answered, values = zip(*(known or right), strict=True)
        lines.append(Line(actor, answered, values, style="solid" if known else "dotted", colour="rose"))
    label = "probability" if known else "probability; 1 right, 0 wrong"
    panels = (
        Panel("What the task may be", EXAMPLE, "probability before the label", parts),
        Panel("The right label", EXAMPLE, label, lines, x_ticks=ks),
    )
    return Figure("posterior", "The four hypotheses, trial by trial", panels, columns=1)
