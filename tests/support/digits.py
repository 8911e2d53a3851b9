"""Strings of digits to learn from, and others to be asked about."""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

PAD, BEGIN, END = 0, 1, 2
DIGITS = range(3, 13)
VOCABULARY = 13

String = tuple[int, ...]


class Strings:
    """An endless supply of random strings, less those held out."""

    def __init__(self, draw: random.Random, *, longest: int, held_out: int, shortest: int = 0) -> None:
        self.longest = longest
        self._shortest = shortest
        self._draw = draw
        kept: set[String] = set()
        while len(kept) < held_out:  # long ones: of the short ones there are few
            kept.add(tuple(draw.choices(DIGITS, k=draw.randint(max(shortest, longest // 2), longest))))
        self._kept = kept
        self.held_out = sorted(kept)

    def batch(self, size: int) -> list[String]:
        """New strings, the empty one among them where the shortest has no length."""
        result: list[String] = []
        while len(result) < size:
            length = self._draw.randint(self._shortest, self.longest)
            string = tuple(self._draw.choices(DIGITS, k=length))
            if string not in self._kept:
                result.append(string)
        return result


def pad_all(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of ids, brought to one length by padding behind them."""
    size = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (size - len(row))] for row in rows])
