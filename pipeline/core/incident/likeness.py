"""Which incidents look alike: a pure comparison of what the encoder made of their pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from pipeline.core.vocabulary import CameraId, Group, IncidentId

MOST = 3
"""Of the likest that an event names."""


class Look(NamedTuple):
    """An incident's picture.

    Attributes:
        incident: Whose.
        camera: Where.
        group: What it is about.
        vector: As `FeaturesEncoded.embedding`: float16, little endian, of unit length.
    """

    incident: IncidentId
    camera: CameraId
    group: Group | None
    vector: bytes


def alike(look: Look, earlier: Iterable[Look], least: float) -> tuple[IncidentId, ...]:
    """Name the earlier incidents of this camera and group whose pictures look like this one, the likest first.

    Args:
        look: The incident.
        earlier: In the order in which they were; of equally like ones, the latest is named first.
        least: Of the cosine of two pictures, 0..1.
    """
    same = [one for one in earlier if (one.camera, one.group) == (look.camera, look.group) and one.vector]
    if not same or not look.vector:
        return ()
    cosines = np.stack([vector(one.vector) for one in same]) @ vector(look.vector)
    order = sorted(range(len(same)), key=lambda at: (-cosines[at], -at))
    return tuple(same[at].incident for at in order[:MOST] if cosines[at] >= least)


def vector(stored: bytes) -> NDArray[np.float32]:
    """What an encoder made of a picture, as it is stored."""
    return np.frombuffer(stored, np.dtype("<f2")).astype(np.float32)
