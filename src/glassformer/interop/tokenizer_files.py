"""The tokenizer of a foreign directory, from whichever files it has, with the model's own ids."""

from pathlib import Path
from typing import Any

from glassformer.checkpoint.reading import json_object
from glassformer.config import ModelConfig
from glassformer.errors import CheckpointError
from glassformer.interop import sentencepiece_model
from glassformer.interop.directory import ForeignDirectory
from glassformer.interop.frames import frame_of
from glassformer.interop.sentencepiece_model import CONTROL, UNKNOWN, SentencePieceModel, library_table
from glassformer.interop.settings import Settings
from glassformer.interop.specials import ForeignSpecials, place_of
from glassformer.text.allowed import Table
from glassformer.text.imported import Frame, ImportedTokenizer, ImportedVocabulary, build_vocabulary

_LIMIT = 100_000_000

MBART_LANGUAGES = [
    "ar_AR",
    "cs_CZ",
    "de_DE",
    "en_XX",
    "es_XX",
    "et_EE",
    "fi_FI",
    "fr_XX",
    "gu_IN",
    "hi_IN",
    "it_IT",
    "ja_XX",
    "kk_KZ",
    "ko_KR",
    "lt_LT",
    "lv_LV",
    "my_MM",
    "ne_NP",
    "nl_XX",
    "ro_RO",
    "ru_RU",
    "si_LK",
    "tr_TR",
    "vi_VN",
    "zh_CN",
]
"""The languages of the first mBART, in the order of their ids."""


def read_tokenizer(directory: ForeignDirectory, config: ModelConfig, settings: Settings) -> ImportedTokenizer:
    """The tokenizer of a foreign model; refused where a model of texts has none."""
    specials = ForeignSpecials.of(directory, config, settings)
    try:
        tokenizer = _read(specials, str(settings.table["model_type"]))
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{directory.path}: this tokenizer cannot be imported: {error}") from None
    for side, found, room in (
        ("", tokenizer.size, config.vocab_size),
        ("source ", tokenizer.source.size, config.n_source_ids),
    ):
        if found > room:
            raise CheckpointError(
                f"{directory.path}: the tokenizer has {found} {side}tokens, but the model knows {room}"
            )
    return tokenizer


def _read(specials: ForeignSpecials, kind: str) -> ImportedTokenizer:
    directory = specials.directory
    if kind == "marian":
        return _marian(specials)
    if directory.has("tokenizer.json"):
        table = _parsed(directory, "tokenizer.json")
        control = _special_ids(table)
        vocabulary = _named(table, control, specials)
    elif kind in ("bert", "distilbert"):
        vocabulary = _word_pieces(specials)
    elif kind in ("gpt2", "bart"):
        vocabulary = _byte_pieces(specials)
    else:
        vocabulary = _sentence_pieces(specials, kind)
    return ImportedTokenizer(vocabulary, frame_of(vocabulary, specials, kind))


def _parsed(directory: ForeignDirectory, name: str) -> dict[str, Any]:
    return json_object(directory.bytes(name, _LIMIT), str(directory.path / name))


def _special_ids(table: Table) -> set[int]:
    """The ids of the added tokens that are called special."""
    tokens = table.get("added_tokens") or []
    if not isinstance(tokens, list) or not all(isinstance(token, dict) for token in tokens):
        raise ValueError("added_tokens is no list of objects")
    return {token["id"] for token in tokens if token.get("special") is True and type(token.get("id")) is int}


def _named(table: Table, control: set[int], specials: ForeignSpecials) -> ImportedVocabulary:
    """The vocabulary of a file; the tokens that the settings name as special stand for no text either."""
    plain = build_vocabulary(table, control)
    named = {specials.name(role, "") for role in ("pad_token", "unk_token", "eos_token", "bos_token")}
    more = {place for place, piece in enumerate(plain.pieces) if piece in named}
    unknown = table["model"].get("unk_id") if isinstance(table["model"], dict) else None
    return build_vocabulary(table, control | more | ({unknown} if isinstance(unknown, int) else set()))


def _word_pieces(specials: ForeignSpecials) -> ImportedVocabulary:
    """BERT's vocab.txt: one piece a line."""
    lines = _text(specials.directory, "vocab.txt").split("\n")
    pieces = [line.removesuffix("\r") for line in lines]
    while pieces and not pieces[-1]:
        pieces.pop()
    roles = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    names = [specials.name(f"{role}_token", default) for role, default in roles.items()]
    settings = specials.tokenizer
    strip = settings.table.get("strip_accents")
    table: Table = {
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": settings.flag("tokenize_chinese_chars", True),
            "strip_accents": strip if isinstance(strip, bool) else None,
            "lowercase": settings.flag("do_lower_case", True),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": names[1], "vocab": _numbered(pieces)},
    }
    return build_vocabulary(table, {i for i, piece in enumerate(pieces) if piece in names})


def _byte_pieces(specials: ForeignSpecials) -> ImportedVocabulary:
    """GPT-2's vocab.json and merges.txt."""
    ids = _parsed(specials.directory, "vocab.json")
    lines = _text(specials.directory, "merges.txt").split("\n")
    merges = [line for line in lines if line.strip() and not line.startswith("#version")]
    prefix = specials.tokenizer.flag("add_prefix_space", False)
    table: Table = {
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "ByteLevel",
            "add_prefix_space": prefix,
            "trim_offsets": True,
            "use_regex": True,
        },
        "model": {"type": "BPE", "vocab": ids, "merges": merges},
    }
    names = ("<s>", "</s>", "<pad>", "<unk>", "<mask>", "<|endoftext|>")
    return build_vocabulary(table, {i for name, i in ids.items() if name in names and isinstance(i, int)})


