"""Questions as the library takes them: flat arrays, and structures that point at them."""

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.config import DecodeConfig, ModelConfig
from glassformer.engine import abi
from glassformer.engine.hypothesis import Query, Specials

_FAMILIES = ("encoder-decoder", "decoder-only")
_POSITIONS = ("sinusoidal", "learned", "rotary", "alibi", "relative", "none")
_NORMS = ("post", "pre", "sandwich")
_NORM_KINDS = ("layer", "rms")
_ACTIVATIONS = ("relu", "gelu", "gelu-tanh", "silu")
_TYINGS = ("three-way", "two-way", "none")
_LENGTH_PENALTIES = ("gnmt", "average")

_POINTERS: dict[np.dtype[Any], Any] = {
    np.dtype(np.int32): ctypes.POINTER(ctypes.c_int32),
    np.dtype(np.int64): ctypes.POINTER(ctypes.c_int64),
    np.dtype(np.uint64): ctypes.POINTER(ctypes.c_uint64),
    np.dtype(np.uint8): ctypes.POINTER(ctypes.c_uint8),
}
_WORD = 2**64
Ids = Sequence[int] | NDArray[Any]


@dataclass(frozen=True, slots=True)
class Manner:
    """What is given beside the ids, and when a search may end."""

    layer: int | None = None
    """The decoder's layer whose attention to the source, the mean over its heads, is given too."""
    scores: bool = True
    """Without them, greedy search normalises no probabilities, and those it gives are 0."""
    stop_after: int = 0
    """End a search when so many hypotheses have ended; 0: when nothing better can come."""


PLAIN = Manner()


@dataclass(slots=True)
class Packed:
    """A structure of the library and the arrays it points at, which live as long as it does."""

    structure: Any
    kept: list[NDArray[Any]] = field(default_factory=list)

    def set(self, name: str, values: Ids, kind: type[np.generic]) -> None:
        """Let a field point at these numbers."""
        array = np.ascontiguousarray(values, dtype=kind)
        self.kept.append(array)
        setattr(self.structure, name, pointer(array))

    def set_ragged(self, name: str, offsets_name: str, rows: Sequence[Ids]) -> None:
        """Let two fields point at rows of ids, one after the other, and at where each begins."""
        data, offsets = ragged(rows)
        self.set(name, data, np.int32)
        self.set(offsets_name, offsets, np.int64)


def pointer(array: NDArray[Any]) -> Any:
    """Where the numbers of an array are; nobody keeps the array alive but its owner."""
    return array.ctypes.data_as(_POINTERS[array.dtype])


def ragged(rows: Sequence[Ids]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Rows of ids as one, and the place where each begins."""
    offsets = np.array([*accumulate(map(len, rows), initial=0)], dtype=np.int64)
    parts = [np.asarray(row, dtype=np.int32) for row in rows if len(row)]
    data = np.concatenate(parts) if parts else np.empty(1, dtype=np.int32)  # of size 0 it has no address
    return data, offsets


def pack_config(config: ModelConfig) -> abi.Config:
    """An architecture with every key set."""
    return abi.Config(
        size=ctypes.sizeof(abi.Config),
        family=_FAMILIES.index(config.family),
        vocab_size=config.vocab_size,
        source_vocab_size=config.n_source_ids,
        max_length=config.max_length,
        d_model=config.d_model,
        d_ff=config.d_ff,
        n_heads=config.n_heads,
        n_kv_heads=config.n_key_heads,
        d_k=config.d_key,
        d_v=config.d_value,
        n_encoder_layers=config.n_encoder_layers,
        n_decoder_layers=config.n_decoder_layers,
        positions=_POSITIONS.index(config.positions),
        relative_buckets=config.relative_buckets,
        relative_max_distance=config.relative_max_distance,
        norm=_NORMS.index(config.norm),
        norm_kind=_NORM_KINDS.index(config.norm_kind),
        activation=_ACTIVATIONS.index(config.activation),
        tying=_TYINGS.index(config.tying),
        embedding_norm=config.embedding_norm,
        gated=config.gated,
        bias=config.bias,
        output_bias=config.output_bias,
        scale_embedding=config.scale_embedding,
        rotary_base=config.rotary_base,
        norm_epsilon=config.norm_epsilon,
    )


def pack_options(
    config: DecodeConfig, specials: Specials, *, threads: int = 1, manner: Manner = PLAIN
) -> Packed:
    """How to decode. The limit of each output is told with its input."""
    packed = Packed(
        abi.Options(
            size=ctypes.sizeof(abi.Options),
            start_id=specials.start,
            end_id=specials.end,
            beam=config.beam,
            nbest=config.nbest,
            length_penalty=_LENGTH_PENALTIES.index(config.length_penalty),
            alpha=config.alpha,
            min_length=config.min_length,
            max_length=config.max_length or 0,
            max_extra=config.max_extra,
            no_repeat_ngram=config.no_repeat_ngram,
            repetition_penalty=config.repetition_penalty,
            sampling=config.sampling,
            top_k=config.top_k,
            temperature=config.temperature or 0.0,
            top_p=config.top_p,
            min_p=config.min_p,
            seed=config.seed,
            n_suppressed=len(specials.suppressed),
            want_scores=manner.scores,
            want_alignment=manner.layer is not None,
            alignment_layer=-1 if manner.layer is None else manner.layer,
            alignment_head=-1,
            threads=threads,
            stop_after=manner.stop_after,
        )
    )
    if specials.suppressed:
        packed.set("suppressed", specials.suppressed, np.int32)
    return packed


def pack_inputs(inputs: Sequence[Ids]) -> Packed:
    """Inputs alone."""
    packed = Packed(abi.Batch(size=ctypes.sizeof(abi.Batch), n=len(inputs)))
    packed.set_ragged("ids", "offsets", inputs)
    return packed


def pack_queries(
    queries: Sequence[Query],
    limits: Sequence[int],
    config: DecodeConfig,
    lists: Sequence[NDArray[np.int64]] | None = None,
) -> Packed:
    """Inputs with everything that is asked of their outputs; ``lists`` are the ids each may use."""
    packed = pack_inputs([query.ids for query in queries])
    packed.set("limits", limits, np.int32)
    if any(query.prefix for query in queries):
        packed.set_ragged("prefix", "prefix_offsets", [query.prefix for query in queries])
    if any(query.forbidden for query in queries):
        sequences = np.zeros(len(queries) + 1, dtype=np.int64)
        np.cumsum([len(query.forbidden) for query in queries], out=sequences[1:])
        packed.set("forbidden_sequences", sequences, np.int64)
        every = [sequence for query in queries for sequence in query.forbidden]
        packed.set_ragged("forbidden", "forbidden_offsets", every)
    if lists is not None:
        packed.set_ragged("shortlist", "shortlist_offsets", lists)
    if config.sampling:
        packed.set("dice", dice(queries, config), np.uint64)
    return packed


def dice(queries: Iterable[Query], config: DecodeConfig) -> NDArray[np.uint64]:
    """The random number generators of all samples, the same ones that PyTorch's path throws: (samples, 4)."""
    rows = []
    for query in queries:
        for sample in range(config.nbest):
            state = np.random.PCG64((config.seed, *query.index, sample)).state["state"]
            rows.append([*divmod(state["state"], _WORD), *divmod(state["inc"], _WORD)])
    return np.array(rows, dtype=np.uint64).reshape(-1, 4)
