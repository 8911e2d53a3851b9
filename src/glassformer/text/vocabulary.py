"""A vocabulary, and the library tokenizer that is made of one.

Ids begin with the special tokens, then a tag for each target language, then the bytes, then what was learned.

No text can spell a special token. The splitter below lets ``<`` and ``#`` stand alone, so no learned piece
holds one of them together with anything but a space before it: ``</s>``, ``<0x0A>`` and ``>>fr<<`` cannot be
learned, and a piece that begins with ``##`` continues a word. A word begins with a plain space instead of the
usual ``▁``, so that ``▁`` is a character like any other; only people are shown a ``▁``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from glassformer.text.normalizer import build_normalizer

Kind = Literal["bpe", "unigram", "wordpiece", "byte", "char"]

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>", "<mask>")
PAD, BOS, EOS, UNK, MASK = range(len(SPECIALS))

BYTES = bytes(byte for byte in range(0x20, 0xF5) if byte not in (0x7F, 0xC0, 0xC1))
"""The bytes that normalised text can be made of: no control character, and none that UTF-8 never uses."""

CONTINUES = "##"
"""How word pieces mark what is not the beginning of a word."""

_LETTERS = r"\p{L}\p{M}\x{200C}\x{200D}"
_WORDS = rf" ?[{_LETTERS}]+| ?\p{{N}}| ?[<#]| ?[^ <#{_LETTERS}\p{{N}}]+"
_LONGEST_WORD = 100  # of word pieces, whose search takes quadratic time; longer words are spelt by us


@dataclass(frozen=True)
class Vocabulary:
    """What a tokenizer knows: its pieces by id, and what its kind needs to choose among them."""

    kind: Kind
    lowercase: bool
    languages: tuple[str, ...]
    pieces: tuple[str, ...]
    merges: tuple[tuple[str, str], ...] = ()
    scores: tuple[float, ...] = ()

    @property
    def n_control(self) -> int:
        """How many ids stand for no text."""
        return len(SPECIALS) + len(self.languages)

    @property
    def n_bytes(self) -> int:
        """How many ids after those stand for one byte."""
        return len(byte_pieces(self.kind))


def language_tag(language: str) -> str:
    """The token that asks for a target language."""
    return f">>{language}<<"


def control_pieces(languages: Sequence[str]) -> list[str]:
    """The tokens that no text gives: special ones, then language tags."""
    return [*SPECIALS, *map(language_tag, languages)]


def byte_pieces(kind: Kind) -> list[str]:
    """The tokens that spell a character the vocabulary lacks; pieces of kind ``byte`` do that themselves."""
    return [] if kind == "byte" else [f"<0x{byte:02X}>" for byte in BYTES]


def byte_alphabet() -> dict[str, int]:
    """The printable characters that the library writes for bytes, and their bytes."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    shown = {chr(byte): byte for byte in printable}
    return shown | {chr(256 + place): byte for place, byte in enumerate(others)}


def surfaces(vocabulary: Vocabulary) -> list[bytes]:
    """The bytes of text that each id stands for; text is these, joined."""
    learned = vocabulary.pieces[vocabulary.n_control + vocabulary.n_bytes :]
    controls = [b""] * vocabulary.n_control
    single = [bytes([byte]) for byte in BYTES[: vocabulary.n_bytes]]
    match vocabulary.kind:
        case "byte":
            alphabet = byte_alphabet()
            return controls + [bytes(alphabet[char] for char in piece) for piece in learned]
        case "wordpiece":
            return controls + single + [piece.removeprefix(CONTINUES).encode() for piece in learned]
        case _:
            return controls + single + [piece.encode() for piece in learned]


def pipeline(kind: Kind, *, lowercase: bool, model: models.Model | None = None) -> Tokenizer:
    """The library tokenizer of a kind, empty unless a model is given."""
    tokenizer = Tokenizer(models.BPE() if model is None else model)
    tokenizer.normalizer = build_normalizer(lowercase=lowercase)
    if kind != "char":
        tokenizer.pre_tokenizer = _splitter(in_bytes=kind == "byte")
    tokenizer.decoder = _decoder(kind)
    return tokenizer


def build(vocabulary: Vocabulary) -> Tokenizer:
    """The library tokenizer that has this vocabulary."""
    tokenizer = pipeline(vocabulary.kind, lowercase=vocabulary.lowercase, model=_model(vocabulary))
    names = vocabulary.pieces[: vocabulary.n_control]
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    tokenizer.encode_special_tokens = True  # "</s>" in a text is four characters
    return tokenizer


def _splitter(*, in_bytes: bool) -> pre_tokenizers.PreTokenizer:
    """Words with the space before them, single digits, runs of other signs; ``<`` and ``#`` alone."""
    steps: list[pre_tokenizers.PreTokenizer] = [
        pre_tokenizers.Metaspace(replacement=" ", prepend_scheme="always", split=False),
        pre_tokenizers.Split(Regex(_WORDS), "isolated"),
    ]
    if in_bytes:
        steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    return pre_tokenizers.Sequence(steps)


def _decoder(kind: Kind) -> decoders.Decoder:
    """The way back, for others who read our file; we use ``surfaces``."""
    strip = decoders.Strip(" ", 1, 0)
    match kind:
        case "byte":
            return decoders.Sequence([decoders.ByteLevel(), strip])
        case "wordpiece":
            joined = [decoders.Replace(CONTINUES, ""), decoders.ByteFallback(), decoders.Fuse(), strip]
            return decoders.Sequence(joined)
        case _:
            return decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), strip])


def _model(vocabulary: Vocabulary) -> models.Model:
    ids = {piece: place for place, piece in enumerate(vocabulary.pieces)}
    match vocabulary.kind:
        case "unigram":
            scored = list(zip(vocabulary.pieces, vocabulary.scores, strict=True))
            return models.Unigram(scored, unk_id=UNK, byte_fallback=True)
        case "wordpiece":
            return models.WordPiece(
                ids,
                unk_token=SPECIALS[UNK],
                max_input_chars_per_word=_LONGEST_WORD,
                continuing_subword_prefix=CONTINUES,
            )
        case kind:
            fallback = kind != "byte"
            return models.BPE(ids, list(vocabulary.merges), unk_token=SPECIALS[UNK], byte_fallback=fallback)
