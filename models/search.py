"""Pictures by words: where a text lies among the same classes that a picture's vector is mixed of.

A picture's vector is the mean of its likeliest classes' text vectors (`models.tags`); a query's is the mean of the
vectors of those classes and tags that it names, by these names or by those of the table of words, else of those nearest
to it in meaning. The device needs no text model for it but the sentence encoder that finds notes. It tells kinds of
things and a few scenes, as tags do; a colour or a size in a query is left out, and said to be.
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


_UNTOLD = frozenset(
    (
        *("white", "black", "red", "green", "blue", "yellow", "grey", "gray", "brown", "orange", "silver", "dark"),
        *("light", "big", "small", "large", "little", "old", "new"),
    )
)
_UNTOLD_ZH = re.compile("[白黑红绿蓝黄灰棕橙银]色?的?|[大小老新]的")
_WORD = re.compile(r"[^\W_]+")


class QueryMeaning(NamedTuple):
    """What a query is taken for.

    Attributes:
        shares: Names of classes and tags with their shares of it, largest first; together 1.
        untold: Its words that no picture's vector tells, such as colours.
    """

    shares: tuple[tuple[str, float], ...]
    untold: tuple[str, ...]


class TextSearch:
    """Ranks pictures' vectors by a text.

    Args:
        table: Classes, tags and their text vectors.
        lexicon: What words name; finds what is called otherwise, or in Chinese.
        sentences: Compares phrases where no name is found; None: then nothing is.
    """

    def __init__(self, table: TagTable, lexicon: Lexicon, sentences: Sentences | None) -> None:
        self._table = table
        self._lexicon = lexicon
        self._sentences = sentences
        self._names, self._vectors = table.texts()
        self._rows = {stem(name): row for row, name in enumerate(self._names)}  # a tag goes before a class of its name

    def meant(self, query: str) -> QueryMeaning:
        """What a query is taken for; no share where nothing is like it."""
        words = [stem(word) for word in _WORD.findall(query)]
        untold = (*(word for word in words if word in _UNTOLD), *_UNTOLD_ZH.findall(query))
        left = [word for word in words if word not in _UNTOLD]
        named = dict.fromkeys(self._named(left)) or dict.fromkeys(self._called(query))
        if named:
            return QueryMeaning(tuple((self._names[row], 1 / len(named)) for row in named), untold)
        told = _UNTOLD_ZH.sub("", " ".join(left)).strip()
        return QueryMeaning(self._nearest(told) if told and self._sentences else (), untold)

    def rank(self, query: str, pictures: Sequence[NDArray[np.float32]]) -> list[float]:
        """How well a text fits each picture, as cosines, -1..1; `pictures`: as `TagTable.vector` gives them."""
        mixed = np.zeros(self._vectors.shape[1], np.float32)
        for name, share in self.meant(query).shares:
            mixed += np.float32(share) * self._vectors[self._rows[stem(name)]]
        wanted = self._table.apart(mixed)
        return [float(wanted @ self._table.apart(picture)) for picture in pictures]

    def _named(self, words: list[str]) -> Iterator[int]:
        """Names that stand in a query, the longest first, none within another."""
        at = 0
        while at < len(words):
            lengths = range(min(4, len(words) - at), 0, -1)
            fits = ((n, row) for n in lengths if (row := self._rows.get(" ".join(words[at : at + n]))) is not None)
            length, row = next(fits, (1, None))
            if row is not None:
                yield row
            at += length

    def _called(self, query: str) -> Iterator[int]:
        """Names of what the table of words calls otherwise: lorries, and 面包车."""
        for unit in self._lexicon.scan(query):
            for name in unit.has("class"):
                called = (name, *self._lexicon.table.classes[name])
                rows = (row for word in called if (row := self._rows.get(stem(word))) is not None)
                if (row := next(rows, None)) is not None:
                    yield row

    def _nearest(self, query: str) -> tuple[tuple[str, float], ...]:
        """The names that are nearest in meaning."""
        assert self._sentences is not None
        cosines = np.array([self._sentences.similarity(query, name) for name in self._names])
        best = np.argsort(-cosines, kind="stable")[:NAMES_USED]
        shares = np.exp(SHARPNESS * (cosines[best] - cosines[best[0]]))
        shares /= shares.sum()
        return tuple((self._names[at], float(share)) for at, share in zip(best, shares, strict=True))
