"""A translator of LSTMs with one attention between them (Luong et al. 2015), to compare with.

The encoder reads both ways, and the decoder begins with its last states; it looks at all of them by a learned
product, and one tanh layer joins what it saw with its own state. Embeddings and output share one matrix,
which is scaled at the input, as in our models.
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
        memory, begin = self.encode(batch.source, batch.source_lengths)
        states, _ = self.decoder(self.embed(batch.target), begin)
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

    def embed(self, ids: Tensor) -> Tensor:
        """What an LSTM reads (B, L, width)."""
        scaled: Tensor = self.dropout(self.embedding(ids) * self.embedding.embedding_dim**0.5)
        return scaled

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The encoder's states (B, S, width), and the last of each layer, where the decoder begins."""
        packed = pack_padded_sequence(self.embed(source), lengths, batch_first=True, enforce_sorted=False)
        states, last = self.encoder(packed)
        whole, _ = pad_packed_sequence(states, batch_first=True, total_length=source.size(1))
        hidden, cell = (torch.cat([each[0::2], each[1::2]], -1) for each in last)  # both ways, side by side
        return self.dropout(whole), (hidden, cell)
