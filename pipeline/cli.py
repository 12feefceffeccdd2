"""The command line: thin commands over the runtime, and views for people."""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from pipeline import early
from pipeline.core.errors import DamagedError, ModelError, PipelineError
from pipeline.core.printing import harmless, printable
from pipeline.resources import config_file
from pipeline.view import completing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.app.replay import Summary
    from pipeline.app.running import Ending
    from pipeline.core.note.notes import Polarity

WHOLE, FAILED, USAGE, DAMAGED, TROUBLE, UNDELIVERED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

_EXITS = """
Exit status: 0 all went well; 1 nothing could be done; 2 wrong usage or configuration; 3 some inputs were damaged,
truncated or unreadable; 4 the doctor found trouble; 5 events could not be delivered; 130 interrupted.
"""

_path = click.Path(path_type=Path, readable=False)  # what may not be read is told of where it is used
_existing = click.Path(path_type=Path, exists=True)
_events = click.Path(path_type=Path)  # it may be away, and others beside it


class _Command(click.Group):
    """Turns our errors into one line and an exit status."""

    def invoke(self, ctx: click.Context) -> object:
        early.unwind()
        _open_streams()
        try:
            return super().invoke(ctx)
        except DamagedError as error:
            _fail(str(error), DAMAGED)
        except ModelError as error:  # damaged, out of reach, or no room: nothing that was written wrongly
            _fail(str(error), FAILED)
        except PipelineError as error:
            _fail(str(error), USAGE)
        except KeyboardInterrupt:
            _fail("interrupted", INTERRUPTED)
        except BrokenPipeError:  # the reader of our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(WHOLE)
        except OSError as error:  # a folder that is not ours, a disk that is full
            _fail(_reason(error), FAILED)
        except MemoryError:
            _fail("there is not memory enough for this: free some, or give it less to read", FAILED)
        except RecursionError:
            _fail("what was given to read has tables in tables without end: name another file", FAILED)


