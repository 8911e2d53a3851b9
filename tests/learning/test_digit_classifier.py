"""An encoder that reads images learns to tell handwritten digits apart."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn

from glassformer.config import ModelConfig, PatchConfig
from glassformer.nn import EncoderOnly


def digits() -> tuple[Tensor, Tensor]:
    """1,797 grey images of 8 × 8 pixels, and what each shows."""
    data = load_digits()
    images = torch.from_numpy(np.asarray(data.images, dtype=np.float32) / 8 - 1)
    return images[:, None], torch.from_numpy(np.asarray(data.target, dtype=np.int64))


@pytest.mark.slow
@pytest.mark.usefixtures("seed")
def test_an_encoder_of_patches_learns_to_read_digits() -> None:
    images, labels = digits()
    order = torch.randperm(len(images))
    held_out, rest = order[:360], order[360:]
    model = EncoderOnly(
        ModelConfig(
            family="encoder-only",
            head="classifier",
            n_classes=10,
            vocab_size=1,
            patches=PatchConfig(height=8, width=8, size=2),
            max_length=16,
            d_model=64,
            d_ff=128,
            n_heads=4,
            n_encoder_layers=2,
            norm="pre",
            dropout=0.0,
        )
    )
    n_epochs, batch = 50, 64
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    n_steps = n_epochs * (len(rest) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=n_steps)
    for _ in range(n_epochs):
        for rows in rest[torch.randperm(len(rest))].split(batch)[: len(rest) // batch]:
            noisy = images[rows] + 0.3 * torch.randn_like(
                images[rows]
            )  # so few images are soon known by heart
            optimizer.zero_grad()
            F.cross_entropy(model(noisy), labels[rows]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        guesses = model.eval()(images[held_out]).argmax(-1)
    right = int((guesses == labels[held_out]).sum())
    print(f"digits: {right} of {len(held_out)} right")

    assert right >= 0.96 * len(held_out)
