"""Decoding through PyAV: what files, streams and devices have in common."""

from __future__ import annotations

import contextlib
import math
import time
from datetime import datetime
from typing import TYPE_CHECKING

import av
import av.error
import av.logging
import numpy as np

from pipeline.core.errors import SourceError
from stages.sources.picture import SourceReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

    from pipeline.core.frames import Plane, Planes
    from pipeline.core.geometry import Rotation

av.logging.set_level(av.logging.PANIC)  # libav's remarks are counted here, not printed

_PLANAR = ("yuv420p", "yuvj420p")
_FALLBACK_FPS = 25.0  # what libav itself assumes of a raw stream
_JUMP_NS = 3600 * 1_000_000_000  # a step of an hour is a clock that was set, not a gap


class DecodedPicture:
    """A picture in libav's memory."""

    def __init__(self, frame: VideoFrame, index: int, pts_ns: int | None, rotation: Rotation) -> None:
        if frame.format.name not in _PLANAR:
            frame = frame.reformat(format="yuv420p")
        self._frame = frame
        self.index = index
        self.pts_ns = pts_ns
        self.rotation = rotation
        self.width, self.height = frame.width, frame.height
        self.full_range = frame.format.name == "yuvj420p" or int(frame.color_range) == 2  # noqa: PLR2004  # AVCOL_RANGE_JPEG

    def copy_to(self, planes: Planes) -> None:
        """Copy the three planes: the only copy a frame ever sees (libav cannot decode into foreign memory)."""
        for source, target in zip(self._frame.planes, planes[:3], strict=True):
            rows: Plane = np.frombuffer(memoryview(source), np.uint8).reshape(-1, source.line_size)
            np.copyto(target, rows[: target.shape[0], : target.shape[1]])


class Timeline:
    """Media time from the first picture on, strictly increasing, whatever the container says."""

    def __init__(self, fps: float) -> None:
        self._step = round(1e9 / fps)
        self._shift: int | None = None
        self.left_out = 0  # nanoseconds of jumps ahead that were taken for a clock that was set
        self.last = -self._step

    def place(self, pts_ns: int | None) -> int:
        """Turn a container's time stamp into media time; without one, count pictures."""
        if pts_ns is None:
            self.last += self._step
            return self.last
        if self._shift is None:
            self._shift = self.last + self._step - pts_ns
        if not 0 < (ahead := pts_ns + self._shift - self.last) < _JUMP_NS:  # went back or jumped: go on from here
            self.left_out += max(0, ahead - self._step)
            self._shift = self.last + self._step - pts_ns
        self.last = pts_ns + self._shift
        return self.last


class Decoder:
    """The first video stream of a container, picture by picture, in one thread."""

    def __init__(
        self,
        container: InputContainer,
        name: str,
        *,
        live: bool,
        rotation: Rotation | None,
        silent_after_s: float = math.inf,
    ) -> None:
        """`silent_after_s`: a live source that sends no packet for so long has fallen silent."""
        if not container.streams.video:
            container.close()
            raise SourceError(f"{name}: holds no video stream")
        self._container = container
        self._name = name
        self._live = live
        self._silent_after_s = silent_after_s
        self._rotation = rotation
        self._stream: VideoStream = container.streams.video[0]
        self._stream.thread_type = "NONE"
        self._frames = self._corrupt = self._refused = 0
        rate = self._stream.average_rate or self._stream.guessed_rate
        self.fps = float(rate) if rate else _FALLBACK_FPS
        self._timeline = Timeline(self.fps)
        self.began_utc_ns = _creation_time(container.metadata.get("creation_time"))
        self.declared = self._stream.frames or None
        self.failure: str | None = None  # the error that ended the reading, if one did

    def pictures(self) -> Iterator[DecodedPicture]:
        """Yield every picture that can be decoded; what cannot is counted, and reading goes on behind it."""
        for frame in self._decoded():
            self._corrupt += bool(frame.is_corrupt)
            stamp = _nanoseconds(frame)
            pts_ns = stamp if self._live else self._timeline.place(stamp)
            rotation = self._rotation if self._rotation is not None else _upright(frame)
            yield DecodedPicture(frame, self._frames, pts_ns, rotation)
            self._frames += 1

    def report(self) -> SourceReport:
        """Say what was read, and whether the recording was cut."""
        return SourceReport(self._frames, self.declared, self._corrupt + self._refused, self._truncated())

    def close(self) -> None:
        """Close the container."""
        with contextlib.suppress(av.error.FFmpegError):
            self._container.close()

    def _decoded(self) -> Iterator[VideoFrame]:
        packets = self._container.demux(self._stream)
        while True:
            asked = time.monotonic()
            try:
                packet = next(packets)
            except StopIteration:
                return
            except av.error.FFmpegError as error:
                self._check_silence(asked)
                self.failure = error.strerror
                if self._live:
                    raise SourceError(f"{self._name}: {error.strerror}") from error
                yield from self._flushed()
                return
            self._check_silence(asked)
            try:
                yield from packet.decode()
            except av.error.EOFError:
                return
            except av.error.FFmpegError:  # one bad packet is not the end of the recording
                self._refused += 1

    def _check_silence(self, asked: float) -> None:
        """Raise SourceError after a wait that ran out.

        libav does not always say so: it first hands out the packet that its parser held back, as if it had just come,
        and would then wait as long again.
        """
        if time.monotonic() - asked >= self._silent_after_s:
            raise SourceError(f"{self._name}: sent nothing for {self._silent_after_s:g} s")

    def _flushed(self) -> Iterator[VideoFrame]:
        with contextlib.suppress(av.error.FFmpegError):
            yield from self._stream.decode(None)

    def _truncated(self) -> str | None:
        """The container declares both more pictures and more time than there was."""
        if self.failure is not None:
            return f"reading failed: {self.failure}"
        length_s = self._declared_s()
        read_s = (self._timeline.last + self._timeline.left_out) / 1e9 + 1 / self.fps
        declared = self._stream.frames
        if declared and self._frames >= 0.98 * declared - 1:
            return None
        return f"{read_s:.1f} of {length_s:.1f} s" if length_s and read_s < 0.97 * length_s else None

    def _declared_s(self) -> float | None:
        """How long the index or the header says that it is; of other containers libav guesses it from the bit rate."""
        stream, end = self._stream, self._container.duration
        if stream.frames and stream.duration is not None and stream.time_base is not None:
            return float(stream.duration * stream.time_base)
        if not end or "matroska" not in self._container.format.name:
            return None
        start = self._container.start_time or 0  # its header counts from none, also where the pictures begin later
        return (end - start if end > start else end) / av.time_base


def _nanoseconds(frame: VideoFrame) -> int | None:
    if frame.pts is None or frame.time_base is None:
        return None
    base = frame.time_base  # whole numbers: a fraction costs five times as much, for every picture
    return (frame.pts * 1_000_000_000 * base.numerator + base.denominator // 2) // base.denominator


def _upright(frame: VideoFrame) -> Rotation:
    """Quarter turns clockwise; libav's display matrix counts against the clock. Other angles are nobody's camera."""
    turns: dict[int, Rotation] = {90: 90, 180: 180, 270: 270}
    return turns.get(-round(frame.rotation) % 360, 0)


def _creation_time(text: str | None) -> int | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None or moment.timestamp() <= 0:  # MP4's zero is 1904, libav's 1970: not set
        return None
    return int(moment.timestamp()) * 1_000_000_000
