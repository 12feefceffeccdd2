"""Names and units that messages, events and facts share."""

from __future__ import annotations

from typing import Literal, NewType, TypeAlias

CameraId = NewType("CameraId", str)
IncidentId = NewType("IncidentId", str)
Nanoseconds = NewType("Nanoseconds", int)
Seconds = NewType("Seconds", float)

Group: TypeAlias = Literal["person", "vehicle", "animal", "other"]
Operation: TypeAlias = Literal["start", "update", "end", "point"]
EndedBy: TypeAlias = Literal["quiet", "max_duration", "camera_lost", "shutdown", "crash_recovery", "superseded", "eof"]
ClockState: TypeAlias = Literal["synced", "unsynced", "stepped", "media"]
Light: TypeAlias = Literal["day", "night", "dawn", "lit"]
Direction: TypeAlias = Literal["none", "along", "in", "out", "toward", "away"]
Speed: TypeAlias = Literal["still", "slow", "walk", "medium", "run", "fast"]
