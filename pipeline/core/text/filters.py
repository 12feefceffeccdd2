"""Find forbidden words in sentences, and instructions to machines in texts of a scene; lists: config/filters.toml.

To defeat a list, people write letters that only look alike. So texts are normalised before they are compared: NFKC and
lower case, no marks and no zero-width characters, Latin letters instead of similar ones of other alphabets, and
letters instead of digits that stand for them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, normalize

import msgspec
import regex

from pipeline.core import files
from pipeline.core.decoding import decode_toml
from pipeline.core.errors import ConfigError
from pipeline.core.printing import make_printable
from pipeline.core.text.english import one_line, pluralise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipeline.core.facts import Facts

_SLOW_S = 0.05  # for one pattern in one text of a few hundred letters; the lists that come with us take 0.0002
_HARD_TEXTS = (
    "a " * 150,
    "a" * 300,
    "0" * 300,
    "-" * 300,
    " " * 300,
    "中" * 300,
)  # inputs on which bad patterns backtrack
_BLANK = " ʘ "  # replaces a name; a letter, so that the words on its two sides form no phrase
_MIN_SPACED = 8  # letters; longer phrases are also found with anything but letters in between
_SEPARATOR = r"[\W_]*"
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_INVISIBLE = ("Mn", "Me", "Cf", "Cc")  # Unicode categories: no width, or a mark on another letter

# fmt: off
_LOOKALIKES = {  # similar letters of other alphabets and of ours; unicode.org/reports/tr39 has many more
    "a": "АаΑαɑ", "b": "ВвЬьΒβ", "c": "СсϹϲƈ", "d": "ԁđɖ", "e": "ЕеΕεҽɛ", "f": "ƒ", "g": "ɡɢԍ", "h": "НнҺһΗ",
    "i": "ІіΙιıɪӏ", "j": "Јјʝ", "k": "КкΚκ", "l": "ӀłƖɩʟ", "m": "МмΜ", "n": "ΝηпПɴ", "o": "ОоΟοօøσ", "p": "РрΡρ",
    "q": "ԛ", "r": "гʀ", "s": "Ѕѕꜱ", "t": "ТтΤτ", "u": "υսᴜ", "v": "νѵᴠ", "w": "ԝωᴡ", "x": "ХхΧχ",
    "y": "УуҮүΥγʏ", "z": "Ζζᴢ",
}
_STANDS_FOR = {"a": "4@", "b": "8", "e": "3", "g": "9", "i": "1l|", "l": "1i|", "o": "0", "s": "5$", "t": "7+"}
# fmt: on
_LATIN = str.maketrans({other: letter for letter, others in _LOOKALIKES.items() for other in others})
_LETTERS = str.maketrans("01345@$", "oieasas")


class FilterList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list of config/filters.toml, which explains the keys."""

    name: str
    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    raw: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    output: tuple[FilterList, ...] = ()
    scene: tuple[FilterList, ...] = ()


class _CompiledList(NamedTuple):
    """A list with its words and patterns compiled."""

    name: str
    words: tuple[re.Pattern[str], ...]
    patterns: tuple[regex.Pattern[str], ...]
    raw: bool

    def matches(self, text: str, normalised: str) -> bool:
        """Tell whether a word or pattern is in a text; `normalised` is the text after `normalise_looks`.

        A pattern that takes too long counts as found, as the text could not be checked.
        """
        seen = (text,) if self.raw else (normalised, normalised.translate(_LETTERS))
        try:
            return any(word.search(normalised) for word in self.words) or any(
                pattern.search(one, timeout=_SLOW_S) for pattern in self.patterns for one in seen
            )
        except TimeoutError:
            return True


class Filters:
    """The compiled lists of a file.

    Args:
        output: Lists of what no sentence may say.
        scene: Lists of what only instructions to machines say.
    """

    def __init__(self, output: Iterable[FilterList] = (), scene: Iterable[FilterList] = ()) -> None:
        self._output = tuple(map(_compile_list, output))
        self._scene = tuple(map(_compile_list, scene))

    def match_output(self, sentence: str, names: Iterable[str]) -> str:
        """Return the name of the first list that forbids a sentence; empty if none does.

        Args:
            sentence: The sentence of a model.
            names: Names in the facts, which are always allowed.
        """
        return _find_list(self._output, remove_names(sentence, names))

    def match_scene(self, seen: Iterable[str]) -> str:
        """Return the name of the first list that finds an instruction to machines in texts of a scene; empty if none.

        A sentence may be spread over several signs or lines, so the joined texts are checked too.
        """
        texts = list(seen)
        return next((name for text in (*texts, "\n".join(texts)) if (name := _find_list(self._scene, text))), "")


