"""Draw what a command prints, as a picture for the documents.

usage: python -m tools.draw_terminal OUT.svg COMMAND [ARGUMENT ...]
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 150  # characters, as the timeline is printed where there is no terminal


def main() -> int:
    """Run the command, and write the picture."""
    out, *command = sys.argv[1:]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603  # the user's own
    console = Console(record=True, width=WIDTH, file=Path("/dev/null").open("w", encoding="utf-8"))  # noqa: SIM115
    console.print(Text.from_ansi(f"$ {' '.join(Path(word).name for word in command)}\n{printed}"), end="")
    picture = console.export_svg(title="fieldwatch", unique_id="terminal")
    picture = re.sub(r"<!--.*?-->\s*", "", picture, flags=re.DOTALL)
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)  # fonts from elsewhere: none
    Path(out).write_text(picture.replace("Fira Code", "ui-monospace"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
