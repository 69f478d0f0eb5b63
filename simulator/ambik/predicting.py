"""Of what a robot logged, a prediction set and whether it asks (spec 7, 8): pure, so it can be asked again.

`Decision` and `Settings` give nonconformities (`prepared`); those of calibration items give a threshold
(`calibrate`); a decision and a threshold give an `Outcome` (`outcome`). What was `prepared` once serves all
thresholds that are laid on it.

Under ``cp_rule = "reference"`` the published code's rule holds instead (spec 8.1 to 8.3): a temperature of 1,
scores of all right options pooled, their upper quantile, and sets of what lies above it. A `Calibrated`'s
``q_hat`` then is that "CP value", on the scale of the scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from simulator.ambik import conformal, scoring_rules
from simulator.ambik.naming import is_filler, is_not_listed
from simulator.ambik.records import Calibrated, Decision, Letter, Outcome, ScoredCandidate
from simulator.ambik.terms import CONFORMAL, DEFAULT, NAMES, Quantile, Settings
from simulator.ambik.truth import acceptable_options, candidates
from simulator.errors import InputError

REFERENCE_TEMPERATURE: Final = 1.0
_CERTAIN: Final = 1.0
"""Nonconformity of a true answer that is not among the options, where scores are probabilities."""


@dataclass(frozen=True, slots=True)
class ScoredDecision:
    """A decision with the nonconformities of its candidates: all that thresholds are laid on.

    Attributes:
        scored: its candidates.
        known: whether the data say which of them are right.
        best: what it would do without asking; empty if there is nothing.
        returned: letters that came back from the chooser, one for each time.
    """

    decision: Decision
    scored: tuple[ScoredCandidate, ...]
    known: bool
    best: str = ""
    returned: tuple[ScoredCandidate, ...] = ()


def prepared(decision: Decision, settings: Settings) -> ScoredDecision:
    """Return a decision, ready for thresholds.

    Raises:
        InputError: if the decision lacks what its method's score is made of, or a setting is out of range.
    """
    if not decision.was_made:
        return ScoredDecision(decision, (), False, "", ())
    right, texts = acceptable_options(decision, settings), candidates(decision)
    values = _nonconformities(decision, texts, settings)
    lettered = decision.method in ("knowno", "lap")
    rows = {
        key: ScoredCandidate(
            text, values[key], key if lettered else "", None if right is None else key in right
        )
        for key, text in texts.items()
    }
    returned = _returned_scores(decision, rows, settings) if lettered else ()
    every = tuple(rows.values())
    return ScoredDecision(decision, every, right is not None, _best_option(decision, every), returned)


def _as_prepared(made: Decision | ScoredDecision, settings: Settings) -> ScoredDecision:
    return made if isinstance(made, ScoredDecision) else prepared(made, settings)


def calibrate(
    decisions: Sequence[Decision | ScoredDecision], settings: Settings, run: str = ""
) -> Calibrated:
    """Return the threshold that calibration decisions give.

    Items of which the data do not say what is right are left out and counted, and so are the repeats of an
    item: its first decision counts. With ``cp_rule = "reference"``, n is the number of right options.

    Raises:
        InputError: if they are not of one conformal method, or cannot be scored.
    """
    ready = [_as_prepared(each, settings) for each in decisions]
    methods = list(dict.fromkeys(each.decision.method for each in ready))
    if len(methods) > 1 or any(method not in CONFORMAL for method in methods):
        names = ", ".join(methods)
        raise InputError(f"a calibration is of one of {', '.join(CONFORMAL)}; these decisions are of {names}")
    # Repeats of an item hang together: the promise rests on as many observations as there are items.
    items: dict[str, ScoredDecision] = {}
    for each in ready:
        if each.known > items.setdefault(each.decision.task, each).known:
            items[each.decision.task] = each
    known = [item for item in items.values() if item.known]
    if settings.cp_rule == "reference":
        values = [score for item in known for score in _right_scores(item)]
    else:
        values = [_true_nonconformity(item) for item in known]
    epsilon = conformal.epsilon_of(_target(settings))
    return Calibrated(
        q_hat=conformal.threshold(values, epsilon, _quantile(settings)),
        n=len(values),
        epsilon=float(epsilon),
        rank=conformal.rank(len(values), epsilon),
        nonconformities=tuple(values),
        without=sum(not any(option.acceptable for option in item.scored) for item in known),
        repeats=len(ready) - len(items),
        unknown=len(items) - len(known),
        unaffordable=sum(map(_is_unaffordable, known)),
        run=run,
        settings=asdict(settings),
    )


def _is_unaffordable(prepared: ScoredDecision) -> bool:
    """Return True if no right option of LAP's can have a score above 0, for want of affordance."""
    affordance = prepared.decision.affordance
    letters = (option.letter for option in prepared.scored if option.acceptable)
    right = [affordance[letter].score for letter in letters if letter in affordance]
    return bool(right) and not any(right)


def recalibrated(calibrated: Calibrated, settings: Settings) -> Calibrated:
    """Return the same calibration with another target or quantile: no decisions are needed.

    Raises:
        InputError: if the calibration's nonconformities are not kept.
    """
    if len(calibrated.nonconformities) != calibrated.n:
        raise InputError("this calibration keeps no nonconformities; calibrate on the decisions of its run")
    epsilon = conformal.epsilon_of(_target(settings))
    return replace(
        calibrated,
        q_hat=conformal.threshold(calibrated.nonconformities, epsilon, _quantile(settings)),
        epsilon=float(epsilon),
        rank=conformal.rank(calibrated.n, epsilon),
        settings={
            **calibrated.settings,
            "target_success": settings.target_success,
            "quantile": settings.quantile,
        },
    )


