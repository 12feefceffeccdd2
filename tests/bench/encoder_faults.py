"""What a daemon loses when its accelerator dies, hangs or answers nonsense in mid-run, with incidents going on.

Each round runs a daemon with the encoder on a stand-in for an NPU's runtime, which works and then fails as it is told;
all else is the real thing. The round ends some incidents after the fault was told.

usage: python -m tests.bench.encoder_faults [--incidents N]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from models import catalog
from tests import devices
from tests.bench.report import last_line, table
from tests.daemons import Daemon, eventually

MODEL = "efficientnet-lite0-224-int8"
GOOD_RUNS = 8  # the gate's own and some keyframes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--incidents", type=int, default=6, help="so many after the fault")
    parser.add_argument("--faults", nargs="+", default=[fault for fault in devices.FAULTS if fault != "none"])
    arguments = parser.parse_args()
    rows = []
    told, lost, tagged = [], 0, 0
    for fault in arguments.faults:
        with tempfile.TemporaryDirectory() as name:
            found = _round(Path(name), fault, arguments.incidents)
        rows.append((fault, *found))
        told.append(found[0])
        lost += found[2]
        tagged += found[3]
    table(
        "After a fault in mid-run",
        ("the device", "events that tell it", "incidents", "lost", "encoded since", "seconds to the CPU", "restarts"),
        rows,
    )
    last_line(
        {
            "faults": len(rows),
            "told_once": sum(count == 1 for count in told),
            "incidents_lost": lost,
            "encoded_since": tagged,
        },
        "python -m tests.bench.encoder_faults " + " ".join(sys.argv[1:]),
    )


def _round(folder: Path, fault: str, incidents: int) -> tuple[int, int, int, int, float, int]:
    """Events that tell the fault, incidents, those that were lost, those with features since; until when; restarts."""
    environment, settings = devices.install(folder, fault, catalog.verified_path(MODEL), GOOD_RUNS)
    before = dict(os.environ)
    os.environ.update(environment)
    daemon = Daemon(folder, more=settings)
    try:
        daemon.start()
        began = time.monotonic()
        eventually(lambda: _told(daemon), 120, "the fault is told")
        took_s = time.monotonic() - began
        since = len(daemon.events("incident.end"))
        eventually(lambda: len(daemon.events("incident.end")) >= since + incidents, 180, "incidents after the fault")
        ends = daemon.events("incident.end")[since:]
        restarts = len(daemon.events("stage_restarted"))
        daemon.stop(seconds=20)
        starts, ended = daemon.starts_and_ends()
        lost = sum(ended[name] != 1 for name in starts)
        return len(_told(daemon)), len(starts), lost, sum("features" in end["data"] for end in ends), took_s, restarts
    finally:
        daemon.close()
        os.environ.clear()
        os.environ.update(before)


def _told(daemon: Daemon) -> list[object]:
    """Events that say that the processor does it from now on; the gate's own tells that this device proves nothing."""
    found = (event["data"]["details"] for event in daemon.events("model.fallback"))
    return [details for details in found if details["runs_on"] == "cpu"]


if __name__ == "__main__":
    main()
