"""Open the configured language model in a stage, or find out why there is none."""

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
"""The setting for no model."""
_ATTEMPTS = 3
"""Number of crashes in a row, without an answer in between, after which a model is not used any more."""


class ChosenModel(NamedTuple):
    """A language model, or the reason why there is none.

    Attributes:
        trial: Counts crashes; `record_answer` must be called after an answer.
        model: The model; None: templates write the sentences.
        reason: Why there is no model.
        status: Status of an analysis without the model.
        report: The report for the operator, without its time.
    """

    trial: Trial
    model: LanguageModel | None = None
    reason: str = "no_model"
    status: AnalysisStatus = "skipped"
    report: ModelReported | None = None

    def reject(self, reason: str, name: str) -> ChosenModel:
        """Return a copy without a model, for a model of this name that cannot be used, and log it."""
        log.error("model_rejected", of=name, reason=reason)
        report = ModelReported(state="rejected", details={"model": name, "reason": reason})
        return ChosenModel(self.trial, reason=f"model rejected: {reason}", status="failed", report=report)


class Trial:
    """Counts the crashes of a stage before its model gave an answer, as native code may end the process.

    Args:
        path: File of the count; None: crashes are not counted.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._open = False

    def begin(self, lives: int) -> int:
        """Count this start; return the number of crashes before it; 0 `lives` (restarts) reset the count."""
        if self._path is None:
            return 0
        try:
            failed = int(files.read_bounded(self._path, 100)) if lives else 0
        except (OSError, ValueError):
            failed = 0
        self._write(failed + 1)
        return failed

    def record_answer(self) -> None:
        """Reset the count, as the model gave an answer."""
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
    """Load the configured model, or the one in use; a model that cannot be used is reported in the result."""
    settings = context.settings.describe
    voice = ChosenModel(Trial(context.state_dir / "describe.attempts" if context.state_dir else None))
    if context.models_dir is None:
        return voice
    try:
        model = choose_model(Store(context.models_dir), settings.model)
    except ConfigError as error:
        return voice.reject(str(error), settings.model)
    if model is None:
        return voice
    name = f"{model.name}/{model.version}"
    failed = voice.trial.begin(context.lives)
    if failed >= _ATTEMPTS:
        return voice.reject(f"the process ended {failed} times before it gave an answer", name)
    try:
        threads = 1 if context.clock.media else settings.threads or context.threads  # a replay's worker has one core
        return _load(voice, model, settings, threads)
    except ModelError as error:
        return voice.reject(str(error), name)


def choose_model(store: Store, name: str) -> Installed | None:
    """Return the named model, the one in use if `name` is empty, None for `none`. Raises ConfigError if missing."""
    return None if name == NONE else store.choose(name)


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
        "finds_notes": load_table().find_weighing(model.manifest) is not None,
    }
    log.info("model_loaded", **details)
    return voice._replace(model=model, report=ModelReported(state="loaded", details=details))
