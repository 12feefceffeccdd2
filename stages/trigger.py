"""Trigger: the life of every incident, from the first movement to its end in the event log."""

from __future__ import annotations

from collections import defaultdict, deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from pipeline.core import messages as m
from pipeline.core.device import energy
from pipeline.core.device.limits import Rung
from pipeline.core.incident import incidents, pending, seeing, spots, storm, whereabouts
from pipeline.core.incident.likeness import Look, alike
from pipeline.core.incident.pending import PendingDescriptions
from pipeline.core.incident.spots import Spot
from pipeline.core.incident.storm import Storm
from pipeline.core.stage import Stage
from pipeline.core.text import templates
from pipeline.core.vocabulary import CameraId, EndedBy, IncidentId, Nanoseconds
from stages import best_frames
from stages.cameras import Cameras
from stages.incident_facts import IncidentFacts
from stages.journal import Closed, Numbered, Opened, Weight
from stages.raising import At, Raiser, open_journal

if TYPE_CHECKING:
    from pipeline.core.events import Analysis, Details
    from pipeline.core.incident import telling
    from pipeline.core.incident.incidents import Course
    from pipeline.core.incident.seeing import Seen
    from pipeline.core.stage import Outputs, StageContext
    from stages.raising import Raising

Place: TypeAlias = tuple[CameraId, str]  # an area of a camera

