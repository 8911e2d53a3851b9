"""Words for blanks, labels and vectors, by an encoder-only model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.decoding.explaining import Explainable
from glassformer.decoding.generation import evaluating
from glassformer.decoding.planning import budgeted
from glassformer.decoding.pretrained import load_family, save
from glassformer.decoding.step import source_batch
from glassformer.decoding.wording import check_texts, place
from glassformer.errors import InputError
from glassformer.nn import EncoderOnly
from glassformer.nn.shapes import Hidden, PaddingMask, Pooled
from glassformer.text import Tokenizer

MARKER = "[MASK]"


@dataclass(frozen=True, slots=True)
class Guess:
    """A token that may stand in a blank."""

    text: str
    id: int
    probability: float


@dataclass(frozen=True, slots=True)
class Label:
    """A class and how probable it is."""

    name: str
    probability: float


class TextEncoder(Explainable):
    """An encoder-only model and how to ask it. Threads may share one.

    A text stands between ``<s>`` and ``</s>``. A blank text is not shown to the model: it has no labels,
    and its vector is 0.
    """

    def __init__(self, model: EncoderOnly, tokenizer: Tokenizer, *, batch_tokens: int = 4096) -> None:
        """``batch_tokens`` padded tokens are read side by side; that changes speed, not results."""
        self.model, self.tokenizer, self.batch_tokens = model.eval(), tokenizer, batch_tokens
        config = model.config
        self.labels = config.labels or tuple(str(i) for i in range(config.n_classes))

    @classmethod
    def from_pretrained(cls, directory: Path | str) -> Self:
        """The encoder of a model or run directory."""
        (model,), tokenizer = load_family(EncoderOnly, (directory,))
        return cls(model, tokenizer)

    def save_pretrained(self, directory: Path | str, card: str = "") -> None:
        """Write the model directory that ``from_pretrained`` reads."""
        save(directory, (self.model,), self.tokenizer, card)

    @torch.inference_mode()
    def fill(self, texts: Sequence[str], *, top: int = 5, marker: str = MARKER) -> list[list[list[Guess]]]:
        """For each marker of each text the most probable tokens, best first; a blank text has none."""
        rows = [self._marked(i, text, marker, len(texts)) for i, text in enumerate(check_texts(texts))]
        mask_id, silent = self.tokenizer.mask_id, sorted(self.tokenizer.control_ids)
        found: list[list[list[Guess]]] = [[] for _ in rows]
        for batch, hidden, _ in self._encoded(rows):
            for row, i in enumerate(batch):
                blanks = [at for at, token in enumerate(rows[i]) if token == mask_id]
                logits = self.model.guessed(hidden[row : row + 1, blanks])[0].float()
                logits[:, silent] = float("-inf")
                logits[:, self.tokenizer.size :] = float("-inf")
                best = logits.softmax(-1).topk(min(top, logits.size(-1)), dim=-1)
                found[i] = [self._guesses(*pair) for pair in zip(best.indices, best.values, strict=True)]
        return found

    @torch.inference_mode()
    def classify(self, texts: Sequence[str]) -> list[list[Label]]:
        """For each text the labels, most probable first; none for a blank text."""
        rows = self._framed(check_texts(texts))
        found: list[list[Label]] = [[] for _ in rows]
        for batch, ids, mask in self._batches(rows):
            chances = self.model.classify(ids, mask).float().softmax(-1)
            ranked = chances.sort(dim=-1, descending=True, stable=True)
            for i, places, values in zip(batch, ranked.indices.tolist(), ranked.values.tolist(), strict=True):
                found[i] = [Label(self.labels[k], p) for k, p in zip(places, values, strict=True)]
        return found

    @torch.inference_mode()
    def embed(
        self, texts: Sequence[str], *, pool: Literal["mean", "first"] | None = None, normalize: bool = True
    ) -> Tensor:
        """One vector for each text: (texts, d_model); of length 1 unless ``normalize`` is off."""
        rows = self._framed(check_texts(texts))
        vectors = torch.zeros(len(rows), self.model.config.d_model)
        for batch, hidden, mask in self._encoded(rows):
            vectors[batch] = self._pooled(hidden, mask, pool).float()
        return F.normalize(vectors, dim=-1) if normalize else vectors

    def similarity(self, texts: Sequence[str], others: Sequence[str] | None = None) -> Tensor:
        """The cosine of each text's vector with each of the others': (texts, others)."""
        vectors = self.embed(texts)
        return vectors @ (vectors if others is None else self.embed(others)).T

    def _pooled(
        self, hidden: Hidden, mask: PaddingMask | None, pool: Literal["mean", "first"] | None
    ) -> Pooled:
        if pool is None or pool == self.model.config.pooling:
            return self.model.pool(hidden, mask)
        if pool == "first":
            return hidden[:, 0]
        if mask is None:
            return hidden.mean(1)
        real = mask[:, 0, 0, :, None]
        return hidden.masked_fill(~real, 0.0).sum(1) / real.sum(1)

    def _encoded(
        self, rows: Sequence[Sequence[int]]
    ) -> Iterator[tuple[list[int], Hidden, PaddingMask | None]]:
        for batch, ids, mask in self._batches(rows):
            yield batch, self.model.encode(ids, mask), mask

    def _batches(
        self, rows: Sequence[Sequence[int]]
    ) -> Iterator[tuple[list[int], Tensor, PaddingMask | None]]:
        """The rows that are not empty, in batches of similar length."""
        asked = [i for i, row in enumerate(rows) if row]
        with evaluating([self.model]):
            for part in budgeted([len(rows[i]) for i in asked], self.batch_tokens):
                batch = [asked[at] for at in part]
                yield batch, *source_batch([rows[i] for i in batch], self.tokenizer.pad_id)

    def _framed(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self.tokenizer.encode_batch(texts)
        return [self._frame(i, ids, len(texts)) if ids else [] for i, ids in enumerate(encoded)]

    def _frame(self, i: int, ids: Sequence[int], n: int) -> list[int]:
        most = self.model.config.max_length
        if len(ids) + 2 > most:
            raise InputError(
                f"{place(i, n)}a text of {len(ids) + 2} tokens is longer than max_length = {most}; "
                "split it, or train with a larger max_length"
            )
        return [self.tokenizer.bos_id, *ids, self.tokenizer.eos_id]

    def _marked(self, i: int, text: str, marker: str, n: int) -> list[int]:
        """The ids of a text in which markers stand for blanks; none for a blank text."""
        if not marker:
            raise InputError("a marker cannot be empty; name one, such as [MASK]")
        first, *others = self.tokenizer.encode_batch(text.split(marker))
        if not others and not first:
            return []
        if not others:
            raise InputError(f"{place(i, n)}there is no {marker} to fill; write it where a word is missing")
        ids = [*first]
        for part in others:
            ids += [self.tokenizer.mask_id, *part]
        return self._frame(i, ids, n)

    def _guesses(self, ids: Tensor, probabilities: Tensor) -> list[Guess]:
        pairs = zip(ids.tolist(), probabilities.tolist(), strict=True)
        return [Guess(self.tokenizer.decode([token]), token, p) for token, p in pairs]
