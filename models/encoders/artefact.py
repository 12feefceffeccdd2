"""What was made of a model for an accelerator: a folder with one file and the manifest that says what it was made from.

A manifest's facts are everything that changes the bytes; a folder whose facts are no longer true is stale, and is
refused with what differs and the command that makes it anew. Reading one takes no package but this project's own.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from models import catalog
from pipeline.core.decoding import decode
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from models.encoders import Reading
    from pipeline.core.settings import EncodeSettings

MANIFEST = "manifest.json"
FORMAT = 1
_DIGITS = 8  # of the facts' digest, in a folder's name

SERVES: dict[str, frozenset[str]] = {
    "qnn": frozenset({"qnn", "plugin_ep"}),
    "openvino": frozenset({"openvino", "plugin_ep"}),
    "rknn": frozenset({"rknn"}),
    "generic": frozenset({"qnn", "openvino", "plugin_ep"}),
}
"""Which back ends open what was made for a target."""

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


class Facts(msgspec.Struct, frozen=True):
    """All that changes the bytes of an artefact.

    Attributes:
        source: sha256 of the model's file.
        target: For which accelerator.
        soc: Chip that it was compiled for; empty: it is for no chip in particular.
        passes: What was done, each as NAME/VERSION.
        layout: See `Reading`, as the next two.
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


class Passed(msgspec.Struct, frozen=True):
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


class Manifest(msgspec.Struct, frozen=True):
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
    """

    format: int
    source: str
    facts: Facts
    digest: str
    command: str
    passes: tuple[Passed, ...]
    kept: tuple[str, ...]
    verdict: str
    left: tuple[str, ...]
    cosine: float
    file: str
    sha256: str
    bytes: int


def folder_name(stem: str, facts: Facts) -> str:
    """What the folder of an artefact is called: it changes with the facts."""
    return f"{stem}-{facts.target}-{facts.digest[:_DIGITS]}"


def differences(made: Facts, wanted: Facts) -> list[str]:
    """What of the facts differs, a line each; empty: the one is as good as the other."""
    told = []
    for name in Facts.__struct_fields__:
        old, new = getattr(made, name), getattr(wanted, name)
        if name == "tools":
            tools = sorted({*old, *new})
            told += [
                f"{tool} {old.get(tool, 'none')} made it, {new.get(tool, 'none')} is here"
                for tool in tools
                if old.get(tool) != new.get(tool)
            ]
        elif name == "calibration":
            if (old and old.sha256, old and old.count) != (new and new.sha256, new and new.count):
                told.append("other calibration pictures")
        elif old != new:
            told.append(f"{name} was {_short(old)}, is {_short(new)}")
    return told


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return (f"{text[:12]}..." if len(text) == hashlib.sha256().digest_size * 2 else text) or "none"


def read(folder: Path) -> Manifest:
    """The manifest of a folder. Raises ModelError: there is none, or it is damaged or of another format."""
    path = folder / MANIFEST
    try:
        found = decode(path.read_bytes(), Manifest)
    except (OSError, msgspec.DecodeError) as error:
        raise ModelError(f"{path} cannot be read ({error}): run `pipeline models convert` again") from error
    if found.format != FORMAT:
        raise ModelError(f"{path} is of format {found.format}, known is {FORMAT}: run `pipeline models convert` again")
    return found


def written(folder: Path, manifest: Manifest) -> None:
    """Write a folder's manifest, which is the last thing that is written into it. Raises OSError."""
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    (folder / MANIFEST).write_bytes(text + b"\n")


def whole(folder: Path, manifest: Manifest) -> Path:
    """The artefact's file, read through. Raises ModelError: it is not there, or not what was written."""
    file = folder / manifest.file
    try:
        digest = catalog.own(file, "")
    except ModelError as error:
        raise ModelError(f"{error}: run `{manifest.command}` again") from error
    if digest != manifest.sha256:
        raise ModelError(
            f"{file} is damaged or was changed: its sha256 is {digest[:12]}..., {manifest.sha256[:12]}... was written: "
            f"run `{manifest.command}` again"
        )
    return file


def opened(settings: EncodeSettings, model: Path, reading: Reading) -> Path:
    """The file that a configuration's `encode.artefact` means, proved to be made of this model for this back end.

    A file with no manifest beside it that names it (a .mnn or .rknn that another tool made) is taken as it is.

    Args:
        settings: Of the encoder; its artefact is a folder or a file.
        model: The ONNX file that is meant.
        reading: How pictures are read.

    Raises:
        ModelError: It is not there, damaged, or stale; the text names what differs and the command to run again.
    """
    path = Path(settings.artefact)
    folder = path if path.is_dir() else path.parent
    if not path.is_dir() and not _vouched(path):
        if not path.exists():
            raise ModelError(f"encode.artefact: {path} is not there: make it by `pipeline models convert`")
        return path
    manifest = read(folder)
    if reasons := _stale(manifest, settings, catalog.own(model, ""), reading):
        raise ModelError(
            f"{folder} is stale: {'; '.join(reasons)}: run `{manifest.command}` again, and name the new folder in "
            "encode.artefact"
        )
    return whole(folder, manifest)


def _vouched(file: Path) -> bool:
    """Whether the manifest beside a file, if there is one of ours, is about that file."""
    if not (file.parent / MANIFEST).exists():
        return False
    try:
        return read(file.parent).file == file.name
    except ModelError:
        return file.suffix == ".onnx"  # it can be of nobody else


def _stale(manifest: Manifest, settings: EncodeSettings, source: str, reading: Reading) -> list[str]:
    """Why a manifest's artefact is not for this configuration, as far as the device that runs it can tell."""
    facts, told = manifest.facts, []
    if facts.source != source:
        told.append(f"it was made of another file ({_short(facts.source)}), the model's sha256 is {_short(source)}")
    if settings.backend not in SERVES.get(facts.target, ()):
        told.append(f"it was made for {facts.target}, encode.backend is {settings.backend}")
    soc = settings.options.get("soc_model", "")
    if soc and facts.soc and soc != facts.soc:
        told.append(f"it was compiled for soc_model {facts.soc}, encode.options says {soc}")
    read_as = (facts.layout, facts.mean, facts.deviation)
    if facts.calibration and read_as != (reading.layout, tuple(reading.mean), tuple(reading.deviation)):
        told.append("its ranges were measured with another encode.layout, mean or deviation")
    if package := RUNTIME.get(facts.target, ""):
        made, here = facts.tools.get(package, "none"), version(package)
        if here and made != here:
            told.append(f"{package} {made} compiled it, {here} is installed")
    return told


def version(package: str) -> str:
    """Of an installed package; empty where it is not."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
