from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from pipeline.core.configuration import RENAMED, load, parse, read
from pipeline.core.errors import ConfigError
from pipeline.core.settings import CameraSettings, EmitSettings, Settings

CAMERA = '[cameras.gate]\nsource = "synthetic://"\n'
ZONE = CAMERA + "[cameras.gate.zones.yard]\npolygon = {}\n"
SQUARE = "[[0, 0], [1, 0], [1, 1], [0, 1]]"


def only_problem(text):
    settings, (problem,) = parse(text)
    return settings, problem


def test_an_empty_file_is_all_defaults():
    settings, problems = parse("")
    assert settings == Settings()
    assert problems == []
    assert settings.capture.frames_per_s == 10
    assert settings.emit.sinks == ("jsonl",)


def test_a_whole_camera_is_read():
    text = ZONE.format(SQUARE) + 'priority = "alarm"\n[cameras.gate.masks]\ntree = [[0, 0], [0.2, 0], [0, 0.2]]\n'
    settings, problems = parse(text)
    assert problems == []
    gate = settings.cameras["gate"]
    assert gate.zones["yard"].polygon[2] == (1.0, 1.0)
    assert gate.zones["yard"].priority == "alarm"
    assert len(gate.masks["tree"]) == 3


ERRORS = [  # text, line, key, a part of the message
    ("[motion]\nsensitivty = 2\n", 2, "motion.sensitivty", "did you mean `sensitivity`?"),
    ("\n[motoin]\n", 2, "motoin", "did you mean `motion`?"),
    ("[site]\nzzzz = 1\n", 2, "site.zzzz", "known: device, name, timezone"),
    (CAMERA + "loiters_s = 3\n", 3, "cameras.gate.loiters_s", "did you mean `loiter_s`?"),
    (ZONE.format(SQUARE) + "restrict = true\n", 5, "cameras.gate.zones.yard.restrict", "`restricted`?"),
    (
        '[motion]\nsensitivity = "high"\n',
        2,
        "motion.sensitivity",
        "got `str`: write a number, without quotes",
    ),
    (
        '[encode]\nmean = ["a", 1, 1]\n',
        2,
        "encode.mean",
        "`encode.mean[0]`: Expected `float`, got `str`",
    ),
    ("[encode]\nmean = 5\n", 2, "encode.mean", "Expected `array`, got `int`: write a list, in brackets"),
    ("[encode]\noptions = { soc_model = 43 }\n", 2, "encode.options.soc_model", "got `int`: write it in quotes"),
    ("[encode]\nmean = [nan, 1, 1]\n", 2, "encode.mean", "encode.mean[0]"),
    ("[encode]\ndeviation = [0, 0, 0]\n", 2, "encode.deviation", "Expected `float` >= 0.001"),
    ("[encode]\ndeviation = [1e-300, 1, 1]\n", 2, "encode.deviation", "Expected `float` >= 0.001"),
    ("[emit]\n\njpeg_quality = 101\n", 3, "emit.jpeg_quality", "<= 100"),
    ("[capture]\nframes_per_s = 0\n", 2, "capture.frames_per_s", "> 0"),
    ("[capture]\nframes_per_s = nan\n", 2, "capture.frames_per_s", "> 0"),
    ("[frames]\nslots = 3\n", 2, "frames.slots", ">= 4"),
    ('[describe]\nlanguage = "de"\n', 2, "describe.language", "'de'"),
    ('[site]\ntimezone = "Mars/Base"\n', 2, "site.timezone", "Europe/Vienna"),
    ('[site]\ntimezone = "../etc"\n', 2, "site.timezone", "unknown time zone"),
    ('[trigger]\nopen_hours = "7-18"\n', 2, "trigger.open_hours", "write it as 07:00-18:00"),
    ('[trigger]\nopen_hours = "07:00-24:00"\n', 2, "trigger.open_hours", "07:00-18:00"),
    (CAMERA + 'open_hours = "always"\n', 3, "cameras.gate.open_hours", "no span of hours"),
    (
        ZONE.format(SQUARE) + 'open_hours = "x"\n',
        5,
        "cameras.gate.zones.yard.open_hours",
        "no span of hours",
    ),
    (
        ZONE.format("[[0, 0], [640, 0], [640, 360]]"),
        4,
        "cameras.gate.zones.yard.polygon",
        "divide by width",
    ),
    (
        CAMERA + "[cameras.gate.masks]\nm = [[0, 0], [1, 0], [1, -1]]\n",
        4,
        "cameras.gate.masks.m",
        "not pixels",
    ),
    ('[cameras."main gate"]\nsource = "x"\n', 1, "cameras.main gate", "letters, digits"),
    ('[cameras.""]\nsource = "x"\n', 1, "cameras.", "camera name ``"),
    ("cameras = 5\n", 1, "cameras", "Expected `object`"),
    ('[cameras.gate]\nsource = "rstp://u:secret@gate/x"\n', 2, "cameras.gate.source", "`rstp:`; did you mean `rtsp`?"),
    ('[cameras.gate]\nsource = "rtsp:u:secret@gate/x"\n', 2, "cameras.gate.source", "followed by `//`"),
    ('[cameras.gate]\nsource = "ftp://gate/x"\n', 2, "cameras.gate.source", "no kind of source `ftp:`"),
    ('[cameras.gate]\nsource = ""\n', 2, "cameras.gate.source", "needs a source"),
    ('[cameras.gate]\nsource = " /dev/video0"\n', 2, "cameras.gate.source", "without spaces"),
    ("[emit]\nsinks = []\n", 2, "emit.sinks", "length >= 1"),
    ('[emit]\nsinks = ["jsonl", "jsonl"]\n', 2, "emit.sinks", "every event twice"),
    ("[frames]\nslots = 99999999999999999999999\n", 2, "frames.slots", "<= 1024"),
    ("[emit]\nkeep_files = 99999999999999999999999\n", 2, "emit.max_files", "<= 1000000000"),
    ("[capture]\nframes_per_s = 1e-300\n", 2, "capture.frames_per_s", "> 0"),
    ("[runtime]\nrestart_first_s = 60.0\n", 2, "runtime.min_restart_s", "longer than"),
    (ZONE.format([[0.1, 0.2]] * 1001), 4, "cameras.gate.zones.yard.polygon", "length <= 1000"),
    ("x = " + "[" * 5000 + "]" * 5000 + "\n", 1, "", "not valid TOML"),
    ("[frames]\nslots = " + "9" * 5000 + "\n", 1, "", "not valid TOML"),
]


