"""What an artefact's manifest says, and when it is no longer true (long: a test a way to be stale)."""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib

import msgspec
import pytest

from models import catalog
from models.deriving import job as planning
from models.deriving import targets
from models.deriving.job import EncoderJob
from models.encoders import OURS, PictureFormat, artefact, backends, checking, gate
from models.encoders.artefact import ArtefactManifest, Calibration, Provenance
from pipeline.core.errors import ConfigError, ModelError
from pipeline.core.settings import EncodeSettings

MODEL = catalog.model_path("efficientnet-lite0-224-int8")
SHA256 = catalog.find_model("efficientnet-lite0-224-int8").sha256
FACTS = Provenance(
    source=SHA256,
    target="qnn",
    soc="43",
    passes=("fuse/1",),
    layout=OURS.layout,
    mean=OURS.mean,
    deviation=OURS.deviation,
    calibration=Calibration("pictures", "ab" * 32, 100),
    keep=(),
    tools={"onnx": "1.18", "onnxruntime-qnn": "2.7.0"},
)

CHANGES = [  # of the facts, what is said to be no longer true
    ({"source": "0" * 64}, ["the model was 309773c0513f..., is 000000000000..."]),
    ({"target": "rknn"}, []),
    ({"soc": "60"}, []),
    ({"passes": ("fuse/2",)}, ["pass fuse was of version 1, is of 2"]),
    ({"passes": ("fuse/1", "quantise/1")}, []),
    ({"mean": (0.0, 0.0, 0.0)}, []),
    ({"keep": ("fc",)}, []),
    ({"calibration": Calibration("pictures", "cd" * 32, 100)}, []),
    ({"calibration": None}, []),
    ({"tools": {"onnx": "1.19", "onnxruntime-qnn": "2.7.0"}}, ["onnx 1.18 made it, 1.19 is here"]),
    ({"tools": {"onnx": "1.18"}}, ["onnxruntime-qnn 2.7.0 made it, none is here"]),
]


@pytest.fixture
def made(tmp_path, monkeypatch):
    """An artefact as a conversion leaves it; versions that are installed are as the facts say."""
    monkeypatch.setattr(artefact, "installed_version", lambda name: FACTS.tools.get(name, ""))

    def write(content=b"compiled", **changes):
        facts = msgspec.structs.replace(FACTS, **changes)
        folder = tmp_path / artefact.folder_name("lite0", facts)
        folder.mkdir()
        file = folder / "model.onnx"
        file.write_bytes(content)
        command = "pipeline models convert mine.onnx --target qnn --soc 43 --calibration pictures"
        hashed = catalog.hash_own_file(file, "")
        manifest = ArtefactManifest(
            artefact.FORMAT, "mine.onnx", facts, facts.digest, command, (), (), "full", (), 1.0, file.name, hashed, 8
        )
        artefact.write(folder, manifest)
        return folder

    return write


def opened(path, reading=OURS, **settings):
    asked = {"backend": "qnn", "options": {"soc_model": "43"}, **settings}
    return artefact.find_file(EncodeSettings(artefact=str(path), **asked), MODEL, reading)


@pytest.mark.parametrize(("change", "said"), CHANGES)
def test_whatever_changes_the_bytes_changes_the_folders_name_and_is_told_where_it_is_no_longer_true(change, said):
    other = msgspec.structs.replace(FACTS, **change)
    assert artefact.folder_name("m", other) != artefact.folder_name("m", FACTS)
    assert artefact.find_outdated(FACTS, other) == said


def test_the_same_facts_are_no_difference_whatever_the_folder_of_pictures_is_called():
    other = msgspec.structs.replace(FACTS, calibration=Calibration("elsewhere", "ab" * 32, 100))
    assert artefact.find_outdated(FACTS, other) == []
    assert other.digest == FACTS.digest
    assert artefact.folder_name("m", FACTS) == f"m-qnn-{FACTS.digest[:8]}"


def test_a_manifest_is_read_as_it_was_written(made):
    folder = made()
    assert artefact.read(folder).facts == FACTS
    assert artefact.check_file(folder, artefact.read(folder)) == folder / "model.onnx"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 1}'])
def test_a_damaged_manifest_is_named_with_what_to_do(made, content):
    folder = made()
    (folder / "manifest.json").write_bytes(content)
    with pytest.raises(
        ModelError,
        match=r"manifest\.json cannot be read .* run `pipeline models convert \S+ --target qnn --soc 43` again",
    ):
        opened(folder)


