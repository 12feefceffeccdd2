"""Clauses that speak of the same are one reading of a note; an exception takes back what the clause before says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.note import doubts
from pipeline.core.note.notes import UNREADABLE, Reading
from pipeline.core.note.people import ANYBODY, PEOPLE
from pipeline.core.note.when import When

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.note.cues import Effect
    from pipeline.core.note.words import Unit


class Draft(NamedTuple):
    """A clause, read."""

    effect: Effect | None
    who: tuple[Unit, ...]
    more: tuple[Unit, ...]
    where: tuple[str, ...]
    when: When
    unread: tuple[str, ...]
    exception: bool
    both: bool
    recurring: bool = False
    assumed: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    unless: str = ""
    everywhere: bool = False  # said outright


def joined(drafts: list[Draft]) -> list[Reading]:
    """Make halves of clauses: one that adds nothing but a time or a command belongs to the one before."""
    groups: list[Draft] = []
    for draft in drafts:
        last = groups[-1] if groups else None
        if draft.exception and last is not None:
            groups += _exception(groups, draft)
        elif last is None or not _continues(last, draft):
            groups.append(draft)
        else:
            groups[-1] = _merged(last, draft)
    said = [group for group in groups if group.effect is not None]
    kept = [group for group in groups if group.effect is not None or group.who or not said]
    kept = list(_of_the_same(kept))
    return list(_inherited([_reading(_weighed(group)) for group in kept]))


def _weighed(draft: Draft) -> Draft:
    """Add what is doubtful about all of a half: a habit is told of somebody, with its time; else it is no rule."""
    named = any(not unit.names or not ANYBODY.issuperset(name.name for name in unit.names) for unit in draft.who)
    if draft.when.least and draft.effect in (None, "allowed"):
        draft = draft._replace(unclear=(*draft.unclear, "it permits groups, and does not say how large"))
    if draft.effect is None and not (draft.recurring and named):
        return draft._replace(assumed=(doubts.NOT_SAID, *draft.assumed))
    limited = draft.when.timed or draft.when.most_s or draft.when.most
    blanket = not draft.where and (draft.everywhere or not limited)
    if blanket and set(_names(draft.who)) <= ANYBODY:
        return draft._replace(unclear=(*draft.unclear, doubts.BEYOND))
    return draft


def _of_the_same(groups: list[Draft]) -> Iterator[Draft]:
    """`People may walk there, but report if they stay`: who is not named again is who was allowed before."""
    before: tuple[Unit, ...] = ()
    for group in groups:
        takes_back = group.effect in ("forbidden", "report") and not group.exception
        yield group._replace(who=before) if takes_back and not group.who and before else group
        before = group.who if group.effect in (None, "allowed") and group.who else before


def _exception(groups: list[Draft], draft: Draft) -> list[Draft]:
    """An exception has the opposite effect; of a permission only its times are taken, as those of other days."""
    main = groups[-1]
    allowed = main.effect in (None, "allowed")
    if allowed and draft.unless:
        reason = f"it holds under a condition that nobody checks: `{draft.unless}`"
        groups[-1] = main = main._replace(unclear=(*main.unclear, reason))
    if allowed and (draft.unread or draft.unclear):  # what it takes back is not known
        groups[-1] = main = main._replace(unread=(*main.unread, *draft.unread), unclear=(*main.unclear, *draft.unclear))
        if not draft.who and not draft.when.timed:
            return []
    if allowed and not draft.who:
        if draft.when.weekdays:
            days = set(main.when.weekdays or range(7)) - set(draft.when.weekdays)
            groups[-1] = main._replace(when=msgspec.structs.replace(main.when, weekdays=tuple(sorted(days))))
            return []
        return [draft._replace(effect="forbidden", where=draft.where or main.where, who=main.who)]
    return [draft._replace(effect="forbidden" if allowed else "allowed", where=draft.where or main.where)]


def _continues(last: Draft, draft: Draft) -> bool:
    """Whether a clause speaks on about the same: it names nobody new, and does not say the opposite."""
    if last.effect is None and not last.when.timed and _overlap(last.who, draft.who):
        return True  # "cyclists dismount there: report any bike" tells first what is usual, then what is not
    if draft.who and not _same(last.who, draft.who) and not (draft.effect == last.effect or draft.effect is None):
        return last.effect is None and _covers(draft.who, last.who)
    if last.effect is None or draft.effect is None:
        return not draft.who or not last.who or _same(last.who, draft.who) or _covers(draft.who, last.who)
    one, other = last.effect == "allowed", draft.effect == "allowed"
    if not other and draft.who and last.who and not (_same(last.who, draft.who) or _overlap(last.who, draft.who)):
        return False  # the yard is closed to cars, no people: two prohibitions
    return one == other


def _same(one: tuple[Unit, ...], other: tuple[Unit, ...]) -> bool:
    return {unit.stem for unit in one} == {unit.stem for unit in other}


def _overlap(one: tuple[Unit, ...], other: tuple[Unit, ...]) -> bool:
    names = [{name for unit in units for name in unit.names if name.kind in PEOPLE} for units in (one, other)]
    return not names[0].isdisjoint(names[1])


def _covers(wide: tuple[Unit, ...], narrow: tuple[Unit, ...]) -> bool:
    """`Deer are common: ignore animals`; not `workers pick there; nobody may ...`."""
    groups = {name.name for unit in wide for name in unit.names if name.kind == "group"}
    return bool(groups) and not any(name.kind == "role" for unit in narrow for name in unit.names)


def _merged(last: Draft, draft: Draft) -> Draft:
    if last.effect is None and draft.effect == "allowed":  # it only tells what the second then permits
        last = last._replace(assumed=())
        if draft.when.timed:
            last = last._replace(unread=(), unclear=())
    return last._replace(
        effect=last.effect if last.effect in ("forbidden", "report") else draft.effect or last.effect,
        who=last.who or draft.who,
        more=(*last.more, *draft.more, *(draft.who if last.who else ())),
        where=last.where or draft.where,
        when=_together(last.when, draft.when),
        unread=(*last.unread, *draft.unread),
        recurring=last.recurring or draft.recurring,
        assumed=(*last.assumed, *draft.assumed),
        unclear=(*last.unclear, *draft.unclear),
    )


def _together(one: When, other: When) -> When:
    """The times of two clauses; what the second does not say stays as the first said."""
    changes = {name: getattr(other, name) for name in When.__struct_fields__ if getattr(other, name)}
    if other.dark is not None:
        changes["dark"] = other.dark
    return msgspec.structs.replace(one, **changes)


def _reading(draft: Draft) -> Reading:
    lost = draft.exception and not draft.who and not draft.when.timed
    allowed = draft.effect in (None, "allowed")
    return Reading(
        effect=draft.effect or "allowed",
        who=(UNREADABLE,) if lost else _names(draft.who),
        with_=_names(draft.more),
        where=draft.where,
        when=draft.when,
        exception=draft.exception,
        assumed=draft.assumed if allowed else (),
        unclear=(*draft.unclear, *(f"not read: `{phrase}`" for phrase in draft.unread)) if allowed else (),
    )


def _names(units: tuple[Unit, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.name for unit in units for name in unit.names if name.kind in PEOPLE)) or tuple(
        unit.stem for unit in units
    )


def _inherited(readings: list[Reading]) -> Iterator[Reading]:
    """A half that names no place means the place of the other."""
    shared = next((reading.where for reading in readings if reading.where), ())
    for reading in readings:
        yield reading if reading.where else msgspec.structs.replace(reading, where=shared)


# --- who and where -------------------------------------------------------------------------------------------------
