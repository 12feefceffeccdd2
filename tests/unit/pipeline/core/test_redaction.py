"""What is told of addresses that hold passwords in any form."""

import pytest

from pipeline.core.configuration import parse
from pipeline.core.errors import SourceError
from pipeline.core.secrets import redact
from pipeline.core.settings import CameraSettings, CaptureSettings
from stages.sources.opening import is_live, opened

ADDRESSES = [
    "rtsp://127.0.0.1:9/user=admin_password=S3cr3t_channel=1_stream=0.sdp",
    "rtsp://gate:554;pwd=S3cr3t/sub",
    "rtsp://gate;pwd=S3cr3t",
    "rtsp://gate:554_pwd=S3cr3t",
    "rtsp://gate:554:S3cr3t@x/y",
    "rtsp://gate\\S3cr3t",
    "rtsp:///S3cr3t",
    "http://gate/token/S3cr3t",
    "HTTP://gate?pwd=S3cr3t",
    "http://gate#S3cr3t",
    "rtsp://gate/live@S3cr3t",
    "rtsp://gate:554/live@S3cr3t",
    "rtsp://10.0.0.2/live@S3cr3t",
    "rtsp://user:pw@gate/live@S3cr3t",
    "rtsp://user:12345/S3cr3t@gate/sub",
    "rtsp://user:p@S3cr3t/x@gate/sub",
    "rtsp://user:p S3cr3t@gate/sub",
    "ftp://user:S3cr3t@gate/sub",
    "user:S3cr3t@rtsp://gate/sub",
    "rtsp ://user:S3cr3t@gate",
    "rtsp:///user:S3cr3t@gate/x",
    "rtsp:gate/user=admin_password=S3cr3t",
    "rtsp//gate/S3cr3t",
    "rtsp:/gate/S3cr3t",
    "rtsp:\\\\user:S3cr3t@gate\\sub",
    "rtsp:user:S3cr3t/x@gate/sub",
    "//user:S3cr3t@gate/sub",
    "user:S3cr3t@gate",
    "gate/user=admin_password=S3cr3t",
    "gate:554/S3cr3t",
    "10.0.0.2/S3cr3t",
    "user=admin&password=S3cr3t",
    "file://user:S3cr3t@gate/clip.mp4",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_part_of_an_address_tells_a_password(address):
    told = redact(address)
    assert not any(part in told for part in ("S3cr3t", "S3", "cr3t", "12345"))


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_problem_of_a_configuration_tells_a_password(address):
    written = address.replace("\\", "\\\\")
    _, problems = parse(f'[cameras.gate]\nsource = "{written}"\nplaces = 1\n')
    assert not any("S3cr3t" in problem.text for problem in problems)
    _, problems = parse(f'[cameras.gate]\nsource = "{written}"\n')
    assert not any("S3cr3t" in problem.text for problem in problems)


@pytest.mark.parametrize("address", [one for one in ADDRESSES if not is_live(one)])
def test_no_error_of_a_source_that_cannot_be_opened_tells_a_password(address):
    with pytest.raises(SourceError) as refused:
        opened(CameraSettings(source=address), CaptureSettings())
    assert "S3cr3t" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("rtsp://127.0.0.1:9/user=admin_password=x_channel=1_stream=0.sdp", "rtsp://127.0.0.1:9"),
        ("rtsp://u:p@w/x@10.0.0.2/sub", "rtsp://10.0.0.2"),
        ("rtsp://10.0.0.2:554/live@x", "rtsp://10.0.0.2:554"),
        ("rtsp://user:pw@gate/live@x", "rtsp://…"),
        ("rtsp://gate/live@x", "rtsp://gate"),
        ("rtsp://user:pw@[fe80::1%eth0]:554/sub", "rtsp://[fe80::1%eth0]:554"),
        ("10.0.0.2:554/x", "10.0.0.2:554"),
    ],
)
def test_kind_host_and_port_are_told_where_they_are_sure(address, told):
    assert redact(address) == told


@pytest.mark.parametrize(
    "source",
    [
        "/clips/yard:2@night.mp4",
        "../clips/a=b.mp4",
        "clips/walk.mp4",
        "/dev/video0",
        "v4l2:/dev/v4l/by-id/cam",
        "file:///clips/a@b.mp4",
        "synthetic://?width=320&height=180",
    ],
)
def test_what_is_no_address_is_told_whole(source):
    assert redact(source) == source


def test_another_host_is_another_configuration():
    found = {parse(f'[cameras.a]\nsource = "rtsp://{host}/x"')[0].digest() for host in ("gate", "yard", "gate:8554")}
    assert len(found) == 3
