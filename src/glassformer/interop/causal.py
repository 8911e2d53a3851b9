"""GPT-2 and Llama-style language models."""

from collections.abc import Mapping

from glassformer.config import ModelConfig
from glassformer.errors import CheckpointError
from glassformer.interop.bart import ACTIVATIONS
from glassformer.interop.recipe import Plan, Recipe, layer_norm, part, same, transposed, zeros
from glassformer.interop.settings import LAYERS, LENGTH, VOCABULARY, WIDTH, Settings


def gpt2(settings: Settings, names: Mapping[str, object]) -> Plan:
    """GPT-2. Its matrices are stored transposed, and queries, keys and values in one."""
    settings.must("scale_attn_weights", True, "scores are always divided by √d_k")
    settings.must("add_cross_attention", False, "it would look at a memory that there is not")
    d_model, n_heads = settings.size("n_embd", WIDTH), settings.size("n_head", 1024)
    if d_model % n_heads:
        raise CheckpointError(f"{settings.where}: n_head = {n_heads} does not divide n_embd = {d_model}")
    prefix = "transformer." if "transformer.wte.weight" in names else ""
    untied = "lm_head.weight" in names and not settings.flag("tie_word_embeddings", True)
    config = ModelConfig(
        family="decoder-only",
        vocab_size=settings.size("vocab_size", VOCABULARY),
        max_length=settings.size("n_positions", LENGTH, 1024),
        d_model=d_model,
        d_ff=settings.size("n_inner", 8 * WIDTH, 4 * d_model),
        n_heads=n_heads,
        n_decoder_layers=settings.size("n_layer", LAYERS),
        positions="learned",
        norm="pre",
        norm_epsilon=settings.number("layer_norm_epsilon", 1e-5),
        activation=ACTIVATIONS[settings.word("activation_function", tuple(ACTIVATIONS), "gelu_new")],
        tying="none" if untied else "two-way",
        scale_embedding=False,
        dropout=settings.share("resid_pdrop", 0.1),
        attention_dropout=settings.share("attn_pdrop", 0.1),
    )
    recipes = {
        "embedding.weight": same(f"{prefix}wte.weight", config.vocab_size, d_model),
        "front.positions.weight": same(f"{prefix}wpe.weight", config.max_length, d_model),
        **layer_norm("decoder.norm", f"{prefix}ln_f", d_model),
    }
    if untied:
        recipes["output.weight"] = same("lm_head.weight", config.vocab_size, d_model)
    falling = settings.flag("scale_attn_by_inverse_layer_idx", False)
    for i in range(config.n_decoder_layers):
        scale = 1 / (i + 1) if falling else 1.0
        recipes |= _gpt2_block(f"decoder.blocks.{i}", f"{prefix}h.{i}", config, scale)
    equal = {} if untied else {"lm_head.weight": f"{prefix}wte.weight"}
    return Plan(config, recipes, equal, without_use=(".attn.bias", ".attn.masked_bias"))


