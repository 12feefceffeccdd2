"""What may be told of a source's address: everything but who may read it."""

from __future__ import annotations

import re


def redacted(url: str) -> str:
    """Return a source's name for logs and events: without user, password, query or fragment.

    People write passwords with `/`, `?`, `#` or `[` in them, so all up to the last `@` goes, whatever it is.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:  # a file, or an address that was mistyped: rtsp:user:password@host
        return url if url.startswith(("/", ".")) else re.sub(r"^[^@]*:.*@", "", url)
    return f"{scheme}://{re.split(r'[?#]', rest.rpartition('@')[2], maxsplit=1)[0]}"
