"""Ids for what the library cannot write: characters that a vocabulary lacks, and words that are too long."""

from collections.abc import Mapping

from glassformer.text.vocabulary import BYTES, CONTINUES, Vocabulary


class Speller:
    """Words and characters written with the pieces of a vocabulary, and with bytes where none fits."""

    def __init__(self, vocabulary: Vocabulary, ids: Mapping[str, int]) -> None:
        self._ids = ids
        self._longest = max(map(len, vocabulary.pieces))
        self._bytes = {byte: vocabulary.n_control + place for place, byte in enumerate(BYTES)}

    def word(self, word: str) -> list[int]:
        """The longest piece that fits, then the longest that continues it, and so on, as word pieces do."""
        ids: list[int] = []
        start = 0
        while start < len(word):
            for stop in range(min(start + self._longest, len(word)), start, -1):
                found = self._ids.get((CONTINUES if start else "") + word[start:stop])
                if found is not None:
                    ids.append(found)
                    start = stop
                    break
            else:
                ids += self._spell(word[start])
                start += 1
        return ids

    def characters(self, word: str) -> list[int]:
        """Each character by itself: where merging begins."""
        ids: list[int] = []
        for character in word:
            found = self._ids.get(character)
            ids += self._spell(character) if found is None else [found]
        return ids

    def _spell(self, character: str) -> list[int]:
        return [self._bytes[byte] for byte in character.encode()]
