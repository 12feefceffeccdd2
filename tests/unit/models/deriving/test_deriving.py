"""Passes over small graphs: what each finds, what it makes of it, and that it says so where it finds nothing."""

from __future__ import annotations

import os

import cv2
import numpy as np
import onnx
import pytest
from onnx import helper
from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

from models import catalog
from models.encoders import gate
from models.encoders.bound import BoundEncoder
from models.encoders.cpu import open_cpu_session
from models.encoders.placement import CPU
from tests import npus, onnxes

pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install 'fieldwatch[convert]'")

from onnxscript import ir

from models.deriving import calibration, derive, gelu, passes, pictures, scan
from models.deriving import job as planning
from models.deriving.job import EncoderJob
from models.deriving.qdq import QuantisedGraph
from models.encoders import OURS, PictureFormat
from pipeline.core.errors import ConfigError, ModelError

pytestmark = pytest.mark.filterwarnings("ignore")  # of the quantiser's own
X = np.linspace(-5, 5, 32, dtype=np.float32).reshape(onnxes.SHAPE)


def answer(model, **more):
    """What a model makes of numbers from -5 to 5."""
    return open_cpu_session(model.SerializeToString(), optimised=False).run(None, {"x": X, **more})[0]


def run(name, model, folder, keep=()):
    """One pass; its change, and the model that it made."""
    source, into = onnxes.saved(model, folder / "source.onnx"), folder / "made.onnx"
    change = passes.PASSES[name](source, into, passes.PassTools(lambda: None, keep, ""))
    return change, onnx.load(into)


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize(("outer", "inner", "shape"), onnxes.SPELLINGS)
def test_gelu_is_found_however_it_is_spelt(outer, inner, shape, other):
    model = onnxes.gelu(outer, inner, shape, inside=other, swapped=other)
    truth = answer(model)
    for how, most in ((gelu.to_sigmoid, 2.8e-4), (gelu.to_operation, 1e-6)):
        made = ir.from_proto(model)
        assert how(made) == 1
        found = ir.to_proto(made)
        assert "Erf" not in onnxes.kinds(found)
        assert np.abs(answer(found) - truth).max() < most


@pytest.mark.parametrize(("scale", "outer"), [(1.5, "(x*e)*h"), (0.7, "x*(h*erf+h)")])
def test_what_only_looks_like_gelu_is_left_alone(scale, outer):
    model = ir.from_proto(onnxes.gelu(outer, "x/root", (1,), scale=scale))
    assert gelu.to_sigmoid(model) == 0


@pytest.mark.parametrize(("opset", "domain"), [(20, ""), (17, "com.microsoft")])
def test_the_operation_gelu_is_found_too_and_can_be_spelt_out(tmp_path, opset, domain):
    domains = {domain: 1} if domain else {}
    model = onnxes.graph([("Gelu", ("x",), "y", {"domain": domain})], opset=opset, **domains)
    truth = answer(model)
    for name, most in (("gelu_sigmoid", 2.8e-4), ("gelu_erf", 1e-6)):
        change, made = run(name, model, tmp_path)
        assert change.matched == 1
        assert "Gelu" not in onnxes.kinds(made)
        assert np.abs(answer(made) - truth).max() < most


def test_min_becomes_a_clip_of_a_number_and_differences_of_tensors(tmp_path):
    weights = onnxes.numbers(most=[2.0], other=np.zeros(8))
    model = onnxes.graph([("Min", ("most", "x"), "a"), ("Min", ("a", "other"), "y")], weights)
    change, made = run("min_clip", model, tmp_path)
    assert change.matched == 2
    assert onnxes.kinds(made) == ["Clip", "Sub", "Relu", "Sub"]
    assert np.allclose(answer(made), answer(model))


def test_operators_are_written_as_of_version_19_and_constants_as_initializers(tmp_path):
    tensor = onnxes.numbers(c=[1.0])[0]
    model = onnxes.graph([("Constant", (), "c", {"value": tensor}), ("Add", ("x", "c"), "y")], opset=21)
    change, older = run("opset_19", model, tmp_path)
    assert (change.matched, older.opset_import[0].version) == (1, 19)
    change, lifted = run("lift", older, tmp_path)
    assert change.matched == 1
    assert onnxes.kinds(lifted) == ["Add"]
    assert np.allclose(answer(lifted), answer(model))


