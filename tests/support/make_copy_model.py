"""Writes tests/data/models/copy: a translator that has learned to copy, so that a mixed-up answer shows.

``python -m tests.support.make_copy_model``; takes about a minute.
"""

import random
from pathlib import Path

import torch
from torch import nn

from glassformer.checkpoint import save_model
from glassformer.config import ModelConfig, TokenizerConfig
from glassformer.nn import EncoderDecoder, projected_cross_entropy, token_mask
from glassformer.text import Tokenizer
from tests.support.digits import pad_all

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
LONGEST = 10
DIRECTORY = Path(__file__).parents[1] / "data" / "models" / "copy"


def words(draw: random.Random, n: int) -> list[str]:
    """Random strings of the alphabet."""
    return ["".join(draw.choices(ALPHABET, k=draw.randint(4, LONGEST))) for _ in range(n)]


def make(steps: int = 1500, seed: int = 3) -> None:
    """Teach and write it."""
    torch.manual_seed(seed)
    draw = random.Random(seed)
    tokenizer = Tokenizer.train([*ALPHABET, ALPHABET] * 2, TokenizerConfig(kind="char", vocab_size=400))
    config = ModelConfig(
        vocab_size=tokenizer.size,
        max_length=32,
        d_model=48,
        d_ff=96,
        n_heads=4,
        n_encoder_layers=1,
        n_decoder_layers=2,
        norm="pre",
        dropout=0.0,
    )
    model = EncoderDecoder(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / 50, 1.0, (steps - step) / (0.5 * steps))
    )
    begin, end, pad = tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id
    for step in range(steps):
        batch = tokenizer.encode_batch(words(draw, 64))
        source = pad_all([[*ids, end] for ids in batch])
        target = pad_all([[begin, *ids, end] for ids in batch])
        mask = token_mask(source, pad)
        hidden = model.decode(target[:, :-1], model.remember(model.encode(source, mask), mask))
        real = target[:, 1:] != pad
        loss = projected_cross_entropy(hidden[real], model.output.weight, None, target[:, 1:][real])
        optimizer.zero_grad()
        (loss.smoothed / real.sum()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()
        if step % 250 == 249:
            print(step + 1, float(loss.smoothed.detach() / real.sum()))
    save_model(DIRECTORY, model, tokenizer, card="# copy (en → fr)\n", storage="float16", replace=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    make()
