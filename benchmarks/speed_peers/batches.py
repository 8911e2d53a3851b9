"""Multi30k as batches of ids, made once and handed to every contestant as one ``.npz``."""

import gzip
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassformer.config import TokenizerConfig
from glassformer.data import NO_LABEL
from glassformer.text import Tokenizer

Ids = list[int]
Numbers = NDArray[np.int64]


class Summary(NamedTuple):
    """What was made of a corpus."""

    vocab_size: int
    sentences: int
    batches: int
    """Of the whole corpus; the chosen ones stand for them."""
    fill: float
    """Real target tokens per padded one, in the chosen batches."""
    shapes: list[tuple[int, int, int]]
    """Rows, source length and target length of the chosen batches."""


def write_batches(path: Path, data: Path, *, vocab_size: int, batch_tokens: int, n_batches: int) -> Summary:
    """Write batches that represent the corpus: evenly spread over all, which are sorted by length."""
    source, target = (_lines(data, language) for language in ("en", "de"))
    tokenizer = Tokenizer.train([*source, *target], TokenizerConfig(vocab_size=vocab_size))
    pairs = list(zip(tokenizer.encode_source(source), tokenizer.encode_target(target), strict=True))
    cut = bucketed(pairs, batch_tokens)
    places = np.linspace(0, len(cut), n_batches + 1)
    chosen = [cut[int((low + high) / 2)] for low, high in itertools.pairwise(places)]
    arrays: dict[str, Numbers] = {}
    for number, rows in enumerate(chosen):
        for name, array in framed(rows, tokenizer).items():
            arrays[f"{number}.{name}"] = array
    with path.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy's stub takes them for its own options
    labels = [arrays[f"{number}.labels"] for number in range(len(chosen))]
    real = sum(int((matrix != NO_LABEL).sum()) for matrix in labels)
    shapes = [(*arrays[f"{number}.source"].shape, labels[number].shape[1]) for number in range(len(chosen))]
    return Summary(tokenizer.size, len(pairs), len(cut), real / sum(m.size for m in labels), shapes)


def bucketed(pairs: Sequence[tuple[Ids, Ids]], batch_tokens: int) -> list[list[tuple[Ids, Ids]]]:
    """Pairs of like length together, as many as fit ``batch_tokens`` padded target tokens; shortest first."""
    batches: list[list[tuple[Ids, Ids]]] = [[]]
    for pair in sorted(pairs, key=lambda pair: (len(pair[1]), len(pair[0]))):
        width = len(pair[1]) + 1  # sorted, so this is the longest so far
        if batches[-1] and (len(batches[-1]) + 1) * width > batch_tokens:
            batches.append([])
        batches[-1].append(pair)
    return batches


def framed(rows: Sequence[tuple[Ids, Ids]], tokenizer: Tokenizer) -> dict[str, Numbers]:
    """Source ``ids </s>``, decoder input ``<s> ids``, labels ``ids </s>``."""
    pad, bos, eos = tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id
    return {
        "source": _matrix([[*source, eos] for source, _ in rows], pad),
        "source_lengths": np.array([len(source) + 1 for source, _ in rows]),
        "target": _matrix([[bos, *target] for _, target in rows], pad),
        "labels": _matrix([[*target, eos] for _, target in rows], NO_LABEL),
    }


def _matrix(rows: Sequence[Ids], filler: int) -> Numbers:
    matrix = np.full((len(rows), max(map(len, rows))), filler, np.int64)
    for number, row in enumerate(rows):
        matrix[number, : len(row)] = row
    return matrix


def _lines(data: Path, language: str) -> list[str]:
    path = data / f"train.{language}.gz"
    return gzip.open(path, "rt", encoding="utf-8", newline="\n").read().removesuffix("\n").split("\n")
