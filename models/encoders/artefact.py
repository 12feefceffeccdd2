"""What was made of a model for an accelerator: a folder with one file and the manifest that says what it was made from.

A manifest's facts are everything that changes the bytes; a folder whose facts are no longer true is stale, and is
refused with what differs and the command that makes what is wanted now. A manifest that was written into since is
refused, too. Reading one takes no package but this project's own.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from models import catalog
from models.encoders import commands, onnxfile
from pipeline.core import files
from pipeline.core.decoding import decode
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from models.encoders import PictureFormat
    from pipeline.core.settings import EncodeSettings

MANIFEST = "manifest.json"
_MAX_MANIFEST = 16 << 20  # bytes; one has a few thousand
FORMAT = 2
_DIGITS = 8  # of the facts' digest, in a folder's name

SERVES: dict[str, frozenset[str]] = {
    "qnn": frozenset({"qnn", "plugin_ep"}),
    "openvino": frozenset({"openvino", "plugin_ep"}),
    "rknn": frozenset({"rknn"}),
    "generic": frozenset({"qnn", "openvino", "plugin_ep"}),
}
"""Which back ends open what was made for a target."""

_TARGETS = {"qnn": "qnn", "openvino": "openvino", "plugin_ep": "generic", "rknn": "rknn"}
"""What to convert for where what is there serves another back end; for others another tool does it."""

_SUFFIXES = {"mnn": ".mnn", "rknn": ".rknn"}
"""Of the files that other tools make, by back end; the others open ONNX files."""

RUNTIME: dict[str, str] = {"qnn": "onnxruntime-qnn"}
"""The package whose other version cannot be trusted to read what it compiled."""


class Calibration(msgspec.Struct, frozen=True):
    """Pictures that ranges were measured on.

    Attributes:
        folder: Its name, or `probes`: pictures that are drawn from a seed, which no camera ever saw.
        sha256: Of names and contents of all pictures; empty for probes.
        count: How many.
    """

    folder: str
    sha256: str
    count: int


class Provenance(msgspec.Struct, frozen=True):
    """All that changes the bytes of an artefact.

    Attributes:
        source: sha256 of the model's file.
        target: For which accelerator.
        soc: Chip that it was compiled for; empty: it is for no chip in particular.
        passes: What was done, each as NAME/VERSION.
        layout: See `PictureFormat`, as the next two.
        mean: Of R, G and B.
        deviation: The same.
        calibration: None where no ranges were measured.
        keep: Layers that were to stay in higher precision: names, or how many of the worst.
        tools: Versions of what made it, by package.
    """

    source: str
    target: str
    soc: str
    passes: tuple[str, ...]
    layout: str
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    calibration: Calibration | None
    keep: tuple[str, ...]
    tools: dict[str, str]

    @property
    def digest(self) -> str:
        """sha256 of the facts; the folder of pictures may have another name."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        if plain["calibration"]:
            plain["calibration"].pop("folder")
        return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()


class PassOutcome(msgspec.Struct, frozen=True):
    """What one pass did.

    Attributes:
        name: Of the pass.
        matched: Places in the graph that it changed.
        cosine: Least similarity of the answers behind it to the source's, over probes and outputs.
        note: What else is to be known of it.
    """

    name: str
    matched: int
    cosine: float
    note: str = ""


class ArtefactManifest(msgspec.Struct, frozen=True):
    """What a folder holds and what it was made from.

    Attributes:
        format: Of this file.
        source: The model's file name.
        facts: All that changes the bytes.
        digest: Of the facts.
        command: What makes it again.
        passes: What each did, in their order.
        kept: Layers that stayed in higher precision.
        verdict: How much of it the accelerator took where it was compiled; empty: it was compiled for none.
        left: Nodes that it did not take.
        cosine: Least similarity of the artefact's answers to the source's.
        file: The artefact.
        sha256: Of it.
        bytes: Of it.
        seal: sha256 of all of this but itself: whoever writes into it does not go unseen.
    """

    format: int
    source: str
    facts: Provenance
    digest: str
    command: str
    passes: tuple[PassOutcome, ...]
    kept: tuple[str, ...]
    verdict: str
    left: tuple[str, ...]
    cosine: float
    file: str
    sha256: str
    bytes: int
    seal: str = ""

    @property
    def sealed(self) -> ArtefactManifest:
        """The same with the seal that belongs to it."""
        plain = msgspec.structs.replace(self, seal="")
        return msgspec.structs.replace(
            self, seal=hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()
        )


def folder_name(stem: str, facts: Provenance) -> str:
    """What the folder of an artefact is called: it changes with the facts."""
    return f"{stem}-{facts.target}-{facts.digest[:_DIGITS]}"


