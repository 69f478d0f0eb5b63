"""Pure functions from a logged decision to its prediction set and whether the robot asks (spec 7, 8).

`prepare` computes nonconformities from a `Decision` and `Settings`; `calibrate` computes a threshold from
those of calibration items; `outcome` applies a threshold to a decision. A prepared decision can be reused
for any number of thresholds.

``cp_rule = "reference"`` follows the published code instead (spec 8.1 to 8.3): a temperature of 1, the
pooled scores of all right options, their upper quantile, and sets of the options with scores above it. The
``q_hat`` of a `Calibrated` is then that "CP value", on the scale of the scores.
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
"""The nonconformity of a true answer that is not among the options, if scores are probabilities."""


@dataclass(frozen=True, slots=True)
class ScoredDecision:
    """A decision with the nonconformities of its candidates, ready for any threshold.

    Attributes:
        known: True if the data say which candidates are right.
        best: the action that would be done without asking; empty if there is none.
        returned: the options whose letters the chooser returned, once per occurrence; with ``raw_top5`` all
            tokens that KnowNo's chooser returned, also those that are no option.
    """

    decision: Decision
    scored: tuple[ScoredCandidate, ...]
    known: bool
    best: str = ""
    returned: tuple[ScoredCandidate, ...] = ()


def prepare(decision: Decision, settings: Settings) -> ScoredDecision:
    """Score the candidates of a decision, for use with any threshold.

    Raises:
        InputError: if the decision lacks data for its method's score, or a setting is out of range.
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
    scored = tuple(rows.values())
    return ScoredDecision(decision, scored, right is not None, _best_option(decision, scored), returned)


def _ensure_prepared(decision: Decision | ScoredDecision, settings: Settings) -> ScoredDecision:
    return decision if isinstance(decision, ScoredDecision) else prepare(decision, settings)


def calibrate(
    decisions: Sequence[Decision | ScoredDecision], settings: Settings, run: str = ""
) -> Calibrated:
    """Compute the threshold from calibration decisions.

    Items without a known right option are left out and counted, and so are repeats of an item after its first
    decision. With ``cp_rule = "reference"``, n is the number of right options.

    Raises:
        InputError: if they are not decisions of one conformal method, or cannot be scored.
    """
    ready = [_ensure_prepared(each, settings) for each in decisions]
    methods = list(dict.fromkeys(each.decision.method for each in ready))
    if len(methods) > 1 or any(method not in CONFORMAL for method in methods):
        names = ", ".join(methods)
        raise InputError(
            f"a calibration needs decisions of one method of {', '.join(CONFORMAL)}; these are of {names}"
        )
    # Repeats of an item are not independent: the guarantee rests on one observation per item.
    items: dict[str, ScoredDecision] = {}
    for each in ready:
        if each.known > items.setdefault(each.decision.task, each).known:
            items[each.decision.task] = each
    known = [item for item in items.values() if item.known]
    if settings.cp_rule == "reference":
        values = [score for item in known for score in _right_scores(item)]
    else:
        values = [_true_nonconformity(item) for item in known]
    epsilon = conformal.epsilon_of(settings.target_success)
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


def _is_unaffordable(ready: ScoredDecision) -> bool:
    """Return True if every right option has LAP affordance 0, so that its score can only be 0."""
    affordance = ready.decision.affordance
    letters = (option.letter for option in ready.scored if option.acceptable)
    right = [affordance[letter].score for letter in letters if letter in affordance]
    return bool(right) and not any(right)


def recalibrate(calibrated: Calibrated, settings: Settings) -> Calibrated:
    """Return a calibration recomputed for another target or quantile; no decisions are needed.

    Raises:
        InputError: if the calibration was stored without its nonconformities.
    """
    if not calibrated.complete:
        raise InputError("this calibration has no nonconformities; calibrate on the decisions of its run")
    epsilon = conformal.epsilon_of(settings.target_success)
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
    """Return a decision's prediction set, whether the robot asks, and the action it would do.

    Raises:
        InputError: if a conformal method has no calibration, or one made with other score settings.
    """
    ready = _ensure_prepared(made, settings)
    decision = ready.decision
    if decision.method in CONFORMAL and decision.was_made:
        if calibrated is None:
            raise InputError(
                f"{NAMES[decision.method]} has no prediction set without a calibration "
                f"(decision {decision.episode_id}); name a calibration run"
            )
        check_same_scores(decision, calibrated, settings)
    return apply_threshold(ready, math.inf if calibrated is None else calibrated.q_hat, settings)


