"""Where things lie that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
"""Material that developers share between checkouts; users do not have it."""
