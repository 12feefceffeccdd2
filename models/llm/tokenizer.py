"""The tokenizer: MNN's file made of a GGUF's vocabulary, and text made of token numbers.

The file's layout is what MNN 3.6.1's tokenizer of type "pipeline" reads (transformers/llm/engine/src/tokenizer,
Apache-2.0). No normaliser is written, as MNN's drops zero-width joiners: where a model wants NFC, normalise before.
The engine cannot decode a token that ends inside a character, so text is put together here, from bytes.
"""

from __future__ import annotations

import codecs
import functools
import struct
from typing import TYPE_CHECKING, Literal, NamedTuple

from pipeline.core import files
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from models.llm.gguf import Gguf

_QWEN_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
_Step = tuple[Literal["split"], str] | tuple[Literal["bytes"], bool]
"""Split around a regular expression, or turn into bytes, with or without GPT-2's own splitting."""

PRE_TOKENIZERS: dict[str, tuple[_Step, ...]] = {
    "gpt-2": (("bytes", True),),
    "smollm": (("split", r"\p{N}"), ("bytes", True)),
    "qwen2": (("split", _QWEN_WORDS), ("bytes", False)),
}
"""What the names of tokenizer.ggml.pre stand for in llama.cpp (src/llama-vocab.cpp)."""

_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4
"""Token types of the GGUF: those that are matched as a whole; control tokens are no text."""
_STOPS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>")
_MAGIC, _PIPELINE = 430, 4
_TEXT_MOST = 65535
_FILE_MOST = 256 << 20  # bytes; of the largest vocabulary it has some ten million
_BYTES, _SPLIT, _SEQUENCE = 1, 4, 6
"""Kinds of steps in the file."""


class TokenVocabulary(NamedTuple):
    """A byte-level BPE vocabulary.

    Attributes:
        tokens: By number, in GPT-2's spelling of bytes.
        types: Of each token.
        merges: Pairs of tokens, the first to be merged first.
        steps: How text is cut before merging.
        end: The number of the token that ends a turn.
        begin: The number of the token that begins a text, where the model has one.
        adds_begin: Whether every text begins with it.
        template: The chat template, Jinja; may be empty.
    """

    tokens: Sequence[str]
    types: Sequence[int]
    merges: Sequence[str]
    steps: tuple[_Step, ...]
    end: int
    begin: int | None
    adds_begin: bool
    template: str

    @property
    def stops(self) -> list[int]:
        """Numbers of the tokens after which nothing more is said, ascending."""
        named = {number for number in self._of_type(_CONTROL) if self.tokens[number] in _STOPS}
        return sorted({self.end} | named)

    @property
    def special(self) -> list[int]:
        """Numbers of the tokens that are no text."""
        return self._of_type(_CONTROL)

    @property
    def added(self) -> list[int]:
        """Numbers of the tokens that are matched as a whole."""
        return self._of_type(_CONTROL, _USER_DEFINED)

    def _of_type(self, *types: int) -> list[int]:
        return [number for number, kind in enumerate(self.types) if kind in types]


def read_vocabulary(model: Gguf) -> TokenVocabulary:
    """Read the vocabulary of a model.

    Raises:
        ModelError: It is no byte-level BPE, its pre-tokenizer is not known, or it contradicts itself.
    """
    kind = model.value("tokenizer.ggml.model", str)
    if kind != "gpt2":
        raise ModelError(f"{model.path}: its vocabulary is of kind {kind}; only byte-level BPE (gpt2) is known here")
    name = model.value("tokenizer.ggml.pre", str)
    if name not in PRE_TOKENIZERS:
        known = ", ".join(PRE_TOKENIZERS)
        raise ModelError(f"{model.path}: its pre-tokenizer {name} is not known here; known are {known}")
    begin = model.metadata.get("tokenizer.ggml.bos_token_id")
    found = TokenVocabulary(
        tokens=model.value("tokenizer.ggml.tokens", list),
        types=model.value("tokenizer.ggml.token_type", list),
        merges=model.value("tokenizer.ggml.merges", list),
        steps=PRE_TOKENIZERS[name],
        end=model.value("tokenizer.ggml.eos_token_id", int),
        begin=begin if isinstance(begin, int) else None,
        adds_begin=model.metadata.get("tokenizer.ggml.add_bos_token") is True,
        template=str(model.metadata.get("tokenizer.chat_template") or ""),
    )
    _check(found, model)
    return found


