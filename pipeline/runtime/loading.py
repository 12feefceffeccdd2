"""From the name in the topology to a stage: only here, and only where it runs, is a stage imported."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pipeline import topology

if TYPE_CHECKING:
    from pipeline.core.stage import Stage, StageContext


def load(name: str, context: StageContext) -> Stage:
    """Import and construct the stage that the topology names."""
    module, _, class_name = topology.STAGES[name].implementation.partition(":")
    stage: Stage = getattr(importlib.import_module(module), class_name)(context)
    return stage


def preload() -> None:
    """Import every stage, so that processes forked from here share the code's memory.

    Imports start no thread in any of our libraries, and nothing may be run before the fork.
    """
    for row in topology.STAGES.values():
        importlib.import_module(row.implementation.partition(":")[0])
