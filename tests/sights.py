"""A camera for tests of what is followed: things go their ways before it, and every picture is a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.geometry import covers
from pipeline.core.track import looking
from pipeline.core.track.sight import Sight, TrackRules
from pipeline.core.track.tracker import Tracker, step
from tests.fakes import NS, seen

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.core.geometry import Box

RULES = TrackRules()


def box(x, y=0.6, width=0.08, height=0.24):
    """A box around a centre; as high as somebody in the middle of a yard unless told otherwise."""
    return (x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def way(start, end, *, from_s=0.0, to_s, y=0.6, width=0.08, height=0.24):
    """A way from left to right, or back, at an even speed; before and after it stands."""

    def at(at_s):
        share = min(1.0, max(0.0, (at_s - from_s) / (to_s - from_s)))
        return box(start + share * (end - start), y, width, height)

    return at


class Passer(NamedTuple):
    """Somebody or something that goes a way.

    Attributes:
        at: Where it is by the second; None: it is not there.
        moves: Whether it moves, by the second; None: where its box changes.
    """

    at: Callable[[float], Box | None]
    label: str = "person"
    likelihood: float = 0.8
    colours: tuple[int, ...] = ()
    moves: Callable[[float], bool] | None = None


class Camera:
    """A camera that takes so many pictures a second and looks at each so-many-th of them, as the classifier does."""

    def __init__(self, *, per_s=10, look_every=3, rules=RULES):
        self.per_s, self.look_every, self.rules = per_s, look_every, rules
        self.tracker = Tracker()
        self.pictures = 0
        self.stopped_s = 0.0  # when it last looked at what stopped

    @property
    def at_s(self):
        return self.pictures / self.per_s

    @property
    def things(self):
        return self.tracker.things

    def numbers(self):
        return [one.number for one in self.things]

    def only(self):
        (one,) = self.things
        return one

    def see(self, *moving, found=None, looked_at=None, **more):
        """One picture; `found`: what a look showed; it looked at all that moves and is known unless told otherwise."""
        self.pictures += 1
        if looked_at is None:
            looked_at = () if found is None else (*moving, *(one.box for one in self.things))
        at_ns = round(self.at_s * NS)
        sight = Sight(at_ns, tuple(moving), detections=found, looked_at=looked_at, **more)
        self.tracker = step(self.tracker, sight, self.rules)
        return self

    def watch(self, seconds, *passers, missed=lambda at_s: False, merge=lambda boxes: boxes):
        """Let things pass by; `missed`: looks that show nothing; `merge`: what becomes of regions that meet."""
        for _ in range(round(seconds * self.per_s)):
            now_s = self.at_s + 1 / self.per_s
            places = [(one, one.at(now_s)) for one in passers]
            moving = merge([place for one, place in places if place and _moves(one, now_s, 1 / self.per_s)])
            looked_at = self._looks(moving, now_s)
            found = None
            if looked_at:
                shown = [(one, place) for one, place in places if place and not missed(now_s)]
                found = tuple(_seen(*row) for row in shown if any(covers(look, row[1]) > 0.5 for look in looked_at))
            self.see(*moving, found=found, looked_at=looked_at)
        return self

    def _looks(self, moving, now_s):
        """Where it looks: at what stopped only once a second."""
        if (self.pictures + 1) % self.look_every:
            return ()
        on_its_way, stopped = looking.known(self.things, moving, self.tracker.watch.at_ns, self.rules)
        looks = looking.choose(moving, on_its_way, 4)
        if stopped and now_s - self.stopped_s >= 1:
            self.stopped_s = now_s
            looks += looking.choose((), stopped, 4)
        return looks


def _moves(passer, at_s, interval_s):
    if passer.moves is not None:
        return passer.moves(at_s)
    return passer.at(at_s) != passer.at(at_s - interval_s)


def _seen(passer, place):
    one = seen(passer.label, passer.likelihood, place, "vehicle" if passer.label == "bicycle" else None)
    return msgspec.structs.replace(one, colours=passer.colours)
