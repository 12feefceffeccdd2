"""Read and check a configuration file; every problem is reported with its line."""

from __future__ import annotations

import difflib
import re
import tomllib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from pipeline.core import files, sources
from pipeline.core.errors import ConfigError
from pipeline.core.printing import make_printable
from pipeline.core.settings import EmitSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipeline.core.geometry import Polygon

_HOW_TO_WRITE = {
    "str": "write it in quotes",
    "int": "write a whole number, without quotes",
    "float": "write a number, without quotes",
    "array": "write a list, in brackets",
    "object": "write a table, with a key and a value a line below its name in brackets",
}
"""How to write a value of each TOML type, for error messages."""
_MAX_LINE = 2000  # letters


class Problem(msgspec.Struct, frozen=True):
    """A problem of a configuration file.

    Attributes:
        line: The line, from 1.
        key: The dotted key, such as `capture.frames_per_s`; empty if the file is not valid TOML.
        text: What is wrong, and the remedy.
    """

    line: int
    key: str
    text: str


RETIRED = {
    "trigger.resend_after_s": "events are never sent again: they stay in the event log until every sink has them",
    "emit.spool": "events that wait for a sink wait in the event log: see emit.reserve_mb and emit.max_waiting_mb",
}
"""Keys of earlier versions that are ignored, and why; a file with them is valid."""


class Renamed(NamedTuple):
    """The new name of a key of an earlier version.

    Attributes:
        name: The new name, in the same table.
        factor: Factor from the old unit to the new one.
    """

    name: str
    factor: float = 1.0


RENAMED = {
    "capture.reconnect_first_s": Renamed("min_reconnect_s"),
    "capture.reconnect_most_s": Renamed("max_reconnect_s"),
    "classify.still_most_s": Renamed("max_still_s"),
    "classify.crops_a_look": Renamed("max_crops"),
    "describe.latency_budget_ms": Renamed("max_verdict_s", 1e-3),
    "describe.summary_most_tokens": Renamed("max_sentence_tokens"),
    "emit.evidence_most_mb": Renamed("max_evidence_mb"),
    "emit.keep_files": Renamed("max_files"),
    "governor.memory_least_mb": Renamed("min_memory_mb"),
    "runtime.restart_first_s": Renamed("min_restart_s"),
    "runtime.restart_most_s": Renamed("max_restart_s"),
}
"""Renamed keys; the old ones are still accepted, with a warning that says the new name."""


class Configuration(NamedTuple):
    """A valid configuration file.

    Attributes:
        settings: Its settings, with defaults for missing keys.
        outdated: A warning for each key of an earlier version, with FILE:LINE.
        path: The file.
        lines: The line of each key and table.
    """

    settings: Settings
    outdated: tuple[str, ...]
    path: Path
    lines: dict[str, int]

    def at(self, where: str) -> str:
        """Return the place of a key, or of the table above it, as FILE:LINE."""
        return f"{self.path}:{_line_of(self.lines, where)}"


def read(path: Path) -> Configuration:
    """Read and check a configuration file. Raises a ConfigError that lists every problem with its line."""
    try:
        text = files.read_bounded(path, files.TEXT, follow=True).decode("utf-8-sig")  # some editors begin with a mark
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: cannot be read: byte {error.start} is no UTF-8: save it as UTF-8 text") from error
    parsed = _parse(text)
    if parsed.settings is None or parsed.problems:
        raise ConfigError("\n".join(f"{path}:{one.line}: {make_printable(one.text)}" for one in parsed.problems))
    outdated = tuple(f"{path}:{_line_of(parsed.lines, key)}: {_describe_outdated_key(key)}" for key in parsed.outdated)
    return Configuration(parsed.settings, outdated, path, parsed.lines)


def load(path: Path) -> Settings:
    """Return the settings of a configuration file. Raises the same errors as `read`."""
    return read(path).settings


def _describe_outdated_key(key: str) -> str:
    """Describe what replaces a key of an earlier version."""
    if key in RETIRED:
        return f"`{key}` means nothing any more: {RETIRED[key]}"
    return f"`{key}` is an old name: did you mean `{RENAMED[key].name}`? Its value is used as that"


def _find_keys(tables: dict[str, Any], keys: Iterable[str]) -> list[str]:
    """Return those of the keys, TABLE.NAME, that are in the tables of a file."""
    split = ((key, *key.split(".")) for key in keys)
    return [key for key, table, name in split if isinstance(tables.get(table), dict) and name in tables[table]]


def _update_keys(tables: dict[str, Any]) -> dict[str, str]:
    """Remove retired keys, and rename renamed ones unless the new name is there too; changes `tables` in place.

    Returns:
        The name in the file for each new name.
    """
    written = {}
    for key in _find_keys(tables, RETIRED):
        table, _, name = key.partition(".")
        del tables[table][name]
    for key in _find_keys(tables, RENAMED):
        table, _, name = key.partition(".")
        now = RENAMED[key]
        if now.name not in tables[table]:
            tables[table][now.name] = _in_new_unit(tables[table].pop(name), now.factor)
            written[f"{table}.{now.name}"] = key
    return written


