"""Tiny models of other programs, drawn at random and written as those programs write them."""

import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

VOCAB = 60
SIDES = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 40,
}


@dataclass(frozen=True)
class Case:
    """A foreign architecture in one configuration."""

    name: str
    model: str
    """The class of transformers."""
    config: str
    settings: dict[str, Any]

    def build(self, seed: int = 0, dtype: torch.dtype = torch.float32) -> Any:
        """The model, its numbers large enough that every part of it matters."""
        transformers: Any = import_module("transformers")

        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        torch.manual_seed(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config = getattr(transformers, self.config)(**self.settings)
            model = getattr(transformers, self.model)(config).to(dtype).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "embed_positions" in name and self.config in ("MarianConfig", "PegasusConfig"):
                    continue
                noise = torch.randn(parameter.shape, dtype=dtype)
                if parameter.dim() >= 2:
                    parameter.copy_(noise * 0.35)
                else:
                    parameter.add_(noise * 0.2)
            if hasattr(model, "final_logits_bias"):
                model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape))
        return model

    def save(self, model: Any, directory: Path, shard: str = "5GB") -> Path:
        """Written by transformers itself."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.save_pretrained(directory, max_shard_size=shard)
        return directory


def _marian(name: str, **settings: Any) -> Case:
    ids = {"pad_token_id": 1, "decoder_start_token_id": 1, "eos_token_id": 2, "forced_eos_token_id": None}
    common = {"vocab_size": VOCAB, **SIDES, **ids, "scale_embedding": True, "activation_function": "swish"}
    return Case(name, "MarianMTModel", "MarianConfig", common | settings)


def _bart(name: str, kind: str = "Bart", **settings: Any) -> Case:
    ids = {"pad_token_id": 1, "decoder_start_token_id": 2, "eos_token_id": 2, "forced_eos_token_id": None}
    common = {"vocab_size": VOCAB, **SIDES, **ids, "decoder_layers": 2}
    return Case(name, f"{kind}ForConditionalGeneration", f"{kind}Config", common | settings)


def _t5(name: str, **settings: Any) -> Case:
    sizes = {"d_model": 16, "d_kv": 6, "d_ff": 24, "num_layers": 2, "num_decoder_layers": 1, "num_heads": 4}
    ids = {"pad_token_id": 1, "decoder_start_token_id": 1, "eos_token_id": 2}
    return Case(
        name, "T5ForConditionalGeneration", "T5Config", {"vocab_size": VOCAB, **sizes, **ids} | settings
    )


def _bert(name: str, model: str, **settings: Any) -> Case:
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 24,
        "max_position_embeddings": 40,
    }
    return Case(name, model, "BertConfig", {"vocab_size": VOCAB, **sizes} | settings)


def _gpt2(name: str, **settings: Any) -> Case:
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 40}
    ids = {"bos_token_id": 2, "eos_token_id": 2}
    return Case(name, "GPT2LMHeadModel", "GPT2Config", {"vocab_size": VOCAB, **sizes, **ids} | settings)


def _llama(name: str, kind: str = "Llama", **settings: Any) -> Case:
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 40,
    }
    ids = {"bos_token_id": 1, "eos_token_id": 2}
    return Case(name, f"{kind}ForCausalLM", f"{kind}Config", {"vocab_size": VOCAB, **sizes, **ids} | settings)


def _distilbert(name: str, model: str, **settings: Any) -> Case:
    sizes = {"dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 24, "max_position_embeddings": 40}
    return Case(name, model, "DistilBertConfig", {"vocab_size": VOCAB, **sizes} | settings)


SEQUENCE_CASES = [
    _marian("marian-swish"),
    _marian("marian-relu-deep", activation_function="relu", decoder_layers=3, d_model=24),
    _marian("marian-unscaled-gelu", activation_function="gelu", scale_embedding=False),
    _marian(
        "marian-two-vocabularies",
        share_encoder_decoder_embeddings=False,
        decoder_vocab_size=50,
        tie_word_embeddings=False,
    ),
    _bart("pegasus", "Pegasus", scale_embedding=True, activation_function="relu"),
    _bart("bart"),
    _bart("bart-scaled-relu", scale_embedding=True, activation_function="relu", encoder_layers=1),
    _bart("mbart", "MBart", scale_embedding=True),
    _bart("mbart-unscaled", "MBart", encoder_layers=1),
    _t5("t5"),
    _t5("t5-few-buckets", relative_attention_num_buckets=8, relative_attention_max_distance=12),
    _t5("t5-1.1", feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    _t5("t5-gated-silu", feed_forward_proj="gated-silu", d_kv=8),
]
LANGUAGE_CASES = [
    _gpt2("gpt2"),
    _gpt2("gpt2-falling-scores", scale_attn_by_inverse_layer_idx=True, n_inner=40),
    _gpt2("gpt2-gelu", activation_function="gelu", n_head=2),
    _llama("llama"),
    _llama("llama-tied-all-heads", num_key_value_heads=4, tie_word_embeddings=True),
    _llama("llama-biased", attention_bias=True, head_dim=6),
    _llama("llama-long-waves", rope_parameters={"rope_type": "default", "rope_theta": 500_000.0}),
    _llama("mistral", "Mistral", sliding_window=None, head_dim=4),
]
ENCODER_CASES = [
    _bert("bert-fills", "BertForMaskedLM"),
    _bert("bert-relu", "BertForMaskedLM", hidden_act="relu", type_vocab_size=1),
    _bert("bert-bare", "BertModel"),
    _distilbert("distilbert-fills", "DistilBertForMaskedLM"),
    _distilbert("distilbert-bare", "DistilBertModel", activation="relu"),
]
CASES = SEQUENCE_CASES + LANGUAGE_CASES + ENCODER_CASES
