"""Which standing note speaks about an incident, and how surely: a cascade, each step for what the one before left open.

1. Words: place and people of the note against zone, class and tags of the facts, by the table of config/words.toml.
2. A sentence encoder, where there is one: places and people whose words the table does not know.
3. Whatever else is given, a language model say: notes that are still neither in nor out.

The sum of what was found is a confidence in 0..1; its weights are below, and were set on sentences made from the table
itself, on no incident of an evaluation. What the scene's signs say takes no part in any step.
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
    everywhere,
    has_leftover,
    likeness,
    phrase_of,
    places_of,
    side_factor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.core.facts import Facts
    from pipeline.core.note.notes import Note, Reading

StepName: TypeAlias = Literal["words", "encoder", "model"]
Similarity: TypeAlias = "Callable[[str, str], float]"
"""How near two phrases are in meaning: cosine, -1..1."""
Scores: TypeAlias = "Callable[[Facts, Sequence[str]], Sequence[float | None]]"
"""For an incident and some notes, log odds that each note speaks about the incident; None: not known yet."""

# Log odds that a note speaks: place and people in 0..1, tags 0 or 1. A note on the very place about the very class has
# .95, on the place about people of one trade .82, on a place that is near by about the very class .62.
_BIAS, _PLACE, _PEOPLE, _TAGS = -8.0, 5.0, 6.0, 1.0
_NOWHERE = 0.75  # a note that names no place holds everywhere
_SOMEWHERE = 0.45  # it names none that was read, but is about people, or has words that nobody knows
_SETTLED = 0.8  # the encoder has nothing to add
_RARE, _NOW = 0.25, 0.8  # a note about less than a quarter of the week, and it is that hour: it is likelier meant
_UNNAMED = 0.6  # a permission whose subject was not read: hardly for anybody
_UNLIKE = 0.6  # "guards" and somebody with a mop
# P(two phrases mean one place | cosine): a logistic curve over 3 000 pairs of synonyms and 320 000 of strangers of
# config/words.toml, one synonym to six strangers (USE multilingual, area under the curve .89 English, .94 Chinese).
_SLOPE, _MIDDLE = 12.0, 0.495
_SURE_COSINE = 0.7  # from which on the encoder overrules the table's "elsewhere", to a half
_SURE = 0.75  # from which on no further step is asked
_WORDS_COUNT = 0.33  # of what the first two steps make of a note, beside what the third does; fit: decision 009.11

_NOTHING = frozenset(("none", "tree"))
_RIDDEN = frozenset(("bicycle", "motorcycle"))
_HUMAN = frozenset(("person", "child"))
_MIXED_UP = (
    (frozenset(("truck", "van", "bus")), 0.45),
    (frozenset(("none", "tree")), 0.45),
    (frozenset(("boat", "ship")), 0.8),
)


class Match(NamedTuple):
    """What is known of a note and an incident.

    Attributes:
        confidence: That the note speaks about it, 0..1.
        readings: The halves of the note about the incident's object.
        named: Whether the note names what was seen, a class or a tag, rather than anybody.
        step: Which step of the cascade said so.
        open: Whether a further step may know better: it is neither surely about this, nor about another place or kind.
    """

    confidence: float
    readings: tuple[Reading, ...]
    named: bool
    step: StepName
    open: bool = False


class _Seen(NamedTuple):
    """What was seen, in the table's words."""

    classes: frozenset[str]
    word: str
    tags: frozenset[str]
    roles: frozenset[str]
    suspicious: bool
    zone: PlacePhrase