def _in_new_unit(value: Any, factor: float) -> Any:
    """Turn the value of a key of an earlier version into that of the new one; what is no number is reported later."""
    if factor == 1 or isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        return value * factor
    except OverflowError:  # hundreds of digits, which no setting allows in any unit
        return value


class _ParsedFile(NamedTuple):
    """The settings of a text, or its problems; its keys of earlier versions; the line of each key."""

    settings: Settings | None
    problems: list[Problem]
    outdated: tuple[str, ...]
    lines: dict[str, int]


def parse(text: str) -> tuple[Settings | None, list[Problem]]:
    """Parse the text of a configuration; return its settings (None if invalid) and all problems."""
    parsed = _parse(text)
    return parsed.settings, parsed.problems


def _parse(text: str) -> _ParsedFile:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        last = max(1, len(text.splitlines()))  # "at end of document"
        return _ParsedFile(None, [Problem(int(at[1]) if at else last, "", f"not valid TOML: {error}")], (), {})
    except (RecursionError, ValueError) as error:  # thousands of brackets, thousands of digits
        return _ParsedFile(None, [Problem(1, "", f"not valid TOML: {error}")], (), {})
    lines = _map_lines(text)
    outdated = (*_find_keys(tables, RETIRED), *_find_keys(tables, RENAMED))
    written = _update_keys(tables)

    def problems(found: Iterable[tuple[str, str]]) -> list[Problem]:
        return [_problem(key, text, written, lines) for key, text in found]

    found = [*_find_unknown_keys(tables, Settings, ""), *_find_invalid_values(tables, Settings, "")]
    found = found or list(_find_nul(tables, ""))  # recursive, so only for tables of valid depth
    if found:
        return _ParsedFile(None, problems(found), outdated, lines)
    settings = msgspec.convert(tables, Settings)
    return _ParsedFile(settings, problems(_find_contradictions(settings)), outdated, lines)


def _problem(key: str, text: str, written: dict[str, str], lines: dict[str, int]) -> Problem:
    """Name the key as the file does, too, where that is an old name."""
    old = written.get(key, key)
    said = text if old == key else f"{text} (here by its old name, `{old}`)"
    return Problem(_line_of(lines, old), key, said)


