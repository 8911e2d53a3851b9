"""From a corpus to a token store: built once, seen only when whole, and found again."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from glassformer.config import DataConfig
from glassformer.data.store import FORMAT, HEADER, StoreKind, TokenStore
from glassformer.data.writing import PLAIN, Progress, StoreOptions, StoreWriter
from glassformer.errors import DataError
from glassformer.text import Corpus, Labelled, Pairs, Tokenizer


def build_store(
    folder: Path,
    corpus: Corpus,
    tokenizer: Tokenizer,
    data: DataConfig,
    options: StoreOptions = PLAIN,
    progress: Progress | None = None,
) -> TokenStore:
    """The token store of a corpus in ``folder``: the one that is there if it fits, else a new one.

    A new one appears under its name only when it is whole. Of processes that ask at once one builds; the
    others wait and take what it built.
    """
    fingerprint = store_fingerprint(corpus, tokenizer, data, options)
    store = _fitting(folder, fingerprint)
    if store is not None:
        return store
    if _is_something_else(folder):
        raise DataError(f"{folder}: this is there already and is no token store; name another folder")
    try:
        with _building_site(folder) as site:
            store = _fitting(folder, fingerprint)
            if store is not None:  # built while we waited
                return store
            with StoreWriter(site, tokenizer, data, _kind(corpus, options), options) as writer:
                writer.read(corpus, progress)
                writer.finish(fingerprint)
            _put_in_place(site, folder)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return TokenStore(folder)


def store_fingerprint(
    corpus: Corpus, tokenizer: Tokenizer, data: DataConfig, options: StoreOptions = PLAIN
) -> str:
    """SHA-256 of all that decides what is in a store; a good name for one that many runs share."""
    decides: dict[str, object] = {
        "format": FORMAT,
        "kind": _kind(corpus, options),
        "corpus": corpus.fingerprint,
        "tokenizer": tokenizer.fingerprint,
        "max_length": data.max_length,
        "max_ratio": data.max_ratio,
        "keep_text": options.keep_text,
        "labels": options.labels,
    }
    if tokenizer.languages:
        decides["language"] = options.language
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


def _kind(corpus: Corpus, options: StoreOptions) -> StoreKind:
    match corpus:
        case Pairs():
            return "pairs"
        case Labelled():
            return "labelled"
        case _:
            return "stream" if options.stream else "lines"


def _fitting(folder: Path, fingerprint: str) -> TokenStore | None:
    """The store in a folder, if there is one and it is the right one."""
    try:
        store = TokenStore(folder)
    except (DataError, OSError):
        return None
    return store if store.fingerprint == fingerprint else None


def _is_something_else(folder: Path) -> bool:
    """Whether the name is taken by what we never wrote, and so must not remove."""
    if folder.is_dir():
        return any(folder.iterdir()) and not (folder / HEADER).exists()
    return folder.exists()


@contextmanager
def _building_site(folder: Path) -> Iterator[Path]:
    """An empty folder beside the one to be, for this process alone; others wait for it.

    It is its own lock, which the system frees however the process ends; what a killed one left is cleared.
    """
    site = folder.with_name(f".{folder.name}.partial")
    lock = _lock(site)
    try:
        for left in site.iterdir():
            left.unlink()
        yield site
    finally:
        if _is_at(site, lock):  # it was not put in place
            shutil.rmtree(site)
        os.close(lock)


def _lock(site: Path) -> int:
    site.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with suppress(FileExistsError):  # not exist_ok, which fails if it is put in place between two looks
            site.mkdir()
        try:
            lock = os.open(site, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:  # put in place or removed a moment ago
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_at(site, lock):
            return lock
        os.close(lock)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _put_in_place(partial: Path, folder: Path) -> None:
    """Rename a finished store; an older one steps aside, for no folder can be renamed onto another."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    parent = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)
