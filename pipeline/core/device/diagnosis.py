"""Judge the findings about a device for a field engineer: ok, note or trouble, with a remedy.

Trouble is what keeps the daemon from doing its work as configured; a note is what it can live with.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple

from pipeline.core.device.governor import TRIP_C, is_plausible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.core.device.placing import PlacementPlan
    from pipeline.core.device.sysfs import Energy, Knob, Zone

State = Literal["ok", "note", "trouble"]

_MB = 1e6
_IDLE_MB = 150.0  # all stages, without cameras (`tests.bench.processes`)
_CAMERA_MB = 30.0  # its two processes
_MODEL_FACTOR = 1.5  # resident memory of a language model, of its files (measured: 1.36 at 1.5B)
_EASY = 1.5  # so many times what is needed, and nobody need think of it
_SMALL_BOARD_MB = 8600.0
_PROCESSES = 7  # the supervisor, and the stages that are there once
_THREADS = 12  # a process; measured: 3 on two cores, and decoders and numpy take one a core
_FILES_LEAST, _FILES_EASY = 256, 1024
_DISK_LEAST_MB = 100.0
_HOT_C = 10.0  # below the trip
_BUILT = 1_735_689_600  # 2025 began; a clock before that was never set
_SLOW_TOKENS = 5.0  # a second: a sentence takes longer than an alarm should wait


class Finding(NamedTuple):
    """A line.

    Attributes:
        state: How it is.
        name: Of what.
        found: What was found.
        remedy: What to do about it; empty where there is nothing to do.
    """

    state: State
    name: str
    found: str
    remedy: str = ""


class Need(NamedTuple):
    """What a configuration needs.

    Attributes:
        cameras: How many.
        rings_mb: Shared memory of their pictures.
        model_mb: Files of the language model; 0: none.
        threads: Of the language model.
    """

    cameras: int
    rings_mb: float
    model_mb: float
    threads: int

    @property
    def memory_mb(self) -> float:
        """What all processes take together."""
        return _IDLE_MB + _CAMERA_MB * self.cameras + self.rings_mb + _MODEL_FACTOR * self.model_mb

    @property
    def tasks(self) -> int:
        """Processes and threads."""
        return _THREADS * (_PROCESSES + 2 * self.cameras) + self.threads


class MemoryFound(NamedTuple):
    """Memory of the device in MB; None for unknown values."""

    total_mb: float | None
    available_mb: float | None
    swap_mb: float | None
    granted_mb: float | None  # by the control group


def placement(plan: PlacementPlan) -> Iterator[Finding]:
    """Every decision with its reason."""
    for decision in plan.decisions:
        state: State = "note" if decision.remedy else "ok"
        yield Finding(state, decision.about, f"{decision.choice}: {decision.reason}", decision.remedy)


def quota(granted: float | None, cores: int) -> Finding:
    """Time that the control group grants."""
    if granted is None:
        return Finding("ok", "processor quota", "none")
    found = f"{granted:g} cores' worth of time on {cores} cores"
    if granted >= cores:
        return Finding("ok", "processor quota", found)
    remedy = "raise CPUQuota= of the service, or --cpus of the container"
    return Finding("trouble" if granted < 1 else "note", "processor quota", found, remedy)


def memory(found: MemoryFound, need: Need) -> Iterator[Finding]:
    """Whether it suffices, and what happens when it does not."""
    free = min((value for value in (found.available_mb, found.granted_mb) if value is not None), default=None)
    if free is None or found.total_mb is None:
        yield Finding("note", "memory", "the kernel does not tell")
        return
    state: State = "trouble" if free < need.memory_mb else "note" if free < _EASY * need.memory_mb else "ok"
    limit = "none" if found.granted_mb is None else f"{found.granted_mb:.0f} MB"
    text = (
        f"{free:.0f} of {found.total_mb:.0f} MB available, about {need.memory_mb:.0f} MB needed; group limit: {limit}"
    )
    yield Finding(state, "memory", text, "" if state == "ok" else "a smaller language model, fewer cameras or slots")
    if found.swap_mb:
        yield Finding("ok", "swap", f"{found.swap_mb:.0f} MB")
    elif found.total_mb < _SMALL_BOARD_MB:
        yield Finding("note", "swap", "none: what is too much is killed at once", "zram, or a swap file")
    else:
        yield Finding("ok", "swap", "none")


def rings(need: Need, available_mb: float | None, refused: str) -> Finding:
    """Shared memory of pictures."""
    name = "shared memory"
    if refused:
        return Finding(
            "trouble", name, f"memfd_create: {refused}", "a kernel, or a container, that allows memfd_create"
        )
    text = f"{need.rings_mb:.0f} MB for pictures of 1920x1080; a memfd, so /dev/shm has no part in it"
    if available_mb is not None and need.rings_mb > available_mb / 2:
        return Finding("trouble", name, text, "fewer frames.slots or frames.keyframes, or the cameras' smaller stream")
    return Finding("ok", name, text)


def tasks(most: int | None, there: int | None, need: Need) -> Finding:
    """Processes and threads that may still be started."""
    if most is None:
        return Finding("ok", "processes and threads", f"no limit; about {need.tasks} needed")
    left = most - (there or 0)
    taken = "" if there is None else f", of which {there} are taken"
    text = f"at most {most} (pids.max, ulimit -u){taken}; about {need.tasks} needed"
    state: State = "trouble" if left < need.tasks else "note" if left < _EASY * need.tasks else "ok"
    remedy = "" if state == "ok" else "raise TasksMax= and LimitNPROC= of the service, or --pids-limit of the container"
    return Finding(state, "processes and threads", text, remedy)


def files(most: int) -> Finding:
    """Open files a process; -1: no limit."""
    if most < 0 or most >= _FILES_EASY:
        return Finding("ok", "open files", "no limit" if most < 0 else f"{most} a process")
    state: State = "trouble" if most < _FILES_LEAST else "note"
    return Finding(state, "open files", f"{most} a process", f"LimitNOFILE={_FILES_EASY} in the service's unit")


def disk(folder: str, free_mb: float, wanted_mb: float, *, writable: bool) -> Finding:
    """Room for events, pictures and the journal."""
    text = f"{free_mb:.0f} MB free in {folder}; pictures and events take up to {wanted_mb:.0f} MB"
    if not writable:
        return Finding("trouble", "state folder", f"{folder}: not writable", "another --state-dir, or another user")
    if free_mb < wanted_mb:
        state: State = "trouble" if free_mb < _DISK_LEAST_MB else "note"
        return Finding(state, "state folder", text, "smaller emit.max_evidence_mb, emit.rotate_mb or emit.max_files")
    return Finding("ok", "state folder", text)


def heat(zones: Sequence[Zone], wanted: Sequence[str] = ()) -> Iterator[Finding]:
    """Each zone against the temperature at which the kernel begins to slow the device down; and those asked for."""
    missing = [name for name in wanted if not any(name in {zone.type, zone.name} for zone in zones)]
    if missing:
        there = ", ".join(sorted({zone.type for zone in zones})) or "none"
        yield Finding(
            "trouble",
            "heat",
            f"governor.zones: no zone {', '.join(missing)}, which counts as hot",
            f"there are: {there}",
        )
    if not zones:
        yield Finding(
            "note", "heat", "no thermal zone: nobody can tell when it gets too hot", "a kernel with its sensors"
        )
    sane = any(zone.temp_c is not None and is_plausible(zone.temp_c) for zone in zones)
    for zone in zones:
        name = f"heat: {zone.type}"
        trip = "no passive trip" if zone.passive_trip_c is None else f"passive trip at {zone.passive_trip_c:g} C"
        if zone.temp_c is None:
            yield Finding("note", name, f"{zone.name} cannot be read now; {trip}")
            continue
        if not is_plausible(zone.temp_c):
            yield _odd(zone, sane=sane)
            continue
        limit = zone.passive_trip_c or TRIP_C
        state: State = "trouble" if zone.temp_c >= limit else "note" if zone.temp_c >= limit - _HOT_C else "ok"
        remedy = "" if state == "ok" else "a heat sink, a fan, shade, or fewer cameras"
        yield Finding(state, name, f"{zone.temp_c:.1f} C; {trip}", remedy)


def _odd(zone: Zone, *, sane: bool) -> Finding:
    """Report a zone with an impossible temperature: ignored beside others that work, else taken for hot."""
    said = f"says {zone.temp_c:g} C, as no chip can be"
    if sane:
        return Finding("note", f"heat: {zone.type}", f"{said}: switched off or broken, left out")
    remedy = "name zones that tell in governor.zones, or set governor.mode to off"
    return Finding("trouble", f"heat: {zone.type}", f"{said}, and no other tells: it counts as hot", remedy)


def clocks(knobs: Sequence[Knob]) -> Iterator[Finding]:
    """Bounds of frequencies: whether they are held down, and whether we may hold them down. Like ones together."""
    if not knobs:
        yield Finding("note", "frequency", "no bound of a frequency is told: heat is answered by pauses alone")
    for (kind, now, most, writable), group in groupby(
        knobs, lambda knob: (knob.kind, knob.now, knob.most, knob.writable)
    ):
        names = [knob.name for knob in group]
        name = f"frequency: {names[0]}" + (f" and {len(names) - 1} like it" if len(names) > 1 else "")
        unit = 1e6 if kind == "devfreq" else 1e3
        held = now is not None and most is not None and now < most
        text = "not told" if now is None else f"up to {now / unit:.0f} MHz"
        text += f", held below its {most / unit:.0f} MHz" if held and most is not None else ""
        text += ", the bound may be set" if writable else ", the bound may not be set: heat is answered by pauses alone"
        remedies = ["find what holds it: heat, the system's governor, the power supply"] if held else []
        remedies += [] if writable else ["run as root, or give its file to this user with a udev rule"]
        yield Finding("note" if remedies else "ok", name, text, "; ".join(remedies))


def energy(meters: Sequence[Energy]) -> Iterator[Finding]:
    """Report the meters of energy and power, by kind."""
    if not meters:
        yield Finding("note", "energy", "no counter of energy or sensor of power: no joules are told")
    for (kind, readable), group in groupby(meters, lambda meter: (meter.kind, meter.readable)):
        names = ", ".join(meter.name for meter in group)
        if readable:
            yield Finding("ok", f"energy: {kind}", f"{names}: readable")
        else:
            yield Finding(
                "note", f"energy: {kind}", f"{names}: not readable", "run as root, or chmod a+r by a udev rule"
            )


def clock(utc_s: float, *, synchronised: bool) -> Finding:
    """Whether times of events can be relied on."""
    if utc_s < _BUILT:
        return Finding(
            "trouble", "clock", "it shows a time before 2025: it was never set", "an RTC with a battery, NTP, GPS"
        )
    if not synchronised:
        return Finding(
            "note", "clock", "not synchronised: events say `unsynced`", "chrony or timesyncd with a local source"
        )
    return Finding("ok", "clock", "synchronised")


def bandwidth(gb_s: float | None, threads: int, weights_mb: float) -> Finding:
    """What memory lets a language model do at most: it reads all its weights for every token."""
    if gb_s is None:
        return Finding("note", "memory bandwidth", "not measured: too little memory is free")
    text = f"{gb_s:.1f} GB/s read and written by {threads} thread{'s' * (threads > 1)}"
    if not weights_mb:
        return Finding("ok", "memory bandwidth", f"{text}; {gb_s:.0f} tokens/s at most with 1 GB of weights")
    tokens = gb_s * 1e3 / weights_mb
    text += f"; {tokens:.0f} tokens/s at most with {weights_mb:.0f} MB of weights"
    slow = tokens < _SLOW_TOKENS
    return Finding("note" if slow else "ok", "memory bandwidth", text, "a smaller model or recipe" if slow else "")


def encoder(backend: str, verdict: str, runs_on: str, reasons: Sequence[str]) -> Finding:
    """What the gate says of the configured encoder.

    Args:
        backend: As configured.
        verdict: Of its placement: full, partial, none, untold, cpu_baseline; empty: it was not opened.
        runs_on: What the daemon would use: accelerator, cpu or nothing.
        reasons: Why it is not what was asked for; empty: it is.
    """
    text = f"{backend}: {verdict or 'not opened'}, the daemon would use: {runs_on}"
    if not reasons:
        return Finding("ok", "encoder", text)
    state: State = "note" if runs_on == "accelerator" else "trouble"
    remedy = "`pipeline models offload-report` tells the nodes; `pipeline models backends` what can be used"
    return Finding(state, "encoder", f"{text}: {'; '.join(reasons)}", remedy)


def troubles(findings: Sequence[Finding]) -> int:
    """How many there are."""
    return sum(one.state == "trouble" for one in findings)
