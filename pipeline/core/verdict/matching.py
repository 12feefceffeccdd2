"""Find which standing notes are about an incident, and how surely, in a cascade of three steps.

1. Words: place and people of the note are compared with zone, class and tags of the facts, by config/words.toml.
2. The sentence encoder, if there is one: places whose words are not in the table.
3. Scores, such as those of a language model: notes that are still open after the first two steps.

The result is a confidence in 0..1. The weights below were set on sentences made from the word table, not on incidents
of an evaluation. Text in the scene is used in no step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from pipeline.core.note import when as times
from pipeline.core.note.notes import UNREADABLE
from pipeline.core.note.words import STOP, Lexicon
from pipeline.core.verdict.phrases import (
    ELSEWHERE,
    NEAR,
    PlacePhrase,
    find_places,
    fit_place,
    has_unknown_place,
    holds_anywhere,
    read_place,
    side_factor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.core.facts import Facts
    from pipeline.core.note.notes import Note, Reading

StepName: TypeAlias = Literal["words", "encoder", "model"]
Similarity: TypeAlias = "Callable[[str, str], float]"
"""Similarity in meaning of two phrases: cosine, -1..1."""
Scores: TypeAlias = "Callable[[Facts, Sequence[str]], Sequence[float | None]]"
"""For an incident and some notes, the log odds that each note is about the incident; None: not known yet."""

# Log odds that a note is about an incident: place and people in 0..1, tags 0 or 1. Same place and same class give .95,
# same place and people of a role .82, a similar place and the same class .62.
_BIAS, _PLACE, _PEOPLE, _TAGS = -8.0, 5.0, 6.0, 1.0
_FIT_NO_PLACE = 0.75  # fit of a note that names no place
_FIT_UNREAD_PLACE = 0.45  # fit of a note about people, or with unknown words, without a place that was read
_FIT_SETTLED = 0.8  # from this fit on the encoder is not asked
_RARE_SHARE, _RARE_BONUS = 0.25, 0.8  # a note for less than a quarter of the week is likelier meant in its hours
_FIT_UNREAD_SUBJECT = 0.6  # factor for a permission whose subject was not read
_OTHER_ROLE = 0.6  # factor for tags of another role: "guards" and somebody with a mop
# P(two phrases mean one place | cosine): a logistic curve over 3 000 pairs of synonyms and 320 000 of strangers of
# config/words.toml, one synonym to six strangers (USE multilingual, area under the curve .89 English, .94 Chinese).
_SLOPE, _MIDDLE = 12.0, 0.495
_SURE_COSINE = 0.7  # from this cosine on the encoder raises `ELSEWHERE` to `NEAR`
_SURE = 0.75  # from this confidence on no further step is asked
_WORDS_WEIGHT = 0.33  # of the log odds of the first two steps beside those of the third; fit: decision 009.11

_NOTHING = frozenset(("none", "tree"))
_RIDDEN = frozenset(("bicycle", "motorcycle"))
_HUMAN = frozenset(("person", "child"))
_CONFUSED_CLASSES = (
    (frozenset(("truck", "van", "bus")), 0.45),
    (frozenset(("none", "tree")), 0.45),
    (frozenset(("boat", "ship")), 0.8),
)


class Match(NamedTuple):
    """How well a note matches an incident.

    Attributes:
        confidence: Confidence that the note is about the incident, 0..1.
        readings: The readings of the note that are about the incident's object.
        named: Whether the note names the class or a tag of the object, rather than anybody.
        step: The step of the cascade that set the confidence.
        open: Whether a further step is needed: the note is neither surely about it, nor about another place or kind.
    """

    confidence: float
    readings: tuple[Reading, ...]
    named: bool
    step: StepName
    open: bool = False


class _Sight(NamedTuple):
    """The facts of an incident in words of the table."""

    classes: frozenset[str]
    word: str
    tags: frozenset[str]
    roles: frozenset[str]
    suspicious: bool
    zone: PlacePhrase


class NoteMatcher:
    """Matches the notes of a place with incidents.

    Args:
        notes: The notes with their confirmed readings.
        lexicon: The word table.
        similarity: The second step; None: without it.
        scores: The third step; None: without it.
    """

    def __init__(
        self,
        notes: Sequence[Note],
        lexicon: Lexicon,
        similarity: Similarity | None = None,
        scores: Scores | None = None,
    ) -> None:
        self.notes = tuple(notes)
        self._lexicon = lexicon
        self._similarity = similarity
        self._scores = scores
        self._phrases = [find_places(note, lexicon) for note in self.notes]
        self._stems = [frozenset(unit.stem for unit in lexicon.scan(note.text)) - STOP for note in self.notes]
        self._anywhere = [holds_anywhere(note, lexicon) for note in self.notes]
        self._unknown = [has_unknown_place(note, lexicon) for note in self.notes]
        self._drives = [any(unit.has("vehicle") for unit in lexicon.scan(note.text)) for note in self.notes]

    def match_notes(self, facts: Facts) -> list[Match]:
        """Match every note with an incident; one match for each note, in their order."""
        seen = _read_sight(facts, self._lexicon)
        found = [self._match_note(at, seen, facts) for at in range(len(self.notes))]
        return self._apply_scores(facts, found)

    def open_notes(self, matches: Sequence[Match]) -> tuple[int, ...]:
        """Return the indices, from 0, of notes that still need a score of the third step, likeliest first."""
        if self._scores is None or _is_settled(matches):
            return ()
        left = (at for at, one in enumerate(matches) if one.open)
        return tuple(sorted(left, key=lambda at: -matches[at].confidence))

    def _apply_scores(self, facts: Facts, found: list[Match]) -> list[Match]:
        """Apply the scores of the third step to the open notes."""
        left = [at for at, match in enumerate(found) if match.open]
        if self._scores is None or not left or _is_settled(found):
            return found
        scores = self._scores(facts, [self.notes[at].text for at in left])
        for at, score in zip(left, scores, strict=True):
            if score is not None:
                odds = _WORDS_WEIGHT * _log_odds(found[at].confidence) + score
                found[at] = found[at]._replace(confidence=round(_logistic(odds), 3), step="model", open=False)
        return found

    def _match_note(self, at: int, seen: _Sight, facts: Facts) -> Match:
        place, step = self._fit_place(at, seen)
        tags = bool(seen.tags & self._stems[at])
        best, named, about = 0.0, False, []
        for reading in self.notes[at].readings:
            people, exact = self._fit_people(at, reading, seen, drives=self._drives[at])
            evident = tags or self._has_equipment(reading, seen)
            if (
                reading.exception
                and reading.effect == "allowed"
                and not (evident or self._is_subject_seen(reading, seen))
            ):
                continue  # else the exception would cover everybody
            if people >= 0.3:  # noqa: PLR2004  # below, it is about somebody else
                about.append(reading)
            odds = _BIAS + _PLACE * place + _PEOPLE * people + (_TAGS if evident else 0.0)
            odds += (
                _RARE_BONUS
                if place > NEAR
                and times.week_share(reading.when) < _RARE_SHARE
                and times.time_state(reading.when, facts) == "open"
                else 0.0
            )
            if (people and odds > best) or not best:
                best, named = odds, exact or evident
        sure = round(_logistic(best), 3) if about else 0.0
        known = bool(seen.zone.places) and all(phrase.places for phrase in self._phrases[at])
        left = bool(about) and sure < _SURE and not (known and place <= ELSEWHERE)
        return Match(sure, tuple(about), named, step, left)

    def _is_subject_seen(self, reading: Reading, seen: _Sight) -> bool:
        """Tell whether the detector's class is one that a reading names, or the reading names nobody."""
        own = _classes_of(seen.word, self._lexicon) or {seen.word}
        table = self._lexicon.table
        wanted = {
            name for who in reading.who for name in (table.groups[who].classes if who in table.groups else (who,))
        }
        return not reading.who or not own.isdisjoint(wanted)

    def _has_equipment(self, reading: Reading, seen: _Sight) -> bool:
        roles = self._lexicon.table.roles
        return any(who in seen.roles or _has_tag(roles[who].tags, seen) for who in reading.who if who in roles)

    def _fit_place(self, at: int, seen: _Sight) -> tuple[float, StepName]:
        phrases = self._phrases[at]
        if not phrases and seen.classes & _HUMAN and not self._anywhere[at]:
            return (
                _FIT_UNREAD_PLACE,
                "words",
            )  # notes about people are about some place; notes about animals may hold everywhere
        if not phrases:
            return (_FIT_UNREAD_PLACE if self._unknown[at] else _FIT_NO_PLACE), "words"
        share = max(fit_place(seen.zone, phrase, self._lexicon) for phrase in phrases)
        if share >= _FIT_SETTLED or self._similarity is None or not seen.zone.text:
            return share, "words"
        phrases = tuple(one for one in phrases if side_factor(seen.zone.sides, one.sides) > ELSEWHERE)
        cosine = max((self._similarity(seen.zone.text, phrase.text) for phrase in phrases), default=-1.0)
        guess = _logistic(_SLOPE * (cosine - _MIDDLE))
        unknown = not seen.zone.places or not any(phrase.places for phrase in phrases)
        if not unknown and share < NEAR / 2:
            guess = NEAR if cosine >= _SURE_COSINE else 0.0
        return (guess, "encoder") if guess > share else (share, "words")

    def _fit_people(self, at: int, reading: Reading, seen: _Sight, *, drives: bool) -> tuple[float, bool]:
        """Return how well the object fits the subject of a reading, 0..1, and whether the reading names its class."""
        if reading.who == (UNREADABLE,) or not (reading.who or self._phrases[at]):
            return 0.0, False  # its subject is unknown
        if not reading.who:
            if reading.effect == "allowed" and not drives:
                return _FIT_UNREAD_SUBJECT * _fit_anybody(seen, self._lexicon, drives=drives), False
            return _fit_anybody(seen, self._lexicon, drives=drives), False
        several = len(reading.who) > 1 and set(reading.who) <= self._lexicon.vehicles
        if several and seen.classes & self._lexicon.vehicles - set(reading.who):
            return 0.6, False  # "cars and lorries" means any vehicle
        first = max((self._fit_name(who, seen, drives=drives) for who in reading.who), key=lambda found: found[0])
        if first[0] == 0 or first[0] >= 0.8:  # noqa: PLR2004  # settled
            return first
        return max((first, *((0.85 * fit, exact) for fit, exact in self._fit_companions(reading, seen, drives=drives))))

    def _fit_companions(self, reading: Reading, seen: _Sight, *, drives: bool) -> list[tuple[float, bool]]:
        roles = self._lexicon.table.roles
        moved = drives or any(who in roles and roles[who].drives for who in reading.who)
        if not moved or not seen.classes & self._lexicon.vehicles:
            return []
        return [self._fit_name(who, seen, drives=drives) for who in reading.with_]

    def _fit_name(self, who: str, seen: _Sight, *, drives: bool) -> tuple[float, bool]:
        """Return how well a class, group or role fits the object, 0..1, and whether it names the object's class."""
        table = self._lexicon.table
        if who in seen.classes and who != "person":
            return 1.0, who not in _NOTHING  # `none` and `tree` say nothing of the thing itself
        if who in table.groups:
            fits = not seen.classes.isdisjoint(table.groups[who].classes)
            return (0.95 if fits else 0.0), fits and who != "anything"
        vehicle = not seen.classes.isdisjoint(self._lexicon.vehicles)
        human = not seen.classes.isdisjoint(_HUMAN)
        if who in table.roles:
            return self._fit_role(who, seen, drives=drives), False
        if who in table.classes and who != "person":
            return _fit_other_class(who, seen), False
        sure = 0.95 if who == "person" else 0.7  # known to be people by its ending only
        return (sure if human else 0.0 if not vehicle else 0.6 if drives else 0.3), False

    def _fit_role(self, who: str, seen: _Sight, *, drives: bool) -> float:
        """Return how well people of a role fit the object, 0..1: by their tags and vehicles."""
        role = self._lexicon.table.roles[who]
        classes = set(role.classes)
        if seen.classes.isdisjoint(_HUMAN):
            if seen.classes & classes:
                return 0.75
            driven = not seen.classes.isdisjoint(self._lexicon.vehicles)
            return (0.75 if role.drives else 0.7 if drives else 0.2) if driven else 0.0
        fit = 0.75 if "person" in seen.classes else 0.9 if "child" in classes else 0.4
        if who in seen.roles or _has_tag(role.tags, seen):
            return fit if seen.suspicious else max(fit, 0.9)
        return fit * (_OTHER_ROLE if self._is_other_role(who, seen) else 1.0)

    def _is_other_role(self, role: str, seen: _Sight) -> bool:
        """Tell whether the tags suggest people of another role."""
        if seen.suspicious:
            return True
        like = {
            name for name, row in self._lexicon.table.roles.items() if name in seen.roles or _has_tag(row.tags, seen)
        }
        return bool(like) and role not in like