def _print_file(name: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    """An option that prints a file that comes with the package, and ends."""

    def callback(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
        if asked:
            click.echo(config_file(name).read_text(encoding="utf-8"), nl=False)
            ctx.exit()

    return callback


@click.group(cls=_Command, epilog=_EXITS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fieldwatch")
def main() -> None:
    """fieldwatch: what cameras see, as structured events, where there is no network."""


@main.command(epilog=_EXITS)
@click.argument("paths", type=_path, nargs=-1, required=True)
@click.option(
    "--out",
    type=_path,
    help="Folder for events.jsonl, evidence and summary.json. Default: events go to standard output.",
)
@click.option("--config", type=_existing, help="A configuration file; only its settings are used, not its cameras.")
@click.option(
    "--camera",
    default="",
    shell_complete=completing.cameras,
    help="The camera of the configuration whose zones and rules hold for these recordings.",
)
@click.option(
    "--began", help="When the recordings began, e.g. 2026-11-29T08:00:00Z. Default: what each file says, else 1970."
)
@click.option("--jobs", type=click.IntRange(1), help="Recordings replayed at once. Default: the cores there are.")
@click.option(
    "--live", is_flag=True, help="At camera speed through the real processes, as `run` does; may drop frames."
)
@click.option(
    "--heat",
    metavar="BOARD[@AMBIENT]",
    shell_complete=completing.boards,
    help="On a board that warms up, e.g. rk3588@35: fanless_cam, rpi5, rk3588 or phone, in air of so many degrees. "
    "Each recording has a board of its own, as warm as it is without work. With --out, heat.jsonl has a row a second; "
    "the same recordings still give the same bytes.",
)
@click.option("--model", default="", help="The language model, or `none`. Default: as configured, else the one in use.")
@click.option(
    "--state-dir", type=_path, help="Where standing notes and language models are. Default: the user's state folder."
)
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON instead of a table.")
@click.option("--quiet", is_flag=True, help="No progress, no summary.")
def replay(  # noqa: PLR0917  # click calls it by keyword
    paths: tuple[Path, ...],
    out: Path | None,
    config: Path | None,
    camera: str,
    began: str | None,
    jobs: int | None,
    live: bool,
    heat: str | None,
    model: str,
    state_dir: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run recordings (files, or folders in sorted order) through all stages.

    The same recordings give the same events.jsonl, byte for byte, in every run on a machine.
    """
    from pipeline.app import replay as replays
    from pipeline.app.events import Events
    from pipeline.app.site import open_site
    from pipeline.view import screen, timeline
    from pipeline.view.progress import replaying

    site = open_site(config, state_dir, model=model)
    if site.settings.cameras and not camera and not quiet:
        there = " or ".join(site.settings.cameras)
        click.echo(printable(f"zones and rules not used: choose --camera {there}"), err=True)
    recordings = replays.recordings(paths)
    if live:
        if began or jobs or as_json or heat is not None:
            _fail("--live is at the speed of now, and has no summary: not with --began, --heat, --jobs, --json", USAGE)
        if out is None:
            _fail("--live needs --out: the folder for events, evidence and the journal", USAGE)
        from pipeline.app.running import live as send

        sys.exit(_ended(send(site, recordings, out, camera), len(recordings)))
    with _cleared_up(), replays.output_folder(out) as folder:
        with replaying(quiet=quiet) as told:
            done = replays.replay(site, recordings, folder, camera=camera, began=began, jobs=jobs, heat=heat, told=told)
        if out is None and sys.stdout.isatty():  # people look; else programs read
            timeline.show(Events(done.events_file), everything=False, as_json=False)
        elif out is None:
            screen.copy(done.events_file)
        if not quiet:
            screen.show(done, as_json=as_json, stderr=out is None)
    sys.exit(_status(done.summary))


@main.command()
@click.argument("config", type=_existing)
@click.option("--run-dir", type=_path, help="Private folder for sockets. Default: the user's runtime folder.")
@click.option("--state-dir", type=_path, help="Folder for the journal and events. Default: the user's state folder.")
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
)
def run(config: Path, run_dir: Path | None, state_dir: Path | None, log_level: str) -> None:
    """Watch the cameras of CONFIG until told to stop (Ctrl-C or SIGTERM)."""
    from pipeline.app import running
    from pipeline.app.site import open_site

    site = open_site(config, state_dir)
    ending = running.run(site, run_dir, log_level)
    sys.exit(_ended(ending, len(site.settings.cameras)))


class _Events(click.Group):
    """A group whose first word may be left out: `pipeline events FILE` shows it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@main.group(cls=_Events)
def events() -> None:
    """Show a file of events as a timeline, or search it: `pipeline events FILE`, `pipeline events search FILE TEXT`."""


@events.command("search")
@click.argument("file", type=_events)
@click.argument("text", nargs=-1, required=True)
@click.option("--most", type=click.IntRange(1), default=10, show_default=True, help="So many incidents.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def events_search(file: Path, text: tuple[str, ...], most: int, as_json: bool) -> None:
    """Rank the incidents of FILE by how well TEXT fits their pictures: kinds of things and scenes, no colours."""
    from pipeline.app.search import search
    from pipeline.view import searching

    found = search(file, " ".join(text))
    searching.show(found, most, as_json=as_json)
    sys.exit(DAMAGED if found.damaged else WHOLE)


@events.command("show")
@click.argument("file", type=_events)
@click.option("--camera", default="", help="Only events of this camera.")
@click.option("--type", "kind", default="", help="Only types that contain this text, e.g. incident or camera.lost.")
@click.option("--all", "everything", is_flag=True, help="Every event as a row, instead of one row an incident.")
@click.option("--json", "as_json", is_flag=True, help="The chosen events as JSON Lines.")
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_file("event.schema.json"),
    help="Print the JSON Schema of an event, and nothing else.",
)
def events_show(file: Path, camera: str, kind: str, everything: bool, as_json: bool) -> None:
    """Show events as a timeline: those of FILE, or of a folder, and of the files put away beside it."""
    from pipeline.app.events import Events
    from pipeline.view import timeline

    found = Events(file, camera, kind)
    timeline.show(found, everything=everything, as_json=as_json)
    sys.exit(DAMAGED if found.damaged else WHOLE)


@main.command()
@click.argument("config", type=_existing)
@click.option("--json", "as_json", is_flag=True, help="The whole configuration with its defaults as JSON.")
@click.option(
    "--example",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_file("pipeline.toml"),
    help="Print every key with its default and a comment, and nothing else.",
)
def check(config: Path, as_json: bool) -> None:
    """Validate a configuration: every unknown key with file, line and the nearest known one."""
    from pipeline.app import check
    from pipeline.app.site import open_site
    from pipeline.view import configuration

    configuration.show(check.check(open_site(config, None), config), as_json=as_json)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="The two tables as JSON.")
@click.option("--mermaid", is_flag=True, help="Only the diagram.")
def topology(as_json: bool, mermaid: bool) -> None:
    """Print the stages, the links and a diagram of both."""
    from pipeline.view import tables

    tables.show(as_json=as_json, mermaid=mermaid)


@main.command()
@click.argument("link", shell_complete=completing.links)
@click.option("--run-dir", type=_path, help="The daemon's runtime folder.")
@click.option("--count", type=click.IntRange(1), help="Stop after so many messages.")
@click.option("--timeout", type=float, help="Stop after so many seconds without a message.")
def tap(link: str, run_dir: Path | None, count: int | None, timeout: float | None) -> None:
    """Show what passes on LINK of a running daemon, without disturbing it."""
    from pipeline.app.tapping import tapped
    from pipeline.view import tapping

    tapping.show(tapped(link, run_dir, timeout), count)


@main.command()
@click.option("--run-dir", type=_path, help="The daemon's runtime folder.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--watch", is_flag=True, help="Again every second, until interrupted.")
def status(run_dir: Path | None, as_json: bool, watch: bool) -> None:
    """Show heat, load, and what every process of a running daemon is doing."""
    from pipeline.app import status
    from pipeline.view import status as view

    if as_json and watch:
        _fail("--json is one answer: not with --watch", USAGE)
    if watch:
        view.watch(lambda: status.status(run_dir))
    else:
        view.show(status.status(run_dir), as_json=as_json)


@main.command(epilog=_EXITS)
@click.argument("config", type=_existing, required=False)
@click.option("--state-dir", type=_path, help="The daemon's state folder. Default: as configured, else the user's.")
@click.option("--sysfs", type=_existing, help="Another tree than /sys, such as a copy of another board's.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def doctor(config: Path | None, state_dir: Path | None, sysfs: Path | None, as_json: bool) -> None:
    """Look at this device: what helps the daemon of CONFIG, what is in its way, and what to do about it.

    Cores and who computes on which, limits, memory and its speed, disk, heat, clocks, energy, encoder, language model.
    Changes nothing. Exit status 4: a line says trouble.
    """
    from pipeline.app.doctor import examine
    from pipeline.app.site import open_site
    from pipeline.view import doctor as view

    with _cleared_up():
        report = examine(open_site(config, state_dir), sysfs)
    view.show(report, as_json=as_json)
    sys.exit(TROUBLE if report.troubles else WHOLE)


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script.

    For bash: eval "$(pipeline completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "pipeline", "_PIPELINE_COMPLETE").source())


_state_dir = click.option("--state-dir", type=_path, help="The daemon's state folder. Default: the user's.")
_config = click.option(
    "--config", type=_existing, help="A configuration file: its zones, and its rule table if it has one."
)
_as_json = click.option("--json", "as_json", is_flag=True, help="As JSON.")
_recipe = click.option("--recipe", default="", help="How weights are stored; `pipeline models list` names the recipes.")
_lora = click.option("--lora", type=_existing, help="An adapter (.safetensors, as PEFT saves it) to merge.")
_again = click.option("--force", is_flag=True, help="Convert even if the same conversion is there.")
_quiet = click.option("--quiet", is_flag=True, help="No progress.")


@main.command(epilog=_EXITS)
@click.argument("events", type=_events)
@click.option(
    "--since",
    default="12h",
    show_default=True,
    help="2026-11-29T22:00, 22:00 (the last time it was), or a span: 90min, 8h, 2d.",
)
@click.option("--until", default="", help="The same. Default: now; of recordings, their last event.")
@click.option("--camera", default="", help="Only what this camera saw, and what the device has to say.")
@click.option("--model", default="", help="The language model, or `none`. Default: as configured, else the one in use.")
@_config
@_state_dir
@_as_json
def digest(  # noqa: PLR0917  # click calls it by keyword
    events: Path,
    since: str,
    until: str,
    camera: str,
    model: str,
    config: Path | None,
    state_dir: Path | None,
    as_json: bool,
) -> None:
    """Tell a period of the file EVENTS in a few sentences, the loudest first, with the incidents behind each.

    Files that were put away beside it are read too; one of those by name is read alone.
    Times are the site's: of the configuration's time zone, else as the events themselves tell it.
    """
    from pipeline.app.digest import digest as tell
    from pipeline.app.site import open_site
    from pipeline.view import digest as view

    with _cleared_up():
        found = tell(open_site(config, state_dir, model=model), events, since, until, camera)
    view.show(found, as_json=as_json)
    sys.exit(DAMAGED if found.damaged else WHOLE)


@main.group()
def models() -> None:
    """Language models: fetch, convert, check, and choose the one in use.

    They lie in the state folder, each version in a folder of its own with a manifest of hashes.
    """


@models.command("list")
@_state_dir
@_as_json
def models_list(state_dir: Path | None, as_json: bool) -> None:
    """Show which models are installed, which can be pulled, and the recipes."""
    from pipeline.app import models
    from pipeline.app.site import open_site
    from pipeline.view import models as view

    view.show(models.listing(open_site(None, state_dir)), as_json=as_json)


@models.command("pull")
@click.argument("name")
@click.option("--hub", envvar="FIELDWATCH_HUB", default="", help="Address of a model hub, for models that are on one.")
@click.option("--sha256", default="", help="The hash that the fetched file must have, instead of the known one.")
@click.option("--keep", is_flag=True, help="Keep the fetched file, for other recipes and adapters.")
@_recipe
@_lora
@_again
@_state_dir
@_as_json
@_quiet
def models_pull(  # noqa: PLR0917  # click calls it by keyword
    name: str,
    hub: str,
    sha256: str,
    keep: bool,
    recipe: str,
    lora: Path | None,
    force: bool,
    state_dir: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fetch the model NAME and convert it. Interrupted, it goes on where it stopped."""
    from pipeline.app import models
    from pipeline.app.site import open_site
    from pipeline.view import models as view
    from pipeline.view.progress import fetching

    wish = models.wish(recipe, lora, again=force)
    with _cleared_up(), fetching(quiet=quiet) as told:
        found = models.pull(open_site(None, state_dir), name, wish, hub=hub, sha256=sha256, keep=keep, told=told)
    view.show_made(found, as_json=as_json)


def _keep(_: click.Context, __: click.Parameter, text: str) -> tuple[str, ...]:
    """One number, or names between commas."""
    return tuple(sorted({word for word in (part.strip() for part in text.split(",")) if word}))


class _Colour(click.ParamType):  # type: ignore[type-arg]  # it takes one in newer versions only
    """One number of three."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read one. Raises click.BadParameter, which says that three are needed."""
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is no number: it takes three, with spaces between, such as 127 127 127", param, ctx)


def _of_encoders(command: Callable[..., None]) -> Callable[..., None]:
    """The options of `models convert` that are for encoders; they come to it as one dictionary."""
    options = (
        click.option("--soc", default="", help="Of qnn: the chip, as `soc_model` has it, e.g. 43 for SM8550."),
        click.option(
            "--calibration",
            default="",
            metavar="FOLDER",
            help="Pictures of what the cameras see (.jpg, .png), for 8 bit; or `probes`: drawn ones, for trying out.",
        ),
        click.option("--int8", "eight_bit", is_flag=True, help="Of openvino and generic: quantise. qnn always is."),
        click.option("--layout", type=click.Choice(["nchw", "nhwc"]), help="Of its input. Default: as configured."),
        click.option(
            "--mean",
            type=_Colour(),
            nargs=3,
            metavar="R G B",
            help="Three numbers, 0..255: taken away. Default: as configured.",
        ),
        click.option(
            "--deviation",
            type=_Colour(),
            nargs=3,
            metavar="R G B",
            help="Three numbers: then divided by. Default: as configured.",
        ),
        click.option("--scan", is_flag=True, help="Show what quantising each layer costs; without --keep, that alone."),
        click.option(
            "--keep",
            default="",
            callback=_keep,
            help="Layers to leave in higher precision: names between commas, or how many a scan may choose. Layers "
            "beside those that share their numbers go with them.",
        ),
        click.option(
            "--min-cosine",
            "least",
            type=click.FloatRange(0, 1),
            default=0.98,
            show_default=True,
            help="Of answers behind each pass with the model's own; below, it is refused.",
        ),
        click.option("--out", type=_path, help="Folder for the new folder. Default: encoders, below the state folder."),
        click.option("--config", type=_existing, help="A configuration file: its [encode] says how pictures are read."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@models.command("convert", epilog=_EXITS)
@click.argument("file", metavar="MODEL", shell_complete=completing.files_or_encoders)
@click.option("--target", default="", shell_complete=completing.targets, help="qnn, openvino, rknn or generic.")
@click.option("--name", default="", help="Of a GGUF file: what to call it. Default: the file's name.")
@_recipe
@_lora
@_again
@_of_encoders
@_state_dir
@_as_json
@_quiet
def models_convert(  # noqa: PLR0917  # click calls it by keyword
    file: str,
    target: str,
    name: str,
    recipe: str,
    lora: Path | None,
    force: bool,
    state_dir: Path | None,
    as_json: bool,
    quiet: bool,
    **encoder: Any,
) -> None:
    """Convert a GGUF file of your own, or with --target an encoder for an accelerator.

    A GGUF file becomes a language model; its size must be one of those that there are graphs for.

    An encoder, an ONNX file or one that comes with the package, becomes a folder with a manifest, for encode.artefact:
    operations that the accelerator lacks are replaced (GELU), it is quantised with ranges from pictures, and compiled
    where there is a compiler. Behind every pass its answers are compared with the model's own. For rknn this writes the
    ONNX file that rknn-toolkit2 takes; the toolkit itself, which makes the .rknn of it, is not part of this.
    """
    from pipeline.app.site import open_site

    if target:
        if name or recipe or lora:
            _fail("--name, --recipe and --lora are for language models: leave them, or leave --target", USAGE)
        from pipeline.app import convert
        from pipeline.view import converting
        from pipeline.view.progress import steps

        site, out = open_site(encoder.pop("config"), state_dir), encoder.pop("out")
        out = out or convert.folder_of(site)
        with _cleared_up(), steps(quiet=quiet) as told:
            done = convert.convert(convert.job_of(site, file, target, encoder), out, again=force, told=told)
        converting.show(done, as_json=as_json)
        return
    context = click.get_current_context()
    given = [key for key in encoder if context.get_parameter_source(key) is not ParameterSource.DEFAULT]
    if given or file.endswith(".onnx"):
        _fail("name an encoder's accelerator: --target qnn, openvino, rknn or generic", USAGE)
    if not Path(file).exists():
        _fail(f"{file}: no such file; for an encoder that comes with the package say --target", USAGE)
    from pipeline.app import models
    from pipeline.view import models as view
    from pipeline.view.progress import fetching

    wish = models.wish(recipe, lora, again=force)
    with _cleared_up(), fetching(quiet=quiet) as told:
        found = models.convert(open_site(None, state_dir), Path(file), name, wish, told)
    view.show_made(found, as_json=as_json)


@models.command("verify")
@click.argument("name", default="")
@_state_dir
@_as_json
def models_verify(name: str, state_dir: Path | None, as_json: bool) -> None:
    """Read the files of the model NAME, or NAME/VERSION, or of all, and compare their hashes."""
    from pipeline.app import models
    from pipeline.app.site import open_site
    from pipeline.view import models as view

    found = models.verify(open_site(None, state_dir), name)
    view.show_checked(found, as_json=as_json)
    sys.exit(DAMAGED if any(one.problems for one in found) else WHOLE)


@models.command("use")
@click.argument("name", shell_complete=completing.models)
@_state_dir
@_as_json
def models_use(name: str, state_dir: Path | None, as_json: bool) -> None:
    """Try the model NAME, or NAME/VERSION, out; if it answers, the daemon uses it from its next start."""
    from pipeline.app import models
    from pipeline.app.site import open_site
    from pipeline.view import models as view

    with _cleared_up():
        used = models.use(open_site(None, state_dir), name)
    view.show_used(used, as_json=as_json)


@models.command("backends")
@_as_json
def models_backends(as_json: bool) -> None:
    """Show what can run the encoder: which back ends are installed, which can be used here, and why others cannot."""
    from pipeline.app import encoders
    from pipeline.view import encoders as view

    view.show_backends(encoders.back_ends(), as_json=as_json)


def _options(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """KEY=VALUE, any number of times."""
    pairs = [text.partition("=") for text in texts]
    if wrong := [key for key, sign, _ in pairs if not sign]:
        raise click.BadParameter(f"write KEY=VALUE, e.g. soc_model=43, not {wrong[0]}")
    return {key: value for key, _, value in pairs}


@models.command("offload-report")
@click.argument("model")
@click.option("--backend", default="", help="Which; `pipeline models backends` lists them. Default: as configured.")
@click.option("--option", "options", multiple=True, callback=_options, help="The back end's own: KEY=VALUE.")
@_config
@_as_json
def models_offload_report(
    model: str, backend: str, options: dict[str, str], config: Path | None, as_json: bool
) -> None:
    """Show what an accelerator makes of MODEL, an ONNX file or a bundled model.

    Nodes and time on each device, what stays on the CPU and why, how similar the answers are, and the first node that
    is wrong. Exit status 1: it is not what the configuration asks for.
    """
    from pipeline.app import encoders
    from pipeline.app.site import open_site
    from pipeline.view import encoders as view

    with _cleared_up():
        found = encoders.offloaded(open_site(config, None), model, backend, options)
    view.show_offload(found, as_json=as_json)
    sys.exit(WHOLE if found.accepted else FAILED)


@main.group("eval")
def evaluate() -> None:
    """How well verdicts are made, and how well a language model does its work, on incidents with known facts."""


@evaluate.command("summaries")
@click.argument("name", default="")
@click.option("--set", "path", type=_existing, help="Incidents of your own: JSON lines with `id` and `facts`.")
@click.option("--free", is_flag=True, help="Without the grammar of facts: what it keeps from being said.")
@click.option("--threads", type=click.IntRange(1), help="Compute threads. Default: as the daemon has it here.")
@_state_dir
@_as_json
@_quiet
def eval_summaries(  # noqa: PLR0917  # click calls it by keyword
    name: str, path: Path | None, free: bool, threads: int | None, state_dir: Path | None, as_json: bool, quiet: bool
) -> None:
    """Let the model NAME, or the one in use, tell incidents; count which sentences may be shown."""
    from pipeline.app.site import open_site
    from pipeline.app.summaries import summaries
    from pipeline.core.settings import DescribeSettings
    from pipeline.view import summaries as view
    from pipeline.view.progress import counting

    settings = DescribeSettings(model=name, threads=threads or 0)
    store = open_site(None, state_dir).models
    with counting("telling", quiet=quiet) as told:
        found = summaries(store, settings, path, free=free, told=told)
    view.show(found, as_json=as_json)


def _numbers(_: click.Context, __: click.Parameter, text: str) -> tuple[int, ...]:
    """Numbers of threads, between commas; without any: one, all cores but one, all."""
    cores = len(os.sched_getaffinity(0))
    if not text:
        return tuple(sorted({1, max(1, cores - 1), cores}))
    try:
        found = tuple(dict.fromkeys(int(number) for number in text.split(",")))
    except ValueError as error:
        raise click.BadParameter("write numbers between commas, e.g. 1,2") from error
    if not all(1 <= number <= cores for number in found):
        raise click.BadParameter(f"this device has {cores} cores: choose from 1 to {cores}")
    return found


@main.group()
def bench() -> None:
    """Measure what this device does."""


@bench.command("llm", epilog=_EXITS)
@click.argument("model", default="")
@_state_dir
@click.option("--threads", default="", callback=_numbers, help="E.g. 1,2. Default: one, all cores but one, all.")
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True, help="Of which medians are told.")
@click.option(
    "--out",
    type=_path,
    help="Folder for baseline.json and baseline.md. Default: baselines/NAME/VERSION below the state.",
)
@_as_json
@_quiet
def bench_llm(  # noqa: PLR0917  # click calls it by keyword
    model: str,
    state_dir: Path | None,
    threads: tuple[int, ...],
    rounds: int,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure the language model MODEL, NAME or NAME/VERSION; by default the one in use.

    Time to the first token, steady decoding, a sentence, loading, memory, and how much of the memory's bandwidth is
    used; every number of threads in processes of its own. What was measured before on this device is compared with.
    """
    from pipeline.app import bench
    from pipeline.app.site import open_site
    from pipeline.view import bench as view
    from pipeline.view.progress import measuring

    with _cleared_up(), measuring(quiet=quiet) as told:
        found = bench.measure(open_site(None, state_dir), model, out, threads=threads, rounds=rounds, told=told)
    view.show(found, as_json=as_json)


@evaluate.command("verdicts")
@click.option(
    "--set", "path", type=_existing, help="Incidents of your own; the format is in tests/eval/verdicts/README.md."
)
@click.option(
    "--compile", "compile_", is_flag=True, help="Read the notes anew, instead of taking the confirmed readings."
)
@click.option("--no-encoder", is_flag=True, help="Without the sentence encoder.")
@click.option("--model", default="", help="A language model, or none. Default: the one in use, if there is one.")
@_state_dir
@_config
@_as_json
@_quiet
def eval_verdicts(  # noqa: PLR0917  # click calls it by keyword
    path: Path | None,
    compile_: bool,
    no_encoder: bool,
    model: str,
    state_dir: Path | None,
    config: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Judge incidents by rules and standing notes; count which verdicts are as people labelled them."""
    from pipeline.app import asking, verdicts
    from pipeline.app.site import open_site
    from pipeline.view import verdicts as view
    from pipeline.view.progress import counting

    means = asking.means(open_site(config, state_dir), model, encoder=not no_encoder)
    with counting("weighing", quiet=quiet) as told:
        found = verdicts.evaluate(path, means, compile_=compile_, told=told)
    view.show(found, as_json=as_json)


@main.group()
def notes() -> None:
    """Standing notes: what is in order here and what is not, in plain words.

    A note is read when it is added; the reading is shown and confirmed. Notes lie in the state folder.
    """


@notes.command("add")
@click.argument("text")
@click.option("--camera", default="", help="The only camera it holds for. Default: all.")
@click.option(
    "--polarity",
    type=click.Choice(["allow", "forbid", "except", "dual"]),
    help="What it says, if it is read wrongly, or does not say so outright.",
)
@click.option(
    "--yes", is_flag=True, help="Add it without being asked, for scripts: what was not said is not confirmed."
)
@_config
@_state_dir
@_as_json
def notes_add(  # noqa: PLR0917  # click calls it by keyword
    text: str,
    camera: str,
    polarity: Polarity | None,
    yes: bool,
    config: Path | None,
    state_dir: Path | None,
    as_json: bool,
) -> None:
    """Add the note TEXT, a sentence or two in English or Chinese, after showing what was read of it."""
    from pipeline.app import notes
    from pipeline.app.site import open_site
    from pipeline.view import notes as view

    site = open_site(config, state_dir)
    proposal = notes.propose(site, text, camera, polarity)
    view.print_reading(proposal)
    if not yes:
        _confirm()
        proposal = notes.confirm(proposal)
    view.print_added(notes.add(site, proposal), proposal.findings, as_json=as_json)


@notes.command("list")
@_state_dir
@_as_json
def notes_list(state_dir: Path | None, as_json: bool) -> None:
    """Show every note with what was read of it."""
    from pipeline.app import notes
    from pipeline.app.site import open_site
    from pipeline.view import notes as view

    view.print_list(notes.notes(open_site(None, state_dir)), as_json=as_json)


@notes.command("check")
@click.argument("file", type=_events)
@click.option("--camera", default="", help="Whose notes hold for all of them, as with `pipeline replay --camera`.")
@click.option("--no-encoder", is_flag=True, help="Without the sentence encoder.")
@click.option("--model", default="", help="A language model, or none. Default: the one in use, if there is one.")
@_config
@_state_dir
@_as_json
@_quiet
def notes_check(  # noqa: PLR0917  # click calls it by keyword
    file: Path,
    camera: str,
    no_encoder: bool,
    model: str,
    config: Path | None,
    state_dir: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show what each note would have done to the incidents of FILE: events.jsonl, or JSON lines with `facts`."""
    from pipeline.app.effect import effect
    from pipeline.app.site import open_site
    from pipeline.view import notes as view
    from pipeline.view.progress import counting

    with counting("weighing", quiet=quiet) as told:
        found = effect(open_site(config, state_dir), file, camera, model, encoder=not no_encoder, told=told)
    view.print_effect(found, as_json=as_json)
    sys.exit(DAMAGED if found.damaged else WHOLE)


@notes.command("remove")
@click.argument("identifiers", metavar="ID...", nargs=-1, required=True, shell_complete=completing.notes)
@_state_dir
@_as_json
def notes_remove(identifiers: tuple[str, ...], state_dir: Path | None, as_json: bool) -> None:
    """Forget the notes ID, such as n3; all of them or, where one is not there, none."""
    from pipeline.app import notes
    from pipeline.app.site import open_site
    from pipeline.view import notes as view

    notes.remove(open_site(None, state_dir), identifiers)
    view.print_removed(identifiers, as_json=as_json)


def _confirm() -> None:
    """Ask whether a reading is right; without a terminal nobody could say so."""
    if not sys.stdin.isatty():
        _fail("nobody is there to confirm the reading: look at it, then say --yes", USAGE)
    if not click.confirm("Is this what you mean?", err=True):
        _fail("not added: put it in other words, or say --polarity", FAILED)


@contextmanager
def _cleared_up() -> Iterator[None]:
    """Whoever ends us from outside (`timeout`, a service manager, a terminal that closes) leaves nothing behind."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # nohup
            signal.signal(number, early.leave)  # `timeout` says it twice
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _status(summary: Summary) -> int:
    states = {one.status for one in summary.inputs}
    if states == {"whole"}:
        return WHOLE
    return DAMAGED if states & {"whole", "damaged", "truncated"} else FAILED


def _ended(ending: Ending, cameras: int) -> int:
    """Say what was not delivered, and how it ended: of some cameras, or of all, no picture ever came."""
    for sink, count in ending.left.items():
        waits = f"{count} events wait for {sink}, which does not take them (is the disk full?)"
        click.echo(f"pipeline: {waits}: they are kept, and the next start delivers them", err=True)
    if ending.given_up:
        click.echo(f"pipeline: {ending.given_up} events are lost: the disk had no room for them", err=True)
    if ending.left or ending.given_up:
        return UNDELIVERED
    if not ending.blind:
        return WHOLE
    return FAILED if len(ending.blind) == cameras else DAMAGED


def _open_streams() -> None:
    """Give a standard stream that was closed to the null device: else the next file would be taken for it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in the order of their numbers
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # until the process ends
        elif mode == "w" and isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a letter is no reason to show nothing


def _fail(text: str, status: int) -> NoReturn:
    click.echo(f"pipeline: {harmless(text)}", err=True)
    sys.exit(status)


def _reason(error: OSError) -> str:
    """One line of what the system refused."""
    reason = str(error.strerror or error)
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else error.filename
    return f"{name}: {reason}" if name is not None else reason
