"""Stands in for models.asking.measuring: answers at once, and dies with two threads as native code does.

usage: python -m tests.measured < task.json > values.json
"""

import json
import os
import signal
import sys
from pathlib import Path

ANSWERS = {
    "bandwidth": {"bandwidth_gb_s": 10.0},
    "loading": {"load_made_s": 4.0},
    "answers": {"decode_tok_s": 8.0, "ttft_cached_ms": 500.0, "peak_mb": 1200.0},
}


def main() -> None:
    task = json.load(sys.stdin)
    assert Path(task["scratch"]).is_dir()
    if task["what"] == "answers":
        if task["threads"] == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        if task["context_tokens"] != 1024:
            sys.exit("that is not how describe asks")
    sys.stdout.write(json.dumps(ANSWERS[task["what"]]))


if __name__ == "__main__":
    main()