_MUCH_BETTER = 1.5  # a view must be so much better to be worth encoding again
_ENCODINGS = 3  # an incident
_IN_TIME = 0.8  # of the time that the last description is waited for: by then it shall be answered
_LEAVING = 0.3  # of the time to stop: the same, when the daemon ends
_GAP_PICTURES = 12  # an incident of a slow camera ends after so many without evidence, though `gap_s` is over before
_LOOKS = 256  # incidents that a new one is compared with; 800 bytes each
_ALIKE = 0.97  # cosine of their pictures
_REPLACED_S = 5.0  # a process that was killed is replaced, and sees again, within


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
        self._facts = IncidentFacts(context)
        self._rates: defaultdict[CameraId, seeing.PictureRate] = defaultdict(seeing.PictureRate)
        self._where: dict[CameraId, dict[int, whereabouts.Place]] = {}  # things, by number
        self._spots: defaultdict[Place, Spot] = defaultdict(Spot)
        self._open: dict[Place, Course] = {}
        self._ending: dict[IncidentId, _Ending] = {}
        self._looks: deque[Look] = deque(maxlen=_LOOKS)
        self._asked: dict[IncidentId, Nanoseconds] = {}  # features wanted, not yet come
        self._pending = PendingDescriptions()
        self._patience_s = self._rows.report_wait_s * _IN_TIME
        self._storm = Storm()
        self._joules = energy.Shares()

    def warm_up(self) -> None:
        """Open the journal: what an earlier life left open is ended in `begin`."""
        self._journal = open_journal(self.context)
        self._raiser = Raiser(self.context, self._journal)
        self._cameras = Cameras(self.context, self._journal, self._raiser)
        self._left_open = list(self._journal.courses.values())  # by an earlier life
        datetime.fromtimestamp(0, UTC).strftime("%Y-%m-%d %A")  # as in `best_frames.warm_up`
        best_frames.warm_up()

    def begin(self) -> Outputs:
        """End what was cut short."""
        at = At(*self.context.clock.now())
        if not self.context.clock.media:
            self._cameras.start_waiting(at.pts_ns)
        if not self.context.clock.media and not self.context.lives:
            self._cameras.forget_ended()
            yield from self._raiser.starting(at)
        yield from self._end_left_open()

    def _end_left_open(self) -> Outputs:
        """End what an earlier life left open; what finds no room is tried again."""
        for course in self._left_open:
            analysis = templates.describe(self._facts.facts(course), "crash_recovery")
            analysis = msgspec.structs.replace(analysis, fields=course.analysis.fields)  # what was told still holds
            key = (course.camera, course.area)
            self._spots[key] = self._spots[key]._replace(cut=course)
            yield from self._ended(msgspec.structs.replace(course, analysis=analysis), "crash_recovery")
        self._left_open = [course for course in self._left_open if course.id in self._journal.courses]

    def handle(self, message: m.AnyMessage) -> Outputs:
        """Take one message of any kind."""
        self._raiser.hops = (*message.hops, m.Hop("trigger", (now := self.context.clock.monotonic_ns()), now))
        yield from self._taken(message)
        self.open = len(self._open) + len(self._ending)
        unended = sum(one.analysis is not None for one in self._ending.values()) + len(self._left_open)
        self.given_up = self._raiser.space.total + unended
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
                yield from self._ticked(message, At(message.pts_ns, message.utc_ns))
            case _:
                yield from self._raiser.reported(message)

    def finish(self) -> Outputs:
        """End what is open: no more pictures will come, and nobody waits for long."""
        self._raiser.hops = ()
        self._patience_s = min(self._patience_s, self.context.settings.runtime.stop_s * _LEAVING)
        media = self.context.clock.media
        if not media and (yield from self._raiser.stopping(At(*self.context.clock.now()))):
            self.given_up = 0
        for place, course in list(self._open.items()):
            by_itself = media or self._cameras.ended(place[0])
            yield from self._over(place, course, "eof" if by_itself else "shutdown")

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
        yield from self._cameras.seen(camera, At(frame.pts_ns, frame.utc_ns))
        self._rates[camera] = self._rates[camera].after(frame)
        places = self._facts.areas[camera]
        self._where[camera] = whereabouts.step(self._where.get(camera, {}), message.things, places, frame.pts_ns)
        for key in places:
            yield from self._seen_in((camera, key), message)

    def _seen_in(self, key: Place, scene: m.SceneClassified) -> Outputs:
        course, before = self._open.get(key), self._spots[key]
        if course is None and scene.frame.pts_ns < before.blind_ns:
            return
        gap_s = max(self._rows.gap_s, _GAP_PICTURES * self._rates[key[0]].interval_s)
        seen, change = seeing.see(before, scene, self._where[key[0]], course, key=key[1], gap_s=gap_s)
        if course is not None and change in {"stop", "next"}:
            yield from self._over(key, course, "quiet")
        if change in {"start", "next"}:
            yield from self._start(key, seen)  # which is tried again with the next sight if it does not succeed
            return
        self._spots[key] = self._spots[key]._replace(presence=seen.presence)
        if change is None and course is not None:
            yield from self._go_on(key, course, seen)

    def _start(self, key: Place, seen: Seen) -> Outputs:
        frame = seen.frame
        number = self._raiser.next_number(key[0])
        course = incidents.begun(*key, number, Nanoseconds(seen.presence.began_ns), frame)
        moment = self._facts.local(course.began_utc_ns)
        gap_s = self._rows.gap_s + self._rows.blind_s + (_REPLACED_S if self.context.lives else 0.0)
        course = spots.continued(self._spots[key], seeing.note(course, seen), gap_s)
        course = best_frames.keep_best_frame(self.context, course, seen, moment)
        course = self._facts.with_rules(course, self._spots[key].visits, moment)
        if not (yield from self._tell(course, "start")):
            self._spots[key], fresh = spots.refused(self._spots[key], frame.pts_ns, self._rows.gap_s)
            self._raiser.count_unlogged("starts", fresh)
            return
        self._raiser.count_unlogged("starts", -(self._spots[key].refused_ns is not None))
        self._spots[key] = spots.started(self._spots[key], seen.presence)
        urgency = self._facts.priority(course).name.lower()
        now_s = m.seconds(frame.pts_ns)
        self._storm = storm.started(self._storm, course.id, urgency, now_s, self._rows.storm_incidents)
        yield from self._ask_features(key)
        if self._open[key].id not in self._asked:
            yield from self._ask_description(key)

    def _go_on(self, key: Place, course: Course, seen: Seen) -> Outputs:
        frame = seen.frame
        moment = self._facts.local(frame.utc_ns)
        if seen.members:
            course = seeing.note(course, seen)
        if seen.things:
            course = best_frames.keep_best_frame(self.context, course, seen, moment)
        course = self._facts.with_rules(course, self._spots[key].visits, moment)
        self._open[key] = course
        if incidents.lasted_s(course) >= self._rows.max_s:
            self._spots[key] = self._spots[key]._replace(cut=course)
            yield from self._over(key, course, "max_duration")
            return
        if course.encodings < _ENCODINGS and course.best_view > _MUCH_BETTER * course.encoded_view:
            yield from self._ask_features(key)
        late = frame.pts_ns - self._asked.get(course.id, frame.pts_ns) > self._rows.features_wait_s * 1e9
        if late:
            self._asked.pop(course.id)
        if course.id not in self._asked and incidents.news(course) != course.described_as:
            yield from self._ask_description(key)
        elif 0 < course.holds_until_s <= incidents.dwell_s(course) and course.id not in self._pending.by_incident:
            self._open[key] = msgspec.structs.replace(course, holds_until_s=0.0)
            yield self._wanted(self._open[key], final=False, recheck=True)
        elif incidents.has_news(course, frame.pts_ns, self._rows.min_update_s):
            yield from self._tell(course, "update")

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
            incident=course.id, priority=self._facts.priority(course), keyframe=course.best, box=course.best_box
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
        if not self._open[key].described_as[0]:
            yield from self._ask_description(key)

    def _ask_description(self, key: Place) -> Outputs:
        course = msgspec.structs.replace(self._open[key], described_as=incidents.news(self._open[key]))
        self._open[key] = course
        yield self._wanted(course, final=False)

    def _wanted(self, course: Course, *, final: bool, recheck: bool = False) -> m.DescriptionWanted:
        within_s = self._patience_s if final and not self.context.clock.media else None
        wanted = self._facts.request(course, within_s, final=final, recheck=recheck)
        self._pending = pending.asked(self._pending, wanted)
        return wanted

    def _described(self, message: m.IncidentDescribed) -> Outputs:
        analysis = message.analysis
        if analysis is None or analysis.status != "pending":
            self._pending = pending.answered(self._pending, message.incident, message.revision)
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
        yield from self._tell(course, "update")

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
        self._spots[key] = spots.over(self._spots[key], course, ended_by, self._rows.blind_s)
        until = Nanoseconds(self.context.clock.now()[0] + round(self._rows.report_wait_s * 1e9))
        self._ending[course.id] = _Ending(course, ended_by, until)
        yield wanted

    def _close(self, ending: _Ending, analysis: Analysis) -> Outputs:
        """Tell of the end; where there is no room for it, it waits for some."""
        self._ending[ending.course.id] = ending._replace(analysis=analysis)
        self._pending = pending.answered(self._pending, ending.course.id)
        course = msgspec.structs.replace(ending.course, analysis=analysis)
        if (yield from self._ended(course, ending.ended_by)):
            del self._ending[course.id]

    def _close_late(self, ending: _Ending) -> Outputs:
        """End without the last description, which did not come in time; the last verdict that there was still holds."""
        late = templates.describe(self._facts.facts(ending.course), "no_answer", status="timeout")
        self._storm = storm.answered(self._storm, ending.course.id, "timeout")
        yield from self._close(ending, msgspec.structs.replace(late, fields=ending.course.analysis.fields))

    def _ended(self, course: Course, ended_by: EndedBy) -> Raising:
        course, event = self._facts.event(course, "end", ended_by)
        if (spent := self._joules.of.get(course.id)) is not None:
            event = msgspec.structs.replace(event, data=msgspec.structs.replace(event.data, energy_j=round(spent, 1)))
        if not (yield from self._raiser.raised(event, Weight.END, Closed(course.id))):
            return False
        self.ended += 1
        self._joules = energy.forget(self._joules, course.id)
        return True

    # What is said

    def _tell(self, course: Course, operation: telling.Ongoing) -> Raising:
        course, event = self._facts.event(course, operation)
        if operation == "update":
            told = yield from self._raiser.raised(event, Weight.UPDATE, Opened(course))
            self._raiser.count_unlogged("updates", not told)
        else:
            weight = Weight.ROUTINE if event.priority is m.Priority.ROUTINE else Weight.URGENT
            numbered = Numbered(course.camera, course.number)
            told = yield from self._raiser.raised(event, weight, Opened(course), numbered)
        if told:
            self._open[course.camera, course.area] = course
        return told

    def _camera_changed(self, message: m.CameraChanged) -> Outputs:
        at, camera = At(message.pts_ns, message.utc_ns), message.camera
        was = self._cameras.heard_of(message)
        if message.state == "found" and was is not None:
            yield from self._cameras.tell(camera, "found", "", message.reason, at)
        if message.state == "lost" and was is None:
            yield from self._lost(camera, "lost", message.reason, at)

    def _lost(self, camera: CameraId, how: str, reason: str, at: At) -> Outputs:
        for key, course in list(self._open.items()):
            if key[0] == camera:
                yield from self._over(key, course, "camera_lost")
        yield from self._cameras.tell(camera, "lost", how, reason, at)

    def _restarted(self, message: m.StageRestarted) -> Outputs:
        details: Details = {"stage": message.stage, "restarts": message.restarts, "reason": message.reason}
        at = At(message.pts_ns, message.utc_ns)
        yield from self._raiser.device("system.stage_restarted", m.Priority.WARNING, details, at)
        if message.stage == "describe":
            self._pending, again = pending.after_restart(self._pending)
            yield from again

    def _ticked(self, message: m.Ticked, at: At) -> Outputs:
        """Time goes by: what waits too long is not waited for, and silence is noticed."""
        self._raiser.drops = message.drops
        ids = [*(course.id for course in self._open.values()), *self._ending]
        self._joules = energy.share_energy(self._joules, message.energy_j, ids)
        self._storm, summed_up = storm.passed(self._storm, m.seconds(at.pts_ns), self._rows.storm_incidents)
        if summed_up is not None:
            yield from self._raiser.device("system.storm", m.Priority.WARNING, summed_up, at)
        yield from self._raiser.report_space(at)
        yield from self._cameras.sum_up(at)
        yield from self._end_left_open()
        for ending in list(self._ending.values()):
            if ending.analysis is not None:  # there was no room
                yield from self._close(ending, ending.analysis)
            elif ending.until_ns < at.pts_ns:
                yield from self._close_late(ending)
        for camera in self._cameras.silent(at.pts_ns):
            yield from self._lost(camera, "silent", f"no picture for {self._rows.lost_after_s:g} s", at)
        for place, course in list(self._open.items()):
            if self._cameras.over(place[0], at.pts_ns):  # its recording; those of others go on
                yield from self._over(place, course, "eof")

    def _place_of(self, incident: IncidentId) -> Place | None:
        return next((key for key, course in self._open.items() if course.id == incident), None)
