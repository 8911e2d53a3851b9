"""Tokenizers of other programs, trained on a few lines and written as those programs write them."""

import json
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import models, pre_tokenizers, processors, trainers

from tests.support.foreign import ENCODER_CASES, LANGUAGE_CASES, SEQUENCE_CASES, Case

SAMPLE = [
    "The quick brown fox jumps over the lazy dog.",
    "Le cœur déçu mais l'âme plutôt naïve, Louÿs rêva de crapaüter en canoë.",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "いろはにほへと ちりぬるを 我能吞下玻璃而不伤身体。",
    "نص حكيم له سر قاطع وذو شأن عظيم",
    "नमस्ते दुनिया, ประเทศไทย, 한국어 문장",
    "ｆｕｌｌ ｗｉｄｔｈ ① ½ ﬁ x²+y²",
    "tabs\tand  double  spaces \n lines",
    "emoji 😀 👩‍👩‍👧 and 123,456.78 don't we'll",
    " leading and trailing ",
    "e\u0301 combining A\u030a; NBSP\u00a0here; soft\u00adhyphen; zero\u200bwidth",
    "[brackets] {braces} <angles> ##a @@ #hash",
    "UPPER Case mixed CamelCase snake_case",
]
STRANGE = [
    "שלום עולם, זהו משפט בעברית עם ניקוד: שָׁלוֹם",
    "یہ اردو ہے؛ این فارسی است، با نیم‌فاصله",
    "日本語とカタカナと漢字、全角！？「引用」",
    "漢字𠮷野家 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 한글자모 ㄱㄴ",
    "🇫🇷🇯🇵 👍🏽 👨‍👩‍👧‍👦 ❤️ ☃ 🧑🏿‍🚀 end",
    "right\u200fto\u202bleft\u202c marks \ufeff and \u2066isolates\u2069",
    "ไทยไม่เว้นวรรค Ελληνικά ქართული አማርኛ தமிழ் বাংলা",
    "line\u2028separator\u2029paragraph\x0bvertical",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 0123456789 ١٢٣ १२३ Ⅷ ㊙",
]
"""Nothing of it was seen when the vocabularies were made."""

CORPUS = [*SAMPLE, *["low lower lowest new newer newest wide wider widest"] * 4]


def train_sentencepiece(path: Path, kind: str = "unigram", size: int = 320, **ids: int) -> None:
    """A SentencePiece model with its customary normalisation."""
    sentencepiece: Any = import_module("sentencepiece")

    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(line.replace("\n", " ") for line in CORPUS * 3),
            model_writer=file,
            vocab_size=size,
            model_type=kind,
            character_coverage=0.98,
            hard_vocab_limit=False,
            minloglevel=9,
            **ids,
        )


def save_model(directory: Path, cases: list[Case], name: str, vocab_size: int, **settings: Any) -> None:
    """A tiny model whose vocabulary has the tokenizer's size."""
    case = next(case for case in cases if case.name == name)
    sized = Case(case.name, case.model, case.config, case.settings | {"vocab_size": vocab_size} | settings)
    sized.save(sized.build(), directory)