class Listener:
    """The notes of a place, ready to be weighed against incidents.

    Args:
        notes: As confirmed.
        lexicon: What words name.
        similarity: Of phrases; None: the second step is left out.
        scores: The third step; None: it is left out.
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
        self._phrases = [places_of(note, lexicon) for note in self.notes]
        self._stems = [frozenset(unit.stem for unit in lexicon.scan(note.text)) - STOP for note in self.notes]
        self._anywhere = [everywhere(note, lexicon) for note in self.notes]
        self._unknown = [has_leftover(note, lexicon) for note in self.notes]
        self._drives = [any(unit.has("vehicle") for unit in lexicon.scan(note.text)) for note in self.notes]

    def matches(self, facts: Facts) -> list[Match]:
        """Weigh every note against an incident, in their order."""
        seen = _seen(facts, self._lexicon)
        found = [self._match(at, seen, facts) for at in range(len(self.notes))]
        return self._asked(facts, found)

    def unheard(self, matches: Sequence[Match]) -> tuple[int, ...]:
        """Name the notes, from 0, that the third step is to be asked about and does not know; likeliest first."""
        if self._scores is None or _settled(matches):
            return ()
        left = (at for at, one in enumerate(matches) if one.open)
        return tuple(sorted(left, key=lambda at: -matches[at].confidence))

    def _asked(self, facts: Facts, found: list[Match]) -> list[Match]:
        """Let the third step say what it makes of the notes that are neither in nor out."""
        left = [at for at, match in enumerate(found) if match.open]
        if self._scores is None or not left or _settled(found):
            return found
        told = self._scores(facts, [self.notes[at].text for at in left])
        for at, score in zip(left, told, strict=True):
            if score is not None:
                odds = _WORDS_COUNT * _log_odds(found[at].confidence) + score
                found[at] = found[at]._replace(confidence=round(_logistic(odds), 3), step="model", open=False)
        return found

    def _match(self, at: int, seen: _Seen, facts: Facts) -> Match:
        place, step = self._place(at, seen)
        tags = bool(seen.tags & self._stems[at])
        best, named, about = 0.0, False, []
        for reading in self.notes[at].readings:
            people, exact = self._people(at, reading, seen, drives=self._drives[at])
            evident = tags or self._equipped(reading, seen)
            if reading.exception and reading.effect == "allowed" and not (evident or self._sees(reading, seen)):
                continue  # else everybody would be the exception
            if people >= 0.3:  # noqa: PLR2004  # below, it is about somebody else
                about.append(reading)
            odds = _BIAS + _PLACE * place + _PEOPLE * people + (_TAGS if evident else 0.0)
            odds += (
                _NOW
                if place > NEAR
                and times.week_share(reading.when) < _RARE
                and times.time_state(reading.when, facts) == "open"
                else 0.0
            )
            if (people and odds > best) or not best:
                best, named = odds, exact or evident
        sure = round(_logistic(best), 3) if about else 0.0
        known = bool(seen.zone.places) and all(phrase.places for phrase in self._phrases[at])
        left = bool(about) and sure < _SURE and not (known and place <= ELSEWHERE)
        return Match(sure, tuple(about), named, step, left)

    def _sees(self, reading: Reading, seen: _Seen) -> bool:
        """Whether whom an exception is for is seen as such, by the detector; or it is for nobody in particular."""
        own = _classes(seen.word, self._lexicon) or {seen.word}
        table = self._lexicon.table
        wanted = {
            name for who in reading.who for name in (table.groups[who].classes if who in table.groups else (who,))
        }
        return not reading.who or not own.isdisjoint(wanted)

    def _equipped(self, reading: Reading, seen: _Seen) -> bool:
        roles = self._lexicon.table.roles
        return any(who in seen.roles or _tagged(roles[who].tags, seen) for who in reading.who if who in roles)

    def _place(self, at: int, seen: _Seen) -> tuple[float, StepName]:
        phrases = self._phrases[at]
        if not phrases and seen.classes & _HUMAN and not self._anywhere[at]:
            return _SOMEWHERE, "words"  # people are somewhere; what is said of animals may hold everywhere
        if not phrases:
            return (_SOMEWHERE if self._unknown[at] else _NOWHERE), "words"
        share = max(likeness(seen.zone, phrase, self._lexicon) for phrase in phrases)
        if share >= _SETTLED or self._similarity is None or not seen.zone.text:
            return share, "words"
        phrases = tuple(one for one in phrases if side_factor(seen.zone.sides, one.sides) > ELSEWHERE)
        cosine = max((self._similarity(seen.zone.text, phrase.text) for phrase in phrases), default=-1.0)
        guess = _logistic(_SLOPE * (cosine - _MIDDLE))
        unknown = not seen.zone.places or not any(phrase.places for phrase in phrases)
        if not unknown and share < NEAR / 2:
            guess = NEAR if cosine >= _SURE_COSINE else 0.0
        return (guess, "encoder") if guess > share else (share, "words")

    def _people(self, at: int, reading: Reading, seen: _Seen, *, drives: bool) -> tuple[float, bool]:
        """How well what was seen fits whom a half names, 0..1, and whether it names the class itself."""
        if reading.who == (UNREADABLE,) or not (reading.who or self._phrases[at]):
            return 0.0, False  # nobody knows what it is about
        if not reading.who:
            if reading.effect == "allowed" and not drives:
                return _UNNAMED * _anybody(seen, self._lexicon, drives=drives), False
            return _anybody(seen, self._lexicon, drives=drives), False
        several = len(reading.who) > 1 and set(reading.who) <= self._lexicon.vehicles
        if several and seen.classes & self._lexicon.vehicles - set(reading.who):
            return 0.6, False  # cars and lorries: whatever drives
        first = max((self._one(who, seen, drives=drives) for who in reading.who), key=lambda found: found[0])
        if first[0] == 0 or first[0] >= 0.8:  # noqa: PLR2004  # settled
            return first
        return max((first, *((0.85 * fit, exact) for fit, exact in self._with(reading, seen, drives=drives))))

    def _with(self, reading: Reading, seen: _Seen, *, drives: bool) -> list[tuple[float, bool]]:
        roles = self._lexicon.table.roles
        moved = drives or any(who in roles and roles[who].drives for who in reading.who)
        if not moved or not seen.classes & self._lexicon.vehicles:
            return []
        return [self._one(who, seen, drives=drives) for who in reading.with_]

    def _one(self, who: str, seen: _Seen, *, drives: bool) -> tuple[float, bool]:
        """How well a class, group or role of a note fits what was seen, and whether it names its class."""
        table = self._lexicon.table
        if who in seen.classes and who != "person":
            return 1.0, who not in _NOTHING  # what is not there has to be told from other things by its tags
        if who in table.groups:
            fits = not seen.classes.isdisjoint(table.groups[who].classes)
            return (0.95 if fits else 0.0), fits and who != "anything"
        vehicle = not seen.classes.isdisjoint(self._lexicon.vehicles)
        human = not seen.classes.isdisjoint(_HUMAN)
        if who in table.roles:
            return self._trade(who, seen, drives=drives), False
        if who in table.classes and who != "person":
            return _other_class(who, seen), False
        sure = 0.95 if who == "person" else 0.7  # the ending of a word says that it names people
        return (sure if human else 0.0 if not vehicle else 0.6 if drives else 0.3), False

    def _trade(self, who: str, seen: _Seen, *, drives: bool) -> float:
        """How well people of one trade fit: by what they wear and carry, and by what they drive."""
        role = self._lexicon.table.roles[who]
        classes = set(role.classes)
        if seen.classes.isdisjoint(_HUMAN):
            if seen.classes & classes:
                return 0.75
            driven = not seen.classes.isdisjoint(self._lexicon.vehicles)
            return (0.75 if role.drives else 0.7 if drives else 0.2) if driven else 0.0
        fit = 0.75 if "person" in seen.classes else 0.9 if "child" in classes else 0.4
        if who in seen.roles or _tagged(role.tags, seen):
            return fit if seen.suspicious else max(fit, 0.9)
        return fit * (_UNLIKE if self._unlike(who, seen) else 1.0)

    def _unlike(self, role: str, seen: _Seen) -> bool:
        """Whether what somebody carries or wears speaks for other people than these."""
        if seen.suspicious:
            return True
        like = {
            name for name, row in self._lexicon.table.roles.items() if name in seen.roles or _tagged(row.tags, seen)
        }
        return bool(like) and role not in like


def _other_class(who: str, seen: _Seen) -> float:
    """A note about one class and a sight of another: detectors mix some of them up."""
    both = {who, *seen.classes}
    found = next((fit for classes, fit in _MIXED_UP if both <= classes), 0.0)
    return 0.3 if who == "child" and "person" in seen.classes else found


def _seen(facts: Facts, lexicon: Lexicon) -> _Seen:
    label = facts.object.class_
    classes = _classes(label, lexicon) or {label}
    finer = {name for tag in facts.tags for name in _classes(tag, lexicon)}
    for family in ({"person", "child"}, lexicon.vehicles, lexicon.animals):
        if classes & family:
            classes |= finer & family
    if "person" in classes:
        classes |= finer & _RIDDEN  # who rides is told of as a person, and what is ridden as a tag
    units = [unit for tag in facts.tags for unit in lexicon.scan(tag)]
    roles = frozenset(role for unit in units for role in unit.has("role"))
    stems = frozenset((*(unit.stem for unit in units), *facts.tags)) - STOP  # Chinese words have no stem of their own
    suspicious = any(unit.has("suspicious") for unit in units)
    return _Seen(frozenset(classes), label, stems, roles, suspicious, phrase_of(facts.zone, lexicon))


def _classes(text: str, lexicon: Lexicon) -> set[str]:
    """The classes that a word names, if it is one word of the table and nothing else."""
    units = lexicon.scan(text)
    return set(units[0].has("class")) if len(units) == 1 else set()


def _tagged(wanted: Sequence[str], seen: _Seen) -> bool:
    return any(word in seen.tags or word.rstrip("s") in seen.tags for word in wanted)


def _anybody(seen: _Seen, lexicon: Lexicon, *, drives: bool) -> float:
    """A note that names nobody is about people, and less so about what they drive."""
    if seen.classes & {"person", "child"}:
        return 0.6 if drives else 0.85
    if drives and seen.classes & lexicon.vehicles:
        return 0.85
    return 0.45 if seen.classes & lexicon.vehicles else 0.1


def _settled(matches: Sequence[Match]) -> bool:
    return any(match.confidence >= _SURE for match in matches)


def _log_odds(share: float) -> float:
    bounded = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(bounded / (1 - bounded))


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
