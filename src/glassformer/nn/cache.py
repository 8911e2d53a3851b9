"""What earlier steps left behind, so that a step computes one position and not all."""

from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.nn.shapes import KeysValues, PaddingMask


class KeysValuesCache:
    """Keys and values of the positions so far, of one layer."""

    def __init__(self) -> None:
        self._keys: Tensor | None = None  # room for more positions than there are
        self._values: Tensor | None = None
        self.length = 0

    def append(self, new: KeysValues) -> KeysValues:
        """Everything so far, the new positions included."""
        if self._keys is None or self._values is None:
            self._keys, self._values = new
        elif torch.is_grad_enabled():  # writing in place would break the graph
            so_far = self._so_far(self._keys, self._values)
            self._keys = torch.cat([so_far.keys, new.keys], dim=2)
            self._values = torch.cat([so_far.values, new.values], dim=2)
        else:
            self._keys = _write(self._keys, new.keys, self.length)
            self._values = _write(self._values, new.values, self.length)
        self.length += new.keys.size(2)
        return self._so_far(self._keys, self._values)

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row ``rows[i]`` was: beams continue others, finished sentences leave."""
        if self._keys is not None and self._values is not None:
            self._keys = _rows(self._keys, rows, self.length)
            self._values = _rows(self._values, rows, self.length)

    @property
    def so_far(self) -> KeysValues | None:
        """Everything appended; None before there is anything."""
        if self._keys is None or self._values is None:
            return None
        return self._so_far(self._keys, self._values)

    def _so_far(self, keys: Tensor, values: Tensor) -> KeysValues:
        return KeysValues(keys[:, :, : self.length], values[:, :, : self.length])


def _write(buffer: Tensor, new: Tensor, at: int) -> Tensor:
    """The buffer with new positions from ``at`` on; doubled when full, so that appending stays cheap."""
    end = at + new.size(2)
    if end > buffer.size(2):
        larger = buffer.new_empty(*buffer.shape[:2], max(2 * at, end, 16), buffer.size(3))
        larger[:, :, :at] = buffer[:, :, :at]
        buffer = larger
    buffer[:, :, at:end] = new
    return buffer


def _rows(buffer: Tensor, rows: Tensor, length: int) -> Tensor:
    """Rows of a buffer, its spare room kept: the next position then needs no second copy."""
    if torch.is_grad_enabled():
        return buffer[:, :, :length].index_select(0, rows)
    chosen = buffer.new_empty(len(rows), *buffer.shape[1:])
    torch.index_select(buffer[:, :, :length], 0, rows, out=chosen[:, :, :length])
    return chosen


class Cache:
    """The state of a decoder between two steps: its own past, and the memory of the encoder."""

    def __init__(
        self, n_layers: int, memory: Sequence[KeysValues] = (), memory_mask: PaddingMask | None = None
    ) -> None:
        self.layers = [KeysValuesCache() for _ in range(n_layers)]
        self.memory = tuple(memory)
        self.memory_mask = memory_mask

    @property
    def length(self) -> int:
        """Positions decoded so far."""
        return self.layers[0].length

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row ``rows[i]`` was, in every layer and in the memory."""
        self.reorder_past(rows)
        self.memory = tuple(
            KeysValues(keys.index_select(0, rows), values.index_select(0, rows))
            for keys, values in self.memory
        )
        if self.memory_mask is not None:
            self.memory_mask = self.memory_mask.index_select(0, rows)

    def reorder_past(self, rows: Tensor) -> None:
        """The same for beams of one sentence, whose memory is equal: it is not copied."""
        for layer in self.layers:
            layer.reorder(rows)
