"""What a session is asked, and what it is: none of it needs PyTorch."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from glassformer.config import DecodeConfig
from glassformer.decoding.hypothesis import Beginning, Hypothesis, Query


class Asked(NamedTuple):
    """A query, and how it is to be decoded."""

    query: Query
    config: DecodeConfig


class Session(Protocol):
    """Something that decodes queries step by step, which come and go between steps.

    A slot is the name of a query from ``add`` to ``remove``. One thread at a time may use a session.
    """

    def add(self, asked: Sequence[Asked]) -> list[int]:
        """Let queries join, and give their slots; all of them, or on an error none."""

    def step(self) -> list[int]:
        """One token further, for every query or for a share of them; gives the slots complete since."""

    def certain(self, slot: int) -> Beginning:
        """The tokens of an output that nothing will change any more."""

    def results(self, slot: int) -> list[Hypothesis]:
        """The hypotheses of a slot that is complete, best first."""

    def remove(self, slot: int) -> None:
        """Forget a slot, complete or not; its place is free from the next step on."""
