"""Look up words of standing notes: objects, roles, places, sides. The table is config/words.toml.

English is matched by word stems, longest phrases first; Chinese, which has no spaces, by the longest word of the table
at each character. Unknown words name nothing.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from pipeline.core import files
from pipeline.core.decoding import decode_toml
from pipeline.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Kind: TypeAlias = Literal["class", "group", "role", "place", "side", "anywhere", "vehicle", "suspicious"]
_LONGEST = 5  # words of the longest phrase
_LONGEST_CHINESE = 8  # characters
_TOKEN = re.compile(r"[a-z]+(?:['\u2019]s?(?![a-z]))?|\d+|[\u3400-\u9fff]", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_IRREGULAR = {
    "children": "child", "men": "man", "women": "woman", "mice": "mouse", "geese": "goose", "wolves": "wolf",
    "calves": "calf", "oxen": "ox", "buses": "bus", "gases": "gas", "policemen": "policeman", "fishermen": "fisherman",
    "workmen": "workman", "craftsmen": "craftsman", "watchmen": "watchman", "postmen": "postman", "foxes": "fox",
    "taxis": "taxi", "skis": "ski", "feet": "foot", "stairs": "stairs",
}  # fmt: skip
STOP = frozenset(
    (
        *("a", "an", "the", "this", "that", "these", "those", "it", "its", "they", "them", "their", "he", "his", "she"),
        *("her", "we", "our", "us", "you", "your", "i", "my", "me", "who", "which", "what", "there", "here", "then"),
        *("and", "or", "but", "if", "as", "so", "than", "also", "too", "just", "only", "even", "ever", "very", "some"),
        *(
            "of",
            "at",
            "in",
            "on",
            "to",
            "by",
            "for",
            "with",
            "from",
            "into",
            "near",
            "up",
            "down",
            "out",
            "over",
            "off",
        ),
        *(
            "under",
            "until",
            "till",
            "about",
            "around",
            "along",
            "across",
            "through",
            "behind",
            "between",
            "next",
            "past",
        ),
        *("is", "are", "be", "been", "was", "were", "do", "does", "did", "has", "have", "had", "may", "can", "must"),
        *("should", "shall", "will", "would", "could", "might", "not", "no", "any", "all", "every", "each", "when"),
        *("while", "after", "before", "during", "once", "time", "day", "night", "hour", "minute", "week", "one"),
    )
)
"""English words that name nothing by themselves."""


class ClassGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A word for many classes.

    Attributes:
        words: Words in the singular.
        classes: Classes of `[classes]`.
    """

    words: tuple[str, ...]
    classes: tuple[str, ...]


class Role(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A trade or role of people.

    Attributes:
        words: Words in the singular.
        tags: Tags of what they wear or carry.
        classes: Classes that a detector may give them.
        drives: Whether the role also means their vehicle.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] = ()
    classes: tuple[str, ...] = ("person",)
    drives: bool = False


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list of words with one meaning."""

    words: tuple[str, ...]


class WordTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    classes: dict[str, tuple[str, ...]]
    groups: dict[str, ClassGroup]
    roles: dict[str, Role]
    places: dict[str, tuple[str, ...]]
    near: dict[str, tuple[str, ...]]
    sides: dict[str, tuple[str, ...]]
    anywhere: Words
    vehicles: Words
    suspicious: Words
    deeds: Words


class Name(NamedTuple):
    """What a word names."""

    kind: Kind
    name: str


class Unit(NamedTuple):
    """A word or phrase of a text, and everything that it may name; empty if it is unknown."""

    text: str  # as written
    stem: str  # in the singular, in lower case
    start: int  # characters
    end: int
    names: tuple[Name, ...]

    def has(self, kind: Kind) -> tuple[str, ...]:
        """Return the names of one kind."""
        return tuple(name.name for name in self.names if name.kind == kind)


class Lexicon:
    """The indexed word table."""

    def __init__(self, table: WordTable) -> None:
        """Index a table."""
        self.table = table
        self._names: dict[str, list[Name]] = {}
        for name, kind, words in _table_rows(table):
            for word in words:
                self._names.setdefault(_lookup_key(word), []).append(Name(kind, name))
        self._deeds = _any_pattern(table.deeds.words)
        self._near = [frozenset(row) for row in table.near.values()]

    def scan(self, text: str) -> list[Unit]:
        """Split a text into the longest phrases of the table, and into single words elsewhere."""
        return list(_split_units(text, self._names))

    def classes(self, kind: Kind, name: str) -> frozenset[str]:
        """Return the classes that a class, group or role stands for; empty for other kinds."""
        if kind == "class":
            return frozenset((name,))
        if kind == "group":
            return frozenset(self.table.groups[name].classes)
        return frozenset(self.table.roles[name].classes) if kind == "role" else frozenset()

    def remove_deeds(self, text: str) -> str:
        """Return a text without words for ordinary activities."""
        return self._deeds.sub(" ", text)

    def are_near(self, one: str, other: str) -> bool:
        """Tell whether two kinds of place may be confused."""
        return any(one in row and other in row for row in self._near)

    @functools.cached_property
    def vehicles(self) -> frozenset[str]:
        """All classes of vehicles."""
        return frozenset(self.table.groups["vehicle"].classes)

    @functools.cached_property
    def animals(self) -> frozenset[str]:
        """All classes of animals."""
        return frozenset(self.table.groups["animal"].classes)


def load(path: Path) -> Lexicon:
    """Read a table of words.

    Raises:
        ConfigError: It cannot be read, has an unknown key, or a group of unknown classes.
    """
    try:
        table = decode_toml(files.read_bounded(path, files.TEXT, follow=True), WordTable)
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"{path}: no table of words: {error}") from error
    for name, group in table.groups.items():
        for wanted in group.classes:
            if wanted not in table.classes:
                raise ConfigError(f"{path}: groups.{name}.classes: `{wanted}` is not among `[classes]`: add it there")
    for letter, row in table.near.items():
        for wanted in row:
            if wanted not in table.places:
                raise ConfigError(f"{path}: near.{letter}: `{wanted}` is not among `[places]`: add it there")
    return Lexicon(table)


def _any_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Compile a pattern of any of the words, the longest first; Latin words match as whole words."""
    longest = sorted({*words, *(form for word in words for form in _ing_forms(word))}, key=len, reverse=True)
    return re.compile("|".join(word if has_chinese(word) else rf"\b{word}\b" for word in longest), re.IGNORECASE)


