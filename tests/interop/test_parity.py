"""Imported models are their originals: logits, greedy search and beam search against transformers."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.config import DecodeConfig
from glassformer.decoding import Decoder, Query, Specials
from glassformer.interop import read_model
from glassformer.nn import DecoderOnly, EncoderDecoder, EncoderOnly, padding_mask
from glassformer.nn.positions import sinusoids
from tests.support.foreign import CASES, ENCODER_CASES, LANGUAGE_CASES, SEQUENCE_CASES, Case

pytest.importorskip("transformers", reason="the originals are built by transformers")

TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-10}
NEVER = (0, 1, 3, 4)
FEWEST, STEPS = 4, 20


def pair(case: Case, folder: Path, dtype: torch.dtype, shard: str = "5GB") -> tuple[Any, Any]:
    """The original and what we read of its files."""
    theirs = case.build(dtype=dtype)
    case.save(theirs, folder, shard)
    if dtype == torch.float64:
        make_exact(theirs, case)
    return theirs, read_model(folder, dtype).model


def make_exact(model: Any, case: Case) -> None:
    """Tables that the original computes in float32 even for a model of float64."""
    if case.config in ("MarianConfig", "PegasusConfig"):
        for side in (model.model.encoder, model.model.decoder):
            table = sinusoids(torch.arange(len(side.embed_positions.weight)), case.settings["d_model"])
            halves = torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)
            side.embed_positions.weight.data = halves
    for module in model.modules():
        if hasattr(module, "inv_freq"):
            config = model.config
            base = config.rope_parameters["rope_theta"]
            pairs = torch.arange(0, config.head_dim, 2, dtype=torch.float64) / config.head_dim
            module.inv_freq = 1.0 / base**pairs
            module.forward = exact_rotation(module)
        if hasattr(module, "variance_epsilon"):
            module.forward = exact_norm(module)


def exact_norm(module: Any) -> Any:
    def forward(x: Tensor) -> Tensor:
        root = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + module.variance_epsilon)
        normed: Tensor = module.weight * x * root
        return normed

    return forward


def exact_rotation(module: Any) -> Any:
    def forward(_: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        angles = position_ids.double()[..., None] * module.inv_freq
        both = torch.cat([angles, angles], dim=-1)
        return both.cos(), both.sin()

    return forward


def lengths_of(n: int) -> Tensor:
    return torch.tensor([max(1, n - 2 * i) for i in range(3)])


def source_ids(case: Case, n: int = 9) -> Tensor:
    return torch.randint(5, 50, (3, n), generator=torch.Generator().manual_seed(len(case.name)))


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@torch.no_grad()
def test_logits_are_those_of_the_original(case: Case, dtype: torch.dtype, tmp_path: Path) -> None:
    """With padding: the original is given the mask that we are given."""
    theirs, ours = pair(case, tmp_path, dtype)
    ids, lengths = source_ids(case), lengths_of(9)
    mask = padding_mask(lengths, 9)
    attention = mask[:, 0, 0].long()
    match ours:
        case EncoderDecoder():
            target = source_ids(case, 7)
            expected = theirs(input_ids=ids, attention_mask=attention, decoder_input_ids=target).logits
            found = ours(ids, target, mask)
            real = torch.ones(3, 7, dtype=torch.bool)
        case DecoderOnly():
            expected = theirs(input_ids=ids, attention_mask=attention).logits
            found, real = ours(ids, mask), attention.bool()
        case EncoderOnly():
            output = theirs(input_ids=ids, attention_mask=attention)
            bare = ours.config.head == "embedding"
            expected = output.last_hidden_state if bare else output.logits
            found = ours.encode(ids, mask) if bare else ours.fill(ids, mask)
            real = attention.bool()

    assert found.dtype == dtype
    assert expected.abs().max() > 0.5
    assert float((found - expected)[real].abs().max()) <= TOLERANCE[dtype]


def queries_of(n: int = 60) -> list[list[int]]:
    generator = torch.Generator().manual_seed(7)
    rows = []
    for _ in range(n):
        length = int(torch.randint(2, 9, (1,), generator=generator))
        rows.append(torch.randint(5, 50, (length,), generator=generator).tolist())
    return rows


def both(case: Case, folder: Path) -> tuple[Any, Decoder]:
    """A random model of theirs whose outputs end, and the search of ours with what was read of it."""
    theirs = case.build()
    make_it_end(theirs)
    case.save(theirs, folder)
    ours = read_model(folder).model
    assert not isinstance(ours, EncoderOnly)
    start = case.settings.get("decoder_start_token_id", 2)
    specials = Specials(start=start, end=2, pad=1, suppressed=tuple(i for i in NEVER if i != 2))
    return theirs, Decoder((ours,), specials)


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("case", SEQUENCE_CASES + LANGUAGE_CASES, ids=lambda case: case.name)
@torch.no_grad()
def test_search_finds_what_the_original_finds(case: Case, beam: int, tmp_path: Path) -> None:
    theirs, decoder = both(case, tmp_path)
    rows = queries_of()
    expected = generated(theirs, rows, beam)
    chosen = [i for i, found in enumerate(expected) if beam == 1 or len(found) < STEPS][:50]
    settings = DecodeConfig(beam=beam, alpha=0.0, min_length=FEWEST, max_length=STEPS)
    queries = [Query(tuple(rows[i])) for i in chosen]
    found = decoder.decode(queries, settings)

    assert len(chosen) == 50
    assert [list(hypotheses[0].ids) for hypotheses in found] == [expected[i] for i in chosen]


PENALISED = ("marian-swish", "bart", "mbart", "t5", "gpt2", "llama")


@pytest.mark.parametrize("alpha", [-1.0, 1.0])
@pytest.mark.parametrize("name", PENALISED)
@torch.no_grad()
def test_a_length_penalty_is_that_of_the_original(name: str, alpha: float, tmp_path: Path) -> None:
    """Their length_penalty divides by length^alpha; a search that stops when nothing better can come."""
    case = next(case for case in SEQUENCE_CASES + LANGUAGE_CASES if case.name == name)
    theirs, decoder = both(case, tmp_path)
    rows = queries_of(70)
    expected = generated(theirs, rows, 4, alpha)
    chosen = [i for i, found in enumerate(expected) if len(found) < STEPS][:50]
    settings = DecodeConfig(
        beam=4, alpha=alpha, length_penalty="average", min_length=FEWEST, max_length=STEPS
    )
    found = decoder.decode([Query(tuple(rows[i])) for i in chosen], settings)

    assert len(chosen) == 50
    assert [list(hypotheses[0].ids) for hypotheses in found] == [expected[i] for i in chosen]


def make_it_end(model: Any) -> None:
    """Outputs of random weights rarely end; the logit of </s> is raised: by a bias, or by drawing its
    row towards the usual hidden state.

    What happens at the limit of length is a choice, and transformers makes another one: there, an output
    that is cut off may win over one that has ended. Such inputs are passed over.
    """
    seen: list[Tensor] = []
    head = model.get_output_embeddings()
    hook = head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    ids = torch.randint(5, 50, (8, 8))
    extra = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
    usual = model(input_ids=ids, **extra).logits
    hook.remove()
    mean = torch.cat(seen).flatten(0, 1).mean(0)
    missing = usual.max(-1).values.mean() - usual[..., 2].mean()
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias[0, 2] += missing + 2.0
    else:
        head.weight[2] += (missing + 2.0) * mean / mean.square().sum()


def generated(model: Any, rows: list[list[int]], beam: int, alpha: float = 0.0) -> list[list[int]]:
    """What transformers finds, without its start and end; rows of one length at a time, without padding."""
    found: dict[int, list[int]] = {}
    for length in {len(row) for row in rows}:
        places = [i for i, row in enumerate(rows) if len(row) == length]
        ids = torch.tensor([rows[i] for i in places])
        outputs = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            num_beams=beam,
            do_sample=False,
            max_new_tokens=STEPS,
            min_new_tokens=FEWEST - 1,  # </s> not counted
            length_penalty=alpha,
            early_stopping="never" if beam > 1 else False,
            suppress_tokens=list(NEVER),
            eos_token_id=2,
            pad_token_id=1,
        ).tolist()
        for i, output in zip(places, outputs, strict=True):
            after = output[1:] if model.config.is_encoder_decoder else output[length:]
            found[i] = after[: after.index(2)] if 2 in after else after
    return [found[i] for i in range(len(rows))]


def test_shards_are_read_like_one_file(tmp_path: Path) -> None:
    case = SEQUENCE_CASES[0]
    _, whole = pair(case, tmp_path / "whole", torch.float32)
    _, parts = pair(case, tmp_path / "parts", torch.float32, shard="20kB")

    assert len(list((tmp_path / "parts").glob("*.safetensors"))) > 1
    for (name, one), other in zip(whole.named_parameters(), parts.parameters(), strict=True):
        assert torch.equal(one, other), name


def test_half_precision_weights_are_read(tmp_path: Path) -> None:
    for dtype in (torch.float16, torch.bfloat16):
        theirs = LANGUAGE_CASES[3].build().to(dtype)
        LANGUAGE_CASES[3].save(theirs, tmp_path / str(dtype))
        ours = dict(read_model(tmp_path / str(dtype)).model.named_parameters())

        assert torch.equal(ours["embedding.weight"], theirs.model.embed_tokens.weight.float())


def test_reading_leaves_the_random_numbers_of_the_caller_alone(tmp_path: Path) -> None:
    pair(ENCODER_CASES[0], tmp_path, torch.float32)
    torch.manual_seed(5)
    before = torch.rand(1)
    torch.manual_seed(5)
    read_model(tmp_path)

    assert torch.equal(before, torch.rand(1))
