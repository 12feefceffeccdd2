from __future__ import annotations

import pytest

from models import catalog
from pipeline.core.errors import ModelError


@pytest.mark.parametrize("name", [model.name for model in catalog.CATALOG])
def test_every_bundled_model_is_the_one_meant(name):
    assert catalog.verified_path(name) == catalog.model_path(name)


def test_every_bundled_file_has_a_row_and_a_notice():
    notice = (catalog.BUNDLED / "NOTICE").read_text()
    files = {file.relative_to(catalog.BUNDLED).as_posix() for file in catalog.BUNDLED.rglob("*") if file.is_file()}
    cards = {name for name in files if name.endswith(".md")}
    files -= {"NOTICE", *cards}
    assert files == {model.file for model in catalog.CATALOG}
    assert {name.removesuffix(".md") for name in cards} <= {name.rpartition(".")[0] for name in files}
    assert all(file in notice for file in files)


def test_an_unknown_model_is_refused_with_the_names_of_the_others():
    with pytest.raises(ModelError, match="nanodet-g-160-int8"):
        catalog.model_path("nanodet-x")


def test_a_tampered_file_is_refused_with_its_name_and_the_remedy(tmp_path, monkeypatch):
    data = bytearray(catalog.model_path("conse-minilm").read_bytes())
    data[-1000] ^= 1
    (tmp_path / "conse.npz").write_bytes(data)
    monkeypatch.setattr(catalog, "BUNDLED", tmp_path)
    with pytest.raises(ModelError, match=r"conse\.npz.*reinstall"):
        catalog.verified_path("conse-minilm")


def test_a_missing_file_is_refused_with_its_name_and_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(catalog, "BUNDLED", tmp_path)
    with pytest.raises(ModelError, match=r"conse\.npz.*reinstall"):
        catalog.verified_path("conse-minilm")
