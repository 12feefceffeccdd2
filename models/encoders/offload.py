"""Report in detail how an accelerator runs a model, for people who want more of it to run there."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from models.encoders import PictureFormat, backends, gate
from models.encoders.remedies import find_remedy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from models.encoders.backends import Backend
    from models.encoders.placement import Node, Placement
    from pipeline.core.settings import EncodeSettings

_RUNS = 3  # timed runs, after a warm-up run
_TRACE_S = 600.0


class DeviceShare(msgspec.Struct, frozen=True):
    """The share of one provider.

    Attributes:
        provider: Name of the provider.
        nodes: Number of nodes.
        parts: Number of parts; on the CPU each node is a part.
        run_ms: Time of its kernels in one run, by the runtime's profile; None if there is no profile.
    """

    provider: str
    nodes: int
    parts: int
    run_ms: float | None


class LeftNodes(msgspec.Struct, frozen=True):
    """Nodes of one kind that stay on the CPU, and the remedy."""

    op: str
    count: int
    names: tuple[str, ...]
    change: str


class OffloadReport(msgspec.Struct, frozen=True):
    """The report.

    Attributes:
        model: Name of the model.
        backend: Name of the back end.
        verdict: See `models.encoders.placement.Extent`; empty if it was not opened.
        accepted: Whether the gate accepts it.
        runs_on: What the daemon would use: accelerator, cpu or nothing.
        partitions: Number of parts of the accelerator.
        shares: Share of each provider, the accelerator first.
        left: Nodes that stay on the CPU.
        casts: Quantisation at the graph's inputs and outputs on the CPU, which is expected.
        cosine: Least cosine with the CPU's answers.
        first_wrong: The first node with a wrong result.
        first_wrong_cosine: The cosine of this result.
        reasons: Why it is not accepted, each with the remedy.
    """

    model: str
    backend: str
    verdict: str
    accepted: bool
    runs_on: str
    partitions: int
    shares: tuple[DeviceShare, ...]
    left: tuple[LeftNodes, ...]
    casts: tuple[str, ...]
    cosine: float | None
    first_wrong: str | None
    first_wrong_cosine: float | None
    reasons: tuple[str, ...]


def make_report(model: Path, name: str, settings: EncodeSettings) -> OffloadReport:
    """Examine a model like the gate, but longer, and profile it. Loads native code.

    Raises:
        ModelError: The model cannot be opened even on the CPU, or the back end is unknown.
    """
    policy = gate.Policy.of(settings)
    chosen = backends.configured_backend(settings)
    reading = PictureFormat.of(settings)
    _, found = gate.examine(model, settings, _TRACE_S, reading)
    times: dict[str, float] = {}
    if found.placement is not None and chosen.engine in {"cpu", "plugin_ep"}:
        times = profile(chosen, backends.file_to_open(settings, model, reading))
    reasons = gate.find_problems(found, policy)
    placement = found.placement
    return OffloadReport(
        model=name,
        backend=settings.backend,
        verdict=placement.verdict if placement else "",
        accepted=not reasons,
        runs_on=gate.choose(found, policy),
        partitions=placement.partitions if placement else 0,
        shares=_make_shares(placement, times) if placement else (),
        left=_make_left(settings.backend, placement.left) if placement and settings.backend != "cpu" else (),
        casts=tuple(node.name for node in placement.casts) if placement else (),
        cosine=round(found.cosine, 5) if found.cosine is not None else None,
        first_wrong=f"{found.wrong.node.name} ({found.wrong.node.op})" if found.wrong else None,
        first_wrong_cosine=round(found.wrong.cosine, 5) if found.wrong else None,
        reasons=reasons,
    )


def _make_shares(placement: Placement, times: Mapping[str, float]) -> tuple[DeviceShare, ...]:
    parts: dict[str, int] = defaultdict(int)
    for part in placement.parts:
        parts[part.provider] += 1
    order = sorted(placement.nodes.items(), key=lambda item: item[0] != placement.requested)
    return tuple(DeviceShare(name, count, parts[name], times.get(name)) for name, count in order)


def _make_left(backend: str, nodes: Iterable[Node]) -> tuple[LeftNodes, ...]:
    kinds: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        kinds[node.op].append(node.name)
    return tuple(
        LeftNodes(op, len(names), tuple(names), find_remedy(backend, op)) for op, names in sorted(kinds.items())
    )


def profile(chosen: Backend, model: Path) -> dict[str, float]:
    """Measure the milliseconds of each provider's kernels in one run, with the runtime's profile.

    Raises:
        ModelError: The back end does not take the model.
    """
    with tempfile.TemporaryDirectory(prefix="fieldwatch-") as folder:
        session = _profiling_session(chosen, model, Path(folder) / "profile")
        feed = {session.get_inputs()[0].name: gate.make_probes(session.get_inputs()[0].shape, 1)[0]}
        for _ in range(1 + _RUNS):
            session.run(None, feed)
        events = json.loads(Path(session.end_profiling()).read_bytes())
    return mean_times(events, skipped=1)


def _profiling_session(chosen: Backend, model: Path, prefix: Path) -> Any:
    if chosen.engine == "plugin_ep":
        from models.encoders.plugin_ep import load_provider, open_plugin_session  # noqa: PLC0415  # native code few boards need

        return open_plugin_session(load_provider(chosen.module), model, chosen.options, prefix)
    from models.encoders.cpu import open_cpu_session  # noqa: PLC0415  # native code, not needed to read a report

    return open_cpu_session(model, profile=prefix)


def mean_times(events: Iterable[Mapping[str, Any]], skipped: int = 0) -> dict[str, float]:
    """Return the milliseconds of each provider's kernels in one run, the mean over a profile's runs.

    Args:
        events: The events of an onnxruntime profile: each kernel's `dur` in microseconds, `args.provider`.
        skipped: Number of first runs to ignore.

    Returns:
        By the providers' names; a compiled part counts for the provider whose name it begins with.
    """
    kernels: dict[str, list[tuple[str, float]]] = defaultdict(list)
    runs: dict[str, int] = defaultdict(int)
    for event in events:
        if event.get("cat") != "Node" or not str(event["name"]).endswith("_kernel_time"):
            continue
        name = str(event["name"])
        runs[name] += 1
        if runs[name] > skipped:
            kernels[name].append((str(event["args"]["provider"]), float(event["dur"]) / 1e3))
    found: dict[str, float] = defaultdict(float)
    for measured in kernels.values():
        found[measured[0][0]] += sum(took for _, took in measured) / len(measured)
    return {name: round(took, 3) for name, took in found.items()}
