"""The tensors of this package, named by shape. Tests hold every ``forward`` to these.

B batch      L positions computed now        H heads                  D d_model
V vocabulary P positions so far, L included  G heads of keys, values  K d_k, of a query and a key
C classes    S positions of the source       N rows, any              W d_v, of a value
1 broadcast  X|1: X, or 1 that is broadcast
"""

from typing import Annotated, NamedTuple

from torch import Tensor

Lengths = Annotated[Tensor, "B"]
Ids = Annotated[Tensor, "B L"]  # int64
SourceIds = Annotated[Tensor, "B S"]
Images = Annotated[Tensor, "B channels height width"]
Hidden = Annotated[Tensor, "B L D"]
Places = Annotated[Tensor, "B|1 L D"]  # what positions add to embeddings
Memory = Annotated[Tensor, "B S D"]
Pooled = Annotated[Tensor, "B D"]
Logits = Annotated[Tensor, "B L V"]
ClassLogits = Annotated[Tensor, "B C"]
Rows = Annotated[Tensor, "N D"]
Targets = Annotated[Tensor, "N"]

Queries = Annotated[Tensor, "B H L K"]
Keys = Annotated[Tensor, "B G P K"]
Values = Annotated[Tensor, "B G P W"]
Heads = Annotated[Tensor, "B H L W"]
Weights = Annotated[Tensor, "B H L P"]
Bias = Annotated[Tensor, "1 H L P"]  # added to the scores of each head
Rotation = Annotated[Tensor, "B|1 1 L K/2"]  # complex numbers of length 1

Positions = Annotated[Tensor, "B|1 L"]  # int64, counted from 0
PaddingMask = Annotated[Tensor, "B|1 1 1 P"]  # bool; True where there is a token
Mask = Annotated[Tensor, "B|1 1 L|1 P"]  # bool; True where a query may look


class KeysValues(NamedTuple):
    """What an attention looks at, projected and split into heads."""

    keys: Keys
    values: Values
