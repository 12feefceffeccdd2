"""Which matrices of a language model bear fewer bits: closeness lost, bytes saved (long: measures, searches, reports).

Everything is stored as by the recipe `keep` but for one group of matrices, which is quantised anew. Its cost is by how
much the KL divergence of the engine's next-token distribution from the reference's grows (mean over positions, nats).
From these figures a recipe is put together that meets a size or a KL; a conversion with it is then measured, since
effects add up only about.

The reference is the file's weights in float32 (tests/reference.py). The engine rounds activations; that is in every
figure, in that of `keep` too, and so goes when the one is taken from the other. Measured from `keep` in the engine, it
would be in twice, as both are rounded, each its own way: storing q_proj of SmolLM2-135M with 8 bits costs less than
.0001, and is .0019 from `keep`. --reference keep is for models whose largest matrix has no room in float32.

usage: python -m tools.sensitivity MODEL.gguf [--by kind|layer|matrix] [--size-mb MB | --kl NATS] [options]
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from models.llm.recipes import Recipe, StorageRule
from models.table import load_table
from pipeline.core.errors import ConfigError, ModelError
from tools.trials import Closeness, Trials, Yardstick, windows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

PROMPTS = Path(__file__).with_name("calibration.txt")
BASE = "keep"
_BITS, _BLOCKS = (4, 8), (32, 64, 128)
_MEGABYTE = 1e6
_LEAST_POSITIONS = 16
_ATTEMPTS = 4
"""To meet a KL: each aims as much lower as the one before was too high."""
_STEPS = 4000
_NAME = "[a-z0-9][a-z0-9_-]{0,47}"
"""Of a recipe; without dots, which would need quotes."""


class Group(NamedTuple):
    """Matrices that are stored alike.

    Attributes:
        name: For people.
        layers: A glob over their names, for a rule.
    """

    name: str
    layers: str


class Row(NamedTuple):
    """What it does to store a group otherwise.

    Attributes:
        group: Which.
        bits: How, and
        block: in blocks of how many values.
        kl: By how much the KL grows, nats.
        same: Share of positions with the same next token as the reference.
        saved: Bytes; negative where the group becomes larger.
    """

    group: Group
    bits: int
    block: int
    kl: float
    same: float
    saved: int

    @property
    def cost(self) -> float | None:
        """Nats for a megabyte saved; None where nothing is."""
        return self.kl / self.saved * _MEGABYTE if self.saved > 0 else None

    @property
    def rule(self) -> StorageRule:
        """For a recipe."""
        return _rule(self.group, self.bits, self.block)


class Aim(NamedTuple):
    """What a recipe shall meet; one of the two.

    Attributes:
        size: Bytes of all files.
        kl: Nats.
    """

    size: float | None = None
    kl: float | None = None


class Made(NamedTuple):
    """A recipe, what it was predicted to be, and what it is."""

    recipe: Recipe
    predicted_kl: float
    predicted_size: float
    real: Closeness
    real_size: int


def groups(matrices: Iterable[str], by: str) -> list[Group]:
    """Group matrices, in the order in which they come.

    Args:
        matrices: Names in the graph.
        by: kind (all q_proj), layer (all of one layer), matrix (each by itself). The output's matrix is always alone.
    """
    found: dict[str, Group] = {}
    for name in matrices:
        place = re.fullmatch(r"/layers\.(\d+)/(\w+)/(\w+)/Linear", name)
        if place is None or by == "matrix":
            group = Group(name.removesuffix("/Linear").lstrip("/"), name)
        elif by == "kind":
            group = Group(place[3], f"*/{place[2]}/{place[3]}/*")
        else:
            group = Group(f"layer {place[1]}", f"/layers.{place[1]}/*")
        found[group.layers] = group
    return list(found.values())


def ranked(rows: Iterable[Row]) -> list[Row]:
    """The cheapest megabytes first; at the end what saves none."""
    return sorted(rows, key=lambda row: (row.cost is None, row.cost if row.cost is not None else row.kl))


def choose(rows: Iterable[Row], size: float, kl: float, aim: Aim) -> tuple[Row, ...]:
    """Choose how groups are stored: the least KL that meets a size, or the smallest size that meets a KL.

    Args:
        rows: What can be done.
        size: Bytes where nothing is done.
        kl: The same of the KL, nats.
        aim: What to meet.

    Returns:
        One row for each group that changes.

    Raises:
        ConfigError: The size cannot be met; the text says which can.
    """
    known = frontier(rows)
    if aim.size is None:
        return max((one for one in known if kl + _cost(one) <= (aim.kl or 0)), key=_saved, default=())
    small = [one for one in known if size - _saved(one) <= aim.size]
    if not small:
        least = (size - max(map(_saved, known))) / _MEGABYTE
        raise ConfigError(f"the smallest it can become is {least:.1f} MB: ask for that, or let more --bits be tried")
    return min(small, key=_cost)


def frontier(rows: Iterable[Row]) -> list[tuple[Row, ...]]:
    """For each saving, in steps of a 4000th of the most there is, the choice of least KL; effects are added up.

    This is the knapsack with one choice of each group, by dynamic programming. Taking the cheapest megabyte next would
    take the output's matrix, a sixth of a small model, where a tenth of that was to be saved.
    """
    able: dict[Group, list[Row]] = {}
    for row in rows:
        if row.saved > 0:
            able.setdefault(row.group, []).append(row)
    unit = max(1.0, sum(max(row.saved for row in one) for one in able.values()) / _STEPS)
    best = np.full(_STEPS + len(able) + 1, np.inf)  # each saving is rounded
    best[0] = 0
    taken = []
    for one in able.values():
        costs = [best]
        for row in one:
            step = round(row.saved / unit)
            costs.append(np.concatenate([np.full(step, np.inf), best[: len(best) - step] + row.kl]))
        taken.append(np.argmin(costs, axis=0))
        best = np.min(costs, axis=0)
    return [_traced(end, list(able.values()), taken, unit) for end in np.flatnonzero(np.isfinite(best)).tolist()]


def _traced(end: int, able: list[list[Row]], taken: list[NDArray[np.intp]], unit: float) -> tuple[Row, ...]:
    """What was chosen on the way to a saving."""
    found = []
    for one, choices in zip(reversed(able), reversed(taken), strict=True):
        if choice := int(choices[end]):
            found.append(one[choice - 1])
            end -= round(found[-1].saved / unit)
    return tuple(reversed(found))


def recipe_of(chosen: Iterable[Row], base: Recipe, what: str) -> Recipe:
    """A recipe that stores some groups otherwise and the rest as the base does."""
    return msgspec.structs.replace(base, rules=(*(row.rule for row in chosen), *base.rules), what=what)


def toml(name: str, recipe: Recipe) -> str:
    """A recipe as config/models.toml has it."""
    rules = ",\n".join(f"  {{ {_keys(rule)} }}" for rule in recipe.rules)
    head = f"[recipes.{name}]\nwhat = {json.dumps(recipe.what)}\nscales = {json.dumps(recipe.scales)}\n"
    return f"{head}rules = [\n{rules},\n]\n"


def scan(
    trials: Trials,
    measure: Callable[[Path], Closeness],
    wanted: Iterable[tuple[Group, int, int]],
    base: Closeness,
) -> list[Row]:
    """Try each group with each number of bits and each block; what changes nothing is left out."""
    rows = []
    for group, bits, block in wanted:
        recipe = recipe_with(group, bits, block)
        change = trials.write(recipe)
        if change.matrices:
            found = measure(trials.trial)
            rows.append(Row(group, bits, block, max(0.0, found.kl - base.kl), found.same, change.saved))
    return rows


def recipe_with(group: Group, bits: int, block: int) -> Recipe:
    """The base with one group stored otherwise."""
    base = load_table().recipe(BASE)
    return msgspec.structs.replace(base, rules=(_rule(group, bits, block), *base.rules))


def meet(trials: Trials, measure: Callable[[Path], Closeness], rows: list[Row], base: Closeness, aim: Aim) -> Made:
    """Put a recipe together, convert with it, and measure; again with a lower aim while a KL is not met.

    Raises:
        ConfigError: The aim cannot be met.
    """
    limit = aim
    for _ in range(_ATTEMPTS):
        chosen = choose(rows, trials.size, base.kl, limit)
        made = _made(trials, measure, chosen, base)
        if aim.kl is None or made.real.kl <= aim.kl or not chosen:
            break
        added = made.real.kl - base.kl
        limit = Aim(kl=base.kl + (made.predicted_kl - base.kl) * 0.9 * (aim.kl - base.kl) / added)
    if aim.kl is not None and made.real.kl > aim.kl:
        raise ConfigError(f"a KL of {aim.kl:g} cannot be met, the nearest found is {made.real.kl:.4f}: ask for that")
    return made


def prompts(path: Path) -> str:
    """The text of a file without its comments and empty lines.

    Raises:
        ConfigError: It cannot be read, is no UTF-8 text, or says nothing.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--prompts {path} cannot be read ({error}): name a text file, a prompt a line") from error
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    if not kept:
        raise ConfigError(f"--prompts {path} has no line of text: write one prompt a line")
    return "\n".join(kept)


