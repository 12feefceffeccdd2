"""Table of remedies for graphs that do not fit an accelerator."""

from __future__ import annotations

_CONVERT = "`pipeline models convert MODEL --target qnn`"

# fmt: off
_REMEDIES: dict[tuple[str, str], str] = {  # back end, or any; kind of operation, or of trouble
    ("",     "dynamic"):            "write fixed ones into the model with onnxruntime.tools.make_dynamic_shape_fixed",
    ("",     "nothing"):            "its runtime's library or the model's types do not fit; try `pipeline models backends`, then the options",
    ("qnn",  "nothing"):            "backend_type must be one whose library is installed (htp)",
    ("mnn",  "nothing"):            "this build of MNN has not the back end: use one built with it",
    ("",     "wrong"):              "`pipeline models offload-report` names the first wrong node; quantise the model for this device by `pipeline models convert`",
    ("qnn",  "wrong"):              f"look at encode.options (backend_type = htp), or quantise the float32 model anew by {_CONVERT}; `--scan` names its costly layers",
    ("qnn",  "memory"):             'name the chip in encode.options, e.g. soc_model = "43" for SM8550; without it compiling fails so',
    ("qnn",  "Erf"):                f"QNN has no Erf; fuse it into Gelu by {_CONVERT}",
    ("qnn",  "LayerNormalization"): f"QNN's 8 bit LayerNormalization wants its weights as its own quantiser writes them: {_CONVERT}",
    ("rknn", "Min"):                "RKNN runs Min on the CPU: `pipeline models convert MODEL --target rknn` makes it Clip",
    ("rknn", "Gelu"):               "RKNN takes operators of version 19 at most: `pipeline models convert MODEL --target rknn` spells it out",
    ("",     "Erf"):                "`pipeline models convert MODEL --target generic` writes GELU without it",
    ("",     "Gelu"):               "`pipeline models convert MODEL --target generic` writes it without that operation",
    ("",     "QuantizeLinear"):     "it stands where the graph is cut: what cuts it is to be changed",
    ("",     "DequantizeLinear"):   "it stands where the graph is cut: what cuts it is to be changed",
    ("",     ""):                   "replace it by operations that the accelerator has, or name it in encode.allow_cpu_ops",
}
# fmt: on


def find_remedy(backend: str, trouble: str) -> str:
    """Return the remedy for a trouble of a back end, from the most specific row.

    Args:
        backend: Name of the back end.
        trouble: A kind of operation, or `dynamic`, `nothing`, `wrong` or `memory`.
    """
    rows = (_REMEDIES.get(key) for key in ((backend, trouble), ("", trouble)))
    return next((text for text in rows if text), _REMEDIES["", ""])
