"""Trigger: the life of every incident, from the first movement to its end in the event log."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
from msgspec import UNSET

from pipeline.core import messages as m
from pipeline.core import times
from pipeline.core.device.limits import Rung
from pipeline.core.errors import EventLogError, FrameOverwrittenError
from pipeline.core.events import Thermal
from pipeline.core.geometry import WHOLE, Box, around
from pipeline.core.incident import areas, flapping, incidents, rules, storm, telling, things
from pipeline.core.incident.flapping import Flapping
from pipeline.core.incident.likeness import Look, alike
from pipeline.core.incident.presence import Presence, step
from pipeline.core.incident.sight import PresenceRules, Sight
from pipeline.core.incident.storm import Storm
from pipeline.core.stage import Stage
from pipeline.core.text import templates
from pipeline.core.vocabulary import CameraId, EndedBy, Group, IncidentId, Light, Nanoseconds
from stages.journal import Closed, Journal, Missed, Numbered, Opened, Reserve, Weight, Written
from stages.sinks.jsonl import last_written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.core.events import Analysis, Details
    from pipeline.core.facts import Facts
    from pipeline.core.frames import Planes
    from pipeline.core.incident.areas import Area
    from pipeline.core.incident.incidents import Course
    from pipeline.core.stage import Outputs, StageContext
    from stages.journal import Entry

Place: TypeAlias = tuple[CameraId, str]  # an area of a camera
Said: TypeAlias = Generator[m.AnyMessage, None, bool]  # what is said, and whether there was room for it in the log

_GROUPS: dict[str, Group] = {"person": "person", "vehicle": "vehicle", "animal": "animal"}
_DEVICE = CameraId("device/")  # counts of the device itself; no camera is called so
_BETTER = 1.2  # a view must be so much better to be worth a copy
_MUCH_BETTER = 1.5  # and so much to be worth encoding again
_ENCODINGS = 3  # an incident
_IN_TIME = 0.8  # of the time that the last description is waited for: by then it shall be answered
_LEAVING = 0.3  # of the time to stop: the same, when the daemon ends
_LOOKS = 256  # incidents that a new one is compared with; 800 bytes each
_ALIKE = 0.97  # cosine of their pictures
_REPLACED_S = 5.0  # a process that was killed is replaced, and sees again, within
_CALM_S = 10.0  # without trouble for so long, a disk is told to be well again
_SPARSE = 16  # every so many-th pixel tells the light of a picture


class _Seen(NamedTuple):
    """What one frame shows of one area."""

    frame: m.FrameRef
    boxes: tuple[Box, ...]
    area_ratio: float
    found: tuple[m.Detection, ...]
    cycles: tuple[m.Detection, ...]  # those of them that are ridden
    presence: Presence
    known: Mapping[str, incidents.Tally] = {}  # from elsewhere, of things that are here


class _Ending(NamedTuple):
    """An incident that is over and waits for its last description, or for room to be told of."""

    course: Course
    ended_by: EndedBy
    until_ns: Nanoseconds
    analysis: Analysis | None = None  # the last description, where it is there


class Trigger(Stage):
    """Holds all incidents; nothing about one is said that is not in the event log first."""

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self._rows = context.settings.trigger
        self._zone = ZoneInfo(context.settings.site.timezone)
        self._rules = PresenceRules(quiet_gap_s=self._rows.gap_s)
        self._areas = {camera: areas.areas(context.settings, camera) for camera in context.settings.cameras}
        self._presence: dict[Place, Presence] = {}
        self._known: dict[CameraId, things.Known] = {}  # of cameras with zones
        self._members: dict[Place, dict[int, int]] = {}  # things of an area; see `things.Share`
        self._open: dict[Place, Course] = {}
        self._ending: dict[IncidentId, _Ending] = {}
        self._blind: dict[Place, Nanoseconds] = {}
        self._visits: dict[Place, tuple[incidents.Visit, ...]] = {}
        self._cut: dict[Place, Course] = {}  # what lasted longer than an incident may, and goes on in the next one
        self._looks: deque[Look] = deque(maxlen=_LOOKS)
        self._asked: dict[IncidentId, Nanoseconds] = {}  # features wanted, not yet come
        self._unanswered: dict[IncidentId, tuple[m.DescriptionWanted, bool]] = {}  # and whether it was asked again
        self._alive: dict[CameraId, Nanoseconds] = {}  # last picture
        self._patience_s = self._rows.report_wait_s * _IN_TIME
        self._drops: dict[str, int] = {}
        self._storm = Storm()
        self._joules: dict[IncidentId, float] = {}  # that the device took for each, where that is measured
        self._energy_j: float | None = None
        self._trouble_ns: Nanoseconds | None = None  # when the log's disk was last in trouble, while that is told
        self._given_up: Counter[str] = Counter()  # events that found no room in the log since that was told
        self._flapping: dict[CameraId, Flapping] = {}
        self._told_lost: dict[CameraId, bool] = {}  # what was told last of each camera
        self._refused: dict[Place, Nanoseconds] = {}  # where an incident would have begun, and when that was tried last
        self._hops: tuple[m.Hop, ...] = ()  # of the message at hand

    def warm_up(self) -> None:
        """Open the journal: what an earlier life left open is ended in `begin`."""
        emit = self.context.settings.emit
        reserve = Reserve(emit.reserve_mb * 1e6, emit.max_waiting_mb * 1e6)
        site, cameras = self.context.settings.site, [None, *self._areas]

        def written() -> Written:
            sequences, ended = last_written(Path(emit.folder) / "events.jsonl")
            of_cameras = {camera or "": sequences.get(telling.source(site, camera), 0) for camera in cameras}
            return Written(of_cameras, frozenset(map(IncidentId, ended)))

        assert self.context.log_dir is not None
        self._journal = Journal(self.context.log_dir, reserve, written)
        self._left_open = list(self._journal.courses.values())  # by an earlier life
        _import_all()

    def begin(self) -> Outputs:
        """End what was cut short."""
        now, utc = self.context.clock.now()
        if not self.context.clock.media:
            self._alive = dict.fromkeys(self._areas, now)  # a camera that never comes is missed like any other
        if not self.context.clock.media and not self.context.lives:
            for camera in [camera for camera, how in self._journal.missed.items() if how == "ended"]:
                self._journal.remember(Missed(camera, ""))  # it begins again
            yield from self._device("system.started", m.Priority.ROUTINE, self._started(), now, utc)
        yield from self._end_left_open()

    def _started(self) -> Details:
        details: Details = {"cameras": len(self._areas), "config_hash": self.context.config_hash}
        if self._journal.damaged:
            details["log_records_damaged"] = self._journal.damaged
        if self._journal.put_aside:
            details["log_put_aside"] = ", ".join(self._journal.put_aside)
        return details

    def _end_left_open(self) -> Outputs:
        """End what an earlier life left open; what finds no room is tried again."""
        for course in self._left_open:
            moment = times.local(course.frame.utc_ns, self._zone)
            place = self._areas.get(course.camera, {}).get(course.area) or _unknown(course)
            analysis = templates.describe(incidents.facts(course, place, moment), "crash_recovery")
            analysis = msgspec.structs.replace(analysis, fields=course.analysis.fields)  # what was told still holds
            self._cut[course.camera, course.area] = course
            yield from self._ended(msgspec.structs.replace(course, analysis=analysis), "crash_recovery", place)
        self._left_open = [course for course in self._left_open if course.id in self._journal.courses]

    def handle(self, message: m.AnyMessage) -> Outputs:
        """Take one message of any kind."""
        self._hops = (*message.hops, m.Hop("trigger", (now := self.context.clock.monotonic_ns()), now))
        yield from self._taken(message)
        self.open = len(self._open) + len(self._ending)
        unended = sum(one.analysis is not None for one in self._ending.values()) + len(self._left_open)
        self.given_up = self._given_up.total() + unended
        self.undelivered = self._journal.undelivered

    def _taken(self, message: m.AnyMessage) -> Outputs:
        match message:
            case m.SceneClassified():
                yield from self._seen(message)
            case m.FeaturesEncoded():
                yield from self._encoded(message)
            case m.IncidentDescribed():
                yield from self._described(message)
            case m.EventsDelivered():
                self._journal.delivered(message.position)
            case m.CameraChanged():
                yield from self._camera_changed(message)
            case m.StageRestarted():
                yield from self._restarted(message)
            case m.Ticked():
                yield from self._ticked(message)
            case _:
                yield from self._reported(message)

    def _reported(self, message: m.AnyMessage) -> Outputs:
        """Tell what another stage has to say of the device, of a model, or of a sink."""
        match message:
            case m.ModelReported() | m.EncoderReported():
                what = f"model.{message.state}"
                priority = m.Priority.ROUTINE if message.state == "loaded" else m.Priority.WARNING
            case m.SinkReported():
                yield from self._sink_reported(message)
                return
            case m.DeviceReported():
                what, priority = message.what, message.priority
            case _:
                return
        yield from self._device(what, priority, message.details, message.pts_ns, message.utc_ns)

    def _sink_reported(self, message: m.SinkReported) -> Outputs:
        """Tell of a sink where that is news: emit says in each of its lives how its sinks are."""
        sink = CameraId(f"sink/{message.details['sink']}")
        failing = message.state == "degraded"
        if failing == (sink in self._journal.missed):
            return
        remembered = Missed(sink, "failing" if failing else "")
        what = f"sink.{message.state}"
        yield from self._device(
            what, m.Priority.WARNING, message.details, message.pts_ns, message.utc_ns, None, remembered
        )

    def finish(self) -> Outputs:
        """End what is open: no more pictures will come, and nobody waits for long."""
        self._hops = ()
        self._patience_s = min(self._patience_s, self.context.settings.runtime.stop_s * _LEAVING)
        if not self.context.clock.media:
            now, utc = self.context.clock.now()
            if (yield from self._device("system.stopping", m.Priority.ROUTINE, self._untold(), now, utc, Weight.END)):
                self._given_up.clear()
                self.given_up = 0
        for place, course in list(self._open.items()):
            yield from self._over(place, course, "eof" if self._over_by_itself(place[0]) else "shutdown")

    def waiting(self) -> bool:
        """Stay until every end is told."""
        return bool(self._ending)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    # What is seen

    def _seen(self, message: m.SceneClassified) -> Outputs:
        frame = message.frame
        camera = frame.camera
        self._alive[camera] = frame.pts_ns
        if self._journal.missed.get(camera) == "silent":
            yield from self._found(camera, "pictures come again", frame.pts_ns, frame.utc_ns)
        row = self.context.settings.cameras[camera]
        boxes = areas.unmasked(message.boxes, row)
        detections = [one for one in message.detections or () if areas.unmasked((one.box,), row)]
        places = self._areas[camera]
        boxes_in = [(areas.area_of(box, places), box) for box in boxes]
        found_in = [(areas.area_of(one.box, places), one) for one in detections]
        if row.zones:
            self._watch(message, boxes_in, found_in)
        for key, place in places.items():
            own = tuple(box for where, box in boxes_in if where == key)
            found = None
            if message.detections is not None:
                found = tuple(one for where, one in found_in if where == key)
            yield from self._seen_in((camera, key), place, message, own, found)

    def _seen_in(
        self,
        key: Place,
        place: Area,
        message: m.SceneClassified,
        boxes: tuple[Box, ...],
        found: tuple[m.Detection, ...] | None,
    ) -> Outputs:
        frame, course = message.frame, self._open.get(key)
        if course is None and frame.pts_ns < self._blind.get(key, 0):
            return
        if course:  # what came and stands still keeps an incident alive, and starts none
            boxes += tuple(one.box for one in found or () if one.box in message.standing)
        blurred = tuple(box for box in message.blurred if box in boxes)
        ratio = message.area_ratio if boxes else 0.0
        cycles = incidents.ridden(found or ())
        telling_apart = None if found is None else tuple(one for one in found if one not in cycles)
        sight = Sight(frame.pts_ns, boxes, ratio, message.global_change, telling_apart, blurred)
        sight, known = self._lent(key, sight, frame)
        before = self._presence.get(key, Presence())
        presence, change = step(before, sight, _rules(self._rules, frame))
        seen = _Seen(frame, sight.boxes, ratio, found or (), cycles, presence, known)
        if change == "start" and course is None:  # which is tried again with the next sight if it does not succeed
            self._presence[key] = presence._replace(active=False, began_ns=before.began_ns, last_ns=before.last_ns)
            yield from self._start(key, place, seen)
            return
        if change == "stop" and course is not None:
            yield from self._over(key, course, "quiet")
        self._presence[key] = presence
        if change is None and course is not None:
            yield from self._go_on(key, place, course, seen)

    def _watch(
        self,
        message: m.SceneClassified,
        boxes: list[tuple[str | None, Box]],
        detections: list[tuple[str | None, m.Detection]],
    ) -> None:
        """Gather what is known of each thing over the whole picture, so that no area knows less of it."""
        frame = message.frame
        where = {box: area for area, box in boxes} | {one.box: area for area, one in detections}
        found = [one for _, one in detections]
        ridden = incidents.ridden(found)
        apart = None if message.detections is None else [one for one in found if one not in ridden]
        sight = Sight(
            frame.pts_ns, tuple(box for _, box in boxes), message.area_ratio, message.global_change, apart,
            message.blurred,
        )  # fmt: skip
        known = self._known.get(frame.camera, things.Known())
        standing = [one for one in apart or () if one.box in message.standing]
        self._known[frame.camera] = things.watch(known, sight, where, _rules(self._rules, frame), standing)

    def _lent(self, key: Place, sight: Sight, frame: m.FrameRef) -> tuple[Sight, Mapping[str, incidents.Tally]]:
        """Add what is known of the things of an area from the rest of the picture."""
        known = self._known.get(key[0])
        if known is None:
            return sight, {}
        seeing = _rules(self._rules, frame)
        share = things.lend(known, self._members.get(key, {}), key[1], sight, seeing, active=key in self._open)
        self._members[key] = share.members
        return sight._replace(boxes=sight.boxes + share.boxes, lent=share.lent), share.tallies

    def _start(self, key: Place, place: Area, seen: _Seen) -> Outputs:
        camera, frame, presence = key[0], seen.frame, seen.presence
        number = self._next(camera)
        began_utc = Nanoseconds(frame.utc_ns - (frame.pts_ns - presence.began_ns))
        moment = times.local(began_utc, self._zone)
        course = incidents.Course(
            id=IncidentId(f"inc-{times.utc(began_utc):%Y%m%dT%H%M%SZ}-{camera}-{number:04d}"),
            camera=camera,
            area=key[1],
            number=number,
            began_ns=Nanoseconds(presence.began_ns),
            began_utc_ns=began_utc,
            frame=frame,
        )
        course = self._continued(key, self._noted(course, seen))
        course = self._pictured(course, seen, moment)
        course = self._judged(course, key, place, moment)
        if not (yield from self._tell(course, "start", place)):
            self._refuse(key, frame.pts_ns)
            return
        self._given_up["starts"] -= self._refused.pop(key, None) is not None
        self._presence[key] = presence
        self._cut.pop(key, None)
        urgency = self._priority(course).name.lower()
        now_s = m.seconds(frame.pts_ns)
        self._storm = storm.started(self._storm, course.id, urgency, now_s, self._rows.storm_incidents)
        yield from self._ask_features(key)
        if self._open[key].id not in self._asked:
            yield from self._ask_description(key)

    def _refuse(self, key: Place, now: Nanoseconds) -> None:
        """Count an incident that there is no room for, once, as it is tried again while it lasts."""
        tried = self._refused.get(key)
        if tried is None or now - tried > self._rows.gap_s * 1e9:
            self._given_up["starts"] += 1
        self._refused[key] = now

    def _continued(self, key: Place, course: Course) -> Course:
        """Let a stay go on that an incident was too long for, where its like is seen again at once."""
        cut = self._cut.get(key)
        gap_s = self._rows.gap_s + self._rows.blind_s + (_REPLACED_S if self.context.lives else 0.0)
        if cut is None or course.began_ns - cut.frame.pts_ns > gap_s * 1e9:
            return course
        if course.group is not None and cut.group is not None and course.group != cut.group:
            return course
        return msgspec.structs.replace(course, came_ns=incidents.came_ns(cut), continues=cut.id)

    def _go_on(self, key: Place, place: Area, course: Course, seen: _Seen) -> Outputs:
        frame = seen.frame
        moment = times.local(frame.utc_ns, self._zone)
        if seen.presence.last_ns == frame.pts_ns:
            course = self._noted(course, seen)
            course = self._pictured(course, seen, moment)
        elif seen.known:
            course = self._named(course, seen)
        course = self._judged(course, key, place, moment)
        self._open[key] = course
        if incidents.lasted_s(course) >= self._rows.max_s:
            self._cut[key] = course
            yield from self._over(key, course, "max_duration")
            return
        if course.encodings < _ENCODINGS and course.best_view > _MUCH_BETTER * course.encoded_view:
            yield from self._ask_features(key)
        late = frame.pts_ns - self._asked.get(course.id, frame.pts_ns) > self._rows.features_wait_s * 1e9
        if late:
            self._asked.pop(course.id)
        if course.id not in self._asked and _news(course) != course.told:
            yield from self._ask_description(key)
        elif 0 < course.holds_until_s <= incidents.dwell_s(course) and course.id not in self._unanswered:
            self._open[key] = msgspec.structs.replace(course, holds_until_s=0.0)
            yield self._wanted(self._open[key], final=False, again=True)

    def _noted(self, course: Course, seen: _Seen) -> Course:
        """Add a sight: what moves, and of what was recognised that which moves."""
        course = incidents.seen(course, seen.frame, seen.boxes, seen.area_ratio)
        found = [one for one in seen.found if incidents.moving(one, seen.boxes)]
        ridden = tuple(sorted({*course.ridden, *(one.label for one in seen.cycles)}))
        course = self._named(msgspec.structs.replace(course, ridden=ridden), seen)
        return incidents.recognised(course, found, course.group, seen.frame.pts_ns)

    def _named(self, course: Course, seen: _Seen) -> Course:
        """Name it by all that is known of its things."""
        label = seen.presence.label(self._rules, course.group)
        course = msgspec.structs.replace(course, group=_GROUPS.get(label or ""))
        return incidents.informed(course, seen.known)

    def _judged(self, course: Course, key: Place, place: Area, moment: datetime) -> Course:
        hit = rules.rules_hit(course, place, moment if times.clock_is_set(moment) else None)
        visits = incidents.visits(self._visits.get(key, ()), course)
        return msgspec.structs.replace(course, rules=hit, visits=visits)

    def _pictured(self, course: Course, seen: _Seen, moment: datetime) -> Course:
        """Keep the frame where it shows the thing better than any before; the ring moves on, the copy stays."""
        frame = seen.frame
        shown = [one for one in seen.found if one.group == course.group]
        best = max(shown, key=incidents.view, default=None)
        view = incidents.view(best) if best else 0.0
        if course.best is not None and view <= _BETTER * course.best_view:
            return course
        try:
            with self.context.rings[frame.camera].reading(frame) as planes:
                sequence = self.context.keyframes.copy(planes)
                light = _light(planes, moment if times.clock_is_set(moment) else None)
        except FrameOverwrittenError:
            return course
        box = best.box if best else around(seen.boxes) if seen.boxes else WHOLE
        kept = msgspec.structs.replace(frame, sequence=sequence)
        return msgspec.structs.replace(course, best=kept, best_box=box, best_view=view, light=light)

    # What is asked and answered

    def _ask_features(self, key: Place) -> Outputs:
        course = self._open[key]
        if course.best is None or self.context.limits.get().rung >= Rung.CLASSES:
            return
        self._asked[course.id] = course.frame.pts_ns
        self._open[key] = msgspec.structs.replace(
            course, encodings=course.encodings + 1, encoded_view=max(course.best_view, 1e-6)
        )
        yield m.FeaturesWanted(
            incident=course.id, priority=self._priority(course), keyframe=course.best, box=course.best_box
        )

    def _encoded(self, message: m.FeaturesEncoded) -> Outputs:
        key = self._place_of(message.incident)
        self._asked.pop(message.incident, None)
        if key is None:
            return
        course = self._open[key]
        look = Look(course.id, course.camera, course.group, message.embedding)
        self._open[key] = msgspec.structs.replace(
            course,
            tags=message.tags,
            vector=message.embedding,
            encoder=message.model,
            similar=alike(look, self._looks, _ALIKE),
        )
        if not self._open[key].told[0]:
            yield from self._ask_description(key)

    def _ask_description(self, key: Place) -> Outputs:
        course = msgspec.structs.replace(self._open[key], told=_news(self._open[key]))
        self._open[key] = course
        yield self._wanted(course, final=False)

    def _wanted(self, course: Course, *, final: bool, again: bool = False) -> m.DescriptionWanted:
        fields = course.analysis.fields
        wanted = m.DescriptionWanted(
            incident=course.id,
            revision=course.revision,
            priority=self._priority(course),
            facts=self._facts(course),
            final=final,
            within_s=self._patience_s if final and not self.context.clock.media else None,
            told=fields if again and not isinstance(fields, msgspec.UnsetType) else None,
        )
        self._unanswered[course.id] = (wanted, False)
        return wanted

    def _ask_again(self) -> Outputs:
        """Ask what the process that was to answer took with it; once, as the question may be what ended it."""
        for incident, (wanted, again) in list(self._unanswered.items()):
            if again:
                del self._unanswered[incident]
            else:
                self._unanswered[incident] = (wanted, True)
                yield wanted

    def _described(self, message: m.IncidentDescribed) -> Outputs:
        analysis = message.analysis
        if analysis is None or analysis.status != "pending":
            asked = self._unanswered.get(message.incident)
            if asked is not None and asked[0].revision == message.revision:  # else it answers an earlier question
                del self._unanswered[message.incident]
            self._storm = storm.answered(self._storm, message.incident, analysis.status if analysis else "ok")
        ending = self._ending.get(message.incident)
        if ending is not None and message.revision == ending.course.revision and analysis is not None:
            yield from self._close(ending, analysis)
            return
        key = self._place_of(message.incident)
        if key is None:
            return
        course = self._open[key]
        if message.holds_s:
            until_s = incidents.dwell_s(course) + message.holds_s
            course = self._open[key] = msgspec.structs.replace(course, holds_until_s=until_s)
        if analysis is None:
            return
        course = self._open[key] = msgspec.structs.replace(course, analysis=analysis)
        yield from self._tell(course, "update", self._areas[key[0]][key[1]])

    # The end

    def _over(self, key: Place, course: Course, ended_by: EndedBy) -> Outputs:
        """Close the books on an incident and ask for its last description."""
        course = msgspec.structs.replace(
            course, revision=course.revision + 1
        )  # answers to earlier questions are not it
        wanted = self._wanted(course, final=True)
        del self._open[key]
        self._asked.pop(course.id, None)
        self._looks.append(Look(course.id, course.camera, course.group, course.vector))
        now = self.context.clock.now()[0]
        seen_ns = self._presence.get(key, Presence()).at_ns
        self._blind[key] = Nanoseconds(seen_ns + round(self._rows.blind_s * 1e9))
        if ended_by != "quiet":
            self._presence[key] = Presence()
        if ended_by != "max_duration":  # else the visit goes on
            visit = incidents.Visit(incidents.came_ns(course), incidents.verdict(course).group)
            self._visits[key] = (*incidents.within_hour(self._visits.get(key, ()), course.began_ns), visit)
        until = Nanoseconds(now + round(self._rows.report_wait_s * 1e9))
        self._ending[course.id] = _Ending(course, ended_by, until)
        yield wanted

    def _close(self, ending: _Ending, analysis: Analysis) -> Outputs:
        """Tell of the end; where there is no room for it, it waits for some."""
        self._ending[ending.course.id] = ending._replace(analysis=analysis)
        self._unanswered.pop(ending.course.id, None)
        course = msgspec.structs.replace(ending.course, analysis=analysis)
        if (yield from self._ended(course, ending.ended_by, self._areas[course.camera][course.area])):
            del self._ending[course.id]

    def _ended(self, course: Course, ended_by: EndedBy, place: Area) -> Said:
        facts = incidents.facts(course, place, times.local(course.frame.utc_ns, self._zone))
        priority = incidents.priority(course, place, self.context.settings.priority)
        uri = self.context.uris.get(course.camera, "")
        course, event = telling.incident_event(course, "end", facts, priority, uri, ended_by)
        if (spent := self._joules.get(course.id)) is not None:
            event = msgspec.structs.replace(event, data=msgspec.structs.replace(event.data, energy_j=round(spent, 1)))
        if not (yield from self._raise(event, Weight.END, Closed(course.id))):
            return False
        self.ended += 1
        self._joules.pop(course.id, None)
        return True

    # What is said

    def _tell(self, course: Course, operation: telling.Ongoing, place: Area) -> Said:
        priority = incidents.priority(course, place, self.context.settings.priority)
        uri = self.context.uris.get(course.camera, "")
        course, event = telling.incident_event(course, operation, self._facts(course), priority, uri)
        if operation == "update":
            told = yield from self._raise(event, Weight.UPDATE, Opened(course))
            self._given_up["updates"] += not told
        else:
            weight = Weight.ROUTINE if priority is m.Priority.ROUTINE else Weight.URGENT
            told = yield from self._raise(event, weight, Opened(course), Numbered(course.camera, course.number))
        if told:
            self._open[course.camera, course.area] = course
        return told

    def _raise(self, event: m.EventRaised, weight: Weight, *remembered: Entry) -> Said:
        """Into the log first, then speak. False: there is no room for the event, and nothing was said."""
        limits, clock = self.context.limits.get(), self.context.clock
        data = msgspec.structs.replace(
            event.data,
            clock=clock.state(),
            drops=self._drops or UNSET,
            thermal=UNSET if limits.temp_c is None else Thermal(level=limits.level, temp_c=limits.temp_c),
            timing_ms=UNSET if clock.media else telling.timings(self._hops, clock.monotonic_ns()) or UNSET,
            config_hash=self.context.config_hash,
        )
        event = msgspec.structs.replace(event, data=data)
        recorded = clock.recorded(event.utc_ns, event.pts_ns)
        durable = _flushed(self.context.settings.emit.fsync, event)
        if not self._journal.record(event, recorded, weight, *remembered, durable=durable):
            if clock.media:  # a recording can be replayed when there is room
                raise EventLogError(
                    f"{self.context.log_dir}: {self._journal.trouble}: make room, or choose another --out"
                )
            return False
        yield event
        return True

    def _tell_of_room(self, pts_ns: Nanoseconds, utc_ns: Nanoseconds) -> Outputs:
        """Say once that the log's disk is in trouble, and once that it is not, with what was given up meanwhile."""
        self._journal.refill()
        trouble, known = self._journal.trouble, self._trouble_ns
        if trouble and known is not None:
            self._trouble_ns = pts_ns
        if bool(trouble) == (known is not None) or (known is not None and pts_ns - known < _CALM_S * 1e9):
            return
        details: Details = {
            "what": "event log",
            "error": trouble or "there is room again",
            "room_kb": self._journal.room_bytes // 1000,
            **self._untold(),
        }
        if (yield from self._device("system.disk_low", m.Priority.WARNING, details, pts_ns, utc_ns, Weight.END)):
            self._trouble_ns = pts_ns if trouble else None
            self._given_up.clear()

    def _untold(self) -> Details:
        """What found no room in the log since that was last told."""
        return {f"{what}_given_up": count for what, count in sorted(self._given_up.items()) if count}

    def _camera_changed(self, message: m.CameraChanged) -> Outputs:
        camera = message.camera
        if message.state == "ended":
            self._journal.remember(Missed(camera, "ended"))
            return
        was = self._journal.missed.get(camera)
        self._alive[camera] = max(self._alive.get(camera, message.pts_ns), message.pts_ns)
        if message.state == "found":
            if was is not None:
                yield from self._found(camera, message.reason, message.pts_ns, message.utc_ns)
        elif was is None:
            yield from self._lost(camera, "lost", message.reason, message.pts_ns, message.utc_ns)

    def _lost(self, camera: CameraId, how: str, reason: str, pts_ns: Nanoseconds, utc_ns: Nanoseconds) -> Outputs:
        for key, course in list(self._open.items()):
            if key[0] == camera:
                yield from self._over(key, course, "camera_lost")
        yield from self._camera(camera, "lost", how, reason, pts_ns, utc_ns)

    def _found(self, camera: CameraId, reason: str, pts_ns: Nanoseconds, utc_ns: Nanoseconds) -> Outputs:
        yield from self._camera(camera, "found", "", reason, pts_ns, utc_ns)

    def _camera(  # noqa: PLR0917  # all of it is one event
        self,
        camera: CameraId,
        state: telling.CameraState,
        how: str,
        reason: str,
        pts_ns: Nanoseconds,
        utc_ns: Nanoseconds,
    ) -> Outputs:
        """Tell that a camera came or went and remember it, in one step; `how` it is missed, empty: it is not."""
        known = self._flapping.get(camera, Flapping())
        self._flapping[camera], alone = flapping.changed(known, m.seconds(pts_ns), lost=state == "lost", reason=reason)
        if not alone:
            self._journal.remember(Missed(camera, how))
            return
        change = m.CameraChanged(camera=camera, state=state, reason=reason, pts_ns=pts_ns, utc_ns=utc_ns)
        counter = CameraId(f"camera/{camera}")
        number = self._next(counter)
        event = telling.camera_event(change, number, self.context.uris.get(camera, ""))
        told = yield from self._raise(event, Weight.URGENT, Missed(camera, how), Numbered(counter, number))
        self._given_up["notices"] += not told
        self._told_lost[camera] = bool(how)

    def _sum_up_flapping(self, now: Nanoseconds, utc_ns: Nanoseconds) -> Outputs:
        """Sum up how often a camera came and went, and in the end say what became of it."""
        for camera, known in self._flapping.items():
            self._flapping[camera], details = flapping.passed(known, m.seconds(now))
            if details is None:
                continue
            counter = CameraId(f"camera/{camera}")
            number = self._next(counter)
            event = telling.flapping_event(camera, number, details, (now, utc_ns))
            yield from self._raise(event, Weight.URGENT, Numbered(counter, number))
            how = self._journal.missed.get(camera, "")
            if details["over"] and how != "ended" and bool(how) != self._told_lost.get(camera, False):
                reason = "it came and went" if how else "it stays"
                yield from self._camera(camera, "lost" if how else "found", how, reason, now, utc_ns)

    def _restarted(self, message: m.StageRestarted) -> Outputs:
        details: Details = {"stage": message.stage, "restarts": message.restarts, "reason": message.reason}
        yield from self._device("system.stage_restarted", m.Priority.WARNING, details, message.pts_ns, message.utc_ns)
        if message.stage == "describe":
            yield from self._ask_again()

    def _device(  # noqa: PLR0917  # all of it is one event
        self,
        what: str,
        priority: m.Priority,
        details: Details,
        pts_ns: Nanoseconds,
        utc_ns: Nanoseconds,
        weight: Weight | None = None,
        *remembered: Entry,
    ) -> Said:
        number = self._next(_DEVICE)
        event = telling.device_event(what, number, priority, details, pts_ns, utc_ns)
        weight = weight or (Weight.ROUTINE if priority is m.Priority.ROUTINE else Weight.URGENT)
        told = yield from self._raise(event, weight, Numbered(_DEVICE, number), *remembered)
        self._given_up["notices"] += not told
        return told

    def _ticked(self, message: m.Ticked) -> Outputs:
        """Time goes by: what waits too long is not waited for, and silence is noticed."""
        now = message.pts_ns
        self._drops = message.drops
        self._metered(message.energy_j)
        self._storm, summed_up = storm.passed(self._storm, m.seconds(now), self._rows.storm_incidents)
        if summed_up is not None:
            yield from self._device("system.storm", m.Priority.WARNING, summed_up, now, message.utc_ns)
        yield from self._tell_of_room(now, message.utc_ns)
        yield from self._sum_up_flapping(now, message.utc_ns)
        yield from self._end_left_open()
        for ending in list(self._ending.values()):
            if ending.analysis is not None:  # there was no room
                yield from self._close(ending, ending.analysis)
            elif ending.until_ns < now:
                yield from self._close_late(ending)
        for camera, seen in self._alive.items():
            if camera not in self._journal.missed and now - seen > self._rows.lost_after_s * 1e9:
                reason = f"no picture for {self._rows.lost_after_s:g} s"
                yield from self._lost(camera, "silent", reason, now, message.utc_ns)
        for place, course in list(self._open.items()):
            ended = self._journal.missed.get(place[0]) == "ended"  # its recording; those of others go on
            if ended and now - self._alive.get(place[0], now) > self._rows.gap_s * 1e9:
                yield from self._over(place, course, "eof")

    def _close_late(self, ending: _Ending) -> Outputs:
        """End without the last description, which did not come in time; the last verdict that there was still holds."""
        late = templates.describe(self._facts(ending.course), "no_answer", status="timeout")
        self._storm = storm.answered(self._storm, ending.course.id, "timeout")
        yield from self._close(ending, msgspec.structs.replace(late, fields=ending.course.analysis.fields))

    def _metered(self, energy_j: float | None) -> None:
        """Share out what the device took among the incidents that are open."""
        before, self._energy_j = self._energy_j, energy_j
        if energy_j is None or before is None or energy_j < before:
            return
        ids = [*(course.id for course in self._open.values()), *self._ending]
        for incident in ids:
            self._joules[incident] = self._joules.get(incident, 0.0) + (energy_j - before) / len(ids)

    def _next(self, counter: CameraId) -> int:
        """Return the next number of a count; it is taken when `Numbered` is remembered."""
        return self._journal.numbers.get(counter, 0) + 1

    def _facts(self, course: Course) -> Facts:
        place = self._areas[course.camera][course.area]
        return incidents.facts(course, place, times.local(course.frame.utc_ns, self._zone))

    def _priority(self, course: Course) -> m.Priority:
        place = self._areas[course.camera][course.area]
        return incidents.priority(course, place, self.context.settings.priority)

    def _place_of(self, incident: IncidentId) -> Place | None:
        return next((key for key, course in self._open.items() if course.id == incident), None)

    def _over_by_itself(self, camera: CameraId) -> bool:
        return self.context.clock.media or self._journal.missed.get(camera) == "ended"


