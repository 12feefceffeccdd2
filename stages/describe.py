"""Describe: from facts to what an operator reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core import templates
from pipeline.core.messages import DescriptionWanted, IncidentDescribed
from pipeline.core.stage import Stage

if TYPE_CHECKING:
    from pipeline.core.messages import AnyMessage
    from pipeline.core.stage import Outputs


class Describe(Stage):
    """Writes the template answer: the path that stays when no model is there, or none is in time."""

    def handle(self, message: AnyMessage) -> Outputs:
        """Yield IncidentDescribed."""
        assert isinstance(message, DescriptionWanted)
        yield IncidentDescribed(
            incident=message.incident,
            revision=message.revision,
            analysis=templates.describe(message.facts, "no_model"),
        )
