"""From settings and text files to everything that training needs: tokenizer, token stores, sizes."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from glassformer.config import CorpusFiles, ModelConfig, RunConfig, TokenizerConfig, read
from glassformer.data import Batches, StoreOptions, TokenStore, build_store, store_fingerprint
from glassformer.errors import ConfigError, DataError, GlassformerError, suggest
from glassformer.text import Labelled, Lines, Pairs, Tokenizer, open_corpus
from glassformer.text.imported import ImportedTokenizer

STORES = ".stores"
"""The folder beside runs that holds token stores, which runs on the same text share."""

Notice = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """Text that has become ids, and settings that know how many of them there are."""

    config: RunConfig
    tokenizer: Tokenizer
    train: TokenStore
    valid: TokenStore | None
    valid_corpus: Pairs | Lines | Labelled | None

    def batches(self) -> Batches:
        """The training batches."""
        return Batches(self.train, self.tokenizer, self.config.train, dropout=self.config.tokenizer.dropout)

    def valid_batches(self) -> Batches | None:
        """The validation batches: never shuffled, never dropped out."""
        if self.valid is None:
            return None
        return Batches(self.valid, self.tokenizer, self.config.train, shuffle=False)

    @property
    def fingerprint(self) -> str:
        """Of both corpora and the tokenizer."""
        return self.train.fingerprint + ("" if self.valid is None else f"+{self.valid.fingerprint}")


def prepare(
    config: RunConfig,
    runs: Path,
    *,
    tokenizer: Tokenizer | None = None,
    notice: Notice = lambda _: None,
) -> Prepared:
    """Read the corpora, train or load a tokenizer, build the token stores or find them built."""
    check_corpus(config.model, config.data.train)
    check_lengths(config)
    corpus = open_corpus(config.data.train, Path())
    if tokenizer is None:
        tokenizer = load_tokenizer(config.tokenizer) or _train_tokenizer(corpus, config.tokenizer, notice)
    _check_languages(config, tokenizer)
    train = _store(runs, config, config.data.train, tokenizer, None, notice)
    valid = valid_corpus = None
    if config.data.valid is not None:
        check_corpus(config.model, config.data.valid)
        valid_corpus = open_corpus(config.data.valid, Path())
        valid = _store(runs, config, config.data.valid, tokenizer, train.labels or None, notice)
    sized = size_model(config, tokenizer, train)
    return Prepared(sized, tokenizer, train, valid, valid_corpus)


def target_language(config: RunConfig) -> str | None:
    """The target language of pairs that name none: the second of ``data.langs``."""
    return config.data.langs[1] if len(config.data.langs) == 2 else None


def load_tokenizer(config: TokenizerConfig) -> Tokenizer | None:
    """The tokenizer that the settings name, if they do."""
    return None if config.path is None else Tokenizer.load(config.path)


def size_model(config: RunConfig, tokenizer: Tokenizer, train: TokenStore) -> RunConfig:
    """The settings with the vocabulary and the classes that there really are."""
    found: dict[str, object] = {"vocab_size": tokenizer.size}
    if not tokenizer.joint:
        found["source_vocab_size"] = tokenizer.source.size
    if isinstance(tokenizer, ImportedTokenizer):  # its model may have rows that no token uses
        found = {"vocab_size": max(tokenizer.size, config.model.vocab_size)}
        if config.model.source_vocab_size is not None:
            found["source_vocab_size"] = max(tokenizer.source.size, config.model.source_vocab_size)
    if train.labels:
        if len(train.labels) < 2:
            where, label = config.data.train.labelled, train.labels[0]
            raise DataError(f"{where}: {label!r} is the only label; a classifier needs two")
        found |= {"n_classes": len(train.labels), "labels": train.labels}
    model = read(ModelConfig, config.model.model_dump() | found, "model")
    joint = tokenizer.joint or model.source_vocab_size is None  # Marian's two sides have one vocabulary
    text = config.tokenizer.model_copy(update={"joint": joint, "languages": tokenizer.languages})
    return config.model_copy(update={"model": model, "tokenizer": text})


def check_corpus(model: ModelConfig, files: CorpusFiles) -> None:
    """Each family learns from one kind of corpus."""
    kind = "pairs" if files.src or files.pairs else "text" if files.text else "labelled"
    if model.family == "encoder-only":
        wanted = "labelled" if model.head == "classifier" else "text"
    else:
        wanted = "pairs" if model.family == "encoder-decoder" else "text"
    if kind != wanted:
        flag = {"pairs": "--src and --tgt", "text": "--text", "labelled": "--labelled"}[wanted]
        raise ConfigError(
            f"{model.family} models{_head(model)} learn from {wanted}, but the corpus is {kind}; "
            f"give it {flag}, or choose another --preset"
        )


def check_lengths(config: RunConfig) -> None:
    """Nothing that training reads may be longer than the model has positions for."""
    room = config.model.max_length
    if config.model.family == "decoder-only":
        key, needed = "train.context_length", config.train.context_length
    else:
        key, needed = "data.max_length", config.data.max_length + 2  # with <s> and </s>
    if needed > room:
        raise ConfigError(
            f"{key} needs {needed} positions, but model.max_length = {room}; change one of them"
        )


def _check_languages(config: RunConfig, tokenizer: Tokenizer) -> None:
    """The languages of the settings must be those that the tokenizer has tags for."""
    known, given = tokenizer.languages, config.tokenizer.languages
    if given and set(given) != set(known):
        raise ConfigError(
            f"tokenizer.languages = {json.dumps(given)}, but this tokenizer has tags for "
            f"{', '.join(known) or 'none'}; leave the key out, or train another tokenizer"
        )
    wanted = target_language(config)
    if known and wanted is not None and wanted not in known:
        raise ConfigError(
            f"data.langs: the target language {wanted!r} is none of {', '.join(known)}"
            f"{suggest(wanted, known)}"
        )


def check_best_by(config: RunConfig) -> None:
    """The figure that chooses the best checkpoint must be one that validation gives."""
    train, model = config.train, config.model
    translates = model.family == "encoder-decoder" and train.valid_sentences > 0
    given = {
        "loss": True,
        "bleu": translates,
        "chrf": translates,
        "accuracy": model.family == "encoder-only" and model.head == "classifier",
    }
    if config.data.valid is None and train.patience is not None:
        raise ConfigError(f"train.patience = {train.patience} needs validation text; give --valid")
    if not given[train.best_by]:
        there = " or ".join(f'"{name}"' for name, yes in given.items() if yes)
        raise ConfigError(f'train.best_by = "{train.best_by}" is not measured in this run; use {there}')


def make_folder(folder: Path) -> None:
    """The folder of runs: tried before hours of work are put in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise GlassformerError(f"{folder}: cannot be written ({error.strerror})") from None


