"""Compare the incidents of recordings with what people saw; write down what was found as a truth to correct."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipeline.app import replay as replays
from pipeline.core import files
from pipeline.core.decoding import decode
from pipeline.core.errors import ConfigError, DamagedError
from pipeline.core.eval.figures import figures_of, figures_of_clip, figures_of_tags
from pipeline.core.eval.found import collect_incidents, propose_truth
from pipeline.core.eval.scoring import add_up, find_worst, score_clip
from pipeline.core.eval.truth import ClipTruth, parse_truth, write_truth
from pipeline.core.incident.eventfiles import Reader
from pipeline.core.incident.eventlines import EventLine
from pipeline.core.printing import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from pipeline.app.site import Site
    from pipeline.core.eval.found import FoundIncident
    from pipeline.core.eval.scoring import Judged, ScoredClip

MOST_PICTURES = 12
"""Incidents that are shown with their pictures."""

_SUMMARY = "summary.json"
_USELESS = frozenset({"unreadable", "failed"})


class ReplayChoice(NamedTuple):
    """How recordings are replayed.

    Attributes:
        site: The site whose settings are used.
        camera: The camera whose zones and rules hold; empty: none.
        jobs: Recordings at once; None: as many as there are cores.
        report: Called a few times a second with the progress.
    """

    site: Site
    camera: str
    jobs: int | None
    report: Callable[[replays.Progress], None]


class WorstCase(NamedTuple):
    """An incident that is false or mislabelled, with its picture; empty: there is none."""

    clip: str
    judged: Judged
    picture: bytes


class EventScores(NamedTuple):
    """How well incidents tell what was there.

    Attributes:
        clips: The recordings that were compared, in the order of the truth.
        worst: Incidents that are wrong, the worst first, at most `MOST_PICTURES`.
        remarks: What was not compared, and why.
        figures: All figures by name, as `--json` prints them.
    """

    clips: list[ScoredClip]
    worst: list[WorstCase]
    remarks: list[str]
    figures: dict[str, Any]


class Labelled(NamedTuple):
    """What was written down: number of clips and of things, and remarks."""

    clips: int
    things: int
    remarks: list[str]


class _Input(msgspec.Struct, frozen=True):
    """A recording in the summary of a replay."""

    name: str
    status: str = "whole"
    reason: str = ""
    media_s: float = 0.0


class _Summary(msgspec.Struct, frozen=True):
    inputs: tuple[_Input, ...]


class _Replayed(NamedTuple):
    """What a replay left: incidents by recording, the recordings, and remarks about the events."""

    incidents: dict[str, list[FoundIncident]]
    inputs: tuple[_Input, ...]
    remarks: list[str]


def score_replay(paths: Sequence[Path], truth: Path, choice: ReplayChoice) -> EventScores:
    """Replay the recordings of which there is a truth, and compare the incidents with it.

    Raises:
        ConfigError: The truth cannot be read, there is no recording, or none of which there is a truth.
        RunDirectoryError, OSError: As `replay` raises them.
    """
    known = _read_truth(truth)
    found = replays.find_recordings(paths)
    names = [one.name for one in found]
    _check_common(truth, known, names)
    with replays.output_folder(None) as folder:
        _replay(choice, [one for one in found if one.name in known], folder)
        return _score(known, _read_replay(folder), names, folder)


def score_events(events: Path, paths: Sequence[Path], truth: Path) -> EventScores:
    """Compare the incidents of an earlier replay with what people saw.

    Args:
        events: The events that `pipeline replay --out` wrote; its summary lies beside them.
        paths: Recordings to look at; empty: all that were replayed.
        truth: What people saw.

    Raises:
        ConfigError: The truth, the events or the summary cannot be read, or they have no recording in common.
        OSError: A file cannot be read.
    """
    known = _read_truth(truth)
    replayed = _read_replay(events)
    names = [one.name for one in replayed.inputs]
    if paths:
        wanted = {one.name for one in replays.find_recordings(paths)}
        if away := sorted(wanted.difference(names)):
            raise ConfigError(f"{events}: was not made of {', '.join(away)}: replay these too")
        names = [name for name in names if name in wanted]
    _check_common(truth, known, names)
    return _score(known, replayed, names, events if events.is_dir() else events.parent)


def label(paths: Sequence[Path], out: Path, choice: ReplayChoice) -> Labelled:
    """Replay recordings, and write down what was found in them as a truth that people correct.

    Raises:
        ConfigError: There is such a file already, or no recording.
        RunDirectoryError, OSError: As `replay` raises them; or the file cannot be written.
    """
    if out.exists() or out.is_symlink():
        raise ConfigError(f"{out}: is there already, and may be corrected: name another file, or move it away")
    if not out.parent.is_dir():
        raise ConfigError(f"{out.parent}: no such folder: make it first")
    with replays.output_folder(None) as folder:
        _replay(choice, replays.find_recordings(paths), folder)
        found = _read_replay(folder)
    clips, remarks = dict[str, ClipTruth](), [*found.remarks, *_tell_states(found.inputs)]
    for one in _usable(found.inputs):
        incidents = found.incidents.get(one.name, [])
        clips[one.name], nameless = propose_truth(incidents)
        if nameless:
            remarks.append(f"{one.name}: {counted(nameless, 'thing')} left out: nobody could name them")
        if empty := sum(not incident.things for incident in incidents):
            remarks.append(f"{one.name}: {counted(empty, 'incident')} without things: look there too")
    with out.open("xb") as file:  # not there a moment ago either
        file.write(write_truth(clips))
    return Labelled(len(clips), sum(len(clip.things) for clip in clips.values()), remarks)


def _read_truth(path: Path) -> dict[str, ClipTruth]:
    return parse_truth(files.read_bounded(path, follow=True), str(path))


def _check_common(path: Path, truth: dict[str, ClipTruth], names: Sequence[str]) -> None:
    if not set(names) & set(truth):
        raise ConfigError(f"{path}: has none of these recordings, but {', '.join(truth)}; there are {', '.join(names)}")


def _replay(choice: ReplayChoice, recordings: list[replays.Recording], folder: Path) -> None:
    replays.replay(
        choice.site,
        recordings,
        folder,
        camera=choice.camera,
        began=None,
        jobs=choice.jobs,
        heat=None,
        report=choice.report,
    )


def _read_replay(path: Path) -> _Replayed:
    """Read events and the summary beside them. Raises ConfigError, OSError."""
    summary = (path if path.is_dir() else path.parent) / _SUMMARY
    if not summary.exists():
        raise ConfigError(
            f"{summary}: no such file: it says how long recordings are; `pipeline replay --out` writes it"
        )
    try:
        inputs = decode(files.read_bounded(summary, follow=True), _Summary).inputs
    except msgspec.DecodeError as error:
        raise DamagedError(f"{summary}: no summary of a replay ({error})") from error
    reader = Reader(path)
    incidents = collect_incidents(event for _, event in reader.events(EventLine))
    return _Replayed(incidents, inputs, reader.complaints())


def _score(truth: dict[str, ClipTruth], replayed: _Replayed, names: Sequence[str], folder: Path) -> EventScores:
    inputs = [one for one in replayed.inputs if one.name in truth and one.name in names]
    lengths = {one.name: one.media_s for one in _usable(inputs)}
    clips = [
        score_clip(name, known, replayed.incidents.get(name, []), lengths[name])
        for name, known in truth.items()
        if name in lengths
    ]
    unknown, missing = [name for name in names if name not in truth], [name for name in truth if name not in names]
    remarks = [
        *replayed.remarks,
        *(f"{name}: not compared: the truth has no such clip" for name in unknown),
        *(f"{name}: not compared: no such recording was given" for name in missing),
        *_tell_states(inputs),
    ]
    figures = {
        "clips": {clip.name: figures_of_clip(clip) for clip in clips},
        "all": figures_of(add_up(clip.score for clip in clips)),
        "nuisance": figures_of_tags(clips),
        "unknown_clips": unknown,
        "missing_clips": missing,
        "unusable_clips": [one.name for one in inputs if one.status in _USELESS],
    }
    return EventScores(clips, list(_show_worst(clips, folder)), remarks, figures)


def _usable(inputs: Iterable[_Input]) -> list[_Input]:
    return [one for one in inputs if one.status not in _USELESS]


def _tell_states(inputs: Iterable[_Input]) -> list[str]:
    return [
        f"{one.name}: {'left out, ' if one.status in _USELESS else ''}{one.status}: {one.reason}"
        for one in inputs
        if one.status != "whole"
    ]


def _show_worst(clips: Iterable[ScoredClip], folder: Path) -> Iterator[WorstCase]:
    for name, judged in find_worst(clips, MOST_PICTURES):
        yield WorstCase(name, judged, _read_picture(folder, judged.incident.pictures))


def _read_picture(folder: Path, names: Sequence[str]) -> bytes:
    """Read the best picture of an incident; empty: it has none, or it is kept no longer."""
    parts = names[-1].split("/") if names else []
    if not parts or not all(map(files.is_name, parts)):
        return b""
    try:
        return files.read_bounded(folder.joinpath(*parts))
    except OSError:  # deleted to make room; the page says that there is none
        return b""
