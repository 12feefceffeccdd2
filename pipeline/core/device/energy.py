"""Measure the energy of the board in joules, as far as it has meters. Pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.core.device.sysfs import Energy
    from pipeline.core.vocabulary import IncidentId

_BOARD = ("vdd_in", "vin", "pom_5v_in", "board", "total")  # names of the rail that feeds the whole board
_WATTS = {"uw": 1e-6, "mw": 1e-3}


def choose_meters(found: Sequence[Energy]) -> list[Energy]:
    """Choose meters that together count the device exactly once.

    The RAPL packages, which include their parts; else the rail that feeds the board; else the only meter. If several
    meters may overlap, none: a number that is twice too high is worse than none.
    """
    readable = [one for one in found if one.readable]
    packages = [one for one in readable if one.kind == "rapl" and one.name.startswith("package")]
    if packages:
        return packages
    others = [one for one in readable if one.kind != "rapl"]
    rails = [one for one in others if one.name.lower() in _BOARD]
    return rails[:1] or (others if len(others) == 1 else [])


def measure_joules(meter: Energy, before: int, after: int, seconds: float, volts_mv: int | None = None) -> float | None:
    """Compute the energy between two readings of a meter.

    Args:
        meter: The meter.
        before: The first reading.
        after: The second reading.
        seconds: Seconds between the readings.
        volts_mv: For a meter of current, the voltage in millivolts.

    Returns:
        Joules; None if unknown, as a counter wrapped at an unknown value or the voltage is missing.
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
    """The energy of each incident.

    Attributes:
        total_j: Energy of the device since the daemon began, in joules; None if it is not measured.
        of: Joules by incident.
    """

    total_j: float | None = None
    of: Mapping[IncidentId, float] = {}


def share_energy(shares: Shares, total_j: float | None, incidents: Sequence[IncidentId]) -> Shares:
    """Share the energy since the last call among the open incidents; nothing after a restart of the count."""
    before = shares.total_j
    if total_j is None or before is None or total_j < before or not incidents:
        return shares._replace(total_j=total_j)
    each = (total_j - before) / len(incidents)
    return Shares(total_j, {**shares.of, **{one: shares.of.get(one, 0.0) + each for one in incidents}})


def forget(shares: Shares, incident: IncidentId) -> Shares:
    """Remove an incident that has ended."""
    return shares._replace(of={one: spent for one, spent in shares.of.items() if one != incident})
