"""Whether a configuration's file shows others the passwords that are in it."""

from __future__ import annotations

import re
import shlex
import stat
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.redaction import redacted

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.core.settings import Settings

_HINTS = re.compile(r"[@?&;=#]|pass|pwd|token|secret|key|auth|login|user", re.IGNORECASE)


class Exposed(NamedTuple):
    """A file that shows too much, and the command that closes it."""

    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.found}: {self.remedy}"


def exposed(path: Path, settings: Settings) -> Exposed | None:
    """What is to be told of a file that users other than its owner and group may read; None: nothing."""
    holders = [name for name, camera in settings.cameras.items() if holds_secret(camera.source)]
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
