"""The daemon: folders, supervisor, and the way down."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import structlog

from pipeline.core import files
from pipeline.core.errors import ConfigError, RunDirectoryError
from pipeline.core.secrets import redact
from pipeline.core.settings import PASSING_SINKS
from pipeline.eventlog import cursor, entries, reader
from pipeline.runtime import folders, logs
from pipeline.runtime.recordings import address, like
from pipeline.runtime.supervisor import Home, Supervisor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.core.settings import Settings
    from pipeline.core.vocabulary import CameraId
    from pipeline.runtime.recordings import Recording

log = structlog.get_logger()


class Ending(NamedTuple):
    """How a daemon ended.

    Attributes:
        blind: Cameras of which no picture came, where all sources have ended; none where it was told to stop.
        left: Events that a sink that keeps them has not got, by sink: the next start delivers them.
        given_up: Events that found no room on the disk and that no event tells of.
    """

    blind: list[CameraId]
    left: dict[str, int]
    given_up: int


def serve(settings: Settings, run_dir: Path | None, level: str, warnings: Sequence[str] = ()) -> Ending:
    """Watch the cameras until told to stop or until all have ended. Raises PipelineError.

    `warnings`: what is to be logged of the configuration's file.
    """
    logs.configure(level, stage="supervisor")
    for warning in warnings:
        log.warning("configuration", reason=warning)
    uris = {name: redact(camera.source) for name, camera in settings.cameras.items()}
    run = folders.RunDirectory(run_dir or folders.run_dir(settings.runtime.run_dir))
    try:
        files.own_folder(state := folders.state_dir(settings.runtime.state_dir))
        if said := files.open_to_others(state):
            log.warning("state_folder", reason=said)
        folder = _for_events(Path(settings.emit.folder)) if settings.emit.folder else state
        home = Home(run.path, state, os.dup(1), uris, settings.digest(), level, state)
        return _serve(_writing_to(folder, settings), home)
    finally:
        run.close()


def replay_live(settings: Settings, recordings: list[Recording], camera: str, out: Path) -> Ending:
    """Send recordings through the real processes at camera speed, each as a camera."""
    logs.configure("info", stage="supervisor")
    row = like(settings, camera)
    cameras = {
        recording.camera: msgspec.structs.replace(row, source=address(recording.path)) for recording in recordings
    }
    uris = {recording.camera: recording.name for recording in recordings}
    with tempfile.TemporaryDirectory(prefix="fieldwatch-") as folder:
        run = folders.RunDirectory(Path(folder))
        try:
            models = folders.state_dir(settings.runtime.state_dir)
            home = Home(run.path, _made(out), os.dup(1), uris, settings.digest(), models_dir=models, stands_for=camera)
            return _serve(_writing_to(out, msgspec.structs.replace(settings, cameras=cameras)), home)
        finally:
            run.close()


def _serve(settings: Settings, home: Home) -> Ending:
    with ExitStack() as kept:
        for folder in {home.state_dir.resolve(), Path(settings.emit.folder).resolve()}:
            kept.enter_context(folders.held(folder, "give this daemon a --state-dir and emit.folder of its own"))
        return _run(settings, home)


def _run(settings: Settings, home: Home) -> Ending:
    supervisor = Supervisor(settings, home)
    log.info("starting", cameras=len(settings.cameras), events=settings.emit.folder)
    try:
        supervisor.start()
        supervisor.watch()
        blind = [] if supervisor.stopping else supervisor.blind()
    finally:
        supervisor.stop()
        log.info("stopped")
    return Ending(blind, _left(home.state_dir / entries.FOLDER, settings.emit.sinks), supervisor.given_up())


def _left(folder: Path, sinks: tuple[str, ...]) -> dict[str, int]:
    """Count the events of a log that a sink has not got."""
    places = cursor.all_of(entries.cursors(folder))
    kept = [name for name in sinks if name not in PASSING_SINKS]
    counts = {name: reader.waiting(folder, places.get(name, cursor.LogPlace()).position) for name in kept}
    return {name: count for name, count in counts.items() if count}


def _writing_to(folder: Path, settings: Settings) -> Settings:
    return msgspec.structs.replace(settings, emit=msgspec.structs.replace(settings.emit, folder=str(folder)))


def _made(folder: Path) -> Path:
    """Make a folder that the daemon cannot do without."""
    if not _writable(folder):
        raise RunDirectoryError(f"{folder}: not writable: choose another --state-dir")
    return folder


def _for_events(folder: Path) -> Path:
    """Make the folder of events; where it can only be read just now, events wait in the log, and cameras go on."""
    if not _writable(folder):
        log.warning("events_wait", reason=f"{folder}: not writable")
    return folder


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o750, parents=True, exist_ok=True)  # pictures of people are nobody else's business
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}: set runtime.state_dir, emit.folder or --state-dir") from error
    return os.access(folder, os.W_OK | os.X_OK)
