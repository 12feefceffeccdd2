"""The gate: a configured accelerator must prove that it runs the model, and that its answers are right.

Placement alone misses a device that takes all nodes and answers nonsense; answers alone miss a graph that silently runs
on the processor. So both are checked. `find_problems` and `choose` are pure decisions. `admit` is the only way to open
an accelerator, and returns its evidence, so that every fallback is reported.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import cv2
import numpy as np
import structlog

from models.encoders import OURS, PictureFormat, backends, fill, onnxfile
from models.encoders.placement import CASTS, Node, Placement, count_kinds
from models.encoders.remedies import find_remedy
from models.foreign import catch_library_errors
from pipeline.core import files
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from models.encoders import Encoder
    from models.encoders.backends import Backend
    from pipeline.core.events import Details
    from pipeline.core.settings import EncodeSettings

log = structlog.get_logger()

Fallback = Literal["refuse", "degrade", "warn"]
Choice = Literal["accelerator", "cpu", "nothing"]
State = Literal["loaded", "fallback", "rejected"]

PROBES = 3
_SEED = 20261129
_NAMES = 8  # names of nodes in an event


class Policy(NamedTuple):
    """What the operator demands of an accelerator.

    Attributes:
        on_fallback: What to do if it does not run the whole model: use nothing, use the CPU, or use it with a warning.
        allow_cpu_ops: Kinds of operations that may run on the CPU.
        min_cosine: Least cosine of its answers with those of the CPU, 0..1.
        max_partitions: Largest number of pieces that the graph may be cut into.
    """

    on_fallback: Fallback = "degrade"
    allow_cpu_ops: tuple[str, ...] = ()
    min_cosine: float = 0.99
    max_partitions: int = 1

    @classmethod
    def of(cls, settings: EncodeSettings) -> Policy:
        """The policy of a configuration."""
        return cls(settings.on_fallback, settings.allow_cpu_ops, settings.min_cosine, settings.max_partitions)


class WrongNode(NamedTuple):
    """The first node whose result differs from the CPU's, and the cosine of both."""

    node: Node
    cosine: float


class GateEvidence(NamedTuple):
    """The evidence about one model on one back end.

    Attributes:
        backend: Name of the back end.
        failure: Why it could not be opened or run; empty if it could.
        placement: Which provider ran which node; None if it was not opened.
        cosine: Least cosine with the CPU's answers over probes and outputs; None if there were no answers.
        wrong: The first wrong node, if it was searched for and found.
    """

    backend: str
    failure: str = ""
    placement: Placement | None = None
    cosine: float | None = None
    wrong: WrongNode | None = None


class Admission(NamedTuple):
    """The decision about an encoder.

    Attributes:
        encoder: The encoder to use; None if none may be used.
        state: The state for the event: `loaded`, or `fallback` and `rejected`, which are warnings.
        details: The details of the event.
        evidence: The evidence for the decision.
        reasons: Why the accelerator does not fulfil the policy; empty if it does.
    """

    encoder: Encoder | None
    state: State
    details: Details
    evidence: GateEvidence
    reasons: tuple[str, ...] = ()


def find_problems(found: GateEvidence, policy: Policy) -> tuple[str, ...]:
    """Return why an accelerator does not fulfil the policy; each text names the problem and the remedy."""
    if found.failure or found.placement is None or found.cosine is None:
        return (found.failure or "it gave no answer",)
    return tuple(text for text in (*_check_placement(found, policy), _check_answers(found, policy)) if text)


