"""Reading the log in order, while its author writes it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from pipeline.core.files import open_regular
from pipeline.eventlog import segments as files
from pipeline.eventlog.segments import Record, RecordKind, Segment

if TYPE_CHECKING:
    from pathlib import Path


_SEARCH_EVERY_S = 1.0  # at the end of the log, where there is mostly nothing


class LogReader:
    """Reads record after record; holds one open file and nothing in memory.

    Attributes:
        position: Of the last record that was returned; 0: none.
        missing: Records that were to come and were damaged or gone.
    """

    def __init__(self, folder: Path, after: int = 0) -> None:
        """Read what comes after a position. `folder` need not exist yet."""
        self.position = after
        self.missing = 0
        self._folder = folder
        self._segment: Segment | None = None
        self._descriptor = -1
        self._offset = 0
        self._searched_s = -_SEARCH_EVERY_S

    def next(self) -> Record | None:
        """Return the next record; None where there is none yet. Raises OSError."""
        while self._descriptor >= 0 or self._open():
            assert self._segment is not None
            found = files.read(self._descriptor, self._offset, self._segment.first)
            if found is None or found[0].position != self.position + 1:
                if not self._is_current():  # its author gave it up, and may use the file again
                    self.close()
                    continue
                following = self._following()
                found = found or self._found_behind(following)
                if found is None and following is not None:
                    self._change_to(following)
                    continue
            if found is None:
                return None
            record, self._offset = found
            if record.position > self.position:
                self.missing += record.position - self.position - 1 if self.position else 0
                self.position = record.position
                return record
        return None

    def _found_behind(self, following: Segment | None) -> tuple[Record, int] | None:
        """Look for a record behind damage, or for what was written since: at the end of the log now and then only."""
        assert self._segment is not None
        if following is None and self._offset and time.monotonic() - self._searched_s < _SEARCH_EVERY_S:
            return None
        self._searched_s = time.monotonic()
        return files.find(self._descriptor, self._offset, self._segment.first)

    def _is_current(self) -> bool:
        """Whether the open file still has its segment's name."""
        assert self._segment is not None
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._segment.path.lstat())
        except FileNotFoundError:
            return False

    def seek(self, after: int) -> None:
        """Go on after a position."""
        self.close()
        self.position = after

    def close(self) -> None:
        """Close the file; reading on opens it again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> bool:
        """Open the segment that holds the next position, or the oldest that is left."""
        there = self._segments()
        if not there:
            return False
        holding = [one for one in there if one.first <= self.position + 1]
        return self._change_to(holding[-1] if holding else there[0])

    def _change_to(self, segment: Segment) -> bool:
        self.close()
        try:
            self._descriptor = open_regular(segment.path)
        except FileNotFoundError:  # given up by its author a moment ago
            return False
        self._segment, self._offset = segment, 0
        return True

    def _following(self) -> Segment | None:
        assert self._segment is not None
        first = self._segment.first
        return next((one for one in self._segments() if one.first > first), None)

    def _segments(self) -> list[Segment]:
        try:
            return files.segments(self._folder)
        except FileNotFoundError:
            return []


def waiting(folder: Path, after: int) -> int:
    """Count the events of a log after a position. Raises OSError."""
    reader, count = LogReader(folder, after), 0
    try:
        while (record := reader.next()) is not None:
            count += record.kind is RecordKind.EVENT
    finally:
        reader.close()
    return count


def newest(folder: Path) -> int:
    """Return the first position of the newest segment; 0: there is none."""
    try:
        return max((one.first for one in files.segments(folder)), default=0)
    except FileNotFoundError:
        return 0


def bytes_behind(folder: Path, position: int) -> int:
    """How large the segments are that begin behind a position. Raises OSError."""
    return sum(one.path.stat().st_size for one in files.segments(folder) if one.first > position)
