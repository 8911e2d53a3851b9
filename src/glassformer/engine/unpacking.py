"""The library's results as hypotheses: copied out, so that its memory can be given back."""

import ctypes
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassformer.engine.abi import Results
from glassformer.engine.hypothesis import Hypothesis

Weights = NDArray[np.float32]


class Answers(NamedTuple):
    """Hypotheses of each input, best first, and what each looked at where that was asked for."""

    hypotheses: list[list[Hypothesis]]
    attention: list[list[Weights]]
    """For each hypothesis (tokens, source): row t belongs to the step that predicted token t."""


def unpack(results: Results, lengths: list[int]) -> Answers:
    """Everything in a result; ``lengths`` are those of the inputs."""
    n = results.n_hypotheses
    first = _view(results.hypotheses, results.n + 1).tolist()
    id_offsets = _view(results.id_offsets, n + 1).tolist()
    token_offsets = _view(results.token_offsets, n + 1).tolist()
    ids = _view(results.ids, id_offsets[-1]).tolist()
    values = _view(results.token_log_probabilities, token_offsets[-1]).tolist()
    columns = [
        _view(column, n).tolist()
        for column in (results.log_probabilities, results.scores, results.finished, results.n_forced)
    ]
    every = [
        Hypothesis(
            tuple(ids[id_offsets[i] : id_offsets[i + 1]]),
            tuple(values[token_offsets[i] : token_offsets[i + 1]]),
            log_probability,
            score,
            bool(finished),
            n_forced,
        )
        for i, (log_probability, score, finished, n_forced) in enumerate(zip(*columns, strict=True))
    ]
    grouped = [every[start:end] for start, end in pairwise(first)]
    return Answers(grouped, _attention(results, first, lengths))


def _attention(results: Results, first: list[int], lengths: list[int]) -> list[list[Weights]]:
    if not results.alignment_offsets:
        return [[] for _ in lengths]
    offsets = _view(results.alignment_offsets, results.n_hypotheses + 1).tolist()
    numbers = _view(results.alignment, offsets[-1])
    return [
        [numbers[offsets[i] : offsets[i + 1]].reshape(-1, length).copy() for i in range(start, end)]
        for (start, end), length in zip(pairwise(first), lengths, strict=True)
    ]


def _view(place: Any, size: int) -> NDArray[Any]:
    """Numbers of the library, not copied."""
    if size == 0:
        return np.empty(0)
    kind = ctypes.POINTER(place._type_ * size)
    return np.ctypeslib.as_array(ctypes.cast(place, kind).contents)
