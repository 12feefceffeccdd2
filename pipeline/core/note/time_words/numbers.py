"""Read numbers in digits and in words."""

from __future__ import annotations

_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45,
    "sixty": 60, "ninety": 90,
}  # fmt: skip
_DIGITS = {
    digit: value for value, digit in enumerate("零一二三四五六七八九")
} | {"〇": 0, "两": 2}  # fmt: skip
HOUR_WORD = "|".join(name for name in _NUMBERS if name not in ("a", "an"))
NUMBER = r"(?:\d+|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + ")"
NUMBER_ZH = r"(?:\d+|[零〇一二两三四五六七八九十百]+)"


def read_number(text: str) -> int:
    """Read a number in digits, English or Chinese words; 0 if it is none."""
    if text.isdecimal():
        return int(text)
    if text in _NUMBERS:
        return _NUMBERS[text]
    if "百" in text:
        before, _, after = text.partition("百")
        return 100 * (_DIGITS.get(before, 1)) + read_number(after.lstrip("零"))
    if "十" in text:
        before, _, after = text.partition("十")
        return 10 * (_DIGITS.get(before, 1)) + _DIGITS.get(after, 0)
    return _DIGITS.get(text, 0)
