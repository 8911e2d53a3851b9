"""CTranslate2 model directories: our encoder-decoders written as such, and such read as ours."""

import math
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from glassformer.checkpoint.files import write_file
from glassformer.checkpoint.reading import json_bytes, read_bounded
from glassformer.config import ModelConfig
from glassformer.errors import CheckpointError
from glassformer.interop.bart import Activation
from glassformer.interop.ctranslate2_file import Array, Variables, binary_chunks, read_variables
from glassformer.interop.ctranslate2_layout import variables_of
from glassformer.interop.parity import FLOAT32, Parity, Probe, difference, missing
from glassformer.nn import EncoderDecoder
from glassformer.nn.positions import sinusoids
from glassformer.text import Tokenizer

Quantization = Literal["float32", "int8"]

_REVISION = 7
_ACTIVATIONS: dict[Activation, int] = {"relu": 0, "gelu-tanh": 1, "silu": 2, "gelu": 3}
_OLD_LENGTH = 500  # positions that the format's own formula was made for
_INT8 = 0.5


def write_ctranslate2(
    folder: Path, model: EncoderDecoder, tokenizer: Tokenizer, quantization: Quantization = "float32"
) -> Parity:
    """Write model.bin, config.json and the vocabularies, and compare what ctranslate2 makes of them."""
    config = model.config
    if wrong := _obstacle(config):
        raise CheckpointError(f"CTranslate2 cannot hold this model: {wrong}")
    arrays, aliases = _arrays(model)
    if quantization == "int8":
        arrays |= _quantized(arrays)
    write_file(folder / "model.bin", binary_chunks("TransformerSpec", _REVISION, arrays, aliases))
    source, target = (_vocabulary(side, size) for side, size in _sides(config, tokenizer))
    if source == target:
        write_file(folder / "shared_vocabulary.json", [json_bytes(target)])
    else:
        write_file(folder / "source_vocabulary.json", [json_bytes(source)])
        write_file(folder / "target_vocabulary.json", [json_bytes(target)])
    names = {
        "unk_token": target[tokenizer.unk_id],
        "bos_token": target[tokenizer.bos_id],
        "eos_token": target[tokenizer.eos_id],
        "decoder_start_token": target[tokenizer.bos_id],
    }
    settings = {
        **names,
        "add_source_bos": bool(tokenizer.source_before),
        "add_source_eos": bool(tokenizer.source_after),
        "layer_norm_epsilon": config.norm_epsilon,
    }
    write_file(folder / "config.json", [json_bytes(settings)])
    return _parity(folder, model, tokenizer, quantization)


def read_ctranslate2(directory: Path | str, n_heads: int = 8) -> EncoderDecoder:
    """The encoder-decoder of a float32 model.bin; files of version 2 do not say how many heads there are."""
    path = Path(directory) / "model.bin"
    variables = read_variables(path)
    if "encoder/num_heads" in variables:
        n_heads = int(variables["encoder/num_heads"])
    config = _config(variables, n_heads, path)
    with torch.random.fork_rng(devices=[]):
        model = EncoderDecoder(config)
    used = {"encoder/embeddings/weight", "encoder/embeddings_0/weight", "decoder/embeddings/weight"}
    used |= {"decoder/projection/weight", "decoder/projection/bias"}
    parameters = dict(model.named_parameters())

    def put(name: str, value: Tensor) -> None:
        if parameters[name].shape != value.shape:
            raise CheckpointError(f"{path}: what {name!r} is made of has shape {tuple(value.shape)}")
        parameters[name].copy_(value)

    with torch.no_grad():
        put("source_embedding.weight", _tensor(variables, _source(variables), path))
        put("target_embedding.weight", _tensor(variables, "decoder/embeddings/weight", path))
        put("output.weight", _tensor(variables, "decoder/projection/weight", path))
        if config.output_bias:
            put("output.bias", _tensor(variables, "decoder/projection/bias", path))
        for side, front in (("encoder", "source_front"), ("decoder", "target_front")):
            name = f"{side}/position_encodings/encodings"
            table = _tensor(variables, name, path) if name in variables else old_positions(config.d_model)
            put(f"{front}.positions.weight", table)
            used.add(name)
        for variable in variables_of(config):
            used.add(variable.name)
            joined = _tensor(variables, variable.name, path)
            parts = [parameters[name] for name in variable.parameters]
            if joined.size(0) != sum(map(len, parts)):
                raise CheckpointError(f"{path}: variable {variable.name!r} has shape {tuple(joined.shape)}")
            for name, piece in zip(
                variable.parameters, joined.split([len(part) for part in parts]), strict=True
            ):
                put(name, piece)
    left = [name for name, array in variables.arrays.items() if array.ndim and name not in used]
    if left:
        raise CheckpointError(f"{path}: variable {left[0]!r} has no place in the model")
    return model.eval()


