"""Our encoder-decoders as Hugging Face directories: Marian, Pegasus, BART or mBART, whichever holds them."""

from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glassformer.checkpoint.files import write_file
from glassformer.checkpoint.reading import json_bytes
from glassformer.checkpoint.tensors import save_tensors
from glassformer.config import ModelConfig
from glassformer.errors import CheckpointError
from glassformer.interop.bart import bart, halves_order, marian, mbart, pegasus
from glassformer.interop.parity import FLOAT32, Parity, Probe, difference, missing, quiet
from glassformer.interop.recipe import Plan, feature_dimension
from glassformer.interop.settings import Settings
from glassformer.nn import EncoderDecoder
from glassformer.text import Tokenizer
from glassformer.text.imported import ImportedTokenizer
from glassformer.text.vocabulary import SPECIALS

_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu-tanh": "gelu_new", "silu": "silu"}
_LAYOUTS = {
    ("sinusoidal", "post", False): "marian",
    ("sinusoidal", "pre", False): "pegasus",
    ("learned", "post", True): "bart",
    ("learned", "pre", True): "mbart",
}
_CLASSES = {
    "marian": "MarianMTModel",
    "pegasus": "PegasusForConditionalGeneration",
    "bart": "BartForConditionalGeneration",
    "mbart": "MBartForConditionalGeneration",
}
_PLANS = {"marian": marian, "pegasus": pegasus, "bart": bart, "mbart": mbart}


def layout_of(config: ModelConfig) -> str:
    """The architecture of Hugging Face that computes the same; refused where none does."""
    wrong = _obstacle(config)
    if wrong:
        raise CheckpointError(f"no layout of Hugging Face holds this model: {wrong}")
    return _LAYOUTS[config.positions, config.norm, config.embedding_norm]


def write_hugging_face(folder: Path, model: EncoderDecoder, tokenizer: Tokenizer) -> Parity:
    """Write config.json, model.safetensors and the tokenizer, and compare what transformers makes of them."""
    kind = layout_of(model.config)
    settings = _settings(kind, model.config, tokenizer)
    plan = _PLANS[kind](Settings(str(folder), settings), {"lm_head.weight": None})
    write_file(folder / "config.json", [json_bytes(settings)])
    write_file(folder / "generation_config.json", [json_bytes(_generation(tokenizer))])
    save_tensors(folder / "model.safetensors", _tensors(model, plan), {"format": "pt"})
    _write_tokenizer(folder, tokenizer, model.config)
    return _parity(folder, kind, model, tokenizer)


def _obstacle(config: ModelConfig) -> str:
    if config.family != "encoder-decoder":
        return f'its family is "{config.family}"; only encoder-decoders are exported'
    checks = (
        (config.norm_kind == "layer", f'norm_kind = "{config.norm_kind}"'),
        (config.bias, "bias = false"),
        (not config.gated, "gated = true"),
        (config.n_key_heads == config.n_heads, f"n_kv_heads = {config.n_kv_heads}"),
        (config.d_key * config.n_heads == config.d_model, f"d_k = {config.d_k}"),
        (config.d_value * config.n_heads == config.d_model, f"d_v = {config.d_v}"),
        (config.norm_epsilon == 1e-5, f"norm_epsilon = {config.norm_epsilon}, where theirs is 1e-05"),
        (
            (config.positions, config.norm, config.embedding_norm) in _LAYOUTS,
            f'positions = "{config.positions}", norm = "{config.norm}" and embedding_norm = '
            f"{str(config.embedding_norm).lower()} do not occur together",
        ),
        (
            config.tying == "three-way"
            or (config.tying == "two-way" and (config.positions, config.norm) == ("sinusoidal", "post")),
            f'tying = "{config.tying}"',
        ),
    )
    return next((text for holds, text in checks if not holds), "")


