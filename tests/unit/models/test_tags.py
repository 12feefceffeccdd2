from __future__ import annotations

import cv2
import numpy as np
import pytest

from models import catalog
from models.encoders import fill
from models.encoders.cpu import CpuEncoder
from models.tags import TagTable
from pipeline.core.errors import ModelError
from tests.paths import SHARED

CLIPS = SHARED / "footage" / "clips"
FORKLIFT, MINIVAN, CHIMPANZEE = 561, 656, 367  # ImageNet's own numbers
VEHICLES = {
    "car",
    "van",
    "minibus",
    "lorry",
    "pickup truck",
    "bus",
    "jeep",
    "ambulance",
    "garbage truck",
    "tram",
}


@pytest.fixture(scope="module")
def table():
    return TagTable.load(catalog.verified_path("conse-minilm"))


def sure_of(number):
    logits = np.zeros(1000, np.float32)
    logits[number] = 40
    return logits


@pytest.mark.parametrize(("number", "tag"), [(FORKLIFT, "forklift"), (MINIVAN, "minibus"), (CHIMPANZEE, "ape")])
def test_a_sure_class_gives_the_tag_of_its_kind(table, number, tag):
    assert table.tags(sure_of(number))[0].name == tag


def test_an_undecided_picture_has_no_tags(table):
    assert table.tags(np.random.default_rng(0).normal(0, 1e-3, 1000).astype(np.float32)) == ()


def test_the_vector_has_unit_length(table):
    vector = table.vector(np.random.default_rng(1).normal(0, 3, 1000).astype(np.float32))
    assert vector.shape == (384,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_no_more_tags_than_asked_for_come_likeliest_first(table):
    tags = table.tags(sure_of(MINIVAN), count=2)
    assert len(tags) == 2
    assert 1 > tags[0].likelihood >= tags[1].likelihood >= 0.5


def test_very_large_logits_do_not_overflow(table):
    assert np.isfinite(table.vector(sure_of(FORKLIFT) * 1000)).all()


def test_tag_names_are_unique(table):
    assert len(set(table.names)) == len(table.names)


def test_a_file_that_is_no_table_is_refused(tmp_path):
    (tmp_path / "conse.npz").write_bytes(b"not a table")
    with pytest.raises(ModelError, match=r"conse\.npz.*reinstall"):
        TagTable.load(tmp_path / "conse.npz")


@pytest.mark.shared
def test_a_road_with_cars_is_tagged_with_vehicles(table):
    clip = CLIPS / "road_cars.h264"
    if not clip.exists():
        pytest.skip(f"{clip} is not there")
    capture = cv2.VideoCapture(str(clip))
    _, picture = capture.read()
    capture.release()
    encoder = CpuEncoder(catalog.model_path("efficientnet-lite0-224-int8"))
    fill(encoder.input, cv2.resize(picture, (224, 224), interpolation=cv2.INTER_AREA))
    encoder.run()
    assert table.tags(encoder.logits)[0].name in VEHICLES
