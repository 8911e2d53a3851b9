"""The checks for models that read one text: language models and encoders."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from glassformer.checkpoint import load_model
from glassformer.decoding import LanguageModel, TextEncoder
from glassformer.evaluation.checking import BEAM, GREEDY, LOGITS, SCORES, Check, Watch, largest, scaled
from glassformer.nn import Transformer, padding_mask

LanguageCheck = Callable[[LanguageModel, Sequence[str]], Check]
EncoderCheck = Callable[[TextEncoder, Sequence[str]], Check]


def _ids(model: LanguageModel, texts: Sequence[str]) -> Tensor:
    """The longest text and what the model says after it."""
    found = model.generate([max(texts, key=len)], GREEDY)[0]
    read = model.tokenizer.encode(max(texts, key=len))
    ids = [model.specials.start, *read, *(token.id for token in found.tokens)]
    return torch.tensor([ids[: model.models[0].config.max_length]])


def _causal(model: LanguageModel, texts: Sequence[str]) -> Check:
    network, ids = model.models[0], _ids(model, texts)
    half = ids.size(1) // 2
    changed = ids.clone()
    changed[:, half:] = (changed[:, half:] + 1) % network.config.vocab_size
    difference = largest(network(ids)[:, :half], network(changed)[:, :half])
    return Check("causal", "a later token never changes an earlier output", difference, 0.0)


def _padding(model: LanguageModel, texts: Sequence[str]) -> Check:
    network, ids = model.models[0], _ids(model, texts)
    plain, worst = network(ids), 0.0
    for extra in (1, 7, 50):
        padding = torch.randint(0, network.config.vocab_size, (1, extra))
        mask = padding_mask(torch.tensor([ids.size(1)]), ids.size(1) + extra).flip(-1)
        worst = max(worst, largest(plain, network(torch.cat([padding, ids], dim=1), mask)[:, extra:]))
    return Check("padding", "amount and content of padding do not matter", worst, scaled(plain))


def _batch(model: LanguageModel, texts: Sequence[str]) -> Check:
    alone = [model.generate([text], BEAM)[0] for text in texts]
    together = model.generate(list(texts), BEAM)
    pairs = list(zip(alone, together, strict=True))
    other = sum(one.text != two.text for one, two in pairs)
    same = [abs((one.score or 0.0) - (two.score or 0.0)) for one, two in pairs if one.text == two.text]
    detail = f"{len(texts) - other} of {len(texts)} outputs equal"
    difference = max(same, default=0.0) if other <= len(texts) // 100 else float("inf")
    return Check("batch", "a text alone = the same in a batch", difference, SCORES, detail)


def _cache(model: LanguageModel, texts: Sequence[str]) -> Check:
    network, ids = model.models[0], _ids(model, texts)
    whole, cache, steps = network(ids), network.remember(), []
    for i in range(ids.size(1)):
        steps.append(network.output(network.decode(ids[:, i : i + 1].expand(2, 1), cache)))
        cache.reorder_past(torch.tensor([1, 0]))
    difference = largest(whole.expand(2, -1, -1), torch.cat(steps, dim=1))
    return Check("cache", "cached step = full forward, beam reordering included", difference, scaled(whole))


def _attention(model: LanguageModel, texts: Sequence[str]) -> Check:
    ids = _ids(model, texts)
    with Watch(model.models[0]) as watch:
        model.models[0](ids)
    return Check("attention", "fused attention = the paper's formula", watch.worst, LOGITS)


def _search(model: LanguageModel, texts: Sequence[str]) -> Check:
    """Texts from their beginning, since those are what a language model scores."""
    del texts
    worst = 0.0
    for config in (GREEDY, BEAM):
        found = model.generate([""], config)[0]
        if found.finished and found.text.strip():
            again = model.score([found.text])[0]
            if [token.id for token in again.tokens] == [token.id for token in found.tokens]:
                worst = max(worst, abs((found.log_probability or 0.0) - (again.log_probability or 0.0)))
    return Check("search", "score = score when re-scored, greedy and beam", worst, SCORES)


def _encoder_padding(encoder: TextEncoder, texts: Sequence[str]) -> Check:
    network = encoder.model
    text = encoder.tokenizer.encode(max(texts, key=len))[: network.config.max_length - 2]
    ids = torch.tensor([[encoder.tokenizer.bos_id, *text, encoder.tokenizer.eos_id]])
    plain, worst = network.encode(ids), 0.0
    for extra in (1, 7, 50):
        room = min(extra, network.config.max_length - ids.size(1))
        padded = torch.cat([ids, torch.randint(0, network.config.vocab_size, (1, room))], dim=1)
        mask = padding_mask(torch.tensor([ids.size(1)]), padded.size(1))
        worst = max(worst, largest(plain, network.encode(padded, mask)[:, : ids.size(1)]))
    return Check("padding", "amount and content of padding do not matter", worst, scaled(plain))


def _encoder_batch(encoder: TextEncoder, texts: Sequence[str]) -> Check:
    alone = torch.cat([encoder.embed([text]) for text in texts])
    difference = largest(alone, encoder.embed(list(texts)))
    return Check("batch", "a text alone = the same in a batch", difference, LOGITS)


def _encoder_attention(encoder: TextEncoder, texts: Sequence[str]) -> Check:
    with Watch(encoder.model) as watch:
        encoder.embed(list(texts))
    return Check("attention", "fused attention = the paper's formula", watch.worst, LOGITS)


def files_check(save: Callable[[Path], None], model: Transformer) -> Check:
    """Save, load, compare."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save(path)
        again = load_model(path).model
    before = dict(model.named_parameters())
    worst = max(largest(before[name], parameter) for name, parameter in again.named_parameters())
    return Check("files", "save → load → same bits", worst, 0.0)


def _encoder_files(encoder: TextEncoder, _: Sequence[str]) -> Check:
    return files_check(encoder.save_pretrained, encoder.model)


LANGUAGE_CHECKS: Mapping[str, LanguageCheck] = {
    "causal": _causal,
    "padding": _padding,
    "batch": _batch,
    "cache": _cache,
    "attention": _attention,
    "search": _search,
    "files": lambda model, _: files_check(model.save_pretrained, model.models[0]),
}
ENCODER_CHECKS: Mapping[str, EncoderCheck] = {
    "padding": _encoder_padding,
    "batch": _encoder_batch,
    "attention": _encoder_attention,
    "files": _encoder_files,
}
