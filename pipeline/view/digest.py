"""A period in a few sentences, with the incidents behind each: for people who were away, and for programs."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from rich.text import Text

from models.asking.digest import DigestWriter
from models.asking.language import chosen
from models.llm import opening
from models.llm.mnn import Options
from pipeline.app.events import undelivered
from pipeline.app.summaries import finished
from pipeline.core.digest import grounding as digest_grounding
from pipeline.core.digest import groups as digest
from pipeline.core.digest import periods
from pipeline.core.errors import ConfigError, EngineError, ModelError
from pipeline.core.incident.eventfiles import Reader
from pipeline.core.printing import printable
from pipeline.runtime import cores
from pipeline.runtime.apart import apart
from pipeline.view.output import complain, console, say_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from models.store import Installed, Store
    from pipeline.core.digest.groups import Gathered, Group, Loudness, Period, Sentence
    from pipeline.core.settings import DescribeSettings
    from pipeline.core.text.filters import Filters


_IDS_SHOWN = 6  # behind a sentence, where people read it


class Asked(NamedTuple):
    """What is to be told.

    Attributes:
        since: When the period begins, as it was typed.
        until: When it ends; empty: now, or with the last event of recordings.
        camera: The only one; empty: all.
        zone: The site's time zone; None: as the events tell it.
        cameras: Those of the configuration, which may have nothing to tell.
    """

    since: str
    until: str = ""
    camera: str = ""
    zone: tzinfo | None = None
    cameras: frozenset[str] = frozenset()


class Means(NamedTuple):
    """What a period is told with.

    Attributes:
        loudness: Of the verdicts' words.
        lists: What no sentence may say.
        store: Of language models.
        settings: Which of them speaks, and how it runs.
    """

    loudness: Loudness
    lists: Filters
    store: Store
    settings: DescribeSettings


class Told(msgspec.Struct, frozen=True):
    """How a model worded the sentence of one group."""

    text: str
    fault: str


class Worded(NamedTuple):
    """The sentences of groups.

    Attributes:
        sentences: One a group.
        model: Which model worded them; empty: none.
        dropped: Why sentences of it were replaced, and how many.
        silent: Why no model, or not all of it, was heard; empty: none was asked for, or all went well.
    """

    sentences: tuple[Sentence, ...]
    model: str = ""
    dropped: dict[str, int] = {}  # noqa: RUF012  # a default that nobody changes
    silent: str = ""


class Digest(NamedTuple):
    """A digest as it is shown."""

    period: Period
    zone: tzinfo
    sentences: tuple[Sentence, ...]
    worded: Worded
    loudness: Loudness
    damaged: int
    kept_from: str  # from when on events are kept, where that is later than was asked for


def show(path: Path, asked: Asked, means: Means, *, as_json: bool) -> bool:
    """Tell a period of a file of events.

    Returns:
        Whether every line of the file was an event.

    Raises:
        ConfigError: It is no file of events, or the period or camera is none.
        ModelError: The model that was named is not there.
    """
    reader = Reader(path, _asked_from(asked))
    gathered = digest.gather(line for _, line in reader.events(digest.Line))
    if reader.damaged and gathered.empty:
        raise reader.nothing()
    here = asked.zone or gathered.zone
    since, until = _span(asked, gathered, here)
    period = digest.within(_of(asked, gathered), since, until)
    made = digest.groups(period, means.loudness, here)
    worded = word(made[: digest.told_apart(period, made)], means)
    sentences = digest.sentences(period, made, worded.sentences, means.loudness)
    kept_from = "" if gathered.recorded else reader.kept_from(since)
    found = Digest(period, here, sentences, worded, means.loudness, reader.damaged_lines, kept_from)
    if as_json:
        say_json(plainly(found))
    else:
        _print(found)
    if worded.silent:
        complain(f"the language model is not heard: {printable(worded.silent)}")
    for said in (*filter(None, (kept_from, undelivered(path))), *reader.complaints()):
        complain(said)
    return not reader.damaged


def word(made: Sequence[Group], means: Means) -> Worded:
    """Word groups, by a model where one is in use; what it may not say, or did not come to say, by the template."""
    settings = means.settings
    model = chosen(means.store, settings.model)
    if model is None or not made:
        return Worded(tuple(map(_templated, made)))
    options = Options(settings.threads or cores.threads(), settings.context_tokens)
    told, silent = list[Told](), ""
    try:
        told += apart("digest", lambda: _tell(model, options, made), Told)
    except ModelError as error:
        silent = str(error)
    told += [Told("", "the model was not heard")] * (len(made) - len(told))
    faults = [_fault(group, one, means.lists) for group, one in zip(made, told, strict=True)]
    sentences = [
        _templated(group) if wrong else digest.Sentence(one.text, group.ids, by="model")
        for group, one, wrong in zip(made, told, faults, strict=True)
    ]
    dropped = _counts(wrong for wrong in faults if wrong)
    return Worded(tuple(sentences), f"{model.name}/{model.version}", dropped, silent)


def plainly(found: Digest) -> dict[str, object]:
    """A digest for programs."""
    period, worded = found.period, found.worded
    return {
        "since": _iso(period.since),
        "until": _iso(period.until),
        "incidents": len(period.incidents),
        "quiet": sum(found.loudness.quiet(one.action) for one in period.incidents),
        "actions": _counts(one.action for one in period.incidents),
        "statuses": _counts(one.status or "unknown" for one in period.incidents),
        "unplaced": len(period.unplaced),
        "sentences": [msgspec.to_builtins(one) for one in found.sentences],
        "notes": _notes(period),
        "model": worded.model or None,
        "model_silent": worded.silent or None,
        "dropped": worded.dropped,
        "lines_damaged": found.damaged,
        "kept_from": found.kept_from or None,
    }


def _asked_from(asked: Asked) -> datetime:
    """About when a period of now begins, before anything is read: in UTC, for want of a better zone."""
    zone = asked.zone or UTC
    until = periods.moment("--until", asked.until, datetime.now(UTC), zone) if asked.until else datetime.now(UTC)
    return periods.moment("--since", asked.since, until, zone)


def _span(asked: Asked, found: Gathered, here: tzinfo) -> tuple[datetime, datetime]:
    """The period in UTC: of recordings up to their last event, else up to now."""
    last = (found.last if found.recorded else None) or datetime.now(UTC)
    until = periods.moment("--until", asked.until, last, here) if asked.until else last
    since = periods.moment("--since", asked.since, until, here)
    if since >= until:
        raise ConfigError(f"--since {asked.since}: {_iso(since)} is not before the end of the period, {_iso(until)}")
    return since, until


def _of(asked: Asked, found: Gathered) -> Gathered:
    if not asked.camera:
        return found
    known = sorted(found.cameras | asked.cameras)
    if asked.camera not in known:
        raise ConfigError(f"no camera `{asked.camera}`; there are: {', '.join(known) or 'none'}")
    return found.of(asked.camera)


def _tell(model: Installed, options: Options, made: Sequence[Group]) -> Iterator[Told]:
    """In a process of its own."""
    writer = DigestWriter(opening.open_model(model.path, options))
    for group in made:
        try:
            summary = finished(writer.write(group))
        except EngineError as error:  # a name that fills the context, say: the other groups are told all the same
            yield Told("", str(error))
            continue
        yield Told(summary.text, summary.fault)


def _fault(group: Group, told: Told, lists: Filters) -> str:
    """Why a model's sentence is not shown: a list holds it back, its writer found a fault, or a second reading here."""
    if held := lists.held(told.text, group.names):
        return f"held back by the list {held}"
    return told.fault or digest_grounding.fault(told.text, group)