def numbers(text: str, known: Sequence[int], option: str) -> list[int]:
    """Numbers parted by commas, each once.

    Raises:
        ConfigError: One of them is not known.
    """
    found = list(dict.fromkeys(text.replace(" ", "").split(",")))
    if not set(found) <= {str(one) for one in known}:
        raise ConfigError(f"{option} {text}: choose from {', '.join(map(str, known))}, parted by commas")
    return [int(one) for one in found]


def main() -> None:
    """Scan, print the ranking, and the recipe where an aim was given."""
    options = _parser().parse_args()
    try:
        _check(options)
        with tempfile.TemporaryDirectory(prefix="sensitivity") as scratch:
            _run(options, Path(scratch))
    except (ConfigError, ModelError) as error:
        sys.stderr.write(f"sensitivity: {error}\n")
        sys.exit(2 if isinstance(error, ConfigError) else 1)


def _run(options: argparse.Namespace, scratch: Path) -> None:
    text = prompts(options.prompts)
    bits, blocks = numbers(options.bits, _BITS, "--bits"), numbers(options.block, _BLOCKS, "--block")
    trials = Trials(options.gguf, load_table().recipe(BASE), scratch)
    windows = windows_of(trials.base, text, options.positions)
    exact = options.reference == "float32"
    measure = Yardstick(options.gguf, trials.base, windows, scratch, exact=exact)
    base = measure(trials.base) if exact else Closeness(0.0, 1.0)
    wanted = list(itertools.product(groups(trials.matrices, options.by), bits, blocks))
    screen = Console(stderr=True)
    shown = track(wanted, "trying", console=screen, transient=True, disable=not screen.is_terminal)
    rows = ranked(scan(trials, measure, shown, base))
    aim = Aim(options.size_mb * _MEGABYTE if options.size_mb else None, options.kl)
    if not options.json:  # before the recipe: where that cannot be had, the ranking tells why
        _print_rows(rows, options, trials, base)
    made = meet(trials, measure, rows, base, aim) if aim != Aim() else None
    if made and options.recipe_out:
        _write(options.recipe_out, toml(options.name, made.recipe))
    if options.json:
        print(json.dumps(_plain(rows, made, options, trials, base)))
    elif made:
        _print_made(made, options)