def _check_placement(found: GateEvidence, policy: Policy) -> tuple[str, ...]:
    placement = found.placement
    assert placement is not None
    if placement.verdict == "cpu_baseline":
        return ()
    if placement.verdict == "untold":
        return (f"{placement.requested} keeps no record of what ran where, so nothing is proved",)
    if placement.verdict == "none":
        took = ", ".join(placement.nodes)
        return (f"{placement.requested} took no node, all are on {took}: {find_remedy(found.backend, 'nothing')}",)
    left = [node for node in placement.left if node.op not in policy.allow_cpu_ops]
    cut = placement.partitions > policy.max_partitions
    return (
        f"{len(left)} nodes stay on the CPU ({count_kinds(left)}): {_list_remedies(found.backend, left)}"
        if left
        else "",
        f"the graph is cut into {placement.partitions} pieces, at most {policy.max_partitions} are allowed"
        if cut
        else "",
    )


def _check_answers(found: GateEvidence, policy: Policy) -> str:
    assert found.cosine is not None
    if found.cosine >= policy.min_cosine:
        return ""
    where = f", first at {found.wrong.node.name} ({found.wrong.node.op})" if found.wrong else ""
    return (
        f"its answers are not the CPU's: cosine {found.cosine:.4f}, at least {policy.min_cosine:g} is asked{where}: "
        f"{find_remedy(found.backend, 'wrong')}"
    )


def _list_remedies(backend: str, left: Sequence[Node]) -> str:
    kinds = {node.op for node in left}
    causes = kinds - CASTS or kinds  # casts only appear where another operation cuts the graph
    return "; ".join(dict.fromkeys(find_remedy(backend, op) for op in sorted(causes)))


def choose(found: GateEvidence, policy: Policy) -> Choice:
    """Choose what to use. An accelerator with wrong or no answers is never used, whatever the policy."""
    if not find_problems(found, policy):
        baseline = found.placement is not None and found.placement.verdict == "cpu_baseline"
        return "cpu" if baseline else "accelerator"
    right = found.cosine is not None and found.cosine >= policy.min_cosine and not found.failure
    match policy.on_fallback:
        case "refuse":
            return "nothing"
        case "warn" if right:
            return "accelerator"
        case _:
            return "cpu"


def event_details(model: str, found: GateEvidence, policy: Policy) -> Details:
    """Return the details of the event; the same in every run on the same device."""
    details: Details = {"model": model, "backend": found.backend, "runs_on": choose(found, policy)}
    if found.placement is not None:
        placement = found.placement
        details |= {
            "provider": placement.requested,
            "verdict": placement.verdict,
            "nodes": placement.nodes.get(placement.requested, 0),
            "partitions": placement.partitions,
            "nodes_on_cpu": len(placement.left),
            "casts_on_cpu": len(placement.casts),
        }
        if placement.left:
            details["left"] = count_kinds(placement.left)
            details["left_names"] = ", ".join(node.name or node.op for node in placement.left[:_NAMES])
    if found.cosine is not None:
        details["cosine"] = round(found.cosine, 4)
    if found.wrong is not None:
        details["first_wrong"] = f"{found.wrong.node.name} ({found.wrong.node.op})"
    if reasons := find_problems(found, policy):
        details["reason"] = "; ".join(reasons)
    return details


def open_cpu_encoder(model: Path) -> Encoder:
    """Open the encoder on the CPU, which needs no proof. Raises ModelError if the model cannot be read."""
    return backends.open_baseline(model)


def admit(
    model: Path, name: str, settings: EncodeSettings, trace_s: float = 10.0, reading: PictureFormat = OURS
) -> Admission:
    """Open the configured back end, examine it, and decide what to use.

    Args:
        model: The ONNX file.
        name: The operator's name of the model.
        settings: Back end, its options, and the policy.
        trace_s: Seconds to search for the first wrong node, if answers are wrong; 0: do not search.
        reading: The picture format of the model.

    Raises:
        ModelError: The model cannot be opened even on the CPU, or the back end is unknown.
    """
    policy = Policy.of(settings)
    if settings.backend == "cpu":
        return Admission(
            backends.open_baseline(model), "loaded", {"model": name, "backend": "cpu"}, GateEvidence("cpu")
        )
    encoder, found = examine(model, settings, trace_s, reading)
    way, reasons = choose(found, policy), find_problems(found, policy)
    details = event_details(name, found, policy)
    state: State = "loaded" if not reasons else "rejected" if way == "nothing" else "fallback"
    (log.warning if reasons else log.info)("encoder_admitted", state=state, **details)
    if way == "cpu":
        return Admission(backends.open_baseline(model), state, details, found, reasons)
    return Admission(encoder if way == "accelerator" else None, state, details, found, reasons)


