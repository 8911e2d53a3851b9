"""The whole of a beam search as a tree: what was kept, what was pruned, what came to an end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from glassformer.decoding import BeamStep, Hypothesis

Status = Literal["root", "kept", "pruned", "finished"]

MOST_NODES = 4000


@dataclass(frozen=True, slots=True)
class BeamNode:
    """One continuation that a search looked at."""

    id: int
    parent: int | None
    step: int
    """Tokens so far, this one included."""
    token: int | None
    log_probability: float
    """The model's own, of this token."""
    total: float
    """The sum by which it was compared."""
    status: Status


class BeamLog:
    """Shown each step of a search, it remembers the first query's."""

    def __init__(self) -> None:
        self.nodes = [BeamNode(0, None, 0, None, 0.0, 0.0, "root")]
        self.truncated = False
        self._rows: list[int | None] = [0]
        self._children: dict[tuple[int, int], int] = {}

    def __call__(self, step: BeamStep) -> None:
        """Take one step of a search down."""
        if 0 not in step.inputs or self.truncated:
            return
        place = step.inputs.index(0)
        found = step.candidates
        kept = found.kept[place].tolist()
        columns = (found.total, found.parent, found.token, found.ends, step.log_probabilities)
        ids: list[int | None] = []
        for k, (total, parent, token, ends, own) in enumerate(
            zip(*(column[place].tolist() for column in columns), strict=True)
        ):
            above = self._rows[parent] if parent < len(self._rows) else None
            if above is None or total == float("-inf"):
                ids.append(None)
                continue
            status: Status = "finished" if ends else "kept" if k in kept else "pruned"
            ids.append(self._add(above, step.step, token, own, total, status))
        self._rows = [ids[k] if self._lives(ids[k]) else None for k in kept]
        self.truncated = len(self.nodes) >= MOST_NODES

    def node_of(self, hypothesis: Hypothesis, end: int) -> int | None:
        """The node at which a hypothesis came to its end."""
        at = 0
        for token in (*hypothesis.ids, *([end] if hypothesis.finished else [])):
            if (at, token) not in self._children:
                return None
            at = self._children[at, token]
        return at

    def path(self, node: int) -> list[int]:
        """The tokens that lead to a node."""
        tokens: list[int] = []
        at: BeamNode | None = self.nodes[node]
        while at is not None and at.parent is not None and at.token is not None:
            tokens.append(at.token)
            at = self.nodes[at.parent]
        return tokens[::-1]

    def _lives(self, node: int | None) -> bool:
        return node is not None and self.nodes[node].status == "kept"

    def _add(self, parent: int, step: int, token: int, own: float, total: float, status: Status) -> int:
        node = BeamNode(len(self.nodes), parent, step, token, own, total, status)
        self.nodes.append(node)
        self._children.setdefault((parent, token), node.id)
        return node.id


def finished_nodes(log: BeamLog) -> Sequence[BeamNode]:
    """Those that ended in ``</s>``."""
    return [node for node in log.nodes if node.status == "finished"]
