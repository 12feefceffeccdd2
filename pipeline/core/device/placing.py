"""Who computes where: from what is known of a machine's cores to a plan, in which every decision has its reason.

A language model's threads wait for one another by spinning, so they want fast cores of their own; cameras want to be
answered at once, and need little. So the heavy stages go to the big cores, but for the spare ones, and where there are
little cores the light stages go to those and to the spare ones, which relieve them. With one or two cores, or where all
are alike and nothing is gained by it, everybody may go anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pipeline.core.settings import PlacementSettings

Load = Literal["light", "heavy"]

_BIG_SHARE = 0.8  # of the largest core; efficient cores of RK3588 (.40) and of x86 hybrids (.70) are below it
_FEW = 2  # so many cores, and there is nothing to share out
_LIGHT_LEAST = 2  # cores that cameras get, or none are set apart for them


class Core(NamedTuple):
    """A core that is on line and that this process may use.

    Attributes:
        number: The kernel's.
        capacity: Its capacity at its highest clock, of 1024; None if the kernel reports none.
        most_khz: That clock; None if the kernel reports none.
    """

    number: int
    capacity: int | None = None
    most_khz: int | None = None


class Machine(NamedTuple):
    """What decides who computes where.

    Attributes:
        cores: Those that this process may use, by their numbers.
        quota: Cores' worth of time that the control group grants; None: it does not bound it.
        least_nice: The most urgent nice value that this process may have, -20..19.
        may_realtime: Whether it may have real-time priority.
    """

    cores: tuple[Core, ...]
    quota: float | None = None
    least_nice: int = 0
    may_realtime: bool = False


class Want(NamedTuple):
    """What a stage asks for, in the table of stages."""

    load: Load = "light"
    nice: int = 0
    realtime: bool = False


class StagePlace(NamedTuple):
    """What a stage is given.

    Attributes:
        cores: Those it is pinned to; empty: where it is.
        nice: As it asks for; where that is more than it may have, the kernel refuses it.
        realtime: SCHED_RR, at its lowest priority.
    """

    cores: tuple[int, ...] = ()
    nice: int = 0
    realtime: bool = False


class Decision(NamedTuple):
    """A decision for people: about what, what was decided, why, and what would change it where that is worth it."""

    about: str
    choice: str
    reason: str
    remedy: str = ""


class PlacementPlan(NamedTuple):
    """The whole of it.

    Attributes:
        big: Cores that are big.
        little: The others.
        places: By stage.
        threads: That a language model computes with, unless the configuration says otherwise.
        decisions: Every one, with its reason.
    """

    big: tuple[int, ...]
    little: tuple[int, ...]
    places: Mapping[str, StagePlace]
    threads: int
    decisions: tuple[Decision, ...]


def plan(machine: Machine, wants: Mapping[str, Want], rules: PlacementSettings, asked: int = 0) -> PlacementPlan:
    """Decide who computes where.

    Args:
        machine: What there is.
        wants: What each stage asks for, by its name.
        rules: What the operator asks for.
        asked: Threads that a language model is to have; 0: that is left open.
    """
    big, little, split_decision = _split_cores(machine.cores)
    heavy = _choose_heavy(big, little, rules.spare_cores)
    threads, why = _plan_threads(len(heavy), len(big), machine.quota, rules.spare_cores)
    if asked:
        threads, why = asked, "describe.threads"
    unpinned = _why_unpinned(machine, rules, asked, len(heavy))
    cores: dict[Load, tuple[int, ...]] = {"light": (), "heavy": ()}
    if not unpinned:
        cores = {"light": _choose_light(big, little, heavy), "heavy": heavy}
    places = {
        stage: StagePlace(cores[want.load], want.nice, want.realtime and rules.realtime and machine.may_realtime)
        for stage, want in wants.items()
    }
    pinning = [Decision("pinning", "none", unpinned)] if unpinned else _plan_pinning(wants, cores, big, little)
    decisions = (
        split_decision,
        *pinning,
        Decision("language model", f"{threads} thread{'s' * (threads > 1)}", why),
        _plan_nice(wants, machine.least_nice),
        _plan_realtime(wants, machine, asked=rules.realtime),
    )
    return PlacementPlan(big, little, places, threads, decisions)


def format_ranges(cores: Iterable[int]) -> str:
    """Numbers as the kernel writes them: 0-3,6."""
    found: list[list[int]] = []
    for core in sorted(cores):
        if found and core == found[-1][-1] + 1:
            found[-1].append(core)
        else:
            found.append([core])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in found)


def _split_cores(cores: Sequence[Core]) -> tuple[tuple[int, ...], tuple[int, ...], Decision]:
    """Split the cores into big and little ones, and describe how.

    The kernel gives every core the same capacity where it knows nothing, so a capacity that is the same for all does
    not outweigh clocks that differ.
    """
    for what, values in (
        ("capacity", [core.capacity for core in cores]),
        ("highest clock in kHz", [core.most_khz for core in cores]),
    ):
        known = [value for value in values if value]
        if len(known) < len(cores) or min(known, default=0) >= _BIG_SHARE * max(known, default=0):
            continue
        big = tuple(core.number for core, value in zip(cores, known, strict=True) if value >= _BIG_SHARE * max(known))
        little = tuple(core.number for core in cores if core.number not in big)
        choice = f"{len(big)} big ({format_ranges(big)}), {len(little)} little ({format_ranges(little)})"
        reason = (
            f"by their {what}: up to {max(known)}, and from {min(known)}; big is from {_BIG_SHARE:.0%} of the largest"
        )
        return big, little, Decision("cores", choice, reason)
    numbers = tuple(core.number for core in cores)
    return (
        numbers,
        (),
        Decision("cores", f"{len(numbers)} ({format_ranges(numbers)})", "all alike, as far as the kernel tells"),
    )


def _choose_heavy(big: tuple[int, ...], little: tuple[int, ...], spare: int) -> tuple[int, ...]:
    """The big cores but the first ones, where interrupts come in; one is left to the system in any case."""
    left = spare if little else max(spare, 1)
    return big[left:] or big[-1:]


def _choose_light(big: tuple[int, ...], little: tuple[int, ...], heavy: tuple[int, ...]) -> tuple[int, ...]:
    """Where cameras are served; empty: anywhere."""
    rest = tuple(sorted({*big, *little} - {*heavy}))
    return rest if little and len(rest) >= _LIGHT_LEAST else ()


def _why_unpinned(machine: Machine, rules: PlacementSettings, asked: int, heavy: int) -> str:
    """Why nobody is pinned; empty: they are."""
    if not rules.pin:
        return "placement.pin = false"
    if len(machine.cores) <= _FEW:
        return f"with {len(machine.cores)} core{'s' * (len(machine.cores) > 1)} there is nothing to share out"
    if asked > heavy:  # threads that spin on a core together wait for each other most of their time
        return f"describe.threads = {asked} is more than the {heavy} cores that would be for it"
    return ""


def _plan_pinning(
    wants: Mapping[str, Want], cores: Mapping[Load, tuple[int, ...]], big: tuple[int, ...], little: tuple[int, ...]
) -> list[Decision]:
    names = {load: ", ".join(stage for stage, want in wants.items() if want.load == load) for load in cores}
    spared = tuple(core for core in big if core not in cores["heavy"])
    but = (
        f"all but {format_ranges(spared)}, left to cameras and the system"
        if spared
        else "all of them; the system has others"
    )
    heavy = f"the {'big' if little else 'equal'} ones, {but}"
    if cores["light"]:
        light = (
            f"the little ones{f', and {format_ranges(spared)} to relieve them' if spared else ''}: cameras need little"
        )
    elif little:
        light = f"fewer than {_LIGHT_LEAST} cores would be left for them alone"
    else:
        light = f"there are no little ones; {format_ranges(spared)} is nobody's for long"
    return [
        Decision(names["heavy"], f"cores {format_ranges(cores['heavy'])}", heavy),
        Decision(names["light"], f"cores {format_ranges(cores['light'])}" if cores["light"] else "any core", light),
    ]


def _plan_threads(heavy: int, big: int, quota: float | None, spare: int) -> tuple[int, str]:
    """Threads of a language model, and why so many."""
    granted = max(1, int(quota) - spare) if quota is not None else heavy
    if granted < heavy:
        return granted, f"the control group grants {quota:g} cores' time for all stages together, {spare} of it spare"
    if heavy == big:
        return heavy, "one a big core"
    return heavy, f"one a core of {big} that could be used, {big - heavy} spare: they spin while they wait"


def _plan_nice(wants: Mapping[str, Want], least: int) -> Decision:
    asked = [want.nice for want in wants.values()]
    choice = f"{min(asked)} to {max(asked)}"
    if refused := [stage for stage, want in wants.items() if want.nice < least]:
        reason = f"not more urgent than {least} is permitted: {', '.join(refused)} would be {min(asked)}"
        return Decision("nice", choice, reason, f"LimitNICE={min(asked)} in the service's unit, or CAP_SYS_NICE")
    return Decision("nice", choice, f"permitted down to {least}")


def _plan_realtime(wants: Mapping[str, Want], machine: Machine, *, asked: bool) -> Decision:
    stages = ", ".join(stage for stage, want in wants.items() if want.realtime)
    if not machine.may_realtime:
        remedy = "LimitRTPRIO=1 in the service's unit, or CAP_SYS_NICE; or placement.realtime = false" if asked else ""
        return Decision("real-time priority", "not used", "SCHED_RR is not permitted", remedy)
    if asked:
        return Decision("real-time priority", stages, "placement.realtime = true, and SCHED_RR is permitted")
    return Decision(
        "real-time priority", "not used", f"SCHED_RR is permitted; placement.realtime = true gives it to {stages}"
    )