def find_outdated(made: Provenance, here: Provenance) -> list[str]:
    """What of the facts is no longer true, a line each; that something else was asked for is no such thing."""
    found = []
    if made.source != here.source:
        found.append(f"the model was {_shorten(made.source)}, is {_shorten(here.source)}")
    now = dict(_pass_versions(here))
    found += [
        f"pass {name} was of version {version}, is of {now[name]}"
        for name, version in _pass_versions(made)
        if now.get(name, version) != version
    ]
    found += [
        f"{tool} {version} made it, {here.tools.get(tool) or 'none'} is here"
        for tool, version in sorted(made.tools.items())
        if here.tools.get(tool, "") != version
    ]
    return found


def _pass_versions(facts: Provenance) -> list[tuple[str, str]]:
    """Name and version of each pass."""
    return [(name, version) for name, _, version in (one.partition("/") for one in facts.passes)]


def _shorten(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return (f"{text[:12]}..." if len(text) == hashlib.sha256().digest_size * 2 else text) or "none"


def read(folder: Path, again: str = "pipeline models convert") -> ArtefactManifest:
    """The manifest of a folder, proved to be as it was written.

    Args:
        folder: Of the artefact.
        again: The command that makes another, for the error.

    Raises:
        ModelError: There is none, it may not be read, is damaged, of another format, or was changed.
    """
    path = folder / MANIFEST
    if path.exists() and not (path.is_file() and path.stat().st_size <= _MAX_MANIFEST):
        raise ModelError(f"{path} is no manifest: run `{again}` again")
    try:
        found = decode(files.read_bounded(path, _MAX_MANIFEST), ArtefactManifest)
    except PermissionError as error:
        raise ModelError(_forbidden_message(path)) from error
    except (OSError, msgspec.DecodeError) as error:
        raise ModelError(f"{path} cannot be read ({error}): run `{again}` again") from error
    if found.format != FORMAT:
        raise ModelError(f"{path} is of format {found.format}, known is {FORMAT}: run `{again}` again")
    named = re.fullmatch(rf".+-({'|'.join(SERVES)})-([0-9a-f]{{{_DIGITS}}})", folder.resolve().name)
    if found.sealed.seal != found.seal or found.facts.digest != found.digest:
        raise ModelError(f"{path}: the manifest was changed since it was written: run `{again}` again")
    if named and (named[1], named[2]) != (found.facts.target, found.digest[:_DIGITS]):
        raise ModelError(
            f"{path} is of {found.facts.target}-{found.digest[:_DIGITS]}, so this folder holds another's manifest: "
            f"run `{again}` again"
        )
    if not files.is_name(found.file):
        raise ModelError(f"{path} names {found.file!r}, which is no file of its own folder: run `{again}` again")
    return found


def _forbidden_message(path: Path) -> str:
    return f"{path} may not be read by this user: permit it, e.g. by chmod -R a+rX {path.parent}"


def write(folder: Path, manifest: ArtefactManifest) -> ArtefactManifest:
    """Seal a folder's manifest and write it, the last thing that is written into it. Returns it. Raises OSError."""
    sealed = manifest.sealed
    (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(sealed), indent=1) + b"\n")
    return sealed


def check_file(folder: Path, manifest: ArtefactManifest, again: str = "pipeline models convert") -> Path:
    """The artefact's file, read through. Raises ModelError: it is not there, or not what was written; see `read`."""
    file = folder / manifest.file
    if file.is_symlink():
        raise ModelError(f"{file} is a link, which may lead out of the folder: run `{again}` again")
    try:
        digest = catalog.hash_own_file(file, "")
    except ModelError as error:
        if isinstance(error.__cause__, PermissionError):
            raise ModelError(_forbidden_message(file)) from error
        raise ModelError(f"{error}: run `{again}` again") from error
    if digest != manifest.sha256:
        raise ModelError(
            f"{file} is damaged or was changed: its sha256 is {digest[:12]}..., {manifest.sha256[:12]}... was written: "
            f"run `{again}` again"
        )
    return file


def find_file(settings: EncodeSettings, model: Path, reading: PictureFormat) -> Path:
    """The file that a configuration's `encode.artefact` means, proved to be made of this model for this back end.

    A file with no manifest beside it that names it (a .mnn or .rknn that another tool made) is taken as it is.

    Args:
        settings: Of the encoder; its artefact is a folder or a file.
        model: The ONNX file that is meant.
        reading: How pictures are read.

    Raises:
        ModelError: It is not there, of another kind, damaged, or stale; the text names what differs and the command
            that makes what is wanted.
    """
    path = Path(settings.artefact)
    try:
        return _find_file(path, settings, model, reading)
    except PermissionError as error:
        raise ModelError(_forbidden_message(path)) from error
    except OSError as error:
        raise ModelError(f"encode.artefact: {path}: {error.strerror}") from error


