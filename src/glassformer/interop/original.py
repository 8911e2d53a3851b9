"""Whether an imported model says what its original says: both are asked, where transformers is installed."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glassformer.checkpoint.tensors import from_raw
from glassformer.interop.directory import ForeignDirectory
from glassformer.interop.parity import FLOAT32, Parity, Probe, difference, quiet
from glassformer.interop.settings import IGNORED_CODE
from glassformer.nn import DecoderOnly, EncoderDecoder, Transformer

_CLASSES = {
    "marian": ("MarianConfig", "MarianMTModel"),
    "pegasus": ("PegasusConfig", "PegasusForConditionalGeneration"),
    "bart": ("BartConfig", "BartForConditionalGeneration"),
    "mbart": ("MBartConfig", "MBartForConditionalGeneration"),
    "t5": ("T5Config", "T5ForConditionalGeneration"),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel"),
    "llama": ("LlamaConfig", "LlamaForCausalLM"),
    "mistral": ("MistralConfig", "MistralForCausalLM"),
    "bert": ("BertConfig", "BertForMaskedLM"),
    "distilbert": ("DistilBertConfig", "DistilBertForMaskedLM"),
}
_BARE = {"bert": "BertModel", "distilbert": "DistilBertModel"}
_NOT_HANDED_ON = (*IGNORED_CODE, "quantization_config", "torch_dtype", "dtype", "attn_implementation")


def measure_original(directory: Path | str, model: Transformer, n_control: int = 0) -> Parity | None:
    """The largest difference between the logits of a model and those of its original; None: not installed.

    The original is built of the settings and tensors that we have read and checked: transformers opens no
    file of a directory that somebody else wrote.
    """
    if find_spec("transformers") is None:
        return None
    transformers: Any = import_module("transformers")
    foreign = ForeignDirectory(Path(directory))
    kind = str(foreign.settings().table["model_type"])
    config_name, name = _CLASSES[kind]
    bare = model.config.family == "encoder-only" and model.config.head == "embedding"
    if bare:
        name = _BARE[kind]
    with quiet(transformers):
        theirs = _original(transformers, foreign, config_name, name)
    probe = Probe.of(model.config, n_control)
    with torch.inference_mode():
        ours, expected = _ask(model, theirs, probe, bare=bare)
    real = torch.ones_like(expected[..., 0], dtype=torch.bool)
    if not isinstance(model, EncoderDecoder):
        real = probe.mask[:, 0, 0]
    ours, expected = ours[real], expected[real]
    return Parity(
        kind,
        f"transformers {transformers.__version__}, {name}",
        "hidden states" if bare else "logits",
        ours.numel(),
        difference(ours, expected),
        FLOAT32 * max(1.0, float(expected.abs().max())),
    )


def _original(transformers: Any, foreign: ForeignDirectory, config_name: str, name: str) -> Any:
    table = {
        key: value
        for key, value in foreign.settings().table.items()
        if key not in _NOT_HANDED_ON and not key.startswith("_")
    }
    with foreign.tensors() as tensors:
        read = {key: from_raw(raw) for key, raw in tensors.read().items()}
    state = {key: tensor.float() for key, tensor in read.items() if tensor.is_floating_point()}
    config = getattr(transformers, config_name).from_dict(table)
    built = getattr(transformers, name).from_pretrained(
        None, config=config, state_dict=state, dtype=torch.float32, local_files_only=True
    )
    return built.eval()


def _ask(model: Transformer, theirs: Any, probe: Probe, *, bare: bool) -> tuple[Tensor, Tensor]:
    given = {"input_ids": probe.source, "attention_mask": probe.mask[:, 0, 0].long()}
    if isinstance(model, EncoderDecoder):
        return probe.logits(model), theirs(**given, decoder_input_ids=probe.target).logits
    if isinstance(model, DecoderOnly):
        return model(probe.source, probe.mask), theirs(**given).logits
    if bare:
        return model.encode(probe.source, probe.mask), theirs(**given).last_hidden_state
    return model.fill(probe.source, probe.mask), theirs(**given).logits
