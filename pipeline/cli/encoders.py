"""Commands for encoders; they are among those of `pipeline models`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import options
from pipeline.cli.exits import FAILED, WHOLE, clean_up_on_signal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.app.site import Site


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


_CONVERSION = (
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
    click.option(
        "--out", type=options.PATH, help="Folder for the new folder. Default: encoders, below the state folder."
    ),
    click.option(
        "--config", type=options.EXISTING, help="A configuration file: its [encode] says how pictures are read."
    ),
)


def conversion(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of conversions of encoders; they come to it as one dictionary."""
    for option in reversed(_CONVERSION):
        command = option(command)
    return command


def convert(
    site: Site, file: str, target: str, given: dict[str, Any], *, again: bool, as_json: bool, quiet: bool
) -> None:
    """Convert an encoder for an accelerator; `given` are the options of `conversion`, without `config`."""
    from pipeline.app import convert
    from pipeline.view import converting
    from pipeline.view.progress import show_steps

    out = given.pop("out") or convert.artefact_folder(site)
    with clean_up_on_signal(), show_steps(quiet=quiet) as report:
        found = convert.convert(convert.make_job(site, file, target, given), out, again=again, report=report)
    converting.show(found, as_json=as_json)


@click.command("backends")
@options.as_json
def backends(as_json: bool) -> None:
    """Show what can run the encoder: which back ends are installed, which can be used here, and why others cannot."""
    from pipeline.app import encoders
    from pipeline.view import encoders as view

    view.show_backends(encoders.list_back_ends(), as_json=as_json)


def _options(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """KEY=VALUE, any number of times."""
    pairs = [text.partition("=") for text in texts]
    if wrong := [key for key, sign, _ in pairs if not sign]:
        raise click.BadParameter(f"write KEY=VALUE, e.g. soc_model=43, not {wrong[0]}")
    return {key: value for key, _, value in pairs}


@click.command("offload-report")
@click.argument("model")
@click.option("--backend", default="", help="Which; `pipeline models backends` lists them. Default: as configured.")
@click.option("--option", "options", multiple=True, callback=_options, help="The back end's own: KEY=VALUE.")
@options.config
@options.as_json
def offload_report(model: str, backend: str, options: dict[str, str], config: Path | None, as_json: bool) -> None:
    """Show what an accelerator makes of MODEL, an ONNX file or a bundled model.

    Nodes and time on each device, what stays on the CPU and why, how similar the answers are, and the first node that
    is wrong. Exit status 1: it is not what the configuration asks for.
    """
    from pipeline.app import encoders
    from pipeline.app.site import Site
    from pipeline.view import encoders as view

    with clean_up_on_signal():
        found = encoders.report_offload(Site(config, None), model, backend, options)
    view.show_offload(found, as_json=as_json)
    sys.exit(WHOLE if found.accepted else FAILED)
