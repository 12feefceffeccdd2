from __future__ import annotations

import json
import shutil

import msgspec
import pytest
from click.testing import CliRunner

from models import fetch, store, table
from models.llm import folder
from models.store import ConversionOptions, Store
from pipeline.app import models
from pipeline.app.site import Site
from pipeline.cli import exits, main
from pipeline.core.errors import ConfigError, ModelError
from pipeline.resources import config_file
from pipeline.view import models as view


def quiet(*_):
    pass


@pytest.fixture
def device(tmp_path):
    return Store(tmp_path / "state")


@pytest.fixture
def command(tmp_path):
    def run(*words):
        return CliRunner().invoke(main, ["models", *map(str, words), "--state-dir", str(tmp_path / "state")])

    return run


def test_every_model_of_the_table_has_a_whole_row():
    known = table.load_table()
    assert list(known.models) == ["smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "qwen2.5-1.5b"]
    assert set(known.recipes) == {"keep", "keep-b128", "mixed"}
    assert all(row.sha256 or row.hub for row in known.models.values())
    assert "://" not in config_file("models.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("recipes = 3", "recipes"),
        ("[recipes.x]\nrules = [{ layer = '*' }]\n[models]", "layer"),
        ("[recipes.x]\nrules = [{ layers = '*', bits = 3 }]\n[models]", "bits"),
        ("[recipes]\n[models.m]\nwhat=''\nlicence=''\nrecipe='x'\nfile='f'\nbytes=1\nsha256=''", "models.m"),
        ("[recipes]\n[models.m]\nwhat=''\nlicence=''\nrecipe='x'\nfile='f'\nbytes=1\nsha256='12'", "sha256"),
        ("[", "models.toml"),
    ],
)
def test_a_mistake_in_the_table_is_named(text, named):
    with pytest.raises(ConfigError, match=named):
        table.parse(text.encode())


def test_a_converted_model_is_listed_and_can_be_put_to_use(tiny, device):
    assert (device.list_installed(), device.active()) == ([], None)
    made = device.convert(tiny(), "tiny", ConversionOptions(), quiet)
    assert (made.name, made.version.split("-")[0], made.active) == ("tiny", "keep", False)
    assert made.path == device.root / "tiny" / made.version
    assert device.use("tiny").active
    assert device.active().version == made.version


def test_a_model_in_use_that_is_gone_is_told_of(tiny, device):
    made = device.convert(tiny(), "tiny", ConversionOptions(), quiet)
    device.use("tiny")
    shutil.rmtree(made.path)
    with pytest.raises(ConfigError, match=rf"active.json names tiny/{made.version}, which is not installed: choose"):
        device.active()


@pytest.mark.parametrize("content", ["", "{", '{"name": 3}', "\xff"])
def test_a_damaged_note_of_the_model_in_use_is_told_of(tiny, device, content):
    device.convert(tiny(), "tiny", ConversionOptions(), quiet)
    (device.root / "active.json").write_bytes(content.encode("latin-1"))
    assert [one.active for one in device.list_installed()] == [False]
    with pytest.raises(ConfigError, match=r"active.json cannot be read: choose"):
        device.active()
    device.use("tiny")
    assert device.active().name == "tiny"


def test_what_a_model_says_it_is_does_not_reach_the_terminal_as_a_command(tiny, device, tmp_path, capsys):
    made = device.convert(tiny(), "tiny", ConversionOptions(), quiet)
    folder.write(made.path, msgspec.structs.replace(made.manifest, title="\x1b[2J"))
    view.show(models.list_models(Site(None, tmp_path / "state")), as_json=False)
    assert "\x1b[2J" not in capsys.readouterr().out


def test_the_same_conversion_is_not_done_twice_unless_it_is_damaged_or_asked_for(tiny, device):
    path, told = tiny(), []
    made = device.convert(path, "tiny", ConversionOptions(), lambda what, *_: told.append(what))
    assert told
    told.clear()
    assert device.convert(path, "tiny", ConversionOptions(), lambda what, *_: told.append(what)) == made
    assert told == []
    (made.path / "llm.mnn").unlink()
    device.convert(path, "tiny", ConversionOptions(), quiet)
    assert folder.verify(made.path) == []
    device.convert(path, "tiny", ConversionOptions(again=True), lambda what, *_: told.append(what))
    assert told


def test_versions_lie_side_by_side_and_have_to_be_named(tiny, device):
    path = tiny()
    one = device.convert(path, "tiny", ConversionOptions(), quiet)
    other = device.convert(path, "tiny", ConversionOptions("mixed"), quiet)
    assert [found.version for found in device.list_installed()] == sorted([one.version, other.version])
    with pytest.raises(ConfigError, match=f"several versions, name one: tiny/{one.version}, tiny/{other.version}"):
        device.use("tiny")
    assert device.use(f"tiny/{other.version}").version == other.version


def test_a_damaged_model_is_not_put_to_use(tiny, device):
    made = device.convert(tiny(), "tiny", ConversionOptions(), quiet)
    with (made.path / "llm.mnn.weight").open("r+b") as file:
        file.write(b"\xff")
    with pytest.raises(ModelError, match=r"damaged \(llm\.mnn\.weight: changed"):
        device.use("tiny")
    assert [problems for _, problems in device.verify("")] == [[problem] for problem in folder.verify(made.path)]


