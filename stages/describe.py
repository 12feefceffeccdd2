"""Describe: from facts to what an operator reads. The template at once, the model's sentence when it is written."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import structlog
from msgspec import UNSET

from pipeline.core import templates
from pipeline.core.errors import EngineError
from pipeline.core.events import Model, Tokens
from pipeline.core.messages import DescriptionWanted, IncidentDescribed, Ticked
from pipeline.core.stage import Stage
from stages import language
from stages.judging import Judging
from stages.summaries import Summariser

if TYPE_CHECKING:
    from collections.abc import Generator

    from models.llm.opening import LanguageModel
    from pipeline.core.events import Analysis, AnalysisStatus
    from pipeline.core.messages import AnyMessage
    from pipeline.core.stage import Outputs, StageContext
    from pipeline.core.vocabulary import IncidentId
    from stages.summaries import Summary

log = structlog.get_logger()

_WAITING_MOST = 32  # incidents that wait for a sentence; the least urgent beyond them keep the template


@dataclass
class _Job:
    """A sentence to be written.

    Attributes:
        wanted: The question.
        since_ns: When it came, on the live timeline.
        until_ns: When it must be answered; None: whenever.
        writing: The sentence in the making; None: not begun, or put aside for a more urgent one.
    """

    wanted: DescriptionWanted
    since_ns: int
    until_ns: int | None
    writing: Generator[None, None, Summary] | None = None

    @property
    def urgency(self) -> tuple[int, bool, int]:
        """Lower is sooner: by priority, what ends an incident first, the oldest first."""
        return self.wanted.priority, not self.wanted.final, self.since_ns


class Describe(Stage):
    """Answers every question once with a template where that must be at once, and with a sentence when there is one."""

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self._settings = context.settings.describe
        self._jobs: dict[IncidentId, _Job] = {}
        self._voice = language.Voice(language.Trial(None))
        self._used_ns = 0
        self._asleep = False

    def warm_up(self) -> None:
        """Read the rule table and the standing notes."""
        self._judging = Judging(self.context)

    def begin(self) -> Outputs:
        """Load the model, which nobody waits for; tell which one speaks, or why none does."""
        self._voice = language.open_voice(self.context)
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
        if self._voice.model is None:
            yield self._answer(message, templates.describe(message.facts, self._voice.reason, self._voice.status))
            return
        now = self.context.clock.now()[0]
        until = None if message.within_s is None else now + round(message.within_s * 1e9)
        self._jobs[message.incident] = _Job(message, now, until)
        if not message.final:
            yield self._answer(message, templates.describe(message.facts, "a sentence is being written", "pending"))
        if len(self._jobs) > _WAITING_MOST:
            yield self._given_up(max(self._jobs.values(), key=lambda job: job.urgency), "skipped", "too many incidents")

    def pending(self) -> bool:
        """Whether a sentence waits to be written."""
        return bool(self._jobs)

    def step(self) -> Outputs:
        """Go on with the most urgent sentence, by one forward; what another had begun is put aside."""
        now = self.context.clock.now()[0]
        for job in [job for job in self._jobs.values() if job.until_ns is not None and job.until_ns <= now]:
            yield self._given_up(job, "timeout", "the sentence was not written in time")
        if not self._jobs:
            return
        chosen = min(self._jobs.values(), key=lambda job: job.urgency)
        for job in self._jobs.values():
            if job is not chosen:
                job.writing = None
        self._used_ns, self._asleep = now, False
        try:
            chosen.writing = chosen.writing or self._summariser.write(chosen.wanted.facts)
            next(chosen.writing)
        except StopIteration as ended:
            yield self._finished(chosen, ended.value)
        except EngineError as error:
            yield self._given_up(chosen, "failed", str(error))

    def close(self) -> None:
        """Give the model's memory back."""
        if self._voice.model is not None:
            self._voice.model.engine.close()

    def _learn(self, model: LanguageModel) -> None:
        """Read what is the same in every prompt."""
        self._summariser = Summariser(model, self._settings.summary_most_tokens)
        self._told = Model(name=model.name, version=model.version, sha256=model.sha256, device="cpu")

    def _finished(self, job: _Job, summary: Summary) -> IncidentDescribed:
        """The sentence where it says nothing but the facts, else the template with what was wrong."""
        self._voice.trial.passed()
        written = summary.written
        if written.cached != self._summariser.fixed:
            self.reread += 1
            log.warning("prompt_read_again", cached=written.cached, fixed=self._summariser.fixed)
        analysis = templates.describe(job.wanted.facts, f"the sentence was dropped: {summary.fault}", "invalid")
        if not summary.fault:
            analysis = msgspec.structs.replace(analysis, status="ok", reason=UNSET, summary=summary.text)
        analysis = msgspec.structs.replace(
            analysis,
            schema_valid=written.complete,
            model=self._told,
            tokens=Tokens(prompt=written.prompt, cached=written.cached, output=written.output),
        )
        if not self.context.clock.media:
            measured = {"ttft_ms": round(written.ttft_ms, 1), "decode_tok_s": round(written.decode_tok_s, 1)}
            analysis = msgspec.structs.replace(analysis, **measured)
        return self._done(job, analysis)

    def _given_up(self, job: _Job, status: AnalysisStatus, reason: str) -> IncidentDescribed:
        return self._done(job, templates.describe(job.wanted.facts, reason, status))

    def _done(self, job: _Job, analysis: Analysis) -> IncidentDescribed:
        del self._jobs[job.wanted.incident]
        return msgspec.structs.replace(self._answer(job.wanted, analysis), hops=job.wanted.hops)

    def _answer(self, wanted: DescriptionWanted, analysis: Analysis) -> IncidentDescribed:
        """With the verdict, which never waits for a sentence."""
        judged = msgspec.structs.replace(analysis, fields=self._judging.fields(wanted.facts))
        return IncidentDescribed(incident=wanted.incident, revision=wanted.revision, analysis=judged)

    def _rest(self, now_ns: int) -> None:
        """Put the model to sleep when nobody has asked for it for a while."""
        model = self._voice.model
        idle_s = (now_ns - self._used_ns) / 1e9
        if model is not None and not self._jobs and not self._asleep and idle_s > self._settings.idle_after_s:
            began = time.perf_counter()
            model.engine.sleep()
            self._asleep = True
            log.info("model_asleep", after_s=round(idle_s), took_ms=round((time.perf_counter() - began) * 1e3, 1))
