"""Network streams (RTSP, HTTP) and V4L2 devices: live, so times are those of arrival."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import av
import av.error

from pipeline.core.errors import SourceError
from pipeline.core.secrets import redact
from pipeline.core.sources import find_kind
from stages.sources.decoder import DecodedPicture, Decoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.geometry import Rotation
    from pipeline.core.settings import CaptureSettings
    from stages.sources.picture import SourceReport

_MICROSECONDS = 1_000_000
# What libav says when a time has run out: that it was interrupted, and of RTSP that the missing answer is invalid.
_RAN_OUT = (av.error.ExitError, av.error.TimeoutError, av.error.InvalidDataError)


class Stream:
    """A camera that is read as it sends. Raises SourceError when it does not come, stops or falls silent."""

    began_utc_ns: int | None = None
    declared: int | None = None

    def __init__(self, url: str, settings: CaptureSettings, *, rotation: Rotation | None = None) -> None:
        self.name = redact(url)
        asked = time.monotonic()
        try:
            container = av.open(
                url.removeprefix("v4l2:"),
                format="v4l2" if _is_device(url) else None,
                options=options(url, settings),
                timeout=None if _is_device(url) else (settings.open_timeout_s, settings.read_timeout_s),
                metadata_errors="replace",
            )
        except (av.error.FFmpegError, OSError, ValueError) as error:
            raise SourceError(
                f"{self.name}: {_remedy(url, error, time.monotonic() - asked, settings)}"
            ) from None  # its own text holds the password
        self._decoder = Decoder(
            container, self.name, live=True, rotation=rotation, silent_after_s=settings.read_timeout_s
        )

    def pictures(self) -> Iterator[DecodedPicture]:
        """Yield pictures as they arrive; ends when the other side says so."""
        try:
            yield from self._decoder.pictures()
        except OSError as error:
            raise SourceError(f"{self.name}: {error.strerror or error}") from None  # likewise

    def report(self) -> SourceReport:
        """Say what was read so far."""
        return self._decoder.report()

    def close(self) -> None:
        """Hang up."""
        self._decoder.close()


def options(url: str, settings: CaptureSettings) -> dict[str, str]:
    """Return libav's options for a kind of source: TCP for RTSP, since a lost UDP packet is a torn picture."""
    read_us = str(round(settings.read_timeout_s * _MICROSECONDS))
    of_kinds = {
        "rtsp": {"rtsp_transport": "tcp", "timeout": read_us, "fflags": "nobuffer", "max_delay": "500000"},
        "http": {"rw_timeout": read_us, "fflags": "nobuffer"},
    }
    return of_kinds.get(_kind(url), {})


def _kind(url: str) -> str:
    kind = find_kind(url)
    return kind.name if kind else ""


def _is_device(url: str) -> bool:
    return _kind(url) == "v4l2"


def _remedy(url: str, error: Exception, waited_s: float, settings: CaptureSettings) -> str:
    """Say what happened and what to do; never the text of the error itself, as libav repeats the address in it."""
    reason = getattr(error, "strerror", None) or "no such address can be opened: `pipeline check` says how to write it"
    if _is_device(url) and isinstance(error, FileNotFoundError):
        return "no such device: `v4l2-ctl --list-devices` names those there are"
    if _is_device(url) and isinstance(error, PermissionError):
        return "not allowed to read the device: add the user to the group `video`"
    if isinstance(error, av.error.HTTPUnauthorizedError):
        return "user name or password refused"
    patience_s = min(settings.open_timeout_s, settings.read_timeout_s)
    if isinstance(error, _RAN_OUT) and waited_s >= patience_s:
        return f"no answer or no picture within {patience_s:g} s"
    return reason
