"""Of what a robot logged, a prediction set and whether it asks (spec 7, 8): pure, so it can be asked again.

`Decision` and `Settings` give nonconformities (`scored`); those of calibration items give a threshold
(`calibrate`); a decision and a threshold give an `Outcome` (`outcome`).

Under ``cp_rule = "reference"`` the published code's rule holds instead (spec 8.1 to 8.3): a temperature of 1,
scores of all right options pooled, their upper quantile, and sets of what lies above it. A `Calibrated`'s
``q_hat`` then is that "CP value", on the scale of the scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from simulator.ambik import conformal
from simulator.ambik.naming import is_filler, is_not_listed
from simulator.ambik.records import Calibrated, Decision, Letter, Outcome, Scored
from simulator.ambik.sets import scoring_rules
from simulator.ambik.sets.truth import acceptable_options, candidates
from simulator.ambik.settings import DEFAULT, Settings
from simulator.ambik.terms import CONFORMAL, NAMES
from simulator.errors import InputError

REFERENCE_TEMPERATURE: Final = 1.0
_CERTAIN: Final = 1.0
"""Nonconformity of a true answer that is not among the options, where scores are probabilities."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A decision with the nonconformities of its candidates: all that thresholds are laid on.

    Attributes:
        decision: what it is of.
        scored: its candidates.
        known: whether the data say which of them are right.
        best: what it would do without asking; empty if there is nothing.
        returned: letters that came back from the chooser, one for each time.
    """

    decision: Decision
    scored: tuple[Scored, ...]
    known: bool
    best: str = ""
    returned: tuple[Scored, ...] = ()


def scored(decision: Decision, settings: Settings) -> tuple[Scored, ...]:
    """Return a decision's candidates with their nonconformities, in the order of options or samples.

    Raises:
        InputError: if the decision lacks what its method's score is made of, or a setting is out of range.
    """
    return prepared(decision, settings).scored


def prepared(decision: Decision, settings: Settings) -> Prepared:
    """Return a decision, ready for thresholds; see `scored`."""
    if not decision.was_made:
        return Prepared(decision, (), False, "", ())
    right = acceptable_options(decision, settings)
    of = candidates(decision)
    values = _nonconformities(decision, of, settings)
    lettered = decision.method in ("knowno", "lap")
    rows = {
        key: Scored(text, values[key], key if lettered else "", None if right is None else key in right)
        for key, text in of.items()
    }
    returned = _returned(decision, rows, settings) if lettered else ()
    every = tuple(rows.values())
    return Prepared(decision, every, right is not None, _best(decision, every), returned)


def calibrate(decisions: Sequence[Decision], settings: Settings, run: str = "") -> Calibrated:
    """Return the threshold that calibration decisions give.

    Items of which the data do not say what is right are left out and counted, and so are the repeats of an
    item: its first decision counts. With ``cp_rule =
    "reference"``, n is the number of right options, not of items.

    Args:
        decisions: of the calibration items, of one method.
        settings: target, quantile, and what the scores are made of.
        run: where they come from.

    Raises:
        InputError: if they are not of one conformal method, or cannot be scored.
    """
    return calibrate_prepared([prepared(decision, settings) for decision in decisions], settings, run)


def calibrate_prepared(prepareds: Sequence[Prepared], settings: Settings, run: str = "") -> Calibrated:
    """`calibrate`, of decisions that have been scored."""
    methods = list(dict.fromkeys(prepared.decision.method for prepared in prepareds))
    if len(methods) > 1 or any(method not in CONFORMAL for method in methods):
        names = ", ".join(methods)
        raise InputError(f"a calibration is of one of {', '.join(CONFORMAL)}; these decisions are of {names}")
    # Repeats of an item hang together: the promise rests on as many observations as there are items.
    items: dict[str, Prepared] = {}
    for prepared in prepareds:
        items.setdefault(prepared.decision.task, prepared)
        if prepared.known and not items[prepared.decision.task].known:
            items[prepared.decision.task] = prepared
    known = [item for item in items.values() if item.known]
    if settings.cp_rule == "reference":
        values = [score for one in known for score in _right_scores(one)]
        quantile: conformal.Quantile = "numpy_linear"
    else:
        values = [_true_nonconformity(one) for one in known]
        quantile = settings.quantile
    epsilon = conformal.epsilon_of(_target(settings))
    return Calibrated(
        q_hat=conformal.threshold(values, epsilon, quantile),
        n=len(values),
        epsilon=float(epsilon),
        rank=conformal.rank(len(values), epsilon),
        nonconformities=tuple(values),
        without=sum(not any(one.acceptable for one in some.scored) for some in known),
        repeats=len(prepareds) - len(items),
        unknown=len(items) - len(known),
        unaffordable=sum(map(_is_unaffordable, known)),
        run=run,
        settings=asdict(settings),
    )


def _is_unaffordable(prepared: Prepared) -> bool:
    """Return True if no right option of LAP's can have a score above 0, for want of affordance."""
    right = [
        one.letter for one in prepared.scored if one.acceptable and one.letter in prepared.decision.affordance
    ]
    return bool(right) and all(prepared.decision.affordance[letter].score == 0 for letter in right)