def _find_unknown_keys(table: dict[str, Any], kind: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yield every unknown key, with a message that names the nearest known one."""
    known = get_type_hints(kind)
    for key, value in table.items():
        path = f"{where}.{key}" if where else key
        if path in RENAMED and RENAMED[path].name in table:
            yield path, f"`{path}` is an old name of `{RENAMED[path].name}`, which is there as well: take one out"
            continue
        if key not in known:
            near = difflib.get_close_matches(key, known, 1, 0.5)
            hint = f"; did you mean `{near[0]}`?" if near else f"; known: {', '.join(sorted(known))}"
            yield path, f"unknown key `{path}`{hint}"
            continue
        yield from _find_unknown_below(value, known[key], path)


def _find_unknown_below(value: Any, kind: Any, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        return
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from _find_unknown_keys(value, kind, path)
    elif get_origin(kind) is dict:
        member = get_args(kind)[1]
        for name, entry in value.items():
            yield from _find_unknown_below(entry, member, f"{path}.{name}")


def _find_invalid_values(value: Any, kind: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the key of every invalid value, with a message; msgspec alone names no members of tables."""
    if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = get_type_hints(kind, include_extras=True)
        for key in (key for key in value if key in hints):
            yield from _find_invalid_values(value[key], hints[key], f"{path}.{key}" if path else key)
        for setting in msgspec.structs.fields(kind):
            if setting.required and setting.name not in value:
                yield path, f"`{path}`: missing required field `{setting.name}`"
    elif isinstance(value, dict) and get_origin(kind) is dict:
        for name, entry in value.items():
            yield from _find_invalid_values(entry, get_args(kind)[1], f"{path}.{name}")
    else:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            text, _, inside = str(error).partition(" - at `$")
            yield path, f"`{path}{inside.rstrip('`')}`: {_explain(text, kind)}"


def _find_nul(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the key of every text with a NUL, which would end a file name."""
    if isinstance(value, str) and "\0" in value:
        yield path, f"`{path}`: a NUL is in this text: take it out"
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _find_nul(entry, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for entry in value:
            yield from _find_nul(entry, path)


def _explain(text: str, kind: Any) -> str:
    """Turn a message of msgspec into words for the author of the file."""
    choices = list(_choices(kind))
    if choices and "Invalid enum value" in text:
        return f"{text.removeprefix('Invalid enum value ')}: use one of {', '.join(map(str, choices))}"
    if "Expected `bool`" in text:
        return "write true or false, without quotes"
    if "of length >= 3" in text:
        return "an outline needs at least 3 points"
    way = next((way for wanted, way in _HOW_TO_WRITE.items() if f"Expected `{wanted}`, got" in text), "")
    return f"{text}: {way}" if way else text


def _choices(kind: Any) -> Iterator[Any]:
    """Yield the words that a type allows, also those in a list."""
    if get_origin(kind) is Literal:
        yield from get_args(kind)
    elif not isinstance(kind, type):
        for part in get_args(kind):
            yield from _choices(part)


def _check_sinks(emit: EmitSettings) -> Iterator[tuple[str, str]]:
    if len(set(emit.sinks)) < len(emit.sinks):
        yield "emit.sinks", "every sink once: twice the same would write every event twice"
    if "serial" in emit.sinks and not emit.serial_port:
        yield "emit.serial_port", 'the sink `serial` needs a device, e.g. serial_port = "/dev/ttyUSB0"'


def _find_contradictions(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield problems that a check of single keys cannot find."""
    try:
        ZoneInfo(settings.site.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        yield "site.timezone", f"unknown time zone `{settings.site.timezone}`: use an IANA name such as Europe/Vienna"
    capture = settings.capture
    if capture.min_reconnect_s > capture.max_reconnect_s:
        yield "capture.min_reconnect_s", "the first pause is longer than capture.max_reconnect_s allows"
    if settings.runtime.min_restart_s > settings.runtime.max_restart_s:
        yield "runtime.min_restart_s", "the first pause is longer than runtime.max_restart_s allows"
    yield from _check_sinks(settings.emit)
    yield from _check_hours("trigger.open_hours", settings.trigger.open_hours)
    for name, camera in settings.cameras.items():
        where = f"cameras.{name}"
        if not re.fullmatch(r"[A-Za-z0-9._~-]{1,48}", name):
            yield where, f"camera name `{name}`: use 1 to 48 letters, digits, dots, dashes or underscores"
        yield from _check_source(f"{where}.source", camera.source)
        yield from _check_hours(f"{where}.open_hours", camera.open_hours)
        for label, zone in camera.zones.items():
            if not label:
                yield f"{where}.zones", "a zone needs a name"
            yield from _check_hours(f"{where}.zones.{label}.open_hours", zone.open_hours)
            yield from _check_outline(f"{where}.zones.{label}.polygon", zone.polygon)
        for label, outline in camera.masks.items():
            yield from _check_outline(f"{where}.masks.{label}", outline)


def _check_source(where: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield problems of a source; an unknown kind would otherwise be taken for a missing file."""
    if not text.strip() or text != text.strip():
        yield where, f"a camera needs a source, without spaces around it: {sources.HOW}"
    elif (kind := re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", text)) and kind[1].lower() not in sources.SCHEMES:
        near = difflib.get_close_matches(kind[1].lower(), sources.SCHEMES, 1, 0.5)
        named = (
            f"no kind of source `{kind[1]}:`" if near or text[kind.end() :].startswith("//") else "no kind of source"
        )
        yield where, named + (f"; did you mean `{near[0]}`?" if near else f"; use {sources.HOW}")
    elif kind and sources.SCHEMES[kind[1].lower()].shown == "host" and not text[kind.end() :].startswith("//"):
        yield where, f"`{kind[1]}:` is followed by `//`"


def _check_hours(where: str, text: str) -> Iterator[tuple[str, str]]:
    if text and not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d", text):
        yield where, f"`{text}` is no span of hours: write it as 07:00-18:00"


def _check_outline(where: str, polygon: Polygon) -> Iterator[tuple[str, str]]:
    if any(not 0 <= edge <= 1 for point in polygon for edge in point):
        yield where, "points are shares of the picture, 0..1, not pixels: divide by width and height"


def _map_lines(text: str) -> dict[str, int]:
    """Map every key and table of a TOML text to its line."""
    found: dict[str, int] = {}
    table = ""
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole[:_MAX_LINE]  # no header or key is longer
        if header := re.match(r"\s*\[\[?([^\[\],]+)\]\]?\s*(#.*)?$", line):  # and no row of an array
            table = header[1].strip().replace('"', "")
            names = table.split(".")
            for depth in range(len(names), 0, -1):
                found.setdefault(".".join(names[:depth]), number)
        elif key := re.match(r"\s*([A-Za-z0-9_.\"-]+)\s*=", line):
            name = key[1].replace('"', "")
            found.setdefault(f"{table}.{name}" if table else name, number)
    return found


def _line_of(lines: dict[str, int], path: str) -> int:
    """Return the line of a key, or of the nearest table above it."""
    while path:
        if path in lines:
            return lines[path]
        path = path.rpartition(".")[0]
    return 1