def outcome(made: Decision | ScoredDecision, calibrated: Calibrated | None, settings: Settings) -> Outcome:
    """Return a decision's prediction set, whether the robot asks, and what it would do.

    Raises:
        InputError: if a conformal method has no calibration, or one of other scores.
    """
    ready = _as_prepared(made, settings)
    decision = ready.decision
    if decision.method in CONFORMAL and decision.was_made:
        if calibrated is None:
            raise InputError(
                f"{NAMES[decision.method]} has no prediction set without a calibration "
                f"(decision {decision.episode_id}); name a calibration run"
            )
        check_same_scores(decision, calibrated, settings)
    return outcome_prepared(ready, math.inf if calibrated is None else calibrated.q_hat, settings)


def outcome_prepared(prepared: ScoredDecision, q_hat: float, settings: Settings) -> Outcome:
    """Return the outcome under a threshold that is a number; a decision never made has an empty set."""
    decision = prepared.decision
    if not decision.was_made:
        return Outcome(decision=decision, predicted=(), help=bool(decision.asked), covered=False)
    members = [option for option in prepared.scored if _is_in(option, q_hat, decision, settings)]
    kept = members
    if settings.metrics == "paper":
        kept = [member for member in members if not _fills(member, decision)]
    return Outcome(
        decision=decision,
        predicted=tuple(option.text for option in kept),
        help=_asks(prepared, members, kept, q_hat, settings),
        removed=len(members) - len(kept),
        covered=any(option.acceptable for option in members) if prepared.known else None,
        action=prepared.best,
    )


def check_same_scores(decision: Decision, calibrated: Calibrated, settings: Settings) -> None:
    """Refuse a threshold for scores that are made otherwise than those it was taken from.

    Raises:
        InputError: naming the switch. Nothing is checked where a calibration does not say its settings.
    """
    if not calibrated.settings:
        return
    known = {name: calibrated.settings[name] for name in asdict(DEFAULT) if name in calibrated.settings}
    both = (replace(DEFAULT, **known), settings)
    then, now = (_score_settings(decision.method, each) for each in both)
    for name, value in now.items():
        if then[name] != value:
            raise InputError(
                f"the calibration{f' {calibrated.run}' if calibrated.run else ''} was made with {name} = "
                f"{then[name]}, the sets with {value}; calibrate with the same value"
            )


def _score_settings(method: str, settings: Settings) -> dict[str, Any]:
    if method == "lofreecp":
        names = ["cp_rule", "entropy_weight", "similarity_weight"]
        return {name: getattr(settings, name) for name in names}
    names = ["cp_rule", "tokens", *(["renormalise"] if method == "lap" else [])]
    return {**{name: getattr(settings, name) for name in names}, "temperature": _temperature(settings)}


def _nonconformities(decision: Decision, texts: Mapping[str, str], settings: Settings) -> dict[str, float]:
    if decision.method == "lofreecp":
        return _of_samples(decision, settings)
    if decision.method not in CONFORMAL:
        return dict.fromkeys(texts, 0.0)
    confidence = scoring_rules.confidences(
        decision.tokens, tuple(texts), _temperature(settings), settings.tokens
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


def _returned_scores(
    decision: Decision, rows: Mapping[Letter, ScoredCandidate], settings: Settings
) -> tuple[ScoredCandidate, ...]:
    back = scoring_rules.elements(decision.tokens, tuple(rows), _temperature(settings), settings.tokens)
    if settings.tokens == "merged" or decision.method == "lap":
        return tuple(rows[letter] for letter in dict.fromkeys(letter for letter, _ in back))
    return tuple(replace(rows[letter], nonconformity=1 - share) for letter, share in back)


def _true_nonconformity(prepared: ScoredDecision) -> float:
    worst = math.inf if prepared.decision.method == "lofreecp" else _CERTAIN
    return min((option.nonconformity for option in prepared.scored if option.acceptable), default=worst)


def _right_scores(prepared: ScoredDecision) -> list[float]:
    right = [option for option in prepared.scored if option.acceptable]
    if prepared.decision.method == "lofreecp":
        return [option.nonconformity for option in right]
    letters = {option.letter for option in prepared.returned}
    return [1 - option.nonconformity for option in right if option.letter in letters]


def _is_in(scored: ScoredCandidate, q_hat: float, decision: Decision, settings: Settings) -> bool:
    if decision.method not in CONFORMAL:
        return True
    if settings.cp_rule == "split":
        return scored.nonconformity <= q_hat
    if decision.method == "knowno":
        return 1 - scored.nonconformity > q_hat
    score = scored.nonconformity if decision.method == "lofreecp" else 1 - scored.nonconformity
    return score >= q_hat


def _asks(
    prepared: ScoredDecision,
    members: Sequence[ScoredCandidate],
    kept: Sequence[ScoredCandidate],
    q_hat: float,
    settings: Settings,
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
        letters = {option.letter for option in prepared.returned}
        size = sum(member.letter not in letters for member in members)
        size += sum(_is_in(option, q_hat, decision, settings) for option in prepared.returned)
    return size != 1 or any(is_not_listed(member.text) for member in members)


def _best_option(decision: Decision, options: Sequence[ScoredCandidate]) -> str:
    if decision.method not in CONFORMAL and decision.action:
        return decision.action
    listed = (option for option in options if not is_not_listed(option.text))
    actions = [option for option in listed if not _fills(option, decision)]
    return min(actions, key=lambda action: action.nonconformity).text if actions else ""


def _fills(scored: ScoredCandidate, decision: Decision) -> bool:
    return is_filler(scored.text) or (bool(scored.letter) and scored.letter in decision.filled)


def _quantile(settings: Settings) -> Quantile:
    return "numpy_linear" if settings.cp_rule == "reference" else settings.quantile


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
