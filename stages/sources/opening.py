"""From the text of `cameras.NAME.source` to a source."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes, urlsplit

from pipeline.core.errors import SourceError
from pipeline.core.secrets import redacted
from stages.sources.footage import Footage
from stages.sources.stream import Stream
from stages.sources.synthetic import Synthetic

if TYPE_CHECKING:
    from pipeline.core.settings import CameraSettings, CaptureSettings
    from stages.sources.picture import Source

_LIVE = ("rtsp://", "rtsps://", "http://", "https://", "v4l2:", "/dev/video")


def is_live(source: str) -> bool:
    """Whether pictures come when they come, rather than when they are asked for."""
    return source.lower().startswith(_LIVE)


def opened(camera: CameraSettings, capture: CaptureSettings) -> Source:
    """Open a camera's source. Raises SourceError."""
    scheme, separator, rest = camera.source.partition("://")
    source = f"{scheme.lower()}{separator}{rest}" if separator else camera.source
    if is_live(source):
        return Stream(source, capture, rotation=camera.rotation)
    if source.startswith("synthetic:"):
        return Synthetic(source)
    if "://" in source and not source.startswith("file://"):
        raise SourceError(
            f"{redacted(source)}: no such kind of source: use rtsp://, http://, /dev/videoN, a file or synthetic://"
        )
    named = os.fsdecode(unquote_to_bytes(urlsplit(source).path)) if source.startswith("file://") else source
    mistyped = redacted(camera.source) if redacted(camera.source) != camera.source else ""  # an address, most likely
    return Footage(Path(named), rotation=camera.rotation, name=mistyped)