def _made(trials: Trials, measure: Callable[[Path], Closeness], chosen: tuple[Row, ...], base: Closeness) -> Made:
    kl, size = base.kl + _cost(chosen), trials.size - _saved(chosen)
    what = f"by tools.sensitivity: {size / _MEGABYTE:.1f} MB, KL {kl:.4f} predicted"
    recipe = recipe_of(chosen, load_table().recipe(BASE), what)
    target = trials.trial.with_name("chosen")
    real_size = trials.convert(recipe, target)
    real = measure(target)
    what = f"by tools.sensitivity: {real_size / _MEGABYTE:.1f} MB, KL {real.kl:.4f}"
    return Made(msgspec.structs.replace(recipe, what=what), kl, size, real, real_size)


def _rule(group: Group, bits: int, block: int) -> StorageRule:
    return msgspec.convert({"layers": group.layers, "bits": bits, "block": block}, StorageRule)


def _keys(rule: StorageRule) -> str:
    keep = "keep = true, " if rule.keep else ""
    return f"layers = {json.dumps(rule.layers)}, {keep}bits = {rule.bits}, block = {rule.block}"


def _saved(rows: Iterable[Row]) -> int:
    return sum(row.saved for row in rows)


def _cost(rows: Iterable[Row]) -> float:
    return sum(row.kl for row in rows)


