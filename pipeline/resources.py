"""Files that come with the package: the configuration's example and the schema of events."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def own_or_ours(own: str, name: str) -> Path:
    """Return the file that a configuration names; where it names none, ours of `config/`."""
    return Path(own) if own else config_file(name)


def config_file(name: str) -> Path:
    """Return a file of `config/`: inside the package where it was installed, beside it in a checkout."""
    installed = _PACKAGE / "config" / name
    return installed if installed.exists() else _PACKAGE.parent / "config" / name
