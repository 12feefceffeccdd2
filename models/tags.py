"""Find tags of a picture without a text model: ImageNet likelihoods are mapped into the space of texts.

The method is ConSE (Norouzi et al., "Zero-Shot Learning by Convex Combination of Semantic Embeddings",
2013): a picture's vector is the mean of the text vectors of its likeliest classes, weighted by their
likelihoods. The square root over the likelihoods flattens them, which measured better.

It finds kinds of things and a few scenes, but no colours, counts, actions, or people.
"""

from __future__ import annotations

import errno
import os
import zipfile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from models.foreign import catch_library_errors
from pipeline.core import files
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from numpy.typing import NDArray

CLASSES_USED = 15
FLATTENING = 0.5
"""Exponent over the classes' likelihoods."""

_TABLE_MOST = 512 << 20  # bytes; hundreds of thousands of names
CLIP_SCALE = 100.0
LEAST_SHARE = 0.15
"""Among the tags of a table, by eye."""

EVEN_COSINE = 0.5
COSINE_STEP = 0.08
"""Likelihood is 1/2 at the first and 0.73 one step above: set by eye on camera pictures, no calibration."""


class Tag(NamedTuple):
    """A thing that may be in a picture.

    Attributes:
        name: From the table's own vocabulary.
        likelihood: 0..1, growing with the cosine; no calibrated probability.
    """

    name: str
    likelihood: float


class VectorTable:
    """Tags of an encoder that answers in the space of texts, as CLIP does.

    Args:
        names: The tags.
        vectors: (tags, size) float32, in the order of `names`; of any length.
        scale: Of cosines before they become shares: the model's own, of CLIP 100.
    """

    def __init__(self, names: tuple[str, ...], vectors: NDArray[np.float32], scale: float) -> None:
        self._names = names
        self._vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        self._scale = scale

    @classmethod
    def load(cls, path: Path, size: int) -> Self:
        """Reads `names`, `vectors` and, where it is there, `scale` from an .npz file.

        Raises:
            ModelError: It cannot be read, or its vectors are not of this size.
        """
        with catch_library_errors(f"{path} is no table of tags: it holds `names` and `vectors`"):
            _check_size(path)
            with np.load(path, allow_pickle=False) as table:
                names = tuple(map(str, table["names"]))
                vectors = table["vectors"].astype(np.float32)
                scale = float(table["scale"]) if "scale" in table else CLIP_SCALE
        if vectors.shape != (len(names), size) or not names or not np.linalg.norm(vectors, axis=1).all():
            raise ModelError(
                f"{path}: {len(names)} names, vectors of {vectors.shape}, but the encoder answers vectors of {size}: "
                "make it with the text half of this very model"
            )
        return cls(names, vectors, scale)

    def tags(self, vector: NDArray[np.float32], count: int = 3) -> tuple[Tag, ...]:
        """Return the tags that fit a picture's vector (size,) of unit length, likeliest first, without small shares."""
        cosines = self._scale * (self._vectors @ vector)
        shares = np.exp(cosines - cosines.max())
        shares /= shares.sum()
        order = np.argsort(-shares, kind="stable")[:count]
        return tuple(Tag(self._names[at], float(shares[at])) for at in order if shares[at] >= LEAST_SHARE)


def _check_size(path: Path) -> None:
    """Raise OSError if a file, or its unpacked content, is larger than any table of tags."""
    os.close(files.open_regular(path, follow=True))  # np.load would wait for a pipe
    files.check_size(path, _TABLE_MOST)
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > _TABLE_MOST:
            raise OSError(errno.EFBIG, "what is packed in it is larger than any table", str(path))


class TagTable:
    """The text vectors of classes and tags.

    Args:
        class_vectors: (classes, 384) float16, of unit length, in the order of the logits.
        names: The tags.
        tag_vectors: (tags, 384) float16, of unit length, in the order of `names`.
        classes: The names of the classes, in the order of `class_vectors`; nothing but a search needs them.
    """

    def __init__(
        self,
        class_vectors: NDArray[np.float16],
        names: tuple[str, ...],
        tag_vectors: NDArray[np.float16],
        classes: tuple[str, ...] = (),
    ) -> None:
        self._class_names = classes
        self._tag_vectors = tag_vectors
        self._classes = class_vectors
        self._names = names
        self._mean = class_vectors.mean(axis=0, dtype=np.float32)
        centred = tag_vectors.astype(np.float32) - self._mean
        self._tags = centred / np.linalg.norm(centred, axis=1, keepdims=True)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads what tools/make_tag_table.py wrote.

        Raises:
            ModelError: The file is missing or no such table.
        """
        try:
            with np.load(path, allow_pickle=False) as table:
                names = tuple(map(str, table["tags"]))
                classes = tuple(map(str, table["classes"]))
                return cls(table["class_vectors"], names, table["tag_vectors"], classes)
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise ModelError(f"{path} is no tag table ({error}); reinstall fieldwatch") from error

    @property
    def names(self) -> tuple[str, ...]:
        """All tags."""
        return self._names

    def texts(self) -> tuple[tuple[str, ...], NDArray[np.float32]]:
        """Return the names of all classes and tags, and their text vectors, (names, 384) float32 of unit length."""
        vectors = np.concatenate((self._classes[: len(self._class_names)], self._tag_vectors))
        return (*self._class_names, *self._names), vectors.astype(np.float32)

    def centre(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Remove from a vector the direction that all texts share; (384,) float32 of unit length, or zeros."""
        away = vector - self._mean
        length = float(np.linalg.norm(away))
        found: NDArray[np.float32] = away / length if length else away
        return found

    def vector(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map the logits of a picture into the space of texts.

        Args:
            logits: (classes,) float32, raw.

        Returns:
            (384,) float32 of unit length, the caller's own. Its cosine with the MiniLM embedding of
            "a photo of a ..." says how well the text fits.
        """
        likeliest = np.argpartition(logits, -CLASSES_USED)[-CLASSES_USED:]
        weights = np.exp(FLATTENING * (logits[likeliest] - logits[likeliest].max()))
        mixed: NDArray[np.float32] = weights @ self._classes[likeliest].astype(np.float32)
        mixed /= np.linalg.norm(mixed)
        return mixed

    def tags(self, logits: NDArray[np.float32], count: int = 3) -> tuple[Tag, ...]:
        """Return the tags that fit a picture, likeliest first; may be empty.

        All texts of the form "a photo of" share a direction; without taking it away everything fits a bit.

        Args:
            logits: As `vector` takes them.
            count: At most so many.
        """
        cosines = self._tags @ self.centre(self.vector(logits))
        fitting = [index for index in np.argsort(-cosines)[:count] if cosines[index] >= EVEN_COSINE]
        likelihoods = 1 / (1 + np.exp((EVEN_COSINE - cosines) / COSINE_STEP))
        return tuple(Tag(self._names[index], float(likelihoods[index])) for index in fitting)
