from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from tests import boot
from tests.daemons import PATIENCE
from tools.make_footage import make

ROOT = Path(__file__).parents[2]
FOOTAGE = ROOT.parent / "shared" / "footage"
BAD_INPUTS = ("d_empty.mp4", "d_text.mp4", "d_audio_only.mp4")
SHORT = ("trap_night_1fps.avi", "frigate_ir_switch.mp4")

pytestmark = pytest.mark.bench


def quiet_clip(folder):
    """A small one, as drawing 1080p takes long."""
    clip = make(folder / "quiet.mp4", width=160, height=90, fps=15, seconds=20, walks=0, bitrate=100_000)
    return ["--clip", clip]


def own_cache(folder):
    """Tiny clips are drawn there, and go with it."""
    return ["--cache", folder]


def few_clips(folder):
    """The folder of clips with ground truth, with two of them and those that nobody can read."""
    if not FOOTAGE.is_dir():
        pytest.skip(f"{FOOTAGE} is not there: the clips with ground truth are shared between checkouts")
    manifest = json.loads((FOOTAGE / "manifest.json").read_text(encoding="utf-8"))
    manifest["clips"] = [clip for clip in manifest["clips"] if clip["file"] in {*SHORT, *BAD_INPUTS}]
    (folder / "clips").mkdir()
    for name in (*SHORT, *BAD_INPUTS):
        (folder / "clips" / name).symlink_to(FOOTAGE / "clips" / name)
    for name in ("results.py", "score.py"):
        shutil.copy(FOOTAGE / name, folder / name)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return [folder]


def known_clip(folder):
    """One clip whose content is known."""
    if not FOOTAGE.is_dir():
        pytest.skip(f"{FOOTAGE} is not there: the clips with ground truth are shared between checkouts")
    (folder / "clips").mkdir()
    (folder / "clips" / "iot_bottle.mp4").symlink_to(FOOTAGE / "clips" / "iot_bottle.mp4")
    return [folder]


def only_root(_):
    """The right to mount a small disk."""
    if os.geteuid():
        pytest.skip("only root may mount a small disk")
    return []


def boot_model(_):
    """The language model that a test before may have fetched."""
    try:
        return ["--gguf", boot.gguf()]
    except ModelError as error:
        pytest.skip(f"the boot model cannot be had: {error}")


