"""eole's model, loss, optimizer and training step, made by its own builders and driven on our batches.

Its decoder knows norms only before sub-layers, so that is what both of its stacks have.
"""

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import eole.utils
import pyonmttok  # type: ignore[import-not-found]  # in the environment of eole
import torch
from eole.config.run import TrainConfig
from eole.constants import DefaultTokens
from eole.models.model import get_model_class
from eole.modules.transformer_mlp import MLP
from eole.trainer import build_trainer
from eole.utils.optimizers import Optimizer
from torch import nn

from benchmarks.speed_peers.worker import (
    BETAS,
    CLIP_NORM,
    EPSILON,
    LEARNING_RATE,
    PAD,
    SMOOTHING,
    IdBatch,
    Shape,
    Step,
    attention_kernel,
    serve,
)

SPECIALS = {
    "pad_token": DefaultTokens.PAD,
    "bos_token": DefaultTokens.BOS,
    "eos_token": DefaultTokens.EOS,
    "unk_token": DefaultTokens.UNK,
}
"""In the order of our ids."""


def build(shape: Shape, setting: str, batches: Sequence[IdBatch]) -> tuple[nn.Module, Step]:
    """The settings are PyTorch's two attention kernels for a CPU."""
    config, vocabularies = _config(shape), _vocabularies(shape.vocab_size)
    model = get_model_class(config.model).for_training(
        config.model, vocabularies, config.training, device_id=-1
    )
    for module in model.modules():  # dropout only where ours has it, which also makes this one faster
        if isinstance(module, MLP):
            module.dropout_1.p = 0.0
    trainer = build_trainer(
        config, -1, model, vocabularies, Optimizer.from_config(model, config), model_saver=None
    )
    prepared = [_batch(batch) for batch in batches]

    def step(number: int) -> float:
        statistics = eole.utils.Statistics(), eole.utils.Statistics()
        with attention_kernel(setting):
            trainer._process_accumulated_batches([prepared[number]], batches[number].n_targets, *statistics)
        return float(statistics[0].xent())

    return model, step


def _config(shape: Shape) -> Any:
    sizes = {"hidden_size": shape.d_model, "transformer_ff": shape.d_ff, "heads": shape.n_heads}
    model = {
        "architecture": "transformer",
        "layers": shape.n_layers,
        **sizes,
        "embeddings": {
            "word_vec_size": shape.d_model,
            "position_encoding_type": "SinusoidalInterleaved",
        },
        "mlp_activation_fn": "relu",
        "add_qkvbias": True,
        "add_final_linear_bias": True,
        "add_ffnbias": True,
        "generator_bias": False,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
    }
    training = {
        "world_size": 0,
        "gpu_ranks": [],
        "optim": "adam",
        "adam_beta1": BETAS[0],
        "adam_beta2": BETAS[1],
        "adam_eps": EPSILON,
        "learning_rate": LEARNING_RATE,
        "max_grad_norm": CLIP_NORM,
        "label_smoothing": SMOOTHING,
        "dropout": [shape.dropout],
        "attention_dropout": [0.0],
        "normalization": "tokens",
        "compute_dtype": "fp32",
        "param_init_method": "xavier_uniform",
    }
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "text")  # the configuration must name a text; we bring the batches
        text.write_text("a\n", encoding="utf-8")
        return TrainConfig(
            data={"corpus": {"path_src": str(text), "path_tgt": str(text)}},
            src_vocab=str(text),
            share_vocab=True,
            model=model,
            training=training,
        )


def _vocabularies(size: int) -> dict[str, Any]:
    words = [*SPECIALS.values(), *(f"w{place}" for place in range(size - len(SPECIALS)))]
    vocabulary = pyonmttok.build_vocab_from_tokens(
        Counter(), maximum_size=0, minimum_frequency=1, special_tokens=words
    )
    return {"src": vocabulary, "tgt": vocabulary, "specials": SPECIALS}


def _batch(ids: IdBatch) -> dict[str, Any]:
    """One row ``<s> ids </s>``, of which eole cuts input and labels itself."""
    labels = ids.labels.masked_fill(ids.labels < 0, PAD)
    target = torch.cat([ids.target[:, :1], labels], dim=1)
    lengths = (target != PAD).sum(1)
    return {
        "src": ids.source,
        "srclen": ids.source_lengths,
        "tgt": target,
        "tgtlen": lengths,
        "images": None,
        "prefix_len": None,
        "cid": ["corpus"] * len(target),
        "cid_line_number": list(range(len(target))),
    }


if __name__ == "__main__":
    serve(build, ["eole"])
