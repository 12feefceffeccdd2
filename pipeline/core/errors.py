"""All exceptions the project raises, in one tree."""

from __future__ import annotations

from pipeline.core.printing import make_lines_printable


class PipelineError(Exception):
    """Base: catch this to catch everything of ours. The text names the thing and the remedy.

    What it names may come from a file: nothing of the text acts on a terminal, wherever it is shown.
    """

    def __str__(self) -> str:
        return make_lines_printable(super().__str__())


class ConfigError(PipelineError):
    """The configuration cannot be used; the text names file, line and key."""


class DamagedError(ConfigError):
    """A file that was named is damaged; the text names it and the first place that is."""


class TopologyError(PipelineError):
    """The tables of stages and links do not fit together, or a stage did not become ready."""


class RunDirectoryError(PipelineError):
    """A folder of the daemon is taken by another daemon, is not private, or belongs to another user."""


class FrameOverwrittenError(PipelineError):
    """The ring has moved on; drop the message. Expected under load."""


class FrameTooLargeError(PipelineError):
    """A picture does not fit a slot of the ring, or there is no memory for it."""


class ModelError(PipelineError):
    """A model file is missing, damaged, or not what its row in the catalogue says."""


class StageBrokenError(PipelineError):
    """A stage cannot be trusted any more: its process has to be replaced."""


class EngineError(PipelineError):
    """The engine of a language model was asked for something impossible; it is as it was."""


class SourceError(PipelineError):
    """A source of pictures cannot be opened or read; the text is for the operator, without credentials."""


class EventLogError(PipelineError):
    """The event log cannot be opened; the text names its folder."""


class SinkUnavailableError(PipelineError):
    """A sink cannot take an event now; the event stays in the log and is offered again."""


class SinkBusyError(PipelineError):
    """A sink still works on what it was given; nothing is wrong, and the event is offered again."""


class NoteError(PipelineError):
    """A standing note cannot be taken; the text says why and what to write instead."""
