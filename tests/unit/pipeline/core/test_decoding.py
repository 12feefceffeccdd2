"""JSON and TOML that somebody else wrote."""

from typing import Any

import msgspec
import pytest

from pipeline.core import decoding
from pipeline.core.decoding import Damage, decode, decode_toml, decode_whole, read_lines

DAMAGED = {
    "no JSON": b"{",
    "tables without end": b'{"a":' * 100_000,
    "lists that end, far too deep": b'{"a":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    "deeper than anybody can follow": b'{"a":' + b"[" * 101 + b"]" * 101 + b"}",
    "a number of thousands of digits": b'{"a":' + b"9" * 5_000 + b"}",
    "a number that is none": b'{"a":1e999}',
    "half a letter": b'{"a":"\\ud800"}',
    "bytes that are no text": b'{"a":"\xff"}',
    "nothing but NULs": bytes(4096),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_whatever_is_wrong_is_one_kind_of_error(data):
    with pytest.raises(msgspec.DecodeError):
        decode(data, dict[str, Any])


def test_brackets_in_texts_are_not_deep():
    assert decode(b'{"a":"' + b'[{\\"' * 500 + b'"}', dict[str, str])["a"].startswith('[{"[{"')


def test_wide_tables_are_not_deep():
    assert len(decode(b"[" + b",".join([b"[]"] * 500) + b"]", list[Any])) == 500


def test_a_line_is_read_with_all_that_is_in_it_and_can_be_written_again():
    found = decode_whole(b'{"a":{"b":[1,"\xc3\xa9",null]}}')
    assert msgspec.json.decode(msgspec.json.encode(found)) == {"a": {"b": [1, "é", None]}}


@pytest.mark.parametrize("data", [b"a=" + b"[" * 5_000, b"a=" + b"9" * 5_000, b"a='\xff'", b"a", b"a=1"])
def test_the_same_holds_of_toml(data):
    with pytest.raises(msgspec.DecodeError):
        decode_toml(data, dict[str, str])


def test_a_line_that_is_longer_than_any_event_is_told_in_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "LONGEST_LINE", 10)
    (path := tmp_path / "events").write_bytes(b"short\n" + b"x" * 50 + b"\nlast\n")
    assert list(read_lines(path)) == [b"short\n", None, b"last\n"]


def test_a_file_that_is_larger_than_any_of_ours_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "LARGEST_FILE", 10)
    (path := tmp_path / "events").write_bytes(b"x" * 11)
    with pytest.raises(OSError, match="has more than 10 bytes"):
        list(read_lines(path))


def test_damage_names_the_file_how_much_and_the_first_place(tmp_path):
    bad = Damage()
    assert not bad
    for number in (3, 7):
        bad.add(number)
    assert bad
    assert bad.message(tmp_path / "e.jsonl") == f"{tmp_path}/e.jsonl: 2 lines are no events, the first is line 3"