def _sentence_pieces(specials: ForeignSpecials, kind: str) -> ImportedVocabulary:
    """The SentencePiece model of T5, mBART or Llama."""
    directory = specials.directory
    names = ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
    found = [name for name in names if directory.has(name)]
    if not found:
        raise ValueError("there is no tokenizer.json, nor any other file of a tokenizer that we read")
    model = _piece_model(directory, found[0])
    if kind == "mbart":
        return _mbart(model, specials)
    if kind == "pegasus":
        raise ValueError(f"{found[0]} does not number the pieces of this architecture; add tokenizer.json")
    pieces = list(model.pieces)
    control = {i for i, kind_ in enumerate(model.types) if kind_ in (CONTROL, UNKNOWN)}
    if kind == "t5":
        control.add(pieces.index(specials.name("pad_token", "<pad>")))
        extra = specials.tokenizer.size("extra_ids", 1_000, 100, least=0)
        control |= set(range(len(pieces), len(pieces) + extra))
        pieces += [f"<extra_id_{i}>" for i in reversed(range(extra))]
        model = _extended(model, pieces)
    return build_vocabulary(library_table(model), control)


def _extended(model: SentencePieceModel, pieces: list[str]) -> SentencePieceModel:
    more = len(pieces) - len(model.pieces)
    return SentencePieceModel(
        tuple(pieces),
        (*model.scores, *[0.0] * more),
        (*model.types, *[CONTROL] * more),
        model.is_bpe,
        model.charsmap,
        model.add_dummy_prefix,
        model.collapse_spaces,
    )


def _mbart(model: SentencePieceModel, specials: ForeignSpecials) -> ImportedVocabulary:
    """Fairseq's order: special tokens, pieces without SentencePiece's first three, languages, the mask."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *model.pieces[3:], *MBART_LANGUAGES, "<mask>"]
    if len(pieces) > specials.config.vocab_size:
        raise ValueError(f"its {len(pieces)} pieces are more than the model knows; add tokenizer.json")
    control = {0, 1, 2, 3, *range(len(model.pieces) + 1, len(pieces))}
    ids = [3, 0, 2, *range(4, len(model.pieces) + 1)]  # SentencePiece begins with <unk> <s> </s>
    if model.pieces[:3] != ("<unk>", "<s>", "</s>"):
        raise ValueError("it does not begin with <unk>, <s> and </s>")
    return build_vocabulary(_hidden(model), control, pieces=pieces, ids=ids)


def _hidden(model: SentencePieceModel) -> Table:
    """The library's table with the pieces renamed that no text may give."""
    names = tuple(
        f"\U0010fffe{i}" if kind == CONTROL else piece
        for i, (piece, kind) in enumerate(zip(model.pieces, model.types, strict=True))
    )
    return library_table(model, names)


def _marian(specials: ForeignSpecials) -> ImportedTokenizer:
    """Two SentencePiece models that cut texts, and a vocabulary that numbers the pieces of both."""
    directory = specials.directory
    separate = specials.tokenizer.flag("separate_vocabs", False)
    source_ids = _parsed(directory, "vocab.json")
    target_ids = _parsed(directory, "target_vocab.json") if separate else source_ids
    target = _marian_side(directory, "target.spm", target_ids, specials)
    source = _marian_side(directory, "source.spm", source_ids, specials)
    roles = (("eos_token", "</s>"), ("pad_token", "<pad>"), ("unk_token", "<unk>"))
    end, pad, unknown = (place_of(target.pieces, specials.name(*role)) for role in roles)
    last, fill, other = (place_of(source.pieces, specials.name(*role)) for role in roles)
    start = specials.id("decoder_start_token_id")
    both = pad if pad < len(source.pieces) else 0  # it fills up batches of both sides; any id would do
    frame = Frame(both, pad if start is None else start, end, unknown, unknown, (), (last,))
    own = Frame(fill, fill, last, other, other, (), (last,))
    return ImportedTokenizer(target, frame, ImportedTokenizer(source, own))


def _marian_side(
    directory: ForeignDirectory, name: str, ids: dict[str, Any], specials: ForeignSpecials
) -> ImportedVocabulary:
    model = _piece_model(directory, name)
    places = list(ids.values())
    if any(type(i) is not int for i in places) or sorted(places) != list(range(len(places))):
        raise ValueError("vocab.json does not number its pieces from 0 on, each once")
    pieces = sorted(ids, key=lambda piece: int(ids[piece]))
    unknown = place_of(pieces, specials.name("unk_token", "<unk>"))
    named = {specials.name(f"{role}_token", f"<{role}>") for role in ("pad", "unk")}
    named |= {specials.name("eos_token", "</s>"), "<s>", "<eop>", "<eod>"}
    control = {
        i for i, piece in enumerate(pieces) if piece in named or (piece[:2], piece[-2:]) == (">>", "<<")
    }
    order = [
        ids.get(piece, unknown) if kind not in (CONTROL, UNKNOWN) else unknown
        for piece, kind in zip(model.pieces, model.types, strict=True)
    ]
    return build_vocabulary(_hidden(model), control, pieces=pieces, ids=order)


def _piece_model(directory: ForeignDirectory, name: str) -> SentencePieceModel:
    content = directory.bytes(name, sentencepiece_model.LIMIT)
    return sentencepiece_model.parse(content, str(directory.path / name))


def _numbered(pieces: list[str]) -> dict[str, int]:
    if len(set(pieces)) < len(pieces):
        raise ValueError("vocab.txt has a piece twice")
    return {piece: i for i, piece in enumerate(pieces)}


def _text(directory: ForeignDirectory, name: str) -> str:
    try:
        return directory.bytes(name, _LIMIT).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{Path(name).name} is not UTF-8") from None