def test_what_is_not_there_is_told_with_what_is(tiny, device):
    device.convert(tiny(), "tiny", ConversionOptions(), quiet)
    with pytest.raises(ConfigError, match=r"other is not installed .*tiny/keep"):
        device.use("other")
    with pytest.raises(ConfigError, match="did you mean mixed"):
        device.convert(tiny(), "tiny", ConversionOptions("mixd"), quiet)
    with pytest.raises(ConfigError, match="did you mean smollm2-135m"):
        device.pull("smolm2-135m", ConversionOptions(), hub="", sha256="", keep=False, report=quiet)


@pytest.mark.parametrize("name", ["", "a b", "../x", ".hidden", "downloads", "x" * 49])
def test_a_name_that_is_no_folder_is_refused(tiny, device, name):
    with pytest.raises(ConfigError, match=r"no name|folder of downloads"):
        device.convert(tiny(), name, ConversionOptions(), quiet)


@pytest.mark.parametrize(
    ("file", "name"), [("Qwen2.5 Coder(1).gguf", "qwen2.5-coder-1"), ("ü.gguf", "model"), ("a.b.gguf", "a.b")]
)
def test_a_files_name_gives_a_name(tmp_path, file, name):
    assert store.name_from_file(tmp_path / file) == name


@pytest.mark.parametrize("keep", [True, False])
def test_what_was_pulled_is_converted_and_its_file_kept_only_if_asked_for(tiny, device, monkeypatch, keep):
    data = tiny().read_bytes()

    def fetched(source, into, *_):
        into.mkdir(parents=True)
        (into / source.file).write_bytes(data)
        return into / source.file

    monkeypatch.setattr(fetch, "fetch", fetched)
    made = device.pull("qwen2.5-coder-0.5b", ConversionOptions(), hub="", sha256="", keep=keep, report=quiet)
    assert (made.name, made.manifest.recipe) == ("qwen2.5-coder-0.5b", "keep-b128")
    assert made.manifest.licence == "Apache-2.0 upstream"
    assert (device.root / "downloads").exists() == keep
    assert device.list_installed() == [made]


def test_the_commands_convert_list_use_and_verify(tiny, command, monkeypatch):
    monkeypatch.setattr(models, "try_out", lambda _: models.TrialResult(0.5, True, 0.0))
    done = command("convert", tiny(), "--name", "tiny", "--json")
    assert done.exit_code == 0, done.output
    version = json.loads(done.output)["version"]
    used = command("use", "tiny").output
    assert f"tiny/{version}: " in used
    assert "it answers: loaded in 0.50 s, from a mapped file" in used
    listed = json.loads(command("list", "--json").output)
    assert [(one["name"], one["active"]) for one in listed["installed"]] == [("tiny", True)]
    assert set(listed["models"]) == set(table.load_table().models)
    shown = command("list").output
    assert all(word in shown for word in ("tiny", version, "smollm2-135m", "keep-b128", "Apache-2.0"))
    whole = command("verify")
    assert (whole.exit_code, whole.output) == (0, f"tiny/{version}: whole\n")


def test_a_model_that_cannot_be_tried_out_is_not_put_to_use(tiny, command, monkeypatch):
    command("convert", tiny(), "--name", "tiny")

    def tried(_):
        raise ModelError("tiny/1: the engine's answers are no numbers")

    monkeypatch.setattr(models, "try_out", tried)
    done = command("use", "tiny")
    assert (done.exit_code, "no numbers" in done.stderr) == (exits.FAILED, True)
    assert [one["active"] for one in json.loads(command("list", "--json").output)["installed"]] == [False]


def test_damage_gives_status_3_and_is_named(tiny, command, tmp_path):
    command("convert", tiny(), "--name", "tiny")
    (weights,) = (tmp_path / "state").rglob("llm.mnn.weight")
    weights.write_bytes(weights.read_bytes()[:-1])
    done = command("verify", "tiny")
    assert done.exit_code == exits.DAMAGED
    assert "llm.mnn.weight: " in done.output
    assert json.loads(command("verify", "--json").output)[0]["problems"]


def test_what_cannot_be_converted_gives_status_1_and_what_is_mistyped_2(command, tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    done = command("convert", tmp_path / "x.gguf")
    assert (done.exit_code, "x.gguf" in done.stderr) == (exits.FAILED, True)
    assert command("use", "nothing").exit_code == exits.USAGE
    assert command("pull", "nothing").exit_code == exits.USAGE
    assert command("pull", "qwen2.5-1.5b").exit_code == exits.USAGE


def test_nothing_installed_is_said(command):
    assert "no models yet" in command("list").output
    assert command("verify").exit_code == 0


@pytest.mark.parametrize("name", sorted(main.commands["models"].commands))
def test_every_command_explains_itself_and_its_state_folder(name):
    done = CliRunner().invoke(main, ["models", name, "--help"])
    assert done.exit_code == 0
    assert ("--state-dir" in done.output) == (name not in {"backends", "offload-report"})  # those know no store
