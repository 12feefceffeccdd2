"""Describe a period in a few sentences, each with its incidents."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from models.asking.digest import DigestWriter
from models.asking.language import choose_model
from models.llm import opening
from models.llm.mnn import EngineOptions
from pipeline.app.events import undelivered_remark
from pipeline.app.summaries import run_to_end
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


class RequestedPeriod(NamedTuple):
    """The request for a digest.

    Attributes:
        since: The begin of the period, as it was typed.
        until: The end of the period; empty: now, or the last event of recordings.
        camera: Name of the only camera; empty: all.
        zone: The site's time zone; None: read it from the events.
        cameras: All configured cameras, which may have no events.
    """

    since: str
    until: str = ""
    camera: str = ""
    zone: tzinfo | None = None
    cameras: frozenset[str] = frozenset()


class DigestTools(NamedTuple):
    """What sentences of a digest are made with.

    Attributes:
        loudness: Order of actions and severities.
        lists: What no sentence may say.
        store: The installed language models.
        settings: Which model writes, and how it runs.
    """

    loudness: Loudness
    lists: Filters
    store: Store
    settings: DescribeSettings


class GroupSentence(msgspec.Struct, frozen=True):
    """A model's sentence about one group, and the fault that was found in it; empty: none."""

    text: str
    fault: str


class WrittenSentences(NamedTuple):
    """The sentences of groups.

    Attributes:
        sentences: One for each group.
        model: The model that wrote them; empty: none.
        dropped: Number of the model's sentences that were replaced by templates, by reason.
        silent: Why the model failed; empty: it did not fail, or none was asked.
    """

    sentences: tuple[Sentence, ...]
    model: str = ""
    dropped: dict[str, int] = {}  # noqa: RUF012  # a default that nobody changes
    silent: str = ""


class Digest(NamedTuple):
    """A period and its sentences."""

    period: Period
    zone: tzinfo
    sentences: tuple[Sentence, ...]
    worded: WrittenSentences
    loudness: Loudness
    damaged: int  # lines that are no events
    kept_from: str  # remark if older events of the period were deleted
    remarks: tuple[str, ...]  # about events that are deleted, not written yet, or unreadable


def make_digest(site: Site, path: Path, since: str, until: str = "", camera: str = "") -> Digest:
    """Make the digest of a period from a file of events and the rotated files beside it.

    Args:
        site: The site whose time zone, cameras, rules, filter lists and language model are used.
        path: The file.
        since: The begin of the period, as people type it.
        until: The end of the period; empty: now, or the last event of recordings.
        camera: Name of the only camera; empty: all.

    Raises:
        ConfigError: The file has no events, or the period or the camera is invalid.
        ModelError: The chosen model does not exist.
    """
    zone = ZoneInfo(site.settings.site.timezone) if site.config else None
    asked = RequestedPeriod(since, until, camera, zone, frozenset(site.settings.cameras))
    words, limits = site.rulebook.words, site.rulebook.limits
    loudness = Loudness(words.action, words.severity, limits.speak)
    return digest_events(path, asked, DigestTools(loudness, site.filters, site.models, site.settings.describe))


def digest_events(path: Path, asked: RequestedPeriod, tools: DigestTools) -> Digest:
    """Make the digest of a period of a file of events. Raises the same errors as `make_digest`."""
    reader = Reader(path, _estimate_begin(asked))
    kept = history.read_history(line for _, line in reader.events(EventLine))
    if reader.damaged and kept.empty:
        raise reader.nothing()
    here = asked.zone or kept.zone
    since, until = _resolve_period(asked, kept, here)
    period = history.select_period(_select_camera(asked, kept), since, until)
    made = groups.group_incidents(period, tools.loudness, here)
    worded = write_sentences(made[: wording.count_own_sentences(period, made)], tools)
    sentences = wording.compose_digest(period, made, worded.sentences, tools.loudness)
    kept_from = "" if kept.from_recordings else reader.kept_from(since)
    remarks = (*filter(None, (kept_from, undelivered_remark(path))), *reader.complaints())
    return Digest(period, here, sentences, worded, tools.loudness, reader.damaged_lines, kept_from, remarks)


def write_sentences(made: Sequence[Group], tools: DigestTools) -> WrittenSentences:
    """Write a sentence for each group, with a model if one is in use; the template replaces faulty and missing ones."""
    settings = tools.settings
    model = choose_model(tools.store, settings.model)
    if model is None or not made:
        return WrittenSentences(tuple(map(_write_template, made)))
    options = EngineOptions(settings.threads or cores.threads(), settings.context_tokens)
    written, silent = list[GroupSentence](), ""
    try:
        written += apart("digest", lambda: _write_in_child(model, options, made), GroupSentence)
    except ModelError as error:
        silent = str(error)
    written += [GroupSentence("", "the model was not heard")] * (len(made) - len(written))
    faults = [_find_fault(group, one, tools.lists) for group, one in zip(made, written, strict=True)]
    sentences = [
        _write_template(group) if fault else Sentence(one.text, group.ids, by="model")
        for group, one, fault in zip(made, written, faults, strict=True)
    ]
    dropped = dict(sorted(Counter(fault for fault in faults if fault).items()))
    return WrittenSentences(tuple(sentences), f"{model.name}/{model.version}", dropped, silent)


def _estimate_begin(asked: RequestedPeriod) -> datetime:
    """Estimate when the period begins before events are read; in UTC if the time zone is not configured."""
    zone = asked.zone or UTC
    until = periods.parse_time("--until", asked.until, datetime.now(UTC), zone) if asked.until else datetime.now(UTC)
    return periods.parse_time("--since", asked.since, until, zone)


def _resolve_period(asked: RequestedPeriod, found: History, here: tzinfo) -> tuple[datetime, datetime]:
    """Return begin and end in UTC; the default end is the last event of recordings, else now."""
    last = (found.last_utc if found.from_recordings else None) or datetime.now(UTC)
    until = periods.parse_time("--until", asked.until, last, here) if asked.until else last
    since = periods.parse_time("--since", asked.since, until, here)
    if since >= until:
        raise ConfigError(f"--since {asked.since}: {iso(since)} is not before the end of the period, {iso(until)}")
    return since, until


def _select_camera(asked: RequestedPeriod, found: History) -> History:
    if not asked.camera:
        return found
    known = sorted(found.cameras | asked.cameras)
    if asked.camera not in known:
        raise ConfigError(f"no camera `{asked.camera}`; there are: {', '.join(known) or 'none'}")
    return found.of(asked.camera)


def _write_in_child(model: Installed, options: EngineOptions, made: Sequence[Group]) -> Iterator[GroupSentence]:
    """Write the sentences; runs in a child process."""
    writer = DigestWriter(opening.open_model(model.path, options))
    for group in made:
        try:
            summary = run_to_end(writer.write(group))
        except EngineError as error:  # such as a name that fills the context; the other groups are still done
            yield GroupSentence("", str(error))
            continue
        yield GroupSentence(summary.text, summary.fault)


def _find_fault(group: Group, written: GroupSentence, lists: Filters) -> str:
    """Return why a model's sentence is not shown: a filter list or a failed check; empty if it may be shown."""
    if held := lists.match_output(written.text, group.names):
        return f"held back by the list {held}"
    return written.fault or grounding.find_fault(written.text, group)


def _write_template(group: Group) -> Sentence:
    text = group_words.write_template(group)
    return Sentence(text, group.ids, grounded=not grounding.find_fault(text, group))