def recalibrated(calibrated: Calibrated, settings: Settings) -> Calibrated:
    """Return the same calibration with another target or quantile: no decisions are needed.

    Raises:
        InputError: if the calibration's nonconformities are not kept.
    """
    if len(calibrated.nonconformities) != calibrated.n:
        raise InputError("this calibration keeps no nonconformities; calibrate on the decisions of its run")
    epsilon = conformal.epsilon_of(_target(settings))
    quantile = "numpy_linear" if settings.cp_rule == "reference" else settings.quantile
    return replace(
        calibrated,
        q_hat=conformal.threshold(calibrated.nonconformities, epsilon, quantile),
        epsilon=float(epsilon),
        rank=conformal.rank(calibrated.n, epsilon),
        settings={
            **calibrated.settings,
            "target_success": settings.target_success,
            "quantile": settings.quantile,
        },
    )


def outcome(decision: Decision, calibrated: Calibrated | None, settings: Settings) -> Outcome:
    """Return a decision's prediction set, whether the robot asks, and what it would do.

    Args:
        decision: of any method, of the built-in robot or of a person.
        calibrated: of the same method and scores; needed for the conformal methods alone.
        settings: how sets are made.

    Raises:
        InputError: if a conformal method has no calibration, or one of other scores.
    """
    return outcome_under(prepared(decision, settings), calibrated, settings)


def outcome_under(prepared: Prepared, calibrated: Calibrated | None, settings: Settings) -> Outcome:
    """`outcome`, of a decision that has been scored."""
    decision = prepared.decision
    if decision.method in CONFORMAL and decision.was_made:
        if calibrated is None:
            raise InputError(
                f"{NAMES[decision.method]} has no prediction set without a calibration "
                f"(decision {decision.episode_id}); name a calibration run"
            )
        check_same_scores(decision, calibrated, settings)
    q_hat = math.inf if calibrated is None else calibrated.q_hat
    return outcome_prepared(prepared, q_hat, settings)


def outcome_prepared(prepared: Prepared, q_hat: float, settings: Settings) -> Outcome:
    """`outcome_under` a threshold that stands as a number; a decision never made has an empty set."""
    decision = prepared.decision
    if not decision.was_made:
        return Outcome(decision=decision, predicted=(), help=bool(decision.asked), covered=False)
    members = [one for one in prepared.scored if _is_in(one, q_hat, decision, settings)]
    kept = members
    if settings.metrics == "paper":
        kept = [member for member in members if not _fills(member, decision)]
    return Outcome(
        decision=decision,
        predicted=tuple(one.text for one in kept),
        help=_asks(prepared, members, kept, q_hat, settings),
        removed=len(members) - len(kept),
        covered=any(member.acceptable for member in members) if prepared.known else None,
        acceptable=any(one.acceptable for one in prepared.scored) if prepared.known else None,
        action=prepared.best,
    )


def check_same_scores(decision: Decision, calibrated: Calibrated, settings: Settings) -> None:
    """A threshold means nothing for scores that are made otherwise than those it was taken from.

    Raises:
        InputError: naming the switch. Nothing is checked where a calibration does not say its settings.
    """
    if not calibrated.settings:
        return
    known = {name: calibrated.settings[name] for name in asdict(DEFAULT) if name in calibrated.settings}
    then, now = (_score_settings(decision.method, one) for one in (replace(DEFAULT, **known), settings))
    for name, value in now.items():
        if then[name] != value:
            raise InputError(
                f"the calibration{f' {calibrated.run}' if calibrated.run else ''} was made with {name} = "
                f"{then[name]}, the sets with {value}; calibrate with the same value"
            )


def _score_settings(method: str, settings: Settings) -> dict[str, Any]:
    found: dict[str, Any] = {"cp_rule": settings.cp_rule}
    if method == "lofreecp":
        found["entropy_weight"] = settings.entropy_weight
        found["similarity_weight"] = settings.similarity_weight
        return found
    found["temperature"] = _temperature(settings)
    found["tokens"] = settings.tokens
    if method == "lap":
        found["renormalise"] = settings.renormalise
    return found


def _nonconformities(decision: Decision, of: Mapping[str, str], settings: Settings) -> dict[str, float]:
    if decision.method == "lofreecp":
        return _of_samples(decision, settings)
    if decision.method not in CONFORMAL:
        return dict.fromkeys(of, 0.0)
    confidence = scoring_rules.confidences(
        decision.tokens, tuple(of), _temperature(settings), settings.tokens
    )
    if decision.method == "lap":
        confidence = _with_affordance(decision, confidence, settings)
    return {letter: 1 - value for letter, value in confidence.items()}


