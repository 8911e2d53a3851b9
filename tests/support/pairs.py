"""Few combinations that hold every pair of values of any two switches."""

import itertools
from collections.abc import Mapping, Sequence

Switches = Mapping[str, Sequence[object]]
Pair = tuple[tuple[str, object], tuple[str, object]]


def pairs(settings: Mapping[str, object]) -> set[Pair]:
    """Every two switches of a combination, with their values."""
    return set(itertools.combinations(sorted(settings.items(), key=lambda item: item[0]), 2))


def every_pair(switches: Switches) -> set[Pair]:
    """Every two values of every two switches."""
    result: set[Pair] = set()
    for a, b in itertools.combinations(sorted(switches), 2):
        result |= {((a, x), (b, y)) for x in switches[a] for y in switches[b]}
    return result


def covering(switches: Switches) -> list[dict[str, object]]:
    """Combinations in which every pair occurs; greedy, so not the fewest, but few."""
    missing, found = every_pair(switches), []
    while missing:
        first, second = min(missing, key=repr)
        chosen: dict[str, object] = dict([first, second])
        for name, values in switches.items():
            if name not in chosen:

                def gain(value: object, name: str = name) -> int:
                    return len(pairs(chosen | {name: value}) & missing)  # noqa: B023

                chosen[name] = max(values, key=gain)
        found.append(chosen)
        missing -= pairs(chosen)
    return found
