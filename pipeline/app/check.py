"""Check a configuration before a daemon uses it: settings, rules, filter lists, encoder, and their consequences."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from models.encoders import checking
from pipeline.app import encoders
from pipeline.core.errors import ConfigError
from pipeline.core.incident import areas
from pipeline.core.secrets import redact
from pipeline.core.verdict import outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.app.site import Site
    from pipeline.core.incident.areas import Area
    from pipeline.core.settings import Settings
    from pipeline.core.verdict.outcomes import Outcome
    from pipeline.core.verdict.rulebook import Rulebook
    from pipeline.core.vocabulary import CameraId


class QuietArea(NamedTuple):
    """An area, and the kinds of things there that never lead to a notification.

    Attributes:
        camera: The camera's name.
        place: The area's name.
        zone: Whether the area is a drawn zone; else it is the rest of the picture.
        kinds: Kinds of things, such as `person`; may be empty.
    """

    camera: str
    place: str
    zone: bool
    kinds: tuple[str, ...]


class CheckedConfiguration(NamedTuple):
    """A valid configuration, and its consequences.

    Attributes:
        path: Its file.
        settings: The settings, without passwords.
        digest: The hash that names the settings in events.
        areas: Pairs of camera and area, of all cameras.
        outcomes: The verdict of the rules for every kind of thing, in every area, at every time.
        silent: For each area, the kinds that never lead to a notification.
        loud: The actions that notify somebody.
        of_file: Warnings about the file: readable passwords, outdated keys.
        of_settings: Warnings about settings that are valid but probably mistakes.
    """

    path: Path
    settings: Settings
    digest: str
    areas: tuple[tuple[CameraId, Area], ...]
    outcomes: list[Outcome]
    silent: tuple[QuietArea, ...]
    loud: tuple[str, ...]
    of_file: tuple[str, ...]
    of_settings: tuple[str, ...]


def check(site: Site) -> CheckedConfiguration:
    """Check a site's configuration, the files that it names, and the encoder.

    Args:
        site: A site with a configuration file.

    Raises:
        ConfigError: The configuration, a file that it names, or the encoder is wrong.
    """
    _, book, _ = site.settings, site.rulebook, site.filters
    _check_encoder(site)
    return describe_configuration(site, book)


def describe_configuration(site: Site, book: Rulebook) -> CheckedConfiguration:
    """Describe what a valid configuration does under the rules of `book`. Raises ConfigError."""
    assert site.config is not None
    settings = site.settings
    found = list(outcomes.find_outcomes(settings, book))
    return CheckedConfiguration(
        path=site.config,
        settings=settings.without_passwords(),
        digest=settings.digest(),
        areas=tuple((name, area) for name in settings.cameras for area in areas.areas(settings, name).values()),
        outcomes=found,
        silent=tuple(_find_quiet_areas(found)),
        loud=tuple(action for action in book.words.action if book.is_loud(action)),
        of_file=tuple(site.warnings()),
        of_settings=tuple(_find_suspicious_settings(settings)),
    )


def _check_encoder(site: Site) -> None:
    """Raise ConfigError for problems of the encoder that can be found without running it."""
    table, file = site.settings.encode, site.configuration
    problems = list(checking.find_problems(table))
    if not problems and (fault := encoders.find_broken_file(table)):
        problems = [fault]
    if problems and file is not None:
        raise ConfigError("\n".join(f"{file.at(key)}: {key}: {text}" for key, text in problems))


def _find_quiet_areas(found: list[Outcome]) -> Iterator[QuietArea]:
    zones = {(one.camera, one.place): one.zone for one in found}
    for (camera, place), kinds in outcomes.find_quiet_kinds(found).items():
        yield QuietArea(camera, place, zones[camera, place], kinds)


def _find_suspicious_settings(settings: Settings) -> Iterator[str]:
    """Yield warnings about valid settings that are probably mistakes."""
    if not settings.cameras:
        yield "no cameras: nothing to run"
    if settings.encode.artefact and settings.encode.backend == "cpu":
        yield "encode.artefact is not used: encode.backend is cpu, which runs the model itself"
    for name, camera in settings.cameras.items():
        named = ":" not in camera.source
        if named and not os.path.exists(camera.source):  # noqa: PTH110  # raises nothing, however long the name
            yield f"cameras.{name}.source: {redact(camera.source)}: no such file or device"
