"""Incidents by words: those whose pictures fit a text, best first."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from models import catalog
from models.search import TextSearch
from models.sentences import open_sentences
from models.tags import TagTable
from pipeline.app.events import remarks
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

    from models.search import Meant

_SIZE = 384


class Found(NamedTuple):
    """An incident and how well the text fits it, -1..1."""

    incident: str
    score: float
    time: str
    camera: str
    what: str
    picture: str


class Search(NamedTuple):
    """What a search found.

    Attributes:
        query: The text.
        meant: What it was taken for.
        found: All incidents with features, best first.
        remarks: What could not be read, what is not kept, and what is not in the files yet.
        damaged: Whether some lines are no events.
    """

    query: str
    meant: Meant
    found: tuple[Found, ...]
    remarks: tuple[str, ...]
    damaged: bool


def search(path: Path, query: str) -> Search:
    """Rank the incidents of files of events by a text.

    Raises:
        ConfigError: The text is empty, or like nothing that pictures tell, or no incident has features.
    """
    if not query.strip():
        raise ConfigError("say what to look for, e.g. `pipeline events search events.jsonl van`")
    reader = Reader(path)
    rows = list(featured(reader))
    if not rows:
        why = "no incident in it has features: they come with `incident.end` where there are tags"
        raise ConfigError("; ".join((f"{path}: {why}", *reader.complaints())))
    lexicon = words.load(config_file("words.toml"))
    finder = TextSearch(TagTable.load(catalog.verified("conse-minilm")), lexicon, open_sentences())
    meant = finder.meant(query)
    if not meant.shares:
        raise ConfigError(
            f"`{query}` is no kind of thing or scene: pictures tell neither colours nor sizes, numbers or actions"
        )
    scores = finder.rank(query, [vector for _, _, vector in rows])
    found = [_found(line, event, score) for (line, event, _), score in zip(rows, scores, strict=True)]
    best = tuple(sorted(found, key=lambda one: -one.score))
    return Search(query, meant, best, tuple(remarks(reader)), bool(reader.damaged))


def featured(reader: Reader) -> Iterator[tuple[bytes, EventLine, NDArray[np.float32]]]:
    """Yield of every incident the event that holds of those with features, as a line and read, and these."""
    rows: dict[tuple[str, str], tuple[Rank, bytes, EventLine, NDArray[np.float32]]] = {}
    for line, event in reader.events(EventLine):
        vector, ranked = _vector(event), rank(event.type, event)
        old = rows.get((event.source, event.subject))
        if vector is not None and (old is None or ranked >= old[0]):
            rows[event.source, event.subject] = ranked, line, event, vector
    for _, line, event, vector in rows.values():
        yield line, event, vector


def _vector(event: EventLine) -> NDArray[np.float32] | None:
    """The picture's vector; None where there is none that can be read."""
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


def _found(line: bytes, event: EventLine, score: float) -> Found:
    picture = event.data.evidence[-1].ref if event.data.evidence else ""
    return Found(
        event.subject, round(score, 4), decode_whole(line)["time"], event.camera, event.data.scene.label, picture
    )
