"""A plugin of pytest: the modules in another order, and the tests in each of them; `-p tests.shuffled --shuffle SEED`.

Modules stay together, as some have a fixture that takes long. Every worker of pytest-xdist gets the same order.
"""

from __future__ import annotations

import random


def pytest_addoption(parser):
    parser.addoption("--shuffle", type=int, default=0, help="the seed of the order of tests; 0: as they are written")


def pytest_report_header(config):
    return f"tests shuffled by the seed {config.getoption('shuffle')}" if config.getoption("shuffle") else None


def pytest_collection_modifyitems(config, items):
    if seed := config.getoption("shuffle"):
        items[:] = shuffled(items, lambda item: item.nodeid.partition("::")[0], seed)


def shuffled(items, module_of, seed):
    """Items in an order that the seed decides, those of a module together."""
    order = random.Random(seed)
    modules = {}
    for item in items:
        modules.setdefault(module_of(item), []).append(item)
    names = list(modules)
    order.shuffle(names)
    for name in names:
        order.shuffle(modules[name])
    return [item for name in names for item in modules[name]]
