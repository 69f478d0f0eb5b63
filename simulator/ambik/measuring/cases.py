"""Unit cases of the metrics against the metrics: by the paper's rule, and as the published code has it."""

from __future__ import annotations

from typing import Any

from simulator.ambik.files.metric_cases import READINGS, MetricCase
from simulator.ambik.intents import parse_intent
from simulator.ambik.measuring import metrics
from simulator.ambik.settings import Metrics


def computed(case: MetricCase, mode: Metrics) -> Any:
    """Return what the metric of a case gives.

    Where the paper can be read in two ways (an intent whose concepts are spread over several options), an
    object with both readings, as the case has it.
    """
    given = case.input
    match case.metric:
        case "ICR":
            return _icr(case, mode)
        case "HR":
            return metrics.hr(given["set_size"])
        case "CHR":
            return metrics.chr_(given["type"], given["set_size"], mode)
        case "SSC":
            cell = given["amb_shortlist"] or ""
            return metrics.ssc(_names(cell), given["prediction_set"], given["type"], mode, cell)
        case "AmbDif":
            return metrics.ambdif(given["size_unambiguous"], given["size_ambiguous"], mode)
        case "AmbDif-Binary":
            return metrics.ambdif_binary(given["unambiguous"], given["ambiguous"], mode)
        case _:
            return metrics.means_by_type(((kind, size) for kind, size in given["rows"]), mode)


def expected(case: MetricCase, mode: Metrics) -> Any:
    """Return what the case says that it is."""
    return case.paper if mode == "paper" else case.reference


def agrees(case: MetricCase, mode: Metrics) -> bool:
    """Return True if both are the same."""
    return _same(computed(case, mode), expected(case, mode))


def _icr(case: MetricCase, mode: Metrics) -> Any:
    text = case.input["user_intent"]
    intent = parse_intent(text) if text else None
    given = case.input["prediction_set"]
    if mode == "paper" and isinstance(case.paper, dict):
        return dict(
            zip(READINGS, (metrics.icr(intent, given, rule) for rule in ("set", "best_option")), strict=True)
        )
    return metrics.icr(intent, given, mode=mode)


def _names(cell: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in cell.split(",") if (name := part.strip())))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if one is None or other is None:
        return one is other
    return abs(float(one) - float(other)) < 1e-12
