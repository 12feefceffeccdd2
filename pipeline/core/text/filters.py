"""What no sentence may say, and which text in the scene talks to machines. The lists are config/filters.toml.

Whoever wants to get past a list writes letters that only look right. So text is compared as it looks: in NFKC and lower
case, without marks and zero-width letters, with Latin letters for those of other alphabets that look like them, and
with digits that stand for letters taken for these.
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
from pipeline.core.printing import printable
from pipeline.core.text.english import plain, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipeline.core.facts import Facts

_SLOW_S = 0.05  # for one pattern in one text of a few hundred letters; the lists that come with us take 0.0002
_HARD = ("a " * 150, "a" * 300, "0" * 300, "-" * 300, " " * 300, "中" * 300)  # what slow patterns try over and over
_BLANK = " ʘ "  # stands where a name was: a letter, so that words on both sides of it make no phrase
_SPELT_OUT = 8  # letters from which on a phrase is found whatever stands between its letters
_BETWEEN = r"[\W_]*"
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_UNSEEN = ("Mn", "Me", "Cf", "Cc")  # categories of what has no width or sits on another letter

# fmt: off
_ALIKE = {  # letters of other alphabets, and of ours, that look like these; unicode.org/reports/tr39 has many more
    "a": "АаΑαɑ", "b": "ВвЬьΒβ", "c": "СсϹϲƈ", "d": "ԁđɖ", "e": "ЕеΕεҽɛ", "f": "ƒ", "g": "ɡɢԍ", "h": "НнҺһΗ",
    "i": "ІіΙιıɪӏ", "j": "Јјʝ", "k": "КкΚκ", "l": "ӀłƖɩʟ", "m": "МмΜ", "n": "ΝηпПɴ", "o": "ОоΟοօøσ", "p": "РрΡρ",
    "q": "ԛ", "r": "гʀ", "s": "Ѕѕꜱ", "t": "ТтΤτ", "u": "υսᴜ", "v": "νѵᴠ", "w": "ԝωᴡ", "x": "ХхΧχ",
    "y": "УуҮүΥγʏ", "z": "Ζζᴢ",
}
_STANDS_FOR = {"a": "4@", "b": "8", "e": "3", "g": "9", "i": "1l|", "l": "1i|", "o": "0", "s": "5$", "t": "7+"}
# fmt: on
_LATIN = str.maketrans({other: letter for letter, others in _ALIKE.items() for other in others})
_LETTERS = str.maketrans("01345@$", "oieasas")


class FilterList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list of the file; see there."""

    name: str
    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    raw: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    output: tuple[FilterList, ...] = ()
    scene: tuple[FilterList, ...] = ()


class _Finder(NamedTuple):
    """A list made ready."""

    name: str
    words: tuple[re.Pattern[str], ...]
    patterns: tuple[regex.Pattern[str], ...]
    raw: bool

    def finds(self, text: str, looks: str) -> bool:
        """Whether something of it is in a text; `looks`: the same as it looks.

        A pattern that takes too long counts as one that finds: what nobody could look through is not let pass.
        """
        seen = (text,) if self.raw else (looks, looks.translate(_LETTERS))
        try:
            return any(word.search(looks) for word in self.words) or any(
                pattern.search(one, timeout=_SLOW_S) for pattern in self.patterns for one in seen
            )
        except TimeoutError:
            return True


class Filters:
    """The lists of a file, ready to look through texts.

    Args:
        output: What no sentence may say.
        scene: What talks to machines.
    """

    def __init__(self, output: Iterable[FilterList] = (), scene: Iterable[FilterList] = ()) -> None:
        self._output = tuple(map(_finder, output))
        self._scene = tuple(map(_finder, scene))

    def held(self, sentence: str, names: Iterable[str]) -> str:
        """Which list holds a sentence back; empty: none.

        Args:
            sentence: As a model wrote it.
            names: What the facts call things: it may be said, whatever it is.
        """
        return _found(self._output, without(sentence, names))

    def suspects(self, seen: Iterable[str]) -> str:
        """Which list takes texts seen in a scene for something said to a machine; empty: none.

        A sentence may be spread over several signs or lines, so they are looked at together too.
        """
        texts = list(seen)
        return next((name for text in (*texts, "\n".join(texts)) if (name := _found(self._scene, text))), "")


