"""Which source token a target token comes from, read off the attention to the source.

Layers differ much in how well they say it, so the one to read is chosen on data. A token's row is either
that of the step which predicts it, or of the next step, which it is fed to (Chen et al. 2020): often the
better one.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from glassformer.decoding.generation import budgeted, evaluating
from glassformer.decoding.hypothesis import Specials
from glassformer.decoding.observe import head_means
from glassformer.decoding.scoring import Target
from glassformer.decoding.step import padded_ids, source_batch
from glassformer.errors import InputError
from glassformer.nn import EncoderDecoder

Pairs = frozenset[tuple[int, int]]
"""Places (source, target) that belong together."""


class Reading(NamedTuple):
    """Where an alignment is read."""

    layer: int
    """Counted from 0, the decoder's first."""
    fed: bool = False
    """Read the step that a token is fed to, instead of the one that predicts it."""


class Link(NamedTuple):
    """A target place and the source place it comes from, with the attention that says so."""

    source: int
    target: int
    weight: float


def default_reading(model: EncoderDecoder) -> Reading:
    """The layer below the last, the usual best where nothing is known (Garg et al. 2019)."""
    return Reading(max(model.config.n_decoder_layers - 2, 0))


@torch.inference_mode()
def cross_attention(
    model: EncoderDecoder, targets: Sequence[Target], specials: Specials, *, batch_tokens: int = 4096
) -> list[Tensor]:
    """What each target's steps look at, averaged over heads: (layers, tokens + 1, source) for each.

    Row t predicts token t; the last row predicts ``</s>``.
    """
    attentions = [block.cross_attention for block in model.decoder.blocks]
    found = [Tensor()] * len(targets)
    sizes = [len(target.input) + len(target.ids) + 1 for target in targets]
    with evaluating([model]), head_means(attentions) as seen:
        for batch in budgeted(sizes, batch_tokens):
            source, mask = source_batch([targets[i].input for i in batch], specials.pad)
            fed = padded_ids([[specials.start, *targets[i].ids] for i in batch], specials.pad)
            model.decode(fed, model.remember(model.encode(source, mask), mask))
            weights = torch.stack(seen, dim=1)  # (B, layers, L, S)
            for row, i in enumerate(batch):
                found[i] = weights[row, :, : len(targets[i].ids) + 1, : len(targets[i].input)].clone()
    return found


def token_weights(attention: Tensor, reading: Reading) -> Tensor:
    """The row of each target token, as the reading has it: (tokens, source)."""
    layer = attention[reading.layer]
    return layer[1:] if reading.fed else layer[:-1]


def word_weights(weights: Tensor, source_words: Sequence[int], target_words: Sequence[int]) -> Tensor:
    """Weights between words: attention on a word is the sum over its tokens, of a word the mean over its own.

    A word is given by the number of each of its tokens; tokens numbered -1 belong to none.
    """
    sums = _members(source_words)
    means = _members(target_words)
    means = means / means.sum(1, keepdim=True).clamp(min=1)
    return means.to(weights) @ weights @ sums.to(weights).T


def links(weights: Tensor, sources: Sequence[int] | None = None) -> list[Link]:
    """For each target place the source place it looks at most, among those that are allowed."""
    if sources is not None and not sources:
        return []
    allowed = torch.arange(weights.size(1)) if sources is None else torch.tensor(list(sources))
    if not weights.size(0) or not len(allowed):
        return []
    best = weights[:, allowed].max(1)
    places = allowed[best.indices].tolist()
    return [Link(s, t, w) for t, (s, w) in enumerate(zip(places, best.values.tolist(), strict=True))]


def pharaoh(found: Iterable[Link]) -> str:
    """Links as other tools read them: ``0-0 1-2``, source first."""
    return " ".join(f"{source}-{target}" for source, target, _ in sorted(found))


def read_pharaoh(line: str) -> Pairs:
    """The places of a line such as ``0-0 1-2``."""
    pairs = []
    for word in line.split():
        source, dash, target = word.partition("-")
        if not (dash and source.isdecimal() and target.isdecimal()):
            raise InputError(f"{word!r} is no alignment; write pairs of places such as 0-0 1-2")
        pairs.append((int(source), int(target)))
    return frozenset(pairs)


def alignment_error_rate(found: Iterable[Pairs], sure: Iterable[Pairs], possible: Iterable[Pairs]) -> float:
    """AER (Och & Ney 2003) over many sentences: 0 is perfect. Sure links are possible too."""
    hits, size = 0, 0
    for guess, certain, maybe in zip(found, sure, possible, strict=True):
        hits += len(guess & certain) + len(guess & (maybe | certain))
        size += len(guess) + len(certain)
    return 1.0 - hits / size if size else 0.0


def agreement(weights: Tensor) -> float:
    """How far the two directions agree: best source of each target, best target of each source (F1)."""
    if not weights.numel():
        return 0.0
    forward = {(s, t) for t, s in enumerate(weights.argmax(1).tolist())}
    backward = {(s, t) for s, t in enumerate(weights.argmax(0).tolist())}
    return 2 * len(forward & backward) / (len(forward) + len(backward))


def same_tokens(target: Target) -> Pairs:
    """Links that need no dictionary: tokens that occur once on each side, such as names and numbers.

    Only where both sides share a vocabulary.
    """
    once = [
        {token: ids.index(token) for token in ids if ids.count(token) == 1}
        for ids in (target.input, target.ids)
    ]
    return frozenset((once[0][token], once[1][token]) for token in once[0].keys() & once[1].keys())


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


def _error(attention: Sequence[Tensor], gold: Sequence[Pairs]) -> Callable[[Reading], float]:
    """How wrong a reading is on the target places that gold speaks of."""

    def error(reading: Reading) -> float:
        found = []
        for each, known in zip(attention, gold, strict=True):
            places = {target for _, target in known}
            guess = links(token_weights(each, reading))
            found.append(frozenset((link.source, link.target) for link in guess if link.target in places))
        return alignment_error_rate(found, gold, gold)

    return error


def _members(words: Sequence[int]) -> Tensor:
    """Which tokens make up each word: (words, tokens), 0 or 1."""
    places = torch.tensor(list(words))
    return (places == torch.arange(1 + max(words, default=-1))[:, None]).float()
