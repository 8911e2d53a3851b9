"""The LSTM that is compared with is one that can learn."""

from dataclasses import replace

import torch

from benchmarks.lstm import LstmTranslator
from glassformer.data import Batch


def batch(rows: int, draw: torch.Generator) -> Batch:
    """Sequences to be repeated, after a token that begins them."""
    source = torch.randint(4, 12, (rows, 5), generator=draw)
    target = torch.cat([torch.ones(rows, 1, dtype=torch.long), source[:, :-1]], 1)
    return Batch(
        source=source,
        source_lengths=torch.full((rows,), 5),
        target=target,
        labels=source,
        n_source=rows * 5,
        n_targets=rows * 5,
        rows=torch.arange(rows),
    )


def test_it_learns_to_copy() -> None:
    torch.manual_seed(1)
    draw = torch.Generator().manual_seed(1)
    module = LstmTranslator(12, 32, 2, dropout=0.0, smoothing=0.0)
    optimizer = torch.optim.Adam(module.parameters(), 1e-2)
    for _ in range(150):
        shown = batch(64, draw)
        loss, _ = module(shown)
        optimizer.zero_grad()
        (loss / shown.n_targets).backward()
        optimizer.step()
    with torch.no_grad():
        loss, nll = module(batch(64, draw))

    assert loss == nll  # nothing is smoothed
    assert float(nll) / 320 < 0.3  # by chance: 2.1


def test_padding_changes_nothing() -> None:
    torch.manual_seed(2)
    module = LstmTranslator(12, 16, 2, dropout=0.0, smoothing=0.1).double()
    whole = batch(3, torch.Generator().manual_seed(2))
    padded = replace(whole, source=torch.cat([whole.source, torch.zeros(3, 4, dtype=torch.long)], 1))

    with torch.no_grad():
        torch.testing.assert_close(module(whole), module(padded))
