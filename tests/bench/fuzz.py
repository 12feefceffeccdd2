"""Damaged inputs for every reader of files and messages: tracebacks, hangs, memory (long: a target a reader).

Inputs are drawn from a seed: the same seed gives the same inputs. Each target reads in a process of its own with a
limit of memory and of time for each input. Right is what is read, and an error of ours; `tracebacks` is any other
error, `hangs` what took longer than the limit or ended the process, `over_200_mb` what made the process grow by more
than 200 MB, and `raw` what reached the output in letters that a terminal obeys.

usage: python -m tests.bench.fuzz [--inputs N] [--each] [--seed S] [--targets NAME ...] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import msgspec
import numpy as np

from models import tags
from models.asking import weighing
from models.encoders import artefact, onnxfile
from models.llm import folder, layout, tokenizer
from models.llm.gguf import Gguf, Kind
from models.llm.lora import Adapter
from models.store import Store
from pipeline.app import cases, check, digest, search, summaries, verdicts
from pipeline.app import notes_check as effect
from pipeline.app.events import Events
from pipeline.app.judging import JudgingTools
from pipeline.app.site import Site
from pipeline.core import files, messages, settings
from pipeline.core.bench.baseline import Device
from pipeline.core.decoding import decode
from pipeline.core.digest import groups as digests
from pipeline.core.errors import PipelineError
from pipeline.core.incident.eventfiles import Reader
from pipeline.core.note import notebook, words
from pipeline.core.note.clauses import compile_note
from pipeline.core.note.places import Places
from pipeline.core.settings import DescribeSettings, EmitSettings, SiteSettings
from pipeline.core.text import filters
from pipeline.core.verdict import rulebook
from pipeline.eventlog import cursor, entries, segments
from pipeline.eventlog.reader import LogReader
from pipeline.resources import config_file
from pipeline.runtime import measuring
from pipeline.view import configuration, heatplot, notes, timeline
from pipeline.view import digest as digest_view
from stages.journal import Journal, Opened, Reserve, Weight
from stages.sinks import lines as sink_lines
from stages.sinks.jsonl import JsonLines, last_written
from tests import ggufs
from tests.bench.report import last_line, table
from tests.fakes import course, logged, raised
from tests.mutations import Damage
from tools.make_footage import make

LIMIT_S = 10.0
GROWTH_MB = 200.0
SPARE_BYTES = 2 << 30  # of address space beyond what a target has when it begins
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
ROOT = Path(__file__).parents[2]
FAULTS = ("tracebacks", "hangs", "over_200_mb", "raw")
SITE = """
[site]
timezone = "Europe/Vienna"
[cameras.gate]
source = "synthetic://?width=320&height=180"
[cameras.yard]
source = "rtsp://viewer:secret@127.0.0.1:9/test"
restricted = true
[cameras.yard.zones.dock]
polygon = [[0.1, 0.5], [0.6, 0.5], [0.6, 1.0]]
[trigger]
gap_s = 1.0
"""
NOTES = (
    "Trucks may wait at the dock for 10 minutes, 07:00-17:00.",
    "卡车可以在装卸区停留10分钟",
    "Nobody after 22:00.",
)
SINCE = ("22:00", "8h", "2d", "1970-01-01T00:00", "2026-11-29T22:00", "0h", "99999999d", "-1h", "x")


class Target:
    """A reader with what it begins from.

    Args:
        work: A folder of its own.
    """

    def __init__(self, work):
        self.work = work
        self.file = work / "input"
        self.prepare()

    def prepare(self):
        """Read or write what is not damaged."""

    def draw(self, damage):
        """The bytes of an input."""
        raise NotImplementedError

    def read(self, data, chance):
        """Let the product read it; `chance` draws options."""
        raise NotImplementedError


class Toml(Target):
    """A table that somebody wrote by hand."""

    name = ""
    text = ""

    def draw(self, damage):
        given = [config_file(self.name).read_text(encoding="utf-8"), *([self.text] if self.text else [])]
        return damage.toml(damage.random.choice(given))


class Configuration(Toml):
    name, text = "pipeline.toml", SITE

    def prepare(self):
        self.book = rulebook.load(config_file("incidents.toml"))

    def read(self, data, chance):
        self.file.write_bytes(data)
        checked = check.describe_configuration(Site(self.file, None), self.book)
        configuration.show(checked, as_json=chance.random() < 0.3)


class Filters(Toml):
    name = "filters.toml"

    def read(self, data, chance):
        self.file.write_bytes(data)
        filters.load(self.file).match_output("A person stands at the gate.", ())


class Words(Toml):
    name = "words.toml"

    def read(self, data, chance):
        self.file.write_bytes(data)
        compile_note(chance.choice(NOTES), words.load(self.file))


class Incidents(Toml):
    name = "incidents.toml"

    def read(self, data, chance):
        self.file.write_bytes(data)
        rulebook.load(self.file)


class Lines(Target):
    """A file of events."""

    def prepare(self):
        self.events = events()
        self.book = rulebook.load(config_file("incidents.toml"))

    def draw(self, damage):
        return damage.lines(self.events)


class Timeline(Lines):
    def read(self, data, chance):
        self.file.write_bytes(data)
        camera, kind = chance.choice(("", "", "gate")), chance.choice(("", "incident"))
        chosen = Events(self.file, camera, kind)
        timeline.show(chosen, everything=chance.random() < 0.5, as_json=chance.random() < 0.4)


class Digest(Lines):
    def prepare(self):
        super().prepare()
        row, limits = self.book.words, self.book.limits
        loudness = digests.Loudness(row.action, row.severity, limits.speak)
        silent = msgspec.structs.replace(DescribeSettings(), model="none")
        self.tools = digest.DigestTools(loudness, filters.load(config_file("filters.toml")), Store(self.work), silent)

    def read(self, data, chance):
        self.file.write_bytes(data)
        asked = digest.RequestedPeriod(chance.choice(SINCE), chance.choice(("", "", "1h", "2026-12-01T00:00")))
        digest_view.show(digest.digest_events(self.file, asked, self.tools), as_json=chance.random() < 0.3)


class Search(Lines):
    def read(self, data, chance):
        self.file.write_bytes(data)
        list(search.read_features(Reader(self.file)))


class Check(Lines):
    def prepare(self):
        super().prepare()
        lexicon = words.load(config_file("words.toml"))
        self.notes = written_notes(lexicon)
        self.tools = JudgingTools(self.book, lexicon, None)
        self.places = Places(settings.Settings())

    def read(self, data, chance):
        self.file.write_bytes(data)
        past = cases.read_past_incidents(Reader(self.file))
        done = effect.judge(past, self.notes, self.tools, self.places, lambda *_: None)
        notes.print_effect(effect.summarise(done, self.notes, self.book), as_json=chance.random() < 0.4)


class Sets(Lines):
    def read(self, data, chance):
        self.file.write_bytes(data)
        chance.choice((summaries.read_cases, verdicts.read))(self.file)


class Repair(Lines):
    """A file of events as a daemon finds it at its start."""

    def prepare(self):
        super().prepare()
        self.log = logged_events(self.work / "log")

    def read(self, data, chance):
        self.file.write_bytes(data)
        last_written(self.file)
        event = logged(self.log)[0]
        sink = JsonLines(self.file, EmitSettings(fsync="never"), sink_lines.Lines(SiteSettings(), lambda _: ()))
        sink.deliver(event, 0)
        sink.close()
        assert self.file.read_bytes().endswith(b"\n")


class Log(Target):
    """The event log as a daemon finds it at its start: what trigger reads back, and what emit reads."""

    def prepare(self):
        self.log = logged_events(self.work / "log")
        (self.segment,) = segments.segments(self.log)
        used = self.segment.path.read_bytes().rstrip(b"\0")
        self.size, self.good = self.segment.path.stat().st_size, used

    def draw(self, damage):
        return damage.bytes(self.good)[: self.size]

    def read(self, data, chance):
        if not self.segment.path.is_file():
            self.segment.path.touch()
        with self.segment.path.open("r+b") as file:
            file.write(data.ljust(self.size, b"\0"))
        (entries.cursors(self.log) / "a.cursor").write_bytes(data[: chance.choice((0, 30, 64))])
        life = Journal(self.log, Reserve(3e5, 1e6))
        life.record(raised("later"), (1, 1, "boot"), Weight.END)
        life.close()
        for record in iter(LogReader(self.log).next, None):
            with contextlib.suppress(msgspec.DecodeError):
                entries.decode(record.payload)
        cursor.Cursor(entries.cursors(self.log) / "a.cursor").close()


class Heat(Target):
    def draw(self, damage):
        row = {"at_s": 1.0, "temp_c": 50.0, "frequency": 1.0, "rung": "full", "queue_s": 0.0, "served_s": 1.0}
        return damage.lines([row])

    def read(self, data, chance):
        self.file.write_bytes(data)
        heatplot.read(self.file)


class Notes(Target):
    def prepare(self):
        self.lexicon = words.load(config_file("words.toml"))
        self.book = json.loads(notebook.encode(written_notes(self.lexicon)))

    def draw(self, damage):
        return damage.json(self.book)

    def read(self, data, chance):
        self.file.write_bytes(data)
        book = notebook.load(self.file)
        notes.print_list(book, as_json=chance.random() < 0.4)
        notebook.encode(book.with_note(compile_note("Dogs may be in the yard.", self.lexicon), ""))


class Weighed(Target):
    def draw(self, damage):
        return damage.json({"of": "a" * 64, "answers": {"person, gate": {NOTES[0]: 0.25}}})

    def read(self, data, chance):
        self.file.write_bytes(data)
        with contextlib.suppress(msgspec.DecodeError):
            decode(files.read_bounded(self.file), weighing._AnswersFile)


class Baselines(Target):
    def draw(self, damage):
        device = {"cpu": "a", "cores": 4, "memory_mb": 4000, "kernel": "Linux", "python": "3.11", "engine": "MNN 3"}
        model = {"name": "a", "version": "b", "sha256": "c", "recipe": "keep", "bytes": 1}
        return damage.json({"format": 1, "device": device, "model": model, "rows": [{"threads": 1, "values": {}}]})

    def read(self, data, chance):
        self.file.write_bytes(data)
        measuring.before(self.file, Device("a", 4, 4000, "Linux", "3.11", "MNN 3"), "c")


class Messages(Target):
    """What passes on a link."""

    def prepare(self):
        self.seeds = messages_of_a_link()

    def draw(self, damage):
        table = damage.random.choice(self.seeds)
        while True:
            try:
                data = msgspec.msgpack.encode(damage.table(table))
            except (OverflowError, UnicodeEncodeError, RecursionError):  # nobody can send that
                continue
            break
        kind = damage.random.randrange(20)
        return b"\x91" * 100_000 if kind == 0 else damage.bytes(data) if kind < 12 else data

    def read(self, data, chance):
        with contextlib.suppress(msgspec.DecodeError):
            messages.decode(data)


class Adapters(Target):
    def prepare(self):
        layer = "base_model.model.model.layers.5.self_attn.q_proj"
        pair = {
            f"{layer}.lora_A.weight": np.ones((4, 32), "<f4"),
            f"{layer}.lora_B.weight": np.ones((32, 4), "<f4"),
        }
        path = ggufs.safetensors(self.work / "good.safetensors", pair, {"alpha": "8"})
        data = path.read_bytes()
        self.size = int.from_bytes(data[:8], "little")
        self.header, self.rest = json.loads(data[8 : 8 + self.size]), data[8 + self.size :]

    def draw(self, damage):
        if damage.random.random() < 0.4:
            text = json.dumps(self.header).encode()
            return damage.bytes(len(text).to_bytes(8, "little") + text + self.rest)
        text = damage.json(self.header)
        return len(text).to_bytes(8, "little") + text + self.rest

    def read(self, data, chance):
        self.file.write_bytes(data)
        found = Adapter(self.file)
        for one in found.layers:
            found.shape(one)
            found.delta(one, 0, 4)


class Onnx(Target):
    def prepare(self):
        self.seeds = [path.read_bytes()[:60_000] for path in sorted((ROOT / "models/bundled").glob("*.onnx"))]
        installed = Path(__import__("onnxruntime").__file__).parent / "datasets"
        self.seeds += [path.read_bytes() for path in sorted(installed.glob("*.onnx"))]

    def draw(self, damage):
        return damage.bytes(damage.random.choice(self.seeds))

    def read(self, data, chance):
        self.file.write_bytes(data)
        found = onnxfile.read(self.file)
        onnxfile.observable_operations(found)
        assert isinstance((found.dynamic, found.rim, found.quantised), tuple)


class Ggufs(Target):
    def prepare(self):
        self.metadata = {
            "general.architecture": "llama", "general.name": "x", "llama.block_count": 2, "llama.embedding_length": 64,
            "llama.feed_forward_length": 128, "llama.attention.head_count": 2, "llama.attention.head_count_kv": 1,
            "llama.context_length": 128, "llama.rope.freq_base": 10000.0, **ggufs.vocabulary(),
        }  # fmt: skip
        self.tensors = {
            "token_embd.weight": (Kind.Q8_0, 260, 64, ggufs.blocks(Kind.Q8_0, 260, 64).tobytes()),
            "blk.0.attn_q.weight": (Kind.Q4_0, 64, 64, ggufs.blocks(Kind.Q4_0, 64, 64).tobytes()),
        }

    def draw(self, damage):
        chance, odd = damage.random, (0, 1, 1.5, True, "x", "\x1b[2J", 2**32 - 1, ["a"])
        changed = {key: value if chance.random() < 0.9 else chance.choice(odd) for key, value in self.metadata.items()}
        data = ggufs.gguf(changed if chance.random() < 0.4 else self.metadata, self.tensors)
        head = data[: chance.choice((24, 200, 4000, len(data)))]
        return (damage.bytes(head) if chance.random() < 0.8 else head) + data[len(head) :]

    def read(self, data, chance):
        self.file.write_bytes(data)
        model = Gguf(self.file)
        for read in (layout.read_shape, tokenizer.read_vocabulary):
            with contextlib.suppress(PipelineError):
                read(model)
        for name in list(model.tensors)[:3]:
            model.tensor(name)


class Tokenizers(Target):
    def prepare(self):
        path = self.work / "good.gguf"
        path.write_bytes(ggufs.gguf({"general.architecture": "llama", **ggufs.vocabulary()}, {}))
        self.good = tokenizer.encode_mtok(tokenizer.read_vocabulary(Gguf(path)))

    def draw(self, damage):
        return damage.bytes(self.good)

    def read(self, data, chance):
        self.file.write_bytes(data)
        tokenizer.read(self.file)


class Manifests(Target):
    """A model's manifest, and which model is in use."""

    def prepare(self):
        self.folder = self.work / "models/a/b"
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / folder.WEIGHTS).write_bytes(b"weights")
        described = msgspec.to_builtins(folder.describe(self.folder / folder.WEIGHTS))
        self.manifest = {
            "format": folder.FORMAT, "title": "x", "files": {folder.WEIGHTS: described, "../../out": described},
            "source": {"name": "x.gguf", "sha256": "0" * 64, "bytes": 1}, "recipe": "keep", "layers": {"q4": 1},
        }  # fmt: skip

    def draw(self, damage):
        if damage.random.random() < 0.7:
            inside = {folder.WEIGHTS: self.manifest["files"][folder.WEIGHTS]}
            return damage.json(self.manifest | {"files": inside})
        return damage.json(self.manifest)

    def read(self, data, chance):
        (self.folder / folder.MANIFEST).write_bytes(data)
        (self.work / "models/active.json").write_bytes(chance.choice((b'{"name":"a","version":"b"}', data)))
        store = Store(self.work)
        store.list_installed()
        list(store.verify(""))
        with contextlib.suppress(PipelineError):
            store.active()
        folder.read(self.folder)


