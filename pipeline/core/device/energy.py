"""Joules that the board took, from what meters it has; without one there is no number. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.core.device.sysfs import Energy
    from pipeline.core.vocabulary import IncidentId

_BOARD = ("vdd_in", "vin", "pom_5v_in", "board", "total")  # names of the rail that everything hangs on
_WATTS = {"uw": 1e-6, "mw": 1e-3}


def meters(found: Sequence[Energy]) -> list[Energy]:
    """Those that together count the device once.

    The packages of RAPL, whose parts are counted in them; else the rail that feeds the board; else the only meter there
    is. Of several that may overlap, none: a number that is twice too high is worse than none.
    """
    readable = [one for one in found if one.readable]
    packages = [one for one in readable if one.kind == "rapl" and one.name.startswith("package")]
    if packages:
        return packages
    others = [one for one in readable if one.kind != "rapl"]
    rails = [one for one in others if one.name.lower() in _BOARD]
    return rails[:1] or (others if len(others) == 1 else [])


def joules(meter: Energy, before: int, after: int, seconds: float, volts_mv: int | None = None) -> float | None:
    """What a meter counted between two readings.

    Args:
        meter: Which.
        before: What it said.
        after: What it says.
        seconds: Between them.
        volts_mv: Of a meter of current, what its voltage is.

    Returns:
        Joules; None: it cannot be told, as a counter began anew and does not say where.
    """
    if meter.unit == "uj":
        counted = after - before
        if counted < 0:
            if meter.wraps_at is None:
                return None
            counted += meter.wraps_at
        return counted * 1e-6
    if meter.unit == "ma":
        return None if volts_mv is None else after * volts_mv * 1e-6 * seconds
    return after * _WATTS[meter.unit] * seconds


class Shares(NamedTuple):
    """What the device took for each incident.

    Attributes:
        total_j: All that it has taken since the daemon began; None: nothing measures it.
        of: Joules by incident.
    """

    total_j: float | None = None
    of: Mapping[IncidentId, float] = {}


def step(shares: Shares, total_j: float | None, incidents: Sequence[IncidentId]) -> Shares:
    """Share out among incidents what the device took since the last time; a count that began anew tells nothing."""
    before = shares.total_j
    if total_j is None or before is None or total_j < before or not incidents:
        return shares._replace(total_j=total_j)
    each = (total_j - before) / len(incidents)
    return Shares(total_j, {**shares.of, **{one: shares.of.get(one, 0.0) + each for one in incidents}})


def forgotten(shares: Shares, incident: IncidentId) -> Shares:
    """Forget an incident that is over."""
    return shares._replace(of={one: spent for one, spent in shares.of.items() if one != incident})