def _rules(rules: PresenceRules, frame: m.FrameRef) -> PresenceRules:
    return rules.for_height(frame.height if frame.rotation in (0, 180) else frame.width)


def _news(course: Course) -> tuple[str, tuple[str, ...]]:
    """What is worth telling an operator again: another kind of thing, another rule hit."""
    return (incidents.verdict(course).group or "none", course.rules)


def _light(planes: Planes, moment: datetime | None) -> Light:
    """Judge a sparse grid of pixels; colour is the strongest percent, as a yard is mostly grey by day too."""
    luma = float(planes.y[::_SPARSE, ::_SPARSE].mean())
    sparse = max(1, _SPARSE // 2)
    chroma = np.concatenate([plane[::sparse, ::sparse].reshape(-1) for plane in (planes.u, planes.v)])
    colour = float(np.percentile(np.abs(chroma.astype(np.int16) - 128), 99))
    return incidents.light_of(luma, colour, moment)


def _flushed(policy: str, event: m.EventRaised) -> bool:
    """Whether an event has to be on the disk before it is said: power may fail, too."""
    return policy == "always" or (policy == "incident" and event.data.operation in ("start", "end"))


def _import_all() -> None:
    """Use once what is imported when it is first used: in the middle of an incident there may be no file to be had."""
    datetime.fromtimestamp(0, UTC).strftime("%Y-%m-%d %A")
    np.percentile(np.zeros(4, np.int16), 99)


def _unknown(course: Course) -> Area:
    """The area of an incident whose camera or zone is in the configuration no more."""
    return areas.Area(course.area, course.area or course.camera, False, None, False, "", 60.0, 8, None)
