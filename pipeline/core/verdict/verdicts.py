"""The verdict on an incident: rules decide from facts, a note may change it, code works out how. No model writes it.

A note may silence what the rules speak up about only when it surely speaks about this incident; to raise what they
would let pass needs less. Below these limits (config/incidents.toml) the rules' verdict stands, and says so.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from pipeline.core.note import notes as reading
from pipeline.core.note import when as times
from pipeline.core.verdict.rulebook import Slots
from pipeline.core.verdict.speaking import Listener, StepName

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.core.facts import Facts
    from pipeline.core.note.notes import Note, NoteOutcome, Reading
    from pipeline.core.note.words import Lexicon
    from pipeline.core.verdict.rulebook import NoteEffect, Rulebook, VerdictRule
    from pipeline.core.verdict.speaking import Match, Scores, Similarity

Because: TypeAlias = Literal["rules", "note", "note_unsure", "note_unnamed", "note_unclear", "note_silent"]

_GENERAL = frozenset(("person", "anything", "vehicle", "animal"))
_REACH = 0.3  # notes whose confidence is so far below the surest are out of the question


class Verdict(msgspec.Struct, frozen=True):
    """What an incident amounts to, and who says so.

    Attributes:
        situation: As the other three, a word of the rule table's vocabulary.
        expected: Whether it is in order.
        severity: From quiet to loud.
        action: What to do; the same.
        note: The note that decided, counted from 1; 0: none.
        confidence: That this note speaks about the incident, 0..1; where none decided, that none has anything to say.
        because: `rules`: no note speaks of it; `note`; `note_unsure`: one does, but not surely enough to silence;
            `note_unnamed`: one does, but does not name what the firm rule saw; `note_unclear`: one does, but nobody
            can be sure that it permits this; `note_silent`: one does, but says nothing of this time.
        rule: The rule that fits the facts.
        draft: What the rules alone say.
        considered: The note that came nearest without deciding, counted from 1; 0: none.
        step: Of the cascade, which found the note.
        unheard: Notes, from 0, about which the third step may know better and was not heard yet; likeliest first.
        holds_s: After so many seconds more of its stay the verdict may be another, by a limit of a note or a rule or by
            the clock; 0: it stays.
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
    unheard: tuple[int, ...] = ()
    holds_s: int = 0


class _Candidate(NamedTuple):
    """A note that may decide."""

    note: int  # counted from 1
    match: Match
    outcome: NoteOutcome
    specific: int
    timed: bool


def decide(facts: Facts, book: Rulebook, matches: Sequence[Match]) -> Verdict:
    """Judge an incident.

    Args:
        facts: What is known of it. What signs in the scene say is not looked at.
        book: The rule table with its limits.
        matches: How every note fits, in the notes' order.
    """
    rule = book.decide(facts)
    found = _candidates(facts, book, matches)
    chosen = _chosen(found)
    if chosen is None:
        if found:
            unclear = next((one for one in found if one.outcome == "unclear"), None)
            near = unclear or found[0]
            return _stands(rule, "note_unclear" if unclear else "note_silent", near, near.match.confidence)
        return _stands(rule, "rules", None, 1 - max((match.confidence for match in matches), default=0.0))
    refused = _refused(chosen, rule, book)
    if refused:
        return _stands(rule, refused, chosen, 1 - chosen.match.confidence)
    return _by_note(chosen, rule, book)


class Judge:
    """Notes, words and rules of a place put together: facts in, verdict out.

    Args:
        book: The rule table.
        lexicon: What words of notes name.
        notes: As confirmed.
        similarity: The second step of the cascade, see `speaking`; None: left out.
        scores: The third; None: left out.
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
        self._listener = Listener(notes, lexicon, similarity, scores)

    def verdict(self, facts: Facts) -> Verdict:
        """Judge an incident."""
        matches = self._listener.matches(facts)
        return msgspec.structs.replace(
            decide(facts, self.book, matches),
            unheard=self._listener.unheard(matches),
            holds_s=min(_changes(facts, self.book, matches), default=0),
        )


def silenced(verdict: Verdict, book: Rulebook) -> bool:
    """Whether a note quieted what the rules spoke up about."""
    return book.loud(verdict.draft.action) and not book.loud(verdict.action)


def raised(verdict: Verdict, book: Rulebook) -> bool:
    """Whether a note spoke up where the rules did not."""
    return book.loud(verdict.action) and not book.loud(verdict.draft.action)


def _changes(facts: Facts, book: Rulebook, matches: Sequence[Match]) -> Iterator[int]:
    """Yield after how many seconds more a limit is passed of the notes that may decide, or of a rule."""
    for match in matches:
        if match.confidence >= book.limits.raise_:
            for one in match.readings:
                yield from times.next_changes(one.when, facts)
    for rule in book.rule:
        for limit in rule.if_.dwell_s or ():
            if facts.track.dwell_s < limit < math.inf:
                yield math.ceil(limit - facts.track.dwell_s)


def _candidates(facts: Facts, book: Rulebook, matches: Sequence[Match]) -> list[_Candidate]:
    """Notes in reach of the surest one, surest first."""
    likely = sorted(
        ((at, match) for at, match in enumerate(matches, 1) if match.confidence >= book.limits.raise_),
        key=lambda pair: -pair[1].confidence,
    )
    if not likely:
        return []
    reach = likely[0][1].confidence - _REACH
    return [_candidate(at, match, facts) for at, match in likely if match.confidence >= reach]


def _candidate(at: int, match: Match, facts: Facts) -> _Candidate:
    outcome = reading.apply_note(match.readings, facts)
    deciding = [one for one in match.readings if reading.apply_note((one,), facts) == outcome]
    return _Candidate(
        at,
        match,
        outcome,
        max((_specific(one) for one in deciding), default=0),
        any(one.when.timed for one in deciding),
    )


def _specific(one: Reading) -> int:
    """Nobody in particular, a kind, or these very people: the more exact, the more it counts."""
    if not one.who:
        return 0
    return 1 if set(one.who) <= _GENERAL else 2


def _chosen(found: list[_Candidate]) -> _Candidate | None:
    """Settle what several notes say: a prohibition holds, unless a permission speaks of these people, or of this hour.

    A permission whose time is over comes last, as another note may say what holds now.
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


def _refused(chosen: _Candidate, rule: VerdictRule, book: Rulebook) -> Because | None:
    """Why a note may not decide; None: it may."""
    loud = book.loud(rule.then.action)
    if chosen.outcome == "allowed" and loud:
        if chosen.match.confidence < book.limits.silence:
            return "note_unsure"
        if rule.firm and not chosen.match.named:
            return "note_unnamed"
    if chosen.outcome == "outside" and not loud and not chosen.match.named:
        return "note_silent"  # who passes the gate at another hour need not be the guard
    return None


def _stands(rule: VerdictRule, because: Because, considered: _Candidate | None, confidence: float) -> Verdict:
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


def _by_note(chosen: _Candidate, rule: VerdictRule, book: Rulebook) -> Verdict:
    effects: dict[str, NoteEffect] = {"allowed": book.notes.allowed, "over": book.notes.over}
    effect = effects.get(chosen.outcome, book.notes.forbidden)
    severity, action = effect.then.severity, effect.then.action
    if chosen.outcome == "allowed":  # whatever the table of effects says, a permission makes nothing louder
        severity = min(severity, rule.then.severity, key=book.words.severity.index)
        action = min(action, rule.then.action, key=book.words.action.index)
    elif book.loud(action):  # nor does a prohibition make it quieter
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
