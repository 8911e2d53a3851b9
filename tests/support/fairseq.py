"""fairseq checkpoints as models of ours, for tests alone: they are pickles, which the package never reads.

``python -m tests.support.fairseq CHECKPOINT OUT`` is the child process that unpickles: with a list of names
that run nothing, under limits of memory and time. It leaves safetensors and JSON.
"""

import argparse
import io
import json
import pickle
import resource
import subprocess
import sys
import zipfile
from collections import OrderedDict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glassformer.config import ModelConfig
from glassformer.nn import EncoderDecoder

ROOT = Path(__file__).parents[2]
KEPT = [
    "encoder_embed_dim",
    "encoder_ffn_embed_dim",
    "encoder_layers",
    "decoder_layers",
    "encoder_attention_heads",
    "encoder_normalize_before",
    "decoder_normalize_before",
    "encoder_learned_pos",
    "share_all_embeddings",
    "share_decoder_input_output_embed",
    "max_source_positions",
    "activation_fn",
    "no_scale_embedding",
]
NAMES = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
PAD, EOS, UNK = 1, 2, 3


def read_checkpoint(checkpoint: Path, work: Path) -> EncoderDecoder:
    """The model of a checkpoint; the pickle is opened by another process."""
    subprocess.run(
        [sys.executable, "-m", "tests.support.fairseq", str(checkpoint), str(work)],
        check=True,
        cwd=ROOT,
        timeout=120,
    )
    from safetensors.torch import load_file

    settings = json.loads((work / "settings.json").read_text())
    return build(settings, load_file(work / "model.safetensors"))


def build(settings: dict[str, Any], tensors: dict[str, Tensor]) -> EncoderDecoder:
    """Our model with their numbers; every one of them is used."""
    source, target = (tensors.pop(f"{side}.embed_tokens.weight") for side in ("encoder", "decoder"))
    length, d_model = 512, settings["encoder_embed_dim"]
    config = ModelConfig(
        vocab_size=len(target),
        source_vocab_size=len(source),
        max_length=length,
        d_model=d_model,
        d_ff=settings["encoder_ffn_embed_dim"],
        n_heads=settings["encoder_attention_heads"],
        n_encoder_layers=settings["encoder_layers"],
        n_decoder_layers=settings["decoder_layers"],
        positions="learned",  # theirs are sinusoidal by another formula: a table holds them
        norm="pre" if settings["encoder_normalize_before"] else "post",
        activation=settings.get("activation_fn", "relu"),
        tying="none",
    )
    model = EncoderDecoder(config).eval()
    ours = dict(model.named_parameters())
    with torch.no_grad():
        ours["source_embedding.weight"].copy_(source)
        ours["target_embedding.weight"].copy_(target)
        ours["output.weight"].copy_(tensors.pop("decoder.output_projection.weight", target))
        for front in ("source_front", "target_front"):
            ours[f"{front}.positions.weight"].copy_(positions(length, d_model))
        for name, parameter in ours.items():
            if name.startswith(("encoder.", "decoder.")):
                parameter.copy_(tensors.pop(foreign(name)))
    rest = [name for name in tensors if not name.endswith(("version", "_float_tensor"))]
    assert rest == [], rest
    return model


def foreign(name: str) -> str:
    """Their name of one of our parameters."""
    if name.count(".") == 2:  # encoder.norm.weight
        return name.replace(".norm.", ".layer_norm.")
    side, _, layer, part, *rest = name.split(".")
    kind = rest[-1]
    modules = {
        "attention": "self_attn",
        "cross_attention": "encoder_attn",
        "attention_residual": "self_attn_layer_norm",
        "cross_attention_residual": "encoder_attn_layer_norm",
        "feed_forward_residual": "final_layer_norm",
    }
    begin = f"{side}.layers.{layer}"
    if part == "feed_forward":
        return f"{begin}.{'fc1' if rest[0] == 'expand' else 'fc2'}.{kind}"
    inner = f".{NAMES[rest[0]]}" if rest[0] in NAMES else ""
    return f"{begin}.{modules[part]}{inner}.{kind}"


