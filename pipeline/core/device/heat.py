"""A board that warms up: two thermal masses, for simulation and for boards that are played.

Presets are for simulation, not facts about products: watts and resistances are from data sheets and forums where those
say anything, and guesses elsewhere.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pipeline.core.errors import ConfigError

_POWER_EXPONENT = 2.4  # of the frequency: voltage rises with it (between f^2 and f^3 on mobile chips)
_MEMORY_SHARE = 0.55  # of a decode's time that does not depend on the frequency: it waits for memory
_COLDEST_C, _WARMEST_C = -40.0, 70.0  # of air in which such boards are put
_STEP_S = 1.0  # of integration at most; the smaller mass has a time constant of 6 s and more


class Body(NamedTuple):
    """A board and its housing.

    Attributes:
        c1: Heat capacity of the chip, J/K.
        r12: From the chip to the housing, K/W.
        c2: Heat capacity of the housing, J/K.
        r2a: From the housing to the air, K/W.
        idle_w: Power without work, W.
        dynamic_w: What full work at full frequency adds, W.
        most_khz: Its highest frequency.
    """

    c1: float
    r12: float
    c2: float
    r2a: float
    idle_w: float
    dynamic_w: float
    most_khz: int = 2_000_000


# fmt: off
BODIES = {  #           C1 J/K R12 K/W C2 J/K R2a K/W idle W dynamic W kHz
    "fanless_cam": Body(4.0,   2.0,    45.0,  7.5,    1.5,   6.0,      1_800_000),  # a RK3328, large heat sink
    "rpi5":        Body(6.0,   1.5,    30.0,  8.5,    2.7,   6.5,      2_400_000),  # bare: idles at about 50 C
    "rk3588":      Body(8.0,   1.2,    90.0,  5.0,    2.5,   9.0,      2_400_000),  # with a heat sink
    "phone":       Body(5.0,   2.5,    70.0,  6.5,    1.0,   5.5,      2_800_000),  # 4 to 8 W under load
}
# fmt: on


class Warmth(NamedTuple):
    """Temperatures of a body, in degrees Celsius."""

    chip_c: float
    housing_c: float


class WarmBoard(NamedTuple):
    """A body in air of some temperature."""

    preset: str
    body: Body
    ambient_c: float


def place(text: str) -> WarmBoard:
    """Read `rk3588` or `rk3588@35`: a preset, and the temperature of the air around it (25 unless said).

    Raises:
        ConfigError: There is no such preset, or the temperature is none.
    """
    preset, at, ambient = text.partition("@")
    if preset not in BODIES:
        raise ConfigError(f"no board `{preset}`: there are {', '.join(BODIES)}, each with @AMBIENT, such as rk3588@35")
    if at and not (re.fullmatch(r"-?\d{1,3}(\.\d+)?", ambient) and _COLDEST_C <= float(ambient) <= _WARMEST_C):
        raise ConfigError(
            f"`{text}`: write the temperature of the air as a number of degrees Celsius from {_COLDEST_C:g} to "
            f"{_WARMEST_C:g}, such as {preset}@35"
        )
    return WarmBoard(preset, BODIES[preset], float(ambient) if at else 25.0)


def power_w(body: Body, load: float, frequency: float) -> float:
    """What the board takes: `load` is the share of time that it works, `frequency` a share of the highest."""
    return body.idle_w + body.dynamic_w * load * float(frequency**_POWER_EXPONENT)


def speed(frequency: float) -> float:
    """How fast a language model runs at a share of the highest frequency, as a share of its speed at the highest."""
    return 1 / (_MEMORY_SHARE + (1 - _MEMORY_SHARE) / frequency)


def settle(body: Body, ambient_c: float, watts: float) -> Warmth:
    """Where temperatures end if power stays as it is."""
    housing = ambient_c + watts * body.r2a
    return Warmth(housing + watts * body.r12, housing)


def warm(body: Body, warmth: Warmth, ambient_c: float, watts: float, seconds: float) -> Warmth:
    """Temperatures after some time of this power (Euler's method, in steps of a second at most)."""
    chip, housing = warmth
    left = seconds
    while left > 0:
        step = min(left, _STEP_S)
        flow = (chip - housing) / body.r12
        chip += (watts - flow) / body.c1 * step
        housing += (flow - (housing - ambient_c) / body.r2a) / body.c2 * step
        left -= step
    return Warmth(chip, housing)
