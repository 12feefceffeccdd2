"""onnxruntime sessions whose input and outputs are bound to fixed arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as state

from models.encoders.answers import Answers
from models.encoders.placement import Node, Part, Placement
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

FAULTS = (
    state.EPFail,
    state.EngineError,
    state.Fail,
    state.InvalidArgument,
    state.InvalidGraph,
    state.InvalidProtobuf,
    state.NoModel,
    state.NoSuchFile,
    state.NotImplemented,
    state.RuntimeException,
)
"""Errors of onnxruntime when it cannot open or run a model; the classes share no base."""

_AS_WRITTEN = ("optimization.disable_specified_optimizers", "WeightBiasQuantization")
"""It quantises the weights of a layer that was left in float32 between others, coarser than these were (cosine .93)."""

_PRECISE = ("session.x64quantprecision", "1")
"""Processors with AVX2 and no VNNI add up products of 8 bit in 16 bits, which overflow in silence: the answers of the
bundled encoder had a cosine of .93 with those of other processors. This adds up in wider numbers, 1.3 times slower."""

_HOST = "Cpu"  # memory that the device reads and writes itself
_FLOAT = "tensor(float)"
_MAX_VALUES = 64 << 20  # numbers of an input or output; a picture of 1024 by 1024 has three million


def make_options(profile: Path | None = None) -> Any:
    """Make `SessionOptions` for one thread that record the placement.

    One thread, as every stage owns one core at most; no spinning, as a spinning pool burns power between
    frames. The memory arena is left on: after the first run, runs ask the system for no memory.

    Args:
        profile: Where to write a profile, a prefix of a file's name; None: none is written.
    """
    made = ort.SessionOptions()
    made.intra_op_num_threads = 1
    made.inter_op_num_threads = 1
    made.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    made.add_session_config_entry("session.intra_op.allow_spinning", "0")
    made.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    made.add_session_config_entry(*_AS_WRITTEN)
    made.add_session_config_entry(*_PRECISE)
    if profile is not None:
        made.enable_profiling = True
        made.profile_file_prefix = str(profile)
    return made


def open_session(model: Path | bytes, made: Any, **how: Any) -> Any:
    """Open an `InferenceSession` of an ONNX file, or of its bytes. Raises one of `FAULTS`."""
    return ort.InferenceSession(model if isinstance(model, bytes) else str(model), made, **how)


def read_placement(session: Any, requested: str, rim: frozenset[str]) -> Placement:
    """Read the placement that a session recorded; names of providers would prove nothing."""
    parts = tuple(
        Part(part.ep_name, tuple(Node(node.name, node.op_type) for node in part.get_nodes()))
        for part in session.get_provider_graph_assignment_info()
    )
    return Placement(requested, parts, rim)


def check_sizes(shapes: Sequence[Sequence[int | str | None]]) -> None:
    """Raise ModelError if an array would be larger than any picture, as damaged shapes would take all memory."""
    for shape in shapes:
        if math.prod(_fix_shape(shape)) > _MAX_VALUES or min(_fix_shape(shape), default=1) < 0:
            raise ModelError(f"it has an input or output of {'x'.join(map(str, shape))} numbers: the file is damaged")


def _fix_shape(shape: Sequence[int | str | None]) -> list[int]:
    return [size if isinstance(size, int) else 1 for size in shape]


class BoundEncoder(Answers):
    """A session with one input, bound once to arrays that the caller fills and reads in place.

    Some devices copy a bound input as it is bound and never look at the array again; theirs is bound anew before every
    run, and `zero_copy` is false. Not safe for calls from two threads at once.

    Args:
        session: An `InferenceSession`, all float32; a dimension that is not fixed is taken for one.
        requested: The provider that was asked for.
        rim: See `Placement`.

    Raises:
        ModelError: The model has several inputs, or values that are no float32.
    """

    def __init__(self, session: Any, requested: str, rim: frozenset[str] = frozenset()) -> None:
        self._session = session
        self._requested = requested
        self._rim = rim
        feeds, results = session.get_inputs(), session.get_outputs()
        if len(feeds) != 1 or any(one.type != _FLOAT for one in (*feeds, *results)):
            found = ", ".join(f"{one.name} {one.type}" for one in (*feeds, *results))
            raise ModelError(f"an encoder has one input, and all values float32; this one has {found}")
        check_sizes((feeds[0].shape, *(one.shape for one in results)))
        self._name = feeds[0].name
        self._input = np.zeros(_fix_shape(feeds[0].shape), np.float32)
        self._outputs: dict[str, NDArray[np.float32]] = {
            one.name: np.zeros(_fix_shape(one.shape), np.float32) for one in results
        }
        memories = (*session.get_input_memory_infos(), *session.get_output_memory_infos())
        self._in_place = all(memory.name == _HOST for memory in memories)
        self._feed = ort.OrtValue.ortvalue_from_numpy(self._input)
        self._binding = session.io_binding()
        self._binding.bind_ortvalue_input(self._name, self._feed)
        for name, array in self._outputs.items():
            self._binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(array))

    @property
    def input(self) -> NDArray[np.float32]:
        """(1, 3, H, W) float32, filled in place; see `models.encoders.fill`."""
        return self._input

    @property
    def zero_copy(self) -> bool:
        """Whether the device works on the bound arrays themselves."""
        return self._in_place

    def run(self) -> None:
        """Encode the picture in `input`."""
        if not self._in_place:
            self._binding.bind_ortvalue_input(self._name, self._feed)
        self._session.run_with_iobinding(self._binding)

    def placement(self) -> Placement:
        """The recorded assignment of nodes to providers."""
        return read_placement(self._session, self._requested, self._rim)
