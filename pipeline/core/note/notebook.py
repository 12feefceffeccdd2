"""The standing notes of a device as they are kept, sentence and confirmed reading: `notes.json` of the state folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from pipeline.core import files
from pipeline.core.decoding import decode
from pipeline.core.errors import NoteError
from pipeline.core.note import notes as compiling
from pipeline.core.note.notes import Note, Reading

if TYPE_CHECKING:
    from pathlib import Path

FILE = "notes.json"
FORMAT = 1
MOST = 500
"""Notes that a device keeps; nobody could oversee more."""


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A note that somebody confirmed.

    Attributes:
        id: Unique within the file, n1, n2 and so on; never given twice.
        text: The sentence.
        readings: As confirmed.
        camera: The only camera it holds for; empty: all of the site.
    """

    id: Annotated[str, Meta(pattern=r"^n[1-9][0-9]{0,8}$")]
    text: Annotated[str, Meta(min_length=1, max_length=compiling.MOST_CHARACTERS)]
    readings: tuple[Reading, ...]
    camera: str = ""

    @property
    def note(self) -> Note:
        """The note as verdicts take it."""
        return Note(self.text, self.readings)


class Notebook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All notes, oldest first.

    Attributes:
        format: Of this file.
        next: The number of the next note.
        notes: In the order in which they were added, which is how verdicts count them.
    """

    format: int = FORMAT
    next: int = 1
    notes: tuple[Entry, ...] = ()

    def added(self, note: Note, camera: str) -> Notebook:
        """Return the book with one more note.

        Raises:
            NoteError: It is full, or has this very note.
        """
        if len(self.notes) >= MOST:
            raise NoteError(f"there are {MOST} notes already: `pipeline notes remove` those that no longer hold")
        for entry in self.notes:
            if entry.text == note.text and entry.camera == camera:
                raise NoteError(f"this note is there already, as {entry.id}")
        number = max([self.next, *(int(entry.id[1:]) + 1 for entry in self.notes)])
        entry = Entry(f"n{number}", note.text, note.readings, camera)
        return Notebook(FORMAT, number + 1, (*self.notes, entry))

    def removed(self, *identifiers: str) -> Notebook:
        """Return the book without some notes. Raises NoteError: there is none of one of these names."""
        known = [entry.id for entry in self.notes]
        for identifier in identifiers:
            if identifier not in known:
                there = ", ".join(known) or "none"
                raise NoteError(f"no note `{identifier}`: there are {there}; `pipeline notes list` shows them")
        return msgspec.structs.replace(self, notes=tuple(one for one in self.notes if one.id not in identifiers))

    def of(self, camera: str) -> tuple[Entry, ...]:
        """Return the notes that hold for a camera."""
        return tuple(entry for entry in self.notes if entry.camera in ("", camera))


def load(path: Path) -> Notebook:
    """Read a file of notes; where there is none, there are no notes.

    Raises:
        NoteError: It cannot be read, or is of another format.
    """
    try:
        found = decode(files.read_bounded(path), Notebook)
    except FileNotFoundError:
        return Notebook()
    except (OSError, msgspec.MsgspecError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NoteError(
            f"{path}: cannot be read: {reason}: restore it, or move it away and add the notes anew"
        ) from error
    if found.format != FORMAT:
        raise NoteError(f"{path}: is of format {found.format}, known is {FORMAT}: it was written by another version")
    if len(found.notes) > MOST:
        raise NoteError(f"{path}: holds {len(found.notes)} notes, at most {MOST}: remove some")
    if len({entry.id for entry in found.notes}) < len(found.notes):
        raise NoteError(f"{path}: two notes have one id: restore it, or move it away and add the notes anew")
    return found


def encoded(book: Notebook) -> bytes:
    """The file's content. Raises NoteError: a note is no text."""
    try:
        return msgspec.json.format(msgspec.json.encode(book), indent=1) + b"\n"
    except UnicodeEncodeError as error:  # bytes of a command line that were not UTF-8
        raise NoteError(
            "the note or its camera is no UTF-8 text: set the terminal to UTF-8 and write it anew"
        ) from error


def against(book: Notebook, note: Note, camera: str) -> list[tuple[str, str]]:
    """Name every note that says the opposite of a new one: its identifier, and a sentence about both."""
    others = book.of(camera) if camera else book.notes
    found = []
    for entry in others:
        found += [(entry.id, found_.text) for found_ in compiling.contradictions([entry.note, note])]
    return found