def find_broken_file(model: Path, settings: EncodeSettings, reading: PictureFormat = OURS) -> tuple[str, str] | None:
    """Find a file of the operator that native code cannot open; return its setting and the reason, else None.

    Only ONNX files, on the CPU, and files of MNN are opened; other files need their accelerator.
    """
    try:
        if settings.own:
            with catch_library_errors(f"{model} cannot be run"):
                backends.open_baseline(model).run()
    except ModelError as error:
        return "encode.model", str(error)
    try:
        if settings.backend == "mnn" and settings.artefact:
            graph = onnxfile.read(model)
            with catch_library_errors(f"{settings.artefact} cannot be run"):
                made = backends.file_to_open(settings, model, reading)
                backends.open_encoder(backends.configured_backend(settings), model, made, graph).run()
    except ModelError as error:
        return "encode.artefact", str(error)
    return None


def examine(
    model: Path, settings: EncodeSettings, trace_s: float, reading: PictureFormat = OURS
) -> tuple[Any, GateEvidence]:
    """Open the encoder of the configured back end and collect evidence; the encoder is None if it cannot be opened.

    Raises:
        ModelError: The model cannot be opened even on the CPU, or the back end is unknown.
    """
    name, chosen = settings.backend, backends.configured_backend(settings)
    graph = onnxfile.read(model)
    if graph.dynamic:
        text = f"dimensions are not fixed ({', '.join(graph.dynamic)}): {find_remedy(name, 'dynamic')}"
        return None, GateEvidence(name, text)
    try:
        with catch_library_errors("it opened the model and cannot run it"):
            encoder = backends.open_encoder(chosen, model, backends.file_to_open(settings, model, reading), graph)
            pictures = make_probes(encoder.input.shape, PROBES, reading)
            given = collect_answers(encoder, pictures)  # the first run warms up
            placement = encoder.placement()
    except ModelError as error:
        return None, GateEvidence(name, f"{error}{_memory_hint(name, str(error))}")
    similar = min_cosine(given, collect_answers(backends.open_baseline(model), pictures))
    wrong = None
    if trace_s and similar < settings.min_cosine and chosen.engine == "plugin_ep" and not settings.artefact:
        wrong = find_first_wrong(chosen, model, settings.min_cosine, trace_s, reading)
    return encoder, GateEvidence(name, "", placement, similar, wrong)


def _memory_hint(backend: str, text: str) -> str:
    return f": {find_remedy(backend, 'memory')}" if "MEM_ALLOC" in text else ""


def make_probes(shape: Sequence[int], count: int = PROBES, reading: PictureFormat = OURS) -> list[NDArray[np.float32]]:
    """Make test inputs that are the same on every machine: drawn pictures for picture inputs, else random numbers.

    Args:
        shape: Shape of the input.
        count: Number of inputs.
        reading: The picture format of the model.

    Returns:
        Arrays of this shape, float32.
    """
    random = np.random.default_rng(_SEED)
    made = []
    for _ in range(count):
        one = np.zeros(tuple(shape), np.float32)
        sides = shape[2:] if reading.layout == "nchw" else shape[1:3]
        if len(shape) == 4 and tuple(shape) in {(1, 3, *sides), (1, *sides, 3)}:  # noqa: PLR2004 - axes of a picture
            fill(one, _draw_picture(random, int(sides[0]), int(sides[1])), reading)
        else:
            one[...] = random.normal(0, 0.5, one.shape)
        made.append(one)
    return made


