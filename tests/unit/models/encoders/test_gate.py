"""What the gate decides, of values alone; what real runtimes do is in test_npu.py."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from models import catalog
from models.encoders import backends, gate, onnxfile
from models.encoders.cpu import open_cpu_session
from models.encoders.gate import GateEvidence, Policy, WrongNode
from models.encoders.placement import CPU, Node, Part, Placement, count_kinds
from pipeline.core.errors import ModelError
from pipeline.core.settings import EncodeSettings

MODEL = catalog.model_path("efficientnet-lite0-224-int8")
NPU = "NpuProvider"
TAKEN = Part(NPU, (Node("a", "Conv"), Node("b", "Add")))
CASTS = (Part(CPU, (Node("in", "QuantizeLinear"),)), Part(CPU, (Node("out", "DequantizeLinear"),)))
ERF = Part(CPU, (Node("e", "Erf"),))
RIM = frozenset({"in", "out"})

FULL = Placement(NPU, (TAKEN, *CASTS), RIM)
PARTIAL = Placement(NPU, (TAKEN, ERF, TAKEN, *CASTS), RIM)
NONE = Placement(NPU, (Part(CPU, TAKEN.nodes), *CASTS), RIM)
UNTOLD = Placement(NPU, recorded=False)


def evidence(placement=FULL, cosine=0.999, **changes):
    return GateEvidence("qnn", placement=placement, cosine=cosine)._replace(**changes)


@pytest.mark.parametrize(
    ("placement", "verdict"),
    [
        (FULL, "full"),
        (PARTIAL, "partial"),
        (NONE, "none"),
        (UNTOLD, "untold"),
        (Placement(CPU, (Part(CPU, TAKEN.nodes),)), "cpu_baseline"),
        (Placement(NPU), "none"),
    ],
)
def test_the_verdict_follows_from_what_was_recorded(placement, verdict):
    assert placement.verdict == verdict


def test_casts_at_the_rim_are_told_apart_from_those_at_a_cut():
    inner = Part(CPU, (Node("seam", "DequantizeLinear"),))
    placement = FULL._replace(parts=(*FULL.parts, inner))
    assert [node.name for node in placement.casts] == ["in", "out"]
    assert [node.name for node in placement.left] == ["seam"]
    assert placement.verdict == "partial"


def test_partitions_and_nodes_are_counted():
    assert PARTIAL.partitions == 2
    assert PARTIAL.nodes == {NPU: 4, CPU: 3}
    assert count_kinds(PARTIAL.elsewhere) == "DequantizeLinear x1, Erf x1, QuantizeLinear x1"


REASONS = [  # evidence, policy, a part of each reason
    (evidence(), Policy(), []),
    (evidence(PARTIAL), Policy(), ["Erf x1", "cut into 2 pieces"]),
    (evidence(PARTIAL), Policy(allow_cpu_ops=("Erf",), max_partitions=2), []),
    (evidence(NONE), Policy(), ["took no node"]),
    (evidence(UNTOLD), Policy(), ["nothing is proved"]),
    (evidence(cosine=0.5), Policy(), ["cosine 0.5000, at least 0.99"]),
    (evidence(cosine=0.5, wrong=WrongNode(Node("fc", "Gemm"), 0.4)), Policy(), ["first at fc (Gemm)"]),
    (evidence(PARTIAL, 0.5), Policy(), ["Erf x1", "cut into 2", "cosine 0.5"]),
    (evidence(failure="it broke"), Policy(), ["it broke"]),
    (GateEvidence("qnn"), Policy(), ["no answer"]),
]


@pytest.mark.parametrize(("found", "policy", "parts"), REASONS)
def test_every_reason_is_told(found, policy, parts):
    reasons = gate.find_problems(found, policy)
    assert len(reasons) == len(parts)
    assert all(part in reason for part, reason in zip(parts, reasons, strict=True))


COURSES = [  # evidence, what each policy makes of it
    (evidence(), {"refuse": "accelerator", "degrade": "accelerator", "warn": "accelerator"}),
    (evidence(PARTIAL), {"refuse": "nothing", "degrade": "cpu", "warn": "accelerator"}),
    (evidence(NONE), {"refuse": "nothing", "degrade": "cpu", "warn": "accelerator"}),
    (evidence(cosine=0.5), {"refuse": "nothing", "degrade": "cpu", "warn": "cpu"}),
    (evidence(cosine=float("nan")), {"refuse": "nothing", "degrade": "cpu", "warn": "cpu"}),
    (GateEvidence("qnn", "it broke"), {"refuse": "nothing", "degrade": "cpu", "warn": "cpu"}),
]


@pytest.mark.parametrize(("found", "courses"), COURSES)
def test_wrong_answers_are_never_used_and_policies_decide_the_rest(found, courses):
    assert {name: gate.choose(found, Policy(on_fallback=name)) for name in courses} == courses


@pytest.mark.parametrize("found", [row[0] for row in COURSES])
@pytest.mark.parametrize("policy", ["refuse", "degrade", "warn"])
def test_what_is_not_as_asked_for_always_has_a_reason_in_what_is_told(found, policy):
    told = gate.event_details("small", found, Policy(on_fallback=policy))
    whole = found.placement is FULL and found.cosine == 0.999
    assert ("reason" in told) == (not whole)
    assert msgspec.json.encode(told)


def test_the_bundled_encoder_is_read_as_its_runtime_reads_it():
    graph = onnxfile.read(MODEL)
    assert graph.inputs == (onnxfile.Value("image", (1, 3, 224, 224)),)
    assert {value.name: value.shape for value in graph.outputs} == {"logits": (1, 1000), "embedding": (1, 1280)}
    assert len(graph.operations) == 282
    assert graph.dynamic == ()
    assert graph.rim == {"image_QuantizeLinear", "logits_DequantizeLinear", "embedding_DequantizeLinear"}


def test_a_tensor_is_exposed_without_rewriting_the_model():
    content = MODEL.read_bytes()
    operation, tensor = onnxfile.observable_operations(onnxfile.parse(content))[0]
    assert operation.op == "Conv"
    session = open_cpu_session(onnxfile.expose_tensor(content, tensor))
    assert session.get_outputs()[-1].name == tensor
    assert session.get_outputs()[-1].shape[0] == 1


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"not a model at all", b"\xff" * 40])
def test_what_is_no_model_is_refused(tmp_path, content):
    path = tmp_path / "x.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"x\.onnx is no ONNX file"):
        onnxfile.read(path)


def test_a_model_that_was_cut_off_is_refused(tmp_path):
    path = tmp_path / "x.onnx"
    path.write_bytes(MODEL.read_bytes()[:100_000])
    with pytest.raises(ModelError, match="is damaged"):
        onnxfile.read(path)


def test_probes_are_the_same_every_time_and_differ_from_one_another():
    once, again = gate.make_probes((1, 3, 224, 224)), gate.make_probes((1, 3, 224, 224))
    assert all(np.array_equal(one, other) for one, other in zip(once, again, strict=True))
    assert not np.allclose(once[0], once[1])
    assert all(-1 <= one.min() < one.max() <= 1 for one in once)


@pytest.mark.parametrize(
    ("one", "other", "similar"),
    [
        ([1, 0], [1, 0], 1),
        ([1, 0], [0, 1], 0),
        ([0, 0], [0, 0], 1),
        ([0, 0], [1, 0], 0),
        ([1, np.nan], [1, 0], -1),
        ([1, 0], [1, 0, 0], -1),
    ],
)
def test_what_is_not_finite_or_not_as_large_is_not_similar(one, other, similar):
    assert gate.cosine_similarity(np.array(one, np.float32), np.array(other, np.float32)) == pytest.approx(similar)


def test_the_baseline_is_admitted_without_proof():
    admission = gate.admit(MODEL, "small", EncodeSettings())
    assert admission.state == "loaded"
    assert admission.encoder.placement().verdict == "cpu_baseline"


@pytest.mark.parametrize(("policy", "state"), [("refuse", "rejected"), ("degrade", "fallback"), ("warn", "fallback")])
def test_a_back_end_that_is_not_there_is_told_and_never_replaced_in_silence(policy, state):
    settings = EncodeSettings(backend="plugin_ep", plugin="no_such_wheel", on_fallback=policy)
    admission = gate.admit(MODEL, "small", settings)
    assert admission.state == state
    assert (admission.encoder is None) == (policy == "refuse")
    assert "no_such_wheel is not installed" in admission.details["reason"]


def test_a_plug_in_without_a_module_is_refused_with_the_key_to_set():
    with pytest.raises(ModelError, match=r"needs encode\.plugin"):
        gate.admit(MODEL, "small", EncodeSettings(backend="plugin_ep"))


def test_an_unknown_back_end_is_refused_with_those_there_are():
    with pytest.raises(ModelError, match="no encoder back end 'tpu'; there are cpu, qnn"):
        backends.find_backend("tpu")


def test_rknn_without_its_runtime_says_what_to_install(tmp_path):
    made = tmp_path / "model.rknn"
    made.touch()
    admission = gate.admit(MODEL, "small", EncodeSettings(backend="rknn", artefact=str(made)))
    assert admission.state == "fallback"
    assert "rknn-toolkit-lite2 is not installed" in admission.details["reason"]


def test_every_back_end_is_surveyed_with_a_reason_where_it_cannot_be_used():
    states = {state.name: state for state in backends.survey()}
    assert set(states) == set(backends.BACKENDS) - {"plugin_ep"}
    assert states["cpu"].usable
    assert all(state.usable != bool(state.reason) for state in states.values())
