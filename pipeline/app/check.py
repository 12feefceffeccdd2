"""A configuration looked over before a daemon has it: settings, rules, lists, the encoder, and what it comes to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from models.encoders import checking
from pipeline.app import encoders
from pipeline.core.errors import ConfigError
from pipeline.core.incident import areas
from pipeline.core.secrets import redacted
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


class Silent(NamedTuple):
    """An area, and the kinds of things there that nobody is told of at any time.

    Attributes:
        camera: Which.
        place: The name of the area.
        zone: Whether it was drawn by somebody, rather than being the rest of the picture.
        kinds: In words; there may be none.
    """

    camera: str
    place: str
    zone: bool
    kinds: tuple[str, ...]


class Checked(NamedTuple):
    """A configuration that is valid, and what it does.

    Attributes:
        path: Its file.
        settings: Without passwords.
        digest: Names it in events.
        areas: Of all cameras, with their cameras.
        outcomes: What the rules make of every kind of thing, in every area, at every time.
        silent: What nobody is told of, by area.
        loud: The actions that somebody is told of.
        of_file: Warnings about the file: passwords that others may read, keys that mean nothing any more.
        of_settings: Warnings about what is allowed, but hardly meant.
    """

    path: Path
    settings: Settings
    digest: str
    areas: tuple[tuple[CameraId, Area], ...]
    outcomes: list[Outcome]
    silent: tuple[Silent, ...]
    loud: tuple[str, ...]
    of_file: tuple[str, ...]
    of_settings: tuple[str, ...]


def check(site: Site) -> Checked:
    """Look a site's configuration over.

    Args:
        site: Opened with a file.

    Raises:
        ConfigError: Something is wrong with it, with a file that it names, or with the encoder.
    """
    _, book, _ = site.settings, site.rulebook, site.filters
    _check_encoder(site)
    return described(site, book)


def described(site: Site, book: Rulebook) -> Checked:
    """Say what a valid configuration does, by some rules. Raises ConfigError."""
    assert site.config is not None
    settings = site.settings
    found = list(outcomes.outcomes(settings, book))
    return Checked(
        path=site.config,
        settings=settings.without_passwords(),
        digest=settings.digest(),
        areas=tuple((name, area) for name in settings.cameras for area in areas.areas(settings, name).values()),
        outcomes=found,
        silent=tuple(_silent(found)),
        loud=tuple(action for action in book.words.action if book.loud(action)),
        of_file=tuple(site.warnings()),
        of_settings=tuple(_hardly_meant(settings)),
    )


def _check_encoder(site: Site) -> None:
    """Refuse what is wrong with an encoder, as far as it can be known here."""
    table, file = site.settings.encode, site.configuration
    problems = list(checking.problems(table))
    if not problems and (fault := encoders.unopened(table)):
        problems = [fault]
    if problems and file is not None:
        raise ConfigError("\n".join(f"{file.at(key)}: {key}: {text}" for key, text in problems))


def _silent(found: list[Outcome]) -> Iterator[Silent]:
    zones = {(one.camera, one.place): one.zone for one in found}
    for (camera, place), kinds in outcomes.silent(found).items():
        yield Silent(camera, place, zones[camera, place], kinds)


def _hardly_meant(settings: Settings) -> Iterator[str]:
    """What is allowed, but hardly meant."""
    if not settings.cameras:
        yield "no cameras: nothing to run"
    if settings.encode.artefact and settings.encode.backend == "cpu":
        yield "encode.artefact is not used: encode.backend is cpu, which runs the model itself"
    for name, camera in settings.cameras.items():
        named = ":" not in camera.source
        if named and not os.path.exists(camera.source):  # noqa: PTH110  # raises nothing, however long the name
            yield f"cameras.{name}.source: {redacted(camera.source)}: no such file or device"
