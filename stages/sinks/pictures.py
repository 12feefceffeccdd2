"""The pictures of events: kept before any sink tells of the event, since their frames do not wait."""

from __future__ import annotations

import errno
import hashlib
from typing import TYPE_CHECKING

import structlog

from pipeline.core.errors import FrameOverwrittenError
from pipeline.core.events import Evidence
from pipeline.core.files import read_bounded
from stages import evidence

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.core.frames import FramePool
    from pipeline.core.messages import Keyframe
    from pipeline.core.settings import EmitSettings
    from pipeline.eventlog.entries import Logged

log = structlog.get_logger()

_PRUNE_EVERY = 50  # pictures
_REMEMBERED = 256  # hashes of the pictures that were written last


class Pictures:
    """Writes the keyframes of events as JPEG, once each; a picture that cannot be had costs no event.

    Attributes:
        dropped: Pictures that could not be kept.
        deleted: Pictures that went since that was last told, as events needed their room on the disk.
    """

    trouble = ""

    def __init__(self, folder: Path, frames: FramePool, rows: EmitSettings) -> None:
        self.dropped = self.deleted = 0
        self._folder = folder
        self._frames = frames
        self._rows = rows
        self._written = 0
        self._hashes: dict[str, str] = {}

    def deliver(self, logged: Logged, _offset: int) -> None:
        """Keep the pictures of an event that are not there yet."""
        event = logged.event
        log.info("event", type=event.kind, subject=event.subject, sequence=logged.sequence)
        if self._rows.evidence:
            for keyframe in event.keyframes:
                if not (self._folder / keyframe.ref).exists():
                    self._keep(keyframe)

    def of(self, keyframes: tuple[Keyframe, ...]) -> tuple[Evidence, ...]:
        """Name the pictures that were kept of some keyframes, each with its hash."""
        if not self._rows.evidence:
            return ()
        found = ((one, self._hash(one.ref)) for one in keyframes)
        return tuple(Evidence(kind="frame", ref=one.ref, sha256=sha, pts_ms=one.pts_ms) for one, sha in found if sha)

    def make_room(self) -> None:
        """Delete the oldest where events wait for room on the disk."""
        if self._folder.is_dir() and not evidence.room(self._folder):
            self.deleted += evidence.thin_out(self._folder / "evidence")

    def close(self) -> None:
        """Nothing is held."""

    def _keep(self, keyframe: Keyframe) -> None:
        path = self._folder / keyframe.ref
        try:
            with self._frames.reading(keyframe.frame) as planes:
                data = evidence.jpeg(planes, keyframe.frame.rotation, self._rows.jpeg_quality)
            self._remember(keyframe.ref, self._stored(path, data))
        except (FrameOverwrittenError, OSError):
            self.dropped += 1

    def _stored(self, path: Path, data: bytes) -> str:
        """Events go before pictures: a full disk costs the oldest pictures first."""
        path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        self._written += 1
        if self._written % _PRUNE_EVERY == 0:
            evidence.prune(path.parent, self._rows.max_evidence_mb * 1e6)
        if not evidence.room(self._folder, len(data)):
            self.deleted += evidence.thin_out(path.parent)
            if not evidence.room(self._folder, len(data)):
                raise OSError(errno.ENOSPC, "what is left of the disk is for events")
        try:
            return evidence.write(path, data)
        except OSError:
            self.deleted += evidence.thin_out(path.parent)
            return evidence.write(path, data)

    def _hash(self, ref: str) -> str:
        """The hash of a picture; empty: it is not there."""
        if ref not in self._hashes:
            try:
                self._remember(ref, hashlib.sha256(read_bounded(self._folder / ref)).hexdigest())
            except OSError:
                return ""
        return self._hashes[ref]

    def _remember(self, ref: str, sha256: str) -> None:
        self._hashes[ref] = sha256
        if len(self._hashes) > _REMEMBERED:
            del self._hashes[next(iter(self._hashes))]