def old_positions(d_model: int) -> Tensor:
    """The positions of files that have none: those of tensor2tensor, the first being number 1."""
    rates = torch.exp(torch.arange(d_model // 2).double() * -(math.log(10_000) / (d_model // 2 - 1)))
    angles = torch.arange(1, _OLD_LENGTH + 1).double()[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()


def _obstacle(config: ModelConfig) -> str:
    if config.family != "encoder-decoder":
        return f'its family is "{config.family}"; only encoder-decoders are exported'
    checks = (
        (config.positions in ("sinusoidal", "learned"), f'positions = "{config.positions}"'),
        (config.norm != "sandwich", 'norm = "sandwich"'),
        (config.n_key_heads == config.n_heads, f"n_kv_heads = {config.n_kv_heads}"),
        (config.d_key * config.n_heads == config.d_model, f"d_k = {config.d_k}"),
        (config.d_value * config.n_heads == config.d_model, f"d_v = {config.d_v}"),
    )
    return next((text for holds, text in checks if not holds), "")


def _arrays(model: EncoderDecoder) -> tuple[dict[str, Array], dict[str, str]]:
    config = model.config
    ours = {name: parameter.detach().float() for name, parameter in model.named_parameters()}
    arrays: dict[str, Array] = {
        variable.name: torch.cat([ours[name] for name in variable.parameters]).numpy()
        for variable in variables_of(config)
    }
    arrays["decoder/embeddings/weight"] = ours["target_embedding.weight"].numpy()
    aliases = {}
    for theirs, own in (
        ("encoder/embeddings_0/weight", "source_embedding.weight"),
        ("decoder/projection/weight", "output.weight"),
    ):
        if own in ours:
            arrays[theirs] = ours[own].numpy()
        else:  # tied
            aliases[theirs] = "decoder/embeddings/weight"
    if config.output_bias:
        arrays["decoder/projection/bias"] = ours["output.bias"].numpy()
    for side, front in (("encoder", "source_front"), ("decoder", "target_front")):
        learned = ours.get(f"{front}.positions.weight")
        table = sinusoids(torch.arange(config.max_length), config.d_model) if learned is None else learned
        arrays[f"{side}/position_encodings/encodings"] = table.float().numpy()
        arrays |= {f"{side}/{name}": value for name, value in _scalars(config, side).items()}
    return arrays, aliases


def _scalars(config: ModelConfig, side: str) -> dict[str, Array]:
    found: dict[str, Array] = {
        "num_heads": np.asarray(config.n_heads, np.int16),
        "pre_norm": np.asarray(config.norm == "pre", np.int8),
        "activation": np.asarray(_ACTIVATIONS[config.activation], np.int8),
        "scale_embeddings": np.asarray(config.scale_embedding, np.int8),
    }
    if side == "encoder":
        return {**found, "embeddings_merge": np.asarray(0, np.int8)}
    return {
        **found,
        "start_from_zero_embedding": np.asarray(0, np.int8),
        "alignment_layer": np.asarray(-1, np.int16),
        "alignment_heads": np.asarray(1, np.int16),
    }


def _quantized(arrays: dict[str, Array]) -> dict[str, Array]:
    """Matrices as 8-bit integers, each row with a scale of its own: ``integer = number × scale``."""
    found: dict[str, Array] = {}
    for name, array in arrays.items():
        if name.endswith("/weight") and array.ndim == 2:
            largest = np.abs(array).max(axis=1)
            scale = (127.0 / np.where(largest == 0, 127.0, largest)).astype(np.float32)
            found[name] = np.rint(array * scale[:, None]).astype(np.int8)
            found[f"{name}_scale"] = scale
    return found


def _sides(config: ModelConfig, tokenizer: Tokenizer) -> tuple[tuple[Tokenizer, int], tuple[Tokenizer, int]]:
    return (tokenizer.source, config.n_source_ids), (tokenizer, config.vocab_size)


def _vocabulary(tokenizer: Tokenizer, size: int) -> list[str]:
    """Tokens by id; their texts only have to differ, since ids come from our tokenizer."""
    names = tokenizer.raw_pieces
    return [*names, *(f"<unused {i}>" for i in range(len(names), size))]


def _config(variables: Variables, n_heads: int, path: Path) -> ModelConfig:
    try:
        target = variables["decoder/embeddings/weight"]
        source = variables[_source(variables)]
        inner = variables["encoder/layer_0/ffn/linear_0/weight"]
    except KeyError as error:
        raise CheckpointError(f"{path}: variable {error} is missing") from None
    d_model = target.shape[-1]
    encodings = "encoder/position_encodings/encodings"
    activation = int(variables["encoder/activation"]) if "encoder/activation" in variables else 0
    return ModelConfig(
        vocab_size=target.shape[0],
        source_vocab_size=source.shape[0],
        max_length=len(variables[encodings]) if encodings in variables else _OLD_LENGTH,
        d_model=d_model,
        d_ff=inner.shape[0],
        n_heads=n_heads,
        n_encoder_layers=_layers(variables, "encoder"),
        n_decoder_layers=_layers(variables, "decoder"),
        positions="learned",
        norm="pre" if "decoder/layer_norm/gamma" in variables else "post",
        embedding_norm="encoder/layernorm_embedding/gamma" in variables,
        activation=next(name for name, code in _ACTIVATIONS.items() if code == activation),
        gated="encoder/layer_0/ffn/linear_0_noact/weight" in variables,
        norm_kind="layer" if "encoder/layer_0/ffn/layer_norm/beta" in variables else "rms",
        bias="encoder/layer_0/ffn/linear_0/bias" in variables,
        output_bias="decoder/projection/bias" in variables,
        tying="none",
        scale_embedding="encoder/scale_embeddings" not in variables
        or bool(variables["encoder/scale_embeddings"]),
    )


def _source(variables: Variables) -> str:
    return next(
        (name for name in ("encoder/embeddings_0/weight", "encoder/embeddings/weight") if name in variables),
        "encoder/embeddings_0/weight",
    )


def _layers(variables: Variables, side: str) -> int:
    return sum(f"{side}/layer_{i}/ffn/linear_0/weight" in variables for i in range(256))


def _tensor(variables: Variables, name: str, path: Path) -> Tensor:
    if name not in variables:
        raise CheckpointError(f"{path}: variable {name!r} is missing")
    array = variables[name]
    if array.dtype != np.float32:
        raise CheckpointError(f"{path}: variable {name!r} is {array.dtype}; only float32 files are read")
    return torch.from_numpy(array.copy())


def read_vocabulary(path: Path) -> list[str]:
    """The tokens of a source_vocabulary.txt or target_vocabulary.txt, by id."""
    return read_bounded(path).decode("utf-8").split("\n")[:-1]


def _parity(folder: Path, model: EncoderDecoder, tokenizer: Tokenizer, quantization: Quantization) -> Parity:
    """Compare log-probabilities of targets. 8-bit integers round: there the mean is compared, loosely."""
    try:
        import ctranslate2
    except ImportError:
        raise missing("ctranslate2", "an export to CTranslate2") from None
    probe = Probe.of(model.config, tokenizer.n_control)
    sources, targets = (_vocabulary(side, size) for side, size in _sides(model.config, tokenizer))
    before, after = tokenizer.source_before[:1], tokenizer.source_after[:1]
    worst, numbers = 0.0, 0
    translator = ctranslate2.Translator(str(folder), device="cpu", compute_type=quantization)
    for row in range(len(probe.source)):
        ids = probe.source[row, : probe.lengths[row]].tolist()
        wanted = probe.target[row].tolist()
        (found,) = translator.score_batch(
            [[sources[i] for i in ids]], [[targets[i] for i in wanted]], max_input_length=0
        )
        ours = _log_probabilities(model, [*before, *ids, *after], wanted, tokenizer)
        theirs = torch.tensor(found.log_probs[: len(ours)])
        gap = difference(ours, theirs) if quantization == "float32" else float((ours - theirs).mean().abs())
        worst, numbers = max(worst, gap), numbers + len(ours)
    return Parity(
        f"ctranslate2 {quantization}",
        f"ctranslate2 {ctranslate2.__version__}",
        "log-probabilities of targets" if quantization == "float32" else "mean log-probability of a target",
        numbers,
        worst,
        FLOAT32 if quantization == "float32" else _INT8,
    )


@torch.inference_mode()
def _log_probabilities(
    model: EncoderDecoder, source: list[int], target: list[int], tokenizer: Tokenizer
) -> Tensor:
    fed = torch.tensor([[tokenizer.bos_id, *target]])[:, : model.config.max_length]
    wanted = torch.tensor([*target, tokenizer.eos_id])[: fed.size(1)]
    logits = model(torch.tensor([source])[:, : model.config.max_length], fed)[0]
    return logits.log_softmax(-1).gather(1, wanted[:, None])[:, 0]