def apply_threshold(ready: ScoredDecision, q_hat: float, settings: Settings) -> Outcome:
    """Return the outcome under a numeric threshold; a decision that was never made has an empty set."""
    decision = ready.decision
    if not decision.was_made:
        return Outcome(decision=decision, predicted=(), help=bool(decision.asked), covered=False)
    members = [option for option in ready.scored if _is_in(option, q_hat, decision, settings)]
    kept = members
    if settings.metrics == "paper":
        kept = [member for member in members if not _fills(member, decision)]
    return Outcome(
        decision=decision,
        predicted=tuple(option.text for option in kept),
        help=_asks(ready, members, kept, q_hat, settings),
        removed=len(members) - len(kept),
        covered=any(option.acceptable for option in members) if ready.known else None,
        action=ready.best,
    )


def check_same_scores(decision: Decision, calibrated: Calibrated, settings: Settings) -> None:
    """Check that a calibration was made with the same score settings; skipped if it does not store them.

    Raises:
        InputError: names the setting that differs.
    """
    if not calibrated.settings:
        return
    known = {name: calibrated.settings[name] for name in asdict(DEFAULT) if name in calibrated.settings}
    then = _score_settings(decision.method, replace(DEFAULT, **known))
    for name, value in _score_settings(decision.method, settings).items():
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
        return _lofree_scores(decision, settings)
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
    if settings.cp_rule == "reference":  # in that code affordance is always 1, and confidence an exponent
        return {letter: math.exp(value) if value else 0.0 for letter, value in confidence.items()}
    affordance = {letter: _affordance(decision, letter) for letter in confidence}
    return scoring_rules.with_affordance(confidence, affordance, renormalise=settings.renormalise)


def _affordance(decision: Decision, letter: Letter) -> float:
    if letter in decision.affordance:
        return decision.affordance[letter].score
    text = decision.options[letter]
    if is_filler(text):
        return 0.0
    if is_not_listed(text):  # "none of the others" names nothing that could be missing or unsafe
        return 1.0
    raise InputError(f"decision {decision.episode_id}: LAP's option {letter} has no affordance")


def _lofree_scores(decision: Decision, settings: Settings) -> dict[str, float]:
    # Without any similarities in the run, they have no weight in the scores.
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
            f"decision {decision.episode_id}: no similarity was logged for the answer {error.args[0]!r}; "
            "add it, or set similarity_weight to 0"
        ) from error


def _returned_scores(
    decision: Decision, rows: Mapping[Letter, ScoredCandidate], settings: Settings
) -> tuple[ScoredCandidate, ...]:
    temperature = _temperature(settings)
    if settings.tokens == "merged" or decision.method == "lap":
        back = scoring_rules.elements(decision.tokens, tuple(rows), temperature, settings.tokens)
        return tuple(rows[letter] for letter in dict.fromkeys(letter for letter, _ in back))
    return tuple(
        replace(rows.get(token, ScoredCandidate(token, 0.0)), nonconformity=1 - share)
        for token, share in scoring_rules.raw_shares(decision.tokens, temperature)
    )


def _true_nonconformity(ready: ScoredDecision) -> float:
    worst = math.inf if ready.decision.method == "lofreecp" else _CERTAIN
    return min((option.nonconformity for option in ready.scored if option.acceptable), default=worst)


def _right_scores(ready: ScoredDecision) -> list[float]:
    right = [option for option in ready.scored if option.acceptable]
    if ready.decision.method == "lofreecp":
        return [option.nonconformity for option in right]
    letters = {option.letter for option in ready.returned}
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
    ready: ScoredDecision,
    members: Sequence[ScoredCandidate],
    kept: Sequence[ScoredCandidate],
    q_hat: float,
    settings: Settings,
) -> bool:
    decision = ready.decision
    if decision.method == "binary":
        return decision.certainty == "uncertain"
    if decision.method == "nohelp":
        return False
    if decision.method not in CONFORMAL and decision.asked is not None:
        return decision.asked
    if settings.help == "size":
        return len(kept) > 1
    # The original rule also counts fillers, a letter twice if it was returned twice, and tokens of no option.
    size = len(members)
    if settings.tokens == "raw_top5" and decision.method == "knowno":
        letters = {option.letter for option in ready.returned}
        size = sum(member.letter not in letters for member in members)
        size += sum(_is_in(option, q_hat, decision, settings) for option in ready.returned)
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
    return REFERENCE_TEMPERATURE if settings.cp_rule == "reference" else settings.temperature
