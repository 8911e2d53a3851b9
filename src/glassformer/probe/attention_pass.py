"""One attention of one pass: what entered the kernel, what left it, and everything in between."""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from glassformer.nn import Sight, explained_attention
from glassformer.nn.attention import attention_scores
from glassformer.nn.masks import causal_mask, combine


@dataclass(frozen=True, slots=True)
class AttentionPass:
    """Tensors of a batch, heads first: (B, H, L, …). Weights and scores are computed when asked for."""

    shared_q: Tensor
    """Queries as they entered the kernel, after any rotation."""
    shared_k: Tensor
    """Keys of the heads that the model has; groups of query heads may share one."""
    shared_v: Tensor
    sight: Sight
    kernel: Tensor
    """What the fused kernel gave: (B, H, L, V)."""
    changed_weights: Tensor | None = None
    """Set where an intervention used other weights than the arithmetic gives."""
    changed_context: Tensor | None = None
    """Set where an intervention used other head outputs."""

    @property
    def n_heads(self) -> int:
        """Query heads."""
        return self.shared_q.size(1)

    @property
    def scale(self) -> float:
        """What dot products are multiplied by: 1/√d_k."""
        return 1.0 / math.sqrt(self.shared_q.size(-1))

    @property
    def intervened(self) -> bool:
        """Whether something else was used than what the kernel gave."""
        return self.changed_context is not None

    @property
    def q(self) -> Tensor:
        """Queries: (B, H, L, K)."""
        return self.shared_q

    @property
    def k(self) -> Tensor:
        """Keys, once for each head: (B, H, P, K)."""
        return self._per_head(self.shared_k)

    @property
    def v(self) -> Tensor:
        """Values, once for each head: (B, H, P, V)."""
        return self._per_head(self.shared_v)

    @property
    def context(self) -> Tensor:
        """What each head handed on: the kernel's output, unless an intervention replaced it."""
        return self.kernel if self.changed_context is None else self.changed_context

    @property
    def raw(self) -> Tensor:
        """q·k: (B, H, L, P)."""
        return self.q @ self.k.transpose(-2, -1)

    @property
    def bias(self) -> Tensor:
        """What is added for distance; zeros where the model has nothing of the kind."""
        size = (self.shared_q.size(0), self.n_heads, self.shared_q.size(2), self.shared_k.size(2))
        if self.sight.bias is None:
            return self.shared_q.new_zeros(size)
        return self.sight.bias.expand(size)

    @property
    def scores(self) -> Tensor:
        """Scaled and biased dot products, -inf where a query may not look."""
        return attention_scores(self.shared_q, self.shared_k, self.sight)

    @property
    def mask(self) -> Tensor:
        """Where each query may look: (B|1, L, P), boolean."""
        length, size = self.shared_q.size(2), self.shared_k.size(2)
        causal = None
        if self.sight.causal:
            causal = causal_mask(length, size - length, self.shared_q.device)
        mask = combine(self.sight.mask, causal)
        if mask is None:
            return torch.ones(1, length, size, dtype=torch.bool, device=self.shared_q.device)
        return mask[:, 0].expand(-1, length, size)

    @property
    def weights(self) -> Tensor:
        """The attention weights that were used: (B, H, L, P)."""
        return self.computed_weights if self.changed_weights is None else self.changed_weights

    @property
    def computed_weights(self) -> Tensor:
        """The weights that the arithmetic gives, whatever an intervention made of them."""
        return explained_attention(self.shared_q, self.shared_k, self.shared_v, self.sight)[1]

    def head(self, head: int) -> "AttentionPass":
        """The same of one head alone, so that the others need not be computed."""
        group = head * self.shared_k.size(1) // self.n_heads
        one, bias = slice(head, head + 1), self.sight.bias
        keys, values = self.shared_k[:, group : group + 1], self.shared_v[:, group : group + 1]
        sight = self.sight if bias is None else self.sight._replace(bias=bias[:, one])
        return replace(
            self,
            shared_q=self.shared_q[:, one],
            shared_k=keys,
            shared_v=values,
            sight=sight,
            kernel=self.kernel[:, one],
            changed_weights=None if self.changed_weights is None else self.changed_weights[:, one],
            changed_context=None if self.changed_context is None else self.changed_context[:, one],
        )

    def fidelity(self) -> Tensor:
        """For each head, how far weights · V is from what the kernel gave, at most: (H,)."""
        explained, _ = explained_attention(self.shared_q, self.shared_k, self.shared_v, self.sight)
        return (
            (explained - self.kernel).abs().amax((0, 2, 3)) if explained.numel() else explained.sum((0, 2, 3))
        )

    def tensors(self) -> list[Tensor]:
        """Everything that is held, for whoever counts bytes."""
        held = [self.shared_q, self.shared_k, self.shared_v, self.kernel, self.sight.mask, self.sight.bias]
        return [x for x in [*held, self.changed_weights, self.changed_context] if x is not None]

    def _per_head(self, x: Tensor) -> Tensor:
        repeated: Tensor = x.repeat_interleave(self.n_heads // x.size(1), dim=1)
        return repeated
