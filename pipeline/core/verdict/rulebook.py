"""The vocabulary of verdicts and the rules that decide from facts: config/incidents.toml, or a site's own file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from pipeline.core import files
from pipeline.core.decoding import decode_toml
from pipeline.core.errors import ConfigError
from pipeline.core.printing import make_printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.core.facts import Facts

Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Span: TypeAlias = tuple[float, float]  # lowest and highest value, both included
_DARK = ("night",)


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base: a table of the file; an unknown key is an error."""


class VerdictWords(_Row, frozen=True):
    """The vocabulary of verdicts; severities and actions from quiet to loud."""

    situation: tuple[str, ...]
    expected: tuple[str, ...]
    severity: tuple[str, ...]
    action: tuple[str, ...]


class VerdictLimits(_Row, frozen=True, kw_only=True):
    """Confidence to silence and to raise, 0..1, and the index of the first action that notifies somebody."""

    silence: Share
    raise_: Annotated[float, Meta(ge=0, le=1)] = msgspec.field(name="raise")
    speak: Annotated[int, Meta(ge=1, le=9)]


class Condition(_Row, frozen=True, omit_defaults=True):
    """The conditions of a rule, which must all hold; config/incidents.toml explains each key."""

    class_: tuple[str, ...] | None = msgspec.field(name="class", default=None)
    hits: tuple[str, ...] | None = None
    hits_beyond: tuple[str, ...] | None = None
    light: tuple[str, ...] | None = None
    direction: tuple[str, ...] | None = None
    speed: tuple[str, ...] | None = None
    weekday: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    late: bool | None = None
    dwell_s: Span | None = None
    count: Span | None = None
    visits: Span | None = None
    likelihood: Span | None = None


class Slots(_Row, frozen=True):
    """A verdict without its reason."""

    situation: str
    expected: str
    severity: str
    action: str


class NoteChange(_Row, frozen=True):
    """What a note sets."""

    expected: str
    severity: str
    action: str


class VerdictRule(_Row, frozen=True, kw_only=True):
    """A row of the table; `other_detectors`: its conditions come only from detectors of others."""

    name: str
    if_: Condition = msgspec.field(name="if", default=Condition())
    then: Slots
    firm: bool = False
    other_detectors: bool = False


class NoteEffect(_Row, frozen=True):
    """How a note changes the verdict of the rules."""

    then: NoteChange
    situations: dict[str, str] = {}


class Effects(_Row, frozen=True):
    """The change for each thing that a note can say."""

    allowed: NoteEffect
    forbidden: NoteEffect
    over: NoteEffect


class Rulebook(_Row, frozen=True):
    """The whole file."""

    words: VerdictWords
    limits: VerdictLimits
    classes: dict[str, tuple[str, ...]]
    rule: tuple[VerdictRule, ...]
    notes: Effects

    def is_loud(self, action: str) -> bool:
        """Tell whether an action notifies somebody."""
        return self.words.action.index(action) >= self.limits.speak

    def decide(self, facts: Facts) -> VerdictRule:
        """Return the first rule that fits; the last one always fits."""
        return next(rule for rule in self.rule if fits(rule.if_, facts, self.classes))


def fits(condition: Condition, facts: Facts, classes: dict[str, tuple[str, ...]]) -> bool:
    """Tell whether all conditions hold for an incident."""
    late = "after_hours" in facts.rules_hit or facts.light in _DARK
    hit = frozenset(facts.rules_hit)
    seen = " ".join(facts.tags).casefold()
    among = ((condition.light, facts.light), (condition.direction, facts.track.direction),
             (condition.speed, facts.track.speed), (condition.weekday, facts.weekday))  # fmt: skip
    spans = ((condition.dwell_s, facts.track.dwell_s), (condition.count, facts.object.count),
             (condition.visits, facts.track.visits_last_hour),
             (condition.likelihood, facts.object.likelihood))  # fmt: skip
    return (
        (condition.class_ is None or facts.object.class_ in _expand_classes(condition.class_, classes))
        and (condition.hits is None or not hit.isdisjoint(condition.hits))
        and (condition.hits_beyond is None or bool(hit - set(condition.hits_beyond)))
        and (condition.tags is None or any(word.casefold() in seen for word in condition.tags))
        and (condition.late is None or condition.late == late)
        and all(wanted is None or value in wanted for wanted, value in among)
        and all(span is None or span[0] <= value <= span[1] for span, value in spans)
    )


