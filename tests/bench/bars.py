"""What each benchmark has to show: a table of bars, beside which `tools.measurements` puts what was measured."""

from __future__ import annotations

import operator
from typing import NamedTuple

_HOLDS = {"<=": operator.le, ">=": operator.ge, "=": operator.eq}


class Bar(NamedTuple):
    """A bound of one number.

    Attributes:
        bench: Module of `tests.bench`.
        key: Of its last line.
        sign: `<=`, `>=` or `=`.
        bound: In the unit that the key names, or a ratio.
    """

    bench: str
    key: str
    sign: str
    bound: float

    def met(self, value: float) -> bool:
        """Whether a number is as it has to be."""
        return bool(_HOLDS[self.sign](value, self.bound))


# fmt: off
BARS = (
    #   bench             key                               sign  bound
    Bar("footage",        "identical",                      "=",  1),
    Bar("footage",        "false",                          "=",  0),
    Bar("footage",        "merged",                         "<=", 3),
    Bar("footage",        "split",                          "<=", 2),
    Bar("objects",        "at_once_exact",                  ">=", 0.85),
    Bar("objects",        "total_exact",                    ">=", 0.8),
    Bar("objects",        "stays_right",                    ">=", 0.85),
    Bar("hop",            "hop_vs_bare_message",            "<=", 2.0),
    Bar("hop",            "pickled_frame_vs_hop",           ">=", 10),
    Bar("hop",            "pixel_copies",                   "=",  0),
    Bar("processes",      "pss_vs_spawn",                   "<=", 0.6),
    Bar("processes",      "idle_cpu_vs_decode",             "<=", 1.4),
    Bar("processes",      "stages_over_memory_budget",      "=",  0),
    Bar("footage",        "stages_over_time_budget",        "=",  0),
    Bar("pipelined",      "latency_vs_sequential",          "<=", 0.55),
    Bar("kill",           "not_ended_once",                 "=",  0),
    Bar("kill",           "sequence_gaps",                  "=",  0),
    Bar("kill",           "repeated_ids",                   "=",  0),
    Bar("kill",           "torn",                           "=",  0),
    Bar("kill",           "leaked",                         "=",  0),
    Bar("kill",           "zombies",                        "=",  0),
    Bar("losses",         "started_vs_ended",               "=",  1.0),
    Bar("losses",         "ended_twice",                    "=",  0),
    Bar("losses",         "doubled_ids",                    "=",  0),
    Bar("losses",         "order_errors",                   "=",  0),
    Bar("losses",         "holes_untold",                   "=",  0),
    Bar("losses",         "ends_lost",                      "=",  0),
    Bar("losses",         "emit_rss_growth_mb",             "<=", 20),
    Bar("soak",           "tracebacks",                     "=",  0),
    Bar("soak",           "orphans",                        "=",  0),
    Bar("soak",           "zombies",                        "=",  0),
    Bar("fuzz",           "tracebacks",                     "=",  0),
    Bar("fuzz",           "hangs",                          "=",  0),
    Bar("fuzz",           "over_200_mb",                    "=",  0),
    Bar("flaky",          "failures",                       "=",  0),
    Bar("storm",          "alarm_deadline_misses",          "=",  0),
    Bar("storm",          "first_token_after_decode_steps", "<=", 2),
    Bar("storm",          "unaccounted",                    "=",  0),
    Bar("governor",       "rate_vs_step_wise78",            ">=", 0.97),
    Bar("governor",       "changes_vs_step_wise78",         "<=", 0.2),
    Bar("governor",       "peak_c",                         "<=", 83),
    Bar("governor",       "seconds_ge_85",                  "=",  0),
    Bar("governor",       "recovery_s",                     "<=", 600),
    Bar("governor",       "wrong_steps",                    "=",  0),
    Bar("heat_e2e",       "answered_2nd_half_vs_ungoverned", ">=", 1.2),
    Bar("heat_e2e",       "p95_vs_ungoverned",              "<=", 0.7),
    Bar("encoder",        "cosine_qnn",                     ">=", 0.995),
    Bar("encoder",        "encode_vs_bare_run",             "<=", 1.15),
    Bar("encoder_faults", "incidents_lost",                 "=",  0),
    Bar("tracks",         "idf1_5",                         ">=", 0.95),
    Bar("tracks",         "idf1_1",                         ">=", 0.9),
    Bar("tracks",         "switches_per_object_minute",     "<=", 0.05),
    Bar("tracks",         "count_error",                    "<=", 0.03),
    Bar("tracks",         "count_error_groups",             "<=", 0.08),
    Bar("tracks",         "tracker_ms",                     "<=", 0.3),
    Bar("verdict",        "remembered_p50_ms",              "<=", 10),
    Bar("verdict",        "budget_kept",                    "=",  1.0),
)
# fmt: on
