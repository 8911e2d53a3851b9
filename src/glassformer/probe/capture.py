"""Everything a pass computes, kept while a context is open; outside of it nothing is slower."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import Any

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from glassformer.decoding import LanguageModel, TextEncoder, Translator
from glassformer.decoding.observe import observing
from glassformer.errors import InputError
from glassformer.nn import MultiHeadAttention, Sight
from glassformer.nn.attention import Observer
from glassformer.nn.block import Block, CrossBlock, Residual
from glassformer.nn.embedding import Front
from glassformer.nn.stack import CrossStack, Stack
from glassformer.probe.attention_pass import AttentionPass

Traceable = nn.Module | Translator | LanguageModel | TextEncoder

SUBLAYERS = ("attention", "cross", "feed_forward")
"""What a block is made of, by the names used here."""


class Capture:
    """What was seen, by the names of the model's modules; of several passes all, oldest first."""

    def __init__(self) -> None:
        self.attentions: dict[str, list[AttentionPass]] = {}
        self.states: dict[str, list[Tensor]] = {}

    def __getitem__(self, name: str) -> AttentionPass:
        """The newest pass of an attention: ``capture["decoder.blocks.3.cross_attention"].weights``."""
        if not self.attentions.get(name):
            known = ", ".join(self.attentions) or "none; run the model while the trace is open"
            raise InputError(f"no pass of {name!r} was seen; those that were: {known}")
        return self.attentions[name][-1]

    def __iter__(self) -> Iterator[str]:
        return iter(self.attentions)

    def __len__(self) -> int:
        return len(self.attentions)

    def state(self, name: str) -> Tensor:
        """The newest state of a name, such as ``decoder.blocks.0.cross.sum``."""
        return self.states[name][-1]

    def __repr__(self) -> str:
        n_passes = max(map(len, self.attentions.values()), default=0)
        return f"<Capture of {len(self.attentions)} attentions, {n_passes} passes>"


@contextmanager
def trace(model: Traceable) -> Iterator[Capture]:
    """While open, every pass of this thread through the model is kept, whatever code runs it."""
    module = module_of(model)
    found = Capture()
    with ExitStack() as stack:
        attentions = {
            name: each for name, each in module.named_modules() if isinstance(each, MultiHeadAttention)
        }
        observers = [_attention_observer(found, name) for name in attentions]
        stack.enter_context(observing(list(attentions.values()), observers))
        for handle in _hooks(module, found):
            stack.callback(handle.remove)
        yield found


def module_of(model: Traceable) -> nn.Module:
    """The module under something that takes text; an ensemble has none."""
    if isinstance(model, Translator | LanguageModel):
        if len(model.models) != 1:
            raise InputError(f"an ensemble of {len(model.models)} models has no single inside; look at one")
        return model.models[0]
    return model.model if isinstance(model, TextEncoder) else model


def _attention_observer(found: Capture, name: str) -> Observer:
    def observe(q: Tensor, k: Tensor, v: Tensor, sight: Sight, heads: Tensor) -> None:
        seen = AttentionPass(q.detach(), k.detach(), v.detach(), sight, heads.detach())
        found.attentions.setdefault(name, []).append(seen)

    return observe


def _hooks(module: nn.Module, found: Capture) -> Iterator[RemovableHandle]:
    for name, each in module.named_modules():
        if isinstance(each, Block | CrossBlock):
            yield from _block_hooks(each, name, found)
        elif isinstance(each, Front):
            yield _before(each, f"{name}.embedding", found)
            if each.positions is not None:
                yield _after(each.positions, f"{name}.position", found)
            yield _after(each, f"{name}.input", found)
        elif isinstance(each, Stack | CrossStack):
            yield _after(each, f"{name}.output", found)


def _block_hooks(block: Block | CrossBlock, name: str, found: Capture) -> Iterator[RemovableHandle]:
    yield _before(block, f"{name}.input", found)
    for sub, function, residual in sublayers(block):
        where = f"{name}.{sub}"
        yield _after(function, f"{where}.output", found)
        if residual.placement == "post":
            yield _before(residual.norm, f"{where}.sum", found)
        else:
            yield _after(residual, f"{where}.sum", found)
        yield _after(residual.norm, f"{where}.normed", found)
        if residual.norm_after is not None:
            yield _after(residual.norm_after, f"{where}.normed_after", found)
    yield _before(block.feed_forward.contract, f"{name}.units", found)


def sublayers(block: Block | CrossBlock) -> Iterator[tuple[str, nn.Module, Residual]]:
    """A block's parts in order, each with the way around it."""
    yield "attention", block.attention, block.attention_residual
    if isinstance(block, CrossBlock):
        yield "cross", block.cross_attention, block.cross_attention_residual
    yield "feed_forward", block.feed_forward, block.feed_forward_residual


def sites(block: Block | CrossBlock) -> list[str]:
    """The states of a block in the order they are computed, which the placement of the norm decides."""
    order = {
        "post": ("output", "sum", "normed"),
        "pre": ("normed", "output", "sum"),
        "sandwich": ("normed", "output", "normed_after", "sum"),
    }
    found = ["input"]
    for sub, _, residual in sublayers(block):
        found += [f"{sub}.{site}" for site in order[residual.placement]]
    return found


def _keep(found: Capture, name: str) -> Callable[[Tensor], None]:
    thread = get_ident()

    def keep(x: Tensor) -> None:
        if get_ident() == thread:
            found.states.setdefault(name, []).append(x.detach())

    return keep


def _before(module: nn.Module, name: str, found: Capture) -> RemovableHandle:
    keep = _keep(found, name)

    def hook(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        del module
        keep(inputs[0])

    return module.register_forward_pre_hook(hook)


def _after(module: nn.Module, name: str, found: Capture) -> RemovableHandle:
    keep = _keep(found, name)

    def hook(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        del module, inputs
        keep(output)

    return module.register_forward_hook(hook)
