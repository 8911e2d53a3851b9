"""The table of character replacements in a SentencePiece model: checked before anybody walks along it.

It is a double-array trie of byte strings (Darts), then the replacements, NUL between them. A reader follows
indices in it without asking: a damaged table would send it anywhere. Here every index that some text could
reach is followed first.
"""

import base64
import binascii

import numpy as np

_LARGEST = 8_000_000
_BYTES = np.arange(1, 256, dtype=np.uint32)


def check_charsmap(value: object) -> bool:
    """Whether this is the base64 of a table that stays within itself, whatever text is looked up in it."""
    if not isinstance(value, str) or len(value) > 2 * _LARGEST:
        return False
    try:
        return is_sound(base64.b64decode(value, validate=True))
    except (binascii.Error, ValueError):
        return False


def is_sound(table: bytes) -> bool:
    """Whether every index that a text can reach lies within the table."""
    if not 4 < len(table) <= _LARGEST:
        return False
    size = int.from_bytes(table[:4], "little")
    if size % 4 or not 0 < size <= len(table) - 4:
        return False
    units = np.frombuffer(table, "<u4", size // 4, 4)
    replacements = table[4 + size :]
    try:
        replacements.decode("utf-8")
    except UnicodeDecodeError:
        return False
    if not replacements.endswith(b"\0"):
        return False
    starts = np.frombuffer(b"\0" + replacements[:-1], np.uint8) == 0
    return _walk(units, starts)


def _walk(
    units: "np.ndarray[tuple[int], np.dtype[np.uint32]]", starts: "np.ndarray[tuple[int], np.dtype[np.bool]]"
) -> bool:
    """All nodes from the root on, level by level; each index must be one, each leaf a replacement's start."""
    seen = np.zeros(len(units), dtype=bool)
    frontier = np.zeros(1, dtype=np.uint32)
    seen[0] = True
    while len(frontier):
        nodes = units[frontier]
        base = frontier ^ ((nodes >> 10) << ((nodes & (1 << 9)) >> 6))
        leaves = base[(nodes >> 8) & 1 == 1]
        if (leaves >= len(units)).any():
            return False
        values = units[leaves] & 0x7FFFFFFF
        if (values >= len(starts)).any() or not starts[values].all():
            return False
        children = base[:, None] ^ _BYTES
        if (children >= len(units)).any():
            return False
        fits = (units[children] & np.uint32(0x800000FF)) == _BYTES
        found = np.unique(children[fits])
        frontier = found[~seen[found]]
        seen[frontier] = True
    return True
