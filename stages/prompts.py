"""What a language model is asked. Text seen in the scene is never part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.sentences import plain, spoken
from pipeline.core.templates import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from models.llm.engine import Part
    from models.llm.tokenizer import Vocabulary
    from pipeline.core.facts import Facts

_SYSTEM = "Say in one short sentence what happens. Use only what is listed."
_EXAMPLES = (
    (
        "object: 2 cars\nseen: trailer\nplace: car park\ntime: Monday 09:12, day\nmoves: slow, in\nstays: 40 seconds",
        "Two cars, perhaps with a trailer, drive slowly into the car park on Monday at 09:12.",
    ),
    (
        "object: person\nplace: cellar\ntime: Sunday 23:05, night\nmoves: still\nstays: 75 seconds\nrules: after hours",
        "A person stands in the cellar for 75 seconds at night, outside opening hours.",
    ),
)


class SummaryPrompt(NamedTuple):
    """The prompt of a summary, as token numbers.

    Attributes:
        fixed: What is the same for every incident: read once, and kept.
        begin: What comes before the facts.
        end: What comes after them.
        encode: Text as token numbers.
    """

    fixed: Part
    begin: Part
    end: Part
    encode: Callable[[str], list[int]]

    @classmethod
    def of(cls, words: Vocabulary, encode: Callable[[str], list[int]]) -> SummaryPrompt:
        """For a model that talks in ChatML, as Qwen2.5 and SmolLM2 do.

        Raises:
            ValueError: Its vocabulary has not the marks of ChatML.
        """
        numbers = {token: number for number, token in enumerate(words.tokens)}
        if not {_BEGIN, _END} <= numbers.keys():
            raise ValueError(f"it does not talk in ChatML: {_BEGIN} and {_END} are not in its vocabulary")
        begin, end = numbers[_BEGIN], numbers[_END]

        def turn(role: str, text: str) -> list[int]:
            return [begin, *encode(f"{role}\n{text}"), end, *encode("\n")]

        fixed = turn("system", _SYSTEM)
        for told, answer in _EXAMPLES:
            fixed += turn("user", told) + turn("assistant", answer)
        tail = [end, *encode("\n"), begin, *encode("assistant\n")]
        return cls(tuple(fixed), (begin, *encode("user\n")), tuple(tail), encode)

    def parts(self, facts: Facts) -> tuple[Part, Part]:
        """The prompt for an incident: what is kept, and what is its own."""
        return self.fixed, (*self.begin, *self.encode(told(facts)), *self.end)


def told(facts: Facts) -> str:
    """The facts of an incident in lines, without those that say nothing."""
    thing, way = facts.object, facts.track
    many = f"{thing.count} {plural(thing.class_)}" if thing.count > 1 else thing.class_
    rows = {
        "object": "movement" if thing.class_ == "none" else many,
        "seen": ", ".join(map(plain, facts.tags)),
        "place": plain(facts.zone),
        "time": f"{facts.weekday} {facts.local_time}, {facts.light}" if facts.local_time else facts.light,
        "moves": way.speed if way.direction == "none" else f"{way.speed}, {way.direction}",
        "stays": spoken(way.dwell_s),
        "visits": str(way.visits_last_hour) if way.visits_last_hour > 1 else "",
        "rules": ", ".join(plain(rule.replace("_", " ")) for rule in facts.rules_hit if rule != "motion"),
    }
    return "\n".join(f"{name}: {value}" for name, value in rows.items() if value)


_BEGIN, _END = "<|im_start|>", "<|im_end|>"
