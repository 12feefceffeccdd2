"""Build the grammar of the sentences about one incident, from which a language model chooses one.

Small models write fluent sentences that are wrong: without a grammar they turn day into night and invent visits. So
every word that states a fact is taken from the facts, and the model only chooses the wording, the preposition, and
which optional parts to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.incident.rules import spoken_as
from pipeline.core.text import engine
from pipeline.core.text.engine import any_of, at_place, make_optional
from pipeline.core.text.english import ORDINALS, choose_article, duration_in_words, number_word, one_line, pluralise

if TYPE_CHECKING:
    from pipeline.core.facts import Facts

PEDESTRIANS = ("person", "child")
ANIMALS = ("bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe", "deer", "fox")

KINDS = frozenset(
    (
        *("car", "van", "lorry", "truck", "pickup truck", "minibus", "bus", "jeep", "garbage truck", "fire engine"),
        *("ambulance", "tractor", "harvester", "forklift", "snowplow", "excavator", "train", "tram", "golf cart"),
        *("motorcycle", "scooter", "bicycle", "boat", "sailing boat", "container ship", "aircraft"),
        *("wolf", "fox", "deer", "hare", "rodent", "big cat", "bird of prey", "water bird", "chicken", "pig", "monkey"),
        *("ape", "snake", "lizard", "insect", "spider", *ANIMALS),
    )
)
"""Tags that name a kind of thing, not something that it carries."""

# fmt: off
_STANDING = {"person": ("stand", "wait", "stay"), "vehicle": ("stand", "wait", "remain"), "animal": ("stand", "stay")}
_MOVING   = {"person": ("walk", "move"),          "vehicle": ("drive", "move"),           "animal": ("move", "wander")}
_HURRYING  = {"person": ("run", "hurry"),          "vehicle": ("drive fast", "speed"),     "animal": ("run",)}
# direction  verbs that take the place as it is              prepositions behind a verb of movement
_DIRECTIONS = {
    "along":  (("pass",),                                    ("along", "past")),
    "in":     (("enter",),                                   ("into",)),
    "out":    (("leave",),                                   ("out of",)),
    "toward": (("approach",),                                ("toward",)),
    "away":   (("leave",),                                   ("away from",)),
    "none":   ((),                                           ("about at", "about in", "about on", "around")),
}
# fmt: on
_UNCOUNTED = frozenset(("fog", "furniture", "rain", "sea", "smoke", "snow", "water", "wind"))
_MIN_GROUP = 4  # people; from this number on they may be called a group
_AT = ("at", "in", "on", "by", "near")
_SLOW = ("slow",)
_FAST = ("run", "fast")


def build_grammar(facts: Facts) -> str:
    """Build a grammar, in llguidance's variant of Lark, of all true sentences; each sentence begins with a space."""
    return engine.build_grammar(facts, _PARTS)


def verb_group(label: str) -> str:
    """Return the group of verbs that suits a class: `person`, `animal` or `vehicle`."""
    return "person" if label in PEDESTRIANS else "animal" if label in ANIMALS else "vehicle"


def _subject_part(facts: Facts) -> str:
    return any_of(_subject_phrases(facts))


def _subject_phrases(facts: Facts) -> list[str]:
    label, count = facts.object.class_, facts.object.count
    if label == "none":
        return ["Movement", "Something that moves"]
    if count <= 1:
        return [f"{choose_article(label).capitalize()} {label}", f"One {label}"]
    several = pluralise(label)
    number = number_word(count)
    found = [f"{number.capitalize()} {several}"]
    return found if count < _MIN_GROUP else [*found, f"A group of {number} {several}"]


def _add_article(tag: str) -> str:
    """Put an article before a tag, unless it is a plural, an -ing form or an uncountable noun."""
    if tag.endswith(("s", "ing")) or tag in _UNCOUNTED or not tag.isascii():
        return tag
    return f"{choose_article(tag.casefold())} {tag}"


def _tag_part(facts: Facts) -> str:
    """The part about tags of the picture: another kind of thing, an activity, or something carried."""
    own = facts.object.class_ not in PEDESTRIANS  # a tag of a person names something carried, no other kind of person
    tags = [one_line(tag) for tag in facts.tags if tag != facts.object.class_]
    seen = [
        _add_article(tag) if tag.endswith("ing") or (own and tag in KINDS) else f"with {_add_article(tag)}"
        for tag in tags
    ]
    return make_optional(f'", perhaps " {any_of(seen)} ","') if seen else ""


def _movement_part(facts: Facts) -> str:
    name = one_line(facts.zone)
    place = at_place(name, name)
    if facts.object.class_ == "none":
        return f"{any_of([' is seen', ' is noticed'])} {any_of(f' {at}' for at in _AT)} {place}"
    many = facts.object.count > 1
    kind, speed, way = verb_group(facts.object.class_), facts.track.speed, facts.track.direction
    if speed == "still" and way == "none":
        verbs = [_conjugate(verb, many=many) for verb in _STANDING[kind]]
        return f"{any_of(verbs)} {any_of(f' {at}' for at in _AT)} {place}"
    taking, prepositions = _DIRECTIONS[way]
    verbs = [_conjugate(verb, many=many) for verb in (_HURRYING if speed in _FAST else _MOVING)[kind]]
    slowly = '" slowly"?' if speed in _SLOW else ""
    through = f"{any_of(verbs)} {slowly} {any_of(f' {one}' for one in prepositions)} {place}"
    if not taking:
        return through
    return f"({through} | {any_of(_conjugate(verb, many=many) for verb in taking)} {place})"


def _duration_part(facts: Facts) -> str:
    return make_optional(any_of([f" for {duration_in_words(facts.track.dwell_s)}"])) if facts.track.dwell_s > 1 else ""


def _time_part(facts: Facts) -> str:
    day, at = facts.weekday, facts.local_time
    found = [f" on {day}", f" at {at}", f" on {day} at {at}"] if at else []
    return make_optional(any_of([*found, " at night"] if facts.light == "night" else found))


def _visit_part(facts: Facts) -> str:
    visits = facts.track.visits_last_hour
    if visits <= 1:
        return ""
    counted = ORDINALS[visits] if visits < len(ORDINALS) else f"number {visits}"
    return make_optional(any_of([f", the {counted} visit within an hour"]))


def rule_phrases(facts: Facts) -> list[str]:
    """Return a phrase for each rule that was hit; a rule of another detector is called `rule NAME`."""
    found = ((rule, spoken_as(rule)) for rule in facts.rules_hit)
    return [
        f"rule {one_line(rule.replace('_', ' '))}" if phrase is None else phrase
        for rule, phrase in found
        if phrase != ""
    ]


def _rule_part(facts: Facts) -> str:
    said = rule_phrases(facts)
    return any_of([", " + _join_phrases(said)]) if said else ""


def _join_phrases(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _conjugate(verb: str, *, many: bool) -> str:
    """Put a verb into the present tense, third person, with a leading space."""
    first, space, rest = verb.partition(" ")
    if not many:
        first += "es" if first.endswith(("s", "ch", "sh")) else "s"
        first = first.removesuffix("ys") + "ies" if first.endswith("rys") else first
    return f" {first}{space}{rest}"


_PARTS: tuple[engine.Part[Facts], ...] = (
    lambda _: '" "', _subject_part, _tag_part, _movement_part, _duration_part, _time_part, _visit_part, _rule_part,
)  # fmt: skip
"""The parts of a sentence about an incident, in this order."""
