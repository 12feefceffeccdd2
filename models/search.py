"""Search pictures by words: a text is mapped to the same classes as the vectors of pictures.

A picture's vector is the mean of its likeliest classes' text vectors (`models.tags`); a query's is the mean of the
vectors of those classes and tags that it names, by these names or by those of the table of words, else of those nearest
to it in meaning. The only text model that it needs is the sentence encoder for notes. It finds kinds of
things and a few scenes, as tags do; colours and sizes in a query are ignored and reported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pipeline.core.note.words import stem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from models.sentences import Sentences
    from models.tags import TagTable
    from pipeline.core.note.words import Lexicon

NAMES_USED = 10
SHARPNESS = 25.0
"""Over cosines of names: the next name counts a tenth when it is .09 farther."""


_IGNORED = frozenset(
    (
        *("white", "black", "red", "green", "blue", "yellow", "grey", "gray", "brown", "orange", "silver", "dark"),
        *("light", "big", "small", "large", "little", "old", "new"),
    )
)
_IGNORED_ZH = re.compile("[白黑红绿蓝黄灰棕橙银]色?的?|[大小老新]的")
_WORD = re.compile(r"[^\W_]+")


class QueryMeaning(NamedTuple):
    """How a query is understood.

    Attributes:
        shares: Names of classes and tags with their shares, largest first; their sum is 1.
        ignored: Words that vectors of pictures do not show, such as colours.
    """

    shares: tuple[tuple[str, float], ...]
    ignored: tuple[str, ...]


class TextSearch:
    """Ranks pictures' vectors by a text.

    Args:
        table: Classes, tags and their text vectors.
        lexicon: The word table, for other words and Chinese.
        sentences: Compares phrases if no name is found; None: such queries find nothing.
    """

    def __init__(self, table: TagTable, lexicon: Lexicon, sentences: Sentences | None) -> None:
        self._table = table
        self._lexicon = lexicon
        self._sentences = sentences
        self._names, self._vectors = table.texts()
        self._rows = {stem(name): row for row, name in enumerate(self._names)}  # a tag goes before a class of its name

    def understand(self, query: str) -> QueryMeaning:
        """Return how a query is understood; without shares if it names nothing known."""
        words = [stem(word) for word in _WORD.findall(query)]
        ignored = (*(word for word in words if word in _IGNORED), *_IGNORED_ZH.findall(query))
        left = [word for word in words if word not in _IGNORED]
        named = dict.fromkeys(self._find_names(left)) or dict.fromkeys(self._find_other_names(query))
        if named:
            return QueryMeaning(tuple((self._names[row], 1 / len(named)) for row in named), ignored)
        rest = _IGNORED_ZH.sub("", " ".join(left)).strip()
        return QueryMeaning(self._find_nearest(rest) if rest and self._sentences else (), ignored)

    def rank(self, query: str, pictures: Sequence[NDArray[np.float32]]) -> list[float]:
        """Return how well a text fits each picture, as cosines, -1..1; `pictures` are vectors of `TagTable.vector`."""
        mixed = np.zeros(self._vectors.shape[1], np.float32)
        for name, share in self.understand(query).shares:
            mixed += np.float32(share) * self._vectors[self._rows[stem(name)]]
        wanted = self._table.centre(mixed)
        return [float(wanted @ self._table.centre(picture)) for picture in pictures]

    def _find_names(self, words: list[str]) -> Iterator[int]:
        """Yield the names in a query, the longest first, without overlaps."""
        at = 0
        while at < len(words):
            lengths = range(min(4, len(words) - at), 0, -1)
            fits = ((n, row) for n in lengths if (row := self._rows.get(" ".join(words[at : at + n]))) is not None)
            length, row = next(fits, (1, None))
            if row is not None:
                yield row
            at += length

    def _find_other_names(self, query: str) -> Iterator[int]:
        """Yield the names of things that the word table knows by other words: lorries, 面包车."""
        for unit in self._lexicon.scan(query):
            for name in unit.has("class"):
                called = (name, *self._lexicon.table.classes[name])
                rows = (row for word in called if (row := self._rows.get(stem(word))) is not None)
                if (row := next(rows, None)) is not None:
                    yield row

    def _find_nearest(self, query: str) -> tuple[tuple[str, float], ...]:
        """Return the names that are nearest in meaning, with their shares."""
        assert self._sentences is not None
        cosines = np.array([self._sentences.similarity(query, name) for name in self._names])
        best = np.argsort(-cosines, kind="stable")[:NAMES_USED]
        shares = np.exp(SHARPNESS * (cosines[best] - cosines[best[0]]))
        shares /= shares.sum()
        return tuple((self._names[at], float(share)) for at, share in zip(best, shares, strict=True))