class Artefacts(Target):
    def prepare(self):
        self.folder = self.work / "made"
        self.folder.mkdir(exist_ok=True)
        facts = {
            "source": "0" * 64, "target": "qnn", "soc": "43", "passes": ["a/b/1"], "calibration": "x", "keep": [],
            "layout": "nchw", "mean": [1.0, 2.0, 3.0], "deviation": [1.0, 2.0, 3.0], "tools": {"onnx": "1"},
        }  # fmt: skip
        self.manifest = {
            "format": artefact.FORMAT, "source": "x.onnx", "facts": facts, "digest": "0" * 64, "command": "x",
            "passes": [], "kept": [], "verdict": "full", "left": [], "cosine": 0.99, "file": "x.onnx",
            "sha256": "0" * 64, "bytes": 1, "seal": "0" * 64,
        }  # fmt: skip

    def draw(self, damage):
        return damage.json(self.manifest)

    def read(self, data, chance):
        (self.folder / artefact.MANIFEST).write_bytes(data)
        artefact.check_file(self.folder, artefact.read(self.folder))


class Vectors(Target):
    """A table of tags for an encoder of one's own."""

    def prepare(self):
        path = self.work / "good.npz"
        np.savez(path, names=np.array(["car", "dog"]), vectors=np.eye(2, 8, dtype=np.float32), scale=10.0)
        self.good = path.read_bytes()

    def draw(self, damage):
        return damage.bytes(self.good)

    def read(self, data, chance):
        self.file.write_bytes(data)
        tags.VectorTable.load(self.file, 8)


