"""A configuration whose passwords every user may read."""

import pytest

from pipeline.core import secrets
from pipeline.core.configuration import load


@pytest.fixture
def written(tmp_path):
    def write(source, mode):
        path = tmp_path / "site.toml"
        path.write_text(f'[cameras.gate]\nsource = "{source}"\n')
        path.chmod(mode)
        return path

    return write


@pytest.mark.parametrize(
    "source",
    [
        "rtsp://admin:S3cret@gate/x",
        "rtsp://gate/user=admin_password=S3cret_channel=1",
        "rtsp://gate;pwd=S3cret",
        "http://gate/token/S3cret",
        "http://gate/x?k=S3cret",
    ],
)
def test_a_readable_file_with_a_password_is_told_with_the_command_that_closes_it(written, source):
    path = written(source, 0o644)
    told = secrets.find_exposure(path, load(path).sources)
    assert told.remedy == f"chmod o-r {path}"
    assert "camera gate" in str(told)
    assert "S3cret" not in str(told)


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_file_that_its_owner_and_group_may_read_is_in_order(written, mode):
    path = written("rtsp://admin:S3cret@gate/x", mode)
    assert secrets.find_exposure(path, load(path).sources) is None


@pytest.mark.parametrize(
    "source", ["rtsp://gate:554/live/ch0", "/dev/video0", "/clips/me@home=1.mp4", "synthetic://?width=64"]
)
def test_a_file_without_passwords_may_be_read_by_all(written, source):
    path = written(source, 0o644)
    assert secrets.find_exposure(path, load(path).sources) is None
