"""Take the benchmarks' numbers down, and write docs/measurements.md of them.

What a benchmark printed last is kept in docs/measurements.jsonl, one row a benchmark, with its date, commit and
machine. The page is made of these rows and of the bars in tests/bench/bars.py; numbers are never typed by hand.

usage: python -m tools.measurements BENCH [ARGUMENT ...]     run tests.bench.BENCH and keep its last line
       python -m tools.measurements                          write the page anew
"""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.bars import BARS
from tests.bench.report import machine

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "docs" / "measurements.jsonl"
PAGE = ROOT / "docs" / "measurements.md"
_HEAD = """# Measurements

Made by `python -m tools.measurements` of the last line that each benchmark printed; do not edit. Machines are shared
and noisy: ratios are taken within one run, in alternating rounds, and count for more than times.
"""


def main() -> int:
    """Run and keep what the command line names, and write the page."""
    if not sys.argv[1:]:
        PAGE.write_text(page(read()), encoding="utf-8")
        return 0
    if sys.argv[1] in {"-h", "--help"}:
        print(__doc__)
        return 0
    bench, *arguments = sys.argv[1:]
    if bench not in (there := benches()):
        print(f"no benchmark `{bench}`: there are {', '.join(there)}", file=sys.stderr)
        return 2
    values, status = _run(bench, arguments)
    if values is None:
        print(f"tests.bench.{bench} printed no JSON object as its last line: nothing is kept", file=sys.stderr)
        return status or 1
    rows = {row["bench"]: row for row in read()} | {bench: _row(bench, arguments, values)}
    text = "".join(json.dumps(rows[name], ensure_ascii=False) + "\n" for name in sorted(rows))
    ROWS.write_text(text, encoding="utf-8")
    PAGE.write_text(page(read()), encoding="utf-8")
    return status


def benches() -> list[str]:
    """Return the names of the benchmarks: the modules of tests/bench that can be run."""
    files = sorted((ROOT / "tests" / "bench").glob("*.py"))
    return [file.stem for file in files if "__main__" in file.read_text(encoding="utf-8")]


def read() -> list[dict]:
    """Return the rows that are kept, by the names of the benchmarks."""
    return [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()] if ROWS.exists() else []


def page(rows: list[dict]) -> str:
    """Return the page: a section a benchmark, with a table of its numbers beside their bars."""
    return "\n".join([_HEAD, *(_section(row) for row in rows)])


def _section(row: dict) -> str:
    bars = {bar.key: bar for bar in BARS if bar.bench == row["bench"]}
    about = (importlib.import_module(f"tests.bench.{row['bench']}").__doc__ or "").partition("\n")[0]
    about = re.sub(r" \(long: [^)]*\)", "", about)  # that is for who reads the file
    lines = [
        f"## {row['bench']}",
        "",
        about,
        "",
        f"`{row['command']}`, {row['date']}, commit {row['commit']}, {row['machine']}",
        "",
        "| | measured | bar |",
        "|---|---|---|",
    ]
    for key, value in row["values"].items():
        bar = bars.get(key)
        met = "" if bar is None or (isinstance(value, int | float) and bar.met(value)) else " **not met**"
        lines.append(f"| `{key}` | {_text(value)} | {f'{bar.sign} {bar.bound:g}' if bar else ''}{met} |")
    return "\n".join(lines) + "\n"


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(one)}" for key, one in value.items())
    return json.dumps(value, ensure_ascii=False).strip('"')


def _run(bench: str, arguments: list[str]) -> tuple[dict | None, int]:
    """Run a benchmark, pass on what it prints, and return its last line as JSON."""
    command = [sys.executable, "-m", f"tests.bench.{bench}", *arguments]
    last = ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  # our own
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line
    try:
        found = json.loads(last)
    except json.JSONDecodeError:
        found = None
    return (found if isinstance(found, dict) else None), process.returncode


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603, S607


def _row(bench: str, arguments: list[str], values: dict) -> dict:
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    commit = _git("rev-parse", "--short", "HEAD") + (", changed since" if changed else "")
    return {
        "bench": bench,
        "command": shlex.join(["python", "-m", f"tests.bench.{bench}", *arguments]),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit,
        "machine": machine(),
        "values": values,
    }


if __name__ == "__main__":
    sys.exit(main())
