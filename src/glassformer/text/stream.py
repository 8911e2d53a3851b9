"""Text from ids while they are still being made."""

import codecs
from collections.abc import Sequence

from glassformer.errors import InputError


def check_ids(ids: Sequence[int], size: int) -> None:
    """Refuse an id that a vocabulary of this size does not have."""
    if ids and (min(ids) < 0 or max(ids) >= size):
        wrong = next(token for token in ids if not 0 <= token < size)
        raise InputError(f"id {wrong} is not in the vocabulary; its ids are 0 to {size - 1}")


class TextStream:
    """Text as it becomes certain: ``feed`` ids one by one, then ``finish``; the pieces join to the whole.

    A character of several bytes is given when its last byte is there, never half of it.
    """

    def __init__(self, surfaces: Sequence[bytes], *, drop_space: bool) -> None:
        self._surfaces = surfaces
        self._drop_space = drop_space
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, token: int) -> str:
        """The text that this id makes certain; often some, sometimes none."""
        check_ids([token], len(self._surfaces))
        return self._add(self._surfaces[token], final=False)

    def finish(self) -> str:
        """What was still waiting for more bytes."""
        return self._add(b"", final=True)

    def rest(self, ids: Sequence[int]) -> str:
        """The text of all ids that are still to come, at once."""
        check_ids(ids, len(self._surfaces))
        return self._add(b"".join([self._surfaces[token] for token in ids]), final=True)

    @property
    def waiting(self) -> bool:
        """Whether the bytes so far end within a character."""
        return bool(self._decoder.getstate()[0])

    def _add(self, surface: bytes, *, final: bool) -> str:
        if surface and self._drop_space:  # the space before the first word belongs to no text
            surface = surface.removeprefix(b" ")
            self._drop_space = False
        return self._decoder.decode(surface, final)