def _with_affordance(
    decision: Decision, confidence: Mapping[Letter, float], settings: Settings
) -> dict[Letter, float]:
    if settings.cp_rule == "reference":  # there it is always 1, and the confidence enters as an exponent
        return {letter: math.exp(value) if value else 0.0 for letter, value in confidence.items()}
    affordance = {letter: _affordance(decision, letter) for letter in confidence}
    return scoring_rules.with_affordance(confidence, affordance, renormalise=settings.renormalise)


def _affordance(decision: Decision, letter: Letter) -> float:
    if letter in decision.affordance:
        return decision.affordance[letter].score
    text = decision.options[letter]
    if is_filler(text):
        return 0.0
    if is_not_listed(text):  # it names nothing that could be missing or unsafe
        return 1.0
    raise InputError(f"decision {decision.episode_id}: LAP's option {letter} has no affordance")


def _of_samples(decision: Decision, settings: Settings) -> dict[str, float]:
    # A run may leave similarities out altogether; then they have no part in the scores.
    weight = settings.similarity_weight if decision.similarities else 0.0
    try:
        return scoring_rules.lofree(
            decision.samples,
            decision.similarities,
            max(decision.draws, sum(decision.samples.values())),
            entropy_weight=settings.entropy_weight,
            similarity_weight=weight,
            reference=settings.cp_rule == "reference",
        )
    except KeyError as error:
        raise InputError(
            f"decision {decision.episode_id}: no similarity of the answer {error.args[0]!r} was logged; "
            "add it, or set similarity_weight to 0"
        ) from error


def _returned(decision: Decision, rows: Mapping[Letter, Scored], settings: Settings) -> tuple[Scored, ...]:
    found = scoring_rules.elements(decision.tokens, tuple(rows), _temperature(settings), settings.tokens)
    if settings.tokens == "merged" or decision.method == "lap":
        return tuple(rows[letter] for letter in dict.fromkeys(letter for letter, _ in found))
    return tuple(replace(rows[letter], nonconformity=1 - share) for letter, share in found)


def _true_nonconformity(prepared: Prepared) -> float:
    worst = math.inf if prepared.decision.method == "lofreecp" else _CERTAIN
    return min((one.nonconformity for one in prepared.scored if one.acceptable), default=worst)


def _right_scores(prepared: Prepared) -> list[float]:
    if prepared.decision.method == "lofreecp":
        return [one.nonconformity for one in prepared.scored if one.acceptable]
    letters = dict.fromkeys(one.letter for one in prepared.returned)
    return [1 - one.nonconformity for one in prepared.scored if one.acceptable and one.letter in letters]


def _is_in(scored: Scored, q_hat: float, decision: Decision, settings: Settings) -> bool:
    if decision.method not in CONFORMAL:
        return True
    if settings.cp_rule == "split":
        return scored.nonconformity <= q_hat
    if decision.method == "knowno":
        return 1 - scored.nonconformity > q_hat
    score = scored.nonconformity if decision.method == "lofreecp" else 1 - scored.nonconformity
    return score >= q_hat


def _asks(
    prepared: Prepared, members: Sequence[Scored], kept: Sequence[Scored], q_hat: float, settings: Settings
) -> bool:
    decision = prepared.decision
    if decision.method == "binary":
        return decision.certainty == "uncertain"
    if decision.method == "nohelp":
        return False
    if decision.method not in CONFORMAL and decision.asked is not None:
        return decision.asked
    if settings.help == "size":
        return len(kept) > 1
    # The original counts what it holds: fillers, and a letter that came back twice as two.
    size = len(members)
    if settings.tokens == "raw_top5" and decision.method == "knowno":
        unseen = [
            member for member in members if member.letter not in {some.letter for some in prepared.returned}
        ]
        size = len(unseen) + sum(_is_in(one, q_hat, decision, settings) for one in prepared.returned)
    return size != 1 or any(is_not_listed(member.text) for member in members)


def _best(decision: Decision, scoreds: Sequence[Scored]) -> str:
    if decision.method not in CONFORMAL and decision.action:
        return decision.action
    actions = [
        scored for scored in scoreds if not _fills(scored, decision) and not is_not_listed(scored.text)
    ]
    return min(actions, key=lambda action: action.nonconformity).text if actions else ""


def _fills(scored: Scored, decision: Decision) -> bool:
    return is_filler(scored.text) or (bool(scored.letter) and scored.letter in decision.filled)


def _temperature(settings: Settings) -> float:
    if settings.cp_rule == "reference":
        return REFERENCE_TEMPERATURE
    if not settings.temperature > 0:
        raise InputError(f"temperature: {settings.temperature} is not above 0")
    return settings.temperature


def _target(settings: Settings) -> float:
    if not 0 <= settings.target_success <= 1:
        raise InputError(f"target_success: {settings.target_success} is no share between 0 and 1")
    return settings.target_success
