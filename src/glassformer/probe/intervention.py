"""What can be changed inside a model to see what follows: plain values, checked against the model."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, model_validator

from glassformer.config import read
from glassformer.config.strict import Strict
from glassformer.errors import InputError
from glassformer.nn import Transformer
from glassformer.probe.anatomy import Kind, Side, StackName, attentions, kinds, stacks

Share = Annotated[float, Field(ge=0, le=1)]


class HeadRule(Strict):
    """Something about heads: of one kind, one layer and one head, or of all where that is unset."""

    kind: Kind
    """Kind of attention."""
    layer: NonNegativeInt | None = None
    """Counted from 0; unset: every layer."""
    head: NonNegativeInt | None = None
    """Counted from 0; unset: every head."""

    def concerns(self, kind: Kind, layer: int) -> bool:
        """Whether this is about a layer of a kind."""
        return self.kind == kind and self.layer in (None, layer)

    def heads(self, n_heads: int) -> list[int]:
        """The heads it is about."""
        return list(range(n_heads)) if self.head is None else [self.head]


class Mute(HeadRule):
    """The head adds nothing."""

    type: Literal["mute"] = "mute"


class Keep(HeadRule):
    """All other heads of the layer add nothing."""

    type: Literal["keep"] = "keep"


class Uniform(HeadRule):
    """Equal weights wherever a query may look."""

    type: Literal["uniform"] = "uniform"


class Edge(HeadRule):
    """One weight is set; the others of its row share the rest in proportion."""

    type: Literal["edge"] = "edge"
    query: NonNegativeInt
    """Position of the query."""
    key: NonNegativeInt
    """Position of the key."""
    weight: Share = 0.0
    """The weight it gets."""


class BlockEdge(HeadRule):
    """A query may not look at a key; without a query, none may."""

    type: Literal["block"] = "block"
    query: NonNegativeInt | None = None
    """Position of the query; unset: all."""
    key: NonNegativeInt
    """Position of the key."""


class Scale(HeadRule):
    """Scores are divided by another number than √d_k."""

    type: Literal["scale"] = "scale"
    divisor: PositiveFloat = 1.0
    """That number."""


class Causal(Strict):
    """Decoder positions also see later ones, in the pass over the whole output."""

    type: Literal["causal"] = "causal"
    value: Literal[False] = False
    """Off is all that can be asked for."""


class ShiftPositions(Strict):
    """Tokens lose their positions, or all stand further on."""

    type: Literal["positions"] = "positions"
    side: Side | None = None
    """Which sequence; unset: both."""
    op: Literal["drop", "shift"] = "drop"
    """Take away, or shift."""
    by: NonNegativeInt = 0
    """How far."""


class ZeroFeedForward(Strict):
    """A feed-forward network adds nothing."""

    type: Literal["feed_forward"] = "feed_forward"
    stack: StackName
    """Which stack."""
    layer: NonNegativeInt | None = None
    """Counted from 0; unset: every layer."""


class Swap(Strict):
    """Another word in the source."""

    type: Literal["swap"] = "swap"
    word: NonNegativeInt
    """Its place among the words, which spaces divide."""
    text: str
    """What stands there instead."""


class Force(Strict):
    """The output as it was up to a step, then this, then whatever follows."""

    type: Literal["force"] = "force"
    step: NonNegativeInt
    """How many tokens stay."""
    text: str | None = None
    """A text, or …"""
    token: NonNegativeInt | None = None
    """… one token's id."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.text is None) == (self.token is None):
            raise ValueError("force needs either text or token")
        return self


AttentionRule = Mute | Keep | Uniform | Edge | BlockEdge | Scale
Intervention = AttentionRule | Causal | ShiftPositions | ZeroFeedForward | Swap | Force


class Interventions(Strict):
    """A list of them, as a request has it."""

    interventions: Annotated[
        tuple[Annotated[Intervention, Field(discriminator="type")], ...], Field(strict=False)
    ] = ()
    """In any order; forced tokens are taken by step."""


def read_interventions(table: Sequence[Mapping[str, object] | Intervention]) -> tuple[Intervention, ...]:
    """Interventions from plain data, read as strictly as a file; those that are read already stay."""
    plain = [dict(each) if isinstance(each, Mapping) else each for each in table]
    return read(Interventions, {"interventions": plain}, "request").interventions


def check_interventions(model: Transformer, interventions: Sequence[Intervention]) -> None:
    """Refuse what this model does not have: a layer, a head, a stack, a side."""
    depth = {kind: sum(part.kind == kind for part in attentions(model)) for kind in kinds(model)}
    for each in interventions:
        match each:
            case HeadRule():
                _check(each.kind in depth, each, f"kind = {each.kind!r}", f"it has {', '.join(depth)}")
                _check_below(each, "layer", each.layer, depth[each.kind])
                _check_below(each, "head", each.head, model.config.n_heads)
            case ZeroFeedForward():
                parts = stacks(model)
                _check(each.stack in parts, each, f"stack = {each.stack!r}", f"it has {', '.join(parts)}")
                _check_below(each, "layer", each.layer, len(parts[each.stack].blocks))
            case Causal():
                _check("dec" in depth, each, "causal attention", "its positions see all others anyway")
            case _:
                pass


def _check_below(each: Strict, name: str, value: int | None, limit: int) -> None:
    if value is not None:
        _check(value < limit, each, f"{name} = {value}", f"they run from 0 to {limit - 1}")


def _check(fine: bool, each: Strict, what: str, rather: str) -> None:
    if not fine:
        raise InputError(f"intervention {getattr(each, 'type', '')!r}: this model has no {what}; {rather}")