@pytest.mark.parametrize(("text", "line", "path", "said"), ERRORS, ids=[f"{row[2]}: {row[3]}" for row in ERRORS])
def test_an_error_names_line_key_and_remedy(text, line, path, said):
    _, problem = only_problem(text)
    assert (problem.line, problem.key) == (line, path)
    assert said in problem.text


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('[cameras.gate]\nplace = "x"\n', 1, "missing required field `source`"),
        ("[cameras.gate]\nsource = 5\n", 2, "Expected `str`"),
        (ZONE.format("[[0, 0], [1, 1]]"), 4, "at least 3 points"),
        (CAMERA + "rotation = 45\n", 3, "45"),
    ],
)
def test_an_error_within_a_camera_is_found_in_its_table(text, line, said):
    settings, problem = only_problem(text)
    assert settings is None
    assert problem.line == line
    assert said in problem.text


def test_text_that_is_no_toml_is_told_with_its_line():
    settings, problem = only_problem("[motion]\nsensitivity 2\n")
    assert settings is None
    assert problem.line == 2
    assert "not valid TOML" in problem.text


def test_all_unknown_keys_are_told_at_once():
    _, problems = parse("[motion]\na = 1\n[capture]\nb = 1\n")
    assert [problem.key for problem in problems] == ["motion.a", "capture.b"]