def positions(length: int, d_model: int) -> Tensor:
    """Those of tensor2tensor; the first place of a sentence has number 2, after padding."""
    half = d_model // 2
    rates = torch.exp(torch.arange(half).double() * -(np.log(10_000) / (half - 1)))
    angles = torch.arange(PAD + 1, PAD + 1 + length).double()[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()


class Dictionary:
    """dict.txt: a piece and its count on each line, after four special tokens."""

    def __init__(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").split("\n")
        self.pieces = ["<s>", "<pad>", "</s>", "<unk>", *(line.rsplit(" ", 1)[0] for line in lines if line)]
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}

    def encode(self, pieces: list[str]) -> list[int]:
        return [self.ids.get(piece, UNK) for piece in pieces]

    def text(self, ids: list[int]) -> str:
        return " ".join(self.pieces[i] for i in ids).replace("@@ ", "")


class Merges:
    """subword-nmt's codes, applied to words."""

    def __init__(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").split("\n")[1:]
        pairs = [tuple(line.split(" ")) for line in lines if line]
        self.ranks = {pair: rank for rank, pair in enumerate(pairs)}

    def __call__(self, text: str) -> list[str]:
        return [piece for word in text.split() for piece in self.word(word)]

    def word(self, word: str) -> list[str]:
        parts = [*word[:-1], word[-1] + "</w>"]
        while len(parts) > 1:
            ranked = [(self.ranks.get(pair, 10**9), i) for i, pair in enumerate(pairwise(parts))]
            rank, at = min(ranked)
            if rank == 10**9:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return [f"{part}@@" for part in parts[:-1]] + [parts[-1].removesuffix("</w>")]


class Inert:
    """What stands for every class that no test needs: it takes anything and does nothing."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __setstate__(self, _: object) -> None: ...


def rebuilt(flat: Tensor, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: object) -> Tensor:
    """A tensor of a storage."""
    return flat.as_strided(size, stride, offset)


ALLOWED: dict[tuple[str, str], Any] = {
    ("argparse", "Namespace"): argparse.Namespace,
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): rebuilt,
    ("torch", "FloatStorage"): torch.float32,
    ("torch", "HalfStorage"): torch.float16,
    ("torch", "DoubleStorage"): torch.float64,
    ("torch", "LongStorage"): torch.int64,
    ("torch", "IntStorage"): torch.int32,
}
WITHOUT_USE = ("numpy", "numpy.core.multiarray", "_codecs", "omegaconf", "fairseq", "enum", "typing")


class Restricted(pickle.Unpickler):
    """An unpickler that knows a few names, none of which runs anything."""

    def __init__(self, archive: zipfile.ZipFile, folder: str) -> None:
        super().__init__(io.BytesIO(archive.read(f"{folder}/data.pkl")))
        self._archive, self._folder = archive, folder

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in ALLOWED:
            return ALLOWED[module, name]
        if module.split(".")[0] in WITHOUT_USE or module in WITHOUT_USE:
            return Inert
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")

    def persistent_load(self, given: Any) -> Tensor:
        _, kind, key, _, count = given
        data = bytearray(self._archive.read(f"{self._folder}/data/{int(key)}"))
        return torch.frombuffer(data, dtype=kind)[:count]


def unpickle(checkpoint: Path, out: Path) -> None:
    """What the child does."""
    from safetensors.torch import save_file

    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (100, 100))
    with zipfile.ZipFile(checkpoint) as archive:
        folder = archive.namelist()[0].split("/")[0]
        found = Restricted(archive, folder).load()
    settings = found.get("args") or found["cfg"]["model"]
    (out / "settings.json").write_text(json.dumps({name: getattr(settings, name, None) for name in KEPT}))
    tensors = {name: tensor.float().clone() for name, tensor in found["model"].items()}
    save_file(tensors, out / "model.safetensors")


if __name__ == "__main__":
    unpickle(Path(sys.argv[1]), Path(sys.argv[2]))
