"""Which language model speaks in a stage, and why none does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import structlog

from models.store import Store
from models.table import load_table
from pipeline.core import files
from pipeline.core.errors import ConfigError, ModelError
from pipeline.core.messages import ModelReported

if TYPE_CHECKING:
    from pathlib import Path

    from models.llm.opening import LanguageModel
    from models.store import Installed
    from pipeline.core.events import AnalysisStatus, Details
    from pipeline.core.settings import DescribeSettings
    from pipeline.core.stage import StageContext

log = structlog.get_logger()

NONE = "none"
"""What the configuration calls no model."""
_ATTEMPTS = 3
"""Deaths in a row, without one answer between them, after which a model is left alone."""


class ChosenModel(NamedTuple):
    """A language model, or why there is none.

    Attributes:
        trial: Told when an answer came.
        model: None: the templates speak.
        reason: Why.
        status: What that makes of an analysis.
        report: For the operator; its time is not set.
    """

    trial: Trial
    model: LanguageModel | None = None
    reason: str = "no_model"
    status: AnalysisStatus = "skipped"
    report: ModelReported | None = None

    def rejected(self, reason: str, name: str) -> ChosenModel:
        """The same without the model of this name, which cannot be used."""
        log.error("model_rejected", of=name, reason=reason)
        report = ModelReported(state="rejected", details={"model": name, "reason": reason})
        return ChosenModel(self.trial, reason=f"model rejected: {reason}", status="failed", report=report)


class Trial:
    """Counts the lives of a stage that ended before its model gave an answer: native code may end the process.

    Args:
        path: What survives a life; None: there is one life only.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._open = False

    def begin(self, lives: int) -> int:
        """Count this life; returns how many before it ended without an answer. A new daemon begins anew."""
        if self._path is None:
            return 0
        try:
            failed = int(files.read_bounded(self._path, 100)) if lives else 0
        except (OSError, ValueError):
            failed = 0
        self._write(failed + 1)
        return failed

    def passed(self) -> None:
        """An answer came."""
        if self._open:
            self._write(0)

    def _write(self, count: int) -> None:
        assert self._path is not None
        self._open = count > 0
        try:
            files.replace(self._path, str(count).encode())
        except OSError as error:
            log.warning("model_trial_not_kept", path=str(self._path), reason=str(error))


def open_chosen_model(context: StageContext) -> ChosenModel:
    """Load the model that the configuration names, or the one in use. A model that cannot be used is told of."""
    settings = context.settings.describe
    voice = ChosenModel(Trial(context.state_dir / "describe.attempts" if context.state_dir else None))
    if context.models_dir is None:
        return voice
    try:
        model = choose_model(Store(context.models_dir), settings.model)
    except ConfigError as error:
        return voice.rejected(str(error), settings.model)
    if model is None:
        return voice
    name = f"{model.name}/{model.version}"
    failed = voice.trial.begin(context.lives)
    if failed >= _ATTEMPTS:
        return voice.rejected(f"the process ended {failed} times before it gave an answer", name)
    try:
        threads = 1 if context.clock.media else settings.threads or context.threads  # a replay's worker has one core
        return _load(voice, model, settings, threads)
    except ModelError as error:
        return voice.rejected(str(error), name)


def choose_model(store: Store, name: str) -> Installed | None:
    """Return the model that speaks; none where the configuration says so. Raises ConfigError: it is not there."""
    return None if name == NONE else store.chosen(name)


def _load(voice: ChosenModel, installed: Installed, settings: DescribeSettings, threads: int) -> ChosenModel:
    from models.llm import opening  # noqa: PLC0415  # 40 MB that only a board with a model needs
    from models.llm.mnn import EngineOptions  # noqa: PLC0415  # the same

    model = opening.open_model(installed.path, EngineOptions(threads, settings.context_tokens))
    details: Details = {
        "model": f"{installed.name}/{installed.version}",
        "sha256": model.sha256,
        "device": "cpu",
        "threads": threads,
        "context_tokens": settings.context_tokens,
        "mapped": model.mapped,
        "load_ms": round(model.load_s * 1e3, 1),
        "finds_notes": load_table().weighs(model.manifest) is not None,
    }
    log.info("model_loaded", **details)
    return voice._replace(model=model, report=ModelReported(state="loaded", details=details))
