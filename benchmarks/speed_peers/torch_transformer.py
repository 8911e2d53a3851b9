"""``nn.Transformer`` as its documentation would have it used: also the unfused twin of our model."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.speed_peers.worker import (
    BETAS,
    CLIP_NORM,
    EPSILON,
    LEARNING_RATE,
    SMOOTHING,
    IdBatch,
    Shape,
    Step,
    attention_kernel,
    serve,
)


class TorchTransformer(nn.Module):
    """Embedding, sines and cosines, ``nn.Transformer`` with norms after the residual sums, tied output."""

    def __init__(self, shape: Shape, dtype: torch.dtype = torch.float32, max_length: int = 512) -> None:
        super().__init__()
        self.scale = math.sqrt(shape.d_model)
        self.embedding = nn.Embedding(shape.vocab_size, shape.d_model)
        self.dropout = nn.Dropout(shape.dropout)
        sizes = (shape.d_model, shape.n_heads, shape.d_ff, shape.dropout)
        encoder = nn.TransformerEncoder(  # no norm at the end: the last layer has one
            nn.TransformerEncoderLayer(*sizes, batch_first=True), shape.n_layers, enable_nested_tensor=False
        )
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(*sizes, batch_first=True), shape.n_layers)
        self.transformer = nn.Transformer(
            shape.d_model, shape.n_heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
        )
        for module in self.modules():  # dropout only where ours has it, which also makes this one faster
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            if isinstance(module, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
                module.dropout.p = 0.0
        nn.init.normal_(self.embedding.weight, std=shape.d_model**-0.5)
        positions = torch.arange(max_length)[:, None] / 10_000 ** (
            torch.arange(0, shape.d_model, 2, dtype=torch.float64) / shape.d_model
        )
        waves = torch.stack([positions.sin(), positions.cos()], dim=-1).flatten(1)
        self.to(dtype)
        self.register_buffer("waves", waves.to(dtype))  # float64 has waves of its own, not rounded ones
        self.waves: Tensor

    def forward(self, source: Tensor, target: Tensor, source_mask: Tensor | None) -> Tensor:
        """The logits."""
        padding = None if source_mask is None else ~source_mask
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1), dtype=self.waves.dtype)
        hidden: Tensor = self.transformer(
            self._embedded(source),
            self._embedded(target),
            tgt_mask=causal,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return F.linear(hidden, self.embedding.weight)

    def _embedded(self, ids: Tensor) -> Tensor:
        embedded: Tensor = self.dropout(self.embedding(ids) * self.scale + self.waves[: ids.size(1)])
        return embedded


def build(shape: Shape, setting: str, batches: Sequence[IdBatch]) -> tuple[nn.Module, Step]:
    """The settings are PyTorch's two attention kernels for a CPU."""
    model = TorchTransformer(shape)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, betas=BETAS, eps=EPSILON, fused=True)
    masks = [batch.source_mask for batch in batches]

    def step(number: int) -> float:
        batch = batches[number]
        with attention_kernel(setting):
            optimizer.zero_grad()
            logits = model(batch.source, batch.target, masks[number])
            loss = F.cross_entropy(
                logits.flatten(0, 1), batch.labels.flatten(), ignore_index=-1, label_smoothing=SMOOTHING
            )
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
            optimizer.step()
            return float(loss.detach())

    return model, step


if __name__ == "__main__":
    serve(build)