TARGETS = {
    "configuration": Configuration, "filters": Filters, "words": Words, "incidents": Incidents, "timeline": Timeline,
    "digest": Digest, "search": Search, "check": Check, "sets": Sets, "repair": Repair, "log": Log, "heat": Heat,
    "notes": Notes, "weighed": Weighed, "baseline": Baselines, "messages": Messages, "adapter": Adapters, "onnx": Onnx,
    "gguf": Ggufs, "tokenizer": Tokenizers, "manifest": Manifests, "artefact": Artefacts, "vectors": Vectors,
}  # fmt: skip


def logged_events(folder):
    """An event log of some incidents; returns its folder."""
    life = Journal(folder, Reserve(3e5, 1e6))
    for number in range(8):
        life.record(raised(f"inc-{number}/1"), (1, 1, "boot"), Weight.URGENT, Opened(course(id=f"inc-{number}")))
    life.close()
    entries.cursors(folder).mkdir(exist_ok=True)
    return folder


def events():
    """Events of a drawn recording, as tables; made once for all targets."""
    path = Path(os.environ["FUZZ_EVENTS"])
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def recorded(work):
    """Let the product write a file of events."""
    clip = make(work / "walk.mp4", width=160, height=96, fps=10, seconds=16, walks=2, pause_s=2, walk_s=3)
    command = [sys.executable, "-m", "pipeline", "replay", clip, "--out", work / "out", "--quiet", "--state-dir", work]
    code = "from pipeline.cli import main; import sys; sys.argv[0] = 'pipeline'; main()"
    command[1:3] = ["-c", code]
    subprocess.run(list(map(str, command)), cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
    return work / "out" / "events.jsonl"


def messages_of_a_link():
    """One message of several kinds, as tables."""
    frame = messages.FrameRef("gate", 1, 1, 1, 1, 160, 96, 0, False)
    at = {"pts_ns": 1, "utc_ns": 1}
    hops = (messages.Hop("capture", 1, 2), messages.Hop("motion", 3, 4))
    made = (
        messages.FrameCaptured(frame=frame, hops=hops[:1]),
        messages.CameraChanged(camera="gate", state="lost", reason="x", **at),
        messages.MotionMeasured(
            frame=frame, boxes=((0.1, 0.1, 0.5, 0.5),), blurred=(), area_ratio=0.1, global_change=False, hops=hops
        ),
        messages.Ticked(drops={"motion": 1}, work=messages.Work(rss_mb={"motion": 30.0}), **at),
        messages.StageRestarted(stage="motion@gate", restarts=1, reason="signal 9", **at),
        messages.FeaturesEncoded(incident="i", tags=("car",), embedding=bytes(64), model="m"),
        messages.EncoderReported(state="loaded", details={"model": "m", "cosine": 0.5}, **at),
        messages.DeviceReported(what="thermal.level", details={"level": 1}, priority=messages.Priority.WARNING, **at),
    )
    return [msgspec.msgpack.decode(messages.encode(one)) for one in made]


def written_notes(lexicon):
    """A book of notes."""
    book = notebook.Notebook()
    for text in NOTES:
        book = book.with_note(compile_note(text, lexicon), "")
    return book


def drawn(target, seed, number):
    """Input `number` of a target, and what draws its options: the same for a seed."""
    chance = random.Random(f"{seed}/{type(target).__name__}/{number}")
    return target.draw(Damage(chance)), chance


def serve(name, seed, numbers, work, into):
    """In a process of its own: read inputs, and tell of each before and, where it is no good, behind it."""
    target = TARGETS[name](work)
    for number in range(2):
        attempt(target, seed, number)  # what is loaded once is no growth
    base = resident_mb()
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_BYTES, used + SPARE_BYTES))
    for number in numbers:
        tell(into, ["begins", number])
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        for kind, text in attempt(target, seed, number):
            tell(into, [kind, number, text])
        if (grown := resident_mb() - base) > GROWTH_MB:
            tell(into, ["over_200_mb", number, f"{grown:.0f} MB"])
            os._exit(0)  # the next begins small
    tell(into, ["done", numbers.stop])


