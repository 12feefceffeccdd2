"""Standing notes: one proposed, confirmed and kept; those that there are; some forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core import files
from pipeline.core.note import notebook
from pipeline.core.note.clauses import compile_note
from pipeline.core.note.notes import confirmed, polarity_of
from pipeline.core.verdict import phrases
from pipeline.runtime import folders

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.app.site import Site
    from pipeline.core.note.notebook import Entry, Notebook
    from pipeline.core.note.notes import Note, Polarity
    from pipeline.core.settings import Settings


class Findings(NamedTuple):
    """What its author should know before a note is confirmed."""

    unread: tuple[str, ...]
    unknown: tuple[str, ...]  # places that are no zone of the site
    zones: dict[str, tuple[str, ...]]  # places and the zones that they may be
    against: list[tuple[str, str]]  # notes that say the opposite, and a sentence about both


class Proposal(NamedTuple):
    """A note as it was read, which nobody has confirmed yet.

    Attributes:
        note: With its readings.
        camera: The only one it is for; empty: all.
        findings: What is to be known of it.
    """

    note: Note
    camera: str
    findings: Findings


def notes(site: Site) -> Notebook:
    """Read all notes. Raises NoteError."""
    return notebook.load(site.notes_file)


def propose(site: Site, text: str, camera: str, polarity: Polarity | None) -> Proposal:
    """Read a note, and look it over: what was not read, places that no zone has, notes that say the opposite.

    Args:
        site: Whose zones and notes.
        text: A sentence or two.
        camera: The only one it is for; empty: all.
        polarity: What its author says that it says; None: nothing.

    Raises:
        ConfigError: The configuration file has no such camera.
        NoteError: It cannot be taken, is there already, or the notes cannot be read.
    """
    site.check_camera(camera)
    book = notes(site)
    note = compile_note(text, site.lexicon)
    note = confirmed(note, polarity) if polarity else note
    book.added(note, camera)
    zones: dict[str, tuple[str, ...]] = {}
    if names := _zone_names(site.settings, camera):
        for reading in note.readings:
            zones |= phrases.zones_of(reading, names, site.lexicon)
    unknown = tuple(where for where, found in zones.items() if not found)
    return Proposal(note, camera, Findings(note.unread, unknown, zones, notebook.against(book, note, camera)))


def confirm(proposal: Proposal) -> Proposal:
    """Take a reading as its author does, who has seen it."""
    return proposal._replace(note=confirmed(proposal.note, polarity_of(proposal.note.readings)))


def add(site: Site, proposal: Proposal) -> Entry:
    """Keep a note. Raises NoteError, RunDirectoryError, OSError."""
    return _change(site, lambda latest: latest.added(proposal.note, proposal.camera)).notes[-1]


def remove(site: Site, identifiers: Sequence[str]) -> None:
    """Forget notes: all of these or, where one is not there, none. Raises NoteError, RunDirectoryError, OSError."""
    notes(site).removed(*identifiers)  # refused before a folder is made
    _change(site, lambda latest: latest.removed(*identifiers))


def _change(site: Site, change: Callable[[Notebook], Notebook]) -> Notebook:
    """Change the notes as they are now: whoever changes them at the same time waits, and loses nothing."""
    path = site.notes_file
    files.own_folder(path.parent)
    with folders.one_at_a_time(path.with_suffix(".lock")):
        changed = change(notebook.load(path))
        files.replace(path, notebook.encoded(changed))
    return changed


def _zone_names(settings: Settings, camera: str) -> list[str]:
    """What people call the zones and places of a site, or of one camera."""
    cameras = {name: row for name, row in settings.cameras.items() if camera in ("", name)}
    names = [name for row in cameras.values() for key, zone in row.zones.items() for name in (zone.name or key, key)]
    return [*names, *(row.place or name for name, row in cameras.items())]
