"""From what moves in a picture to what each area sees, and what an incident learns of it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.incident import areas, incidents, presence, things
from pipeline.core.incident.sight import Sight

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.core.geometry import Box
    from pipeline.core.incident.areas import Area
    from pipeline.core.incident.incidents import Course, Tally
    from pipeline.core.incident.presence import Decision, Presence
    from pipeline.core.incident.sight import PresenceRules
    from pipeline.core.incident.spots import Spot
    from pipeline.core.messages import Detection, FrameRef, SceneClassified
    from pipeline.core.settings import CameraSettings
    from pipeline.core.vocabulary import Group

_GROUPS: dict[str, Group] = {"person": "person", "vehicle": "vehicle", "animal": "animal"}


class SeenScene(NamedTuple):
    """What moves and what was recognised in a picture, outside masks, each with the key of its area; None: in none."""

    message: SceneClassified
    boxes: tuple[tuple[str | None, Box], ...]
    found: tuple[tuple[str | None, Detection], ...]

    def boxes_in(self, key: str) -> tuple[Box, ...]:
        """What moves in an area."""
        return tuple(box for where, box in self.boxes if where == key)

    def found_in(self, key: str) -> tuple[Detection, ...] | None:
        """What was recognised in an area; None: the classifier did not look."""
        if self.message.detections is None:
            return None
        return tuple(one for where, one in self.found if where == key)


class Seen(NamedTuple):
    """What one frame shows of one area.

    Attributes:
        frame: Which.
        boxes: What moves there, and what came and stands still.
        area_ratio: Share of the picture that moves.
        found: What was recognised there.
        cycles: Those of them that are ridden.
        presence: What is there, with this frame.
        known: From elsewhere, of things that are here.
    """

    frame: FrameRef
    boxes: tuple[Box, ...]
    area_ratio: float
    found: tuple[Detection, ...]
    cycles: tuple[Detection, ...]
    presence: Presence
    known: Mapping[str, Tally] = {}


def rules_for(rules: PresenceRules, frame: FrameRef) -> PresenceRules:
    """Fit the rules of presence to the upright height of a frame."""
    return rules.for_height(frame.height if frame.rotation in (0, 180) else frame.width)


def placed(message: SceneClassified, camera: CameraSettings, places: dict[str, Area]) -> SeenScene:
    """Share out to the areas of a camera what moves and what was recognised; each thing is placed once."""
    boxes = areas.unmasked(message.boxes, camera)
    found = [one for one in message.detections or () if areas.unmasked((one.box,), camera)]
    return SeenScene(
        message,
        tuple((areas.area_of(box, places), box) for box in boxes),
        tuple((areas.area_of(one.box, places), one) for one in found),
    )


def watched(known: things.Known, scene: SeenScene, rules: PresenceRules) -> things.Known:
    """Gather what is known of each thing over the whole picture, so that no area knows less of it."""
    message = scene.message
    where = {box: area for area, box in scene.boxes} | {one.box: area for area, one in scene.found}
    found = [one for _, one in scene.found]
    cycles = incidents.ridden(found)
    apart = None if message.detections is None else [one for one in found if one not in cycles]
    boxes = tuple(box for _, box in scene.boxes)
    sight = Sight(message.frame.pts_ns, boxes, message.area_ratio, message.global_change, apart, message.blurred)
    standing = [one for one in apart or () if one.box in message.standing]
    return things.watch(known, sight, where, rules, standing)


def looked(
    spot: Spot, scene: SeenScene, key: str, known: things.Known | None, rules: PresenceRules, *, active: bool
) -> tuple[Spot, Seen, Decision]:
    """Let an area see its part of a picture.

    Args:
        spot: Of the area; its presence stays as it was until the decision is acted on.
        scene: The picture.
        key: Of the area.
        known: Of the things in the whole picture; None: the camera has one area only.
        rules: Of presence, for this picture.
        active: Whether an incident is open there.
    """
    message, boxes, found = scene.message, scene.boxes_in(key), scene.found_in(key)
    if active:  # what came and stands still keeps an incident alive, and starts none
        boxes += tuple(one.box for one in found or () if one.box in message.standing)
    ratio = message.area_ratio if boxes else 0.0
    cycles = incidents.ridden(found or ())
    apart = None if found is None else tuple(one for one in found if one not in cycles)
    blurred = tuple(box for box in message.blurred if box in boxes)
    sight = Sight(message.frame.pts_ns, boxes, ratio, message.global_change, apart, blurred)
    tallies: Mapping[str, Tally] = {}
    if known is not None:
        share = things.lend(known, spot.members, key, sight, rules, active=active)
        sight = sight._replace(boxes=sight.boxes + share.boxes, lent=share.lent)
        spot, tallies = spot._replace(members=share.members), share.tallies
    now, change = presence.step(spot.presence, sight, rules)
    return spot, Seen(message.frame, sight.boxes, ratio, found or (), cycles, now, tallies), change


def noted(course: Course, seen: Seen, rules: PresenceRules) -> Course:
    """Add a sight: what moves, and of what was recognised that which moves."""
    course = incidents.seen(course, seen.frame, seen.boxes, seen.area_ratio)
    found = [one for one in seen.found if incidents.moving(one, seen.boxes)]
    ridden = tuple(sorted({*course.ridden, *(one.label for one in seen.cycles)}))
    course = named(msgspec.structs.replace(course, ridden=ridden), seen, rules)
    return incidents.recognised(course, found, course.group, seen.frame.pts_ns)


def named(course: Course, seen: Seen, rules: PresenceRules) -> Course:
    """Name it by all that is known of its things."""
    label = seen.presence.label(rules, course.group)
    course = msgspec.structs.replace(course, group=_GROUPS.get(label or ""))
    return incidents.informed(course, seen.known)
