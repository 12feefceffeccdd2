"""Merge the drafts of clauses into the readings of a note, and apply exceptions to the clause before them."""

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
    """What was read of one clause.

    Attributes:
        effect: What it says outright; None: nothing.
        who: Whom it is about.
        more: Other people and things that it names.
        where: Its places, as written.
        when: Its times.
        unread: Phrases that look like times and could not be read.
        exception: Whether it is an exception to the clause before.
        both: Whether it allows and forbids at once.
        recurring: Whether it says that something happens again and again.
        assumed: Assumptions that the author may confirm.
        unclear: Reasons for which a permission must not be relied on.
        unless: The word of condition, such as `unless`; empty: none.
        everywhere: Whether it says outright that it holds anywhere.
    """

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
    everywhere: bool = False


def merge_drafts(drafts: list[Draft]) -> list[Reading]:
    """Merge drafts into readings; a clause that only adds a time or a command is merged into the one before."""
    groups: list[Draft] = []
    for draft in drafts:
        last = groups[-1] if groups else None
        if draft.exception and last is not None:
            groups += _apply_exception(groups, draft)
        elif last is None or not _continues(last, draft):
            groups.append(draft)
        else:
            groups[-1] = _merge(last, draft)
    said = [group for group in groups if group.effect is not None]
    kept = [group for group in groups if group.effect is not None or group.who or not said]
    kept = list(_inherit_subjects(kept))
    return list(_inherit_places([_make_reading(_add_doubts(group)) for group in kept]))


def _add_doubts(draft: Draft) -> Draft:
    """Add doubts about a merged draft; a habit counts as a rule only if it names somebody and a time."""
    named = any(not unit.names or not ANYBODY.issuperset(name.name for name in unit.names) for unit in draft.who)
    if draft.when.least and draft.effect in (None, "allowed"):
        draft = draft._replace(unclear=(*draft.unclear, "it permits groups, and does not say how large"))
    if draft.effect is None and not (draft.recurring and named):
        return draft._replace(assumed=(doubts.NOT_SAID, *draft.assumed))
    limited = draft.when.timed or draft.when.most_s or draft.when.most
    blanket = not draft.where and (draft.everywhere or not limited)
    if blanket and set(_subject_names(draft.who)) <= ANYBODY:
        return draft._replace(unclear=(*draft.unclear, doubts.TOO_WIDE))
    return draft


def _inherit_subjects(groups: list[Draft]) -> Iterator[Draft]:
    """Give a prohibition without a subject the one of the permission before: `People may walk there, but report if they
    stay`.
    """
    before: tuple[Unit, ...] = ()
    for group in groups:
        takes_back = group.effect in ("forbidden", "report") and not group.exception
        yield group._replace(who=before) if takes_back and not group.who and before else group
        before = group.who if group.effect in (None, "allowed") and group.who else before


def _apply_exception(groups: list[Draft], draft: Draft) -> list[Draft]:
    """Return the drafts that an exception adds; it has the opposite effect of the last group.

    An exception without a subject to a permission only changes the days of that permission. The last group is
    replaced in place.
    """
    main = groups[-1]
    allowed = main.effect in (None, "allowed")
    if allowed and draft.unless:
        reason = f"it holds under a condition that nobody checks: `{draft.unless}`"
        groups[-1] = main = main._replace(unclear=(*main.unclear, reason))
    if allowed and (draft.unread or draft.unclear):  # what it excepts is not known
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
    """Tell whether a clause continues the last one: it names nobody new, and does not say the opposite."""
    if last.effect is None and not last.when.timed and _overlap(last.who, draft.who):
        return True  # "cyclists dismount there: report any bike" says first what is usual, then what is not
    if (
        draft.who
        and not _same_subjects(last.who, draft.who)
        and not (draft.effect == last.effect or draft.effect is None)
    ):
        return last.effect is None and _covers(draft.who, last.who)
    if last.effect is None or draft.effect is None:
        return not draft.who or not last.who or _same_subjects(last.who, draft.who) or _covers(draft.who, last.who)
    one, other = last.effect == "allowed", draft.effect == "allowed"
    if (
        not other
        and draft.who
        and last.who
        and not (_same_subjects(last.who, draft.who) or _overlap(last.who, draft.who))
    ):
        return False  # the yard is closed to cars, no people: two prohibitions
    return one == other


def _same_subjects(one: tuple[Unit, ...], other: tuple[Unit, ...]) -> bool:
    return {unit.stem for unit in one} == {unit.stem for unit in other}


def _overlap(one: tuple[Unit, ...], other: tuple[Unit, ...]) -> bool:
    names = [{name for unit in units for name in unit.names if name.kind in PEOPLE} for units in (one, other)]
    return not names[0].isdisjoint(names[1])


def _covers(wide: tuple[Unit, ...], narrow: tuple[Unit, ...]) -> bool:
    """Tell whether a group includes what another clause names: `Deer are common: ignore animals`; never for roles."""
    groups = {name.name for unit in wide for name in unit.names if name.kind == "group"}
    return bool(groups) and not any(name.kind == "role" for unit in narrow for name in unit.names)


def _merge(last: Draft, draft: Draft) -> Draft:
    if last.effect is None and draft.effect == "allowed":  # it only describes what the second one permits
        last = last._replace(assumed=())
        if draft.when.timed:
            last = last._replace(unread=(), unclear=())
    return last._replace(
        effect=last.effect if last.effect in ("forbidden", "report") else draft.effect or last.effect,
        who=last.who or draft.who,
        more=(*last.more, *draft.more, *(draft.who if last.who else ())),
        where=last.where or draft.where,
        when=_merge_times(last.when, draft.when),
        unread=(*last.unread, *draft.unread),
        recurring=last.recurring or draft.recurring,
        assumed=(*last.assumed, *draft.assumed),
        unclear=(*last.unclear, *draft.unclear),
    )


def _merge_times(one: When, other: When) -> When:
    """Merge the times of two clauses; fields of the second one win if they are set."""
    changes = {name: getattr(other, name) for name in When.__struct_fields__ if getattr(other, name)}
    if other.dark is not None:
        changes["dark"] = other.dark
    return msgspec.structs.replace(one, **changes)


def _make_reading(draft: Draft) -> Reading:
    lost = draft.exception and not draft.who and not draft.when.timed
    allowed = draft.effect in (None, "allowed")
    return Reading(
        effect=draft.effect or "allowed",
        who=(UNREADABLE,) if lost else _subject_names(draft.who),
        with_=_subject_names(draft.more),
        where=draft.where,
        when=draft.when,
        exception=draft.exception,
        assumed=draft.assumed if allowed else (),
        unclear=(*draft.unclear, *(f"not read: `{phrase}`" for phrase in draft.unread)) if allowed else (),
    )


def _subject_names(units: tuple[Unit, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.name for unit in units for name in unit.names if name.kind in PEOPLE)) or tuple(
        unit.stem for unit in units
    )


def _inherit_places(readings: list[Reading]) -> Iterator[Reading]:
    """Give readings without a place the first place of the note."""
    shared = next((reading.where for reading in readings if reading.where), ())
    for reading in readings:
        yield reading if reading.where else msgspec.structs.replace(reading, where=shared)
