"""A translator of LSTMs with one attention between them (Luong et al. 2015), to compare with.

The encoder reads both ways; the decoder looks at its states by a learned product, and one tanh layer joins
what it saw with its own state. Embeddings and output share one matrix, as in our models.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from glassformer.data import Batch
from glassformer.nn import cross_entropy


class LstmTranslator(nn.Module):
    """Shown a batch it answers with the smoothed loss and the negative log-likelihood, summed, as ours do."""

    def __init__(self, vocab_size: int, width: int, n_layers: int, dropout: float, smoothing: float) -> None:
        super().__init__()
        self.smoothing = smoothing
        self.embedding = nn.Embedding(vocab_size, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        between = dropout if n_layers > 1 else 0.0
        self.encoder = nn.LSTM(
            width, width // 2, n_layers, batch_first=True, dropout=between, bidirectional=True
        )
        self.decoder = nn.LSTM(width, width, n_layers, batch_first=True, dropout=between)
        self.look = nn.Linear(width, width, bias=False)
        self.join = nn.Linear(2 * width, width)
        self.bias = nn.Parameter(torch.zeros(vocab_size))
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The loss of a batch of pairs."""
        memory = self.encode(batch.source, batch.source_lengths)
        states, _ = self.decoder(self.dropout(self.embedding(batch.target)))
        size = batch.source.size(1)
        unseen = torch.arange(size) >= batch.source_lengths[:, None]
        scores = self.look(states) @ memory.transpose(1, 2)
        weights = scores.masked_fill(unseen[:, None], -torch.inf).softmax(-1)
        joined = torch.tanh(self.join(torch.cat([states, weights @ memory], -1)))
        real = batch.labels >= 0
        logits = self.dropout(joined[real]) @ self.embedding.weight.T + self.bias
        loss, nll = cross_entropy(logits, batch.labels[real], self.smoothing)
        return loss, nll

    if TYPE_CHECKING:
        __call__ = forward

    def encode(self, source: Tensor, lengths: Tensor) -> Tensor:
        """The encoder's states (B, S, width)."""
        packed = pack_padded_sequence(
            self.dropout(self.embedding(source)), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(
            self.encoder(packed)[0], batch_first=True, total_length=source.size(1)
        )
        kept: Tensor = self.dropout(states)
        return kept
