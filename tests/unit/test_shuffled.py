"""The order of tests is another one for every seed, the same for one seed, and keeps modules together."""

import itertools

from tests.shuffled import shuffled

ITEMS = [f"{module}::{test}" for module in "abcdef" for test in range(5)]


def module_of(item):
    return item.partition("::")[0]


def test_every_test_is_run_once_and_those_of_a_module_together():
    found = shuffled(ITEMS, module_of, 7)
    assert sorted(found) == sorted(ITEMS)
    assert len([module for module, _ in itertools.groupby(found, module_of)]) == 6


def test_a_seed_decides_the_order():
    assert shuffled(ITEMS, module_of, 7) == shuffled(ITEMS, module_of, 7)
    assert shuffled(ITEMS, module_of, 7) != shuffled(ITEMS, module_of, 8)
