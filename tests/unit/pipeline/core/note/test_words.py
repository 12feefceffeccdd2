"""Words of notes and what they name."""

import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.note import words
from pipeline.resources import config_file


@pytest.fixture(scope="module")
def lexicon():
    return words.load(config_file("words.toml"))


def named(lexicon, text, kind):
    return [name for unit in lexicon.scan(text) for name in unit.has(kind)]


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("Lorries at the unloading dock", "class", ["truck"]),
        ("lift trucks", "class", ["forklift"]),
        ("the lambs' enclosure", "place", ["sheep pen"]),
        ("a guest's car", "class", ["car"]),
        ("货车停在卸货平台", "place", ["loading bay"]),
        ("野猫和小动物", "class", ["cat"]),
        ("the second hall", "side", ["2"]),
    ],
)
def test_the_longest_phrase_that_is_known_is_found(lexicon, text, kind, names):
    assert named(lexicon, text, kind) == names


def test_only_the_last_word_of_a_phrase_is_taken_for_a_plural(lexicon):
    assert named(lexicon, "cars park here", "place") == []


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("lorries", "lorry"),
        ("buses", "bus"),
        ("boxes", "box"),
        ("houses", "house"),
        ("children", "child"),
        ("bus", "bus"),
    ],
)
def test_plurals_become_singulars(plural, singular):
    assert words.stem(plural) == singular


def test_every_group_is_of_known_classes_and_every_neighbour_a_known_place(lexicon):
    assert lexicon.vehicles
    assert lexicon.animals
    assert lexicon.are_near("gate", "main gate")


def test_a_group_of_an_unknown_class_is_refused_with_its_key(tmp_path):
    text = (
        config_file("words.toml")
        .read_text(encoding="utf-8")
        .replace('classes = ["boat", "ship"]', 'classes = ["raft"]')
    )
    path = tmp_path / "words.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"words\.toml: groups\.water\.classes: `raft`"):
        words.load(path)


def test_a_file_that_is_no_table_of_words_is_refused(tmp_path):
    path = tmp_path / "words.toml"
    path.write_text("[classes]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="no table of words"):
        words.load(path)
