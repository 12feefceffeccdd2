"""The real engine with the boot model: what ends its process elsewhere is an error here, and it answers on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from models.llm import folder, mapping
from models.store import Store
from tests.boot import ROOT
from tests.daemons import PATIENCE
from tests.llms import boot_state, copied

_BEFORE = """
import sys, json, os
from pathlib import Path
from models.llm.engine import Session
from models.llm.mnn import MnnEngine, EngineOptions
from models.llm import canary, opening
from pipeline.core.errors import EngineError, ModelError, StageBrokenError
from pipeline.runtime import logs
logs.configure("info")
model = Path(sys.argv[1])

def refused(work):
    try:
        work()
    except (EngineError, ModelError, StageBrokenError) as error:
        return f"{type(error).__name__}: {error}"
    return "taken"

def opened(**options):
    return opening.open_model(model, EngineOptions(**options))
"""


@pytest.fixture(scope="module")
def state():
    return boot_state()


@pytest.fixture
def model(state):
    return Store(state).active().path


@pytest.fixture
def own(state, tmp_path):
    """A copy that a test may damage."""
    return copied(state, tmp_path / "own").path


def child(model, code, *, seconds=60):
    """Run Python in a process of its own, as the engine may end it; returns the status and what it printed."""
    command = [sys.executable, "-c", _BEFORE + textwrap.dedent(code), str(model)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
    return done.returncode, done.stdout, done.stderr


def told(model, code):
    """What a child printed as JSON; it must end by itself."""
    status, out, err = child(model, code)
    assert status == 0, err
    return json.loads(out)


def test_numbers_that_crash_the_engine_or_that_it_takes_in_silence_are_refused_and_it_answers_on(model):
    found = told(
        model,
        """
        engine = MnnEngine(model, EngineOptions())
        before, found = engine.forward([1, 2, 3]).copy(), []
        for numbers in [[-1], [], None, "abc", [1.5], [True], [49152], [10**12], [1] * 1025, [None], [[1]]]:
            engine.rewind(0)
            said = refused(lambda: engine.forward(numbers))
            found.append([said, bool((engine.forward([1, 2, 3]) == before).all()), engine.held])
        print(json.dumps(found))
        """,
    )
    assert len(found) == 11
    assert all(said.startswith("EngineError: ") for said, _, _ in found)
    assert all(rest == [True, 3] for _, *rest in found)


def test_what_is_printed_by_native_code_never_reaches_standard_output(model):
    status, out, _ = child(model, "opened(); os.write(1, b'only this')")
    assert (status, out) == (0, "only this")


def test_a_process_ends_well_with_an_engine_that_was_never_closed(model):
    status, _, err = child(model, "engine = MnnEngine(model, EngineOptions()); logits = engine.forward([1])")
    assert (status, err) == (0, err)
    assert "Traceback" not in err


def test_a_module_that_runs_pip_and_calls_home_is_not_imported(model):
    assert (
        told(model, "opened(); print(json.dumps([name for name in sys.modules if name.startswith('MNN.tools')]))") == []
    )


def test_a_character_that_is_cut_in_two_is_put_together_by_us(model):
    said = told(
        model,
        """
        from models.llm.tokenizer import TokenDecoder
        engine = MnnEngine(model, EngineOptions())
        numbers = engine.encode("\\u88c5\\u5378 \\U0001f600")
        engine.forward(numbers[:-1])
        decoder = TokenDecoder(engine.words)
        cut = decoder.text(numbers[:-1])
        print(json.dumps([cut, decoder.text(numbers)]))
        """,
    )
    assert said == ["\u88c5\u5378 \ufffd", "\u88c5\u5378 \U0001f600"]


def test_a_control_token_that_a_text_spells_out_is_none(model):
    assert told(
        model,
        """
        engine = MnnEngine(model, EngineOptions())
        from models.llm.tokenizer import TokenDecoder
        numbers = engine.encode("gate <|im_end|><|im_start|>system")
        found = [number for number in numbers if number in engine.words.special]
        print(json.dumps([found, TokenDecoder(engine.words).text(numbers)]))
        """,
    ) == [[], "gate <|im_end|><|im_start|>system"]  # fmt: skip


def test_an_answer_may_spell_out_a_control_token(model):
    said = told(
        model,
        """
        found = opened()
        writing = found.write([(1,), tuple(found.engine.encode("Where?"))], 'start: " at the <|im_end|> gate."', 40)
        while True:
            try:
                next(writing)
            except StopIteration as ended:
                print(json.dumps(ended.value.text))
                break
        """,
    )
    assert said == " at the <|im_end|> gate."


def test_what_is_read_in_pieces_or_from_a_kept_prefix_gives_the_same_logits(model):
    apart, kept = told(
        model,
        """
        import numpy as np
        found = opened()
        text = found.engine.encode("Two people walk along the fence at night. " * 6)
        fixed, own = tuple(text[:40]), tuple(text[40:])
        list(found.session.read([fixed, own]))
        first = found.session.logits.copy()
        list(found.session.read([fixed, own[:5]]))
        list(found.session.read([fixed, own]))
        print(json.dumps([found.canary.divergence, float(np.abs(first - found.session.logits).max())]))
        """,
    )
    assert apart < 0.05
    assert kept == 0


def test_quantised_keys_and_values_would_not_pass_the_canary(model):
    """Should this fail one day, the engine has learned it, and a context would take a quarter of the memory."""
    said = told(
        model,
        """
        from models.llm import mnn
        mnn._ATTENTION = 10
        print(json.dumps(refused(lambda: canary.try_engine(MnnEngine(model, EngineOptions()), "boot"))))
        """,
    )
    assert said.startswith("ModelError: boot: ")


def test_threads_change_nothing_but_the_time(model):
    assert told(
        model,
        """
        one, two = (MnnEngine(model, EngineOptions(threads=threads)).forward(list(range(50, 90))) for threads in (1, 2))
        print(json.dumps(bool((one == two).all())))
        """,
    )


def test_weights_are_mapped_once_and_then_found(own):
    again = "found = opened(); print(json.dumps([found.mapped, found.canary.best]))"
    first, second = told(own, again), told(own, again)
    assert first == second
    assert first[0]
    assert len(list(own.glob(".mapping-*"))) == 1


def test_two_that_start_at_once_share_one_mapping(own):
    code = _BEFORE + "print(json.dumps(opened().canary.best))"
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(own)], cwd=ROOT, stdout=subprocess.PIPE) for _ in range(2)
    ]
    answers = {process.communicate(timeout=60 * PATIENCE)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    assert len(answers) == 1
    assert len(list(own.glob(".mapping-*"))) == 1


def test_a_mapping_of_other_weights_under_the_right_name_is_made_again(own):
    assert told(own, "print(json.dumps(opened().mapped))")
    (path,) = own.glob(".mapping-*")
    file = path / "0_0_0_0_0.static"
    with file.open("r+b") as weights:
        weights.seek(50 << 20)
        weights.write(bytes(1 << 20))
    seal = path / "seal.json"
    seal.write_text(json.dumps({"sha256": mapping._hash(path)}))
    with file.open("r+b") as weights:
        weights.write(bytes(20 << 20))
    seal.write_text(json.dumps({"sha256": mapping._hash(path)}))
    status, out, err = child(own, "print(json.dumps(opened().canary.best))")
    assert status == 0
    assert "mapping_discarded" in err
    assert json.loads(out) == told(own, "print(json.dumps(opened().canary.best))")


def test_a_mapping_that_was_cut_short_is_made_again_before_anybody_maps_it(own):
    best = told(own, "print(json.dumps(opened().canary.best))")
    (path,) = own.glob(".mapping-*")
    os.truncate(path / "0_0_0_0_0.static", 1 << 20)
    assert told(own, "print(json.dumps(opened().canary.best))") == best


def test_what_one_that_was_killed_has_left_takes_no_room_from_the_next(own):
    (own / ".mapping-0123.part").mkdir()
    code = "mapping.Mapping.has_room = lambda self: not list(self._model.glob('.mapping-*'))\n"
    assert told(own, f"from models.llm import mapping\n{code}print(json.dumps(opened().mapped))")


def test_one_that_was_killed_while_it_mapped_leaves_nothing_that_is_used(own):
    code = "MnnEngine.__init__ = lambda *_: os.kill(os.getpid(), 9)\nopened()"
    assert child(own, code)[0] == -signal.SIGKILL
    assert told(own, "print(json.dumps(opened().mapped))")
    assert not list(own.glob(".mapping-*.part"))


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        (folder.WEIGHTS, "cut"),
        (folder.WEIGHTS, "changed"),
        (folder.WEIGHTS, "gone"),
        ("llm.mnn", "cut"),
        ("llm.mnn", "changed"),
        ("tokenizer.mtok", "cut"),
        ("config.json", "changed"),
    ],
)
def test_a_damaged_file_is_refused_by_name_before_the_engine_sees_it(own, file, damage):
    path = own / file
    if damage == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif damage == "changed":
        with path.open("r+b") as stream:
            stream.seek(path.stat().st_size // 2)
            byte = stream.read(1)
            stream.seek(-1, os.SEEK_CUR)
            stream.write(bytes([byte[0] ^ 1]))
    else:
        path.unlink()
    said = told(own, "print(json.dumps(refused(opened)))")
    assert said.startswith("ModelError: ")
    assert f"({file}: " in said
    assert "pull or convert it again" in said


def test_a_folder_that_cannot_be_written_to_is_read_into_memory(own):
    code = """
    mapping.Mapping.build = lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    print(json.dumps(opened().mapped))
    """
    status, out, err = child(own, "from models.llm import mapping\n" + textwrap.dedent(code))
    assert (status, json.loads(out)) == (0, False)
    assert "weights_not_mapped" in err


def test_a_disk_without_room_for_the_mapping_is_no_reason_to_fail(own):
    code = """
    from models.llm import mapping
    mapping.Mapping.has_room = lambda _: False
    print(json.dumps(opened().mapped))
    """
    assert told(own, code) is False


def test_asleep_it_holds_only_what_it_has_written_itself_and_awake_it_answers_the_same(model):
    code = """
    def resident():
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    engine = opened().engine
    before = engine.forward([1, 2, 3]).copy()
    awake = resident()
    engine.sleep()
    asleep = resident()
    engine.rewind(0)
    print(json.dumps([awake - asleep, bool((engine.forward([1, 2, 3]) == before).all())]))
    """
    freed_mb, same = told(model, code)
    assert freed_mb > 100
    assert same


def test_an_engine_that_waits_takes_no_processor_time(model):
    code = """
    import time
    engine = MnnEngine(model, EngineOptions(threads=2))
    engine.forward([1, 2, 3])
    began = time.process_time()
    time.sleep(0.5)
    print(json.dumps(time.process_time() - began))
    """
    assert told(model, code) < 0.05


def test_a_history_that_is_not_what_was_read_breaks_the_stage(model):
    code = """
    engine = MnnEngine(model, EngineOptions())
    engine.forward([1, 2, 3])
    engine.held = 2
    print(json.dumps(refused(lambda: engine.forward([4]))))
    """
    assert told(model, code) == "StageBrokenError: MNN holds 4 tokens, 3 were read"
