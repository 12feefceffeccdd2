"""The daemon of a site, with its cameras or with recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pipeline.core.errors import ConfigError
from pipeline.runtime import daemon

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.app.replay import Recording
    from pipeline.app.site import Site

Ending: TypeAlias = daemon.Ending
"""How a daemon ended."""


def run(site: Site, run_dir: Path | None, log_level: str) -> Ending:
    """Watch the cameras of a site until a signal to stop, or until all sources have ended.

    All files are checked before anything starts.

    Args:
        site: The site.
        run_dir: Private folder for sockets; None: the configured one, or the user's.
        log_level: The lowest level that is logged.

    Raises:
        ConfigError: Something is wrong with the configuration or a file that it names, or there are no cameras.
        RunDirectoryError: A folder is taken, not private, or another user's.
    """
    settings, _, _ = site.settings, site.rulebook, site.filters
    if not settings.cameras:
        raise ConfigError(f"{site.config}: no cameras: add a table [cameras.NAME] with a source")
    return daemon.serve(settings, run_dir, log_level, site.warnings())


def replay_live(site: Site, found: list[Recording], out: Path, camera: str) -> Ending:
    """Run recordings through the real processes at camera speed, each as a camera.

    Args:
        site: The site whose settings, notes and models are used.
        found: The recordings.
        out: Folder for events, evidence and the journal.
        camera: Name of the camera whose zones and rules are used; empty: none.

    Raises:
        PipelineError: The daemon cannot be started.
    """
    return daemon.replay_live(site.settings, found, camera, out)
