"""Compare the place names of notes and sites, word by word."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.note.nouns import has_unknown_noun
from pipeline.core.note.time_words.reading import read_times
from pipeline.core.note.words import STOP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.core.note.notes import Note, Reading
    from pipeline.core.note.words import Lexicon, Unit

ELSEWHERE = 0.1  # fit of another place
NEAR = 0.5
CLOSE = 0.6  # from this fit on a place names a zone
_HALF_SIDE, _OTHER_AXIS = 0.85, 0.6  # "the gate" for the main gate; "upper field" for the north field
_HEADS = frozenset(
    ("gate", "door", "entrance", "corridor", "room", "hall", "floor", "building", "yard", "stairs", "wall", "fence",
     "road", "window", "shed", "platform", "tower", "ramp", "lift")
)  # fmt: skip
_VAGUE, _ANOTHER = 0.5, 0.5
"""Weight of words that many zones share, such as door; factor for a place that is more specific than the zone."""
_AXES = (
    frozenset(("north", "south", "east", "west")), frozenset(("main", "rear", "side")), frozenset(("left", "right")),
    frozenset(("upper", "lower")), frozenset(("inner", "outer")), frozenset(("staff", "guest")),
)  # fmt: skip


class PlacePhrase(NamedTuple):
    """A place name, and what its words name."""

    text: str
    places: tuple[frozenset[str], ...]  # for each word all places that it may name
    sides: frozenset[str]
    others: tuple[str, ...]  # words that name nothing


def find_zones(reading: Reading, zones: Sequence[str], lexicon: Lexicon) -> dict[str, tuple[str, ...]]:
    """Return for each place of a reading the zones of a site that it may be, best first; empty for an unknown place."""
    known = [read_place(zone, lexicon) for zone in zones]
    found = {}
    for where in reading.where:
        phrase = read_place(where, lexicon)
        shares = sorted(((-fit_place(zone, phrase, lexicon), zone.text) for zone in known), key=lambda pair: pair[0])
        found[where] = tuple(text for share, text in shares if -share >= CLOSE)
    return found


def find_places(note: Note, lexicon: Lexicon) -> tuple[PlacePhrase, ...]:
    """Return the places that a note names, each once."""
    written = dict.fromkeys(where for reading in note.readings for where in reading.where)
    return tuple(read_place(where, lexicon) for where in written)


def holds_anywhere(note: Note, lexicon: Lexicon) -> bool:
    """Tell whether a note says that it holds anywhere."""
    return any(unit.has("anywhere") for unit in lexicon.scan(note.text))


def has_unknown_place(note: Note, lexicon: Lexicon) -> bool:
    """Tell whether a note has unknown nouns, one of which may be a place."""
    rest = read_times(note.text).rest
    return not holds_anywhere(note, lexicon) and has_unknown_noun(rest, lexicon)


def read_place(text: str, lexicon: Lexicon) -> PlacePhrase:
    """Read a place name; a word that may be a side or a place counts as the place."""
    units = lexicon.scan(text)
    places = tuple(frozenset(unit.has("place")) for unit in units if unit.has("place"))
    sides = frozenset(side for unit in units for side in unit.has("side") if not unit.has("place"))
    return PlacePhrase(text, places, sides | _implied_sides(units), _unknown_words(units))


def _implied_sides(units: list[Unit]) -> frozenset[str]:
    """Return the sides that names of places imply, such as main in main gate."""
    named = {name for unit in units for name in unit.has("place")}
    found = {"main": "main gate", "rear": "rear gate", "side": "side door"}
    return frozenset(side for side, place in found.items() if place in named)


def _unknown_words(units: list[Unit]) -> tuple[str, ...]:
    """Return the words that name nothing; adjacent Chinese characters are one word."""
    found: list[str] = []
    end = -1
    for unit in units:
        if not unit.names and unit.stem not in STOP:
            joins = bool(found) and unit.start == end and not unit.text.isascii()
            found[-1:] = [found[-1] + unit.stem] if joins else [*found[-1:], unit.stem]
            end = unit.end
    return tuple(found)


def _fit_word(word: str, phrase: PlacePhrase) -> float:
    if word in phrase.others:
        return 1.0
    return 0.0 if word.isascii() else sum(letter in phrase.text for letter in word) / len(word)


def fit_place(zone: PlacePhrase, phrase: PlacePhrase, lexicon: Lexicon) -> float:
    """Return how well a place name of a note fits a zone, 0..1."""
    if zone.text and zone.text.casefold() == phrase.text.casefold():
        return 1.0
    parts = [_fit_place_name(names, phrase, lexicon) for names in zone.places]
    parts += [_fit_word(word, phrase) for word in zone.others]
    if not parts:
        return 0.0
    weights = [_VAGUE if names & _HEADS else 1.0 for names in zone.places] + [1.0] * len(zone.others)
    share = sum(part * weight for part, weight in zip(parts, weights, strict=True)) / sum(weights)
    if zone.places and not any(parts[: len(zone.places)]):
        share = min(share, ELSEWHERE if phrase.places else 0.3)
    return (
        share * side_factor(zone.sides, phrase.sides) * (_ANOTHER if _is_more_specific(zone, phrase, lexicon) else 1.0)
    )


def _is_more_specific(zone: PlacePhrase, phrase: PlacePhrase, lexicon: Lexicon) -> bool:
    """Tell whether a place name has a specific word that the zone has not: `dormitory gate` for the main gate."""
    exact = [names for names in phrase.places if not names & _HEADS]
    own = zone._replace(places=tuple(exact))
    return bool(exact and zone.places) and not any(_fit_place_name(names, own, lexicon) for names in zone.places)


def _fit_place_name(names: frozenset[str], phrase: PlacePhrase, lexicon: Lexicon) -> float:
    if any(names & other for other in phrase.places):
        return 1.0
    near = any(lexicon.are_near(one, another) for one in names for other in phrase.places for another in other)
    return NEAR if near else 0.0


def side_factor(zone: frozenset[str], phrase: frozenset[str]) -> float:
    """Return a factor for the sides of two names: low if they are different sides of one kind."""
    if zone == phrase or zone & phrase:
        return 1.0
    if not zone or not phrase:
        return _HALF_SIDE
    numbered = any(map(str.isdecimal, zone)) and any(map(str.isdecimal, phrase))
    apart = numbered or any(zone & axis and phrase & axis for axis in _AXES)
    return ELSEWHERE if apart else _OTHER_AXIS
