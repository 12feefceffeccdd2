"""Words of English that both a sentence and its reading need: numbers, durations, plurals, articles."""

from __future__ import annotations

from unicodedata import category

CARDINALS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")

_IRREGULAR = {"person": "people", "child": "children", "sheep": "sheep", "deer": "deer"}


def plain(text: str) -> str:
    """A name as it stands in a sentence: one line, no control characters, no more spaces than needed."""
    return " ".join("".join(" " if category(letter) == "Cc" else letter for letter in text).split())


def plural(label: str) -> str:
    """Name several things of a class."""
    return _IRREGULAR.get(label, label + ("es" if label.endswith(("s", "x", "ch", "sh")) else "s"))


def article(word: str) -> str:
    """Return `a` or `an`, by the first letter as it is written."""
    return "an" if word[:1] in "aeiou" else "a"


def in_words(number: int) -> str:
    """A small number as a word, a larger one in digits."""
    return CARDINALS[number] if number < len(CARDINALS) else str(number)


def spoken(seconds: int) -> str:
    """A duration in words: 1 second, 12 minutes, 1.5 hours."""
    if seconds < 90:  # noqa: PLR2004  # below that people count seconds
        return _counted(str(seconds), "second")
    if seconds < 5400:  # noqa: PLR2004  # 90 minutes
        return _counted(str(round(seconds / 60)), "minute")
    return _counted(f"{seconds / 3600:.1f}".removesuffix(".0"), "hour")


def _counted(number: str, unit: str) -> str:
    return f"{number} {unit}" + ("" if number == "1" else "s")