def _ing_forms(word: str) -> tuple[str, ...]:
    """Return the possible -ing forms of an English verb: walking, driving, stopping."""
    if has_chinese(word) or " " in word or not word.isalpha():
        return ()
    return (f"{word}ing", f"{word.removesuffix('e')}ing", f"{word}{word[-1]}ing")


def stem(word: str) -> str:
    """Return an English word in lower case and in the singular; other words unchanged."""
    small = _POSSESSIVE.sub("", word.casefold())
    if small in _IRREGULAR:
        return _IRREGULAR[small]
    if len(small) < 4 or not small.endswith("s") or small.endswith(("ss", "us", "is")):  # noqa: PLR2004  # bus, gas
        return small
    if small.endswith("ies"):
        return small[:-3] + "y"
    return small[:-2] if small.endswith(("sses", "xes", "ches", "shes", "zes")) else small[:-1]


def has_chinese(text: str) -> bool:
    """Tell whether a text has a Chinese character."""
    return bool(_CHINESE.search(text))


def _table_rows(table: WordTable) -> Iterator[tuple[str, Kind, tuple[str, ...]]]:
    for name, words in table.classes.items():
        yield name, "class", (name, *words)
    for name, group in table.groups.items():
        yield name, "group", group.words
    for name, role in table.roles.items():
        yield name, "role", role.words
    for name, words in table.places.items():
        yield name, "place", (name, *words)
    for name, words in table.sides.items():
        yield name, "side", words
    yield "anywhere", "anywhere", table.anywhere.words
    yield "vehicle", "vehicle", table.vehicles.words
    yield "suspicious", "suspicious", table.suspicious.words


def _lookup_key(phrase: str) -> str:
    """Return the key of a phrase: only its last word is in the singular, as `cars park` is no car park."""
    tokens = _TOKEN.findall(phrase)
    return " ".join([*(_inner_key(token) for token in tokens[:-1]), *(stem(token) for token in tokens[-1:])])


def _inner_key(token: str) -> str:
    return stem(token) if _POSSESSIVE.search(token) else token.casefold()


def _split_units(text: str, names: dict[str, list[Name]]) -> Iterator[Unit]:
    tokens = list(_TOKEN.finditer(text))
    stems, inner = [stem(token[0]) for token in tokens], [_inner_key(token[0]) for token in tokens]
    at = 0
    while at < len(tokens):
        keys = ((n, " ".join([*inner[at : at + n - 1], stems[at + n - 1]])) for n in _phrase_lengths(stems, at))
        length, key = next(((n, key) for n, key in keys if key in names), (1, stems[at]))
        start = tokens[at].start()
        last = tokens[at + length - 1]
        end = last.start() + len(_POSSESSIVE.sub("", last[0]))
        found = [*names.get(key, ()), *([Name("side", key)] if key.isdecimal() else [])]  # hall 12 is not hall 13
        yield Unit(text[start:end], key, start, end, tuple(dict.fromkeys(found)))
        at += length


def _phrase_lengths(stems: list[str], at: int) -> Iterable[int]:
    longest = _LONGEST_CHINESE if has_chinese(stems[at]) else _LONGEST
    return range(min(longest, len(stems) - at), 0, -1)
