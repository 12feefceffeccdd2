"""Search incidents whose pictures fit a text, best first."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from models import catalog
from models.search import TextSearch
from models.sentences import open_sentences
from models.tags import TagTable
from pipeline.app.events import collect_remarks
from pipeline.core.decoding import decode_whole
from pipeline.core.errors import ConfigError
from pipeline.core.incident import likeness
from pipeline.core.incident.eventfiles import Rank, Reader, rank
from pipeline.core.incident.eventlines import EventLine
from pipeline.core.note import words
from pipeline.resources import config_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from models.search import QueryMeaning

_SIZE = 384


class FoundIncident(NamedTuple):
    """An incident and its score, -1..1."""

    incident: str
    score: float
    time: str
    camera: str
    what: str
    picture: str


class SearchResult(NamedTuple):
    """The result of a search.

    Attributes:
        query: The text.
        meant: How the text was understood.
        found: All incidents with features, best first.
        remarks: About events that are unreadable, deleted, or not written yet.
        damaged: Whether some lines are no events.
    """

    query: str
    meant: QueryMeaning
    found: tuple[FoundIncident, ...]
    remarks: tuple[str, ...]
    damaged: bool


def search(path: Path, query: str) -> SearchResult:
    """Rank the incidents of files of events by a text.

    Raises:
        ConfigError: The text is empty or names nothing that pictures show, or no incident has features.
    """
    if not query.strip():
        raise ConfigError("say what to look for, e.g. `pipeline events search events.jsonl van`")
    reader = Reader(path)
    rows = list(read_features(reader))
    if not rows:
        why = "no incident in it has features: they come with `incident.end` where there are tags"
        raise ConfigError("; ".join((f"{path}: {why}", *reader.complaints())))
    lexicon = words.load(config_file("words.toml"))
    finder = TextSearch(TagTable.load(catalog.verified_path("conse-minilm")), lexicon, open_sentences())
    meant = finder.understand(query)
    if not meant.shares:
        raise ConfigError(
            f"`{query}` is no kind of thing or scene: pictures tell neither colours nor sizes, numbers or actions"
        )
    scores = finder.rank(query, [vector for _, _, vector in rows])
    found = [_make_result(line, event, score) for (line, event, _), score in zip(rows, scores, strict=True)]
    best = tuple(sorted(found, key=lambda one: -one.score))
    return SearchResult(query, meant, best, tuple(collect_remarks(reader)), bool(reader.damaged))


def read_features(reader: Reader) -> Iterator[tuple[bytes, EventLine, NDArray[np.float32]]]:
    """Yield, for every incident, its newest event with features: the line, the decoded event, the features (384,)."""
    rows: dict[tuple[str, str], tuple[Rank, bytes, EventLine, NDArray[np.float32]]] = {}
    for line, event in reader.events(EventLine):
        vector, ranked = _read_vector(event), rank(event.type, event)
        old = rows.get((event.source, event.subject))
        if vector is not None and (old is None or ranked >= old[0]):
            rows[event.source, event.subject] = ranked, line, event, vector
    for _, line, event, vector in rows.values():
        yield line, event, vector


def _read_vector(event: EventLine) -> NDArray[np.float32] | None:
    """Decode the features (384,) float32 of an event; None if it has none or they are damaged."""
    if event.data.features is None:
        return None
    try:
        stored = base64.b64decode(event.data.features.vector, validate=True)
    except ValueError:  # also binascii.Error, and letters that are in no base 64
        return None
    if len(stored) != 2 * _SIZE:
        return None
    found = likeness.vector(stored)
    return found if np.isfinite(found).all() else None


def _make_result(line: bytes, event: EventLine, score: float) -> FoundIncident:
    picture = event.data.evidence[-1].ref if event.data.evidence else ""
    return FoundIncident(
        event.subject, round(score, 4), decode_whole(line)["time"], event.camera, event.data.scene.label, picture
    )
