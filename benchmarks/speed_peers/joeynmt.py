"""JoeyNMT's model, loss, clipper and optimizer, made by its own builders and driven on our batches.

Its trainer does just this around ``Model.forward(return_type="loss")``; what is left out is logging.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import joeynmt.batch
import joeynmt.builders
import joeynmt.model
import joeynmt.transformer_layers
import joeynmt.vocabulary
import torch
from torch import nn

from benchmarks.speed_peers.worker import (
    BETAS,
    CLIP_NORM,
    LEARNING_RATE,
    PAD,
    SMOOTHING,
    IdBatch,
    Shape,
    Step,
    serve,
)

UNK, BOS, EOS = 3, 1, 2


def build(shape: Shape, setting: str, batches: Sequence[IdBatch]) -> tuple[nn.Module, Step]:
    """There is one setting."""
    del setting
    vocabulary = _vocabulary(shape.vocab_size)
    model = joeynmt.model.build_model(_config(shape), vocabulary, vocabulary)
    model.loss_function = ("crossentropy", SMOOTHING)
    for module in model.modules():  # dropout only where ours has it, which also makes this one faster
        if isinstance(module, joeynmt.transformer_layers.MultiHeadedAttention):
            module.dropout.p = 0.0
        if isinstance(module, joeynmt.transformer_layers.PositionwiseFeedForward):
            module.pwff_layer[2].p = 0.0
    model.train()
    training = {
        "optimizer": "adam",
        "learning_rate": LEARNING_RATE,
        "adam_betas": BETAS,
        "clip_grad_val": None,
        "clip_grad_norm": CLIP_NORM,
    }
    optimizer = joeynmt.builders.build_optimizer(training, model.parameters())
    clip: Any = joeynmt.builders.build_gradient_clipper(training)
    prepared = [_batch(batch) for batch in batches]

    def step(number: int) -> float:
        batch = prepared[number]
        model.zero_grad()
        batch.sort_by_src_length()
        total, _, _, _ = model(return_type="loss", **vars(batch))
        loss = batch.normalize(total, normalization="tokens")
        loss.backward()
        clip(parameters=model.parameters())
        optimizer.step()
        return float(loss.detach())

    return model, step


def _vocabulary(size: int) -> Any:
    """As many words as we have ids, the special ones at the places they have with us."""
    special = SimpleNamespace(
        unk_token="<unk>",
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        sep_token=None,
        unk_id=UNK,
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        sep_id=None,
        lang_tags=[],
    )

    class Vocabulary(joeynmt.vocabulary.Vocabulary):  # type: ignore[misc]  # the peer has no types
        def add_tokens(self, tokens: list[str]) -> None:
            """Special tokens first and in our order; JoeyNMT's own order is another, its search quadratic."""
            ordered = dict.fromkeys(["<pad>", "<s>", "</s>", "<unk>", *tokens])
            self._itos = list(ordered)
            self._stoi = {token: place for place, token in enumerate(self._itos)}

    return Vocabulary([f"w{place}" for place in range(size - 4)], special)


def _config(shape: Shape) -> dict[str, Any]:
    side = {
        "type": "transformer",
        "num_layers": shape.n_layers,
        "num_heads": shape.n_heads,
        "embeddings": {"embedding_dim": shape.d_model, "scale": True, "dropout": shape.dropout},
        "hidden_size": shape.d_model,
        "ff_size": shape.d_ff,
        "dropout": shape.dropout,
        "layer_norm": "post",
    }
    return {
        "initializer": "xavier_uniform",
        "embed_initializer": "normal",
        "embed_init_weight": shape.d_model**-0.5,
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": side,
        "decoder": side,
    }


def _batch(ids: IdBatch) -> Any:
    """JoeyNMT cuts decoder input and labels from one row ``<s> ids </s>`` itself."""
    labels = ids.labels.masked_fill(ids.labels < 0, PAD)
    return joeynmt.batch.Batch(
        src=ids.source,
        src_length=ids.source_lengths,
        src_prompt_mask=None,
        trg=torch.cat([ids.target[:, :1], labels], dim=1),
        trg_prompt_mask=None,
        indices=torch.arange(len(labels)),
        device=torch.device("cpu"),
        pad_index=PAD,
        eos_index=EOS,
    )


if __name__ == "__main__":
    serve(build, ["joeynmt"])