def _find_file(path: Path, settings: EncodeSettings, model: Path, reading: PictureFormat) -> Path:
    """The same. Raises OSError: a folder may not be looked into."""
    if path.name == MANIFEST:
        raise ModelError(f"encode.artefact: {path} is a manifest: name its folder, {path.parent}")
    if not path.is_dir() and not _has_manifest(path):
        if not path.exists():
            raise ModelError(f"encode.artefact: {path} is not there: {_find_remedy(settings, model, reading, None)}")
        _check_kind(path, settings)
        return path
    folder = path if path.is_dir() else path.parent
    manifest = read(folder, _make_command(settings, model, reading, None) or "pipeline models convert")
    if reasons := _find_mismatches(manifest, settings, catalog.hash_own_file(model, ""), reading):
        raise ModelError(f"{folder} is stale: {'; '.join(reasons)}: {_find_remedy(settings, model, reading, manifest)}")
    if settings.backend == "rknn":
        raise ModelError(
            f"{folder} holds what rknn-toolkit2 takes: let it make a .rknn file of {folder / manifest.file}, and name "
            "that file in encode.artefact"
        )
    return check_file(folder, manifest, _make_command(settings, model, reading, manifest))


def _check_kind(path: Path, settings: EncodeSettings) -> None:
    """Raise ModelError where a file of another tool's is none that the back end opens."""
    suffix = _SUFFIXES.get(settings.backend, "")
    if not suffix:
        onnxfile.read(path)
    elif path.suffix != suffix:
        raise ModelError(f"encode.artefact: {path}: back end {settings.backend} opens a {suffix} file: name one")


def _find_remedy(
    settings: EncodeSettings, model: Path, reading: PictureFormat, manifest: ArtefactManifest | None
) -> str:
    """What to do to have what the configuration wants."""
    if wanted := _make_command(settings, model, reading, manifest):
        then = ", let rknn-toolkit2 make a .rknn file of it" if settings.backend == "rknn" else ""
        named = "that file" if then else "the new folder"
        return f"run `{wanted}`{then}, and name {named} in encode.artefact"
    tool = "MNN's `mnnconvert`" if settings.backend == "mnn" else "its own tool"
    served = f", or set encode.backend to {_list_back_ends(manifest)}" if manifest else ""
    return f"what back end {settings.backend} opens is made by {tool}: name that file in encode.artefact{served}"


def _make_command(
    settings: EncodeSettings, model: Path, reading: PictureFormat, manifest: ArtefactManifest | None
) -> str:
    """The command that makes what a configuration wants, as far as it or an earlier conversion tells; empty: none."""
    target = _TARGETS.get(settings.backend, "")
    if manifest and settings.backend in SERVES.get(manifest.facts.target, ()):
        target = manifest.facts.target
    if not target:
        return ""
    before = manifest.command if manifest else ""
    eight_bit = target in {"openvino", "generic"} and "--int8" in before.split()
    pictures = ""
    if (target == "qnn" or eight_bit) and not _is_quantised(model):
        pictures = commands.option_value(before, "--calibration") or "FOLDER"
    same = manifest is not None and manifest.facts.target == target and manifest.source == model.name
    soc = (
        (settings.options.get("soc_model") or (manifest and manifest.facts.soc) or "NUMBER") if target == "qnn" else ""
    )
    keep = manifest.facts.keep if manifest and same else ()
    return commands.make_command(settings.model, target, soc, pictures, reading, keep, eight_bit=eight_bit)


def _is_quantised(model: Path) -> bool:
    try:
        return onnxfile.read(model).quantised
    except ModelError:
        return False  # what is wrong with it is told elsewhere


def _list_back_ends(manifest: ArtefactManifest) -> str:
    return " or ".join(sorted(SERVES.get(manifest.facts.target, ())))


def _has_manifest(file: Path) -> bool:
    """Whether the manifest beside a file, if there is one of ours, is about that file."""
    if not (file.parent / MANIFEST).exists():
        return False
    try:
        return read(file.parent).file == file.name
    except ModelError:
        return file.suffix == ".onnx"  # it can be of nobody else


def _find_mismatches(
    manifest: ArtefactManifest, settings: EncodeSettings, source: str, reading: PictureFormat
) -> list[str]:
    """Why a manifest's artefact is not for this configuration, as far as the device that runs it can tell."""
    facts, found = manifest.facts, []
    if facts.source != source:
        found.append(
            f"it was made of another file ({_shorten(facts.source)}), the model's sha256 is {_shorten(source)}"
        )
    if settings.backend not in SERVES.get(facts.target, ()):
        serves = _list_back_ends(manifest)
        found.append(f"it was made for {facts.target}, which serves {serves}; encode.backend is {settings.backend}")
    soc = settings.options.get("soc_model", "")
    if soc and facts.soc and soc != facts.soc:
        found.append(f"it was compiled for soc_model {facts.soc}, encode.options says {soc}")
    read_as = (facts.layout, facts.mean, facts.deviation)
    if facts.calibration and read_as != (reading.layout, tuple(reading.mean), tuple(reading.deviation)):
        found.append("its ranges were measured with another encode.layout, mean or deviation")
    if package := RUNTIME.get(facts.target, ""):
        made, here = facts.tools.get(package, "none"), installed_version(package)
        if here and made != here:
            found.append(f"{package} {made} compiled it, {here} is installed")
    return found


def installed_version(package: str) -> str:
    """Of an installed package; empty where it is not."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
