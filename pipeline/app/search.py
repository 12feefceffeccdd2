"""Incidents by words: those whose pictures fit a text, best first."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from models import catalog
from models.search import TextSearch
from models.sentences import open_sentences
from models.tags import TagTable
from pipeline.app.events import remarks
from pipeline.core.errors import ConfigError
from pipeline.core.incident import likeness
from pipeline.core.incident.eventfiles import Head, Rank, Reader, rank
from pipeline.core.note import words
from pipeline.resources import config_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from models.search import Meant

_SIZE = 384


class _Features(msgspec.Struct, frozen=True):
    vector: str = ""


class _Scene(msgspec.Struct, frozen=True):
    label: str = ""


class _Evidence(msgspec.Struct, frozen=True):
    ref: str = ""


class _Data(msgspec.Struct, frozen=True):
    features: _Features | None = None
    scene: _Scene = _Scene()
    evidence: tuple[_Evidence, ...] = ()


class _Shape(Head, frozen=True):
    """What is read here of an event."""

    time: str
    subject: str
    source: str
    data: _Data
    type: str = ""


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
        raise ConfigError(f"{path}: no incident in it has features: they come with `incident.end` where there are tags")
    lexicon = words.load(config_file("words.toml"))
    finder = TextSearch(TagTable.load(catalog.verified("conse-minilm")), lexicon, open_sentences())
    meant = finder.meant(query)
    if not meant.shares:
        raise ConfigError(
            f"`{query}` is no kind of thing or scene: pictures tell neither colours nor sizes, numbers or actions"
        )
    scores = finder.rank(query, [vector for _, vector in rows])
    found = [_found(event, score) for (event, _), score in zip(rows, scores, strict=True)]
    best = tuple(sorted(found, key=lambda one: -one.score))
    return Search(query, meant, best, tuple(remarks(reader)), bool(reader.damaged))


def featured(reader: Reader) -> Iterator[tuple[_Shape, NDArray[np.float32]]]:
    """Yield of every incident the event that holds of those with features, and these."""
    rows: dict[tuple[str, str], tuple[Rank, _Shape, NDArray[np.float32]]] = {}
    for _, event in reader.events(_Shape):
        vector, ranked = _vector(event), rank(event.type, event)
        old = rows.get((event.source, event.subject))
        if vector is not None and (old is None or ranked >= old[0]):
            rows[event.source, event.subject] = ranked, event, vector
    for _, event, vector in rows.values():
        yield event, vector


def _vector(event: _Shape) -> NDArray[np.float32] | None:
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


def _found(event: _Shape, score: float) -> Found:
    camera = event.source.rpartition("/camera/")[2]
    picture = event.data.evidence[-1].ref if event.data.evidence else ""
    return Found(event.subject, round(score, 4), event.time, camera, event.data.scene.label, picture)
