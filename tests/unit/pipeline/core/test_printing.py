"""Text of files on its way to a terminal."""

import json

import pytest

from pipeline.core.printing import MARK, make_lines_printable, make_printable, to_json_line
from pipeline.view import output

ODD = "a\x1b[2J\x9b31m\u202eb\x7f\x00\r"


def test_nothing_of_a_line_acts_on_a_terminal():
    assert make_printable(ODD + "\n") == f"a{MARK}[2J{MARK}31m{MARK}b" + 4 * MARK


def test_ends_of_lines_and_tabs_stay_in_several_lines():
    assert make_lines_printable("one\n\ttwo\x1b[0m") == f"one\n\ttwo{MARK}[0m"


@pytest.mark.parametrize("text", ["卡车", "Straße", "naïve", "no odd letter"])
def test_letters_of_all_languages_are_shown(text):
    assert make_lines_printable(text) == make_printable(text) == text


def test_json_tells_a_program_the_same_and_a_terminal_nothing():
    line = to_json_line({"name": ODD, "more": "卡车\U000e0001"})
    assert json.loads(line) == {"name": ODD, "more": "卡车\U000e0001"}
    assert all(letter.isprintable() for letter in line[:-1])


def test_a_name_that_is_no_text_is_written_all_the_same():
    assert json.loads(to_json_line({"file": "a\udcff"})) == {"file": "a?"}


def test_the_console_draws_no_letter_that_a_terminal_obeys(capsys):
    output.console().print(ODD)
    output.say(ODD + "\n")
    output.complain(ODD)
    output.say_json([ODD])
    told = capsys.readouterr()
    assert not set("\x1b\x9b\u202e\x7f\0\r") & set(told.out + told.err)
