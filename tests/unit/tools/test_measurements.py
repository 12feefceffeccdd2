"""What the tool that keeps the benchmarks' numbers says to who calls it."""

from __future__ import annotations

import pytest

from tools import measurements


@pytest.mark.parametrize("name", ["nosuch", "hop.py", "../hop", "-x", "bars", ""])
def test_a_benchmark_that_there_is_not_is_told_with_those_there_are(name, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["measurements", name])
    assert measurements.main() == 2
    said = capsys.readouterr().err
    assert said.startswith(f"no benchmark `{name}`: there are ageing, ")
    assert "hop" in said
