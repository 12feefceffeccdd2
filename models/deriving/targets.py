"""The table of targets: the passes of each accelerator, and the operations that each pass must remove."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.core.errors import ConfigError


class Pass(NamedTuple):
    """A row of the table of passes.

    Attributes:
        version: Increased whenever the same model gives other bytes.
        treats: Kinds of operations that it must remove; else the conversion fails and names them.
        eight_bit: Whether it is only run for quantised models.
        what: What it does, for people.
    """

    version: int
    treats: frozenset[str]
    eight_bit: bool
    what: str


class Target(NamedTuple):
    """A row of the table of targets.

    Attributes:
        passes: Names of the passes, in their order.
        eight_bit: Whether it is quantised: always, never, or on request (None).
        soc: Whether it is compiled for one chip, which must be named.
        packages: Required packages: import name, and our extra that installs it.
        what: The hardware.
    """

    passes: tuple[str, ...]
    eight_bit: bool | None
    soc: bool
    packages: dict[str, str]
    what: str


_NONE: frozenset[str] = frozenset()
_TOOLS = {"onnx": "convert", "onnxscript": "convert"}

# fmt: off
PASSES: dict[str, Pass] = {
    "prepare":          Pass(1, _NONE,                      True,  "constants are computed, batch normalisation is merged, shapes are told"),
    "fuse":             Pass(1, frozenset({"Erf"}),         False, "GELU and layer normalisation become one operation each"),
    "gelu_sigmoid":     Pass(1, frozenset({"Erf", "Gelu"}), False, "GELU becomes x*sigmoid(1.60031x + 0.0694x^3), off by 0.00027 at most"),
    "gelu_erf":         Pass(1, frozenset({"Gelu"}),        False, "the operation Gelu becomes the expression with Erf, which RKNN fuses itself"),
    "min_clip":         Pass(1, frozenset({"Min"}),         False, "Min becomes Clip, or differences and Relu"),
    "opset_19":         Pass(1, _NONE,                      False, "written for operators of version 19, if it was for later ones"),
    "lift":             Pass(1, frozenset({"Constant"}),    False, "constants become initializers"),
    "quantise_qnn":     Pass(1, _NONE,                      True,  "8 bit with ranges from pictures, as QNN wants it"),
    "quantise":         Pass(1, _NONE,                      True,  "8 bit with ranges from pictures, weights by channel"),
    "compile_qnn":      Pass(1, _NONE,                      False, "compiled for the chip: an offline context binary"),
}

TARGETS: dict[str, Target] = {
    "qnn":      Target(("prepare", "fuse", "quantise_qnn", "compile_qnn"), True,  True,  {**_TOOLS, "onnxruntime_qnn": "qnn"}, "Qualcomm's Hexagon"),
    "openvino": Target(("gelu_sigmoid", "lift", "prepare", "quantise"),    None,  False, _TOOLS, "Intel's processors, GPUs and NPUs"),
    "rknn":     Target(("gelu_erf", "min_clip", "opset_19", "lift"),       False, False, _TOOLS, "Rockchip's NPUs: the ONNX that rknn-toolkit2 takes"),
    "generic":  Target(("gelu_sigmoid", "lift", "prepare", "quantise"),    None,  False, _TOOLS, "any other: Erf and Gelu are replaced"),
}
# fmt: on


def steps_for(target: str, *, eight_bit: bool) -> tuple[str, ...]:
    """Return the names of a conversion's passes. Raises ConfigError if there is no such target."""
    if target not in TARGETS:
        raise ConfigError(f"no target {target!r}; there are {', '.join(TARGETS)}")
    return tuple(name for name in TARGETS[target].passes if eight_bit or not PASSES[name].eight_bit)
