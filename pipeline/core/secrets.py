"""Hide passwords in addresses of sources, and find configuration files that show them to other users.

Of an address only kind, host and port are shown, as every other part may hold a password.
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
"""Replaces text that may be a host or a part of a password."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,15}")
_AUTHORITY = re.compile(r"[^/?#\\]*")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]*(?:%[\w.-]*)?\]|[^\s/?#\\@:;,&=]*)(:[0-9]{1,5}(?![^/?#\\;,&=\s]))?")
_SURE = re.compile(
    r"(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+(%[\w.-]*)?\]|localhost)(:\d{1,5})?"
)  # surely a host, no password
_MISTYPED = re.compile(r"(//|(rtsp|rtmp|http|udp|tcp)s?:?/|[A-Za-z][A-Za-z0-9+.-]*:(?!$))/*", re.IGNORECASE)
_ASSIGNS = re.compile(r"[?&;=]")
_HINTS = re.compile(r"[@?&;=#]|pass|pwd|token|secret|key|auth|login|user", re.IGNORECASE)


def redact(url: str) -> str:
    """Return a source for logs and events: kind, host and port of an address; files, devices, synthetic cameras whole.

    Cameras take passwords in every part of an address (`/user=admin_password=x`, `;pwd=x`, `/token/x`), so no list of
    forms would be complete. Passwords may also contain `/`, `?`, `#`, `[` or `@`: if it is not sure which part
    is the host, none is shown.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return _redact_without_scheme(url)
    if not _SCHEME.fullmatch(scheme):
        return f"{HIDDEN}://{_find_host(rest)}"
    kind = sources.SCHEMES.get(scheme.lower())
    if kind is None or kind.shown == "host":
        return f"{scheme}://{_find_host(rest)}"
    authority, slash, path = rest.partition("/")
    return url if kind.shown == "whole" else f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def _redact_without_scheme(text: str) -> str:
    """Redact a file, a device, or a mistyped address such as rtsp:user:password@host."""
    if text.startswith((".", *sources.LOCAL)) or (text.startswith("/") and not text.startswith("//")):
        return text
    typed = _MISTYPED.match(text)
    if re.match(r"[^@]*:.*@", text, re.DOTALL):
        return _find_host(text[typed.end() :] if typed and "@" not in text[: typed.end()] else text, mistyped=True)
    sure = _SURE.match(text)
    if typed or sure or re.match(r"[^/]*:", text):
        return _find_host(text[typed.end() :] if typed and not sure else text)
    return f"{text.partition('/')[0]}/{HIDDEN}" if _ASSIGNS.search(text) and "/" in text else _hide_assignment(text)


def _hide_assignment(text: str) -> str:
    return HIDDEN if _ASSIGNS.search(text) else text


def _find_host(rest: str, *, mistyped: bool = False) -> str:
    """Return host and port of the part after the scheme, or HIDDEN if several parts may be the host."""
    authority = _AUTHORITY.match(rest)[0]  # type: ignore[index]  # it also matches nothing
    behind = rest[len(authority) :]
    if "@" not in behind or re.fullmatch(r"[^:@]+", authority):
        return _match_host(authority.rpartition("@")[2])
    nearest, last = authority.rpartition("@")[2], rest.rpartition("@")[2]
    for candidate in (nearest, last):
        if (sure := _SURE.match(candidate)) and not candidate[sure.end() : sure.end() + 1].strip("/?#\\;,&"):
            return sure[0]
    user = re.match(r"[^:@]*:(?!\d{1,5}$)", authority)  # user:pass/word@host: no port, so no host
    return _match_host(last) if "@" not in authority and (user or mistyped) and behind.count("@") == 1 else HIDDEN


def _match_host(text: str) -> str:
    return _HOST.match(text)[0]  # type: ignore[index]  # the same


class Exposure(NamedTuple):
    """A file that other users can read, and the command that closes it."""

    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.found}: {self.remedy}"


def find_exposure(path: Path, sources: Mapping[str, str]) -> Exposure | None:
    """Check whether every user can read passwords in a configuration file; None if not.

    Args:
        path: The file.
        sources: The sources of its cameras, by name.
    """
    holders = [name for name, source in sources.items() if holds_secret(source)]
    try:
        readable = path.stat().st_mode & stat.S_IROTH
    except OSError:  # deleted meanwhile
        return None
    if not holders or not readable:
        return None
    named = f"the address of camera {holders[0]}" + (f" and {len(holders) - 1} more" if len(holders) > 1 else "")
    found = f"{path}: readable by every user, and {named} may hold a password"
    return Exposure(found, f"chmod o-r {shlex.quote(str(path))}")


def holds_secret(source: str) -> bool:
    """Tell whether a source is an address that may hold a password or a key."""
    shown = redact(source)
    return shown != source and bool(_HINTS.search(source.removeprefix(shown)))
