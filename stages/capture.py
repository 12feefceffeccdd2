"""Capture: pictures of a camera or a recording into the camera's ring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pipeline.core.errors import FrameTooLargeError, SourceError
from pipeline.core.messages import CameraChanged, FrameCaptured, FrameRef
from pipeline.core.stage import Stage
from pipeline.core.times import Backoff, Pace
from pipeline.core.vocabulary import Nanoseconds
from stages.sources.opening import is_live, opened
from stages.sources.picture import LEAST_SIDE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.stage import Outputs
    from stages.sources.picture import Picture, Source, SourceReport

_LATE_NS = 500_000_000  # a paced recording that is further behind skips pictures, as a camera would


class Capture(Stage):
    """Decodes every picture, and copies into the ring those that are looked at.

    Packets, decoded pictures and slots are three things here: a source decodes, `_looked_at` chooses, `_kept`
    copies once.
    """

    report: SourceReport | None = None  # of the recording, once it was read

    def produce(self) -> Outputs:
        """Yield one message a frame; a live source is opened again for ever, a recording ends."""
        if self.context.clock.media:
            yield from self._replayed()
        elif is_live(self.context.own_camera().source):
            yield from self._watched()
        else:
            yield from self._paced()

    def _replayed(self) -> Outputs:
        """As fast as it can be decoded. Raises SourceError where the recording cannot be read at all."""
        source = self._opened()
        try:
            given = self.context.began_utc_ns
            began: int = given if given is not None else source.began_utc_ns or 0
            for picture in self._looked_at(source):
                assert picture.pts_ns is not None
                self.share = min(1.0, picture.index / source.declared) if source.declared else 0.0
                yield self._kept(picture, picture.pts_ns, began + picture.pts_ns)
        finally:
            self.report = source.report()
            source.close()

    def _paced(self) -> Outputs:
        """At the speed at which it was recorded, skipping what a camera would not have waited for."""
        try:
            source = self._opened()
            since = self.context.clock.now()[0]
            yield self._changed("found", "opened")
            for picture in self._looked_at(source):
                yield from self._in_time(picture, since if since > _LATE_NS else 0)
            source.close()
            yield self._changed("ended", "eof")
        except (SourceError, FrameTooLargeError) as error:  # nobody watches here: that is to be told
            yield self._changed("lost", str(error))

    def _in_time(self, picture: Picture, since_ns: int) -> Outputs:
        """Wait until a recorded picture is due; drop it when that is long past, or when an earlier life showed it."""
        assert picture.pts_ns is not None
        now, utc = self.context.clock.now()
        if picture.pts_ns < max(since_ns, now - _LATE_NS):
            self.dropped += picture.pts_ns >= since_ns  # what an earlier life showed is not missing
            self.context.clock.sleep(0)  # no picture passes meanwhile: say that somebody works
            return
        if picture.pts_ns > now:
            self.context.clock.sleep((picture.pts_ns - now) / 1e9)
            utc = Nanoseconds(utc + picture.pts_ns - now)
        yield self._kept(picture, picture.pts_ns, utc)

    def _watched(self) -> Outputs:
        """For ever: open, read until it fails, wait, open again."""
        settings = self.context.settings.capture
        pause = Backoff(settings.min_reconnect_s, settings.max_reconnect_s)
        while True:
            try:
                yield from self._arriving(self._opened(), pause)
                reason = "the stream ended"
            except (SourceError, FrameTooLargeError) as error:
                reason = str(error)
            yield self._changed("lost", reason)
            self.context.clock.sleep(pause.next_s())

    def _arriving(self, source: Source, pause: Backoff) -> Outputs:
        """Stamp pictures on arrival: cameras send none or wrong times at first, and a burst of old pictures.

        A camera is found when a picture of it is kept: many that are broken still open, at every attempt.
        """
        pace = Pace(self.context.settings.capture.frames_per_s)
        found = False
        try:
            for picture in source.pictures():
                now, utc = self.context.clock.now()
                if not pace.due(now):
                    continue
                kept = self._kept(picture, now, utc)
                pause.reset()
                if not found:
                    yield self._changed("found", "opened")
                    found = True
                yield kept
        finally:
            source.close()

    def _looked_at(self, source: Source) -> Iterator[Picture]:
        pace = Pace(self.context.settings.capture.frames_per_s)
        return (picture for picture in source.pictures() if pace.due(picture.pts_ns or 0))

    def _kept(self, picture: Picture, pts_ns: int, utc_ns: int) -> FrameCaptured:
        """Copy a picture into the next slot of the ring, the only copy it sees.

        Raises SourceError for a picture in which nothing can be seen to move, FrameTooLargeError for the opposite.
        """
        if min(picture.width, picture.height) < LEAST_SIDE:
            size = f"{picture.width}x{picture.height}"
            raise SourceError(f"pictures of {size} pixels are too small: {LEAST_SIDE}x{LEAST_SIDE} is the least")
        assert self.context.camera is not None
        ring = self.context.rings[self.context.camera]
        ring.reserve(picture.width, picture.height)
        sequence, planes = ring.begin(picture.width, picture.height)
        picture.copy_to(planes)
        return FrameCaptured(
            frame=FrameRef(
                self.context.camera, sequence, picture.index, Nanoseconds(pts_ns), Nanoseconds(utc_ns),
                picture.width, picture.height, picture.rotation, picture.full_range,
            )
        )  # fmt: skip

    def _opened(self) -> Source:
        return opened(self.context.own_camera(), self.context.settings.capture)

    def _changed(self, state: Literal["found", "lost", "ended"], reason: str) -> CameraChanged:
        assert self.context.camera is not None
        now, utc = self.context.clock.now()
        return CameraChanged(camera=self.context.camera, state=state, reason=reason, pts_ns=now, utc_ns=utc)
