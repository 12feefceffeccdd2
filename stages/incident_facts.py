"""What follows for an incident from the settings: its area, facts, priority and rules, and the events about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

import msgspec

from pipeline.core import times
from pipeline.core.incident import areas, incidents, rules, telling
from pipeline.core.messages import DescriptionWanted

if TYPE_CHECKING:
    from datetime import datetime

    from pipeline.core.facts import Facts
    from pipeline.core.incident.areas import Area
    from pipeline.core.incident.incidents import Course, Visit
    from pipeline.core.messages import EventRaised, Priority
    from pipeline.core.stage import StageContext
    from pipeline.core.vocabulary import EndedBy, Nanoseconds


class IncidentFacts:
    """Evaluates incidents; it keeps nothing of them but the settings.

    Attributes:
        areas: `areas[camera][key]` is an area of a camera.
    """

    def __init__(self, context: StageContext) -> None:
        self.areas = {camera: areas.areas(context.settings, camera) for camera in context.settings.cameras}
        self._zone = ZoneInfo(context.settings.site.timezone)
        self._priorities = context.settings.priority
        self._uris = context.uris

    def area(self, course: Course) -> Area:
        """Where it is; also where its camera or zone is no longer in the configuration."""
        return self.areas.get(course.camera, {}).get(course.area) or areas.gone(course.camera, course.area)

    def local(self, utc_ns: Nanoseconds) -> datetime:
        """A moment at the site."""
        return times.local(utc_ns, self._zone)

    def facts(self, course: Course) -> Facts:
        """What is known of it."""
        return incidents.facts(course, self.area(course), self.local(course.frame.utc_ns))

    def priority(self, course: Course) -> Priority:
        """How urgent it is."""
        return incidents.priority(course, self.area(course), self._priorities)

    def with_rules(self, course: Course, visits: tuple[Visit, ...], moment: datetime) -> Course:
        """Return it with the rules that it hits, and the visits within the hour."""
        hit = rules.rules_hit(course, self.area(course), moment if times.clock_is_set(moment) else None)
        return msgspec.structs.replace(course, rules=hit, visits=incidents.visits(visits, course))

    def request(self, course: Course, within_s: float | None, *, final: bool, recheck: bool) -> DescriptionWanted:
        """Return a request for a description; `recheck`: answered only if the verdict is another than before."""
        fields = course.analysis.fields
        return DescriptionWanted(
            incident=course.id,
            revision=course.revision,
            priority=self.priority(course),
            facts=self.facts(course),
            final=final,
            within_s=within_s,
            previous_verdict=fields if recheck and not isinstance(fields, msgspec.UnsetType) else None,
        )

    def event(
        self, course: Course, operation: Literal["start", "update", "end"], ended_by: EndedBy | None = None
    ) -> tuple[Course, EventRaised]:
        """Return it with its revision counted and its best picture added, and the event about it."""
        uri = self._uris.get(course.camera, "")
        return telling.incident_event(course, operation, self.facts(course), self.priority(course), uri, ended_by)
