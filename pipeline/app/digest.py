"""A period in a few sentences, with the incidents behind each."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from models.asking.digest import DigestWriter
from models.asking.language import chosen
from models.llm import opening
from models.llm.mnn import EngineOptions
from pipeline.app.events import undelivered
from pipeline.app.summaries import finished
from pipeline.core.digest import grounding, group_words, groups, history, periods, wording
from pipeline.core.digest.groups import Loudness
from pipeline.core.digest.wording import Sentence
from pipeline.core.errors import ConfigError, EngineError, ModelError
from pipeline.core.incident.eventfiles import Reader
from pipeline.core.incident.eventlines import EventLine
from pipeline.core.times import iso
from pipeline.runtime import cores
from pipeline.runtime.apart import apart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from models.store import Installed, Store
    from pipeline.app.site import Site
    from pipeline.core.digest.groups import Group
    from pipeline.core.digest.history import History, Period
    from pipeline.core.settings import DescribeSettings
    from pipeline.core.text.filters import Filters


class AskedPeriod(NamedTuple):
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


class DigestTools(NamedTuple):
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


class WordedGroup(msgspec.Struct, frozen=True):
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
    """A period, and what is said of it."""

    period: Period
    zone: tzinfo
    sentences: tuple[Sentence, ...]
    worded: Worded
    loudness: Loudness
    damaged: int  # lines that are no events
    kept_from: str  # from when on events are kept, where that is later than was asked for
    remarks: tuple[str, ...]  # what of the files is not kept, not in them yet, or could not be read


def digest(site: Site, path: Path, since: str, until: str = "", camera: str = "") -> Digest:
    """Tell a period of a file of events, and of those put away beside it.

    Args:
        site: Whose time zone, cameras, rules, lists and language model.
        path: The file.
        since: When the period begins, as people type it.
        until: When it ends; empty: now, or with the last event of recordings.
        camera: The only one; empty: all.

    Raises:
        ConfigError: It is no file of events, or the period or camera is none.
        ModelError: The model that was named is not there.
    """
    zone = ZoneInfo(site.settings.site.timezone) if site.config else None
    asked = AskedPeriod(since, until, camera, zone, frozenset(site.settings.cameras))
    words, limits = site.rulebook.words, site.rulebook.limits
    loudness = Loudness(words.action, words.severity, limits.speak)
    return tell(path, asked, DigestTools(loudness, site.filters, site.models, site.settings.describe))


def tell(path: Path, asked: AskedPeriod, means: DigestTools) -> Digest:
    """Tell a period of a file of events. Raises what `digest` does."""
    reader = Reader(path, _asked_from(asked))
    kept = history.read_history(line for _, line in reader.events(EventLine))
    if reader.damaged and kept.empty:
        raise reader.nothing()
    here = asked.zone or kept.zone
    since, until = _span(asked, kept, here)
    period = history.select_period(_of(asked, kept), since, until)
    made = groups.group_incidents(period, means.loudness, here)
    worded = word(made[: wording.count_own_sentences(period, made)], means)
    sentences = wording.compose_digest(period, made, worded.sentences, means.loudness)
    kept_from = "" if kept.from_recordings else reader.kept_from(since)
    remarks = (*filter(None, (kept_from, undelivered(path))), *reader.complaints())
    return Digest(period, here, sentences, worded, means.loudness, reader.damaged_lines, kept_from, remarks)


def word(made: Sequence[Group], means: DigestTools) -> Worded:
    """Word groups, by a model where one is in use; what it may not say, or did not come to say, by the template."""
    settings = means.settings
    model = chosen(means.store, settings.model)
    if model is None or not made:
        return Worded(tuple(map(_templated, made)))
    options = EngineOptions(settings.threads or cores.threads(), settings.context_tokens)
    told, silent = list[WordedGroup](), ""
    try:
        told += apart("digest", lambda: _tell(model, options, made), WordedGroup)
    except ModelError as error:
        silent = str(error)
    told += [WordedGroup("", "the model was not heard")] * (len(made) - len(told))
    faults = [_fault(group, one, means.lists) for group, one in zip(made, told, strict=True)]
    sentences = [
        _templated(group) if wrong else Sentence(one.text, group.ids, by="model")
        for group, one, wrong in zip(made, told, faults, strict=True)
    ]
    dropped = dict(sorted(Counter(wrong for wrong in faults if wrong).items()))
    return Worded(tuple(sentences), f"{model.name}/{model.version}", dropped, silent)


def _asked_from(asked: AskedPeriod) -> datetime:
    """About when a period of now begins, before anything is read: in UTC, for want of a better zone."""
    zone = asked.zone or UTC
    until = periods.parse_time("--until", asked.until, datetime.now(UTC), zone) if asked.until else datetime.now(UTC)
    return periods.parse_time("--since", asked.since, until, zone)


def _span(asked: AskedPeriod, found: History, here: tzinfo) -> tuple[datetime, datetime]:
    """The period in UTC: of recordings up to their last event, else up to now."""
    last = (found.last_utc if found.from_recordings else None) or datetime.now(UTC)
    until = periods.parse_time("--until", asked.until, last, here) if asked.until else last
    since = periods.parse_time("--since", asked.since, until, here)
    if since >= until:
        raise ConfigError(f"--since {asked.since}: {iso(since)} is not before the end of the period, {iso(until)}")
    return since, until


def _of(asked: AskedPeriod, found: History) -> History:
    if not asked.camera:
        return found
    known = sorted(found.cameras | asked.cameras)
    if asked.camera not in known:
        raise ConfigError(f"no camera `{asked.camera}`; there are: {', '.join(known) or 'none'}")
    return found.of(asked.camera)


def _tell(model: Installed, options: EngineOptions, made: Sequence[Group]) -> Iterator[WordedGroup]:
    """In a process of its own."""
    writer = DigestWriter(opening.open_model(model.path, options))
    for group in made:
        try:
            summary = finished(writer.write(group))
        except EngineError as error:  # a name that fills the context, say: the other groups are told all the same
            yield WordedGroup("", str(error))
            continue
        yield WordedGroup(summary.text, summary.fault)


def _fault(group: Group, told: WordedGroup, lists: Filters) -> str:
    """Why a model's sentence is not shown: a list holds it back, its writer found a fault, or a second reading here."""
    if held := lists.match_output(told.text, group.names):
        return f"held back by the list {held}"
    return told.fault or grounding.find_fault(told.text, group)


def _templated(group: Group) -> Sentence:
    text = group_words.write_template(group)
    return Sentence(text, group.ids, grounded=not grounding.find_fault(text, group))
