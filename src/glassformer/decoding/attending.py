"""What the decoder's steps look at in the source, and the layer whose attention aligns best; by PyTorch."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from glassformer.decoding.alignment import (
    Attention,
    Pairs,
    Reading,
    agreement,
    alignment_error_rate,
    links,
    token_weights,
)
from glassformer.decoding.generation import evaluating
from glassformer.decoding.hypothesis import Specials
from glassformer.decoding.observe import head_means
from glassformer.decoding.planning import budgeted
from glassformer.decoding.step import padded_ids, source_batch
from glassformer.decoding.targets import Target
from glassformer.nn import EncoderDecoder


@torch.inference_mode()
def cross_attention(
    model: EncoderDecoder, targets: Sequence[Target], specials: Specials, *, batch_tokens: int = 4096
) -> list[Attention]:
    """What each target's steps look at, averaged over heads: (layers, tokens + 1, source) for each.

    Row t predicts token t; the last row predicts ``</s>``.
    """
    attentions = [block.cross_attention for block in model.decoder.blocks]
    found: list[Attention] = [np.empty(0)] * len(targets)
    sizes = [len(target.input) + len(target.ids) + 1 for target in targets]
    with evaluating([model]), head_means(attentions) as seen:
        for batch in budgeted(sizes, batch_tokens):
            source, mask = source_batch([targets[i].input for i in batch], specials.pad)
            fed = padded_ids([[specials.start, *targets[i].ids] for i in batch], specials.pad)
            model.decode(fed, model.remember(model.encode(source, mask), mask))
            weights = torch.stack(seen, dim=1).numpy()  # (B, layers, L, S)
            for row, i in enumerate(batch):
                found[i] = weights[row, :, : len(targets[i].ids) + 1, : len(targets[i].input)].copy()
    return found


def choose_layer(
    model: EncoderDecoder, targets: Sequence[Target], specials: Specials, gold: Sequence[Pairs] | None = None
) -> Reading:
    """The reading that fits known links best, by AER; without any, the layer whose directions agree best.

    ``gold`` are places of tokens; ``same_tokens`` gives a few for nothing.
    """
    attention = cross_attention(model, targets, specials)
    layers = range(model.config.n_decoder_layers)
    if gold is not None and any(gold):
        readings = [Reading(layer, fed) for layer in layers for fed in (False, True)]
        return min(readings, key=_error(attention, gold))
    return max(
        (Reading(layer) for layer in layers),
        key=lambda reading: sum(agreement(token_weights(each, reading)) for each in attention),
    )


def _error(attention: Sequence[Attention], gold: Sequence[Pairs]) -> Callable[[Reading], float]:
    """How wrong a reading is on the target places that gold speaks of."""

    def error(reading: Reading) -> float:
        found = []
        for each, known in zip(attention, gold, strict=True):
            places = {target for _, target in known}
            guess = links(token_weights(each, reading))
            found.append(frozenset((link.source, link.target) for link in guess if link.target in places))
        return alignment_error_rate(found, gold, gold)

    return error
