"""The house keeps itself in order: what is written down in two places says the same in both."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline import cli, topology
from pipeline.core import events, settings
from pipeline.resources import config_file

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_configuration_holds_the_defaults():
    found, problems = settings.parse(config_file("pipeline.toml").read_text(encoding="utf-8"))
    assert problems == []
    assert found == settings.Settings()


def test_the_example_configuration_names_every_key():
    text = config_file("pipeline.toml").read_text(encoding="utf-8")
    named = set(re.findall(r"^(?:# )?([a-z0-9_]+) =", text, re.MULTILINE))
    kinds = [kind for kind in vars(settings).values() if isinstance(kind, type) and kind.__name__.endswith("Settings")]
    keys = {key for kind in kinds for key in kind.__struct_fields__} - {"cameras", "zones", "masks"}
    tables = {name.removesuffix("Settings").lower() for name in (kind.__name__ for kind in kinds)}
    assert keys - tables - named == set()


def test_every_camera_key_of_the_example_is_a_real_one():
    text = config_file("pipeline.toml").read_text(encoding="utf-8")
    block = text[text.index("# [cameras.gate]") : text.index("[capture]")]
    lines = (line[2:] for line in block.splitlines() if re.match(r"# (\[|[a-z_]+ =)", line))
    found, problems = settings.parse("\n".join(lines))
    assert problems == []
    assert found is not None
    assert set(found.cameras) == {"gate"}


def test_the_schema_that_is_kept_is_the_schema_of_the_types():
    assert json.loads(config_file("event.schema.json").read_text(encoding="utf-8")) == json.loads(
        json.dumps(events.schema())
    )


@pytest.mark.parametrize("command", sorted(cli.main.commands))
def test_every_command_has_help_and_is_in_the_readme(command):
    result = CliRunner().invoke(cli.main, [command, "--help"])
    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 4
    assert f"pipeline {command}" in README


@pytest.mark.parametrize("stage", topology.STAGES)
def test_every_stage_is_met_on_the_path_of_one_frame(stage):
    path = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## The path of one frame")[2]
    assert f"`stages/{stage}.py`" in path


def test_every_dependency_has_its_reason():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    names = re.findall(
        r'^  "([A-Za-z-]+)[><=]', project.partition("dependencies = [")[2].partition("]")[0], re.MULTILINE
    )
    reasons = (ROOT / "DECISIONS.md").read_text(encoding="utf-8")
    assert [name for name in names if f"`{name}`" not in reasons] == []


def test_exit_statuses_are_documented():
    result = CliRunner().invoke(cli.main, ["--help"])
    assert "3 some inputs were damaged" in " ".join(result.output.split())
