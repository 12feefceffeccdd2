"""Find problems of an `[encode]` table without loading a native runtime."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from models import catalog
from models.encoders import OURS, PictureFormat, artefact, backends, onnxfile
from models.encoders.commands import SOC, is_soc
from models.encoders.remedies import find_remedy
from models.tags import VectorTable
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from models.encoders.onnxfile import OnnxGraph
    from pipeline.core.settings import EncodeSettings


def find_problems(settings: EncodeSettings) -> Iterator[tuple[str, str]]:
    """Yield the key of each wrong setting, with the problem and the remedy."""
    try:
        model, graph = _read_model(settings)
    except ModelError as error:
        yield "encode.model", str(error)
        return
    if settings.own:
        yield from _check_own_model(settings, graph)
    try:
        backends.configured_backend(settings)
    except ModelError as error:
        yield "encode.plugin", str(error)
    soc = settings.options.get("soc_model", "")
    if settings.backend == "qnn" and soc and not is_soc(soc):
        yield "encode.options", f"soc_model is {soc!r}, where the chip is {SOC}"
    if settings.artefact and settings.backend != "cpu":
        try:
            artefact.find_file(settings, model, PictureFormat.of(settings) if settings.own else OURS)
        except ModelError as error:
            yield "encode.artefact", str(error).removeprefix("encode.artefact: ")


def _read_model(settings: EncodeSettings) -> tuple[Path, OnnxGraph]:
    """Return the model's file and graph. Raises ModelError if it is missing, another file, or no encoder."""
    if settings.own:
        catalog.hash_own_file(Path(settings.model), settings.sha256)
        return Path(settings.model), onnxfile.read(Path(settings.model))
    found = catalog.model_path(catalog.check_encoder_name(settings.model))
    return found, onnxfile.read(found)


def _check_own_model(settings: EncodeSettings, graph: OnnxGraph) -> Iterator[tuple[str, str]]:
    """Yield problems of an operator's own model."""
    if len(graph.inputs) != 1:
        names = ", ".join(value.name for value in graph.inputs)
        yield "encode.model", f"an encoder has one input; {settings.model} has {len(graph.inputs)}: {names}"
        return
    if graph.dynamic and settings.backend != "cpu":
        given = ", ".join(graph.dynamic)
        yield "encode.model", f"dimensions are not fixed ({given}): {find_remedy(settings.backend, 'dynamic')}"
        return
    try:
        PictureFormat.of(settings).side(_fix_shape(graph.inputs[0].shape))
    except ModelError as error:
        yield "encode.layout", f"{settings.model}: {error}"
    found = {value.name: value.shape for value in graph.outputs}
    name = settings.embedding or next(reversed(found), "")
    if name not in found:
        yield "encode.embedding", f"{settings.model} has no output {name}: there are {', '.join(found)}"
    elif settings.table:
        try:
            VectorTable.load(Path(settings.table), prod(_fix_shape(found[name])))
        except ModelError as error:
            yield "encode.table", str(error)


def _fix_shape(shape: tuple[int | str, ...]) -> list[int]:
    """Return a shape with 1 for dimensions that are not fixed."""
    return [size if isinstance(size, int) else 1 for size in shape]
