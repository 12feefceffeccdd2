"""What a language model is asked. Text seen in the scene is never part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.sentences import plain, spoken
from pipeline.core.templates import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from models.llm.engine import Part
    from pipeline.core.facts import Facts

_TASK = "What happens, in one sentence that says only what is listed.\n\n"
_EXAMPLES = (
    (
        "2 cars, trailer; car park; Monday 09:12, day; slow, in; 40 seconds",
        "Two cars, perhaps with a trailer, drive slowly into the car park on Monday at 09:12.",
    ),
    (
        "person; side door; Sunday 23:05, night; still; 75 seconds; visit 3; loiter",
        "A person stands at the side door for 75 seconds, the third visit within an hour, loitering.",
    ),
    ("dog; lawn; Friday 16:40, day; run, along; 6 seconds", "A dog runs along the lawn on Friday at 16:40."),
)
_ASKS, _NEXT = " =>", "\n"


class SummaryPrompt(NamedTuple):
    """The prompt of a summary, as token numbers: examples, which any model goes on with, whatever it was taught.

    Attributes:
        fixed: What is the same for every incident: read once, and kept.
        encode: Text as token numbers.
    """

    fixed: Part
    encode: Callable[[str], list[int]]

    @classmethod
    def of(cls, encode: Callable[[str], list[int]]) -> SummaryPrompt:
        """For a model, by its tokenizer."""
        lines = (f"{listed}{_ASKS} {answer}{_NEXT}" for listed, answer in _EXAMPLES)
        return cls(tuple(encode(_TASK + "".join(lines))), encode)

    def parts(self, facts: Facts) -> tuple[Part, Part]:
        """The prompt for an incident: what is kept, and what is its own."""
        return self.fixed, tuple(self.encode(told(facts) + _ASKS))


def told(facts: Facts) -> str:
    """The facts of an incident on one line, without those that say nothing."""
    thing, way = facts.object, facts.track
    many = f"{thing.count} {plural(thing.class_)}" if thing.count > 1 else thing.class_
    found = (
        ", ".join(("movement" if thing.class_ == "none" else many, *map(plain, facts.tags))),
        plain(facts.zone),
        f"{facts.weekday} {facts.local_time}, {facts.light}" if facts.local_time else facts.light,
        way.speed if way.direction == "none" else f"{way.speed}, {way.direction}",
        spoken(way.dwell_s),
        f"visit {way.visits_last_hour}" if way.visits_last_hour > 1 else "",
        ", ".join(plain(rule.replace("_", " ")) for rule in facts.rules_hit if rule != "motion"),
    )
    return "; ".join(part for part in found if part)
