"""Our encoder-decoders as two ONNX graphs: the encoder, and one step of the decoder with its cache.

encoder.onnx       input_ids (B, S), attention_mask (B, S) → memory.i.key, memory.i.value for decoder layer i
decoder_step.onnx  input_ids (B, 1), position (1), attention_mask, memory.i.key, memory.i.value,
                   past.i.key, past.i.value → logits (B, V), present.i.key, present.i.value

Padding stands behind sources. Before the first step, past.i.* have length 0 and position is 0.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from glassformer.checkpoint.files import write_file
from glassformer.checkpoint.reading import json_bytes
from glassformer.config import ModelConfig
from glassformer.errors import CheckpointError
from glassformer.interop.onnx_graph import Graph
from glassformer.interop.parity import FLOAT32, Parity, Probe, difference, missing
from glassformer.nn import EncoderDecoder
from glassformer.nn.embedding import Front, TokenEmbedding
from glassformer.nn.positions import LearnedPositions, sinusoids
from glassformer.text import Tokenizer

ENCODER, STEP = "encoder.onnx", "decoder_step.onnx"


def write_onnx(folder: Path, model: EncoderDecoder, tokenizer: Tokenizer) -> Parity:
    """Write both graphs, their settings and the tokenizer, and compare what onnxruntime makes of them."""
    try:
        import_module("onnx")
        runtime = import_module("onnxruntime")
    except ImportError:
        raise missing("onnx and onnxruntime", "an export to ONNX") from None
    config = model.config
    if wrong := _obstacle(config):
        raise CheckpointError(f"our ONNX graphs cannot hold this model: {wrong}")
    write_file(folder / ENCODER, [_encoder(model).SerializeToString()])
    write_file(folder / STEP, [_step(model).SerializeToString()])
    settings = {
        "vocab_size": config.vocab_size,
        "max_length": config.max_length,
        "n_decoder_layers": config.n_decoder_layers,
        "n_heads": config.n_heads,
        "d_k": config.d_key,
        "d_v": config.d_value,
        "decoder_start_token_id": tokenizer.bos_id,
        "eos_token_id": tokenizer.eos_id,
        "pad_token_id": tokenizer.pad_id,
        "source_before": list(tokenizer.source_before),
        "source_after": list(tokenizer.source_after),
    }
    write_file(folder / "config.json", [json_bytes(settings)])
    tokenizer.save(folder / "tokenizer.json")
    probe = Probe.of(config, tokenizer.n_control)
    ours, theirs = probe.logits(model), torch.from_numpy(run(folder, probe, config))
    reader = f"onnxruntime {runtime.__version__}"
    return Parity("onnx", reader, "logits", ours.numel(), difference(ours, theirs), FLOAT32)


def run(folder: Path, probe: Probe, config: ModelConfig) -> Any:
    """The logits of a probe's targets by the exported graphs, step by step."""
    onnxruntime: Any = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    sessions = [
        onnxruntime.InferenceSession(str(folder / name), options, providers=["CPUExecutionProvider"])
        for name in (ENCODER, STEP)
    ]
    mask = probe.mask[:, 0, 0].long().numpy()
    names = [output.name for output in sessions[0].get_outputs()]
    memory = sessions[0].run(None, {"input_ids": probe.source.numpy(), "attention_mask": mask})
    fixed = dict(zip(names, memory, strict=True))
    batch = len(mask)
    widths = {"key": config.d_key, "value": config.d_value}
    past = {
        f"past.{i}.{kind}": np.zeros((batch, config.n_heads, 0, width), np.float32)
        for i in range(config.n_decoder_layers)
        for kind, width in widths.items()
    }
    logits = []
    for position in range(probe.target.size(1)):
        fed = {
            "input_ids": probe.target[:, position : position + 1].numpy(),
            "position": np.asarray([position], np.int64),
            "attention_mask": mask,
        }
        found = sessions[1].run(None, {**fed, **fixed, **past})
        logits.append(found[0])
        past = dict(zip(past, found[1:], strict=True))
    return np.stack(logits, axis=1)


def _obstacle(config: ModelConfig) -> str:
    if config.positions not in ("sinusoidal", "learned", "none"):
        return f'positions = "{config.positions}" act inside attention'
    return "" if config.n_key_heads == config.n_heads else f"n_kv_heads = {config.n_kv_heads}"