def _fit_other_class(who: str, seen: _Sight) -> float:
    """Return how well another class fits, 0..1, as detectors confuse some classes."""
    both = {who, *seen.classes}
    found = next((fit for classes, fit in _CONFUSED_CLASSES if both <= classes), 0.0)
    return 0.3 if who == "child" and "person" in seen.classes else found


def _read_sight(facts: Facts, lexicon: Lexicon) -> _Sight:
    label = facts.object.class_
    classes = _classes_of(label, lexicon) or {label}
    finer = {name for tag in facts.tags for name in _classes_of(tag, lexicon)}
    for family in ({"person", "child"}, lexicon.vehicles, lexicon.animals):
        if classes & family:
            classes |= finer & family
    if "person" in classes:
        classes |= finer & _RIDDEN  # riders have the class person, and a tag of what they ride
    units = [unit for tag in facts.tags for unit in lexicon.scan(tag)]
    roles = frozenset(role for unit in units for role in unit.has("role"))
    stems = frozenset((*(unit.stem for unit in units), *facts.tags)) - STOP  # Chinese words have no stems
    suspicious = any(unit.has("suspicious") for unit in units)
    return _Sight(frozenset(classes), label, stems, roles, suspicious, read_place(facts.zone, lexicon))


def _classes_of(text: str, lexicon: Lexicon) -> set[str]:
    """Return the classes that a text names, if it is a single word of the table."""
    units = lexicon.scan(text)
    return set(units[0].has("class")) if len(units) == 1 else set()


def _has_tag(wanted: Sequence[str], seen: _Sight) -> bool:
    return any(word in seen.tags or word.rstrip("s") in seen.tags for word in wanted)


def _fit_anybody(seen: _Sight, lexicon: Lexicon, *, drives: bool) -> float:
    """Return how well an object fits a note that names nobody, 0..1: people fit well, vehicles less."""
    if seen.classes & {"person", "child"}:
        return 0.6 if drives else 0.85
    if drives and seen.classes & lexicon.vehicles:
        return 0.85
    return 0.45 if seen.classes & lexicon.vehicles else 0.1


def _is_settled(matches: Sequence[Match]) -> bool:
    return any(match.confidence >= _SURE for match in matches)


def _log_odds(share: float) -> float:
    bounded = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(bounded / (1 - bounded))


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
