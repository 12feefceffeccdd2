"""Event files as a whole: the one that is written, those that were put away beside it, and which of their lines holds.

A sink puts full files away as NAME-000001-ID.jsonl and begins a new one, so a night may lie in several. Lines may be
written twice, or late, after a crash: a line counts once, and of an incident the event with the highest sequence holds.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from pipeline.core.decoding import LONGEST_LINE, Damage, convert, decode, decode_whole, read_lines
from pipeline.core.errors import ConfigError
from pipeline.core.files import open_regular
from pipeline.core.times import clock_is_set, iso

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "events.jsonl"
"""In a folder."""
_PUT_AWAY = re.compile(r"(?P<stem>.+)-(?P<number>\d{1,18})-[^-]+")
_INCIDENT = b'"type":"fieldwatch.incident.'
_HEAD_BYTES = 512  # of a line, in which its type is
_MOST_DIGITS = 18  # of a sequence; more is none of ours
_ROUNDS = 3  # files may be put away while they are read
_MARGIN = timedelta(
    hours=26
)  # an incident that ended so long before a period is not told in it, whatever the time zone

_Kind = TypeVar("_Kind", bound="Head")


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of every event, whoever reads it."""

    id: str | int = ""
    sequence: str | int = ""

    def check(self) -> None:
        """Raise msgspec.DecodeError where a part that is read later cannot be."""


class _Stamp(msgspec.Struct, frozen=True):
    time: datetime


class Rank(NamedTuple):
    """Of two events of an incident, the one of the higher rank holds."""

    end: bool
    order: int


def rank(kind: str, head: Head) -> Rank:
    """Rank an event of an incident: its end before all others, then by sequence."""
    return Rank(".incident.end." in kind or kind.endswith("incident.end"), order(head))


def order(head: Head) -> int:
    """The place of an event among those of its source; -1: it tells none."""
    text = str(head.sequence)
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else -1


def files(path: Path) -> list[Path]:
    """Name the files of events that belong to a path, the oldest first.

    Args:
        path: The file that is written, or the folder that it lies in; or one that was put away, which is read alone.

    Raises:
        ConfigError: There is none.
    """
    current = path / NAME if path.is_dir() else path
    if _PUT_AWAY.fullmatch(current.stem) and current.exists():
        return [current]
    beside = [one for _, one in sorted(_beside(current))]
    found = [*beside, *([current] if current.exists() else [])]
    if not found:
        raise ConfigError(f"{current}: no such file, and none of its events were put away beside it")
    return found


def _beside(current: Path) -> Iterator[tuple[int, Path]]:
    """Files put away, by number: the clock may have been wrong when they were."""
    if not current.parent.is_dir():
        return
    for one in current.parent.iterdir():
        name = _PUT_AWAY.fullmatch(one.stem)
        if name and name["stem"] == current.stem and one.suffix == current.suffix and one.is_file():
            yield int(name["number"]), one


class Reader:
    """Reads the files of a path once, each line as it stands and as what is read of it.

    Args:
        path: As `files` takes it.
        since: Incidents that ended well before are of no interest; None: all are.
    """

    def __init__(self, path: Path, since: datetime | None = None) -> None:
        self.path = path
        self._since = since
        self._seen: set[int] = set()  # ids; 64 bits of each
        self._read: set[tuple[int, int]] = set()  # files: device and inode
        self._first: datetime | None = None
        self._vanished = False
        self.damaged: dict[Path, Damage] = {}

    def events(self, kind: type[_Kind]) -> Iterator[tuple[bytes, _Kind]]:
        """Yield the events, in the order of files and lines; a line that was yielded before is left out.

        Raises:
            ConfigError: There is no file.
            OSError: One cannot be read.
        """
        for _ in range(_ROUNDS):
            left = [one for one in files(self.path) if self._is_new(one)]
            for one in left:
                yield from self._of(one, kind)
            if not left:
                return

    def nothing(self) -> ConfigError:
        """The error where there are lines, and none is an event."""
        return ConfigError(f"{self.path}: not a file of events: none of its {self.damaged_lines} lines is one")

    def complaints(self) -> list[str]:
        """Say of each file how many lines are no events, and which is the first."""
        return [damage.message(one) for one, damage in self.damaged.items()]

    @property
    def damaged_lines(self) -> int:
        """How many lines are no events."""
        return sum(damage.count for damage in self.damaged.values())

    def kept_from(self, since: datetime | None = None) -> str:
        """Say from when on events are kept, where that is later than was asked for; empty: all are.

        Args:
            since: What was asked for; None: everything there ever was.
        """
        first = self._first
        gone = self._vanished or _deleted(self.path)
        if first is None or (since is None and not gone) or (since is not None and first <= since):
            return ""
        return f"the events begin at {iso(first)}{': what was before is not kept' if gone else ''}"

    def _of(self, file: Path, kind: type[_Kind]) -> Iterator[tuple[bytes, _Kind]]:
        try:
            yield from self._lines_of(file, kind)
        except FileNotFoundError:
            self._vanished = True  # the sink keeps only so many

    def _lines_of(self, file: Path, kind: type[_Kind]) -> Iterator[tuple[bytes, _Kind]]:
        old = self._since is not None and _ended(file, self._since - _MARGIN)
        dated = False
        before: tuple[int, bytes] | None = None
        for number, line in enumerate(read_lines(file), 1):
            dated = dated or self._date(line)
            if old and line is not None and _INCIDENT in line[:_HEAD_BYTES]:
                before = number, line
                continue
            before = None
            yield from self._event(file, number, line, kind)
        if before is not None:  # the last tells what was counted up to then
            yield from self._event(file, *before, kind)

    def _event(self, file: Path, number: int, line: bytes | None, kind: type[_Kind]) -> Iterator[tuple[bytes, _Kind]]:
        try:  # whole, so that all who read a file agree on what is an event
            event = convert(decode_whole(line or b""), kind)
            event.check()
        except msgspec.DecodeError:
            self.damaged.setdefault(file, Damage()).add(number)
            return
        name = hash(event.id)
        if event.id != "" and name in self._seen:
            return
        self._seen.add(name)
        yield line or b"", event

    def _is_new(self, file: Path) -> bool:
        try:
            status = file.stat()
        except FileNotFoundError:
            self._vanished = True
            return False
        name = status.st_dev, status.st_ino
        if name in self._read:
            return False
        self._read.add(name)
        return True

    def _date(self, line: bytes | None) -> bool:
        """Note when a file begins; False: this line does not tell."""
        time = _time(line or b"")
        if time is None or not clock_is_set(time):
            return False
        self._first = time if self._first is None else min(self._first, time)
        return True


def _deleted(path: Path) -> bool:
    """Whether files that were put away are gone: their numbers begin with 1."""
    current = path / NAME if path.is_dir() else path
    if _PUT_AWAY.fullmatch(current.stem):
        return False
    return min((number for number, _ in _beside(current)), default=1) > 1


def _ended(file: Path, before: datetime) -> bool:
    """Whether the last event of a file was before a moment, by a clock that was set, and of no recording."""
    with os.fdopen(open_regular(file, follow=True), "rb") as opened:
        end = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, end - LONGEST_LINE))
        tail = opened.read(LONGEST_LINE).rstrip(b"\n")
    last = tail[tail.rfind(b"\n") + 1 :]
    time = _time(last)
    return time is not None and clock_is_set(time) and time < before and b'"clock":"media"' not in last


def _time(line: bytes) -> datetime | None:
    try:
        time = decode(line, _Stamp).time
    except msgspec.DecodeError:
        return None
    return time.astimezone(UTC) if time.tzinfo else None
