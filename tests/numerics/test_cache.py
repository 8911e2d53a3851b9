"""A cached step is a full pass: at every step, for every row, after any reordering."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from glassformer.nn import Cache, token_mask
from glassformer.nn.cache import KeysValuesCache
from glassformer.nn.shapes import KeysValues
from tests.support.equality import assert_exact, assert_near
from tests.support.models import PAD, POSITIONS, decoder_only, encoder_decoder, pad, random_ids

NORMS = ("post", "pre", "sandwich")


class Step:
    """A few new tokens, and then perhaps other rows: duplicated, permuted, some gone."""

    def __init__(self, size: int, rows: list[float] | None) -> None:
        self.size = size
        self.rows = rows

    def chosen(self, batch: int) -> Tensor:
        """Rows to go on with, of those there are."""
        if self.rows is None:
            return torch.arange(batch)
        return torch.tensor([int(row * batch) for row in self.rows])


share = st.floats(0, 1, exclude_max=True)
plans = st.lists(
    st.builds(Step, st.integers(1, 4), st.none() | st.lists(share, min_size=1, max_size=5)),
    min_size=2,
    max_size=7,
)
asked = {
    "plan": plans,
    "norm": st.sampled_from(NORMS),
    "n_kv_heads": st.sampled_from([1, 2, 4]),
    "graph": st.booleans(),
    "seed": st.integers(0, 2**32),
}


def steps(plan: list[Step], batch: int) -> Iterator[tuple[Tensor, Tensor]]:
    """New tokens of each step with the rows to go on with after it."""
    for step in plan:
        rows = step.chosen(batch)
        yield random_ids(batch, step.size), rows
        batch = len(rows)


@pytest.mark.parametrize("positions", POSITIONS)
@settings(deadline=None, max_examples=15)
@given(**asked)
def test_a_cached_step_of_a_translator_is_a_full_pass(
    positions: str, plan: list[Step], norm: str, n_kv_heads: int, graph: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    model = encoder_decoder(positions=positions, norm=norm, n_kv_heads=n_kv_heads).double()
    source = torch.stack([pad(random_ids(length), 5, "right") for length in (5, 2, 3)])
    mask = token_mask(source, PAD)
    with torch.set_grad_enabled(graph):
        cache = model.remember(model.encode(source, mask), mask)
        so_far = torch.empty(3, 0, dtype=torch.long)
        for new, rows in steps(plan, 3):
            step = model.decode(new, cache)
            so_far = torch.cat([so_far, new], dim=1)
            full = model.decode(so_far, model.remember(model.encode(source, mask), mask))

            assert_exact(step, full[:, -new.size(1) :])
            cache.reorder(rows)
            source, mask, so_far = source[rows], mask[rows], so_far[rows]
            assert cache.length == so_far.size(1)


@pytest.mark.parametrize("positions", POSITIONS)
@settings(deadline=None, max_examples=15)
@given(side=st.sampled_from(["left", None]), **asked)
def test_a_cached_step_of_a_language_model_is_a_full_pass(
    positions: str, side: str | None, plan: list[Step], norm: str, n_kv_heads: int, graph: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    model = decoder_only(positions=positions, norm=norm, n_kv_heads=n_kv_heads).double()
    lengths = (5, 2, 3) if side else (5, 5, 5)
    so_far = torch.stack([pad(random_ids(length), 5, "left") for length in lengths])
    with torch.set_grad_enabled(graph):
        cache = model.remember()
        model.decode(so_far, cache, token_mask(so_far, PAD) if side else None)
        for new, rows in steps(plan, 3):
            so_far = torch.cat([so_far, new], dim=1)
            mask = token_mask(so_far, PAD) if side else None
            step = model.decode(new, cache, mask)
            full = model.decode(so_far, model.remember(), mask)

            assert_exact(step, full[:, -new.size(1) :])
            cache.reorder(rows)
            so_far = so_far[rows]


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_prompts_of_unequal_length_go_on_as_each_would_alone(positions: str) -> None:
    model = decoder_only(positions=positions)
    prompts, more = [random_ids(2), random_ids(6)], random_ids(2, 5)
    ids = torch.stack([pad(prompt, 6, "left") for prompt in prompts])
    cache = model.remember()
    model.decode(ids, cache, token_mask(ids, PAD))
    for step in range(5):
        ids = torch.cat([ids, more[:, step : step + 1]], dim=1)
        together = model.decode(ids[:, -1:], cache, token_mask(ids, PAD))
        for row, prompt in enumerate(prompts):
            alone = torch.cat([prompt, more[row, : step + 1]])[None]
            assert_near(together[row], model.decode(alone, model.remember())[0, -1:])


@torch.no_grad()
def test_float32_steps_are_full_passes_to_a_hundred_thousandth() -> None:
    model = encoder_decoder()
    source, target = random_ids(2, 9), random_ids(2, 40)
    full = model(source, target)
    cache = model.remember(model.encode(source))
    for t in range(40):
        assert_near(model.output(model.decode(target[:, t : t + 1], cache))[:, 0], full[:, t])


def test_gradients_flow_through_cached_steps_as_through_a_full_pass() -> None:
    model = decoder_only().double()
    ids = random_ids(2, 6)
    full = torch.autograd.grad(model(ids).square().sum(), list(model.parameters()))
    cache = model.remember()
    stepwise = torch.cat([model.decode(ids[:, t : t + 1], cache) for t in range(6)], dim=1)
    by_steps = torch.autograd.grad(model.output(stepwise).square().sum(), list(model.parameters()))
    for a, b in zip(by_steps, full, strict=True):
        assert_near(a, b, 1e-10)


@torch.no_grad()
def test_a_cache_of_one_layer_holds_what_was_appended() -> None:
    cache = KeysValuesCache()
    keys, values = torch.randn(2, 3, 70, 4), torch.randn(2, 3, 70, 5)
    start = 0
    for size in (1, 2, 1, 20, 1, 1, 40, 4):
        end = start + size
        so_far = cache.append(KeysValues(keys[:, :, start:end], values[:, :, start:end]))

        assert torch.equal(so_far.keys, keys[:, :, :end])
        assert torch.equal(so_far.values, values[:, :, :end])
        assert cache.length == end
        start = end


@torch.no_grad()
def test_what_a_step_was_given_stays_as_it_was() -> None:
    """The cache writes in place, but never into what it handed out or was handed."""
    cache = KeysValuesCache()
    first = KeysValues(torch.randn(1, 1, 2, 4), torch.randn(1, 1, 2, 4))
    kept = KeysValues(first.keys.clone(), first.values.clone())
    given_out = [cache.append(first)]
    copies = [KeysValues(*(part.clone() for part in given_out[0]))]
    for _ in range(20):
        given_out.append(cache.append(KeysValues(torch.randn(1, 1, 1, 4), torch.randn(1, 1, 1, 4))))
        copies.append(KeysValues(*(part.clone() for part in given_out[-1])))

    assert torch.equal(first.keys, kept.keys)
    assert all(torch.equal(a.keys, b.keys) for a, b in zip(given_out, copies, strict=True))
    assert all(torch.equal(a.values, b.values) for a, b in zip(given_out, copies, strict=True))


@torch.no_grad()
def test_beams_of_one_sentence_reorder_their_past_and_share_the_memory() -> None:
    model = encoder_decoder().double()
    memory = model.encode(random_ids(1, 5)).expand(3, -1, -1)
    cache = model.remember(memory)
    target, rows = random_ids(3, 4), torch.tensor([2, 0, 2])
    model.decode(target, cache)
    before = cache.memory
    cache.reorder_past(rows)
    new = random_ids(3, 1)
    full = model.decode(torch.cat([target[rows], new], dim=1), model.remember(memory))

    assert cache.memory is before
    assert_exact(model.decode(new, cache), full[:, -1:])


def test_a_fresh_cache_can_be_reordered() -> None:
    cache = Cache(2)
    cache.reorder(torch.tensor([0]))

    assert (cache.length, len(cache.layers), cache.memory, cache.memory_mask) == (0, 2, (), None)
