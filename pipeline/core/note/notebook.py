"""The file of a device's standing notes with their confirmed readings: `notes.json` of the state folder."""

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
MAX_NOTES = 500
"""Largest number of notes of a device."""


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A confirmed note.

    Attributes:
        id: Unique in the file: n1, n2 and so on; never used again.
        text: The text of the note.
        readings: The confirmed readings.
        camera: Name of the only camera that it applies to; empty: all.
    """

    id: Annotated[str, Meta(pattern=r"^n[1-9][0-9]{0,8}$")]
    text: Annotated[str, Meta(min_length=1, max_length=compiling.MAX_CHARACTERS)]
    readings: tuple[Reading, ...]
    camera: str = ""

    @property
    def note(self) -> Note:
        """The entry as a note for verdicts."""
        return Note(self.text, self.readings)


class Notebook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All notes, oldest first.

    Attributes:
        format: The format of the file.
        next: The number of the next note.
        notes: The notes in the order in which they were added; verdicts refer to them by this order.
    """

    format: int = FORMAT
    next: int = 1
    notes: tuple[Entry, ...] = ()

    def with_note(self, note: Note, camera: str) -> Notebook:
        """Return the book with one more note.

        Raises:
            NoteError: The book is full, or has the same note.
        """
        if len(self.notes) >= MAX_NOTES:
            raise NoteError(f"there are {MAX_NOTES} notes already: `pipeline notes remove` those that no longer hold")
        for entry in self.notes:
            if entry.text == note.text and entry.camera == camera:
                raise NoteError(f"this note is there already, as {entry.id}")
        number = max([self.next, *(int(entry.id[1:]) + 1 for entry in self.notes)])
        entry = Entry(f"n{number}", note.text, note.readings, camera)
        return Notebook(FORMAT, number + 1, (*self.notes, entry))

    def without_notes(self, *identifiers: str) -> Notebook:
        """Return the book without some notes. Raises NoteError if one of them does not exist."""
        known = [entry.id for entry in self.notes]
        for identifier in identifiers:
            if identifier not in known:
                there = ", ".join(known) or "none"
                raise NoteError(f"no note `{identifier}`: there are {there}; `pipeline notes list` shows them")
        return msgspec.structs.replace(self, notes=tuple(one for one in self.notes if one.id not in identifiers))

    def notes_for(self, camera: str) -> tuple[Entry, ...]:
        """Return the notes that apply to a camera."""
        return tuple(entry for entry in self.notes if entry.camera in ("", camera))


def load(path: Path) -> Notebook:
    """Read a file of notes; empty if there is no file.

    Raises:
        NoteError: The file cannot be read, or has another format.
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
    if len(found.notes) > MAX_NOTES:
        raise NoteError(f"{path}: holds {len(found.notes)} notes, at most {MAX_NOTES}: remove some")
    if len({entry.id for entry in found.notes}) < len(found.notes):
        raise NoteError(f"{path}: two notes have one id: restore it, or move it away and add the notes anew")
    return found


def encode(book: Notebook) -> bytes:
    """Encode a notebook as the bytes of the file. Raises NoteError if a text is not valid UTF-8."""
    try:
        return msgspec.json.format(msgspec.json.encode(book), indent=1) + b"\n"
    except UnicodeEncodeError as error:  # bytes of a command line that were not UTF-8
        raise NoteError(
            "the note or its camera is no UTF-8 text: set the terminal to UTF-8 and write it anew"
        ) from error


def find_contradictions(book: Notebook, note: Note, camera: str) -> list[tuple[str, str]]:
    """Find the notes that contradict a new one; return their ids, each with a sentence about the contradiction."""
    others = book.notes_for(camera) if camera else book.notes
    found = []
    for entry in others:
        found += [(entry.id, found_.text) for found_ in compiling.find_contradictions([entry.note, note])]
    return found