def encode_mtok(words: TokenVocabulary) -> bytes:
    """The file tokenizer.mtok.

    Raises:
        ModelError: A merge names a token that there is not.
    """
    prefix = [words.begin] if words.adds_begin and words.begin is not None else []
    counts = f"{len(words.special)} {len(words.stops)} {len(prefix)}"
    numbers = " ".join(map(str, words.special + words.stops + prefix))
    parts = [f"{_MAGIC} {_PIPELINE}\n{counts}\n{numbers}\n".encode(), b"\0"]  # 0: no normaliser
    parts += [
        struct.pack("<BI", _SEQUENCE, len(words.steps)) if len(words.steps) > 1 else b"",
        *map(_encode_step, words.steps),
    ]
    parts += [*_bpe_model(words), b"\0"]  # 0: decodes bytes
    parts.append(struct.pack("<I", len(words.added)))
    for number in words.added:
        control = words.types[number] == _CONTROL
        parts.append(struct.pack("<IBBB", number, control, 0, 0) + _encode_text(words.tokens[number]))
    template = words.template.encode()
    parts += [struct.pack("<I", len(template)), template, _encode_text(words.tokens[words.end]), b"\0"]
    parts.append(_encode_text("" if words.begin is None else words.tokens[words.begin]))
    return b"".join(parts)


def read(path: Path) -> TokenVocabulary:
    """Read a file that `encode_mtok` wrote: a converted model has no GGUF beside it.

    Raises:
        ModelError: It cannot be read, or is no such file.
    """
    try:
        return _Reader(files.read_bounded(path, _FILE_MOST)).vocabulary()
    except OSError as error:
        raise ModelError(f"cannot read {path} ({error.strerror}): convert or pull the model again") from error
    except (struct.error, ValueError, IndexError, KeyError) as error:
        raise ModelError(f"{path} is no tokenizer of ours ({error}): convert or pull the model again") from error


class TokenDecoder:
    """Turns token numbers into text, one after the other; a character may be spread over several.

    Args:
        words: The vocabulary; control tokens give no text.
    """

    def __init__(self, words: TokenVocabulary) -> None:
        self._words = words
        self._pending = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, number: int) -> str:
        """The characters that are complete with this token. Raises IndexError for a number out of the vocabulary."""
        return self._pending.decode(token_text(self._words, number))

    def finish(self) -> str:
        """What is left of a character that never became complete, as U+FFFD; ready for another text."""
        rest = self._pending.decode(b"", final=True)
        self._pending.reset()
        return rest

    def text(self, numbers: Iterable[int]) -> str:
        """The text of whole sequences."""
        return "".join(map(self.feed, numbers)) + self.finish()


def all_token_bytes(words: TokenVocabulary) -> list[bytes]:
    """The bytes of every token, by number; 0.2 s for 152 000."""
    return [token_text(words, number) for number in range(len(words.tokens))]


def token_text(words: TokenVocabulary, number: int) -> bytes:
    """The bytes of a token; none for control tokens. Raises IndexError for a number out of the vocabulary.

    Tokens that are matched as a whole are spelt in plain characters, all others in GPT-2's.
    """
    if number < 0:
        raise IndexError(number)
    token, kind, values = words.tokens[number], words.types[number], _byte_values()
    if kind == _CONTROL:
        return b""
    if kind == _USER_DEFINED or not all(character in values for character in token):
        return token.encode()
    return bytes(values[character] for character in token)


@functools.cache
def _byte_values() -> dict[str, int]:
    """The bytes that GPT-2's characters stand for."""
    return {character: value for value, character in _byte_characters().items()}


