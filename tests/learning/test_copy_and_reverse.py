"""Small models learn to copy and to reverse strings of digits that they have never seen."""

import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from glassformer.config import ModelConfig
from glassformer.nn import DecoderOnly, EncoderDecoder, Loss, projected_cross_entropy, token_mask
from tests.support.digits import BEGIN, END, PAD, VOCABULARY, String, Strings, pad_all

Task = Callable[[String], String]
TASKS: dict[str, Task] = {"copy": lambda string: string, "reverse": lambda string: string[::-1]}


def learn(model: nn.Module, loss_of: Callable[[], tuple[Loss, int]], n_steps: int) -> None:
    """Adam, its rate rising for 50 steps and falling to nothing over the last 60 %."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 50, (n_steps - step) / (0.6 * n_steps))
    )
    for _ in range(n_steps):
        optimizer.zero_grad()
        loss, n_tokens = loss_of()
        (loss.smoothed / n_tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()


@torch.no_grad()
def translate(model: EncoderDecoder, sources: list[String], longest: int) -> list[String]:
    """Greedy decoding, one cached step at a time; rows that have ended leave."""
    source = pad_all([[*string, END] for string in sources])
    mask = token_mask(source, PAD)
    cache = model.remember(model.encode(source, mask), mask)
    results: list[list[int]] = [[] for _ in sources]
    rows, newest = torch.arange(len(sources)), torch.full((len(sources), 1), BEGIN)
    for _ in range(longest + 2):
        newest = model.output(model.decode(newest, cache)).argmax(-1)
        going_on = (newest[:, 0] != END).nonzero()[:, 0]
        rows, newest = rows[going_on], newest[going_on]
        cache.reorder(going_on)
        if not len(rows):
            break
        for row, token in zip(rows.tolist(), newest[:, 0].tolist(), strict=True):
            results[row].append(token)
    return [tuple(result) for result in results]


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_translator_learns_to(task: str, seed: int) -> None:
    solve, strings = TASKS[task], Strings(random.Random(seed), longest=8, held_out=500)
    model = EncoderDecoder(
        ModelConfig(
            vocab_size=VOCABULARY,
            max_length=16,
            d_model=64,
            d_ff=128,
            n_heads=4,
            n_encoder_layers=2,
            n_decoder_layers=2,
            norm="pre",
            dropout=0.0,
        )
    )

    def loss_of() -> tuple[Loss, int]:
        batch = strings.batch(64)
        source = pad_all([[*string, END] for string in batch])
        target = pad_all([[BEGIN, *solve(string), END] for string in batch])
        mask = token_mask(source, PAD)
        hidden = model.decode(target[:, :-1], model.remember(model.encode(source, mask), mask))
        real = target[:, 1:] != PAD
        projected = projected_cross_entropy(hidden[real], model.output.weight, None, target[:, 1:][real])
        return projected, int(real.sum())

    learn(model, loss_of, 500)
    results = translate(model.eval(), strings.held_out, strings.longest)
    right = sum(result == solve(string) for result, string in zip(results, strings.held_out, strict=True))
    print(f"{task}: {right} of {len(results)}")

    assert right >= 0.99 * len(results)


@torch.no_grad()
def go_on(model: DecoderOnly, prompts: Tensor, n_tokens: int) -> Tensor:
    """What a language model says after prompts of equal length, greedily and with a cache."""
    cache = model.remember()
    newest, said = prompts, []
    for _ in range(n_tokens):
        newest = model.output(model.decode(newest, cache)[:, -1:]).argmax(-1)
        said.append(newest)
    return torch.cat(said, dim=1)


@pytest.mark.slow
def test_a_language_model_learns_to_copy(seed: int) -> None:
    length = 6
    strings = Strings(random.Random(seed), longest=length, held_out=500, shortest=length)
    model = DecoderOnly(
        ModelConfig(
            family="decoder-only",
            vocab_size=VOCABULARY,
            max_length=16,
            d_model=64,
            d_ff=128,
            n_heads=4,
            n_decoder_layers=2,
            positions="rotary",
            norm="pre",
            dropout=0.0,
        )
    )

    def loss_of() -> tuple[Loss, int]:
        text = torch.tensor([[*string, BEGIN, *string] for string in strings.batch(64)])
        hidden = model.decode(text[:, :-1], model.remember())
        hidden, targets = hidden[:, length:], text[:, length + 1 :]
        rows = hidden.flatten(0, 1)
        return projected_cross_entropy(rows, model.output.weight, None, targets.flatten()), targets.numel()

    learn(model, loss_of, 500)
    prompts = torch.tensor([[*string, BEGIN] for string in strings.held_out])
    right = int((go_on(model.eval(), prompts, length) == prompts[:, :length]).all(-1).sum())
    print(f"copy: {right} of {len(prompts)}")

    assert right >= 0.99 * len(prompts)