def _print_rows(rows: list[Row], options: argparse.Namespace, trials: Trials, base: Closeness) -> None:
    screen = _screen()
    screen.print(
        f"{options.gguf.name} as {BASE}: {trials.size / _MEGABYTE:.1f} MB, KL {base.kl:.4f} "
        f"(reference {options.reference}, {options.positions} positions)"
    )
    shown = Table("matrices", "stored as", "KL", "same token", "MB saved", "KL for a MB", title="The cheapest first")
    for row in rows:
        cost = "-" if row.cost is None else f"{row.cost:.5f}"
        how = f"int{row.bits}, blocks of {row.block}"
        shown.add_row(row.group.name, how, f"{row.kl:.5f}", f"{row.same:.3f}", f"{row.saved / _MEGABYTE:.2f}", cost)
    screen.print(shown)


def _print_made(made: Made, options: argparse.Namespace) -> None:
    screen = _screen()
    shown = Table("", "predicted", "measured", title="The recipe")
    shown.add_row("MB", f"{made.predicted_size / _MEGABYTE:.2f}", f"{made.real_size / _MEGABYTE:.2f}")
    shown.add_row("KL", f"{made.predicted_kl:.5f}", f"{made.real.kl:.5f}")
    shown.add_row("same token", "", f"{made.real.same:.3f}")
    screen.print(shown)
    if options.recipe_out:
        print(f"{options.recipe_out}: for config/models.toml")
    else:
        print(toml(options.name, made.recipe), end="")


def _plain(
    rows: list[Row], made: Made | None, options: argparse.Namespace, trials: Trials, base: Closeness
) -> dict[str, object]:
    found: dict[str, object] = {
        "model": options.gguf.name,
        "reference": options.reference,
        "positions": options.positions,
        "base": {"recipe": BASE, "bytes": trials.size, "kl": base.kl, "same_token": base.same},
        "groups": [
            {
                "name": row.group.name, "layers": row.group.layers, "bits": row.bits, "block": row.block, "kl": row.kl,
                "same_token": row.same, "bytes_saved": row.saved, "kl_per_mb": row.cost,
            }
            for row in rows
        ],
    }  # fmt: skip
    if made:
        found["recipe"] = {
            "toml": toml(options.name, made.recipe),
            "predicted": {"bytes": made.predicted_size, "kl": made.predicted_kl},
            "measured": {"bytes": made.real_size, "kl": made.real.kl, "same_token": made.real.same},
        }
    return found


def _screen() -> Console:
    """A program that reads the table shall not get it cut at 80 columns."""
    found = Console()
    return found if found.is_terminal else Console(width=120)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--recipe-out {path} cannot be written ({error.strerror}): name another file") from error


def _check(options: argparse.Namespace) -> None:
    """Refuse before minutes are spent."""
    if options.positions < _LEAST_POSITIONS:
        raise ConfigError(f"--positions {options.positions}: at least {_LEAST_POSITIONS}, or the mean says nothing")
    for name in ("size_mb", "kl"):
        value = getattr(options, name)
        if value is not None and not value > 0:
            raise ConfigError(f"--{name.replace('_', '-')} {value:g}: give a number above 0")
    if options.recipe_out and options.size_mb is None and options.kl is None:
        raise ConfigError("--recipe-out needs an aim: give --size-mb or --kl")
    if not re.fullmatch(_NAME, options.name):
        raise ConfigError(f"--name {options.name}: use small letters, digits, dashes, underscores")
    if options.recipe_out and not options.recipe_out.absolute().parent.is_dir():
        raise ConfigError(f"--recipe-out {options.recipe_out}: there is no such folder")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", type=Path, help="the model")
    parser.add_argument("--prompts", type=Path, default=PROMPTS, help="UTF-8 text, a prompt a line")
    parser.add_argument("--positions", type=int, default=336, help="tokens that are looked at")
    parser.add_argument("--bits", default="4,8", help="to try: 4, 8")
    parser.add_argument("--block", default="64", help="values that share a scale, to try: 32, 64, 128")
    parser.add_argument("--by", choices=("kind", "layer", "matrix"), default="kind")
    parser.add_argument("--reference", choices=("float32", "keep"), default="float32")
    aims = parser.add_mutually_exclusive_group()
    aims.add_argument("--size-mb", type=float, help="put a recipe together: all files are at most this large")
    aims.add_argument("--kl", type=float, help="put a recipe together: the KL is at most this, in nats")
    parser.add_argument("--name", default="chosen", help="of the recipe")
    parser.add_argument("--recipe-out", type=Path, help="write the recipe there instead of printing it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


if __name__ == "__main__":
    main()