def llama(settings: Settings, names: Mapping[str, object]) -> Plan:
    """Llama and Mistral: root-mean-square norms, rotary positions, gated silu, grouped heads."""
    d_model, n_heads = settings.size("hidden_size", WIDTH), settings.size("num_attention_heads", 1024)
    d_head = settings.size("head_dim", WIDTH, max(d_model // n_heads, 1))
    length = settings.size("max_position_embeddings", LENGTH, 2048)
    window = settings.optional_size("sliding_window", 10 * LENGTH)
    if window is not None and window < length:
        raise CheckpointError(
            f"{settings.where}: sliding_window = {window} is less than max_position_embeddings = {length}; "
            "only models that look at everything before can be imported"
        )
    n_key_heads = settings.size("num_key_value_heads", 1024, n_heads)
    if n_heads % n_key_heads or d_head % 2:
        raise CheckpointError(
            f"{settings.where}: num_attention_heads = {n_heads}, num_key_value_heads = {n_key_heads} and "
            f"head_dim = {d_head} do not fit together"
        )
    untied = not settings.flag("tie_word_embeddings", False)
    biased = any(name.endswith(("_proj.bias",)) for name in names)
    config = ModelConfig(
        family="decoder-only",
        vocab_size=settings.size("vocab_size", VOCABULARY),
        max_length=length,
        d_model=d_model,
        d_ff=settings.size("intermediate_size", 8 * WIDTH),
        n_heads=n_heads,
        n_kv_heads=n_key_heads,
        d_k=d_head,
        d_v=d_head,
        n_decoder_layers=settings.size("num_hidden_layers", LAYERS),
        positions="rotary",
        rotary_base=_rotary_base(settings),
        norm="pre",
        norm_kind="rms",
        norm_epsilon=settings.number("rms_norm_eps", 1e-6),
        activation=ACTIVATIONS[settings.word("hidden_act", tuple(ACTIVATIONS), "silu")],
        gated=True,
        bias=biased,
        tying="none" if untied else "two-way",
        scale_embedding=False,
        dropout=0.0,
        attention_dropout=settings.share("attention_dropout"),
    )
    embedding = "model.embed_tokens.weight"
    recipes = {
        "embedding.weight": same(embedding, config.vocab_size, d_model),
        "decoder.norm.weight": same("model.norm.weight", d_model),
    }
    if untied:
        recipes["output.weight"] = same("lm_head.weight", config.vocab_size, d_model)
    for i in range(config.n_decoder_layers):
        recipes |= _llama_block(f"decoder.blocks.{i}", f"model.layers.{i}", config, names)
    equal = {} if untied else {"lm_head.weight": embedding}
    return Plan(config, recipes, equal, without_use=(".self_attn.rotary_emb.inv_freq",))


def _gpt2_block(ours: str, theirs: str, config: ModelConfig, scale: float) -> dict[str, Recipe]:
    d_model, d_ff = config.d_model, config.d_ff
    recipes = {
        **layer_norm(f"{ours}.attention_residual.norm", f"{theirs}.ln_1", d_model),
        **layer_norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.ln_2", d_model),
        f"{ours}.attention.output.weight": transposed(f"{theirs}.attn.c_proj.weight", d_model, d_model),
        f"{ours}.attention.output.bias": same(f"{theirs}.attn.c_proj.bias", d_model),
        f"{ours}.feed_forward.expand.weight": transposed(f"{theirs}.mlp.c_fc.weight", d_ff, d_model),
        f"{ours}.feed_forward.expand.bias": same(f"{theirs}.mlp.c_fc.bias", d_ff),
        f"{ours}.feed_forward.contract.weight": transposed(f"{theirs}.mlp.c_proj.weight", d_model, d_ff),
        f"{ours}.feed_forward.contract.bias": same(f"{theirs}.mlp.c_proj.bias", d_model),
    }
    for place, name in enumerate(("query", "key", "value")):
        factor = scale if name == "query" else 1.0
        for kind, shape in (("weight", (d_model, 3 * d_model)), ("bias", (3 * d_model,))):
            fused, dim = f"{theirs}.attn.c_attn.{kind}", len(shape) - 1
            recipes[f"{ours}.attention.{name}.{kind}"] = part(
                fused, shape, dim, place * d_model, d_model, factor
            )
    return recipes


def _llama_block(
    ours: str, theirs: str, config: ModelConfig, names: Mapping[str, object]
) -> dict[str, Recipe]:
    d_model, d_ff = config.d_model, config.d_ff
    wide, narrow = config.n_heads * config.d_key, config.n_key_heads * config.d_key
    recipes = {
        f"{ours}.attention_residual.norm.weight": same(f"{theirs}.input_layernorm.weight", d_model),
        f"{ours}.feed_forward_residual.norm.weight": same(
            f"{theirs}.post_attention_layernorm.weight", d_model
        ),
    }
    maps = (
        ("attention.query", "self_attn.q_proj", wide, d_model),
        ("attention.key", "self_attn.k_proj", narrow, d_model),
        ("attention.value", "self_attn.v_proj", narrow, d_model),
        ("attention.output", "self_attn.o_proj", d_model, wide),
        ("feed_forward.gate", "mlp.gate_proj", d_ff, d_model),
        ("feed_forward.expand", "mlp.up_proj", d_ff, d_model),
        ("feed_forward.contract", "mlp.down_proj", d_model, d_ff),
    )
    for own, other, rows, columns in maps:
        recipes[f"{ours}.{own}.weight"] = same(f"{theirs}.{other}.weight", rows, columns)
        if config.bias:  # ours has all biases or none; where theirs has none, zeros change nothing
            bias = f"{theirs}.{other}.bias"
            recipes[f"{ours}.{own}.bias"] = same(bias, rows) if bias in names else zeros(rows)
    return recipes


def _rotary_base(settings: Settings) -> float:
    """The base of the wavelengths; a model whose positions are stretched is refused."""
    for key in ("rope_parameters", "rope_scaling"):
        table = settings.table.get(key)
        if table is None:
            continue
        if not isinstance(table, dict):
            raise settings.wrong(key, "an object")
        inner = Settings(f"{settings.where} [{key}]", table)
        kind = table.get("rope_type", table.get("type", "default"))
        if kind != "default":
            raise CheckpointError(
                f"{inner.where}: positions of type {str(kind)[:40]!r} cannot be imported; only default ones"
            )
        if "rope_theta" in table:
            return inner.number("rope_theta", 10_000.0)
    return settings.number("rope_theta", 10_000.0)
