"""Artefacts: models converted for an accelerator, a folder with one file and a manifest of what it was made from.

The manifest's facts are everything that changes the bytes. A folder whose facts are no longer true is stale: it is
refused with the differences and the command that makes a new one. Changed manifests are refused, too. Reading an
artefact needs no other package.
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
_MAX_MANIFEST = 16 << 20  # bytes; a manifest has a few thousand
FORMAT = 2
_DIGITS = 8  # hexadecimal digits of the facts' digest in a folder's name

SERVES: dict[str, frozenset[str]] = {
    "qnn": frozenset({"qnn", "plugin_ep"}),
    "openvino": frozenset({"openvino", "plugin_ep"}),
    "rknn": frozenset({"rknn"}),
    "generic": frozenset({"qnn", "openvino", "plugin_ep"}),
}
"""The back ends that open artefacts of each target."""

_TARGETS = {"qnn": "qnn", "openvino": "openvino", "plugin_ep": "generic", "rknn": "rknn"}
"""The target to convert for, by back end; other back ends need other tools."""

_SUFFIXES = {"mnn": ".mnn", "rknn": ".rknn"}
"""Suffix of the files of other tools, by back end; the other back ends open ONNX files."""

RUNTIME: dict[str, str] = {"qnn": "onnxruntime-qnn"}
"""The package that compiles artefacts of a target; another version may not be able to read them."""


class Calibration(msgspec.Struct, frozen=True):
    """The pictures that ranges were measured on.

    Attributes:
        folder: Name of the folder, or `probes` for pictures drawn from a seed.
        sha256: Hash of names and contents of all pictures; empty for probes.
        count: Number of pictures.
    """

    folder: str
    sha256: str
    count: int


class Provenance(msgspec.Struct, frozen=True):
    """Everything that changes the bytes of an artefact.

    Attributes:
        source: sha256 of the model's file.
        target: The accelerator.
        soc: The chip that it was compiled for; empty: no particular chip.
        passes: The passes, each as NAME/VERSION.
        layout: See `PictureFormat`.
        mean: See `PictureFormat`.
        deviation: See `PictureFormat`.
        calibration: The pictures for ranges; None if no ranges were measured.
        keep: Layers to keep in higher precision: names, or the number of the worst ones.
        tools: Versions of the tools, by package.
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
        """sha256 of the facts, without the name of the folder of pictures."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        if plain["calibration"]:
            plain["calibration"].pop("folder")
        return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()


class PassOutcome(msgspec.Struct, frozen=True):
    """The outcome of one pass.

    Attributes:
        name: Name of the pass.
        matched: Number of places in the graph that it changed.
        cosine: Least cosine of the answers after it with those of the source, over probes and outputs.
        note: A remark; may be empty.
    """

    name: str
    matched: int
    cosine: float
    note: str = ""


class ArtefactManifest(msgspec.Struct, frozen=True):
    """The manifest of an artefact.

    Attributes:
        format: Format of this file.
        source: The model's file name.
        facts: Everything that changes the bytes.
        digest: Digest of the facts.
        command: The command that makes it again.
        passes: Outcomes of the passes, in their order.
        kept: Layers that stayed in higher precision.
        verdict: How much of it the accelerator took when it was compiled; empty if it was not compiled.
        left: Nodes that the accelerator did not take.
        cosine: Least cosine of the artefact's answers with those of the source.
        file: File name of the artefact.
        sha256: Hash of this file.
        bytes: Size of this file.
        seal: sha256 of all other fields, to detect changes.
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
        """The same manifest with its seal."""
        plain = msgspec.structs.replace(self, seal="")
        return msgspec.structs.replace(
            self, seal=hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()
        )


def folder_name(stem: str, facts: Provenance) -> str:
    """Return the folder name of an artefact, which changes with the facts."""
    return f"{stem}-{facts.target}-{facts.digest[:_DIGITS]}"


def find_outdated(made: Provenance, here: Provenance) -> list[str]:
    """Return which facts are no longer true, one line each; other options do not count."""
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
    """Return name and version of each pass."""
    return [(name, version) for name, _, version in (one.partition("/") for one in facts.passes)]


def _shorten(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return (f"{text[:12]}..." if len(text) == hashlib.sha256().digest_size * 2 else text) or "none"


def read(folder: Path, again: str = "pipeline models convert") -> ArtefactManifest:
    """Read the manifest of a folder, and check its seal.

    Args:
        folder: The artefact's folder.
        again: The command that makes a new one, for the error.

    Raises:
        ModelError: It is missing, unreadable, damaged, of another format, or was changed.
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
    """Seal a manifest and write it, as the last file of the folder; return the sealed one. Raises OSError."""
    sealed = manifest.sealed
    (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(sealed), indent=1) + b"\n")
    return sealed


def check_file(folder: Path, manifest: ArtefactManifest, again: str = "pipeline models convert") -> Path:
    """Return the artefact's file after a check of its hash. Raises ModelError if it is missing or damaged."""
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
    """Return the file of `encode.artefact`, after a check that it was made of this model for this back end.

    A file of another tool (.mnn or .rknn), without a manifest that names it, is accepted unchecked.

    Args:
        settings: Settings of the encoder; the artefact is a folder or a file.
        model: The ONNX file.
        reading: The picture format of the model.

    Raises:
        ModelError: It is missing, of another kind, damaged, or stale; the text names the differences and the command
            that makes a new one.
    """
    path = Path(settings.artefact)
    try:
        return _find_file(path, settings, model, reading)
    except PermissionError as error:
        raise ModelError(_forbidden_message(path)) from error
    except OSError as error:
        raise ModelError(f"encode.artefact: {path}: {error.strerror}") from error


def _find_file(path: Path, settings: EncodeSettings, model: Path, reading: PictureFormat) -> Path:
    """Do the work of `find_file`. Raises OSError for folders that may not be read."""
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
    """Raise ModelError if the back end does not open this kind of file."""
    suffix = _SUFFIXES.get(settings.backend, "")
    if not suffix:
        onnxfile.read(path)
    elif path.suffix != suffix:
        raise ModelError(f"encode.artefact: {path}: back end {settings.backend} opens a {suffix} file: name one")


def _find_remedy(
    settings: EncodeSettings, model: Path, reading: PictureFormat, manifest: ArtefactManifest | None
) -> str:
    """Describe how to get an artefact for the configuration."""
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
    """Return the command that makes an artefact for a configuration, with options of an earlier one; may be empty."""
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
        return False  # its problem is reported elsewhere


def _list_back_ends(manifest: ArtefactManifest) -> str:
    return " or ".join(sorted(SERVES.get(manifest.facts.target, ())))


def _has_manifest(file: Path) -> bool:
    """Tell whether a manifest of ours is beside a file and names it."""
    if not (file.parent / MANIFEST).exists():
        return False
    try:
        return read(file.parent).file == file.name
    except ModelError:
        return file.suffix == ".onnx"  # no other tool makes these files


def _find_mismatches(
    manifest: ArtefactManifest, settings: EncodeSettings, source: str, reading: PictureFormat
) -> list[str]:
    """Return why an artefact does not fit a configuration, as far as this device can check it."""
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
    """Return the version of a package; empty if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
