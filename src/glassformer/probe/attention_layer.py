"""The heads of one layer, for reading: an attention of a pass over one text."""

from torch import Tensor

from glassformer.probe.attention_pass import AttentionPass


class AttentionLayer:
    """The heads of one layer: q, k, v, scores, mask, weights, context, without the batch."""

    def __init__(self, seen: AttentionPass) -> None:
        self.seen = seen

    @property
    def q(self) -> Tensor:
        """Queries as they entered the kernel: (H, L, K)."""
        return self.seen.q[0]

    @property
    def k(self) -> Tensor:
        """Keys, shared ones expanded: (H, P, K)."""
        return self.seen.k[0]

    @property
    def v(self) -> Tensor:
        """Values, shared ones expanded: (H, P, V)."""
        return self.seen.v[0]

    @property
    def scores(self) -> Tensor:
        """Scaled and biased dot products, -inf where masked: (H, L, P)."""
        return self.seen.scores[0]

    @property
    def mask(self) -> Tensor:
        """Where each query may look: (L, P)."""
        return self.seen.mask[0]

    @property
    def weights(self) -> Tensor:
        """The weights that were used: (H, L, P)."""
        return self.seen.weights[0]

    @property
    def context(self) -> Tensor:
        """What each head handed on: (H, L, V)."""
        return self.seen.context[0]

    @property
    def fidelity(self) -> Tensor:
        """How far weights · V is from the kernel's own output, for each head: (H,)."""
        return self.seen.fidelity()

    def head(self, head: int) -> "AttentionLayer":
        """The same of one head alone."""
        return AttentionLayer(self.seen.head(head))

    def __repr__(self) -> str:
        _, n_heads, n_queries, width = self.seen.shared_q.shape
        return f"<{n_heads} heads, {n_queries} queries, {self.seen.shared_k.size(2)} keys, d_k {width}>"