def _draw_picture(random: np.random.Generator, height: int, width: int) -> NDArray[np.uint8]:
    """Draw a picture with soft colours, rectangles and a little noise, like camera pictures; (H, W, 3) uint8."""
    soft = cv2.resize(random.integers(0, 256, (4, 4, 3), np.uint8), (width, height), interpolation=cv2.INTER_CUBIC)
    for _ in range(4):
        top, left = int(random.integers(0, height * 3 // 4)), int(random.integers(0, width * 3 // 4))
        tall, wide = int(random.integers(1, height // 3 + 2)), int(random.integers(1, width // 3 + 2))
        soft[top : top + tall, left : left + wide] = random.integers(0, 256, 3)
    noisy = soft.astype(np.int16) + random.integers(-8, 9, soft.shape)
    picture: NDArray[np.uint8] = np.clip(noisy, 0, 255).astype(np.uint8)
    return picture


def collect_answers(encoder: Any, pictures: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """Run an encoder on pictures; return copies of all outputs, for each picture sorted by name."""
    found: list[NDArray[np.float32]] = []
    for picture in pictures:
        encoder.input[...] = picture.reshape(encoder.input.shape)
        encoder.run()
        found.extend(array.copy() for _, array in sorted(encoder.outputs.items()))
    return found


def min_cosine(these: Sequence[NDArray[np.float32]], those: Sequence[NDArray[np.float32]]) -> float:
    """Return the least cosine of pairs of arrays; -1 for pairs of different sizes or without finite values."""
    return min(cosine_similarity(one, other) for one, other in zip(these, those, strict=True))


def cosine_similarity(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Return the cosine of two arrays taken as vectors; 1 if both are all zeros."""
    if one.size != other.size or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return -1.0
    a, b = one.ravel().astype(np.float64), other.ravel().astype(np.float64)
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths else float(not (a.any() or b.any()))


def find_first_wrong(
    chosen: Backend,
    model: Path,
    limit: float,
    within_s: float,
    reading: PictureFormat = OURS,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> WrongNode | None:
    """Find the first node, in the graph's order, whose result on the accelerator differs from the CPU's.

    Each run exposes one inner tensor, as exposing changes which nodes are fused. A node that is only wrong while it is
    fused is therefore not found.

    Args:
        chosen: A back end of onnxruntime, with its options.
        model: The ONNX file.
        limit: Least cosine of right results.
        within_s: Seconds after which the search ends.
        reading: The picture format of the model.
        clock: Returns seconds.

    Returns:
        The node; None if none is found in time.
    """
    from models.encoders.bound import BoundEncoder  # noqa: PLC0415  # native code; the decisions above need none
    from models.encoders.cpu import open_cpu_session  # noqa: PLC0415  # the same
    from models.encoders.placement import CPU  # noqa: PLC0415  # the same
    from models.encoders.plugin_ep import PluginEncoder  # noqa: PLC0415  # the same

    content, until = files.read_bounded(model, onnxfile.MAX_BYTES, follow=True), clock() + within_s
    for operation, tensor in onnxfile.observable_operations(onnxfile.parse(content)):
        if clock() > until:
            return None
        shown = onnxfile.expose_tensor(content, tensor)
        try:
            with catch_library_errors(tensor):
                truth = BoundEncoder(open_cpu_session(shown, optimised=False), CPU)
                tried = PluginEncoder(chosen.module, shown, chosen.options)
                pictures = make_probes(truth.input.shape, 1, reading)
                collect_answers(truth, pictures)
                collect_answers(tried, pictures)
        except ModelError:
            continue  # this tensor cannot be exposed, e.g. it is no float; its neighbours can
        similar = cosine_similarity(tried.outputs[tensor], truth.outputs[tensor])
        if similar < limit:
            return WrongNode(Node(operation.name, operation.op), similar)
    return None
