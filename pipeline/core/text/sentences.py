"""What a sentence about an incident may be: a grammar made of its facts, of which a language model chooses.

Small models write fluent sentences that are wrong: asked freely, they turn day into night and count visits that nobody
made. So every word that states something is taken from the facts, and the model is left with what it is good at: which
wording, which preposition, what is worth saying.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.incident.rules import spoken_as
from pipeline.core.text import engine
from pipeline.core.text.engine import any_of, at_place, optional
from pipeline.core.text.english import ORDINALS, article, in_words, plain, plural, spoken

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
"""Tags that name what a thing may be rather than what it has with it."""

# fmt: off
_STANDING = {"person": ("stand", "wait", "stay"), "vehicle": ("stand", "wait", "remain"), "animal": ("stand", "stay")}
_MOVING   = {"person": ("walk", "move"),          "vehicle": ("drive", "move"),           "animal": ("move", "wander")}
_HASTING  = {"person": ("run", "hurry"),          "vehicle": ("drive fast", "speed"),     "animal": ("run",)}
# direction  verbs that take the place as it is              prepositions behind a verb of movement
_WAYS = {
    "along":  (("pass",),                                    ("along", "past")),
    "in":     (("enter",),                                   ("into",)),
    "out":    (("leave",),                                   ("out of",)),
    "toward": (("approach",),                                ("toward",)),
    "away":   (("leave",),                                   ("away from",)),
    "none":   ((),                                           ("about at", "about in", "about on", "around")),
}
# fmt: on
_UNCOUNTED = frozenset(("fog", "furniture", "rain", "sea", "smoke", "snow", "water", "wind"))
_A_GROUP = 4  # people from which on they are called a group
_AT = ("at", "in", "on", "by", "near")
_SLOW = ("slow",)
_FAST = ("run", "fast")


def grammar(facts: Facts) -> str:
    """The sentences that are true of an incident, in llguidance's variant of Lark; each begins with a space."""
    return engine.grammar(facts, _PARTS)


def group(label: str) -> str:
    """What verbs suit a thing: person, animal or vehicle."""
    return "person" if label in PEDESTRIANS else "animal" if label in ANIMALS else "vehicle"


def _who(facts: Facts) -> str:
    return any_of(_named(facts))


def _named(facts: Facts) -> list[str]:
    label, count = facts.object.class_, facts.object.count
    if label == "none":
        return ["Movement", "Something that moves"]
    if count <= 1:
        return [f"{article(label).capitalize()} {label}", f"One {label}"]
    several = plural(label)
    number = in_words(count)
    found = [f"{number.capitalize()} {several}"]
    return found if count < _A_GROUP else [*found, f"A group of {number} {several}"]


def _one_of(tag: str) -> str:
    """A tag with its article, where English has one for it."""
    if tag.endswith(("s", "ing")) or tag in _UNCOUNTED or not tag.isascii():
        return tag
    return f"{article(tag.casefold())} {tag}"


def _seen(facts: Facts) -> str:
    """What the picture suggests: another kind of the thing itself, what it does, or what it has with it."""
    own = facts.object.class_ not in PEDESTRIANS  # what a person is seen with is no other kind of person
    tags = [plain(tag) for tag in facts.tags if tag != facts.object.class_]
    seen = [_one_of(tag) if tag.endswith("ing") or (own and tag in KINDS) else f"with {_one_of(tag)}" for tag in tags]
    return optional(f'", perhaps " {any_of(seen)} ","') if seen else ""


def _does_where(facts: Facts) -> str:
    name = plain(facts.zone)
    place = at_place(name, name)
    if facts.object.class_ == "none":
        return f"{any_of([' is seen', ' is noticed'])} {any_of(f' {at}' for at in _AT)} {place}"
    many = facts.object.count > 1
    kind, speed, way = group(facts.object.class_), facts.track.speed, facts.track.direction
    if speed == "still" and way == "none":
        return f"{any_of(_verb(verb, many=many) for verb in _STANDING[kind])} {any_of(f' {at}' for at in _AT)} {place}"
    taking, prepositions = _WAYS[way]
    verbs = [_verb(verb, many=many) for verb in (_HASTING if speed in _FAST else _MOVING)[kind]]
    slowly = '" slowly"?' if speed in _SLOW else ""
    through = f"{any_of(verbs)} {slowly} {any_of(f' {one}' for one in prepositions)} {place}"
    if not taking:
        return through
    return f"({through} | {any_of(_verb(verb, many=many) for verb in taking)} {place})"


def _how_long(facts: Facts) -> str:
    return optional(any_of([f" for {spoken(facts.track.dwell_s)}"])) if facts.track.dwell_s > 1 else ""


def _when(facts: Facts) -> str:
    day, at = facts.weekday, facts.local_time
    found = [f" on {day}", f" at {at}", f" on {day} at {at}"] if at else []
    return optional(any_of([*found, " at night"] if facts.light == "night" else found))


def _visits(facts: Facts) -> str:
    visits = facts.track.visits_last_hour
    if visits <= 1:
        return ""
    counted = ORDINALS[visits] if visits < len(ORDINALS) else f"number {visits}"
    return optional(any_of([f", the {counted} visit within an hour"]))


def rules(facts: Facts) -> list[str]:
    """What a sentence has to say of the rules that were hit; those of others are named by their own words."""
    said = ((rule, spoken_as(rule)) for rule in facts.rules_hit)
    return [f"rule {plain(rule.replace('_', ' '))}" if words is None else words for rule, words in said if words != ""]


def _rules(facts: Facts) -> str:
    said = rules(facts)
    return any_of([", " + _listed(said)]) if said else ""


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _verb(verb: str, *, many: bool) -> str:
    """Present tense of the third person."""
    first, space, rest = verb.partition(" ")
    if not many:
        first += "es" if first.endswith(("s", "ch", "sh")) else "s"
        first = first.removesuffix("ys") + "ies" if first.endswith("rys") else first
    return f" {first}{space}{rest}"


_PARTS: tuple[engine.Part[Facts], ...] = (
    lambda _: '" "', _who, _seen, _does_where, _how_long, _when, _visits, _rules,
)  # fmt: skip
"""What a sentence about an incident may say, in this order."""