@pytest.mark.parametrize("hours", ["07:00-18:00", "22:00-06:00", "00:00-23:59"])
def test_hours_are_spans_of_the_day_or_over_midnight(hours):
    assert parse(f'[trigger]\nopen_hours = "{hours}"\n')[1] == []


@pytest.mark.parametrize("name", ["gate", "Gate-2", "north_side", "10.0.0.7", "x" * 48])
def test_a_camera_may_be_called_so(name):
    assert parse(f'[cameras."{name}"]\nsource = "x"\n')[1] == []


def test_a_file_with_problems_names_itself_at_every_line(tmp_path):
    path = tmp_path / "pipeline.toml"
    path.write_text("[motion]\na = 1\nb = 2\n")
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert [line.partition(": ")[0] for line in str(caught.value).splitlines()] == [f"{path}:2", f"{path}:3"]


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["missing", "not UTF-8"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    path = tmp_path / "pipeline.toml"
    if content:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"pipeline\.toml: cannot be read"):
        load(path)


def changed(value):
    """Another value of the same kind; None where there is no other."""
    others = {
        bool: lambda: not value,
        str: lambda: value + "x",
        tuple: lambda: (*value, *(value or ("x",))),
        dict: lambda: value | {"x": "y"},
    }
    return others.get(type(value), lambda: value + 1)()


SETTINGS = [
    (section, key)
    for section, rows in msgspec.structs.asdict(Settings()).items()
    if isinstance(rows, msgspec.Struct)
    for key in rows.__struct_fields__
    if key not in ("run_dir", "state_dir")
]


@pytest.mark.parametrize(("section", "key"), SETTINGS, ids=".".join)
def test_the_digest_changes_with_every_setting(section, key):
    rows = getattr(Settings(), section)
    other = msgspec.structs.replace(rows, **{key: changed(getattr(rows, key))})
    assert msgspec.structs.replace(Settings(), **{section: other}).digest() != Settings().digest()


def test_the_digest_is_the_same_wherever_the_daemon_keeps_its_own_files():
    elsewhere = msgspec.structs.replace(Settings().runtime, run_dir="/run/x", state_dir="state/../state")
    assert msgspec.structs.replace(Settings(), runtime=elsewhere).digest() == Settings().digest()


def test_the_digest_changes_with_a_camera_and_with_the_order_that_decides_between_zones():
    one, other = CameraSettings(source="a"), CameraSettings(source="b")
    digests = {
        Settings(cameras=cameras).digest() for cameras in ({"a": one, "b": other}, {"b": other, "a": one}, {"a": one})
    }
    assert len(digests) == 3
    assert {len(digest) for digest in digests} == {12}


@pytest.mark.parametrize(
    "source",
    ["RTSP://gate/x", "https://gate/x", "file:///clip.mp4", "synthetic://", "v4l2:/dev/video0", "/dev/video0", "a.mp4"],
)
def test_every_kind_of_source_that_there_is_is_taken(source):
    assert parse(f'[cameras.gate]\nsource = "{source}"\n')[1] == []


def test_a_mistyped_address_is_told_without_its_password():
    _, problems = parse('[cameras.gate]\nsource = "rstp://u:secret@gate/x"\n')
    assert not any("secret" in problem.text for problem in problems)


def test_a_file_may_begin_with_the_mark_of_some_editors(tmp_path):
    path = tmp_path / "pipeline.toml"
    path.write_bytes(b'\xef\xbb\xbf[site]\r\nname = "yard"\r\n')
    assert load(path).site.name == "yard"


def test_the_digest_knows_no_password():
    digests = {
        Settings(cameras={"a": CameraSettings(source=f"rtsp://admin:{word}@gate/sub")}).digest() for word in ("x", "y")
    }
    assert len(digests) == 1


def test_a_key_of_an_earlier_version_is_valid_and_told_with_its_line(tmp_path):
    path = tmp_path / "site.toml"
    path.write_text('[cameras.gate]\nsource = "x.mp4"\n[emit]\nspool = 10\n')
    assert load(path).emit == EmitSettings()
    (told,) = read(path).outdated
    assert told.startswith(f"{path}:4: `emit.spool` means nothing any more")