CHANGED = [  # where in the manifest, another value
    (("cosine",), 0.5),
    (("verdict",), "none"),
    (("passes",), [{"name": "fuse", "matched": 1, "cosine": 1.0}]),
    (("left",), ["fc (Gemm)"]),
    (("command",), "rm -rf /"),
    (("sha256",), "0" * 64),
    (("file",), "../secret.onnx"),
    (("digest",), "0" * 64),
    (("facts", "soc"), "60"),
    (("seal",), ""),
]


@pytest.mark.parametrize(("where", "value"), CHANGED)
def test_a_manifest_that_was_written_into_is_refused_whatever_was_changed(made, where, value):
    path = made() / "manifest.json"
    content = json.loads(path.read_bytes())
    inner = content
    for name in where[:-1]:
        inner = inner[name]
    inner[where[-1]] = value
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ModelError, match=r"manifest\.json: the manifest was changed"):
        opened(path.parent)


def test_a_manifest_of_another_folder_is_refused_and_a_folder_may_be_renamed(made, tmp_path):
    folder = made()
    assert opened(shutil.copytree(folder, tmp_path / "npu"))
    with pytest.raises(ModelError, match=r"holds another's manifest"):
        opened(shutil.copytree(folder, tmp_path / "lite0-qnn-00000000"))


@pytest.mark.parametrize("file", ["../model.onnx", "/etc/hostname", "deep/model.onnx", "..", ""])
def test_a_manifest_that_names_a_file_elsewhere_is_refused_though_it_be_sealed(made, file):
    folder = made()
    artefact.write(folder, msgspec.structs.replace(artefact.read(folder), file=file))
    with pytest.raises(ModelError, match="is no file of its own folder"):
        opened(folder)


def test_what_may_not_be_read_is_said_to_want_permission_and_no_conversion(made, monkeypatch):
    read = artefact.files.read_bounded

    def forbidden(path, *rest, **given):
        if path.name == artefact.MANIFEST:
            raise PermissionError(13, "Permission denied")
        return read(path, *rest, **given)

    folder = made()
    monkeypatch.setattr(artefact.files, "read_bounded", forbidden)  # the tests may run as somebody who may read all
    with pytest.raises(ModelError, match=r"manifest\.json may not be read by this user: permit it") as refused:
        opened(folder)
    assert "convert" not in str(refused.value).partition("manifest.json")[2]


