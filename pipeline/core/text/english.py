"""English numbers, durations, plurals and articles, used to write sentences and to check them."""

from __future__ import annotations

from unicodedata import category

CARDINALS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")

_IRREGULAR = {"person": "people", "child": "children", "sheep": "sheep", "deer": "deer"}


def one_line(text: str) -> str:
    """Make a text fit for a sentence: one line, no control characters, single spaces."""
    return " ".join("".join(" " if category(letter) == "Cc" else letter for letter in text).split())


def pluralise(label: str) -> str:
    """Return the plural of a class label."""
    return _IRREGULAR.get(label, label + ("es" if label.endswith(("s", "x", "ch", "sh")) else "s"))


def choose_article(word: str) -> str:
    """Return `a` or `an`, by the first letter of a word."""
    return "an" if word[:1] in "aeiou" else "a"


def number_word(number: int) -> str:
    """Return a number up to twelve as a word, a larger one in digits."""
    return CARDINALS[number] if number < len(CARDINALS) else str(number)


def duration_in_words(seconds: int) -> str:
    """Return a duration in words: 1 second, 12 minutes, 1.5 hours."""
    if seconds < 90:  # noqa: PLR2004  # below that people count seconds
        return _format_count(str(seconds), "second")
    if seconds < 5400:  # noqa: PLR2004  # 90 minutes
        return _format_count(str(round(seconds / 60)), "minute")
    return _format_count(f"{seconds / 3600:.1f}".removesuffix(".0"), "hour")


def _format_count(number: str, unit: str) -> str:
    return f"{number} {unit}" + ("" if number == "1" else "s")
