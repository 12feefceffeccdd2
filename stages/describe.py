"""Describe: from facts to what an operator reads. The template at once, the model's sentence when it is written."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import structlog
from msgspec import UNSET, UnsetType

from models.asking import language, weighing
from models.asking.prompts import Prompts
from models.asking.sentence import Summariser
from models.asking.weighing import Weigher
from models.table import load_table
from pipeline.core.device.limits import Rung
from pipeline.core.errors import EngineError
from pipeline.core.events import Model, Tokens
from pipeline.core.incident import desk
from pipeline.core.incident.desk import Desk
from pipeline.core.messages import DescriptionWanted, IncidentDescribed, Priority, Ticked
from pipeline.core.note import outlook
from pipeline.core.stage import Stage
from pipeline.core.text import filters, templates
from pipeline.resources import own_or_ours
from stages.judging import Judging

if TYPE_CHECKING:
    from collections.abc import Generator

    from models.asking.sentence import WrittenSentence
    from models.llm.opening import LanguageModel
    from pipeline.core.device.limits import Limits
    from pipeline.core.events import Analysis, AnalysisStatus, Details
    from pipeline.core.facts import Facts
    from pipeline.core.incident.desk import SentenceJob
    from pipeline.core.messages import AnyMessage
    from pipeline.core.stage import Outputs, StageContext
    from pipeline.core.vocabulary import IncidentId, Nanoseconds

log = structlog.get_logger()

_Work: TypeAlias = "Generator[IncidentDescribed | None, None, WrittenSentence | str]"
"""One forward before each yield; at the end the sentence, or why there shall be none."""

_BUDGET = "the verdict's time was up"
_IDLE_S = 2.0  # without a question, until the notes are weighed for questions to come
_REMEMBERED_MOST = 256  # incidents whose like may come again
_REST_MOST_S = 0.5  # between two forwards, where heat allows but a share of the time


@dataclass
class _Writing:
    """A sentence that is being written.

    Attributes:
        work: What is being done; None: it was put aside for a more urgent one.
        began_ns: When that began.
        said: Tokens of the sentence so far: one that was put aside goes on from there.
    """

    work: _Work | None = None
    began_ns: int = 0
    said: list[int] = field(default_factory=list)


class Describe(Stage):
    """Answers every question once with a template where that must be at once, and with a sentence when there is one."""

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self._settings = context.settings.describe
        self._desk = Desk()
        self._writing: dict[IncidentId, _Writing] = {}
        self._voice = language.ChosenModel(language.Trial(None))
        self._used_ns = 0
        self._asleep = False
        self._weigher: Weigher | None = None
        self._likely: dict[str, Facts] = {}
        self._spare: Generator[None, None, None] | None = None
        self._weighed_for: object = None
        self._worked_s = 0.0  # by the last forward

    def warm_up(self) -> None:
        """Read the rule table, the standing notes and the lists of filters."""
        self._judging = Judging(self.context)
        self._lists = filters.load(own_or_ours(self._settings.filters, "filters.toml"))

    def begin(self) -> Outputs:
        """Load the model, which nobody waits for; tell which one speaks, or why none does."""
        self._voice = language.open_chosen_model(self.context)
        if self._voice.model is not None:
            self._learn(self._voice.model)
        pts_ns, utc_ns = self.context.clock.now()
        self._used_ns = pts_ns
        if self._voice.report and not self.context.clock.media:
            yield msgspec.structs.replace(self._voice.report, pts_ns=pts_ns, utc_ns=utc_ns)

    def handle(self, message: AnyMessage) -> Outputs:
        """Answer with the template, or promise a sentence."""
        if isinstance(message, Ticked):
            self._rest(message.pts_ns)
            return
        assert isinstance(message, DescriptionWanted)
        if message.previous_verdict is not None:
            judged = self._judging.judged(message.facts)
            if _same(judged.fields, message.previous_verdict):
                yield IncidentDescribed(
                    incident=message.incident, revision=message.revision, analysis=None, holds_s=judged.holds_s
                )
                return
        if self._voice.model is None:
            yield self._answer(message, templates.describe(message.facts, self._voice.reason, self._voice.status))
            return
        limits = self.context.limits.get()
        if limits.silent:
            yield self._answer(message, templates.describe(message.facts, limits.why, "skipped"), limits.why)
            return
        yield from self._taken(message)

    def _taken(self, message: DescriptionWanted) -> Outputs:
        """Take a question onto the desk; where too many lie there, one gives way."""
        now = self.context.clock.now()[0]
        until = None if self.context.clock.media else desk.until_ns(message, self._settings, now)
        question = desk.SentenceJob(message, now, until)
        self._desk = desk.asked(self._desk, question)
        self._writing.pop(message.incident, None)
        self._spare = None
        if not message.final:
            yield self._promised(question)
        self._desk, gives_way = desk.crowded(self._desk)
        if gives_way is not None:
            waiting, crowded_out = len(self._desk.questions), self._desk.crowded_out
            reason = f"too many incidents: {waiting} wait, {crowded_out} had to give way so far"
            yield self._given_up(gives_way, "skipped", reason)

    def pending(self) -> bool:
        """Whether a sentence waits to be written, or notes can be weighed for incidents to come."""
        return bool(self._desk.questions) or self._spare is not None

    def step(self) -> Outputs:
        """Go on with the most urgent sentence, by one forward; what another had begun is put aside."""
        now, limits = self.context.clock.now()[0], self.context.limits.get()
        yield from self._expired(now, limits)
        if limits.silent:
            self._spare = None
            return
        if not self._desk.questions:
            self._weigh_ahead()
            return
        self._cool_down(limits.duty)
        self._used_ns, self._asleep = now, False
        chosen = desk.most_urgent(self._desk, now, self._settings.ageing_s)
        writing = self._begun(chosen, now)
        assert writing.work is not None
        yield from self._forwarded(chosen, writing, writing.work)

    def _begun(self, chosen: SentenceJob, now_ns: int) -> _Writing:
        """Begin a sentence or go on with it; others go on one day, when what they have said so far was read again."""
        writing = self._writing.setdefault(chosen.wanted.incident, _Writing())
        for other in self._writing.values():
            if other is not writing:
                other.work = None
        if writing.work is None:
            writing.work, writing.began_ns = self._work(chosen, writing), now_ns
        return writing

    def _forwarded(self, question: SentenceJob, writing: _Writing, work: _Work) -> Outputs:
        """Do one forward of a sentence, and say what comes of it."""
        began = time.perf_counter()
        try:
            news = next(work)
        except StopIteration as ended:
            if not isinstance(ended.value, str):
                self._desk = desk.took(self._desk, self.context.clock.now()[0] - writing.began_ns)
            news = self._finished(question, ended.value)
        except EngineError as error:
            news = self._given_up(question, "failed", str(error))
        self._worked_s = time.perf_counter() - began
        if news is not None:
            yield news

    def _expired(self, now_ns: int, limits: Limits) -> Outputs:
        """Give up what is too late, and everything while the model is to be silent."""
        if limits.silent:
            for question in self._desk.questions.values():
                yield self._given_up(question, "skipped", limits.why)
            return
        begun = {incident for incident, writing in self._writing.items() if writing.work is not None}
        for question in desk.late(self._desk, now_ns, begun):
            self.missed += 1
            yield self._given_up(question, "timeout", "the sentence was not written in time")

    def since_ns(self) -> Nanoseconds | None:
        """Since when the oldest question waits for its sentence."""
        return self._desk.since_ns

    def spent(self) -> float:
        """How much of its time the question has waited that is nearest to be answered too late."""
        return self._desk.spent(self.context.clock.now()[0])

    def close(self) -> None:
        """Keep what was learnt of the notes, and give the model's memory back."""
        if self._weigher is not None:
            self._weigher.save()
        if self._voice.model is not None:
            self._voice.model.engine.close()

    def _learn(self, model: LanguageModel) -> None:
        """Read what is the same in every prompt."""
        prompts = Prompts.of(model.engine.encode)
        self._summariser = Summariser(model, prompts, self._settings.max_sentence_tokens, self._lists)
        self._told = Model(name=model.name, version=model.version, sha256=model.sha256, device="cpu")
        scale = load_table().find_weighing(model.manifest)
        if scale is not None:
            kept = self.context.models_dir / weighing.FILE if self.context.models_dir else None
            path = None if self.context.clock.media else kept  # a recording is judged the same whatever came before
            self._weigher = Weigher(model, prompts, scale, path)
            self._judging.ask(self._weigher.scores)

    def _work(self, question: SentenceJob, writing: _Writing) -> _Work:
        """First the verdict, then the sentence."""
        facts = question.wanted.facts
        if self._weigher is not None and (notes := self._judging.unheard(facts)):
            self._likely[weighing.sight_of(facts)] = facts
            if len(self._likely) > _REMEMBERED_MOST:
                del self._likely[next(iter(self._likely))]
            plan = self._weigher.plan(facts, notes, self._left_s(question))
            yield from self._weigher.weigh(plan.pairs, lambda takes_s: not self._in_time(question, takes_s))
            why = self._why_unheard(facts)
            if why == _BUDGET:
                self._weighed_for = None  # what there was no time for is weighed when nobody asks
            told = self._desk.questions[question.wanted.incident].first_verdict
            if told is not None and self._judging.judged(facts, why).fields != told:
                yield self._promised(question, why)
        limits = self.context.limits.get()
        if limits.rung >= Rung.VERDICTS and question.wanted.priority > Priority.ALARM:
            return limits.why
        return (yield from self._summariser.write(facts, said=writing.said))

    def _cool_down(self, duty: float) -> None:
        """Rest before a forward, so that the last and the rest together keep to the share of time that is allowed."""
        if duty < 1:
            self.context.clock.sleep(min(self._worked_s * (1 / duty - 1), _REST_MOST_S))

    def _why_unheard(self, facts: Facts) -> str:
        """Why notes are still not weighed after all; empty: all that matter are."""
        unheard = self._judging.unheard(facts)
        too_long = self._weigher.too_long if self._weigher else set()
        return "" if not unheard else "too long for the model" if too_long.issuperset(unheard) else _BUDGET

    def _left_s(self, question: SentenceJob) -> float | None:
        """What is left of a verdict's budget; None: a recording waits for everything."""
        if self.context.clock.media:
            return None
        return self._settings.max_verdict_s - (self.context.clock.now()[0] - question.since_ns) / 1e9

    def _in_time(self, question: SentenceJob, takes_s: float) -> bool:
        left = self._left_s(question)
        return left is None or takes_s <= left

    def _promised(self, question: SentenceJob, why_unheard: str = "they are being weighed") -> IncidentDescribed:
        """The template, until there is a sentence."""
        promise = templates.describe(question.wanted.facts, "a sentence is being written", "pending")
        found = self._answer(question.wanted, promise, why_unheard)
        assert found.analysis is not None
        assert not isinstance(found.analysis.fields, UnsetType)
        self._desk = desk.promised(self._desk, question.wanted.incident, found.analysis.fields)
        return msgspec.structs.replace(found, hops=question.wanted.hops)

    def _weigh_ahead(self) -> None:
        """Go on with what may be asked some day, by one forward."""
        if self._spare is None or self._weigher is None:
            return
        try:
            next(self._spare)
        except StopIteration:
            self._spare = None
            self._weigher.save()

    def _finished(self, question: SentenceJob, summary: WrittenSentence | str) -> IncidentDescribed:
        """The sentence where it says nothing but the facts, else the template with what was wrong."""
        if isinstance(summary, str):
            return self._done(question, templates.describe(question.wanted.facts, summary, "skipped"))
        self._voice.trial.record_answer()
        written = summary.written
        if written.cached != self._summariser.fixed:
            self.reread += 1
            log.warning("prompt_read_again", cached=written.cached, fixed=self._summariser.fixed)
        facts = question.wanted.facts
        if summary.held:  # goes before any other fault, whose reason might repeat the word
            analysis = templates.describe(facts, f"the sentence was held back by the list {summary.held}", "filtered")
        elif summary.fault:
            analysis = templates.describe(facts, f"the sentence was dropped: {summary.fault}", "invalid")
        else:
            told = templates.describe(facts, "")
            analysis = msgspec.structs.replace(told, status="ok", reason=UNSET, summary=summary.text)
        analysis = msgspec.structs.replace(
            analysis,
            schema_valid=written.complete,
            model=self._told,
            tokens=Tokens(prompt=written.prompt, cached=written.cached, output=written.output),
        )
        if not self.context.clock.media:
            measured = {"ttft_ms": round(written.ttft_ms, 1), "decode_tok_s": round(written.decode_tok_s, 1)}
            analysis = msgspec.structs.replace(analysis, **measured)
        return self._done(question, analysis)

    def _given_up(self, question: SentenceJob, status: AnalysisStatus, reason: str) -> IncidentDescribed:
        return self._done(question, templates.describe(question.wanted.facts, reason, status), reason)

    def _done(self, question: SentenceJob, analysis: Analysis, why_unheard: str = "") -> IncidentDescribed:
        wanted = question.wanted
        self._desk = desk.answered(self._desk, wanted.incident)
        self._writing.pop(wanted.incident, None)
        why_unheard = why_unheard or self._why_unheard(wanted.facts)
        return msgspec.structs.replace(self._answer(wanted, analysis, why_unheard), hops=wanted.hops)

    def _answer(self, wanted: DescriptionWanted, analysis: Analysis, why_unheard: str = "") -> IncidentDescribed:
        """With the verdict, which never waits for a sentence; and with a word of warning of what the scene says."""
        verdict = self._judging.judged(wanted.facts, why_unheard)
        judged = msgspec.structs.replace(analysis, fields=verdict.fields)
        if self._lists.match_scene(wanted.facts.scene_text):
            judged = msgspec.structs.replace(judged, flags=("injection_suspected",))
        return IncidentDescribed(
            incident=wanted.incident, revision=wanted.revision, analysis=judged, holds_s=verdict.holds_s
        )

    def _rest(self, now_ns: int) -> None:
        """When nobody has asked for a while: weigh the notes for what may come, then put the model to sleep."""
        model = self._voice.model
        idle_s = (now_ns - self._used_ns) / 1e9
        if model is None or self._desk.questions or self._spare is not None or self._asleep:
            return
        if self._weigher is not None and idle_s > _IDLE_S and self._weighed_for != self._judging.stamp:
            self._weighed_for = self._judging.stamp
            known = [*self._likely.values(), *outlook.expected_incidents(self.context.settings)]
            incidents = [(facts, self._judging.unheard(facts)) for facts in known]
            pairs = self._weigher.find_missing(incidents, self._judging.texts)
            log.info("notes_weighed_ahead", questions=len(pairs))
            self._spare = self._weigher.weigh(pairs, lambda _: False)
        elif idle_s > self._settings.idle_after_s:
            began = time.perf_counter()
            model.engine.sleep()
            self._asleep = True
            log.info("model_asleep", after_s=round(idle_s), took_ms=round((time.perf_counter() - began) * 1e3, 1))


def _same(verdict: Details, told: Details) -> bool:
    """Whether a verdict says what was told: what to do about it, and on whose word."""
    return all(verdict.get(name) == told.get(name) for name in ("expected", "severity", "action", "note", "because"))
