"""The library's results as hypotheses: copied out, so that its memory can be given back."""

from itertools import pairwise
from typing import NamedTuple

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
    first = results.hypotheses[: results.n + 1]
    id_offsets = results.id_offsets[: n + 1]
    token_offsets = results.token_offsets[: n + 1]
    ids = results.ids[: id_offsets[-1]]
    values = results.token_log_probabilities[: token_offsets[-1]]
    columns = [
        column[:n]
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
    offsets = results.alignment_offsets[: results.n_hypotheses + 1]
    numbers: Weights = np.empty(0, dtype=np.float32)
    if offsets[-1]:
        numbers = np.ctypeslib.as_array(results.alignment, (offsets[-1],))
    return [
        [numbers[offsets[i] : offsets[i + 1]].reshape(-1, length).copy() for i in range(start, end)]
        for (start, end), length in zip(pairwise(first), lengths, strict=True)
    ]
