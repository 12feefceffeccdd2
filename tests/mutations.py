"""Damage as disks, editors, other programs and attackers do it, drawn from a seed."""

from __future__ import annotations

import copy
import json

TEXTS = (
    "", "\0", "\x1b[2J\x1b]0;title\x07", "\x9b31m", "\u202eleft\u202c", "\u2066x\u2069", "a\nb\r\nc", "\ud800",
    "\ufeffx", "\u200b", "[red]x[/red]", "A" * 5000, "é" * 300, "../../etc/passwd", "/etc/passwd", "%s%n", "{0}", "٣",
    "1e400", "2026-11-30T08:00:00Z", "9999-99-99T99:99:99Z", "2026-11-30T08:00:00+99:00", "24:00-25:00", "person",
    "none", "rtsp://user:secret@gate/x", "fieldwatch.incident.end.v1", "fieldwatch.camera.lost.v1", "-1", "nan",
)  # fmt: skip
NUMBERS = (
    0, -1, 1, 0.5, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**30, 10**400, 1e308, -1e308, 5e-324, 1.0000001, 86400,
    float("nan"), float("inf"),
)  # fmt: skip
DEPTHS = (10, 99, 1_000, 50_000)
VALUES_OF_TOML = (
    '""', '"x"', "0", "-1", "1e400", "nan", "inf", "-inf", "true", "[]", "{}", "[[1,2]]", "[[0,0],[0,1],[1,1]]",
    "9223372036854775808", "1979-05-27", "07:32:00", '"\\u202e"', '"\\u0000"', '"\\u001b[2J"', '"' + "A" * 3000 + '"',
    "[[nan,nan],[1,1],[0,1]]", "{a={b={c=1}}}", '"rtsp://u:secret@h/x"', '"synthetic://?width=0"', '"/dev/zero"', '"("',
    '"(a+)+$"', '"(?<=x"', '"Europe/../../etc/passwd"', "1_0", "0x10", '"""two\nlines"""', "9" * 5000, "[" * 3000,
)  # fmt: skip
LINES_OF_TOML = (
    "[x]", "[cameras]", '[cameras."a b"]', '[cameras."\\u001b]0;t\\u0007"]', "[[cameras]]", "[cameras..a]", "x.y.z=1",
    "cameras=1", "site=[]", '[cameras.gate.zones.""]', "[a" + ".a" * 3000 + "]", "=", '"', "\x1b]0;t\x07=1",
)  # fmt: skip


class Damage:
    """Draws damage.

    Args:
        random: A `random.Random`.
    """

    def __init__(self, random):
        self.random = random

    def value(self, depth=0):
        """Any value of JSON."""
        kind = self.random.randrange(7)
        if kind == 0:
            return self.random.choice((None, True, False))
        if kind in {1, 2}:
            return self.random.choice(NUMBERS)
        if kind in {3, 4} or depth > 2:
            return self.random.choice(TEXTS)
        members = [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        return members if kind == 5 else {self.random.choice(TEXTS): member for member in members}

    def table(self, table):
        """A copy of a table in which some values are others, gone, or have other names."""
        table = copy.deepcopy(table)
        for _ in range(self.random.choice((1, 1, 1, 2, 5))):
            places = list(_places(table))
            if not places:
                return self.value()
            holder, key = self.random.choice(places)
            self._change(holder, key)
        return table

    def _change(self, holder, key):
        kind, old = self.random.randrange(6), holder[key]
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[self.random.choice(TEXTS)] = holder.pop(key)
        elif kind == 2 and isinstance(old, str):
            holder[key] = self.random.choice(TEXTS)
        elif kind == 3 and isinstance(old, int | float):
            holder[key] = self.random.choice(NUMBERS)
        else:
            holder[key] = self.value()

    def json(self, table):
        """The bytes of a table that is damaged as a table, as bytes, or by depth."""
        kind = self.random.randrange(20)
        if kind < 12:
            return written(self.table(table))
        if kind < 18:
            return self.bytes(written(table))
        return self.deep(written(table))

    def deep(self, data):
        """Tables in tables, in front of the end of a table."""
        depth = self.random.choice(DEPTHS)
        opened, closed = self.random.choice(((b'{"a":', b"}"), (b"[", b"]")))
        whole = self.random.random() < 0.5
        inside = opened * depth + (b"1" + closed * depth if whole else b"")
        return data[:-1] + b',"deep":' + inside + b"}"

    def lines(self, tables):
        """Lines of JSON, of which most are damaged."""
        chosen = [self.random.choice(tables) for _ in range(self.random.randrange(1, 8))]
        data = b"\n".join(self.json(one) if self.random.random() < 0.6 else written(one) for one in chosen)
        kind = self.random.randrange(12)
        if kind == 0:
            return data + b"\n" + bytes(4096)
        if kind == 1:
            return b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")
        if kind == 2:
            return data + b"\n" + written(chosen[0])[:-1] + b',"n":' + b"9" * 5000 + b"}\n"
        return data + b"\n" * self.random.randrange(3)

    def toml(self, text):
        """A text of TOML with other values, headers, cut lines and lines twice."""
        lines = text.split("\n")
        for _ in range(self.random.choice((1, 1, 2, 4))):
            at, kind = self.random.randrange(len(lines)), self.random.randrange(8)
            line = lines[at].lstrip("# ")
            if "=" in line and kind < 4:
                lines[at] = f"{line.split('=')[0]}= {self.random.choice(VALUES_OF_TOML)}"
            elif kind == 4:
                lines[at] = self.random.choice(LINES_OF_TOML)
            elif kind == 5:
                lines[at] = lines[at][: self.random.randrange(len(lines[at]) + 1)]
            else:
                lines.insert(at, self.random.choice(lines))
        data = "\n".join(lines).encode("utf-8", "surrogatepass")
        return self.bytes(data) if self.random.random() < 0.15 else data

    def bytes(self, data):
        """Bytes of which some are others, more, fewer, or twice."""
        data = bytearray(data)
        for _ in range(self.random.choice((1, 1, 2, 5, 30))):
            if data:
                data = self._changed(data)
        return bytes(data)

    def _changed(self, data):
        kind, at = self.random.randrange(7), self.random.randrange(len(data))
        if kind == 0:
            data[at] ^= 1 << self.random.randrange(8)
        elif kind == 1:
            data[at] = self.random.randrange(256)
        elif kind == 2:
            del data[at : at + self.random.choice((1, 2, 10, 200))]
        elif kind == 3:
            data[at:at] = self.random.randbytes(self.random.choice((1, 4, 50)))
        elif kind == 4:
            data[at : at + 8] = self.random.choice((b"\xff" * 8, bytes(8), b"\xff" * 7 + b"\x7f", b"\1" + bytes(7)))
        elif kind == 5:
            other = self.random.randrange(len(data))
            data[at:at] = data[other : other + 64]
        else:
            del data[at:]
        return data


def written(table):
    """JSON as a careless program writes it: with what is no JSON, such as NaN and half letters."""
    return json.dumps(table, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _places(value):
    """Every place in a table that can be changed: what holds it, and its key or number."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in list(members):
        yield value, key
        yield from _places(member)
