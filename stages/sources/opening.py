"""From the text of `cameras.NAME.source` to a source."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote_to_bytes, urlsplit

from pipeline.core import sources
from pipeline.core.errors import SourceError
from pipeline.core.secrets import redact
from stages.sources.footage import Footage
from stages.sources.stream import Stream
from stages.sources.synthetic import Synthetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.core.settings import CameraSettings, CaptureSettings
    from stages.sources.picture import Source

_Opener: TypeAlias = "Callable[[str, CameraSettings, CaptureSettings], Source]"
"""From an address with its scheme in small letters, and the settings it is opened with."""


def is_live(source: str) -> bool:
    """Whether pictures come when they come, rather than when they are asked for."""
    kind = sources.find_kind(source)
    return kind is not None and kind.live


def opened(camera: CameraSettings, capture: CaptureSettings) -> Source:
    """Open a camera's source. Raises SourceError."""
    source = sources.lower_scheme(camera.source)
    kind = sources.find_kind(source)
    if kind is None:
        raise SourceError(f"{redact(source)}: no such kind of source: use {sources.HOW}")
    return OPENERS[kind.name](source, camera, capture)


def _stream(source: str, camera: CameraSettings, capture: CaptureSettings) -> Source:
    return Stream(source, capture, rotation=camera.rotation)


def _footage(source: str, camera: CameraSettings, _capture: CaptureSettings) -> Source:
    named = os.fsdecode(unquote_to_bytes(urlsplit(source).path)) if source.startswith("file://") else source
    mistyped = redact(camera.source) if redact(camera.source) != camera.source else ""  # an address, most likely
    return Footage(Path(named), rotation=camera.rotation, name=mistyped)


def _synthetic(source: str, _camera: CameraSettings, _capture: CaptureSettings) -> Source:
    return Synthetic(source)


OPENERS: dict[str, _Opener] = {
    "rtsp": _stream,
    "http": _stream,
    "v4l2": _stream,
    "file": _footage,
    "synthetic": _synthetic,
}
"""What opens each kind of `core/sources.py`."""
