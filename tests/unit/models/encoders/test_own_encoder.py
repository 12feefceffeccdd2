"""An encoder that an operator brings: how it wants its picture, what its answer is, what is said if it does not fit."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

from models import catalog
from models.encoders import PictureFormat, fill
from models.tags import VectorTable
from pipeline.core import messages as m
from pipeline.core.errors import ModelError
from stages.encode import Encode
from tests.fakes import context, frame, picture

ENCODER = "efficientnet-lite0-224-int8"


@pytest.fixture
def own(tmp_path):
    """A file of one's own; it is the bundled one under another name."""
    return shutil.copy(catalog.model_path(ENCODER), tmp_path / "mine.onnx")


@pytest.fixture
def encoded(new_ring):
    """Encode one keyframe with a configuration."""

    def made(**settings):
        ring = new_ring(slots=2)
        sequence = ring.copy(picture(120))
        stage = Encode(context(ring, encode=settings))
        stage.warm_up()
        keyframe = frame(sequence)
        wanted = m.FeaturesWanted(incident="i", priority=m.Priority.ALARM, keyframe=keyframe, box=(0.2, 0.2, 0.8, 0.8))
        *reports, features = stage.handle(wanted)
        assert [(one.state, one.details["runs_on"]) for one in reports] == [("rejected", "nothing")] * len(reports)
        return (reports[0].details["reason"], features) if reports else features

    return made


def vector(features):
    return np.frombuffer(features.embedding, "<f2").astype(np.float32)


def test_a_file_of_ones_own_answers_with_its_last_output_of_unit_length(own, encoded):
    found = encoded(model=str(own))
    assert found.model.startswith("mine@309773c0")
    assert vector(found).shape == (1280,)
    assert np.linalg.norm(vector(found)) == pytest.approx(1, abs=1e-2)
    assert found.tags == ()


def test_the_output_that_is_named_is_the_vector(own, encoded):
    assert vector(encoded(model=str(own), embedding="logits")).shape == (1000,)


def test_tags_come_from_a_table_in_the_encoders_own_space(own, encoded, tmp_path):
    like = vector(encoded(model=str(own)))
    np.savez(tmp_path / "tags.npz", names=["a wall", "a lake"], vectors=np.stack([like, -like]))
    assert encoded(model=str(own), table=str(tmp_path / "tags.npz")).tags == ("a wall",)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"sha256": "0" * 64}, "is not the file that is meant: its sha256 is 309773c0"),
        ({"embedding": "features"}, "has no output features: there are logits, embedding"),
        ({"layout": "nhwc"}, "set encode.layout to nchw"),
        ({"table": "missing.npz"}, r"missing\.npz is no table of tags"),
    ],
)
def test_what_does_not_fit_is_named_with_what_to_change(own, encoded, settings, problem):
    reason, features = encoded(model=str(own), **settings)
    assert re.search(problem, reason)
    assert "incidents have no tags until [encode] is put right" in reason
    assert (features.tags, features.embedding) == ((), b"")


@pytest.mark.parametrize("content", [b"", b"no model", None])
def test_a_file_that_is_no_model_is_named(tmp_path, encoded, content):
    path = tmp_path / "mine.onnx"
    if content is not None:
        path.write_bytes(content)
    assert "mine.onnx" in encoded(model=str(path))[0]


@pytest.mark.parametrize(
    ("names", "vectors"), [(["a"], np.ones((1, 3))), (["a", "b"], np.ones((1, 4))), (["a"], np.zeros((1, 4))), ([], [])]
)
def test_a_table_of_another_space_is_refused(tmp_path, names, vectors):
    np.savez(tmp_path / "t.npz", names=np.array(names, str), vectors=np.array(vectors, np.float32))
    with pytest.raises(ModelError, match=r"t\.npz"):
        VectorTable.load(tmp_path / "t.npz", 4)


def test_a_picture_is_written_as_the_model_wants_it():
    bgr = np.random.default_rng(1).integers(0, 256, (6, 4, 3), np.uint8)
    rgb = bgr[:, :, ::-1].astype(np.float64)
    mean, deviation = (123.7, 116.3, 103.5), (58.4, 57.1, 57.4)
    wanted = (rgb - mean) / deviation
    for layout, shape in (("nchw", (1, 3, 6, 4)), ("nhwc", (1, 6, 4, 3))):
        target = np.zeros(shape, np.float32)
        fill(target, bgr, PictureFormat(layout, mean, deviation))
        found = target[0].transpose(1, 2, 0) if layout == "nchw" else target[0]
        assert np.allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1, 224, 224), (2, 3, 224, 224), (1, 3, 224, 192), (1, 3, 5, 5), (3, 224, 224)])
def test_an_input_that_is_no_square_colour_picture_is_refused(shape):
    with pytest.raises(ModelError, match="wants one square RGB picture"):
        PictureFormat().side(shape)
