"""Govern: reads temperatures and loads, and decides how much may be done; tells of every step."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from pipeline.core.device import energy, governor, shedding, sysfs, watches
from pipeline.core.device.limits import FREE, LEVELS, Rung
from pipeline.core.messages import DeviceReported, Priority, Ticked
from pipeline.core.stage import Stage
from stages.knobs import Knobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.events import Details
    from pipeline.core.messages import AnyMessage, Work
    from pipeline.core.stage import Outputs, StageContext

log = structlog.get_logger()

_EVERY_NS = 1_000_000_000
_PROCESSORS = ("cpu", "soc", "gpu", "npu", "core", "pkg", "package", "k10temp")  # in the types of zones that matter
_CLEAR_NS = 60_000_000_000  # sensors that tell for so long tell again
_DUMMIES = ("acpitz",)  # on many PCs a number that never changes, which would be taken for a sensor that is stuck
_INFERS = 0.05  # of the time: less is no inference that heats
_ODD_TRIP_C = (50.0, 120.0)  # a trip outside is none that a board runs to
_KEPT = "frequencies.json"


class Govern(Stage):
    """Decides by pure laws (governor, shedding and watches of `core/device/`), and lets the board obey."""

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self._settings = context.settings.governor
        self._heat = governor.HeatState()
        self._load = shedding.LoadState()
        self._memory: dict[str, watches.MemoryWatch] = {}
        self._pace: dict[str, watches.InferencePace] = {}
        self._work: Work | None = None
        self._looked_ns = self._watched_ns = 0
        self._found: governor.HeatStep | None = None
        self._told_blind, self._clear_ns = False, 0
        self._told_off: set[str] = set()
        self._metered_at: dict[Path, int] = {}
        self._joules = 0.0

    def warm_up(self) -> None:
        """Find sensors and frequencies, and write back what a life before this one did not."""
        root, folder = Path(self._settings.sysfs), self.context.state_dir
        self._zones = _chosen(sysfs.zones(root), self._settings.zones)
        self._told: set[Path] = {one.path for one in self._zones if self._settings.zones}  # these must tell
        trips = [one.passive_trip_c for one in self._zones if one.passive_trip_c is not None]
        told = min((trip for trip in trips if _ODD_TRIP_C[0] <= trip <= _ODD_TRIP_C[1]), default=governor.TRIP_C)
        self._bands = governor.Bands.below(self._settings.trip_c or told)
        self._meters = energy.choose_meters(sysfs.energy(root))
        may = self._settings.frequencies and self._settings.mode == "act"
        kept = folder / _KEPT if folder else None
        if not (may and self.context.lives):  # else the life before this one was in the midst of it
            Knobs(sysfs.knobs(root), kept).restore()
        self._knobs = Knobs(sysfs.knobs(root), kept) if may else Knobs([], None)
        if silent := [one.type for one in self._zones if one.temp_c is None]:
            log.warning("sensors_do_not_tell", sensors=", ".join(silent), reason="they count from when they tell")
        log.info(
            "governing", mode=self._settings.mode, sensors=len(self._zones), trip_c=self._bands.critical + 1,
            acts_by=self._acts_by,
        )  # fmt: skip

    def begin(self) -> Outputs:
        """Nothing is held back until something is measured; a life that follows another goes on where that was."""
        held = self.context.limits.get()
        if self.context.lives and self._settings.mode == "act":
            self._heat = governor.HeatState(level=held.level, paused=held.paused)
            self._load = shedding.LoadState(rung=held.rung, reported=held.rung)
        else:
            self.context.limits.set(FREE)
        yield from ()

    def handle(self, message: AnyMessage) -> Outputs:
        """Once a second, look at everything; once a minute, at what changes slowly."""
        assert isinstance(message, Ticked)
        passed_ns = message.pts_ns - self._looked_ns
        if message.work is None or passed_ns < _EVERY_NS or self._settings.mode == "off":
            return
        before, self._work, self._looked_ns = self._work, message.work, message.pts_ns
        if before is None:
            return
        self._metered(passed_ns / 1e9)
        told = [
            *self._governed(before, message.work, passed_ns / 1e9),
            *self._shed(before, message.work, passed_ns / 1e9),
        ]
        if message.pts_ns - self._watched_ns >= watches.SAMPLE_S * 1e9:
            self._watched_ns = message.pts_ns
            told += self._watched(message.work)
        for what, priority, details in told:
            yield DeviceReported(
                what=what, details=details, priority=priority, pts_ns=message.pts_ns, utc_ns=message.utc_ns
            )

    def close(self) -> None:
        """Leave the board as it was found."""
        self._knobs.restore()
        self.context.limits.set(FREE)

    def _metered(self, passed_s: float) -> None:
        """Count what the board took, where it has a meter."""
        for meter in self._meters:
            now, before = sysfs.answer(meter.path), self._metered_at.get(meter.path)
            if now is None:
                continue
            self._metered_at[meter.path] = now
            if before is not None:
                volts = sysfs.answer(meter.volts) if meter.volts else None
                self._joules += energy.measure_joules(meter, before, now, passed_s, volts) or 0.0
        if self._joules:
            self.context.limits.record_energy(self._joules)

    @property
    def _acts_by(self) -> str:
        if self._settings.mode != "act":
            return "nothing: it only observes"
        if self._knobs and not self._knobs.failing:
            return f"the frequencies of {self._knobs.names}"
        return "rest between forwards, and fewer pictures"

    def _governed(self, before: Work, work: Work, passed_s: float) -> list[_Told]:
        """Heat."""
        zones = self._telling()
        if not zones:
            return []
        busy_s = work.inferring_s - before.inferring_s
        reading = governor.SensorReading(
            self._looked_ns / 1e9,
            tuple(temp for _, temp in zones),
            busy_s if busy_s >= _INFERS * passed_s else 0.0,
            tuple(name for name, _ in zones),
        )
        self._heat, found = governor.step(self._heat, reading, self._bands)
        self._obey(found)
        before_that, self._found = self._found, found
        told = [*self._sensors_told(found.blind), *self._off_told(found.off)]
        return [*_heat_told(before_that, found, self._acts_by), *told]

    def _telling(self) -> list[tuple[str, float | None]]:
        """Names and temperatures of the sensors that ever told one; one that is switched on later counts from then."""
        temps = [(one, sysfs.celsius(one.path / "temp")) for one in self._zones]
        self._told.update(one.path for one, temp in temps if temp is not None)
        return [(one.type, temp) for one, temp in temps if one.path in self._told]

    def _sensors_told(self, blind: str) -> list[_Told]:
        """Say once that a sensor is lost, and once that all tell again: when they have for a minute."""
        self._clear_ns = self._looked_ns if blind else self._clear_ns
        if blind and not self._told_blind:
            self._told_blind = True
            return [("thermal.sensor_lost", Priority.WARNING, {"reason": f"{blind}: taken for hot"})]
        if self._told_blind and self._looked_ns - self._clear_ns >= _CLEAR_NS:
            self._told_blind = False
            return [("thermal.sensor_lost", Priority.ROUTINE, {"reason": "the sensors tell again"})]
        return []

    def _off_told(self, off: tuple[tuple[str, float], ...]) -> list[_Told]:
        """Say once of each sensor that it is left out: blocks of a chip are switched off and on all day."""
        fresh = [(name, said) for name, said in off if name not in self._told_off]
        self._told_off.update(name for name, _ in fresh)
        if not fresh:
            return []
        said = ", ".join(f"{name} says {temp:g} C" for name, temp in fresh)
        return [("system.sensor_off", Priority.ROUTINE, {"reason": f"{said}: switched off or broken, left out"})]

    def _obey(self, found: governor.HeatStep) -> None:
        """Let the board keep to a level, by its frequencies where they can be set."""
        limits = self.context.limits.get()
        temp = None if math.isnan(found.temp_c) else round(found.temp_c, 1)
        if self._settings.mode == "act":
            means = LEVELS[found.level]
            self._knobs.hold(means.speed)
            duty = 1.0 if self._knobs and not self._knobs.failing else means.speed
            limits = limits._replace(level=found.level, paused=found.paused, duty=duty, stride=means.stride)
        else:
            limits = limits._replace(level=found.level, observing=True)
        self.context.limits.set(limits._replace(temp_c=temp))

    def _shed(self, before: Work, work: Work, passed_s: float) -> list[_Told]:
        """Load."""
        limits = self.context.limits.get()
        looked, unlooked = work.looked - before.looked, work.unlooked - before.unlooked
        load = shedding.Load(
            spent=work.spent,
            encode_s=work.encode_s,
            unlooked=unlooked / (looked + unlooked) if looked >= 0 and unlooked > 0 else 0.0,
            missed=work.missed,
            level=self._found.level if self._found else 0,
            paused=limits.paused,
            memory_mb=work.available_mb,
        )
        self._load, found = shedding.step(self._load, load, passed_s, self._settings.min_memory_mb)
        if not found.reason:
            return []
        may = self._settings.shed and self._settings.mode == "act"
        if may:
            self.context.limits.set(limits._replace(rung=found.rung))
        details: Details = {
            "rung": found.rung.name.lower(), "was": found.was.name.lower(), "means": found.rung.meaning,
            "reason": found.reason, "done": may,
        }  # fmt: skip
        return [("system.overload", Priority.WARNING if found.rung > found.was else Priority.ROUTINE, details)]

    def _watched(self, work: Work) -> list[_Told]:
        """What gathers and what slows down over hours."""
        told: list[_Told] = []
        settings, limits = self._settings, self.context.limits.get()
        for name, mb in work.rss_mb.items():
            memory, growth = watches.watch_memory(
                self._memory.get(name, watches.MemoryWatch()), mb, settings.leak_mb_per_h, settings.recycle_mb
            )
            self._memory[name] = memory
            recycle = growth.recycle and settings.mode == "act" and self.context.limits.recycle(name)
            if growth.report or recycle:
                details: Details = {
                    "stage": name, "mb": round(mb, 1), "mb_per_h": round(growth.mb_per_h, 1),
                    "gathered_mb": round(growth.gathered_mb, 1), "replaced": recycle,
                }  # fmt: skip
                told.append(("system.memory_slope", Priority.WARNING, details))
            if recycle:
                self._memory[name] = watches.MemoryWatch()
        slowed = (limits.level > 0 and not limits.observing) or limits.duty < 1 or limits.rung > Rung.FULL
        for name, pieces in work.pieces.items():
            pace = self._pace.get(name, watches.InferencePace())
            self._pace[name], drift = watches.watch_pace(
                pace, pieces, work.pieces_ms.get(name, 0.0), settings.drift, slowed=slowed
            )
            if drift is not None:
                details = {"stage": name, "was_ms": round(drift.was_ms, 2), "is_ms": round(drift.is_ms, 2)}
                told.append(("system.latency_drift", Priority.WARNING, details))
        return told


_Told = tuple[str, Priority, "Details"]


def _heat_told(before: governor.HeatStep | None, found: governor.HeatStep, acts_by: str) -> Iterator[_Told]:
    """What has changed since the reading before, that an operator is told."""
    if found.rule:
        details: Details = {"level": found.level, "was": found.was, "rule": found.rule, "reason": found.reason}
        priority = Priority.ROUTINE if found.level < found.was else Priority.WARNING
        yield "thermal.level", priority, {**details, "acts_by": acts_by}
    if found.paused and not (before and before.paused):
        reason = f"{found.temp_c:.1f} C: the language model stands still until the board has cooled"
        yield "thermal.critical", Priority.ALARM, {"reason": reason}
    if found.short and not (before and before.short):
        reason = "for ten minutes less was done than is promised: the board needs cooling"
        yield "thermal.critical", Priority.ALARM, {"reason": reason}


def _chosen(zones: list[sysfs.Zone], wanted: tuple[str, ...]) -> list[sysfs.Zone]:
    """Those that are asked for by type or name; else those of processors, else all.

    One that is asked for and not there is one that does not tell: better a slow board than one nobody looks after.
    """
    if wanted:
        found = [one for one in zones if one.type in wanted or one.name in wanted]
        missing = set(wanted) - {word for one in found for word in (one.type, one.name)}
        return [*found, *(sysfs.Zone(name, name, Path(name), None, None) for name in sorted(missing))]
    real = [one for one in zones if one.type not in _DUMMIES]
    return [one for one in real if any(word in one.type.lower() for word in _PROCESSORS)] or real
