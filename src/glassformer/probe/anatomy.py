"""Where the parts of a model are, by the names the probe has for them: kinds of attention, stacks, sides."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from glassformer.nn import DecoderOnly, EncoderDecoder, EncoderOnly, MultiHeadAttention, Transformer
from glassformer.nn.block import Block, CrossBlock
from glassformer.nn.embedding import Front, PatchEmbedding, TokenEmbedding
from glassformer.nn.stack import CrossStack, Stack

Kind = Literal["enc", "dec", "cross"]
StackName = Literal["enc", "dec"]
Side = Literal["source", "target"]


class StackPart(NamedTuple):
    """A stack of blocks and the way into it."""

    path: str
    """Its name among the model's modules."""
    stack: Stack | CrossStack
    front_path: str
    front: Front
    embedding: TokenEmbedding | PatchEmbedding
    side: Side

    @property
    def blocks(self) -> Sequence[Block | CrossBlock]:
        """Its layers, first to last."""
        return self.stack.blocks


class AttentionPart(NamedTuple):
    """One attention of a model."""

    kind: Kind
    layer: int
    path: str
    module: MultiHeadAttention


def stacks(model: Transformer) -> dict[StackName, StackPart]:
    """The stacks that the family has."""
    match model:
        case EncoderDecoder():
            encoder = StackPart(
                "encoder", model.encoder, "source_front", model.source_front, model.source_embedding, "source"
            )
            decoder = StackPart(
                "decoder", model.decoder, "target_front", model.target_front, model.target_embedding, "target"
            )
            return {"enc": encoder, "dec": decoder}
        case DecoderOnly():
            return {
                "dec": StackPart("decoder", model.decoder, "front", model.front, model.embedding, "target")
            }
        case EncoderOnly():
            return {
                "enc": StackPart("encoder", model.encoder, "front", model.front, model.embedding, "source")
            }


def attentions(model: Transformer) -> list[AttentionPart]:
    """Every attention, kind after kind, layer after layer."""
    found: list[AttentionPart] = []
    for name, part in stacks(model).items():
        for layer, block in enumerate(part.blocks):
            path = f"{part.path}.blocks.{layer}.attention"
            found.append(AttentionPart(name, layer, path, block.attention))
    for part in stacks(model).values():
        for layer, block in enumerate(part.blocks):
            if isinstance(block, CrossBlock):
                path = f"{part.path}.blocks.{layer}.cross_attention"
                found.append(AttentionPart("cross", layer, path, block.cross_attention))
    return found


def kinds(model: Transformer) -> list[Kind]:
    """The kinds of attention that the family has, in the order of the page."""
    return list(dict.fromkeys(part.kind for part in attentions(model)))


def query_side(kind: Kind) -> Side:
    """Which sequence the rows of a kind are about."""
    return "source" if kind == "enc" else "target"


def key_side(kind: Kind) -> Side:
    """Which sequence its columns are about."""
    return "target" if kind == "dec" else "source"
