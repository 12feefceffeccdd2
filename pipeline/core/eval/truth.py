"""What people saw in recordings: who was there, from when to when; as a file of JSON that is written by hand."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from pipeline.core.decoding import convert, decode
from pipeline.core.errors import ConfigError, DamagedError

Named: TypeAlias = Literal["person", "vehicle", "animal"]
_Time: TypeAlias = Annotated[float, Meta(ge=0, le=1e7)]  # seconds from the first picture
_Count: TypeAlias = Annotated[int, Meta(ge=0, le=10**6)]
Range: TypeAlias = tuple[_Count, _Count]
"""Least and most."""
Box: TypeAlias = tuple[_Time, float, float, float, float]
"""When, and where in the upright picture: seconds, left, top, right, bottom; 0..1."""


class TrueThing(msgspec.Struct, frozen=True, omit_defaults=True):
    """A thing that was there, from coming to going.

    Attributes:
        group: What it is.
        from_s: When it came, in seconds from the first picture.
        to_s: When it went.
        what: For people: which one it is.
        boxes: Where it was; nothing is computed from them yet.
    """

    group: Named
    from_s: _Time
    to_s: _Time
    what: str = ""
    boxes: tuple[Box, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError, which names the thing in the file."""
        if self.to_s < self.from_s:
            raise ValueError(f"to_s {self.to_s:g} is before from_s {self.from_s:g}")


class TrueCounts(msgspec.Struct, frozen=True):
    """How many things of a group there were: least and most, where people cannot tell exactly."""

    at_once: Range
    total: Range

    def __post_init__(self) -> None:
        """Raise ValueError, which names the group's row in the file."""
        if self.at_once[0] > self.at_once[1] or self.total[0] > self.total[1]:
            raise ValueError("write the least before the most")


class ClipTruth(msgspec.Struct, frozen=True):
    """What was there in a recording.

    Attributes:
        things: All that count; none: nothing should be told of.
        nuisance: Tags of what else moves, such as rain.
        counts_only: By group, where nobody can say who was there when, such as a crowd: only counts are compared.
    """

    things: tuple[TrueThing, ...] = ()
    nuisance: tuple[str, ...] = ()
    counts_only: dict[Named, TrueCounts] = {}

    def __post_init__(self) -> None:
        """Raise ValueError, which names the clip in the file."""
        if self.things and self.counts_only:
            raise ValueError("has both things and counts_only: write one of them")


class _File(msgspec.Struct, frozen=True):
    clips: dict[str, Any]


def parse_truth(data: bytes, name: str) -> dict[str, ClipTruth]:
    """Read a file of what was there, by clip; fields that are not ours are passed over.

    Args:
        data: The file's bytes.
        name: Its name, for messages.

    Raises:
        DamagedError: It is no JSON, or no object with `clips`.
        ConfigError: Clips that cannot be read, each with its place and what is wrong.
    """
    try:
        rows = decode(data, _File).clips
    except msgspec.DecodeError as error:
        raise DamagedError(
            f'{name}: no truth, which is {{"clips": {{NAME: {{"things": [...]}}}}}} ({error})'
        ) from error
    found, faults = dict[str, ClipTruth](), list[str]()
    for clip, row in rows.items():
        try:
            found[clip] = convert(row, ClipTruth)
        except msgspec.DecodeError as error:
            faults.append(f"{name}: clip {clip}: {_explain(error)}")
    if faults:
        raise ConfigError("\n".join(faults))
    if not found:
        raise ConfigError(f"{name}: holds no clip")
    return found


def write_truth(clips: dict[str, ClipTruth]) -> bytes:
    """Write the things of clips as a file that people correct: a line a thing."""
    return b'{"clips": {\n' + b",\n".join(_write_clip(name, clip) for name, clip in clips.items()) + b"\n}}\n"


def _write_clip(name: str, clip: ClipTruth) -> bytes:
    things = b",".join(b"\n  " + msgspec.json.format(msgspec.json.encode(one), indent=0) for one in clip.things)
    tags = msgspec.json.encode(clip.nuisance)
    return b' %b: {"nuisance": %b, "things": [%b]}' % (msgspec.json.encode(name), tags, things)


def _explain(error: msgspec.DecodeError) -> str:
    return str(error).replace(" - at `$.", " - at `").replace(" - at `$`", "")
