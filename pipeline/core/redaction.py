"""What may be told of a source's address: its kind and its host. Everywhere else somebody has written a password."""

from __future__ import annotations

import re

HIDDEN = "…"
"""Stands for what may be a host or a part of a password."""

_LOCAL = ("file", "synthetic", "v4l2")  # they hold no secret: what follows is a path, or how to draw
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,15}")
_AUTHORITY = re.compile(r"[^/?#\\]*")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]*(?:%[\w.-]*)?\]|[^\s/?#\\@:;,&=]*)(:[0-9]{1,5}(?![^/?#\\;,&=\s]))?")
_SURE = re.compile(r"(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+(%[\w.-]*)?\]|localhost)(:\d{1,5})?")  # no password is this
_MISTYPED = re.compile(r"(//|(rtsp|rtmp|http|udp|tcp)s?:?/|[A-Za-z][A-Za-z0-9+.-]*:(?!$))/*", re.IGNORECASE)
_ASSIGNS = re.compile(r"[?&;=]")


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
    if scheme.lower() in _LOCAL:
        authority, slash, path = rest.partition("/")
        return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}" if scheme.lower() != "synthetic" else url
    return f"{scheme}://{_host(rest)}"


def _without_scheme(text: str) -> str:
    """A file or a device; or an address that was mistyped, such as rtsp:user:password@host."""
    if text.startswith((".", "v4l2:", "synthetic:")) or (text.startswith("/") and not text.startswith("//")):
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