@pytest.mark.parametrize("old", RENAMED)
def test_a_key_with_an_old_name_is_used_and_the_new_name_said(old, tmp_path):
    table, _, name = old.partition(".")
    now = RENAMED[old]
    default = getattr(getattr(Settings(), table), now.name)
    value = default / now.factor * 2
    path = tmp_path / "site.toml"
    path.write_text(f"[{table}]\n{name} = {value if isinstance(default, float) else int(value)}\n")
    assert getattr(getattr(load(path), table), now.name) == pytest.approx(default * 2)
    (said,) = read(path).outdated
    assert said == f"{path}:2: `{old}` is an old name: did you mean `{now.name}`? Its value is used as that"


def test_a_key_under_both_its_names_is_refused():
    _, problems = parse("[runtime]\nrestart_most_s = 5.0\nmax_restart_s = 6.0\n")
    assert problems[0].text == (
        "`runtime.restart_most_s` is an old name of `max_restart_s`, which is there as well: take one out"
    )


def test_what_is_wrong_with_a_key_of_an_old_name_is_told_by_both_names():
    (problem,) = parse("\n[describe]\nlatency_budget_ms = -5\n")[1]
    assert problem.line == 3
    assert problem.text == (
        "`describe.max_verdict_s`: Expected `float` > 0.0 (here by its old name, `describe.latency_budget_ms`)"
    )


def test_a_number_of_hundreds_of_digits_under_an_old_name_is_a_mistake_with_its_line():
    (problem,) = parse(f"[describe]\nlatency_budget_ms = {'9' * 400}\n")[1]
    assert (problem.line, problem.key) == (2, "describe.max_verdict_s")


@pytest.mark.parametrize("value", ["inf", "nan", "1e308", "-1"])
def test_a_pause_after_an_incident_is_a_time_that_can_end(value):
    (problem,) = parse(f"[trigger]\nblind_s = {value}\n")[1]
    assert problem.key == "trigger.blind_s"


def test_an_unknown_word_in_a_list_is_told_with_those_there_are():
    (problem,) = parse('[emit]\nsinks = ["mqtt"]\n')[1]
    assert problem.text == "`emit.sinks[0]`: 'mqtt': use one of jsonl, stdout, serial"


def test_a_value_in_place_of_a_table_is_told_with_how_a_table_is_written():
    (problem,) = parse('[cameras]\ngate = "rtsp://gate/x"\n')[1]
    assert "got `str`: write a table" in problem.text


def test_a_nul_in_a_text_is_told_with_its_key():
    _, problems = parse('[cameras.gate]\nsource = "x.mp4"\n[describe]\nfilters = "a\\u0000b"\n')
    assert [(problem.line, problem.key) for problem in problems] == [(4, "describe.filters")]
    assert "a NUL is in this text" in problems[0].text


def test_a_line_without_end_in_a_text_is_read_at_once():
    began = time.process_time()
    parse('[cameras.gate]\nsource = """\n[' + " " * 500_000 + '\n"""\n')
    assert time.process_time() - began < 5


@pytest.mark.parametrize("content", [b"\xff", b"a = " + b"[" * 100_000, b"a = " + b"9" * 5_000])
def test_a_file_that_is_no_toml_is_one_line(tmp_path, content):
    (path := tmp_path / "site.toml").write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        load(path)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev", "/no/such/file"])
def test_what_is_no_regular_file_is_refused(path):
    with pytest.raises(ConfigError, match=f"{path}: cannot be read: "):
        load(Path(path))


def test_a_key_with_letters_that_a_terminal_obeys_is_shown_without_them(tmp_path):
    (path := tmp_path / "site.toml").write_text('"\\u001b[2J\\nfake" = 1\n')
    with pytest.raises(ConfigError) as refused:
        load(path)
    assert "`\ufffd[2J\ufffdfake`" in str(refused.value)
