"""What may come next: rules that act on log-probabilities before anything is chosen.

Rules that forbid leave the other log-probabilities as they are: a hypothesis' log-probability is always the
model's own. Terms that an output has to contain are another matter, see ``required``.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.config import DecodeConfig
from glassformer.decoding.hypothesis import Query, Specials

NEVER = float("-inf")


class Rules:
    """The rules for the inputs of a batch: forced prefixes, forbidden sequences, repetition, least length."""

    def __init__(self, queries: Sequence[Query], config: DecodeConfig, specials: Specials) -> None:
        self.queries = list(queries)
        self.config = config
        self.end = specials.end
        self.suppressed = torch.tensor(specials.suppressed, dtype=torch.long)

    def keep(self, inputs: Sequence[int]) -> None:
        """Input i becomes what ``inputs[i]`` was: the others have left the batch."""
        self.queries = [self.queries[i] for i in inputs]

    def apply(self, log_probabilities: Tensor, tokens: Tensor) -> Tensor:
        """What each next token costs, -inf where it may not be taken: (n, w, V) from the same.

        ``tokens`` (n, w, t) is what each of the w rows of an input has said so far. A token of a forced
        prefix costs nothing: it was not chosen.
        """
        forced = self._forced(tokens.size(2))
        if forced or self.config.repetition_penalty != 1:  # else the values of what is left do not change
            log_probabilities = log_probabilities.clone()
        if len(self.suppressed):
            log_probabilities.index_fill_(2, self.suppressed, NEVER)
        self._repetition(log_probabilities, tokens)
        self._least_length(log_probabilities, tokens.size(2))
        for i, query in enumerate(self.queries):
            for sequence in query.forbidden:
                forbid(log_probabilities[i], tokens[i], sequence)
        for i, token in forced:
            log_probabilities[i] = NEVER
            log_probabilities[i, :, token] = 0.0
        return log_probabilities

    def _forced(self, said: int) -> list[tuple[int, int]]:
        return [(i, query.prefix[said]) for i, query in enumerate(self.queries) if said < len(query.prefix)]

    def _repetition(self, log_probabilities: Tensor, tokens: Tensor) -> None:
        penalty, n = self.config.repetition_penalty, self.config.no_repeat_ngram
        if penalty != 1 and tokens.size(2):
            said = log_probabilities.gather(2, tokens)
            log_probabilities.scatter_(2, tokens, said * penalty)
        if n and tokens.size(2) >= n:
            forbid_repeated(log_probabilities, tokens, n)

    def _least_length(self, log_probabilities: Tensor, said: int) -> None:
        if self.config.min_length:
            least = self.config.min_length
            early = [i for i, query in enumerate(self.queries) if said - len(query.prefix) + 1 < least]
            log_probabilities[early, :, self.end] = NEVER


def forbid(log_probabilities: Tensor, tokens: Tensor, sequence: Sequence[int]) -> None:
    """Forbid the last token of a sequence wherever the others have just been said; (w, V) and (w, t)."""
    *before, last = sequence
    if len(before) <= tokens.size(1):
        said = tokens[:, tokens.size(1) - len(before) :]
        log_probabilities[(said == torch.tensor(before, dtype=torch.long)).all(1), last] = NEVER


def forbid_repeated(log_probabilities: Tensor, tokens: Tensor, n: int) -> None:
    """Forbid every token that would say a sequence of n tokens a second time; (n, w, V) and (n, w, t)."""
    windows = tokens.unfold(2, n, 1)  # every sequence of n so far: (n, w, t - n + 1, n)
    newest = tokens[..., tokens.size(2) - n + 1 :]
    again = (windows[..., :-1] == newest[..., None, :]).all(-1)
    price = torch.where(again, NEVER, -NEVER).to(log_probabilities.dtype)
    log_probabilities.scatter_reduce_(2, windows[..., -1], price, "amin")