def _settings(kind: str, config: ModelConfig, tokenizer: Tokenizer) -> dict[str, Any]:
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("attention_heads", config.n_heads), ("ffn_dim", config.d_ff))
    }
    settings: dict[str, Any] = {
        "architectures": [_CLASSES[kind]],
        "model_type": kind,
        "vocab_size": config.n_source_ids,
        "max_position_embeddings": config.max_length,
        "d_model": config.d_model,
        **sides,
        "encoder_layers": config.n_encoder_layers,
        "decoder_layers": config.n_decoder_layers,
        "activation_function": _ACTIVATIONS[config.activation],
        "scale_embedding": config.scale_embedding,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "is_encoder_decoder": True,
        "tie_word_embeddings": True,
        "dtype": "float32",
        **_generation(tokenizer),
    }
    if kind == "marian":
        shared = config.tying == "three-way"
        settings |= {"share_encoder_decoder_embeddings": shared, "decoder_vocab_size": config.vocab_size}
    return settings


def _generation(tokenizer: Tokenizer) -> dict[str, Any]:
    return {
        "pad_token_id": tokenizer.pad_id,
        "bos_token_id": tokenizer.bos_id,
        "eos_token_id": tokenizer.eos_id,
        "decoder_start_token_id": tokenizer.bos_id,
        "forced_eos_token_id": None,
    }


def _tensors(model: EncoderDecoder, plan: Plan) -> dict[str, Tensor]:
    """The recipes of the importer, read backwards: what it would take for each of our parameters."""
    ours = dict(model.named_parameters())
    config = model.config
    order = halves_order(config.d_model) if config.positions == "sinusoidal" else None
    # theirs has a bias always
    bias = ours["output.bias"].detach() if config.output_bias else torch.zeros(config.vocab_size)
    tensors: dict[str, Tensor] = {}
    for name, recipe in plan.recipes.items():
        ((theirs, shape),) = recipe.needs.items()
        value = bias if name == "output.bias" else ours[name].detach()
        dim = feature_dimension(name)
        if order is not None and dim is not None:
            value = value.index_select(dim, order)
        if len(shape) == 2 and shape[0] > len(value) and value.dim() == 2:  # rows that no position uses
            value = torch.cat([value.new_zeros(shape[0] - len(value), shape[1]), value])
        tensors[theirs] = value.reshape(shape).contiguous()
    # positions follow from a formula there too, but a reader that finds none warns of missing weights
    return tensors | {name: table().float().contiguous() for name, table in plan.formulas.items()}


def _write_tokenizer(folder: Path, tokenizer: Tokenizer, config: ModelConfig) -> None:
    """A tokenizer that AutoTokenizer reads where ours can be said in its format, else our own file."""
    if isinstance(tokenizer, ImportedTokenizer) or not tokenizer.joint:
        tokenizer.save(folder / "glassformer_tokenizer.json")
        return
    from tokenizers import processors

    from glassformer.text.vocabulary import build

    library = build(tokenizer.vocabulary)
    end = SPECIALS[tokenizer.eos_id]
    library.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", special_tokens=[(end, tokenizer.eos_id)]
    )
    write_file(folder / "tokenizer.json", [library.to_str(pretty=True).encode()])
    roles = ("pad", "bos", "eos", "unk", "mask")
    names = {f"{role}_token": SPECIALS[place] for place, role in enumerate(roles)}
    more = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": config.max_length}
    write_file(folder / "tokenizer_config.json", [json_bytes({**names, **more})])


def _parity(folder: Path, kind: str, model: EncoderDecoder, tokenizer: Tokenizer) -> Parity:
    try:
        transformers: Any = import_module("transformers")
    except ImportError:
        raise missing("transformers", "an export to Hugging Face") from None
    probe = Probe.of(model.config, tokenizer.n_control)
    with quiet(transformers):
        theirs = getattr(transformers, _CLASSES[kind]).from_pretrained(
            str(folder), local_files_only=True, use_safetensors=True, dtype=torch.float32
        )
    with torch.inference_mode():
        found = theirs.eval()(
            input_ids=probe.source,
            attention_mask=probe.mask[:, 0, 0].long(),
            decoder_input_ids=probe.target,
        ).logits
    ours = probe.logits(model)
    reader = f"transformers {transformers.__version__}, {_CLASSES[kind]}"
    return Parity("hf", reader, "logits", ours.numel(), difference(ours, found), FLOAT32)
