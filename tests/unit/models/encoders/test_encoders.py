from __future__ import annotations

import numpy as np
import pytest

from models import catalog
from models.encoders import Encoder, fill
from models.encoders.cpu import CpuEncoder, open_cpu_session


@pytest.fixture(scope="module")
def encoder():
    return CpuEncoder(catalog.verified_path("efficientnet-lite0-224-int8"))


def noise(seed):
    return np.random.default_rng(seed).integers(0, 256, (224, 224, 3), np.uint8)


def test_the_encoder_fulfils_the_contract(encoder):
    contract: Encoder = encoder
    assert contract.input.shape == (1, 3, 224, 224)
    assert contract.output.shape == (1280,)
    assert contract.logits.shape == (1000,)


def test_filling_swaps_to_rgb_and_scales():
    target = np.empty((1, 3, 1, 1), np.float32)
    fill(target, np.array([[[127, 255, 0]]], np.uint8))
    assert target.ravel().tolist() == [-127 / 128, 1.0, 0.0]


def test_filling_refuses_a_picture_of_another_size():
    with pytest.raises(ValueError, match="does not fit"):
        fill(np.empty((1, 3, 224, 224), np.float32), np.zeros((160, 160, 3), np.uint8))


def test_a_run_reads_what_was_last_written_in_place(encoder):
    outputs = []
    for seed in (1, 2, 1):
        fill(encoder.input, noise(seed))
        encoder.run()
        outputs.append(encoder.output.copy())
    assert not np.allclose(outputs[0], outputs[1])
    assert np.array_equal(outputs[0], outputs[2])


def test_buffers_stay_at_their_addresses(encoder):
    before = [array.ctypes.data for array in (encoder.input, encoder.output, encoder.logits)]
    encoder.run()
    assert [array.ctypes.data for array in (encoder.input, encoder.output, encoder.logits)] == before
    assert encoder.zero_copy


def test_bound_buffers_give_what_a_plain_run_gives(encoder):
    fill(encoder.input, noise(3))
    encoder.run()
    session = open_cpu_session(catalog.model_path("efficientnet-lite0-224-int8"))
    logits, embedding = session.run(["logits", "embedding"], {"image": encoder.input})
    assert np.array_equal(encoder.logits, logits[0])
    assert np.array_equal(encoder.output, embedding[0])


def test_the_baseline_places_every_node_on_the_cpu(encoder):
    placement = encoder.placement()
    assert placement.verdict == "cpu_baseline"
    assert list(placement.nodes) == ["CPUExecutionProvider"]
    assert placement.nodes["CPUExecutionProvider"] > 50
