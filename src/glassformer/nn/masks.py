"""Who may look at whom. True means 'may look', as in ``scaled_dot_product_attention``.

Masks are made here and nowhere else, and always have four dimensions. A query that may look at nothing
gets exactly 0 from attention, and finite gradients.
"""

import torch
from torch import Tensor

from glassformer.nn.shapes import Hidden, Ids, Lengths, Mask, PaddingMask, Positions


def causal_mask(length: int, past: int = 0, device: torch.device | None = None) -> Mask:
    """Each of ``length`` positions may look at itself and at all before it, ``past`` earlier ones too."""
    every_pair = torch.ones(length, past + length, dtype=torch.bool, device=device)
    return every_pair.tril(past)[None, None]  # (1, 1, L, P)


def padding_mask(lengths: Lengths, size: int) -> PaddingMask:
    """Tokens may be looked at; the padding behind them, up to ``size``, may not."""
    positions = torch.arange(size, device=lengths.device)
    return (positions < lengths[:, None])[:, None, None]  # (B, 1, 1, P)


def token_mask(ids: Ids, pad_id: int) -> PaddingMask:
    """Everything that is not the padding id may be looked at, on whichever side the padding stands."""
    return (ids != pad_id)[:, None, None]  # (B, 1, 1, P)


def combine(*masks: Mask | None) -> Mask | None:
    """What every one of the masks allows; None allows everything."""
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    allowed: Tensor = given[0]
    for mask in given[1:]:
        allowed = allowed & mask
    return allowed


def token_positions(mask: PaddingMask | None, length: int, device: torch.device) -> Positions:
    """Where each of the last ``length`` positions stands, counted over tokens only.

    Padding does not count, so a sentence has the same positions whichever side is padded.
    """
    if mask is None:
        return torch.arange(length, device=device)[None]
    counted = mask[:, 0, 0].long().cumsum(-1) - 1
    return counted.clamp(min=0)[:, -length:]


def without_padding(x: Hidden, mask: PaddingMask | None) -> Hidden:
    """Zeros where there is padding: even a masked NaN would leak, since 0 · NaN is NaN."""
    if mask is None:
        return x
    return x.masked_fill(~mask[:, 0, 0, :, None], 0.0)
