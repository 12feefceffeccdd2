"""An event of the log as the line that every sink writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from pipeline.core import events
from pipeline.core.incident import telling

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.core.events import Event, Evidence
    from pipeline.core.messages import Keyframe
    from pipeline.core.settings import SiteSettings
    from pipeline.eventlog.entries import Logged

_encoder = msgspec.json.Encoder()


class Lines:
    """Adds the envelope and the evidence; the same line for every sink."""

    def __init__(self, site: SiteSettings, evidence: Callable[[tuple[Keyframe, ...]], tuple[Evidence, ...]]) -> None:
        """`evidence`: the pictures that were kept of some keyframes."""
        self._site = site
        self._evidence = evidence
        self._last: tuple[Logged, tuple[Event, bytes]] | None = None

    def of(self, logged: Logged) -> tuple[Event, bytes]:
        """Return an event and its line, which ends with a newline."""
        if self._last is None or self._last[0] is not logged:
            self._last = (logged, self._made(logged))
        return self._last[1]

    def _made(self, logged: Logged) -> tuple[Event, bytes]:
        raised = logged.event
        source = telling.source(self._site, raised.camera)
        identity = events.ulid(raised.utc_ns, source, raised.key)
        data = msgspec.structs.replace(raised.data, evidence=self._evidence(raised.keyframes) or UNSET)
        event = telling.enveloped(raised, data, source, identity, logged.sequence, logged.recorded)
        return event, _encoder.encode(event) + b"\n"
