"""Checks that must hold for every model, run on the user's own: what does not matter must not matter.

Each gives a figure, the largest difference found, and holds if it is within its bound.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from glassformer.decoding import LanguageModel, TextEncoder, Translator
from glassformer.errors import ConfigError
from glassformer.evaluation.checking import BEAM, GREEDY, LOGITS, SCORES, Check, Watch, largest, scaled
from glassformer.evaluation.invariance_alone import ENCODER_CHECKS, LANGUAGE_CHECKS, files_check
from glassformer.nn import EncoderDecoder, padding_mask

C = TypeVar("C")

CHECKS = ("causal", "padding", "batch", "cache", "attention", "search", "files")


def check_model(
    used: Translator | LanguageModel | TextEncoder, texts: Sequence[str], only: Sequence[str] = ()
) -> list[Check]:
    """Every check that there is for a model, or those named, on these texts."""
    with torch.inference_mode():
        match used:
            case Translator():
                return [check(used, texts) for check in _chosen(_TRANSLATOR_CHECKS, only)]
            case LanguageModel():
                return [check(used, texts) for check in _chosen(LANGUAGE_CHECKS, only)]
            case TextEncoder():
                return [check(used, texts) for check in _chosen(ENCODER_CHECKS, only)]


def _chosen(checks: Mapping[str, C], only: Sequence[str]) -> list[C]:
    for name in only:
        if name not in checks:
            raise ConfigError(f"{name}: there is no such check for this family; it has {', '.join(checks)}")
    return [check for name, check in checks.items() if not only or name in only]


def _model(translator: Translator) -> EncoderDecoder:
    return translator.models[0]


def _pair(translator: Translator, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """A source and what the model says to it, as ids."""
    text = max(texts, key=len)
    tokenizer = translator.tokenizer
    source = [*tokenizer.encode_source([text])[0], tokenizer.eos_id]
    result = translator.translate([text], GREEDY)[0]
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
    difference = largest(model(source, target)[:, :half], model(source, changed)[:, :half])
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
        worst = max(worst, largest(plain, model(padded, target, mask)))
    return Check("padding", "amount and content of padding do not matter", worst, scaled(plain))


def _batch(translator: Translator, texts: Sequence[str]) -> Check:
    alone = [translator.translate([text], BEAM)[0] for text in texts]
    together = translator.translate(list(texts), BEAM)
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
    difference = largest(whole.expand(2, -1, -1), torch.cat(steps, dim=1))
    return Check("cache", "cached step = full forward, beam reordering included", difference, scaled(whole))


def _attention(translator: Translator, texts: Sequence[str]) -> Check:
    """The kernel that runs against the formula of the paper, on the model's own queries and keys."""
    model = _model(translator)
    source, target = _pair(translator, texts)
    with Watch(model) as watch:
        model(source, target)
    return Check("attention", "fused attention = the paper's formula", watch.worst, LOGITS)


def _search(translator: Translator, texts: Sequence[str]) -> Check:
    worst = 0.0
    for config in (GREEDY, BEAM):
        found = translator.translate(list(texts), config)
        whole = [(text, one) for text, one in zip(texts, found, strict=True) if one.finished and one.text]
        scored = translator.score([(text, one.text) for text, one in whole])
        for (_, one), other in zip(whole, scored, strict=True):
            same = [token.id for token in one.tokens] == [token.id for token in other.tokens]
            if same and one.log_probability is not None and other.log_probability is not None:
                worst = max(worst, abs(one.log_probability - other.log_probability))
    return Check("search", "score = score when re-scored, greedy and beam", worst, SCORES)


_TRANSLATOR_CHECKS: Mapping[str, Callable[[Translator, Sequence[str]], Check]] = {
    "causal": _causal,
    "padding": _padding,
    "batch": _batch,
    "cache": _cache,
    "attention": _attention,
    "search": _search,
    "files": lambda translator, _: files_check(translator.save_pretrained, _model(translator)),
}
