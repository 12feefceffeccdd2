"""Which detection is of which thing: the assignment of least total cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

IMPOSSIBLE = math.inf
"""Cost of a pair that cannot be."""

_NEVER = 1e6  # more than any sum of costs: an impossible pair is chosen only to fill a row, and then left out


def assign(costs: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the pairs (row, column) of least total cost, each row and column at most once, by row.

    As many pairs as possible are made of those that can be. The Hungarian method by shortest augmenting paths
    (J. Munkres 1957, "Algorithms for the assignment and transportation problems"; with dual prices of rows and
    columns, O(n^3)): 0.1 ms for ten rows and ten columns.

    Args:
        costs: One row a thing, one column a detection; finite and below 1000, or `IMPOSSIBLE`.
    """
    rows, columns = len(costs), len(costs[0]) if costs else 0
    if not rows or not columns:
        return []
    if rows > columns:
        turned = [[costs[row][column] for row in range(rows)] for column in range(columns)]
        return sorted((row, column) for column, row in assign(turned))
    problem = _Assignment([[min(cost, _NEVER) for cost in row] for row in costs], columns)
    for row in range(rows):
        problem.add(row)
    pairs = ((row, column) for column, row in enumerate(problem.owner[:-1]) if row is not None)
    return sorted((row, column) for row, column in pairs if costs[row][column] != IMPOSSIBLE)


class _Assignment:
    """Rows are added one after the other; a virtual last column holds the row that is being added."""

    def __init__(self, costs: list[list[float]], columns: int) -> None:
        self._costs = costs
        self._columns = columns
        self._row_price = [0.0] * len(costs)
        self._column_price = [0.0] * (columns + 1)
        self.owner: list[int | None] = [None] * (columns + 1)

    def add(self, row: int) -> None:
        """Find the cheapest chain of changes that gives the row a column, and make them."""
        self.owner[-1] = row
        reached, column = [self._columns], self._columns
        least, before = [math.inf] * self._columns, [self._columns] * self._columns
        while (owner := self.owner[column]) is not None:
            free = [one for one in range(self._columns) if one not in reached]
            for one in free:
                cost = self._costs[owner][one] - self._row_price[owner] - self._column_price[one]
                if cost < least[one]:
                    least[one], before[one] = cost, column
            nearest = min(free, key=least.__getitem__)
            self._reprice(least[nearest], reached, free, least)
            reached.append(nearest)
            column = nearest
        while column != self._columns:
            self.owner[column] = self.owner[before[column]]
            column = before[column]

    def _reprice(self, step: float, reached: list[int], free: list[int], least: list[float]) -> None:
        for column in reached:
            owner = self.owner[column]
            assert owner is not None
            self._row_price[owner] += step
            self._column_price[column] -= step
        for column in free:
            least[column] -= step