def marian(directory: Path) -> Any:
    """Two SentencePiece models and a vocabulary that lacks a few of their pieces."""
    sentencepiece: Any = import_module("sentencepiece")
    transformers: Any = import_module("transformers")

    pieces = ["</s>", "<unk>", ">>fra<<"]
    for side, kind in (("source", "unigram"), ("target", "bpe")):
        path = directory / f"{side}.spm"
        train_sentencepiece(path, kind, pad_id=-1, bos_id=-1, eos_id=0, unk_id=1)
        found = sentencepiece.SentencePieceProcessor(model_file=str(path))
        names = [found.id_to_piece(i) for i in range(found.get_piece_size())]
        pieces += [name for name in names[:-5] if name not in pieces]
    pieces.append("<pad>")
    (directory / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    last = len(pieces) - 1
    ids = {
        "pad_token_id": last,
        "decoder_start_token_id": last,
        "eos_token_id": 0,
        "decoder_vocab_size": None,
    }
    save_model(directory, SEQUENCE_CASES, "marian-swish", len(pieces), **ids)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends another package
        files = [str(directory / name) for name in ("source.spm", "target.spm", "vocab.json")]
        return transformers.MarianTokenizer(*files)


def marian_separate(directory: Path) -> Any:
    """A vocabulary for each side, whose special tokens have other ids."""
    sentencepiece: Any = import_module("sentencepiece")
    transformers: Any = import_module("transformers")
    sizes = []
    for side, name in (("source", "vocab.json"), ("target", "target_vocab.json")):
        path = directory / f"{side}.spm"
        train_sentencepiece(
            path, size=300 if side == "source" else 320, pad_id=-1, bos_id=-1, eos_id=0, unk_id=1
        )
        found = sentencepiece.SentencePieceProcessor(model_file=str(path))
        pieces = [found.id_to_piece(i) for i in range(2, found.get_piece_size() - (side == "source") * 40)]
        pieces = (
            [*pieces[:9], "<unk>", "</s>", *pieces[9:]] if side == "source" else ["</s>", "<unk>", *pieces]
        )
        pieces.append("<pad>")
        (directory / name).write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
        sizes.append(len(pieces))
    (directory / "tokenizer_config.json").write_text('{"separate_vocabs": true}')
    last = sizes[1] - 1
    ids = {"pad_token_id": 1, "decoder_start_token_id": last, "eos_token_id": 0}
    save_model(
        directory, SEQUENCE_CASES, "marian-two-vocabularies", sizes[0], decoder_vocab_size=sizes[1], **ids
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends another package
        files = [
            str(directory / name) for name in ("source.spm", "target.spm", "vocab.json", "target_vocab.json")
        ]
        return transformers.MarianTokenizer(*files, separate_vocabs=True)


def t5(directory: Path) -> Any:
    """One SentencePiece model, and sentinels behind it."""
    transformers: Any = import_module("transformers")

    train_sentencepiece(directory / "spiece.model", pad_id=0, bos_id=-1, eos_id=1, unk_id=2)
    theirs = transformers.T5Tokenizer.from_pretrained(str(directory), extra_ids=10)
    (directory / "tokenizer_config.json").write_text('{"extra_ids": 10}')
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    save_model(directory, SEQUENCE_CASES, "t5", len(theirs) + 5, **ids)
    return theirs


def t5_fast(directory: Path) -> Any:
    """The same as transformers itself saves it: tokenizer.json."""
    return resaved(directory, t5(directory), ("spiece.model", "tokenizer_config.json"))


def pegasus(directory: Path) -> Any:
    """Framed like T5, as tokenizer.json."""
    transformers: Any = import_module("transformers")

    train_sentencepiece(directory / "spiece.model", pad_id=0, bos_id=-1, eos_id=1, unk_id=2)
    theirs = transformers.T5Tokenizer.from_pretrained(str(directory), extra_ids=10)
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    save_model(directory, SEQUENCE_CASES, "pegasus", len(theirs), **ids)
    return resaved(directory, theirs, ("spiece.model",))


def mbart(directory: Path) -> Any:
    """Fairseq's order of ids, and language codes.

    transformers 5 forgets the normalisation of such a model, so SentencePiece itself is the original.
    """
    sentencepiece: Any = import_module("sentencepiece")
    transformers: Any = import_module("transformers")

    path = directory / "sentencepiece.bpe.model"
    train_sentencepiece(path, bos_id=1, eos_id=2, unk_id=0)
    theirs = transformers.MBartTokenizer.from_pretrained(str(directory), src_lang="fr_XX", tgt_lang="ro_RO")
    (directory / "tokenizer_config.json").write_text('{"src_lang": "fr_XX", "tgt_lang": "ro_RO"}')
    save_model(directory, SEQUENCE_CASES, "mbart", len(theirs), decoder_start_token_id=None)
    found = sentencepiece.SentencePieceProcessor(model_file=str(path))
    after = [2, theirs.convert_tokens_to_ids("fr_XX")]
    return lambda text, **_: {"input_ids": [i + 1 if i else 3 for i in found.encode(text)] + after}


def bert(directory: Path) -> Any:
    """vocab.txt."""
    transformers: Any = import_module("transformers")

    trained = tokenizers.BertWordPieceTokenizer()
    trained.train_from_iterator(CORPUS, vocab_size=300, show_progress=False)
    pieces = sorted(trained.get_vocab(), key=trained.get_vocab().__getitem__)
    (directory / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    save_model(directory, ENCODER_CASES, "bert-fills", len(pieces))
    return transformers.BertTokenizer.from_pretrained(str(directory))


def bert_fast(directory: Path) -> Any:
    """The same as tokenizer.json."""
    return resaved(directory, bert(directory), ("vocab.txt",))


def gpt2(directory: Path) -> Any:
    """vocab.json and merges.txt."""
    transformers: Any = import_module("transformers")

    _byte_level(directory, ["<|endoftext|>"])
    theirs = transformers.GPT2Tokenizer.from_pretrained(str(directory))
    ids = {"bos_token_id": len(theirs) - 1, "eos_token_id": len(theirs) - 1}
    save_model(directory, LANGUAGE_CASES, "gpt2", len(theirs), **ids)
    return theirs


def gpt2_fast(directory: Path) -> Any:
    """The same as tokenizer.json."""
    return resaved(directory, gpt2(directory), ("vocab.json", "merges.txt"))


def bart(directory: Path) -> Any:
    """GPT-2's pieces within <s> and </s>."""
    transformers: Any = import_module("transformers")

    _byte_level(directory, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    theirs = transformers.BartTokenizer.from_pretrained(str(directory))
    save_model(directory, SEQUENCE_CASES, "bart", len(theirs))
    return theirs


def llama(directory: Path) -> Any:
    """SentencePiece BPE that spells unknown characters in bytes, as tokenizer.json."""
    transformers: Any = import_module("transformers")

    train_sentencepiece(directory / "tokenizer.model", "bpe", 600, bos_id=1, eos_id=2, unk_id=0)
    theirs = transformers.LlamaTokenizer.from_pretrained(str(directory))
    save_model(directory, LANGUAGE_CASES, "llama", len(theirs))
    return resaved(directory, theirs, ("tokenizer.model",))


def llama3(directory: Path) -> Any:
    """Byte pieces with the splitting of Llama 3."""
    transformers: Any = import_module("transformers")

    from glassformer.text.allowed import LLAMA3

    library = tokenizers.Tokenizer(models.BPE(ignore_merges=True))
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(LLAMA3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    library.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=400, show_progress=False, initial_alphabet=alphabet)
    )
    library.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>"])
    size = library.get_vocab_size()
    library.post_processor = processors.TemplateProcessing(
        single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", size - 2)]
    )
    library.save(str(directory / "tokenizer.json"))
    names = {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"}
    (directory / "tokenizer_config.json").write_text(json.dumps(names))
    save_model(directory, LANGUAGE_CASES, "llama", size, bos_token_id=size - 2, eos_token_id=size - 1)
    return transformers.PreTrainedTokenizerFast(tokenizer_file=str(directory / "tokenizer.json"), **names)


def resaved(directory: Path, theirs: Any, files: tuple[str, ...]) -> Any:
    """With the files of tokenizer.json alone."""
    for name in files:
        (directory / name).unlink()
    theirs.save_pretrained(directory)
    assert (directory / "tokenizer.json").is_file()
    return theirs


def _byte_level(directory: Path, specials: list[str]) -> None:
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(CORPUS, vocab_size=400, show_progress=False)
    trained.save_model(str(directory))
    ids = json.loads((directory / "vocab.json").read_text(encoding="utf-8"))
    if specials[0] == "<s>":
        ids = {piece: i + len(specials) for piece, i in ids.items()}
        ids |= {name: i for i, name in enumerate(specials)}
    else:
        ids |= {name: len(ids) + i for i, name in enumerate(specials)}
    (directory / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")


MAKERS = [
    marian,
    marian_separate,
    t5,
    t5_fast,
    pegasus,
    mbart,
    bert,
    bert_fast,
    gpt2,
    gpt2_fast,
    bart,
    llama,
    llama3,
]
