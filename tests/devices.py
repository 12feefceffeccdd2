"""The files of a stand-in for Rockchip's device runtime, which works on the CPU and fails as it is told.

The real one exists for ARM64 boards alone. What stands here is the module that `models.encoders.rknn` imports, so a
daemon runs through its own back end, gate and stage; only the device is another.
"""

from __future__ import annotations

FAULTS = ("dies", "hangs", "raises", "nonsense", "stuck", "none")
_MODULE = """
import os, signal, time
import numpy as np
import onnxruntime as ort

FAULT, AFTER, MODEL = os.environ["FAULT"], int(os.environ["FAULT_AFTER"]), os.environ["FAULT_MODEL"]


class RKNNLite:
    def load_rknn(self, path):
        self.session = ort.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
        self.runs, self.first = 0, None
        return 0

    def init_runtime(self):
        return 0

    def inference(self, inputs, data_format):
        self.runs += 1
        names = [one.name for one in self.session.get_outputs()]
        found = self.session.run(names, {self.session.get_inputs()[0].name: inputs[0]})
        self.first = self.first or found
        if self.runs <= AFTER:
            return found
        if FAULT == "dies":
            os.kill(os.getpid(), signal.SIGSEGV)
        if FAULT == "hangs":
            time.sleep(3600)
        if FAULT == "raises":
            raise RuntimeError("the device was lost")
        if FAULT == "nonsense":
            return [np.full_like(one, np.nan) for one in found]
        return self.first if FAULT == "stuck" else found
"""


def install(folder, fault, model, after):
    """Write the module; return the variables of the environment that a daemon needs to find it, and its settings.

    Args:
        folder: For the module and for the artefact that it is opened with.
        fault: One of `FAULTS`.
        model: The ONNX file that it works with.
        after: So many runs go well.
    """
    package = folder / "rknnlite"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "api.py").write_text(_MODULE, encoding="utf-8")
    artefact = folder / "encoder.rknn"
    artefact.write_bytes(b"for the stand-in")
    environment = {"PYTHONPATH": str(folder), "FAULT": fault, "FAULT_AFTER": str(after), "FAULT_MODEL": str(model)}
    settings = f'\n[encode]\nbackend = "rknn"\nartefact = "{artefact}"\non_fallback = "warn"\n'
    return environment, settings
