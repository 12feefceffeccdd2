"""`pipeline doctor`: what a field engineer reads, and what programs read, on made boards."""

import json

import pytest
from click.testing import CliRunner

from pipeline.cli import exits, main
from pipeline.runtime import examining
from tests import trees


@pytest.fixture
def doctor(tmp_path):
    """Run the command on a made board; a configuration can be given."""

    def run(board, *more, config=""):
        tree = board(tmp_path / "sys")
        words = ["doctor", "--sysfs", str(tree), "--state-dir", str(tmp_path / "state"), *more]
        if config:
            (tmp_path / "site.toml").write_text(config, encoding="utf-8")
            words.insert(1, str(tmp_path / "site.toml"))
        return CliRunner().invoke(main, words)

    return run


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Memory is not measured in every test."""
    monkeypatch.setattr(examining, "bandwidth", lambda _: 20.0)


def lines(result):
    return {one["name"]: one for one in json.loads(result.output)["findings"]}


def read(result):
    """The table without its frame, as one line."""
    return " ".join(result.output.replace("│", " ").split())


def test_a_field_engineer_reads_lines_with_states_and_remedies(doctor):
    result = doctor(trees.rk3588)
    text = read(result)
    assert "encode, describe cores 5-7: the big ones" in text
    assert "language model 3 threads" in text
    assert "heat: soc-thermal 47.2 C; passive trip at 85 C" in text
    assert "frequency: fdab0000.npu up to 1000 MHz, the bound may be set" in text
    assert "20.0 GB/s read and written by 3 threads" in text
    assert "0 troubles" in text
    assert result.exit_code == 0


def test_programs_read_the_same_as_json(doctor):
    result = doctor(trees.rk3588, "--json")
    told = json.loads(result.output)
    assert told["cores"] == {"big": [4, 5, 6, 7], "little": [0, 1, 2, 3]}
    assert told["places"]["describe"] == {"cores": [5, 6, 7], "nice": 5, "realtime": False}
    assert (told["threads"], told["troubles"], result.exit_code) == (3, 0, 0)
    assert all(set(one) == {"state", "name", "found", "remedy"} for one in told["findings"])
    assert {one["state"] for one in told["findings"]} <= {"ok", "note"}
    assert lines(result)["encoder"]["found"] == "cpu: cpu_baseline, the daemon would use: cpu"


@pytest.mark.parametrize(("board", "threads"), [(trees.pi4, 3), (trees.jetson, 5), (trees.hybrid, 3)])
def test_other_boards_are_examined_alike(doctor, board, threads):
    assert json.loads(doctor(board, "--json").output)["threads"] == threads


def test_a_container_with_a_quota_is_noticed(doctor):
    def board(root):
        return trees.write(trees.pi4(root), {"fs/cgroup/cpu.max": "150000 100000", "fs/cgroup/pids.max": 40})

    result = doctor(board, "--json")
    assert lines(result)["processor quota"]["state"] == "note"
    assert json.loads(result.output)["threads"] == 1
    assert lines(result)["processes and threads"]["state"] == "trouble"
    assert result.exit_code == exits.TROUBLE


def test_a_board_is_called_as_its_maker_calls_it(doctor):
    def board(root):
        return trees.write(trees.rk3588(root), {"firmware/devicetree/base/model": "Radxa ROCK 5B\0"})

    assert lines(doctor(board, "--json"))["board"]["found"] == "Radxa ROCK 5B"


def test_a_pc_is_called_as_its_firmware_calls_it(doctor):
    def board(root):
        return trees.write(
            trees.hybrid(root), {"class/dmi/id/sys_vendor": "Acme", "class/dmi/id/product_name": "Box 1"}
        )

    assert lines(doctor(board, "--json"))["board"]["found"] == "Acme Box 1"


def test_an_accelerator_that_is_not_there_is_trouble_with_its_reason(doctor):
    result = doctor(trees.pi4, "--json", config='[encode]\nbackend = "rknn"\n')
    line = lines(result)["encoder"]
    assert line["state"] == "trouble"
    assert "rknn: not opened, the daemon would use: cpu" in line["found"]
    assert "offload-report" in line["remedy"]
    assert result.exit_code == exits.TROUBLE


def test_an_encoder_of_ones_own_that_is_not_there_is_trouble(doctor):
    line = lines(doctor(trees.pi4, "--json", config='[encode]\nmodel = "/none/mine.onnx"\n'))["encoder"]
    assert (line["state"], "/none/mine.onnx" in line["found"]) == ("trouble", True)


def test_a_model_that_is_configured_and_not_installed_is_trouble(doctor):
    line = lines(doctor(trees.pi4, "--json", config='[describe]\nmodel = "small"\n'))["language model in use"]
    assert (line["state"], "small is not installed" in line["found"]) == ("trouble", True)


def test_no_model_is_a_note_unless_that_is_meant(doctor):
    assert lines(doctor(trees.pi4, "--json"))["language model in use"]["state"] == "note"
    meant = doctor(trees.pi4, "--json", config='[describe]\nmodel = "none"\n')
    assert lines(meant)["language model in use"]["state"] == "ok"


def test_an_empty_tree_is_examined_without_a_crash(doctor):
    def board(root):
        root.mkdir()
        return root

    assert doctor(board, "--json").exit_code in {0, exits.TROUBLE}


def test_a_configuration_with_mistakes_is_refused(doctor):
    assert doctor(trees.pi4, config="[placement]\npinn = true\n").exit_code == exits.USAGE


def test_a_link_to_nothing_in_the_place_of_the_state_folder_is_trouble(doctor, tmp_path):
    (tmp_path / "state").symlink_to(tmp_path / "unplugged disk")
    found = lines(doctor(trees.rk3588, "--json"))["state folder"]
    assert (found["state"], found["found"]) == ("trouble", f"{tmp_path / 'state'}: not writable")


def test_memory_is_copied_whole_for_any_number_of_threads(monkeypatch):
    monkeypatch.undo()
    assert examining.bandwidth(3, 1 << 20) > 0
