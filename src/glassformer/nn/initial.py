"""Weights before training. Drawn from torch's generator: the same seed gives the same model."""

import math

from torch import nn

from glassformer.nn.embedding import PatchEmbedding, TokenEmbedding
from glassformer.nn.output import OutputProjection
from glassformer.nn.positions import LearnedPositions, RelativeBias


def initialize(model: nn.Module) -> None:
    """Matrices Xavier-uniform, embeddings and output normal with variance 1 / d_model, biases zero.

    With the paper's √d_model scaling, embeddings then enter the stack with variance 1, and a tied
    output gives logits of moderate size. Learned positions start at a tenth of the embeddings' size.
    Norms keep PyTorch's ones and zeros. A tied matrix is drawn once.
    """
    drawn: set[int] = set()
    for module in model.modules():
        match module:
            case nn.Linear():
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            case PatchEmbedding():
                nn.init.xavier_uniform_(module.project.weight.flatten(1))
                nn.init.zeros_(module.project.bias) if module.project.bias is not None else None
            case TokenEmbedding() | OutputProjection():
                if id(module.weight) not in drawn:
                    drawn.add(id(module.weight))
                    nn.init.normal_(module.weight, std=1 / math.sqrt(module.weight.size(1)))
                if isinstance(module, OutputProjection) and module.bias is not None:
                    nn.init.zeros_(module.bias)
            case LearnedPositions():
                nn.init.normal_(module.weight, std=0.1 / math.sqrt(module.weight.size(1)))
            case RelativeBias():
                nn.init.normal_(module.weight, std=1 / math.sqrt(module.weight.size(1)))
            case _:
                pass
