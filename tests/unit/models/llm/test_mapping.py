"""Weights that are mapped from files of their own: only ever those of this model and these options."""

from __future__ import annotations

import os

import pytest

from models.llm import folder, mapping
from models.llm.mapping import Mapping


@pytest.fixture
def model(tmp_path):
    target = tmp_path / "small" / "1"
    target.mkdir(parents=True)
    (target / folder.WEIGHTS).write_bytes(bytes(1000))
    described = folder.describe(target / folder.WEIGHTS)
    folder.write(target, folder.ModelManifest(format=1, title="small", files={folder.WEIGHTS: described}))
    return target


def made(weights, size=5 << 20):
    with weights.build() as part, (part / "0.static").open("wb") as file:
        file.write(b"weights")
        os.truncate(file.fileno(), size)
        file.seek(3 << 20)
        file.write(b"more")
    return weights


def test_what_was_made_is_sealed(model):
    assert not Mapping(model, "engine 1").is_sealed()
    assert made(Mapping(model, "engine 1")).is_sealed()
    assert Mapping(model, "engine 1").is_sealed()


def test_another_engine_or_option_has_another_mapping(model):
    made(Mapping(model, "engine 1"))
    assert not Mapping(model, "engine 2").is_sealed()


def test_other_weights_have_another_mapping(model):
    path = made(Mapping(model, "engine 1")).path
    (model / folder.WEIGHTS).write_bytes(bytes(999) + b"x")
    files = {folder.WEIGHTS: folder.describe(model / folder.WEIGHTS)}
    folder.write(model, folder.ModelManifest(format=1, title="small", files=files))
    assert Mapping(model, "engine 1").path != path


@pytest.mark.parametrize("at", [0, 3 << 20, (5 << 20) - 1])
def test_a_changed_byte_breaks_the_seal(model, at):
    weights = made(Mapping(model, "engine 1"))
    with (weights.path / "0.static").open("r+b") as file:
        file.seek(at)
        file.write(b"!")
    assert not weights.is_sealed()


def test_a_shorter_file_breaks_the_seal(model):
    weights = made(Mapping(model, "engine 1"))
    os.truncate(weights.path / "0.static", 4 << 20)
    assert not weights.is_sealed()


def test_where_a_file_has_holes_does_not_matter(model):
    weights = made(Mapping(model, "engine 1"))
    path = weights.path / "0.static"
    path.write_bytes(path.read_bytes())
    assert weights.is_sealed()


def test_what_was_not_finished_leaves_nothing(model):
    def broken():
        with Mapping(model, "engine 1").build() as part:
            (part / "0.static").write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert not list(model.glob(".mapping-*"))


def test_what_a_killed_process_left_is_swept_with_the_next(model):
    (model / ".mapping-0123.part").mkdir()
    (model / ".mapping-4567").mkdir()
    weights = made(Mapping(model, "engine 1"))
    assert list(model.glob(".mapping-*")) == [weights.path]


def test_it_fits_where_the_disk_has_room(model, monkeypatch):
    assert Mapping(model, "engine 1").has_room()
    full = mapping.shutil.disk_usage(model)._replace(free=64 << 20)
    monkeypatch.setattr(mapping.shutil, "disk_usage", lambda _: full)
    assert not Mapping(model, "engine 1").has_room()


def test_who_keeps_the_mapping_for_too_long_is_not_waited_for(model, monkeypatch):
    monkeypatch.setattr(mapping, "_PATIENCE_S", 0.1)
    with mapping.lock(model), pytest.raises(OSError, match="another process keeps the mapping"), mapping.lock(model):
        pass
    with mapping.lock(model):
        pass