def decomposed():
    """Layer normalisation as exporters of old write it."""
    weights = [*onnxes.numbers(two=2.0, tiny=1e-5, gain=np.linspace(1, 2, 8), bias=np.linspace(0, 1, 8))]
    nodes = [
        ("ReduceMean", ("x",), "mean", {"axes": [-1]}),
        ("Sub", ("x", "mean"), "off"),
        ("Pow", ("off", "two"), "square"),
        ("ReduceMean", ("square",), "spread", {"axes": [-1]}),
        ("Add", ("spread", "tiny"), "more"),
        ("Sqrt", ("more",), "root"),
        ("Div", ("off", "root"), "unit"),
        ("Mul", ("unit", "gain"), "scaled"),
        ("Add", ("scaled", "bias"), "y"),
    ]
    return onnxes.graph(nodes, weights)


@pytest.mark.parametrize("opset", [17, 13])
def test_layer_normalisation_that_is_spelt_out_is_fused(tmp_path, opset):
    model = decomposed()
    model.opset_import[0].version = opset
    helper.set_model_props(model, {"made_by": "an exporter"})  # over which the library's own pass falls
    change, ready = run("prepare", model, tmp_path)
    assert (change.matched, change.note) == (8, "LayerNormalization x1")
    _, made = run("fuse", ready, tmp_path)
    assert onnxes.kinds(made) == ["LayerNormalization"]
    assert np.allclose(answer(made), answer(model), atol=1e-5)


@pytest.mark.parametrize("spelling", onnxes.OUTER)
def test_spellings_that_the_library_does_not_know_are_fused_all_the_same(tmp_path, spelling):
    change, made = run("fuse", onnxes.gelu(spelling, "x*inverse", (1,)), tmp_path)
    assert (change.matched, onnxes.kinds(made)) == (1, ["Gelu"])


def converted(model, folder, target="generic", **asked):
    """A whole conversion in this process; the manifest and what was told."""
    source = onnxes.saved(model, folder / "source.onnx")
    out, told = folder / "out", []
    out.mkdir()
    ready = planning.plan(EncoderJob(source, target, **asked))
    derive.run(ready, out, told.append)
    return told[-1].manifest, told, out


@pytest.fixture(scope="module")
def vit():
    return npus.vit()


def test_each_pass_is_counted_and_compared(vit, tmp_path):
    manifest, _, out = converted(vit, tmp_path)
    assert [(one.name, one.matched) for one in manifest.passes] == [("gelu_sigmoid", 2), ("lift", 4)]
    assert all(one.cosine > 0.99999 for one in manifest.passes)
    assert {file.name for file in out.iterdir()} == {"model.onnx", "manifest.json"}
    assert {"Erf", "Gelu"}.isdisjoint(onnxes.kinds(onnx.load(out / "model.onnx")))


def test_what_rknn_takes_has_no_operation_gelu(vit, tmp_path):
    manifest, _, out = converted(vit, tmp_path, "rknn")
    assert "Erf" in onnxes.kinds(onnx.load(out / "model.onnx"))  # which it fuses itself
    assert manifest.cosine == 1


@pytest.mark.parametrize(("target", "asked"), [("generic", {}), ("openvino", {})])
def test_an_expression_that_no_pass_knows_is_an_error_with_the_nodes_names(tmp_path, target, asked):
    model = onnxes.gelu("(x*e)*h", "x/root", scale=1.5)
    with pytest.raises(ModelError, match=r"gelu_sigmoid left 1 operations .*: erf \(Erf\)"):
        converted(model, tmp_path, target, **asked)


def test_answers_that_are_no_longer_the_models_own_are_refused(vit, tmp_path, monkeypatch):
    monkeypatch.setattr(gelu, "_LINEAR", 0.2)
    with pytest.raises(ModelError, match=r"behind pass gelu_sigmoid .* cosine 0\.\d+, at least 0\.98 is asked"):
        converted(vit, tmp_path)


def test_quantising_without_pictures_says_what_to_give(vit, tmp_path):
    with pytest.raises(ConfigError, match=r"give --calibration FOLDER.* or --calibration probes"):
        converted(vit, tmp_path, eight_bit=True)


def test_drawn_pictures_are_said_to_be_drawn(vit, tmp_path):
    manifest, told, _ = converted(vit, tmp_path, eight_bit=True, calibration="probes")
    assert (manifest.facts.calibration.folder, manifest.facts.calibration.sha256) == ("probes", "")
    assert manifest.cosine > 0.995
    assert [(one.done, one.all) for one in told if one.what == "quantise"][-1] == (16, 16)