def load(path: Path) -> Filters:
    """Read the lists.

    Raises:
        ConfigError: The file cannot be read, has an unknown key, or a pattern that is none or finds everything.
    """
    try:
        file = decode_toml(files.read_bounded(path, files.TEXT, follow=True), _File)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{path}: {error}; `config/filters.toml` shows every key") from error
    if problems := [*_problems("output", file.output), *_problems("scene", file.scene)]:
        raise ConfigError("\n".join(f"{path}: {printable(problem)}" for problem in problems))
    return Filters(file.output, file.scene)


def looks(text: str) -> str:
    """A text as it looks to who reads it, whatever it is made of; it stays so when it is done again."""
    bare = (letter for letter in normalize("NFKD", text) if letter in "\n\t" or category(letter) not in _UNSEEN)
    return normalize("NFKC", "".join(bare).translate(_LATIN).casefold().translate(_LATIN))


def without(sentence: str, names: Iterable[str]) -> str:
    """A sentence without the names in it."""
    for name in sorted({plain(name) for name in names} - {""}, key=len, reverse=True):
        sentence = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", _BLANK, sentence, flags=re.IGNORECASE)
    return sentence


def names(facts: Facts) -> tuple[str, ...]:
    """What the facts of an incident call things: words of the operator, of the detector and of the tables."""
    thing = facts.object.class_
    rules = (rule.replace("_", " ") for rule in facts.rules_hit)
    return facts.zone, facts.camera, thing, plural(thing), *facts.tags, *rules


def _found(finders: tuple[_Finder, ...], text: str) -> str:
    seen = looks(text)
    return next((finder.name for finder in finders if finder.finds(text, seen)), "")


def _finder(words: FilterList) -> _Finder:
    patterns = tuple(regex.compile(pattern, regex.DOTALL) for pattern in words.patterns)
    return _Finder(words.name, tuple(map(_word, words.words)), patterns, words.raw)


def _word(text: str) -> re.Pattern[str]:
    """A word or phrase as a pattern for texts as they look."""
    begun = text.endswith("*")
    phrase = looks(text.removesuffix("*")).split()
    if _CHINESE.search(text):
        return re.compile(_BETWEEN.join(re.escape(letter) for part in phrase for letter in part))
    if sum(map(len, phrase)) >= _SPELT_OUT:
        inside = _BETWEEN.join(_letter(letter) for part in phrase for letter in part)
    else:
        inside = r"[\W_]+".join("".join(map(_letter, part)) for part in phrase)
    return re.compile(rf"(?<![^\W_]){inside}" + ("" if begun else r"(?![^\W_])"))


def _letter(letter: str) -> str:
    return f"[{re.escape(letter + _STANDS_FOR[letter])}]" if letter in _STANDS_FOR else re.escape(letter)


def _problems(table: str, lists: tuple[FilterList, ...]) -> Iterator[str]:
    for at, one in enumerate(lists):
        where = f"{table} `{one.name}`"
        if not one.name.strip() or any(one.name == other.name for other in lists[:at]):
            yield f"{where}: give each list a name of its own, as events name the one that spoke"
        if any(not looks(word.removesuffix("*")).strip() for word in one.words):
            yield f"{where}: a word without letters finds everything: leave it out"
        for pattern in one.patterns:
            if problem := _problem(pattern):
                yield f"{where}: `{pattern:.60}` {problem}"


def _problem(pattern: str) -> str:
    """What is wrong with a pattern; empty: nothing."""
    try:
        made = regex.compile(pattern, regex.DOTALL)
        if made.search(""):
            return "finds everything, as it fits an empty text"
        for text in _HARD:
            made.search(text, timeout=_SLOW_S)
    except regex.error as error:
        return f"is no regular expression: {error}"
    except (RecursionError, OverflowError, MemoryError):
        return "is too deep or too long for a regular expression: write several"
    except TimeoutError:
        return "takes too long where it finds nothing: repeat no group that itself repeats, as in (a+)+"
    return ""
