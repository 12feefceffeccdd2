"""Commands for language models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from pipeline.cli import completing, encoders, options
from pipeline.cli.exits import DAMAGED, EXITS, USAGE, WHOLE, clean_up_on_signal, fail


@click.group()
def models() -> None:
    """Language models: fetch, convert, check, and choose the one in use; encoders: convert, and see what runs them.

    Language models lie in the state folder, each version in a folder of its own with a manifest of hashes.
    """


@models.command("list")
@options.folder_config
@options.state_dir
@options.as_json
def models_list(config: Path | None, state_dir: Path | None, as_json: bool) -> None:
    """Show which models are installed, which can be pulled, and the recipes."""
    from pipeline.app import models
    from pipeline.app.site import Site
    from pipeline.view import models as view

    view.show(models.list_models(Site(config, state_dir)), as_json=as_json)


@models.command("pull")
@click.argument("name")
@click.option("--hub", envvar="FIELDWATCH_HUB", default="", help="Address of a model hub, for models that are on one.")
@click.option("--sha256", default="", help="The hash that the fetched file must have, instead of the known one.")
@click.option("--keep", is_flag=True, help="Keep the fetched file, for other recipes and adapters.")
@options.recipe
@options.lora
@options.again
@options.folder_config
@options.state_dir
@options.as_json
@options.quiet
def models_pull(  # noqa: PLR0917  # click calls it by keyword
    name: str,
    hub: str,
    sha256: str,
    keep: bool,
    recipe: str,
    lora: Path | None,
    force: bool,
    config: Path | None,
    state_dir: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fetch the model NAME and convert it. Interrupted, it goes on where it stopped."""
    from pipeline.app import models
    from pipeline.app.site import Site
    from pipeline.view import models as view
    from pipeline.view.progress import show_fetch

    conversion = models.conversion_options(recipe, lora, again=force)
    with clean_up_on_signal(), show_fetch(quiet=quiet) as report:
        found = models.pull(Site(config, state_dir), name, conversion, hub=hub, sha256=sha256, keep=keep, report=report)
    view.show_made(found, as_json=as_json)


@models.command("convert", epilog=EXITS)
@click.argument("file", metavar="MODEL", shell_complete=completing.complete_files_or_encoders)
@click.option(
    "--target", default="", shell_complete=completing.complete_targets, help="qnn, openvino, rknn or generic."
)
@click.option("--name", default="", help="Of a GGUF file: what to call it. Default: the file's name.")
@options.recipe
@options.lora
@options.again
@encoders.conversion
@options.state_dir
@options.as_json
@options.quiet
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
    from pipeline.app import models
    from pipeline.app.site import Site
    from pipeline.view import models as view
    from pipeline.view.progress import show_fetch

    config = encoder.pop("config")
    if target:
        if name or recipe or lora:
            fail("--name, --recipe and --lora are for language models: leave them, or leave --target", USAGE)
        site = Site(config, state_dir)
        encoders.convert(site, file, target, encoder, again=force, as_json=as_json, quiet=quiet)
        return
    context = click.get_current_context()
    given = [key for key in encoder if context.get_parameter_source(key) is not ParameterSource.DEFAULT]
    if given or file.endswith(".onnx"):
        fail("name an encoder's accelerator: --target qnn, openvino, rknn or generic", USAGE)
    if not Path(file).exists():
        fail(f"{file}: no such file; for an encoder that comes with the package say --target", USAGE)
    conversion = models.conversion_options(recipe, lora, again=force)
    with clean_up_on_signal(), show_fetch(quiet=quiet) as report:
        found = models.convert(Site(config, state_dir), Path(file), name, conversion, report)
    view.show_made(found, as_json=as_json)


@models.command("verify")
@click.argument("name", default="")
@options.folder_config
@options.state_dir
@options.as_json
def models_verify(name: str, config: Path | None, state_dir: Path | None, as_json: bool) -> None:
    """Read the files of the model NAME, or NAME/VERSION, or of all, and compare their hashes."""
    from pipeline.app import models
    from pipeline.app.site import Site
    from pipeline.view import models as view

    found = models.verify(Site(config, state_dir), name)
    view.show_checked(found, as_json=as_json)
    sys.exit(DAMAGED if any(one.problems for one in found) else WHOLE)


@models.command("use")
@click.argument("name", shell_complete=completing.complete_models)
@options.folder_config
@options.state_dir
@options.as_json
def models_use(name: str, config: Path | None, state_dir: Path | None, as_json: bool) -> None:
    """Try the model NAME, or NAME/VERSION, out; if it answers, the daemon uses it from its next start."""
    from pipeline.app import models
    from pipeline.app.site import Site
    from pipeline.view import models as view

    with clean_up_on_signal():
        used = models.use(Site(config, state_dir), name)
    view.show_used(used, as_json=as_json)


models.add_command(encoders.backends)
models.add_command(encoders.offload_report)
