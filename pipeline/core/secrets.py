"""Passwords: what may be told of a source's address, and whether a configuration's file shows them to others.

Of an address that is its kind, host and port: everywhere else somebody has written a password.
"""

from __future__ import annotations

import re
import shlex
import stat
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core import sources

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HIDDEN = "…"
"""Stands for what may be a host or a part of a password."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,15}")
_AUTHORITY = re.compile(r"[^/?#\\]*")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]*(?:%[\w.-]*)?\]|[^\s/?#\\@:;,&=]*)(:[0-9]{1,5}(?![^/?#\\;,&=\s]))?")
_SURE = re.compile(r"(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+(%[\w.-]*)?\]|localhost)(:\d{1,5})?")  # no password is this
_MISTYPED = re.compile(r"(//|(rtsp|rtmp|http|udp|tcp)s?:?/|[A-Za-z][A-Za-z0-9+.-]*:(?!$))/*", re.IGNORECASE)
_ASSIGNS = re.compile(r"[?&;=]")
_HINTS = re.compile(r"[@?&;=#]|pass|pwd|token|secret|key|auth|login|user", re.IGNORECASE)


def redacted(url: str) -> str:
    """Return a source's name for logs and events: kind, host and port; a file, a device and a drawn camera whole.

    Cameras take passwords in every part of an address (`/user=admin_password=x`, `;pwd=x`, `/token/x`), so no list of
    forms would be complete. People also write passwords with `/`, `?`, `#`, `[` or `@` in them: where it is not sure
    which part is the host, none is shown.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return _without_scheme(url)
    if not _SCHEME.fullmatch(scheme):
        return f"{HIDDEN}://{_host(rest)}"
    kind = sources.SCHEMES.get(scheme.lower())
    if kind is None or kind.shown == "host":
        return f"{scheme}://{_host(rest)}"
    authority, slash, path = rest.partition("/")
    return url if kind.shown == "whole" else f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def _without_scheme(text: str) -> str:
    """A file or a device; or an address that was mistyped, such as rtsp:user:password@host."""
    if text.startswith((".", *sources.LOCAL)) or (text.startswith("/") and not text.startswith("//")):
        return text
    typed = _MISTYPED.match(text)
    if re.match(r"[^@]*:.*@", text, re.DOTALL):
        return _host(text[typed.end() :] if typed and "@" not in text[: typed.end()] else text, mistyped=True)
    sure = _SURE.match(text)
    if typed or sure or re.match(r"[^/]*:", text):
        return _host(text[typed.end() :] if typed and not sure else text)
    return f"{text.partition('/')[0]}/{HIDDEN}" if _ASSIGNS.search(text) and "/" in text else _unassigned(text)


def _unassigned(text: str) -> str:
    return HIDDEN if _ASSIGNS.search(text) else text


def _host(rest: str, *, mistyped: bool = False) -> str:
    """Host and port of what follows the scheme, or HIDDEN where several parts may be the host."""
    authority = _AUTHORITY.match(rest)[0]  # type: ignore[index]  # it also matches nothing
    behind = rest[len(authority) :]
    if "@" not in behind or re.fullmatch(r"[^:@]+", authority):
        return _named(authority.rpartition("@")[2])
    nearest, last = authority.rpartition("@")[2], rest.rpartition("@")[2]
    for candidate in (nearest, last):
        if (sure := _SURE.match(candidate)) and not candidate[sure.end() : sure.end() + 1].strip("/?#\\;,&"):
            return sure[0]
    user = re.match(r"[^:@]*:(?!\d{1,5}$)", authority)  # user:pass/word@host: no port, so no host
    return _named(last) if "@" not in authority and (user or mistyped) and behind.count("@") == 1 else HIDDEN


def _named(text: str) -> str:
    return _HOST.match(text)[0]  # type: ignore[index]  # the same


class Exposed(NamedTuple):
    """A file that shows too much, and the command that closes it."""

    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.found}: {self.remedy}"


def exposed(path: Path, sources: Mapping[str, str]) -> Exposed | None:
    """What is to be told of a configuration that users other than its owner and group may read; None: nothing.

    Args:
        path: Of the file.
        sources: Of its cameras by name.
    """
    holders = [name for name, source in sources.items() if holds_secret(source)]
    try:
        readable = path.stat().st_mode & stat.S_IROTH
    except OSError:  # gone meanwhile
        return None
    if not holders or not readable:
        return None
    named = f"the address of camera {holders[0]}" + (f" and {len(holders) - 1} more" if len(holders) > 1 else "")
    found = f"{path}: readable by every user, and {named} may hold a password"
    return Exposed(found, f"chmod o-r {shlex.quote(str(path))}")


def holds_secret(source: str) -> bool:
    """Whether a source is an address with more in it than host and a plain path."""
    shown = redacted(source)
    return shown != source and bool(_HINTS.search(source.removeprefix(shown)))