def test_a_file_that_may_not_be_looked_for_is_no_crash(tmp_path, monkeypatch):
    def forbidden(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(artefact.Path, "is_dir", forbidden)
    with pytest.raises(ModelError, match="may not be read by this user"):
        opened(tmp_path / "closed" / "folder")


def test_the_folder_or_its_file_may_be_named(made):
    folder = made()
    assert opened(folder) == opened(folder / "model.onnx") == folder / "model.onnx"


STALE = [  # how it was made, how it is configured, what is said
    ({"source": "0" * 64}, {}, r"it was made of another file \(0{12}\.\.\.\), the model's sha256 is 309773c0"),
    ({"target": "rknn"}, {}, "it was made for rknn, which serves rknn; encode.backend is qnn"),
    ({}, {"backend": "openvino"}, "it was made for qnn, which serves plugin_ep or qnn; encode.backend is openvino"),
    ({}, {"options": {"soc_model": "60"}}, "it was compiled for soc_model 43, encode.options says 60"),
    ({"tools": {"onnxruntime-qnn": "2.6.0"}}, {}, r"onnxruntime-qnn 2\.6\.0 compiled it, 2\.7\.0 is installed"),
    ({}, {"reading": PictureFormat("nchw", (0.0, 0.0, 0.0))}, "ranges were measured with another encode.layout, mean"),
]


@pytest.mark.parametrize(("facts", "settings", "said"), STALE)
def test_what_is_stale_is_refused_with_what_differs_and_the_command(made, facts, settings, said):
    with pytest.raises(ModelError, match=said) as refused:
        opened(made(**facts), **settings)
    assert "and name the new folder in encode.artefact" in str(refused.value)


NAMED = "efficientnet-lite0-224-int8"
WANTED = [  # how it was made, how it is configured, the command that makes what is configured
    ({"source": "0" * 64}, {}, f"{NAMED} --target qnn --soc 43"),
    ({}, {"options": {"soc_model": "60"}}, f"{NAMED} --target qnn --soc 60"),
    ({}, {"backend": "openvino"}, f"{NAMED} --target openvino"),
    ({"target": "rknn", "soc": ""}, {"options": {}}, f"{NAMED} --target qnn --soc NUMBER"),
    ({}, {"backend": "plugin_ep", "plugin": "x", "options": {"soc_model": "60"}}, f"{NAMED} --target qnn --soc 60"),
    (
        {},
        {"reading": PictureFormat("nhwc", (0.0, 0.0, 0.0), (255.0, 255.0, 255.0))},
        f"{NAMED} --target qnn --soc 43 --layout nhwc --mean 0 0 0 --deviation 255 255 255",
    ),
]


@pytest.mark.parametrize(("facts", "settings", "wanted"), WANTED)
def test_the_command_that_is_shown_makes_what_the_configuration_wants(made, facts, settings, wanted):
    with pytest.raises(ModelError) as refused:
        opened(made(**facts), **settings)
    assert f"run `pipeline models convert {wanted}`" in str(refused.value)


def test_the_pictures_of_before_are_in_the_command_where_a_model_is_to_be_quantised(made, monkeypatch):
    monkeypatch.setattr(artefact, "_is_quantised", lambda _: False)
    with pytest.raises(ModelError, match=r"--soc 60 --calibration pictures`"):
        opened(made(), options={"soc_model": "60"})


def test_a_back_end_that_no_conversion_is_for_is_told_what_the_artefact_serves(made):
    with pytest.raises(ModelError, match=r"serves openvino or plugin_ep or qnn; encode\.backend is mnn") as no:
        opened(made(target="generic", soc=""), backend="mnn", options={})
    assert "MNN's `mnnconvert`" in str(no.value)
    assert "or set encode.backend to openvino or plugin_ep or qnn" in str(no.value)


def test_what_rknn_toolkit2_takes_is_not_what_the_back_end_opens(made):
    folder = made(target="rknn", soc="")
    with pytest.raises(ModelError, match=r"let it make a \.rknn file of .*model\.onnx"):
        opened(folder, backend="rknn", options={})
    (folder / "model.rknn").touch()
    assert opened(folder / "model.rknn", backend="rknn", options={}) == folder / "model.rknn"


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("manifest.json", {}, "is a manifest: name its folder"),
        ("model.mnn", {"backend": "rknn"}, r"back end rknn opens a \.rknn file"),
        ("model.rknn", {"backend": "mnn"}, r"back end mnn opens a \.mnn file"),
        ("model.mnn", {}, r"model\.mnn is no ONNX file"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, name, settings, said):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(ModelError, match=said):
        opened(tmp_path / name, **settings)


def test_a_chip_that_the_configuration_does_not_name_is_no_difference(made):
    assert opened(made(), options={})


def test_an_artefact_that_was_changed_is_refused(made):
    folder = made()
    (folder / "model.onnx").write_bytes(b"compiled?")
    with pytest.raises(ModelError, match=rf"is damaged or was changed.* run `pipeline models convert {NAMED}"):
        opened(folder)


def test_an_artefact_whose_file_is_gone_is_refused(made):
    folder = made()
    (folder / "model.onnx").unlink()
    with pytest.raises(ModelError, match=r"cannot read model file .*model\.onnx.* run `pipeline"):
        opened(folder)


def test_a_file_that_another_tool_made_is_taken_as_it_is(tmp_path):
    path = tmp_path / "model.mnn"
    path.touch()
    assert opened(path, backend="mnn") == path
    with pytest.raises(ModelError, match=r"gone\.mnn is not there"):
        opened(tmp_path / "gone.mnn", backend="mnn")


def test_without_an_artefact_the_model_itself_is_opened():
    assert backends.file_to_open(EncodeSettings(backend="qnn"), MODEL) == MODEL


@pytest.mark.parametrize(("policy", "state"), [("refuse", "rejected"), ("degrade", "fallback"), ("warn", "fallback")])
def test_a_stale_artefact_is_never_used_and_its_reason_is_told(made, policy, state):
    settings = EncodeSettings(backend="qnn", artefact=str(made(source="0" * 64)), on_fallback=policy)
    admission = gate.admit(MODEL, "lite0", settings)
    assert admission.state == state
    assert admission.details["runs_on"] == ("nothing" if policy == "refuse" else "cpu")
    assert "is stale: it was made of another file" in admission.details["reason"]


def test_every_pass_of_a_target_is_a_row_and_every_row_is_of_a_target():
    used = {name for target in targets.TARGETS.values() for name in target.passes}
    assert used == set(targets.PASSES)
    assert set(targets.TARGETS) == set(artefact.SERVES)


@pytest.mark.parametrize("target", targets.TARGETS)
def test_what_quantises_is_left_out_where_nothing_is_quantised(target):
    plain, eight = (targets.steps_for(target, eight_bit=asked) for asked in (False, True))
    assert not any(name.startswith("quantise") for name in plain)
    assert set(plain) <= set(eight)


REFUSED = [
    ({"target": "tpu"}, "no target 'tpu'; there are qnn, openvino"),
    ({"target": "qnn"}, "name it, e.g. --soc 43"),
    ({"target": "rknn", "eight_bit": True}, "quantised by its own toolkit"),
    ({"target": "generic", "keep": ("a",)}, "nothing is quantised: add --int8"),
    ({"target": "qnn", "soc": "abc"}, "--soc abc: the chip is a number such as 43 for SM8550"),
    ({"target": "qnn", "soc": "SM8550"}, "--soc SM8550: the chip is a number such as 43"),
    ({"target": "rknn", "soc": "43"}, "--soc is of qnn, .* leave it for rknn"),
    ({"target": "rknn", "calibration": "probes"}, "quantised by its own toolkit: leave it"),
    ({"target": "generic", "calibration": "probes"}, "only with --int8: add that"),
    ({"target": "qnn", "soc": "43", "keep": ("0",)}, "--keep 0 keeps none: .* 1 or more"),
    (
        {"target": "generic", "reading": PictureFormat(deviation=(0.0, 1.0, 1.0))},
        "--deviation is what .* 0.001 at least",
    ),
    ({"target": "generic", "reading": PictureFormat(mean=(float("nan"), 1.0, 1.0))}, "--mean is what .* of 0..255"),
]


@pytest.mark.parametrize(("asked", "said"), REFUSED)
def test_options_that_do_not_go_together_are_refused_before_anything_is_done(asked, said):
    with pytest.raises(ConfigError, match=said):
        planning.plan(EncoderJob(MODEL, **asked))


def test_packages_that_are_missing_are_named_with_the_extra_that_brings_them():
    with pytest.raises(
        ModelError, match=r"needs no-such-a, no-such-b, no-such-c: pip install 'fieldwatch\[convert,qnn\]'"
    ):
        planning.check_packages({"no_such_a": "convert", "no_such_b": "qnn", "json": "convert", "no_such_c": "qnn"})


def test_the_command_that_does_it_again_is_what_was_asked_for():
    job = EncoderJob(
        MODEL, "qnn", "my model.onnx", soc="43", calibration="p", keep=("a", "b"), reading=PictureFormat("nhwc")
    )
    assert planning.repeat_command(job) == (
        "pipeline models convert 'my model.onnx' --target qnn --soc 43 --calibration p --keep a,b --layout nhwc "
        "--mean 127 127 127 --deviation 128 128 128"
    )


@pytest.mark.parametrize(("keep", "worst"), [((), 0), (("3",), 3), (("a",), 0), (("3", "4"), 0)])
def test_one_number_is_how_many_layers_are_kept(keep, worst):
    assert EncoderJob(MODEL, "qnn", keep=keep).worst == worst


@pytest.fixture
def packaged(monkeypatch):
    """Packages for converting need not be there to plan."""
    monkeypatch.setattr(planning, "check_packages", lambda _: None)


def test_a_layout_that_the_input_has_not_is_refused_before_anything_is_done(packaged):
    with pytest.raises(ModelError, match=r"where layout nhwc wants .*set encode\.layout to nchw \(--layout\)"):
        planning.plan(EncoderJob(MODEL, "generic", reading=PictureFormat("nhwc")))


def test_a_detector_is_no_encoder(packaged):
    with pytest.raises(ModelError, match="is nanodet-g-160-int8, no encoder"):
        planning.plan(EncoderJob(catalog.model_path("nanodet-g-160-int8"), "generic"))


@pytest.mark.parametrize("name", ["nosuch", "nanodet-g-160-int8", "conse-minilm"])
def test_of_names_only_encoders_are_offered(name):
    with pytest.raises(ModelError, match=f"the encoder that comes with the package is {NAMED}, and one") as refused:
        catalog.check_encoder_name(name)
    assert "graph-" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [("nowhere", "nowhere does not exist"), ("a.jpg", "a.jpg is a file"), ("empty", "holds no pictures")],
)
def test_pictures_are_looked_for_even_where_the_model_is_quantised_already(packaged, tmp_path, name, said):
    (tmp_path / "a.jpg").touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=said):
        planning.plan(EncoderJob(MODEL, "qnn", soc="43", calibration=str(tmp_path / name)))