def attempt(target, seed, number):
    """Let a target read one input; yields what is wrong."""
    data, chance = drawn(target, seed, number)
    said, wrong = io.StringIO(), []
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            target.read(data, chance)
        except PipelineError as error:
            said.write(str(error))
        except Exception as error:  # noqa: BLE001  # what is looked for
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            wrong.append(("tracebacks", f"{type(error).__name__} at {where}: {str(error)[:150]}"))
    if found := RAW.search(said.getvalue()):
        wrong.append(("raw", repr(said.getvalue()[max(0, found.start() - 60) : found.end() + 20])))
    return wrong


def tell(into, row):
    os.write(into, json.dumps(row).encode() + b"\n")


def resident_mb():
    """The peak of this process's memory since it was last reset."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"^VmHWM:\s+(\d+)", text, re.MULTILINE)[1]) / 1024


def fuzz(name, seed, inputs, work):
    """Send inputs to one target; what was found, as (kind, number, text)."""
    found, at = [], 0
    while at < inputs:
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(reader)
            try:
                serve(name, seed, range(at, inputs), work, writer)
            except BaseException:  # noqa: BLE001  # of this program, not of what it tries
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(writer)
        at = followed(reader, pid, at, inputs, found)
    return found


def followed(reader, pid, at, inputs, found):
    """Take what one process tells; the number of the input with which the next has to begin."""
    begun, ready = None, time.monotonic() + 60
    with os.fdopen(reader, "rb", buffering=0) as stream:
        lines = b""
        while True:
            wait = LIMIT_S if begun is not None else max(0.0, ready - time.monotonic())
            if not select.select([stream], [], [], wait)[0]:
                os.kill(pid, signal.SIGKILL)
                found.append(("hangs", begun or at, f"took longer than {wait:.0f} s"))
                break
            more = stream.read(65536)
            if not more:
                break
            *rows, lines = (lines + more).split(b"\n")
            for row in map(json.loads, rows):
                if row[0] in {"begins", "done"}:
                    begun = row[1]
                else:
                    found.append(tuple(row))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if begun is None:
        raise SystemExit(f"a target did not begin (status {status})")
    if status and found[-1:] != [("hangs", begun, f"took longer than {LIMIT_S:.0f} s")]:
        found.append(("hangs", begun, f"its process ended with status {status}"))
    return inputs if begun == inputs else begun + 1


def keep(found, name, seed, work, into):
    """Write the inputs at fault, one of each text, into a folder."""
    target, told = TARGETS[name](work), set()
    for kind, number, text in found:
        what = text.split(":")[0]
        if (kind, what) not in told:
            told.add((kind, what))
            path = into / f"{name}-{seed}-{number}-{kind}"
            path.write_bytes(drawn(target, seed, number)[0])
            print(f"  {path}: {text[:200]}")


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=2000, help="so many for all targets together")
    parser.add_argument("--each", action="store_true", help="so many for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--keep", type=Path, help="folder for inputs at fault")
    options = parser.parse_args()
    each = options.inputs if options.each else -(-options.inputs // len(options.targets))
    rows, told = [], {}
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        os.environ["FUZZ_EVENTS"] = str(recorded(Path(place)))
        for name in options.targets:
            (work := Path(place) / name).mkdir()
            began = time.monotonic()
            found = fuzz(name, options.seed, each, work)
            counts = {fault: sum(kind == fault for kind, _, _ in found) for fault in FAULTS}
            told[name] = {"inputs": each, **counts}
            rows.append((name, each, *counts.values(), f"{each / (time.monotonic() - began):.0f}"))
            if options.keep and found:
                options.keep.mkdir(parents=True, exist_ok=True)
                keep(found, name, options.seed, work, options.keep)
    table(f"Damaged inputs, seed {options.seed}", ("target", "inputs", *FAULTS, "a second"), rows)
    total = {key: sum(row[key] for row in told.values()) for key in ("inputs", *FAULTS)}
    last_line({**total, "seed": options.seed, "targets": told}, " ".join(sys.argv))


if __name__ == "__main__":
    main()