def load(path: Path) -> Filters:
    """Read and compile the lists of a file.

    Raises:
        ConfigError: The file cannot be read, has an unknown key, or a pattern that is invalid or matches everything.
    """
    try:
        file = decode_toml(files.read_bounded(path, files.TEXT, follow=True), _File)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{path}: {error}; `config/filters.toml` shows every key") from error
    if problems := [*_find_problems("output", file.output), *_find_problems("scene", file.scene)]:
        raise ConfigError("\n".join(f"{path}: {make_printable(problem)}" for problem in problems))
    return Filters(file.output, file.scene)


def normalise_looks(text: str) -> str:
    """Map characters that look alike to the same lower-case Latin letter; idempotent."""
    bare = (letter for letter in normalize("NFKD", text) if letter in "\n\t" or category(letter) not in _INVISIBLE)
    return normalize("NFKC", "".join(bare).translate(_LATIN).casefold().translate(_LATIN))


def remove_names(sentence: str, names: Iterable[str]) -> str:
    """Return a sentence with each name replaced by a blank."""
    for name in sorted({one_line(name) for name in names} - {""}, key=len, reverse=True):
        sentence = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", _BLANK, sentence, flags=re.IGNORECASE)
    return sentence


def names_in_facts(facts: Facts) -> tuple[str, ...]:
    """Return all names in the facts of an incident: zone, camera, class, tags and rules."""
    thing = facts.object.class_
    rules = (rule.replace("_", " ") for rule in facts.rules_hit)
    return facts.zone, facts.camera, thing, pluralise(thing), *facts.tags, *rules


def _find_list(finders: tuple[_CompiledList, ...], text: str) -> str:
    seen = normalise_looks(text)
    return next((finder.name for finder in finders if finder.matches(text, seen)), "")


def _compile_list(words: FilterList) -> _CompiledList:
    patterns = tuple(regex.compile(pattern, regex.DOTALL) for pattern in words.patterns)
    return _CompiledList(words.name, tuple(map(_compile_word, words.words)), patterns, words.raw)


def _compile_word(text: str) -> re.Pattern[str]:
    """Compile a word or phrase to a pattern for normalised texts; a `*` at its end allows any ending."""
    begun = text.endswith("*")
    phrase = normalise_looks(text.removesuffix("*")).split()
    if _CHINESE.search(text):
        return re.compile(_SEPARATOR.join(re.escape(letter) for part in phrase for letter in part))
    if sum(map(len, phrase)) >= _MIN_SPACED:
        inside = _SEPARATOR.join(_letter_pattern(letter) for part in phrase for letter in part)
    else:
        inside = r"[\W_]+".join("".join(map(_letter_pattern, part)) for part in phrase)
    return re.compile(rf"(?<![^\W_]){inside}" + ("" if begun else r"(?![^\W_])"))


def _letter_pattern(letter: str) -> str:
    return f"[{re.escape(letter + _STANDS_FOR[letter])}]" if letter in _STANDS_FOR else re.escape(letter)


def _find_problems(table: str, lists: tuple[FilterList, ...]) -> Iterator[str]:
    for at, one in enumerate(lists):
        where = f"{table} `{one.name}`"
        if not one.name.strip() or any(one.name == other.name for other in lists[:at]):
            yield f"{where}: give each list a name of its own, as events name the one that spoke"
        if any(not normalise_looks(word.removesuffix("*")).strip() for word in one.words):
            yield f"{where}: a word without letters finds everything: leave it out"
        for pattern in one.patterns:
            if problem := _find_pattern_problem(pattern):
                yield f"{where}: `{pattern:.60}` {problem}"


def _find_pattern_problem(pattern: str) -> str:
    """Return what is wrong with a pattern, in English; empty if nothing is."""
    try:
        made = regex.compile(pattern, regex.DOTALL)
        if made.search(""):
            return "finds everything, as it fits an empty text"
        for text in _HARD_TEXTS:
            made.search(text, timeout=_SLOW_S)
    except regex.error as error:
        return f"is no regular expression: {error}"
    except (RecursionError, OverflowError, MemoryError):
        return "is too deep or too long for a regular expression: write several"
    except TimeoutError:
        return "takes too long where it finds nothing: repeat no group that itself repeats, as in (a+)+"
    return ""
