"""The rows of one model while queries come and go: caches of unequal length below each other."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.decoding.hypothesis import Query, Specials
from glassformer.decoding.step import Decodable, padded_ids, source_batch
from glassformer.nn import Cache, EncoderDecoder, padding_mask
from glassformer.nn.shapes import Hidden, KeysValues, PaddingMask


class JoinedRows:
    """Caches joined: what a row has said is padded before its beginning, what it reads behind its end."""

    def __init__(self, model: Decodable, specials: Specials) -> None:
        self._model, self._specials = model, specials
        self.has_source = isinstance(model, EncoderDecoder)
        self._cache: Cache | None = None
        self._said = torch.zeros(0, dtype=torch.long)  # positions in use of each row, cached
        self._read = torch.zeros(0, dtype=torch.long)  # source tokens of each row

    @torch.inference_mode()
    def join(self, queries: Sequence[Query]) -> None:
        """One more row for each query, below the others."""
        if isinstance(self._model, EncoderDecoder):
            ids, mask = source_batch([query.ids for query in queries], self._specials.pad)
            new = self._model.remember(self._model.encode(ids, mask), mask)
            said = torch.zeros(len(queries), dtype=torch.long)
        else:
            new = self._model.remember()
            read = [query.ids[:-1] for query in queries]  # the last token is fed by the first step
            said = torch.tensor([len(ids) for ids in read])
            if int(said.max()):
                mask = _mask_before(said)
                self._model.decode(padded_ids(read, self._specials.pad, left=True), new, mask)
        self._read = torch.cat([self._read, torch.tensor([len(query.ids) for query in queries])])
        self._cache = (
            new if self._cache is None or not len(self._said) else self._joined(self._cache, new, said)
        )
        self._said = torch.cat([self._said, said])

    @torch.inference_mode()
    def hidden(self, newest: Tensor) -> Hidden:
        """What the model makes of each row's newest token."""
        cache = self._existing()
        self._said = self._said + 1
        return self._model.decode(newest[:, None], cache, _mask_before(self._said))

    @torch.inference_mode()
    def reorder(self, rows: Tensor, *, same_inputs: bool) -> None:
        """Row i becomes what row ``rows[i]`` was; ``same_inputs``: each continues one of its own input."""
        cache = self._existing()
        self._said = self._said[rows]
        if same_inputs:
            cache.reorder_past(rows)
        elif len(rows):
            self._read = self._read[rows]
            cache.reorder(rows)
            self._cache = self._trimmed(cache)
        else:
            self._cache, self._read = None, self._read[rows]

    def _existing(self) -> Cache:
        if self._cache is None:
            raise RuntimeError("no query has joined")
        return self._cache

    def _joined(self, old: Cache, new: Cache, said: Tensor) -> Cache:
        memory, mask = self._memories(old, new)
        joined = Cache(len(old.layers), memory, mask)
        length = max(old.length, new.length)
        n_old, n_new = len(self._said), len(said)
        for into, first, second in zip(joined.layers, old.layers, new.layers, strict=True):
            above, below = first.so_far, second.so_far
            like = above if above is not None else below
            if like is not None:
                parts = zip(
                    _filled(above, like, n_old, length), _filled(below, like, n_new, length), strict=True
                )
                into.append(KeysValues(*(torch.cat(pair) for pair in parts)))
        return joined

    def _memories(self, old: Cache, new: Cache) -> tuple[list[KeysValues], PaddingMask | None]:
        """What the encoder left for all rows, brought to one length."""
        if not old.memory:
            return [], None
        size = max(old.memory[0].keys.size(2), new.memory[0].keys.size(2))
        memory = [
            KeysValues(*(torch.cat([_padded(x, size), _padded(y, size)]) for x, y in zip(a, b, strict=True)))
            for a, b in zip(old.memory, new.memory, strict=True)
        ]
        return memory, _mask_behind(self._read, size)

    def _trimmed(self, cache: Cache) -> Cache:
        """The same without the columns that are padding in every row."""
        length, size = int(self._said.max()), int(self._read.max())
        past_fits = cache.length == length
        memory_fits = not cache.memory or cache.memory[0].keys.size(2) == size
        if past_fits and memory_fits:
            return cache
        memory = [KeysValues(keys[:, :, :size], values[:, :, :size]) for keys, values in cache.memory]
        trimmed = Cache(len(cache.layers), memory, _mask_behind(self._read, size) if memory else None)
        for into, layer in zip(trimmed.layers, cache.layers, strict=True):
            if length and layer.so_far is not None:
                into.append(KeysValues(*(x[:, :, -length:] for x in layer.so_far)))
        return trimmed


def _mask_before(said: Tensor) -> PaddingMask | None:
    """Padding before rows of unequal length; None where all are equal."""
    length = int(said.max())
    if int(said.min()) == length:
        return None
    return padding_mask(said, length).flip(-1)


def _mask_behind(read: Tensor, size: int) -> PaddingMask | None:
    return None if int(read.min()) == size else padding_mask(read, size)


def _padded(x: Tensor, size: int) -> Tensor:
    return F.pad(x, (0, 0, 0, size - x.size(2)))


def _filled(entries: KeysValues | None, like: KeysValues, n_rows: int, length: int) -> KeysValues:
    """Keys and values with zeros before them; nothing but zeros for rows that have said nothing."""
    if entries is None:
        shapes = ((n_rows, x.size(1), length, x.size(3)) for x in like)
        return KeysValues(*(x.new_zeros(shape) for x, shape in zip(like, shapes, strict=True)))
    return KeysValues(*(F.pad(x, (0, 0, length - x.size(2), 0)) for x in entries))