def _templated(group: Group) -> Sentence:
    text = digest.template(group)
    return digest.Sentence(text, group.ids, grounded=not digest_grounding.fault(text, group))


def _notes(period: Period) -> dict[str, str]:
    """The notes that decided, and what they say."""
    return {one.note: one.note_text for one in sorted(period.incidents) if one.note}


def _counts(words: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _print(found: Digest) -> None:
    screen, period = console(), found.period
    since, until = (at.astimezone(found.zone) for at in (period.since, period.until))
    screen.print(Text(f"{since:%A %Y-%m-%d %H:%M} to {until:%A %Y-%m-%d %H:%M} ({until.tzname()})", style="bold"))
    for one in found.sentences:
        text = Text(printable(one.text))
        if one.incidents and one.about != "all":
            text.append(f"  {printable(_behind(one.incidents))}", style="dim")
        screen.print(text)
    for note, said in _notes(period).items():
        screen.print(Text(printable(f"  note {note}: {said}"), style="dim"))
    if found.worded.dropped:
        why = ", ".join(f"{count} as {reason}" for reason, count in found.worded.dropped.items())
        screen.print(Text(printable(f"  sentences of the model that the template replaced: {why}"), style="dim"))


def _behind(ids: tuple[str, ...]) -> str:
    """The ids behind a sentence, as many as a line or two hold."""
    shown = " ".join(ids[:_IDS_SHOWN])
    return shown if len(ids) <= _IDS_SHOWN else f"{shown} and {len(ids) - _IDS_SHOWN} more: --json names them"


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
