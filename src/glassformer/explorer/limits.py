"""How much the explorer takes on: every bound holds before any work is done."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of what may be asked."""

    tokens: int = 512
    """Of a source, and of an output."""
    characters: int = 20_000
    """Of a text."""
    beam: int = 16
    interventions: int = 64
    cache_bytes: int = 512 * 2**20
    """Of kept traces."""
    models: int = 3
    """Kept in memory at once."""
    body_bytes: int = 1 << 20
    waiting: int = 16
    """Requests that may wait for the model."""
    numbers: int = 4_000_000
    """In one answer about weights."""

    def shown(self) -> dict[str, int]:
        """What the page is told."""
        return {
            "tokens": self.tokens,
            "characters": self.characters,
            "beam": self.beam,
            "interventions": self.interventions,
            "cache_bytes": self.cache_bytes,
            "top": 10,
        }
