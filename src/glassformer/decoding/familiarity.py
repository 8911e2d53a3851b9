"""Whether a source is like the text that a model has learned from: ``familiar.json``, which may be missing.

Two signs that it is not. It is longer than nearly all sources were. Or its pieces are rarer than in nearly
all of them, by piece or by character: text in another language falls into short pieces that the training text
hardly had, and text in the target language into long ones. The cost of a piece is minus the logarithm of its
share of all pieces (nats); long texts average out what is rare, so what they may cost beyond the usual
grows with the square root of their length.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from glassformer.checkpoint.model_files import read_extra
from glassformer.checkpoint.reading import json_object
from glassformer.config import Strict, read
from glassformer.errors import CheckpointError, ConfigError
from glassformer.text import Tokenizer

FILE = "familiar.json"
SAMPLE = 50_000
"""Sources that are measured, spread evenly over the training text; pieces are counted in all of it."""
LONG, FOREIGN = 0.999, 0.998
"""Shares of the training sources that give no warning by their length, and by each of the two costs."""

UNLIKE = "the input is unlike the text that this model has learned from; is it in another language?"

_STEPS = 10  # costs are kept in tenths of a nat


class Familiarity(Strict):
    """What the sources of a training text were like."""

    longest: PositiveInt
    """Tokens, special ones not counted."""
    costs: Annotated[tuple[NonNegativeInt, ...], Field(strict=False)]  # JSON has lists
    """Of each source id, in tenths of a nat."""
    usual: float
    """Nats that a character costs on average."""
    excess: float
    """Most nats beyond the usual, for each square root of a character."""
    piece: float
    """Most nats that the pieces of a text cost on average."""

    def warnings(self, text: str, ids: Sequence[int]) -> list[str]:
        """What the author of a source should be told; ``ids`` are its own, without special ones."""
        found = []
        if len(ids) > self.longest:
            found.append(
                f"the input has {len(ids)} tokens, more than {LONG:.1%} of the training text had "
                f"({self.longest}); shorter sentences are translated better"
            )
        if ids and self._foreign(text, ids):
            found.append(UNLIKE)
        return found

    def to_bytes(self) -> bytes:
        """The file, on one line: a number for every id."""
        return json.dumps(self.model_dump(), sort_keys=True).encode() + b"\n"

    @classmethod
    def of(cls, directory: Path, tokenizer: Tokenizer) -> Self | None:
        """That of a model directory, if it has one."""
        data = read_extra(directory, FILE)
        if data is None:
            return None
        path = directory / FILE
        try:
            found = read(cls, json_object(data, str(path)), str(path))
        except ConfigError as error:
            raise CheckpointError(str(error)) from None
        if len(found.costs) != tokenizer.source.size:
            raise CheckpointError(
                f"{path}: {len(found.costs)} costs, but there are {tokenizer.source.size} source tokens"
            )
        return found

    @classmethod
    def learn(cls, tokenizer: Tokenizer, ids: NDArray[Any], offsets: NDArray[np.int64]) -> Self:
        """That of a training text: the ids of all sources one after the other, and where each begins."""
        source = tokenizer.source
        counts = np.bincount(ids, minlength=source.size)[: source.size] + 0.5  # nothing is impossible
        costs = np.round(-np.log(counts / counts.sum()) * _STEPS).astype(np.int64)
        rows = np.unique(np.linspace(0, len(offsets) - 2, min(SAMPLE, len(offsets) - 1)).astype(np.int64))
        sampled = [ids[offsets[row] : offsets[row + 1]] for row in rows]
        n_pieces = np.array([len(each) for each in sampled])
        n_characters = np.array([_size(source.decode(each.tolist())) for each in sampled])
        cost = np.array([costs[each].sum() for each in sampled]) / _STEPS
        usual = round(float(cost.sum() / n_characters.sum()), 4)
        return cls(
            longest=int(np.ceil(np.quantile(n_pieces, LONG))),
            costs=tuple(costs.tolist()),
            usual=usual,
            excess=_limit((cost - usual * n_characters) / np.sqrt(n_characters)),
            piece=_limit(cost / n_pieces),
        )

    def _foreign(self, text: str, ids: Sequence[int]) -> bool:
        cost = sum(self.costs[token] for token in ids) / _STEPS
        size = _size(text)
        return cost - self.usual * size > self.excess * math.sqrt(size) or cost / len(ids) > self.piece


def _size(text: str) -> int:
    return max(1, len(text.strip()))


def _limit(values: NDArray[np.float64]) -> float:
    return round(float(np.quantile(values, FOREIGN)) + 1e-3, 3)  # rounding must not exclude the largest