def _expand_classes(names: tuple[str, ...], classes: dict[str, tuple[str, ...]]) -> set[str]:
    return {member for name in names for member in (name, *classes.get(name, ()))}


def load(path: Path) -> Rulebook:
    """Read a rule table.

    Raises:
        ConfigError: The file cannot be read, has an unknown key or word, or a rule that never decides.
    """
    try:
        book = decode_toml(files.read_bounded(path, files.TEXT, follow=True), Rulebook)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{path}: {error}; `config/incidents.toml` shows every key") from error
    problems = list(_find_problems(book))
    if problems:
        raise ConfigError("\n".join(f"{path}: {make_printable(problem)}" for problem in problems))
    return book


def _find_problems(book: Rulebook) -> Iterator[str]:
    if not book.rule:
        yield "rule: the table has no rule: add one without `if` that says what to do else"
        return
    yield from _find_unknown_words(book)
    yield from _find_unreachable(book)
    if book.limits.speak >= len(book.words.action):
        yield f"limits.speak: there are {len(book.words.action)} actions, counted from 0: no verdict would speak up"
    if book.limits.raise_ > book.limits.silence:
        yield "limits.raise: is above limits.silence: silencing an alarm must never need less than raising one"
    if _given_conditions(book.rule[-1].if_):
        yield f"rule `{book.rule[-1].name}`: the last rule must fit everything: add one without `if`"


def _find_unknown_words(book: Rulebook) -> Iterator[str]:
    words = {slot: getattr(book.words, slot) for slot in Slots.__struct_fields__}
    rows: list[tuple[str, Any]] = [(f"rule `{rule.name}`: then", rule.then) for rule in book.rule]
    rows += [(f"notes.{name}.then", getattr(book.notes, name).then) for name in Effects.__struct_fields__]
    for where, row in rows:
        for slot in row.__struct_fields__:
            if getattr(row, slot) not in words[slot]:
                yield f"{where}.{slot}: `{getattr(row, slot)}` is no {slot}: known are {', '.join(words[slot])}"
    for name in Effects.__struct_fields__:
        for pair in getattr(book.notes, name).situations.items():
            for word in pair:
                if word not in book.words.situation:
                    known = ", ".join(book.words.situation)
                    yield f"notes.{name}.situations: `{word}` is no situation: known are {known}"


def _find_unreachable(book: Rulebook) -> Iterator[str]:
    """Yield problems of rules that never decide, as an earlier rule fits everything that they fit."""
    for at, rule in enumerate(book.rule):
        if any(rule.name == earlier.name for earlier in book.rule[:at]):
            yield f"rule `{rule.name}`: there are two of this name: rename one, as verdicts name the rule that decided"
        for span in ("dwell_s", "count", "visits", "likelihood"):
            limits = getattr(rule.if_, span)
            if limits and limits[0] > limits[1]:
                yield f"rule `{rule.name}`: if.{span}: {limits[0]:g} is above {limits[1]:g}: nothing fits"
        for earlier in book.rule[:at]:
            if _is_narrower(rule.if_, earlier.if_, book.classes):
                yield f"rule `{rule.name}`: never reached, `{earlier.name}` before it fits all that it fits: move it up"
                break


def _given_conditions(condition: Condition) -> dict[str, Any]:
    found = {name: getattr(condition, name) for name in Condition.__struct_fields__}
    return {name: value for name, value in found.items() if value is not None}


def _is_narrower(one: Condition, other: Condition, classes: dict[str, tuple[str, ...]]) -> bool:
    """Tell whether everything that fits `one` also fits `other`, as far as the keys show."""
    own = _given_conditions(one)
    return all(
        key in own and _is_inside(key, own[key], wide, classes) for key, wide in _given_conditions(other).items()
    )


def _is_inside(key: str, narrow: Any, wide: Any, classes: dict[str, tuple[str, ...]]) -> bool:
    if key == "late":
        return bool(narrow == wide)
    if key == "class_":
        return _expand_classes(narrow, classes) <= _expand_classes(wide, classes)
    if key in ("dwell_s", "count", "visits", "likelihood"):
        return bool(wide[0] <= narrow[0] and narrow[1] <= wide[1])
    if key == "hits_beyond":
        return set(wide) <= set(narrow)
    return set(narrow) <= set(wide)
