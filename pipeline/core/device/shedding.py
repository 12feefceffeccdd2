"""The ladder of what is given up under load: a pure decision, with hysteresis. Heat and memory set how far at least."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.core.device.limits import CAUSES, EMERGENCY, Rung, rung_of_level

_DOWN_EVERY_S = 5.0  # between two steps down: what the first brings must show
_UP_AFTER_S = 30.0  # of calm, before a step up
_ENOUGH = 1.5  # times what is too little memory, to take the language model back
_MISSES_S = 30.0  # deadlines missed so lately count


class Load(NamedTuple):
    """What there is to do, in the order of `CAUSES`, and what the board allows.

    Attributes:
        spent: Share of its time that the question to describe has waited that is nearest to be too late, 0..1.
        encode_s: Age of the oldest picture to encode.
        unlooked: Share of pictures that the classifier gave up lately, 0..1.
        missed: Deadlines missed so far.
        level: Of the thermal governor.
        paused: It holds the language model still.
        memory_mb: Available; None: not known.
    """

    spent: float = 0.0
    encode_s: float = 0.0
    unlooked: float = 0.0
    missed: int = 0
    level: int = 0
    paused: bool = False
    memory_mb: float | None = None


class LoadState(NamedTuple):
    """What the decision remembers."""

    rung: Rung = Rung.FULL  # by load alone
    now_s: float = 0.0
    down_s: float = -_DOWN_EVERY_S
    calm_s: float = 0.0
    missed: tuple[tuple[float, int], ...] = ()  # counts of late, and when
    reported: Rung = Rung.FULL
    short: bool = False  # of memory


class LoadStep(NamedTuple):
    """What follows.

    Attributes:
        rung: From now on.
        was: Before.
        reason: Why it changed; empty: it did not.
    """

    rung: Rung
    was: Rung
    reason: str


def step(state: LoadState, load: Load, passed_s: float, min_memory_mb: float) -> tuple[LoadState, LoadStep]:
    """Let some time pass with such a load.

    Args:
        state: From before.
        load: As measured.
        passed_s: Since the last time.
        min_memory_mb: With less, the language model is given up; with half as much again, taken back.
    """
    now = state.now_s + passed_s
    missed = (*(one for one in state.missed if one[0] > now - _MISSES_S), (now, load.missed))
    state = state._replace(now_s=now, missed=missed)
    misses = float(missed[-1][1] - missed[0][1])
    amounts = (load.spent, load.encode_s, load.unlooked, misses, misses)
    state, why = _step_by_load(state, amounts, passed_s)
    enough_mb = min_memory_mb * (_ENOUGH if state.short else 1.0)
    state = state._replace(short=load.memory_mb is not None and load.memory_mb < enough_mb)
    least, because = _minimum_rung(load, enough_mb, short=state.short)
    rung = max(state.rung, least)
    was, state = state.reported, state._replace(reported=rung)
    if rung == was:
        return state, LoadStep(rung, was, "")
    if rung < was:
        return state, LoadStep(rung, was, "load and heat allow it")
    return state, LoadStep(rung, was, because if least >= state.rung else why)


def _step_by_load(state: LoadState, amounts: tuple[float, ...], passed_s: float) -> tuple[LoadState, str]:
    """One rung down while something is too much that it helps; one up after all of it was calm for a while."""
    deeper = [
        (cause, amount)
        for cause, amount in zip(CAUSES, amounts, strict=True)
        if amount >= cause.limit and state.rung < cause.deepest
    ]
    if deeper and state.now_s - state.down_s >= _DOWN_EVERY_S:
        cause, amount = deeper[0]
        why = f"{cause.of}: {amount:.3g} {cause.unit}".rstrip() + f", where {cause.limit:g} is too much"
        return state._replace(rung=Rung(state.rung + 1), down_s=state.now_s, calm_s=0.0), why
    calm = all(amount <= cause.calm for cause, amount in zip(CAUSES, amounts, strict=True))
    calm_s = state.calm_s + passed_s if calm else 0.0
    if state.rung and calm_s >= _UP_AFTER_S:
        return state._replace(rung=Rung(state.rung - 1), calm_s=0.0), ""
    return state._replace(calm_s=calm_s), ""


def _minimum_rung(load: Load, enough_mb: float, *, short: bool) -> tuple[Rung, str]:
    """What heat and memory ask for, whatever the load."""
    if short:
        return EMERGENCY, f"memory: {load.memory_mb:.0f} MB left, where {enough_mb:.0f} are wanted"
    if load.paused:
        return EMERGENCY, "the board is too hot for its language model"
    return rung_of_level(load.level), f"thermal level {load.level}"
