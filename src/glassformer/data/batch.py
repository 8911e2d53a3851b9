"""Batches: what a model is shown and what it should answer, as tensors.

How rows are framed, with ``>>fr<<`` only where target languages have tags:

===========  ==============================  ===================================================
pairs        source ``>>fr<< ids </s>``      target ``<s> ids``, labels ``ids </s>``
stream       –                               target: the tokens before, labels: the tokens
lines        source ``<s> ids </s>``, some   labels: the hidden tokens in their places
             of the ids hidden
labelled     source ``<s> ids </s>``         labels: one per row
===========  ==============================  ===================================================

The source of a pair ends with ``</s>`` as in Marian and fairseq; imported tokenizers bring the frame that
their models know, BART's being source ``<s> ids </s>``, target ``</s> <s> ids``, labels ``<s> ids </s>``. A
text that is read alone stands between ``<s>`` and ``</s>`` as in BERT, so that its first position belongs to
the whole of it. Padding stands behind the tokens; its label is ``NO_LABEL``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.data.sampler import Windows
from glassformer.data.store import Ids, Ragged
from glassformer.text import Tokenizer
from glassformer.text.vocabulary import EOS

NO_LABEL = -1
"""The label where nothing is to be learned."""

KEPT, REPLACED = 0.1, 0.1
"""Of the tokens to be guessed: shares left as they are, and replaced by a random one. The rest is hidden."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Batch:
    """What a model is shown and what it should answer; all tensors are int64.

    A side that the family lacks has width 0: the source of a language model, the target of an encoder.
    """

    source: Tensor
    """Ids for the encoder (B, S)."""
    source_lengths: Tensor
    """Tokens in each row of the source (B)."""
    target: Tensor
    """Ids for the decoder (B, L)."""
    labels: Tensor
    """The right answers: at each target position the token after it (B, L), at each source position the
    hidden token (B, S), or the class of each row (B)."""
    n_source: int
    """Tokens of the source, without padding."""
    n_targets: int
    """Labels that are no padding: the loss is a sum of so many terms."""
    rows: Tensor
    """Which rows of the corpus these are; for windows, where they begin (B)."""

    def __len__(self) -> int:
        return len(self.rows)

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        names = ("source", "source_lengths", "target", "labels", "rows")
        return replace(self, **{name: getattr(self, name).to(device) for name in names})


class Specials(NamedTuple):
    """What the tokens that no text gives are called by number."""

    pad: int
    bos: int
    eos: int
    mask: int
    n_control: int
    """Ids below this one stand for no text."""
    size: int
    """How many ids there are."""
    before: tuple[int, ...] = ()
    """What stands before the source of a pair, behind its tag."""
    after: tuple[int, ...] = (EOS,)
    """What stands behind it."""
    forced: tuple[int, ...] = ()
    """What every target of a pair begins with; a decoder is not asked for it, but has learned it."""

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Specials":
        """Those of a tokenizer."""
        n_control = tokenizer.n_control
        t = tokenizer
        frame = (t.source_before, t.source_after, t.target_before)
        return cls(t.pad_id, t.bos_id, t.eos_id, t.mask_id, n_control, t.size, *frame)


def pair_batch(
    source: Ragged, target: Ragged, rows: Numbers, specials: Specials, tags: Ids | None = None
) -> Batch:
    """Pairs for an encoder-decoder; ``tags`` ask for the target language of each."""
    free = () if tags is None else (specials.pad,)  # kept free for the tags
    before = (*free, *specials.before)
    encoded = padded(source, specials.pad, before, specials.after)
    if tags is not None:
        encoded[:, 0] = tags
    lengths = source.lengths + len(before) + len(specials.after)
    shown = padded(target, specials.pad, (specials.bos, *specials.forced), ())
    labels = padded(target, NO_LABEL, specials.forced, (specials.eos,))
    return _batch(rows, labels, source=encoded, source_lengths=lengths, target=shown)


def window_batch(tokens: Ids, windows: Windows, specials: Specials) -> Batch:
    """Windows of a stream for a language model: each token is the label of the token before it.

    The stream is a ring. It ends with ``</s>``, after which its first token is as well placed as any line's.
    """
    starts, lengths = windows
    places = np.arange(lengths.max())
    inside = places < lengths[:, None]
    labelled = (starts[:, None] + places) % len(tokens)
    labels = np.where(inside, tokens[labelled].astype(np.int64), NO_LABEL)
    shown = np.where(inside, tokens[labelled - 1].astype(np.int64), specials.pad)  # -1 is the last token
    return _batch(starts, labels, target=shown)


def masked_batch(
    source: Ragged, rows: Numbers, specials: Specials, probability: float, random: np.random.Generator
) -> Batch:
    """Lines for a masked language model, a share of their tokens to be guessed (BERT, section 3.1).

    There is at least one to guess.
    """
    ids = padded(source, specials.pad, [specials.bos], [specials.eos])
    ordinary = np.flatnonzero(ids >= specials.n_control)
    chosen = ordinary[random.random(len(ordinary)) < probability]
    if not len(chosen) and len(ordinary):
        chosen = random.choice(ordinary, 1)
    labels = np.full_like(ids, NO_LABEL)
    labels.flat[chosen] = ids.flat[chosen]
    fate = random.random(len(chosen))
    others = random.integers(specials.n_control, specials.size, len(chosen))
    fates = [fate < REPLACED, fate < REPLACED + KEPT]
    ids.flat[chosen] = np.select(fates, [others, ids.flat[chosen]], specials.mask)
    return _batch(rows, labels, source=ids, source_lengths=source.lengths + 2)


def labelled_batch(source: Ragged, rows: Numbers, classes: NDArray[Any], specials: Specials) -> Batch:
    """Texts with their classes for a classifier."""
    ids = padded(source, specials.pad, [specials.bos], [specials.eos])
    return _batch(rows, classes.astype(np.int64), source=ids, source_lengths=source.lengths + 2)


def padded(ragged: Ragged, pad: int, before: Sequence[int], after: Sequence[int]) -> Numbers:
    """Sequences as the rows of one matrix, with ids put before and after each, and padding behind."""
    n_rows, begin = len(ragged.lengths), len(before)
    inner = int(ragged.lengths.max())
    matrix = np.full((n_rows, begin + inner + len(after)), pad, np.int64)
    matrix[:, :begin] = before
    places = np.arange(inner)
    inside = places < ragged.lengths[:, None]
    wanted = (ragged.starts[:, None] + places)[inside]
    matrix[:, begin : begin + inner][inside] = ragged.flat[wanted]
    for place, token in enumerate(after, start=begin):
        matrix[np.arange(n_rows), ragged.lengths + place] = token
    return matrix


def _batch(
    rows: Numbers,
    labels: Numbers,
    *,
    source: Numbers | None = None,
    source_lengths: Numbers | None = None,
    target: Numbers | None = None,
) -> Batch:
    absent = np.zeros((len(rows), 0), np.int64)
    lengths = np.zeros(len(rows), np.int64) if source_lengths is None else source_lengths
    return Batch(
        source=torch.from_numpy(absent if source is None else source),
        source_lengths=torch.from_numpy(lengths),
        target=torch.from_numpy(absent if target is None else target),
        labels=torch.from_numpy(labels),
        n_source=int(lengths.sum()),
        n_targets=int((labels != NO_LABEL).sum()),
        rows=torch.from_numpy(np.ascontiguousarray(rows)),
    )
