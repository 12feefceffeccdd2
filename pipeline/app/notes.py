"""Propose, confirm, add, list and remove standing notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core import files
from pipeline.core.note import notebook
from pipeline.core.note.clauses import compile_note
from pipeline.core.note.notes import confirm_note, read_polarity
from pipeline.core.verdict import phrases
from pipeline.runtime import folders

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.app.site import Site
    from pipeline.core.note.notebook import Entry, Notebook
    from pipeline.core.note.notes import Note, Polarity
    from pipeline.core.settings import Settings


class NoteFindings(NamedTuple):
    """What the author of a note should know before confirming it."""

    unread: tuple[str, ...]
    unknown: tuple[str, ...]  # places that are no zone of the site
    zones: dict[str, tuple[str, ...]]  # places and the zones that they may be
    against: list[tuple[str, str]]  # ids of contradicting notes, each with a sentence about the contradiction


class Proposal(NamedTuple):
    """A note that was read but not confirmed yet.

    Attributes:
        note: The note with its readings.
        camera: Name of the only camera that it applies to; empty: all.
        findings: What its author should know.
    """

    note: Note
    camera: str
    findings: NoteFindings


def read_notes(site: Site) -> Notebook:
    """Read the notes of a site. Raises NoteError."""
    return notebook.load(site.notes_file)


def propose(site: Site, text: str, camera: str, polarity: Polarity | None) -> Proposal:
    """Read a note, and find its problems: unread parts, places without a zone, contradicting notes.

    Args:
        site: The site whose zones and notes are used.
        text: A sentence or two.
        camera: Name of the only camera that it applies to; empty: all.
        polarity: The polarity that the author gives; None: none given.

    Raises:
        ConfigError: The configuration has no such camera.
        NoteError: The text is no note, the note exists already, or the notes cannot be read.
    """
    site.check_camera(camera)
    book = read_notes(site)
    note = compile_note(text, site.lexicon)
    note = confirm_note(note, polarity) if polarity else note
    book.with_note(note, camera)
    zones: dict[str, tuple[str, ...]] = {}
    if names := _zone_names(site.settings, camera):
        for reading in note.readings:
            zones |= phrases.find_zones(reading, names, site.lexicon)
    unknown = tuple(where for where, found in zones.items() if not found)
    return Proposal(
        note, camera, NoteFindings(note.unread, unknown, zones, notebook.find_contradictions(book, note, camera))
    )


def confirm(proposal: Proposal) -> Proposal:
    """Mark the readings of a note as confirmed by its author."""
    return proposal._replace(note=confirm_note(proposal.note, read_polarity(proposal.note.readings)))


def add(site: Site, proposal: Proposal) -> Entry:
    """Add a note to the notes of a site. Raises NoteError, RunDirectoryError, OSError."""
    return _update_notebook(site, lambda latest: latest.with_note(proposal.note, proposal.camera)).notes[-1]


def remove(site: Site, identifiers: Sequence[str]) -> None:
    """Remove notes: all of them, or none if one does not exist. Raises NoteError, RunDirectoryError, OSError."""
    read_notes(site).without_notes(*identifiers)  # raises before a folder is created
    _update_notebook(site, lambda latest: latest.without_notes(*identifiers))


def _update_notebook(site: Site, change: Callable[[Notebook], Notebook]) -> Notebook:
    """Change the notes file under a lock, so that concurrent changes are kept."""
    path = site.notes_file
    files.own_folder(path.parent)
    with folders.one_at_a_time(path.with_suffix(".lock")):
        changed = change(notebook.load(path))
        files.replace(path, notebook.encode(changed))
    return changed


def _zone_names(settings: Settings, camera: str) -> list[str]:
    """Return the names of the zones and places of a site, or of one camera."""
    cameras = {name: row for name, row in settings.cameras.items() if camera in ("", name)}
    names = [name for row in cameras.values() for key, zone in row.zones.items() for name in (zone.name or key, key)]
    return [*names, *(row.place or name for name, row in cameras.items())]
