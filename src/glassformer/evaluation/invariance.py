"""Checks that must hold for every model, run on the user's own: what does not matter must not matter.

Each gives a figure, the largest difference found, and holds if it is within its bound.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from glassformer.checkpoint import load_model
from glassformer.decoding import Translator
from glassformer.nn import EncoderDecoder, Sight, padding_mask
from glassformer.nn.attention import MultiHeadAttention, explained_attention
from glassformer.nn.shapes import Heads, Keys, Queries, Values

LOGITS, SCORES = 1e-5, 1e-4


@dataclass(frozen=True)
class Check:
    """A sentence that must be true, and how true it is."""

    name: str
    claim: str
    difference: float
    bound: float
    detail: str = ""

    @property
    def holds(self) -> bool:
        """Whether the difference is within the bound."""
        return self.difference <= self.bound


def check_translator(translator: Translator, texts: Sequence[str], only: Sequence[str] = ()) -> list[Check]:
    """Every check, or those named, on these texts."""
    checks: dict[str, Callable[[Translator, Sequence[str]], Check]] = {
        "causal": _causal,
        "padding": _padding,
        "batch": _batch,
        "cache": _cache,
        "attention": _attention,
        "search": _search,
        "files": _files,
    }
    chosen = [name for name in checks if not only or name in only]
    with torch.inference_mode():
        return [checks[name](translator, texts) for name in chosen]


CHECKS = ("causal", "padding", "batch", "cache", "attention", "search", "files")


def _model(translator: Translator) -> EncoderDecoder:
    return translator.models[0]


def _pair(translator: Translator, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """A source and what the model says to it, as ids."""
    text = max(texts, key=len)
    tokenizer = translator.tokenizer
    source = [*tokenizer.encode_source([text])[0], tokenizer.eos_id]
    result = translator.translate([text], beam=1)[0]
    target = [tokenizer.bos_id, *(token.id for token in result.tokens)][
        : _model(translator).config.max_length
    ]
    return torch.tensor([source]), torch.tensor([target])


def _causal(translator: Translator, texts: Sequence[str]) -> Check:
    model = _model(translator)
    source, target = _pair(translator, texts)
    changed = target.clone()
    half = target.size(1) // 2
    changed[:, half:] = (changed[:, half:] + 1) % model.config.vocab_size
    difference = _largest(model(source, target)[:, :half], model(source, changed)[:, :half])
    return Check("causal", "a later token never changes an earlier output", difference, 0.0)


def _padding(translator: Translator, texts: Sequence[str]) -> Check:
    model = _model(translator)
    source, target = _pair(translator, texts)
    plain = model(source, target)
    worst = 0.0
    for extra in (1, 7, 50):
        room = model.config.max_length - source.size(1)
        padding = torch.randint(0, model.config.n_source_ids, (1, min(extra, room)))
        padded = torch.cat([source, padding], dim=1)
        mask = padding_mask(torch.tensor([source.size(1)]), padded.size(1))
        worst = max(worst, _largest(plain, model(padded, target, mask)))
    return Check("padding", "amount and content of padding do not matter", worst, _scaled(plain))


def _batch(translator: Translator, texts: Sequence[str]) -> Check:
    alone = [translator.translate([text])[0] for text in texts]
    together = translator.translate(list(texts))
    pairs = list(zip(alone, together, strict=True))
    other = [i for i, (one, two) in enumerate(pairs) if one.text != two.text]
    same = [abs((one.score or 0.0) - (two.score or 0.0)) for one, two in pairs if one.text == two.text]
    detail = f"{len(texts) - len(other)} of {len(texts)} outputs equal"
    difference = max(same, default=0.0) if len(other) <= len(texts) // 100 else float("inf")
    return Check("batch", "a sentence alone = the same in a batch", difference, SCORES, detail)


def _cache(translator: Translator, texts: Sequence[str]) -> Check:
    model = _model(translator)
    source, target = _pair(translator, texts)
    whole = model(source, target)
    cache = model.remember(model.encode(source))
    rows = torch.tensor([0, 0])
    cache.reorder(rows)
    steps = []
    for i in range(target.size(1)):
        steps.append(model.output(model.decode(target[:, i : i + 1].expand(2, 1), cache)))
        cache.reorder_past(torch.tensor([1, 0]))
    difference = _largest(whole.expand(2, -1, -1), torch.cat(steps, dim=1))
    return Check("cache", "cached step = full forward, beam reordering included", difference, _scaled(whole))


def _attention(translator: Translator, texts: Sequence[str]) -> Check:
    """The kernel that runs against the formula of the paper, on the model's own queries and keys."""
    model = _model(translator)
    source, target = _pair(translator, texts)
    worst = [0.0]

    def observe(q: Queries, k: Keys, v: Values, sight: Sight, heads: Heads) -> None:
        worst[0] = max(worst[0], _largest(heads, explained_attention(q, k, v, sight)[0]))

    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    for attention in attentions:
        attention.observe = observe
    try:
        model(source, target)
    finally:
        for attention in attentions:
            attention.observe = None
    return Check("attention", "fused attention = the paper's formula", worst[0], LOGITS)


def _search(translator: Translator, texts: Sequence[str]) -> Check:
    worst = 0.0
    for beam in (1, 4):
        found = translator.translate(list(texts), beam=beam)
        whole = [(text, one) for text, one in zip(texts, found, strict=True) if one.finished and one.text]
        scored = translator.score([(text, one.text) for text, one in whole])
        for (_, one), other in zip(whole, scored, strict=True):
            same = [token.id for token in one.tokens] == [token.id for token in other.tokens]
            if same and one.log_probability is not None and other.log_probability is not None:
                worst = max(worst, abs(one.log_probability - other.log_probability))
    return Check("search", "score = score when re-scored, greedy and beam", worst, SCORES)


def _files(translator: Translator, _: Sequence[str]) -> Check:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        translator.save_pretrained(path)
        again = load_model(path).model
    before = dict(_model(translator).named_parameters())
    worst = max(_largest(before[name], parameter) for name, parameter in again.named_parameters())
    return Check("files", "save → load → same bits", worst, 0.0)


def _largest(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max()) if one.numel() else 0.0


def _scaled(logits: Tensor) -> float:
    """The bound for logits: absolute for small ones, relative for large."""
    return LOGITS * max(1.0, float(logits.abs().max()))