def _encoder(model: EncoderDecoder) -> Any:
    config = model.config
    graph = Graph(config)
    ids = graph.input("input_ids", np.int64, "batch", "source")
    mask = graph.input("attention_mask", np.int64, "batch", "source")
    hidden = graph.padding(mask)
    shape = graph.op("Shape", ids)
    length = graph.op("Gather", shape, graph.constant(1, np.int64), axis=0)
    places = graph.op("Range", graph.constant(0, np.int64), length, graph.constant(1, np.int64))
    x = _front(graph, ids, places, model.source_embedding, model.source_front, config)
    for i, block in enumerate(model.encoder.blocks):
        name = f"encoder.blocks.{i}"
        y = graph.before(x, f"{name}.attention_residual", block.attention_residual)
        keys, values = graph.project(y, f"{name}.attention", block.attention)
        heads = graph.attend(graph.queries(y, f"{name}.attention", block.attention), keys, values, hidden)
        y = graph.linear(heads, f"{name}.attention.output", block.attention.output)
        x = graph.after(x, y, f"{name}.attention_residual", block.attention_residual)
        x = _feed_forward(graph, x, name, block)
    if model.encoder.norm is not None:
        x = graph.norm(x, "encoder.norm", model.encoder.norm)
    for i, cross in enumerate(model.decoder.blocks):
        found = graph.project(x, f"decoder.blocks.{i}.cross_attention", cross.cross_attention)
        for kind, value, width in zip(("key", "value"), found, (config.d_key, config.d_value), strict=True):
            graph.output(value, f"memory.{i}.{kind}", "batch", config.n_heads, "source", width)
    return graph.build("encoder")


def _step(model: EncoderDecoder) -> Any:
    config = model.config
    graph = Graph(config)
    ids = graph.input("input_ids", np.int64, "batch", 1)
    position = graph.input("position", np.int64, 1)
    hidden = graph.padding(graph.input("attention_mask", np.int64, "batch", "source"))
    memory, past = (
        [
            graph.input(f"{title}.{i}.{kind}", np.float32, "batch", config.n_heads, size, width)
            for i in range(config.n_decoder_layers)
            for kind, width in (("key", config.d_key), ("value", config.d_value))
        ]
        for title, size in (("memory", "source"), ("past", "past"))
    )
    x = _front(graph, ids, position, model.target_embedding, model.target_front, config)
    present: list[str] = []
    for i, block in enumerate(model.decoder.blocks):
        name = f"decoder.blocks.{i}"
        y = graph.before(x, f"{name}.attention_residual", block.attention_residual)
        new = graph.project(y, f"{name}.attention", block.attention)
        keys, values = (graph.op("Concat", past[2 * i + k], each, axis=2) for k, each in enumerate(new))
        present += [keys, values]
        heads = graph.attend(graph.queries(y, f"{name}.attention", block.attention), keys, values, None)
        y = graph.linear(heads, f"{name}.attention.output", block.attention.output)
        x = graph.after(x, y, f"{name}.attention_residual", block.attention_residual)
        y = graph.before(x, f"{name}.cross_attention_residual", block.cross_attention_residual)
        q = graph.queries(y, f"{name}.cross_attention", block.cross_attention)
        heads = graph.attend(q, memory[2 * i], memory[2 * i + 1], hidden)
        y = graph.linear(heads, f"{name}.cross_attention.output", block.cross_attention.output)
        x = graph.after(x, y, f"{name}.cross_attention_residual", block.cross_attention_residual)
        x = _feed_forward(graph, x, name, block)
    if model.decoder.norm is not None:
        x = graph.norm(x, "decoder.norm", model.decoder.norm)
    logits = graph.op("MatMul", x, graph.weight("output.weight.T", model.output.weight.T))
    if model.output.bias is not None:
        logits = graph.op("Add", logits, graph.weight("output.bias", model.output.bias))
    graph.output(
        graph.op("Squeeze", logits, graph.constant([1], np.int64)), "logits", "batch", config.vocab_size
    )
    for place, value in enumerate(present):
        kind, width = (("key", config.d_key), ("value", config.d_value))[place % 2]
        graph.output(value, f"present.{place // 2}.{kind}", "batch", config.n_heads, "present", width)
    return graph.build("decoder_step")


def _feed_forward(graph: Graph, x: str, name: str, block: Any) -> str:
    residual = block.feed_forward_residual
    y = graph.before(x, f"{name}.feed_forward_residual", residual)
    y = graph.feed_forward(y, f"{name}.feed_forward", block.feed_forward)
    return graph.after(x, y, f"{name}.feed_forward_residual", residual)


def _front(
    graph: Graph, ids: str, places: str, embedding: TokenEmbedding, front: Front, config: ModelConfig
) -> str:
    x = graph.op("Gather", graph.weight("embedding.weight", embedding.weight), ids, axis=0)
    if embedding.scale != 1.0:
        x = graph.op("Mul", x, graph.constant(embedding.scale))
    if front.positions is not None:
        if isinstance(front.positions, LearnedPositions):
            table = front.positions.weight.detach()
        else:
            table = sinusoids(torch.arange(config.max_length), config.d_model)
        x = graph.op("Add", x, graph.op("Gather", graph.weight("positions.weight", table), places, axis=0))
    return x if front.norm is None else graph.norm(x, "front.norm", front.norm)