def llamacpp_and_boot_model(folder):
    """A peer that is no dependency, and conversions that go with the folder."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("llama.cpp is missing: pip install xllamacpp")
    return [*boot_model(folder), "--state-dir", folder]


def boot_model_in_use(_):
    """The same, in a state folder that is shared by what needs it."""
    boot_model(_)
    return []


# Benchmark: options that make it tiny, what it needs in a folder of its own, and the keys of its last line.
BENCHMARKS = {
    "ageing": (["--seconds", "12", "--ageing-s", "1.5", "--waiting", "3"], boot_model_in_use, {
        "lowest_class_max_wait_s", "bound_s", "lowest_class_unserved", "alarms_answered", "routine_answered",
    }),
    "convert": (["--rounds", "1", "--positions", "24", "--recipes", "keep"], boot_model, {
        "seconds", "vs_hashing", "peak_mb", "kl", "same_token",
    }),
    "encoder": (["--rounds", "1", "--runs", "20"], None, {
        "cosine_qnn", "cosine_openvino", "encode_vs_bare_run", "alloc_per_frame", "objects_per_frame",
        "rss_slope_kb_per_1000",
    }),
    "encoder_faults": (["--incidents", "1", "--faults", "raises", "dies"], None, {
        "faults", "told_once", "incidents_lost", "encoded_since",
    }),
    "engine": (
        ["--model", "boot", "--rounds", "1", "--recipes", "keep", "--threads", "1", "--positions", "16"],
        llamacpp_and_boot_model, {
            "decode_vs_llamacpp", "prefill_vs_llamacpp", "at_once_vs_llamacpp", "fastest",
            "fastest_decode_vs_llamacpp", "fastest_prefill_vs_llamacpp", "sentence_vs_llamacpp",
            "same_bits_sentence_vs_llamacpp", "ttft_cached_vs_cold", "peak_mb", "peaks_mb", "load_s", "kl_in_pieces",
        },
    ),
    "flaky": (["--runs", "quiet,bare,random", "--workers", "0", "tests/unit/pipeline/core/test_geometry.py"], None, {
        "runs", "failures", "failed", "passed", "seed",
    }),
    "footage": ([], few_clips, {
        "identical", "hit", "true", "false", "label_right", "labelled", "reported", "merged", "split",
        "bad_inputs_named", "truncated", "stages_over_time_budget",
    }),
    "fuzz": (["--inputs", "460"], None, {
        "inputs", "tracebacks", "hangs", "over_200_mb", "raw", "seed", "targets",
    }),
    "governor": (["--seeds", "1", "--minutes", "4"], None, {
        "rate_vs_step_wise78", "rate_vs_step_wise78_mean", "changes_vs_step_wise78", "peak_c", "seconds_ge_85",
        "recovery_s", "wrong_steps",
    }),
    "heat_e2e": (["--minutes", "0.1", "--share", "0.3"], boot_model_in_use, {
        "answered_2nd_half_vs_ungoverned", "p95_vs_ungoverned", "answered_2nd_half", "alone_s",
    }),
    "hop": (["--frames", "10", "--rounds", "1"], None, {
        "hop_vs_bare_message", "pickled_frame_vs_hop", "pixel_copies",
    }),
    "kill": (["--rounds", "7", "--writers", "5"], None, {
        "rounds", "started", "ended", "not_ended_once", "sequence_gaps", "repeated_ids", "torn", "frames_checked",
        "leaked", "zombies", "restart_to_first_frame_ms_p50", "restarts_told",
    }),
    "objects": ([], known_clip, {"rows", "at_once_exact", "total_exact", "stays", "stays_right"}),
    "pipelined": (["--rounds", "1", "--seconds", "8", "--model", "none"], None, {
        "latency_vs_sequential", "staged_ms", "sequential_ms", "incidents",
    }),
    "llm_soak": (
        [
            "--requests", "9", "--warm-up", "3", "--arrivals", "2", "--rounds", "1", "--a-round", "1", "--threads", "1",
        ], boot_model, {
        "rss_slope_mb_per_1000", "anon_slope_mb_per_1000", "p50_last_vs_first", "cpu_last_vs_first", "incomplete",
        "misses", "preempt_forwards", "preempt_ms_most", "busy_neighbour_slowdown", "all_cores_slowdown",
        },
    ),
    "losses": (["--incidents", "6", "--full-s", "4", "--waiting", "2000", "--only", "full_never_free"], None, {
        "incidents", "kills", "started_vs_ended", "ended_twice", "doubled_ids", "order_errors", "holes_untold",
        "ends_lost", "emit_rss_growth_mb", "events_waiting", "exit_on_full_disk",
    }),
    "processes": (["--seconds", "2", "--rounds", "1"], quiet_clip, {
        "pss_vs_spawn", "pss_mb", "ready_s", "idle_cpu_vs_decode", "stages_over_memory_budget",
    }),
    "replay_speed": (["--seconds", "1", "--rounds", "1", "--patience", "0", "--no-dvrscan"], own_cache, {
        "motion_cpu_vs_decode", "replay_wall_2cores_vs_1core",
    }),
    "soak": (["--minutes", "0.5"], only_root, {
        "minutes", "signals", "incidents", "ended", "ended_twice", "doubled_ids", "order_errors", "holes_untold",
        "ends_lost", "crashes", "tracebacks", "exit_status", "orphans", "zombies", "rss_growth_mb", "fds_growth",
        "threads_growth",
    }),
    "storm": (["--incidents", "40", "--seconds", "3", "--arrivals", "2"], boot_model_in_use, {
        "incidents", "served", "skipped", "unaccounted", "alarm_deadline_misses", "first_token_after_decode_steps",
        "storms_told", "rss_growth_mb", "exit_status", "stop_s",
    }),
    "tracks": (["--seeds", "1", "--kinds", "many", "group", "return", "--rates", "5", "1"], None, {
        "idf1_5", "idf1_1", "switches_per_object_minute", "count_error", "count_error_groups", "peer_idf1_5",
        "peer_idf1_1", "tracker_ms",
    }),
    "search": ([], known_clip, {"queries", "recall_at_5", "ceiling_at_5", "chance"}),
    "verdict": (
        ["--model", "boot", "--rounds", "1", "--incidents", "3", "--threads", "1"], llamacpp_and_boot_model, {
        "new_vs_llamacpp_json", "remembered_vs_llamacpp_json", "new_p50_ms", "remembered_p50_ms", "budget_kept",
        "budgeted_new_p50_ms", "llamacpp_p50_ms",
        },
    ),
}  # fmt: skip
EXACT = {
    "encoder": {"alloc_per_frame": 0},
    "encoder_faults": {"told_once": 2, "incidents_lost": 0},
    "flaky": {"runs": 3, "failures": 0, "failed": {}},
    "footage": {"identical": True, "bad_inputs_named": 3},
    "fuzz": {"inputs": 460, "tracebacks": 0, "hangs": 0, "over_200_mb": 0, "raw": 0},
    "governor": {"seconds_ge_85": 0, "wrong_steps": 0},
    "hop": {"pixel_copies": 0},
    "kill": {
        "rounds": 7, "restarts_told": 7, "not_ended_once": 0, "sequence_gaps": 0, "repeated_ids": 0, "torn": 0,
        "leaked": 0, "zombies": 0,
    },
    "losses": {"ended_twice": 0, "doubled_ids": 0, "order_errors": 0, "holes_untold": 0, "ends_lost": 0},
    "soak": {
        "ended_twice": 0, "doubled_ids": 0, "order_errors": 0, "holes_untold": 0, "ends_lost": 0, "crashes": 0,
        "tracebacks": 0, "exit_status": 0, "orphans": 0,
    },
    "storm": {"incidents": 40, "unaccounted": 0, "exit_status": 0},
    "llm_soak": {"preempt_forwards": 2, "incomplete": 0, "misses": 0},
}  # fmt: skip


def programs():
    """The benchmarks there are."""
    return {
        path.stem for path in (ROOT / "tests/bench").glob("*.py") if "\ndef main(" in path.read_text(encoding="utf-8")
    }


def test_every_benchmark_has_a_smoke_run():
    assert programs() == set(BENCHMARKS)


@pytest.mark.timeout(300 * PATIENCE)
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs_and_its_last_line_holds_what_it_promises(name, tmp_path):
    options, prepare, keys = BENCHMARKS[name]
    more = prepare(tmp_path) if prepare else []
    command = [sys.executable, "-m", f"tests.bench.{name}", *options, *map(str, more)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280 * PATIENCE, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    answer = json.loads(run.stdout.splitlines()[-1])
    assert set(answer) == keys
    assert all(math.isfinite(value) for value in answer.values() if isinstance(value, float))
    assert answer | EXACT.get(name, {}) == answer


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_says_what_it_is_for(name):
    command = [sys.executable, "-m", f"tests.bench.{name}", "--help"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120 * PATIENCE, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    assert f"usage: python -m tests.bench.{name}" in run.stdout
