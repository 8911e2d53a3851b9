"""The parameters that an architecture has, by name and shape, without building the model."""

from collections.abc import Iterator

from glassformer.config import ModelConfig

Shapes = dict[str, tuple[int, ...]]


def parameter_shapes(config: ModelConfig) -> Shapes:
    """Every parameter of a model that generates, as its file has it: a tied matrix once."""
    return dict(_encoder_decoder(config) if config.family == "encoder-decoder" else _decoder_only(config))


def _encoder_decoder(config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield "target_embedding.weight", (config.vocab_size, config.d_model)
    if config.tying != "three-way":
        yield "source_embedding.weight", (config.n_source_ids, config.d_model)
    yield from _front("source_front", config)
    yield from _front("target_front", config)
    yield from _stack("encoder", config, config.n_encoder_layers, ("attention",))
    yield from _stack("decoder", config, config.n_decoder_layers, ("attention", "cross_attention"))
    yield from _output(config)


def _decoder_only(config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield "embedding.weight", (config.vocab_size, config.d_model)
    yield from _front("front", config)
    yield from _stack("decoder", config, config.n_decoder_layers, ("attention",))
    yield from _output(config)


def _front(name: str, config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    if config.positions == "learned":
        yield f"{name}.positions.weight", (config.max_length, config.d_model)
    if config.embedding_norm:
        yield from _norm(f"{name}.norm", config)


def _stack(
    name: str, config: ModelConfig, n_layers: int, attentions: tuple[str, ...]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    if config.positions == "relative":
        yield f"{name}.sight.bias.weight", (config.relative_buckets, config.n_heads)
    for layer in range(n_layers):
        block = f"{name}.blocks.{layer}"
        for attention in attentions:
            yield from _attention(f"{block}.{attention}", config)
        yield from _feed_forward(f"{block}.feed_forward", config)
        for sublayer in (*attentions, "feed_forward"):
            yield from _norm(f"{block}.{sublayer}_residual.norm", config)
            if config.norm == "sandwich":
                yield from _norm(f"{block}.{sublayer}_residual.norm_after", config)
    if config.norm != "post":
        yield from _norm(f"{name}.norm", config)


def _attention(name: str, config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    d_model, heads, key_heads = config.d_model, config.n_heads, config.n_key_heads
    yield from _linear(f"{name}.query", d_model, heads * config.d_key, config)
    yield from _linear(f"{name}.key", d_model, key_heads * config.d_key, config)
    yield from _linear(f"{name}.value", d_model, key_heads * config.d_value, config)
    yield from _linear(f"{name}.output", heads * config.d_value, d_model, config)


def _feed_forward(name: str, config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield from _linear(f"{name}.expand", config.d_model, config.d_ff, config)
    if config.gated:
        yield from _linear(f"{name}.gate", config.d_model, config.d_ff, config)
    yield from _linear(f"{name}.contract", config.d_ff, config.d_model, config)


def _linear(
    name: str, width: int, n_outputs: int, config: ModelConfig
) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (n_outputs, width)
    if config.bias:
        yield f"{name}.bias", (n_outputs,)


def _norm(name: str, config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (config.d_model,)
    if config.norm_kind == "layer":
        yield f"{name}.bias", (config.d_model,)


def _output(config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    if config.tying == "none":
        yield "output.weight", (config.vocab_size, config.d_model)
    if config.output_bias:
        yield "output.bias", (config.vocab_size,)