def _head(model: ModelConfig) -> str:
    return f' with head = "{model.head}"' if model.family == "encoder-only" else ""


def _train_tokenizer(corpus: Pairs | Lines | Labelled, config: TokenizerConfig, notice: Notice) -> Tokenizer:
    notice(f"training a {config.kind} tokenizer on {corpus.name}")
    tokenizer = Tokenizer.train(corpus, config)
    if tokenizer.size < config.vocab_size and config.kind not in ("char",):
        notice(f"the corpus gives {tokenizer.size:,} tokens, fewer than the {config.vocab_size:,} asked for")
    return tokenizer


def _store(
    runs: Path,
    config: RunConfig,
    files: CorpusFiles,
    tokenizer: Tokenizer,
    labels: tuple[str, ...] | None,
    notice: Notice,
) -> TokenStore:
    corpus = open_corpus(files, Path())
    stream = config.model.family == "decoder-only"
    options = StoreOptions(
        stream=stream,
        keep_text=config.tokenizer.dropout > 0,
        labels=labels,
        language=target_language(config),
    )
    name = store_fingerprint(corpus, tokenizer, config.data, options)[:24]
    folder = runs / STORES / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    notice(f"reading {corpus.name}")
    return build_store(folder, corpus, tokenizer, config.data, options)