def test_weights_beside_the_file_are_refused(tmp_path):
    source = tmp_path / "apart.onnx"
    onnx.save(npus.cnn(), source, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "out").mkdir()
    with pytest.raises(ModelError, match="keeps its weights in another file"):
        derive.run(planning.plan(EncoderJob(source, "generic")), tmp_path / "out", lambda _: None)


def test_a_dynamic_model_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(ModelError, match=r"image\[0\]=batch.*make_dynamic_shape_fixed"):
        converted(npus.cnn("batch"), tmp_path)


@pytest.fixture
def folder(tmp_path):
    """Pictures of one grey each, wider than high, with a black rim at both sides that is not in their middle."""
    import cv2  # noqa: PLC0415  # here alone

    made = tmp_path / "pictures"
    (made / "deep").mkdir(parents=True)
    for at, name in enumerate(("b.png", "a.JPG", "deep/c.jpeg")):
        image = np.zeros((48, 80, 3), np.uint8)
        image[:, 16:64] = 100 + at
        cv2.imwrite(str(made / name), image)
    (made / "notes.txt").write_text("not a picture")
    return made


def test_pictures_are_found_sorted_and_told_apart_by_what_they_show(folder):
    found = pictures.find_pictures(folder)
    assert [file.name for file in found] == ["a.JPG", "b.png", "c.jpeg"]
    before = pictures.hash_pictures(found, folder)
    assert pictures.hash_pictures(found, folder) == before
    found[0].write_bytes(found[1].read_bytes())
    assert pictures.hash_pictures(found, folder) != before


def test_the_middle_of_a_picture_is_read_as_the_model_wants_it(folder):
    reading = PictureFormat("nhwc", (100.0, 100.0, 100.0), (2.0, 2.0, 2.0))
    told = []
    reader = calibration.CalibrationPictures(
        "x", (1, 32, 32, 3), reading, pictures.find_pictures(folder), lambda *at: told.append(at)
    )
    found = [reader.get_next() for _ in range(4)]
    assert [np.median(one["x"]) for one in found[:3]] == pytest.approx([0.5, 0, 1], abs=0.3)
    assert all(np.ptp(one["x"]) < 2 for one in found[:3])
    assert found[3] is None
    assert told[-1] == (3, 3)


def test_what_is_no_picture_is_named(folder):
    (folder / "b.png").write_bytes(b"cut off")
    reader = calibration.CalibrationPictures("x", (1, 3, 32, 32), OURS, pictures.find_pictures(folder))
    reader.get_next()
    with pytest.raises(ModelError, match=r"b\.png is no picture"):
        reader.get_next()


def test_a_folder_without_pictures_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"holds no pictures \(\.jpg"):
        pictures.find_pictures(tmp_path)


@pytest.fixture(scope="module")
def quantised(tmp_path_factory):
    """A small network before and behind its quantisation."""
    made = tmp_path_factory.mktemp("cnn")
    source = npus.saved(npus.cnn(), made, "source.onnx")
    kinds = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8, "per_channel": True}
    quantize_static(str(source), str(made / "made.onnx"), npus._Pictures(), quant_format=QuantFormat.QDQ, **kinds)
    return source, made / "made.onnx"


def similar(one, other):
    shown = gate.make_probes((1, 3, npus.SIDE, npus.SIDE))
    found = [
        [open_cpu_session(model.SerializeToString(), optimised=False).run(None, {"image": shot})[0] for shot in shown]
        for model in (one, other)
    ]
    return gate.min_cosine(*found)


def test_a_quantised_graph_is_opened_up_and_closed_again(quantised):
    source, made = (onnx.load(path) for path in quantised)
    opened = QuantisedGraph(made, {tensor.name: tensor for tensor in source.graph.initializer})
    assert [layer.op for layer in opened.layers] == ["Conv", "Conv", "GlobalAveragePool", "Gemm"]
    assert similar(opened.leave_out(()), made) == pytest.approx(1, abs=1e-6)
    free = opened.quantise_only(())
    assert "QuantizeLinear" not in onnxes.kinds(free)
    assert similar(free, source) == pytest.approx(1, abs=1e-4)  # but for ranges, to which it is clipped
    assert similar(made, source) < similar(free, source)
    onnx.checker.check_model(opened.quantise_only({"c2"}))


