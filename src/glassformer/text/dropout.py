"""BPE-dropout (Provilkov et al. 2020): merges left out at random, so that a word is met in several spellings.

The library has it, but draws from a generator that cannot be seeded; a run could then not be resumed exactly.
Here the spelling of a text is a function of the seed and the text alone.
"""

import heapq
from collections.abc import Mapping, Sequence
from random import Random

Merges = Mapping[tuple[int, int], tuple[int, int]]
"""For two neighbouring ids, the rank of their merge (lower comes first) and the id it gives."""


def generator(seed: int, text: str) -> Random:
    """The generator of one text; seeded by its characters, so a batch cannot change what it draws."""
    return Random(f"{seed} {text}")  # noqa: S311 - regularisation, not secrets


def merge(symbols: Sequence[int], merges: Merges, dropout: float, random: Random) -> list[int]:
    """The symbols of a word, merged best first, each time passing over a merge with chance ``dropout``."""
    ids: list[int | None] = list(symbols)
    before = list(range(-1, len(ids) - 1))
    after = list(range(1, len(ids) + 1))
    heap: list[tuple[int, int, int, int, int]] = []  # rank, place, the two ids when it was found, their merge

    def offer(left: int, right: int) -> None:
        if left < 0 or right >= len(ids):
            return
        first, second = ids[left], ids[right]
        if first is not None and second is not None and (found := merges.get((first, second))):
            heapq.heappush(heap, (found[0], left, first, second, found[1]))

    for place in range(len(ids) - 1):
        offer(place, place + 1)
    passed_over: list[tuple[int, int, int, int, int]] = []
    while heap:
        candidate = heapq.heappop(heap)
        _, left, first, second, merged = candidate
        right = after[left]
        if ids[left] != first or right >= len(ids) or ids[right] != second:
            continue  # one of the two has been merged since
        if dropout and random.random() < dropout:
            passed_over.append(candidate)
            continue
        ids[left], ids[right] = merged, None
        after[left] = after[right]
        if after[right] < len(ids):
            before[after[right]] = left
        offer(before[left], left)
        offer(left, after[left])
        for waiting in passed_over:  # they may be drawn again once something has changed
            heapq.heappush(heap, waiting)
        passed_over.clear()
    return [symbol for symbol in ids if symbol is not None]
