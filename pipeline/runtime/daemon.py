"""The daemon: folders, supervisor, and the way down."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
import structlog

from pipeline.core.errors import ConfigError, RunDirectoryError
from pipeline.core.redaction import redacted
from pipeline.core.vocabulary import CameraId
from pipeline.runtime import folders, logs
from pipeline.runtime.replay import like
from pipeline.runtime.supervisor import Home, Supervisor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.runtime.replay import Recording

log = structlog.get_logger()


def serve(settings: Settings, run_dir: Path | None, state_dir: Path | None, level: str) -> None:
    """Watch the cameras until told to stop. Raises PipelineError."""
    logs.configure(level, stage="supervisor")
    run = folders.RunDirectory(run_dir or folders.run_dir(settings.runtime.run_dir))
    try:
        state = _made(state_dir or folders.state_dir(settings.runtime.state_dir))
        folder = Path(settings.emit.folder) if settings.emit.folder else state
        emit = msgspec.structs.replace(settings.emit, folder=str(_made(folder)))
        _serve(msgspec.structs.replace(settings, emit=emit), run, state, settings.digest(), {}, level)
    finally:
        run.close()


def replay_live(settings: Settings, recordings: list[Recording], camera: str, out: Path) -> None:
    """Send recordings through the real processes at camera speed, each as a camera of its own."""
    logs.configure("info", stage="supervisor")
    row = like(settings, camera)
    cameras = {
        recording.camera: msgspec.structs.replace(row, source=f"file://{quote(str(recording.path.resolve()))}")
        for recording in recordings
    }
    emit = msgspec.structs.replace(settings.emit, folder=str(_made(out)))
    digest, named = settings.digest(), {recording.camera: recording.name for recording in recordings}
    settings = msgspec.structs.replace(settings, cameras=cameras, emit=emit)
    with tempfile.TemporaryDirectory(prefix="fieldwatch-") as folder:
        run = folders.RunDirectory(Path(folder))
        try:
            _serve(settings, run, out, digest, named, "info")
        finally:
            run.close()


def _serve(
    settings: Settings,
    run: folders.RunDirectory,
    state: Path,
    digest: str,
    uris: Mapping[CameraId, str],
    level: str,
) -> None:
    named = {name: uris.get(name) or redacted(camera.source) for name, camera in settings.cameras.items()}
    supervisor = Supervisor(settings, Home(run.path, state, os.dup(1), named, digest, level))
    log.info("starting", cameras=len(settings.cameras), events=settings.emit.folder, swept=run.swept)
    try:
        supervisor.start()
        supervisor.watch()
    finally:
        supervisor.stop()
        log.info("stopped")


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}: set runtime.state_dir, emit.folder or --state-dir") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RunDirectoryError(f"{folder}: not writable: choose another --state-dir")
    return folder