@pytest.mark.parametrize("target", targets.TARGETS)
def test_what_is_to_be_written_into_the_configuration_is_a_whole_table(packaged, made, target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = shutil.copy(MODEL, tmp_path / 'my "model".onnx')
    soc = "43" if target == "qnn" else ""
    reading = PictureFormat("nchw", (1.0, 2.0, 3.0))
    calibration = "probes" if target == "qnn" else ""
    ready = planning.plan(EncoderJob(own, target, str(own), soc=soc, reading=reading, calibration=calibration))
    folder = made(target=target, soc=soc)
    text = "\n".join(planning.configuration_lines(ready, folder, artefact.read(folder)))
    found = msgspec.convert(tomllib.loads(text)["encode"], EncodeSettings)
    assert (found.model, found.mean) == (str(own), (1.0, 2.0, 3.0))
    assert found.backend in artefact.SERVES[target]
    assert found.options == ({"soc_model": "43"} if soc else {})
    assert found.artefact == str(folder.resolve() / "model.rknn" if target == "rknn" else folder.resolve())
    for other in artefact.SERVES[target] - {found.backend}:
        assert re.search(rf"# or .*\b{other}", text)


def test_the_bundled_encoder_is_written_into_the_configuration_by_its_name(packaged, made):
    ready = planning.plan(EncoderJob(MODEL, "qnn", NAMED, soc="43"))
    folder = made()
    assert f'model = "{NAMED}"' in planning.configuration_lines(ready, folder, artefact.read(folder))


def found_in(**settings):
    return list(checking.find_problems(EncodeSettings(**settings)))


@pytest.fixture
def own(tmp_path):
    """The bundled one as a file of one's own."""
    return str(shutil.copy(MODEL, tmp_path / "mine.onnx"))


@pytest.mark.parametrize(
    ("settings", "key", "said"),
    [
        ({"embedding": "embeddings"}, "embedding", "has no output embeddings: there are logits, embedding"),
        ({"layout": "nhwc"}, "layout", "set encode.layout to nchw"),
        ({"table": "missing.npz"}, "table", "missing.npz is no table of tags"),
        ({"sha256": "0" * 64}, "model", "is not the file that is meant"),
        ({"backend": "plugin_ep"}, "plugin", "needs encode.plugin"),
        ({"backend": "qnn", "options": {"soc_model": "SM8550"}}, "options", "soc_model is 'SM8550', where"),
        ({"backend": "rknn", "artefact": "gone.rknn"}, "artefact", "gone.rknn is not there: run `pipeline models"),
    ],
)
def test_what_would_be_given_up_at_the_start_is_found_before(own, settings, key, said):
    ((where, text),) = found_in(model=own, **settings)
    assert where == f"encode.{key}"
    assert said in text


@pytest.mark.parametrize("name", ["nanodet-g-160-int8", "nosuch"])
def test_a_model_that_is_no_encoder_is_found_before(name):
    ((where, text),) = found_in(model=name)
    assert (where, "the encoder that comes with the package" in text) == ("encode.model", True)


def test_what_is_in_order_is_no_problem(own):
    assert found_in() == found_in(model=own) == found_in(model=own, embedding="logits") == []


def test_a_pipe_in_place_of_a_manifest_is_not_waited_for(made):
    folder = made()
    (folder / artefact.MANIFEST).unlink()
    os.mkfifo(folder / artefact.MANIFEST)
    with pytest.raises(ModelError, match="is no manifest"):
        artefact.read(folder)


def test_a_pipe_in_place_of_a_model_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model.onnx")
    with pytest.raises(ModelError, match="it is no file"):
        catalog.hash_own_file(tmp_path / "model.onnx", "")


@pytest.mark.parametrize("side", [0, 1 << 20])
def test_an_input_of_no_or_of_endless_pixels_is_refused_before_there_is_memory_for_it(side):
    with pytest.raises(ModelError, match="a side of 2 to 4096 pixels"):
        OURS.side((1, 3, side, side))


def test_a_model_whose_name_is_no_text_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="rename it"):
        planning.check_name(tmp_path / os.fsdecode(b"b\xff.onnx"))