def test_a_layer_that_is_left_out_has_its_own_weights(quantised):
    source, made = (onnx.load(path) for path in quantised)
    opened = QuantisedGraph(made, {tensor.name: tensor for tensor in source.graph.initializer})
    kept = opened.leave_out({"c1"})
    read = next(list(node.input) for node in kept.graph.node if node.name == "c1")
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in kept.graph.initializer}
    before = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in source.graph.initializer}
    assert np.array_equal(weights[read[1]], before["c1_w"])


def test_a_layer_without_weights_of_its_own_is_spared_with_its_neighbours(quantised):
    source, made = (onnx.load(path) for path in quantised)
    known = QuantisedGraph(made, {tensor.name: tensor for tensor in source.graph.initializer})
    assert known.layers_to_leave_out("c1") == ("c1",)
    assert known.layers_to_leave_out("pooled") == ("pooled", "c2")  # what flattens behind it is no layer
    assert QuantisedGraph(made, {}).layers_to_leave_out("c2") == (
        "c2",
        "c1",
        "pooled",
    )  # what its weights were is not known


def test_a_scan_tells_every_layer_the_worst_first(quantised):
    source, made = quantised
    told = []
    found = scan.scan(made, source, gate.make_probes((1, 3, npus.SIDE, npus.SIDE)), lambda *at: told.append(at))
    assert {row.name for row in found.rows} == {"c1", "c2", "pooled", "features"}
    assert [row.alone for row in found.rows] == sorted((row.alone for row in found.rows), reverse=True)
    assert found.weights
    assert 0 < found.rows[0].alone <= found.whole * 2
    assert told[-1] == (8, 8)
    best = max(found.rows, key=lambda row: row.regained)
    assert found.choose(1) == (best.name, *best.near)


def test_the_bundled_encoder_is_opened_up_though_it_came_quantised():
    made = onnx.load(catalog.model_path("efficientnet-lite0-224-int8"))
    opened = QuantisedGraph(made, {})
    assert len(opened.layers) == 60
    shown = gate.make_probes((1, 3, 224, 224), 1)
    free, stem, whole = (
        gate.collect_answers(BoundEncoder(open_cpu_session(model.SerializeToString()), CPU), shown)
        for model in (opened.quantise_only(()), opened.quantise_only({"/_conv_stem/Conv"}), opened.leave_out(()))
    )
    assert 1 > gate.min_cosine(stem, free) > gate.min_cosine(whole, free) > 0.99


def test_the_runtimes_optimiser_leaves_a_layer_that_was_left_in_float32_so():
    opened = QuantisedGraph(onnx.load(catalog.model_path("efficientnet-lite0-224-int8")), {})
    model = opened.leave_out({"/_blocks.0/_depthwise_conv/Conv"}).SerializeToString()
    shown = gate.make_probes((1, 3, 224, 224), 1)
    found = [
        gate.collect_answers(BoundEncoder(open_cpu_session(model, optimised=asked), CPU), shown)
        for asked in (True, False)
    ]
    assert gate.min_cosine(*found) > 0.999


def test_a_layer_that_is_kept_is_not_quantised(vit, tmp_path):
    manifest, told, out = converted(vit, tmp_path, eight_bit=True, calibration="probes", keep=("2",))
    assert len(manifest.kept) >= 2
    assert manifest.facts.keep == ("2",)
    assert any(one.scan for one in told)
    made = onnx.load(out / "model.onnx")
    weights = {tensor.name: tensor.data_type for tensor in made.graph.initializer}
    computed = [node for node in made.graph.node if node.name in manifest.kept]
    assert all(weights.get(name, 1) == onnx.TensorProto.FLOAT for node in computed for name in node.input[1:])


def test_a_layer_that_is_not_there_is_refused_by_name(vit, tmp_path):
    with pytest.raises(ModelError, match="no layer nowhere: `--scan` lists"):
        converted(vit, tmp_path, eight_bit=True, calibration="probes", keep=("nowhere",))


def test_pictures_may_have_any_name_and_none_is_a_picture_by_its_name_alone(tmp_path):
    name = os.fsdecode(b"\xff.png")
    (tmp_path / name).write_bytes(cv2.imencode(".png", np.zeros((40, 40, 3), np.uint8))[1].tobytes())
    found = pictures.find_pictures(tmp_path)
    assert pictures.hash_pictures(found, tmp_path)
    assert calibration.read(found[0], 32).shape == (32, 32, 3)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ModelError, match="is no picture"):
        calibration.read(found[0], 32)
