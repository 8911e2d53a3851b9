"""Hugging Face's ``MarianMTModel`` with fresh weights, fed batches that are bucketed by us."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import nn
from transformers import MarianConfig, MarianMTModel

from benchmarks.speed_peers.worker import (
    BETAS,
    CLIP_NORM,
    EPSILON,
    LEARNING_RATE,
    PAD,
    SMOOTHING,
    IdBatch,
    Shape,
    Step,
    serve,
)


def build(shape: Shape, setting: str, batches: Sequence[IdBatch]) -> tuple[nn.Module, Step]:
    """The settings are the library's attention implementations: sdpa, eager."""
    config = MarianConfig(  # type: ignore[call-arg]  # attn_implementation is taken, but not declared
        vocab_size=shape.vocab_size,
        d_model=shape.d_model,
        encoder_layers=shape.n_layers,
        decoder_layers=shape.n_layers,
        encoder_attention_heads=shape.n_heads,
        decoder_attention_heads=shape.n_heads,
        encoder_ffn_dim=shape.d_ff,
        decoder_ffn_dim=shape.d_ff,
        max_position_embeddings=512,
        activation_function="relu",
        dropout=shape.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        scale_embedding=True,
        init_std=shape.d_model**-0.5,
        pad_token_id=PAD,
        decoder_start_token_id=1,
        bos_token_id=1,
        eos_token_id=2,
        forced_eos_token_id=2,
        use_cache=False,
        attn_implementation=setting,
    )
    model: nn.Module = MarianMTModel(config)
    model.train()
    optimizer = torch.optim.Adam(
        (parameter for parameter in model.parameters() if parameter.requires_grad),
        lr=LEARNING_RATE,
        betas=BETAS,
        eps=EPSILON,
        fused=True,
    )
    masks = [None if batch.source_mask is None else batch.source_mask.long() for batch in batches]

    def step(number: int) -> float:
        batch = batches[number]
        optimizer.zero_grad()
        output = model(input_ids=batch.source, attention_mask=masks[number], decoder_input_ids=batch.target)
        loss = F.cross_entropy(
            output.logits.flatten(0, 1), batch.labels.flatten(), ignore_index=-1, label_smoothing=SMOOTHING
        )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
        optimizer.step()
        return float(loss.detach())

    return model, step


if __name__ == "__main__":
    serve(build, ["transformers"])
