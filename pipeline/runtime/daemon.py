"""The daemon: folders, supervisor, and the way down."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog

from pipeline.core import files
from pipeline.core.errors import ConfigError, RunDirectoryError
from pipeline.core.redaction import redacted
from pipeline.runtime import folders, logs
from pipeline.runtime.replay import address, like
from pipeline.runtime.supervisor import Home, Supervisor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.core.settings import Settings
    from pipeline.core.vocabulary import CameraId
    from pipeline.runtime.replay import Recording

log = structlog.get_logger()


def serve(
    settings: Settings, run_dir: Path | None, state_dir: Path | None, level: str, warnings: Sequence[str] = ()
) -> list[CameraId]:
    """Watch the cameras until told to stop or until all have ended; return the blind ones. Raises PipelineError.

    `warnings`: what is to be logged of the configuration's file.
    """
    logs.configure(level, stage="supervisor")
    for warning in warnings:
        log.warning("configuration", reason=warning)
    uris = {name: redacted(camera.source) for name, camera in settings.cameras.items()}
    run = folders.RunDirectory(run_dir or folders.run_dir(settings.runtime.run_dir))
    try:
        files.own_folder(state := state_dir or folders.state_dir(settings.runtime.state_dir))
        folder = _made(Path(settings.emit.folder)) if settings.emit.folder else state
        home = Home(run.path, state, os.dup(1), uris, settings.digest(), level, state)
        return _serve(_writing_to(folder, settings), home)
    finally:
        run.close()


def replay_live(settings: Settings, recordings: list[Recording], camera: str, out: Path) -> list[CameraId]:
    """Send recordings through the real processes at camera speed, each as a camera; return those that were blind."""
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


def _serve(settings: Settings, home: Home) -> list[CameraId]:
    with ExitStack() as kept:
        for folder in {home.state_dir.resolve(), Path(settings.emit.folder).resolve()}:
            kept.enter_context(folders.held(folder, "give this daemon a --state-dir and emit.folder of its own"))
        return _run(settings, home)


def _run(settings: Settings, home: Home) -> list[CameraId]:
    """Return the cameras of which no picture came, where all sources have ended; none where we were told to stop."""
    supervisor = Supervisor(settings, home)
    log.info("starting", cameras=len(settings.cameras), events=settings.emit.folder)
    try:
        supervisor.start()
        supervisor.watch()
        return [] if supervisor.stopping else supervisor.blind()
    finally:
        supervisor.stop()
        log.info("stopped")


def _writing_to(folder: Path, settings: Settings) -> Settings:
    return msgspec.structs.replace(settings, emit=msgspec.structs.replace(settings.emit, folder=str(_made(folder))))


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o750, parents=True, exist_ok=True)  # pictures of people are nobody else's business
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}: set runtime.state_dir, emit.folder or --state-dir") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RunDirectoryError(f"{folder}: not writable: choose another --state-dir")
    return folder
