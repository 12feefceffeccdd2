"""Places as notes and sites call them, word by word: how far two names are of one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.note.nouns import has_unknown_noun
from pipeline.core.note.time_words.reading import read_times
from pipeline.core.note.words import STOP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.core.note.notes import Note, Reading
    from pipeline.core.note.words import Lexicon, Unit

ELSEWHERE = 0.1  # it names another place
NEAR = 0.5
CLOSE = 0.6  # a zone is named by a place from so much likeness on
_HALF_SIDE, _OTHER_AXIS = 0.85, 0.6  # "the gate" for the main gate; "upper field" for the north field
_HEADS = frozenset(
    ("gate", "door", "entrance", "corridor", "room", "hall", "floor", "building", "yard", "stairs", "wall", "fence",
     "road", "window", "shed", "platform", "tower", "ramp", "lift")
)  # fmt: skip
_VAGUE, _ANOTHER = 0.5, 0.5
"""In a zone of two words, such as canteen door, the one that many zones share says less."""
_AXES = (
    frozenset(("north", "south", "east", "west")), frozenset(("main", "rear", "side")), frozenset(("left", "right")),
    frozenset(("upper", "lower")), frozenset(("inner", "outer")), frozenset(("staff", "guest")),
)  # fmt: skip


class PlacePhrase(NamedTuple):
    """A place as written, and what its words name."""

    text: str
    places: tuple[frozenset[str], ...]  # a set a word: all that it may name
    sides: frozenset[str]
    others: tuple[str, ...]  # words that name nothing


def zones_of(reading: Reading, zones: Sequence[str], lexicon: Lexicon) -> dict[str, tuple[str, ...]]:
    """Say of each place of a reading which zones of a site it may be, best first; none: nobody knows the place."""
    known = [phrase_of(zone, lexicon) for zone in zones]
    found = {}
    for where in reading.where:
        phrase = phrase_of(where, lexicon)
        shares = sorted(((-likeness(zone, phrase, lexicon), zone.text) for zone in known), key=lambda pair: pair[0])
        found[where] = tuple(text for share, text in shares if -share >= CLOSE)
    return found


def places_of(note: Note, lexicon: Lexicon) -> tuple[PlacePhrase, ...]:
    """Return the places that a note names, each once."""
    written = dict.fromkeys(where for reading in note.readings for where in reading.where)
    return tuple(phrase_of(where, lexicon) for where in written)


def everywhere(note: Note, lexicon: Lexicon) -> bool:
    """Whether a note says that it holds anywhere."""
    return any(unit.has("anywhere") for unit in lexicon.scan(note.text))


def has_leftover(note: Note, lexicon: Lexicon) -> bool:
    """Whether a note has nouns that name nothing, one of which may be a place."""
    rest = read_times(note.text).rest
    return not everywhere(note, lexicon) and has_unknown_noun(rest, lexicon)


def phrase_of(text: str, lexicon: Lexicon) -> PlacePhrase:
    """Read a place; a word that is a side as well as a place counts as the place where it stands alone."""
    units = lexicon.scan(text)
    places = tuple(frozenset(unit.has("place")) for unit in units if unit.has("place"))
    sides = frozenset(side for unit in units for side in unit.has("side") if not unit.has("place"))
    return PlacePhrase(text, places, sides | _hidden_sides(units), _others(units))


def _hidden_sides(units: list[Unit]) -> frozenset[str]:
    """The main gate is a place of its own, and still on one side."""
    named = {name for unit in units for name in unit.has("place")}
    found = {"main": "main gate", "rear": "rear gate", "side": "side door"}
    return frozenset(side for side, place in found.items() if place in named)


def _others(units: list[Unit]) -> tuple[str, ...]:
    """Words that name nothing; Chinese characters that stand together are one word."""
    found: list[str] = []
    end = -1
    for unit in units:
        if not unit.names and unit.stem not in STOP:
            joins = bool(found) and unit.start == end and not unit.text.isascii()
            found[-1:] = [found[-1] + unit.stem] if joins else [*found[-1:], unit.stem]
            end = unit.end
    return tuple(found)


def _same_word(word: str, phrase: PlacePhrase) -> float:
    if word in phrase.others:
        return 1.0
    return 0.0 if word.isascii() else sum(letter in phrase.text for letter in word) / len(word)


def likeness(zone: PlacePhrase, phrase: PlacePhrase, lexicon: Lexicon) -> float:
    """How far the words of a note's place are those of a zone, 0..1."""
    if zone.text and zone.text.casefold() == phrase.text.casefold():
        return 1.0
    parts = [_one_place(names, phrase, lexicon) for names in zone.places]
    parts += [_same_word(word, phrase) for word in zone.others]
    if not parts:
        return 0.0
    weights = [_VAGUE if names & _HEADS else 1.0 for names in zone.places] + [1.0] * len(zone.others)
    share = sum(part * weight for part, weight in zip(parts, weights, strict=True)) / sum(weights)
    if zone.places and not any(parts[: len(zone.places)]):
        share = min(share, ELSEWHERE if phrase.places else 0.3)
    return share * side_factor(zone.sides, phrase.sides) * (_ANOTHER if _more_exact(zone, phrase, lexicon) else 1.0)


def _more_exact(zone: PlacePhrase, phrase: PlacePhrase, lexicon: Lexicon) -> bool:
    """Whether a note tells its place apart by a word that the zone has not: the dormitory's gate, not the main gate."""
    exact = [names for names in phrase.places if not names & _HEADS]
    own = zone._replace(places=tuple(exact))
    return bool(exact and zone.places) and not any(_one_place(names, own, lexicon) for names in zone.places)


def _one_place(names: frozenset[str], phrase: PlacePhrase, lexicon: Lexicon) -> float:
    if any(names & other for other in phrase.places):
        return 1.0
    near = any(lexicon.are_near(one, another) for one in names for other in phrase.places for another in other)
    return NEAR if near else 0.0


def side_factor(zone: frozenset[str], phrase: frozenset[str]) -> float:
    """Two places of one kind on different sides are two places."""
    if zone == phrase or zone & phrase:
        return 1.0
    if not zone or not phrase:
        return _HALF_SIDE
    numbered = any(map(str.isdecimal, zone)) and any(map(str.isdecimal, phrase))
    apart = numbered or any(zone & axis and phrase & axis for axis in _AXES)
    return ELSEWHERE if apart else _OTHER_AXIS
