"""Judge an incident: rules decide from facts, a note may change the verdict. No model writes it.

A note may silence an alarm of the rules only if it is surely about this incident; raising an alarm needs less
confidence. Below these limits (config/incidents.toml) the verdict of the rules stands, with a reason.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from pipeline.core.note import notes as reading
from pipeline.core.note import when as times
from pipeline.core.verdict.matching import NoteMatcher, StepName
from pipeline.core.verdict.rulebook import Slots

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.core.facts import Facts
    from pipeline.core.note.notes import Note, NoteOutcome, Reading
    from pipeline.core.note.words import Lexicon
    from pipeline.core.verdict.matching import Match, Scores, Similarity
    from pipeline.core.verdict.rulebook import NoteEffect, Rulebook, VerdictRule

Because: TypeAlias = Literal["rules", "note", "note_unsure", "note_unnamed", "note_unclear", "note_silent"]

_GENERAL = frozenset(("person", "anything", "vehicle", "animal"))
_REACH = 0.3  # notes with a confidence so far below the surest one are ignored


class Verdict(msgspec.Struct, frozen=True):
    """The verdict on an incident, and what decided it.

    Attributes:
        situation: What happens; like the next three a word of the rule table.
        expected: Whether it is expected here.
        severity: How severe it is.
        action: What to do.
        note: Number of the note that decided, from 1; 0: none.
        confidence: Confidence that this note is about the incident, 0..1; if none decided, that no note is.
        because: What decided. `rules`: no note is about it. `note`: a note. Otherwise the rules, although a note is
            about it: `note_unsure`: not surely enough to silence; `note_unnamed`: it does not name what a firm rule
            is about; `note_unclear`: it is not clear that it permits this; `note_silent`: it says nothing of this time.
        rule: Name of the first rule that fits the facts.
        draft: The verdict of the rules alone.
        considered: Number of the best note that did not decide, from 1; 0: none.
        step: The step of the cascade that found the note.
        open_notes: Indices, from 0, of notes that still need a score of the third step, likeliest first.
        holds_s: Seconds after which the verdict may change, by a limit of a note or a rule or by the clock; 0: never.
    """

    situation: str
    expected: str
    severity: str
    action: str
    note: int
    confidence: float
    because: Because
    rule: str
    draft: Slots
    considered: int = 0
    step: StepName | None = None
    open_notes: tuple[int, ...] = msgspec.field(name="unheard", default=())
    holds_s: int = 0


class _Candidate(NamedTuple):
    """A note that may decide."""

    note: int  # from 1
    match: Match
    outcome: NoteOutcome
    specific: int
    timed: bool


def decide(facts: Facts, book: Rulebook, matches: Sequence[Match]) -> Verdict:
    """Judge an incident.

    Args:
        facts: The facts of the incident; text in the scene is ignored.
        book: The rule table with its limits.
        matches: One match for each note, in the notes' order.
    """
    rule = book.decide(facts)
    found = _find_candidates(facts, book, matches)
    chosen = _choose(found)
    if chosen is None:
        if found:
            unclear = next((one for one in found if one.outcome == "unclear"), None)
            near = unclear or found[0]
            return _verdict_of_rule(rule, "note_unclear" if unclear else "note_silent", near, near.match.confidence)
        return _verdict_of_rule(rule, "rules", None, 1 - max((match.confidence for match in matches), default=0.0))
    refused = _find_refusal(chosen, rule, book)
    if refused:
        return _verdict_of_rule(rule, refused, chosen, 1 - chosen.match.confidence)
    return _verdict_of_note(chosen, rule, book)


class Judge:
    """Judges incidents with the rules and the notes of a place.

    Args:
        book: The rule table.
        lexicon: The word table of notes.
        notes: The notes with their confirmed readings.
        similarity: The second step of the cascade, see `matching`; None: without it.
        scores: The third step; None: without it.
    """

    def __init__(
        self,
        book: Rulebook,
        lexicon: Lexicon,
        notes: Sequence[Note] = (),
        similarity: Similarity | None = None,
        scores: Scores | None = None,
    ) -> None:
        self.book = book
        self._matcher = NoteMatcher(notes, lexicon, similarity, scores)

    def judge(self, facts: Facts) -> Verdict:
        """Judge an incident."""
        matches = self._matcher.match_notes(facts)
        return msgspec.structs.replace(
            decide(facts, self.book, matches),
            open_notes=self._matcher.open_notes(matches),
            holds_s=min(_next_changes(facts, self.book, matches), default=0),
        )


def is_silenced(verdict: Verdict, book: Rulebook) -> bool:
    """Tell whether a note silenced an alarm of the rules."""
    return book.is_loud(verdict.draft.action) and not book.is_loud(verdict.action)


def is_raised(verdict: Verdict, book: Rulebook) -> bool:
    """Tell whether a note raised an alarm that the rules did not."""
    return book.is_loud(verdict.action) and not book.is_loud(verdict.draft.action)


def _next_changes(facts: Facts, book: Rulebook, matches: Sequence[Match]) -> Iterator[int]:
    """Yield the seconds until each limit of a rule, or of a note that may decide."""
    for match in matches:
        if match.confidence >= book.limits.raise_:
            for one in match.readings:
                yield from times.next_changes(one.when, facts)
    for rule in book.rule:
        for limit in rule.if_.dwell_s or ():
            if facts.track.dwell_s < limit < math.inf:
                yield math.ceil(limit - facts.track.dwell_s)


def _find_candidates(facts: Facts, book: Rulebook, matches: Sequence[Match]) -> list[_Candidate]:
    """Return the notes whose confidence is near that of the surest one, surest first."""
    likely = sorted(
        ((at, match) for at, match in enumerate(matches, 1) if match.confidence >= book.limits.raise_),
        key=lambda pair: -pair[1].confidence,
    )
    if not likely:
        return []
    reach = likely[0][1].confidence - _REACH
    return [_make_candidate(at, match, facts) for at, match in likely if match.confidence >= reach]


def _make_candidate(at: int, match: Match, facts: Facts) -> _Candidate:
    outcome = reading.apply_note(match.readings, facts)
    deciding = [one for one in match.readings if reading.apply_note((one,), facts) == outcome]
    return _Candidate(
        at,
        match,
        outcome,
        max((_specificity(one) for one in deciding), default=0),
        any(one.when.timed for one in deciding),
    )


def _specificity(one: Reading) -> int:
    """Return how specific a reading is: 0 for nobody in particular, 1 for a general kind, 2 for particular subjects."""
    if not one.who:
        return 0
    return 1 if set(one.who) <= _GENERAL else 2


def _choose(found: list[_Candidate]) -> _Candidate | None:
    """Choose the note that decides: a prohibition, unless a permission is more specific about people or hours.

    A permission for another time comes last, as another note may hold now.
    """
    by_outcome = {
        outcome: [one for one in found if one.outcome == outcome]
        for outcome in ("allowed", "forbidden", "over", "outside")
    }
    allowed, forbidden = by_outcome["allowed"], by_outcome["forbidden"] + by_outcome["over"]
    if allowed and forbidden:
        good, bad = max(allowed, key=_weight), max(forbidden, key=_weight)
        beats = good.specific > bad.specific or (good.timed and not bad.timed and good.specific >= bad.specific)
        return good if beats else bad
    for outcome in ("allowed", "forbidden", "over", "outside"):
        if by_outcome[outcome]:
            return by_outcome[outcome][0]
    return None


def _weight(one: _Candidate) -> tuple[int, float]:
    return one.specific, one.match.confidence


def _find_refusal(chosen: _Candidate, rule: VerdictRule, book: Rulebook) -> Because | None:
    """Return why a note must not decide; None if it may."""
    loud = book.is_loud(rule.then.action)
    if chosen.outcome == "allowed" and loud:
        if chosen.match.confidence < book.limits.silence:
            return "note_unsure"
        if rule.firm and not chosen.match.named:
            return "note_unnamed"
    if chosen.outcome == "outside" and not loud and not chosen.match.named:
        return "note_silent"  # at another hour it may be somebody else
    return None


def _verdict_of_rule(rule: VerdictRule, because: Because, considered: _Candidate | None, confidence: float) -> Verdict:
    return Verdict(
        situation=rule.then.situation,
        expected=rule.then.expected,
        severity=rule.then.severity,
        action=rule.then.action,
        note=0,
        confidence=round(confidence, 3),
        because=because,
        rule=rule.name,
        draft=rule.then,
        considered=considered.note if considered else 0,
        step=considered.match.step if considered else None,
    )


def _verdict_of_note(chosen: _Candidate, rule: VerdictRule, book: Rulebook) -> Verdict:
    effects: dict[str, NoteEffect] = {"allowed": book.notes.allowed, "over": book.notes.over}
    effect = effects.get(chosen.outcome, book.notes.forbidden)
    severity, action = effect.then.severity, effect.then.action
    if chosen.outcome == "allowed":  # a permission never makes a verdict louder, whatever the table says
        severity = min(severity, rule.then.severity, key=book.words.severity.index)
        action = min(action, rule.then.action, key=book.words.action.index)
    elif book.is_loud(action):  # a prohibition never makes it quieter
        severity = max(severity, rule.then.severity, key=book.words.severity.index)
        action = max(action, rule.then.action, key=book.words.action.index)
    return Verdict(
        situation=effect.situations.get(rule.then.situation, rule.then.situation),
        expected=effect.then.expected,
        severity=severity,
        action=action,
        note=chosen.note,
        confidence=chosen.match.confidence,
        because="note",
        rule=rule.name,
        draft=rule.then,
        step=chosen.match.step,
    )