@functools.cache
def _byte_characters() -> dict[int, str]:
    """GPT-2's characters for bytes (openai/gpt-2, encoder.py, MIT): printable ones stand for themselves."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(256, 512))
    return {value: chr(value if value in printable else next(others)) for value in range(256)}


class _Reader:
    """Takes the file apart in its order."""

    def __init__(self, data: bytes) -> None:
        kind, counts, numbers, self._data = data.split(b"\n", 3)
        if kind.split() != [b"%d" % _MAGIC, b"%d" % _PIPELINE]:
            raise ValueError(f"it begins with {kind[:20]!r}")
        special, stop, prefix = map(int, counts.split())
        if len(numbers.split()) != special + stop + prefix:
            raise ValueError("its counts do not fit")
        self._adds_begin = prefix > 0
        self._at = 1  # behind the normaliser, which there is none of

    def vocabulary(self) -> TokenVocabulary:
        steps = self._steps()
        _, count, _, _, rules = self._take("<BIBBI")
        tokens = {number: text for text, (number,) in ((self._text(), self._take("<I")) for _ in range(count))}
        joined = sorted((rank, left, right) for left, right, rank in (self._take("<III") for _ in range(rules)))
        self._take("<B")
        types = [_NORMAL] * count
        for _ in range(self._take("<I")[0]):
            number, control, _, _ = self._take("<IBBB")
            types[number] = _CONTROL if control else _USER_DEFINED
            self._text()
        (size,) = self._take("<I")
        template, end = self._text(size), self._text()
        self._take("<B")
        begin, names = self._text(), {text: number for number, text in tokens.items()}
        return TokenVocabulary(
            tokens=[tokens[number] for number in range(count)],
            types=types,
            merges=[f"{tokens[left]} {tokens[right]}" for _, left, right in joined],
            steps=steps,
            end=names[end],
            begin=names[begin] if begin else None,
            adds_begin=self._adds_begin,
            template=template,
        )

    def _steps(self) -> tuple[_Step, ...]:
        count = 1
        if self._data[self._at] == _SEQUENCE:
            _, count = self._take("<BI")
        return tuple(self._one_step() for _ in range(count))

    def _one_step(self) -> _Step:
        (kind,) = self._take("<B")
        if kind == _BYTES:
            return "bytes", bool(self._take("<B")[0])
        pattern = self._text()
        self._take("<BB")
        return "split", pattern

    def _text(self, size: int | None = None) -> str:
        if size is None:
            (size,) = self._take("<H")
        text = self._data[self._at : self._at + size]
        if len(text) != size:
            raise ValueError("it is cut short")
        self._at += size
        return text.decode()

    def _take(self, code: str) -> tuple[int, ...]:
        found = struct.unpack_from(code, self._data, self._at)
        self._at += struct.calcsize(code)
        return found


def _check(words: TokenVocabulary, model: Gguf) -> None:
    count = len(words.tokens)
    named = [words.end] if words.begin is None else [words.end, words.begin]
    if len(words.types) != count or len(set(words.tokens)) != count or not all(0 <= at < count for at in named):
        raise ModelError(f"{model.path}: its vocabulary contradicts itself: use an undamaged copy")
    texts = all(isinstance(token, str) and len(token.encode()) <= _TEXT_MOST for token in words.tokens)
    if not texts or not all(isinstance(merge, str) for merge in words.merges):
        raise ModelError(f"{model.path}: its vocabulary has tokens that are no text: use an undamaged copy")


def _bpe_model(words: TokenVocabulary) -> list[bytes]:
    """The model proper: tokens by their bytes, merges by the numbers of what they join."""
    numbers = {token: number for number, token in enumerate(words.tokens)}
    rules = []
    for rank, merge in enumerate(words.merges):
        left, _, right = merge.partition(" ")
        if left not in numbers or right not in numbers:
            raise ModelError(f"the vocabulary's merge {merge!r} names a token that there is not: use an undamaged copy")
        rules.append((numbers[left], numbers[right], rank))
    parts = [struct.pack("<BIBBI", 0, len(numbers), 0, 0, len(rules))]
    for token, number in sorted((token.encode(), number) for token, number in numbers.items()):
        parts.append(struct.pack("<H", len(token)) + token + struct.pack("<I", number))
    parts += [struct.pack("<III", *rule) for rule in sorted(rules)]
    return parts


def _encode_step(step: _Step) -> bytes:
    if step[0] == "bytes":
        return struct.pack("<BB", _BYTES, step[1])
    return bytes([_SPLIT]) + _encode_text(step[1]) + b"\0\0"  # not inverted; what matches becomes a piece of its own


def _encode_text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<H", len(data)) + data
