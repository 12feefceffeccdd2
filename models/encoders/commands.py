"""Write the command line that converts an encoder."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from models.encoders import OURS, PictureFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

SOC = 'a number such as 43 for SM8550, which Qualcomm\'s documentation lists under "Supported Snapdragon devices"'
"""How a chip is named, for messages."""


def is_soc(text: str) -> bool:
    """Tell whether a text is a number, as `soc_model` requires."""
    return text.isascii() and text.isdecimal()


def make_command(  # noqa: PLR0917  # one option each
    model: str,
    target: str,
    soc: str = "",
    calibration: str = "",
    reading: PictureFormat = OURS,
    keep: Sequence[str] = (),
    *,
    eight_bit: bool = False,
) -> str:
    """Return the command, quoted for a shell."""
    words = ["pipeline", "models", "convert", model, "--target", target]
    words += ["--soc", soc] if soc else []
    words += ["--calibration", calibration] if calibration else []
    words += ["--int8"] if eight_bit else []
    words += ["--keep", ",".join(keep)] if keep else []
    if reading != OURS:
        words += ["--layout", reading.layout]
        for name in ("mean", "deviation"):
            words += [f"--{name}", *(f"{value:g}" for value in getattr(reading, name))]
    return shlex.join(words)


def option_value(command: str, option: str) -> str:
    """Return the word after an option of a command; empty if there is none."""
    words = shlex.split(command)
    return words[words.index(option) + 1] if option in words[:-1] else ""
