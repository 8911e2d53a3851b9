"""T5, versions 1.0 and 1.1 (flan): relative positions, root-mean-square norms, no biases."""

from collections.abc import Mapping

from glassformer.config import ModelConfig
from glassformer.errors import CheckpointError
from glassformer.interop.bart import ACTIVATIONS
from glassformer.interop.recipe import Plan, Recipe, same, scaled
from glassformer.interop.settings import LAYERS, LENGTH, VOCABULARY, WIDTH, Settings

_KINDS = ("relu", "gated-gelu", "gated-relu", "gated-silu", "gelu", "silu")


def t5(settings: Settings, names: Mapping[str, object]) -> Plan:
    """Two scalings of ours are folded into weights.

    T5 does not divide scores by √d_k: queries are made that much longer. Version 1.0 divides hidden states by
    √d_model before the output: the last norm's gain is.
    """
    config = _config(settings, untied="lm_head.weight" in names)
    d_model = config.d_model
    shared = same("shared.weight", config.vocab_size, d_model)
    equal = {f"{side}.embed_tokens.weight": "shared.weight" for side in ("encoder", "decoder")}
    recipes = {"target_embedding.weight": shared}
    if config.tying == "none":
        output = same("lm_head.weight", config.vocab_size, d_model)
        recipes |= {"source_embedding.weight": shared, "output.weight": output}
    scales = settings.flag("scale_decoder_outputs", settings.flag("tie_word_embeddings", True))
    gain = d_model**-0.5 if scales else 1.0
    recipes["encoder.norm.weight"] = same("encoder.final_layer_norm.weight", d_model)
    recipes["decoder.norm.weight"] = scaled("decoder.final_layer_norm.weight", gain, d_model)
    for side, layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        table = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        recipes[f"{side}.sight.bias.weight"] = same(table, config.relative_buckets, config.n_heads)
        for i in range(layers):
            recipes |= _block(
                f"{side}.blocks.{i}", f"{side}.block.{i}.layer", config, cross=side == "decoder"
            )
    # early conversions have a table for the first cross-attention that no pass looks at
    unused = ("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",)
    return Plan(config, recipes, equal, without_use=unused)


def _config(settings: Settings, *, untied: bool) -> ModelConfig:
    kind = settings.word("feed_forward_proj", _KINDS, "relu")
    gated = kind.startswith("gated-")
    # what T5 calls gated-gelu is the tanh approximation; plain gelu is exact
    activation = "gelu-tanh" if kind == "gated-gelu" else ACTIVATIONS[kind.removeprefix("gated-")]
    layers = settings.size("num_layers", LAYERS)
    buckets = settings.size("relative_attention_num_buckets", 65_536, 32, least=4)
    distance = settings.size("relative_attention_max_distance", 1_000_000, 128)
    if distance <= buckets // 2:
        raise CheckpointError(
            f"{settings.where}: relative_attention_max_distance = {distance} must be more than half of "
            f"relative_attention_num_buckets = {buckets}"
        )
    d_head = settings.size("d_kv", WIDTH)
    return ModelConfig(
        vocab_size=settings.size("vocab_size", VOCABULARY),
        max_length=settings.size("n_positions", LENGTH, 512),
        d_model=settings.size("d_model", WIDTH),
        d_ff=settings.size("d_ff", 8 * WIDTH),
        n_heads=settings.size("num_heads", 1024),
        d_k=d_head,
        d_v=d_head,
        n_encoder_layers=layers,
        n_decoder_layers=settings.size("num_decoder_layers", LAYERS, layers),
        positions="relative",
        relative_buckets=buckets,
        relative_max_distance=distance,
        norm="pre",
        norm_kind="rms",
        norm_epsilon=settings.number("layer_norm_epsilon", 1e-6),
        activation=activation,
        gated=gated,
        bias=False,
        tying="none" if untied else "three-way",
        scale_embedding=False,
        dropout=settings.share("dropout_rate", 0.1),
    )


def _block(ours: str, theirs: str, config: ModelConfig, *, cross: bool) -> dict[str, Recipe]:
    d_model, d_ff, last = config.d_model, config.d_ff, 2 if cross else 1
    dense = f"{theirs}.{last}.DenseReluDense"
    first, second = ("wi_1", "wi_0") if config.gated else ("wi", "")
    recipes = {
        **_attention(f"{ours}.attention", f"{theirs}.0.SelfAttention", config),
        f"{ours}.attention_residual.norm.weight": same(f"{theirs}.0.layer_norm.weight", d_model),
        f"{ours}.feed_forward.expand.weight": same(f"{dense}.{first}.weight", d_ff, d_model),
        f"{ours}.feed_forward.contract.weight": same(f"{dense}.wo.weight", d_model, d_ff),
        f"{ours}.feed_forward_residual.norm.weight": same(f"{theirs}.{last}.layer_norm.weight", d_model),
    }
    if config.gated:
        recipes[f"{ours}.feed_forward.gate.weight"] = same(f"{dense}.{second}.weight", d_ff, d_model)
    if cross:
        recipes |= _attention(f"{ours}.cross_attention", f"{theirs}.1.EncDecAttention", config)
        norm = same(f"{theirs}.1.layer_norm.weight", d_model)
        recipes[f"{ours}.cross_attention_residual.norm.weight"] = norm
    return recipes


def _attention(ours: str, theirs: str, config: ModelConfig) -> dict[str, Recipe]:
    d_model, width = config.d_model, config.n_heads * config.d_key
    return {
        f"{ours}.query.weight": scaled(f"{theirs}.q.weight", config.d_key**0.5, width, d_model),
        f"{ours}.key.weight": same(f"{theirs}.k.weight", width, d_model),
        f"{ours}.value.weight": same(f"{theirs}.v.weight", width, d_model),
        f"{ours}.output.weight": same(f"{theirs}.o.weight", d_model, width),
    }
